"""`torch.tapescope`: pictures of tensors, modules and recorded JSON, by hand and where a notebook shows objects."""

import json

import pytest

from tapescope import engine as torch
from tapescope.engine import display, observe


def loss():
    x = torch.ones(3, requires_grad=True)
    return (x * x).sum()


def test_a_tensor():
    view = torch.tapescope.view(loss())
    assert view.kind == "tape" and view.svg().startswith("<svg") and view.dot().startswith("digraph tape {")
    assert repr(view).splitlines()[0].startswith("Tape: 2 operations, 1 leaf")
    bundle = view._repr_mimebundle_()
    assert set(bundle) == {"image/svg+xml", "text/plain", observe.TAPE_MIME} and bundle["text/plain"] == repr(view)
    json.dumps(bundle)


def test_several_tensors():
    first, second = loss(), loss()
    data = torch.tapescope.view([first, second]).data
    assert len(data["roots"]) == 2


@pytest.mark.parametrize("ending", ["svg", "dot", "txt", "json"])
def test_save(tmp_path, ending):
    view = torch.tapescope.view(loss())
    path = view.save(tmp_path / f"tape.{ending}")
    text = path.read_text(encoding="utf-8")
    assert "mul" in text and text.endswith("\n")
    if ending == "json":
        assert torch.tapescope.view(json.loads(text)).kind == "tape"


def test_save_as_something_else(tmp_path):
    with pytest.raises(ValueError, match=r"must end with \.svg, \.dot, \.txt, \.json"):
        torch.tapescope.view(loss()).save(tmp_path / "tape.png")
    assert not list(tmp_path.iterdir())


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Linear(4, 8)
        self.blocks = torch.nn.Sequential(
            *[torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()) for _ in range(5)]
        )
        self.norm = torch.nn.BatchNorm1d(8)
        self.stem.bias.requires_grad_(False)

    def forward(self, x):
        return self.norm(self.blocks(self.stem(x)))


def test_a_module():
    view = torch.tapescope.view(Net())
    assert view.kind == "module"
    text = view.text()
    assert text.startswith("Net: 19 modules, 416 parameters, 1.6 KiB")
    assert "0 · Sequential to 4 · Sequential x5, one shown" in text
    assert "bias [8] frozen" in view.svg() and "running_mean [8]" in view.svg()
    net = Net()
    bundle = net._repr_mimebundle_()
    assert bundle["text/plain"] == repr(net) and bundle["image/svg+xml"].startswith("<svg")
    json.dumps(bundle)


def test_a_module_inside_itself_is_cut():
    net = Net()
    net.blocks.loop = net
    record = display.module_json(net)
    assert json.dumps(record)
    assert "image/svg+xml" in net._repr_mimebundle_.__func__(Net())


def test_a_module_without_anything():
    assert torch.tapescope.view(torch.nn.ReLU()).svg().startswith("<svg")


def test_recorded_json():
    capture = observe.capture_json("f", None, [])
    assert torch.tapescope.view(capture).kind == "capture"
    assert torch.tapescope.view(observe.kernels_json("cpu", [])).kind == "kernels"


def test_objects_that_tell_their_records():
    class Explanation:
        def _tapescope_records_(self):
            return "kernels", observe.kernels_json("cpu", [])

    assert torch.tapescope.view(Explanation()).text().startswith("Kernels: 0 kernels")


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (torch.ones(2), ValueError, "no history to draw"),
        ([torch.ones(2)], ValueError, "no history to draw"),
        ({"a": 1}, TypeError, "holds no records"),
        (3, TypeError, "a int cannot be drawn"),
        ([], TypeError, "a list cannot be drawn"),
    ],
)
def test_what_cannot_be_drawn(x, error, message):
    with pytest.raises(error, match=message):
        torch.tapescope.view(x)


def test_without_a_renderer_the_text_stands(monkeypatch, tmp_path):
    monkeypatch.setattr(display, "renderer", lambda name: None)
    monkeypatch.setattr("tapescope.engine.tapescope_namespace._renderer", lambda name: None)
    assert set(loss()._repr_mimebundle_()) == set(Net()._repr_mimebundle_()) == {"text/plain"}
    view = torch.tapescope.view(loss())
    assert repr(view) == "<view of a tape>" and view._repr_mimebundle_() == {"text/plain": repr(view)}
    with pytest.raises(RuntimeError, match="no renderer for pictures is installed"):
        view.svg()
    assert view.save(tmp_path / "x.json").exists()


def test_a_renderer_that_fails_costs_the_picture_only(monkeypatch):
    def broken(records, text):
        raise ZeroDivisionError

    monkeypatch.setattr(display, "renderer", lambda name: broken)
    assert loss()._repr_mimebundle_() == {"text/plain": "tensor(3., grad_fn=<SumBackward0>)"}
