"""What a notebook front end gets, and how the engine finds it."""

import json
import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from views import captured
from views.recorded import Recorder, load

from tapescope import engine as torch
from tapescope.engine.observe import KERNELS_MIME, TAPE_MIME
from tapescope.graphviz_views.display import MAX_EMBEDDED, kernels_bundle, mimebundle


def test_bundle():
    tape = load("mlp")
    bundle = mimebundle(tape, "tensor(0.5)")
    assert set(bundle) == {"image/svg+xml", "text/plain", TAPE_MIME}
    assert bundle["text/plain"] == "tensor(0.5)"
    assert bundle["image/svg+xml"].startswith("<svg")
    assert bundle[TAPE_MIME] == tape
    json.dumps(bundle)


def test_the_kernels_of_a_capture():
    bundle = kernels_bundle(captured.training_step(), "kernels")
    records = bundle[KERNELS_MIME]
    assert [k["segment"] for k in records["kernels"]] == ["0"] * 4 and "k1_gelu_add" in bundle["image/svg+xml"]
    view = torch.tapescope.view(captured.training_step())
    assert view.kind == "capture" and "k1_gelu_add" in view.kernels().text() and "enter" not in view.kernels().text()
    assert view.kernels().kernels().svg() == view.kernels().svg()
    with pytest.raises(ValueError, match="a tape has no kernels"):
        torch.tapescope.view(load("mlp")).kernels()


def test_the_engine_finds_it_by_name():
    (entry,) = entry_points(group="tapescope.renderers", name="tape")
    assert entry.load() is mimebundle


def test_a_long_tape_does_not_fill_the_notebook():
    r = Recorder()
    for _ in range(MAX_EMBEDDED + 5):
        r.op("mul", [], [1])
    bundle = mimebundle(r.snapshot(dropped=2), "")
    assert len(bundle[TAPE_MIME]["nodes"]) == MAX_EMBEDDED
    assert bundle[TAPE_MIME]["nodes"][0]["id"] == 6 and bundle[TAPE_MIME]["dropped"] == 7
    assert len(r.nodes) == MAX_EMBEDDED + 5


def test_a_broken_tape_gives_a_picture_with_a_sentence():
    bundle = mimebundle({"version": 1}, "tensor(1)")
    assert "The tape has no list of nodes" in bundle["image/svg+xml"]


def test_the_views_load_no_user_interface():
    code = "import sys, tapescope.graphviz_views.display; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"textual", "rich", "plotly", "IPython", "wgpu"} & set(loaded)
