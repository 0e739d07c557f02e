"""Every layer: repr, starting values for a seed, outputs and gradients are PyTorch's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from golden.layer_case import run

from tapescope import engine as torch

CASES = json.loads((Path(__file__).parents[2] / "golden" / "nn" / "layers.json").read_text())


def label(case) -> str:
    return f"{case['name']}-{case['args']}-{case['options']}"


def close(got, want):
    if want is None:
        assert got is None
        return
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("case", CASES, ids=label)
def test_layer(case):
    got = run(torch, case["name"], case["args"], case["options"], case["inputs"])
    assert got["repr"] == case["repr"]
    assert list(got["state"]) == list(case["state"])
    for name, want in case["state"].items():
        np.testing.assert_allclose(got["state"][name], want, rtol=2e-5, atol=2e-6, err_msg=name)
    assert [o[:2] for o in got["out"]] == [o[:2] for o in case["out"]]
    for a, b in zip(got["out"], case["out"], strict=True):
        close(a[2], b[2])
    assert len(got["grads"]) == len(case["grads"])
    for a, b in zip(got["grads"], case["grads"], strict=True):
        close(a, b)


def test_all_of_pytorchs_layers_are_there():
    frozen = {c["name"] for c in CASES}
    layers = {
        n for n in torch.nn.__all__
        if isinstance(getattr(torch.nn, n), type) and issubclass(getattr(torch.nn, n), torch.nn.Module)
    }  # fmt: skip
    containers = {"Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"}
    bases = {"RNNBase", "RNNCellBase", "CrossMapLRN2d", "NLLLoss2d", "TransformerEncoder", "TransformerDecoder"}
    rest = {n for n in layers if n.startswith(("Lazy", "MaxUnpool", "Fractional"))} | {"BCELoss", "GaussianNLLLoss"}
    assert layers - frozen - containers - bases - rest == set()
