"""The engine's frozen tables once more, computed on the device: what PyTorch gave for the functions of `tests/golden/ops`.

Doubles of the tables are held in single precision here, by kernels and, where there are none, by the CPU.
"""

import importlib.util
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from tapescope import engine as torch

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))
from make_values import NUMBERS, UNARY, call, numbers

spec = importlib.util.spec_from_file_location("golden_inputs", GOLDEN / "ops" / "inputs.py")
inputs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(inputs)
VALUES = json.loads((GOLDEN / "ops" / "values.json").read_text())
WINDOWS = json.loads((GOLDEN / "ops" / "windows.json").read_text())
DTYPES = ("float32", "int64", "uint8", "bool")
ROUGH = {"special.hermite_polynomial_h": 1e-3, "special.zeta": 1e-4, "special.airy_ai": 1e-4}
"""Relative errors allowed where 3e-5 is too little in single precision."""


@pytest.fixture(autouse=True)
def on_the_device(need_vulkan):
    need_vulkan()
    torch.set_default_device("webgpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.set_default_device("cpu")


def flat(values):
    return np.array([float(v) for v in values])


def same(name, want, got):
    if isinstance(want[0], list):
        return len(want) == len(got) and all(same(name, w, g) for w, g in zip(want, got, strict=True))
    a, b = (np.array(_nested(v[1])) for v in (want, got))
    limit = ROUGH.get(name, 3e-5)
    return want[0] == got[0] and a.shape == b.shape and np.allclose(a, b, limit, limit / 3, equal_nan=True)


def _nested(value):
    return [_nested(v) for v in value] if isinstance(value, list) else float(value)


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    wrong = []
    for dtype in DTYPES:
        want = VALUES[name].get(dtype)
        if want is None:
            continue
        operands = [torch.tensor(v, dtype=getattr(torch, dtype)) for v in NUMBERS[dtype][: 1 if name in UNARY else 2]]
        value = call(torch, name, operands)
        if want == "refused" or value is None:
            if want != "refused" or value is not None:
                wrong.append(f"{dtype}: wanted {want}, got {value}")
        elif not same(name, want, numbers(value)):
            wrong.append(f"{dtype}: wanted {want}\n got {numbers(value)}")
    assert not wrong, "\n".join(wrong)


def single_precision():
    """The names of the table's calls, with inputs in float32."""
    space = inputs.namespace(torch)
    x, p = space["x"], space["p"]
    space["x"] = lambda *shape, seed=0, dtype=torch.float32: x(*shape, seed=seed, dtype=dtype)
    space["p"] = lambda *shape, seed=0: p(*shape, seed=seed).detach().float().requires_grad_()
    return space


@pytest.mark.parametrize(
    "row", [r for r in WINDOWS["calls"] if "float64" not in r["call"]], ids=lambda row: row["call"]
)
def test_windows(row):
    space = single_precision()
    name, arguments = row["call"].split("(", 1)
    args, named = eval("(lambda *a, **k: (a, k))(" + arguments, space)
    outs = eval(name, space)(*args, **named)
    outs = list(outs) if isinstance(outs, tuple) else [outs]
    leaves = [t for t in [*args, *named.values()] if isinstance(t, torch.Tensor) and t.requires_grad]
    for out, (_, shape, values) in zip(outs, row["outs"], strict=True):
        assert list(out.shape) == shape and out.device.type == "webgpu"
        np.testing.assert_allclose(out.detach().cpu().numpy().reshape(-1), flat(values), rtol=2e-4, atol=2e-4)
    if "grads" in row:
        grads = torch.autograd.grad(outs[0], leaves, inputs.weights(torch, outs[0]))
        for got, values in zip(grads, row["grads"], strict=True):
            np.testing.assert_allclose(got.cpu().numpy().reshape(-1), flat(values), rtol=1e-3, atol=1e-3)


MIXED = ".float()"
"""Calls that are refused for mixing single with double precision, which is single here."""


@pytest.mark.parametrize("text, kind", [r[:2] for r in WINDOWS["refused"] if MIXED not in r[0]])
def test_refused(text, kind):
    with pytest.raises(Exception) as caught:
        eval(text, single_precision())
    assert type(caught.value).__name__ == kind
