"""The path of a call: devices from outside the package, records on the bus, the operator table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tapescope import engine as torch
from tapescope.engine.backends.base import Backend, register_backend
from tapescope.engine.observe import OpRecorded, bus
from tapescope.engine.ops.table import FUNCTIONS, OPS, Op
from tapescope.engine.overrides import original


class Toy(Backend):
    """A device that keeps numpy arrays in a box and runs the table's numpy kernels on them."""

    name = "toy"

    def generate(self, op: Op):
        return (
            (lambda *args: op.cpu(*[np.asarray(a) if isinstance(a, np.ndarray) else a for a in args]))
            if op.cpu
            else None
        )

    def own(self, array):
        return np.asarray(array)

    def empty(self, shape, dtype):
        return np.zeros(shape, dtype.numpy)

    def upload(self, array, dtype):
        return np.array(array, dtype.numpy)

    def download(self, array, dtype):
        return np.array(array)

    def view(self, root, shape, strides, offset):
        return np.lib.stride_tricks.as_strided(root.reshape(-1)[offset:], shape, [s * root.itemsize for s in strides])

    def geometry(self, array):
        return tuple(s // array.itemsize for s in array.strides), 0

    def cast(self, array, dtype):
        return array.astype(dtype.numpy)

    def copy(self, target, source):
        target[...] = source

    def nbytes(self, array):
        return array.nbytes


register_backend("toy", Toy)


def test_a_device_from_outside_trains():
    w = torch.tensor([1.0, 2.0], device="toy", requires_grad=True)
    x = torch.tensor([[3.0, 4.0], [5.0, 6.0]], device="toy")
    loss = ((x * w).sum(1) - 1).pow(2).mean()
    loss.backward()
    assert str(w.grad.device) == "toy:0" and w.grad.cpu().tolist() == [110.0, 136.0]
    with torch.no_grad():
        w -= 0.01 * w.grad
    assert np.allclose(w.detach().cpu().numpy(), [1 - 1.1, 2 - 1.36])
    assert x[:, 1].cpu().tolist() == [4, 6]


def test_gradients_cross_devices():
    x = torch.ones(2, requires_grad=True)
    (x.to("toy") * 3).sum().backward()
    assert x.grad.tolist() == [3, 3] and x.grad.is_cpu


def test_tensors_of_two_devices_do_not_mix():
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(2) + torch.ones(2, device="toy")
    assert (torch.ones(2, device="toy") + torch.tensor(2.0)).cpu().tolist() == [3, 3]


def test_records_of_a_run():
    seen: list = []
    stop = bus.subscribe(seen.append)
    try:
        x = torch.ones(2, 3, requires_grad=True)
        (x * 2).sum().backward()  # watched
    finally:
        stop()
    x.exp()
    kinds = [r.kind for r in seen]
    assert kinds.count("backward") == 1 and kinds.count("node") == 2
    mul = next(r for r in seen if isinstance(r, OpRecorded) and r.op == "mul")
    assert mul.inputs[0].shape == (2, 3) and mul.outputs[0].dtype == "float32" and mul.node is not None
    assert mul.source.file == __file__ and "# watched" in Path(__file__).read_text().splitlines()[mul.source.line - 1]
    assert all(json.loads(json.dumps(r.to_json()))["kind"] == r.kind for r in seen)
    assert not bus.op and "exp" not in [getattr(r, "op", "") for r in seen]


def test_unknown_kinds_are_refused():
    with pytest.raises(ValueError, match="no record kind 'opp'"):
        bus.subscribe(print, ["opp"])


def test_everything_in_the_table_is_on_the_surface():
    for f in FUNCTIONS.values():
        if "torch" in f.spaces:
            assert original(getattr(torch, f.name)) is f.call
        if f.method and "primitive" not in f.spaces:
            assert original(getattr(torch.Tensor, f.name)) is f.call
        assert (f.call.__doc__ or "").strip(), f"{f.name} says nothing of itself"


def test_rules_for_shapes_and_dtypes_hold():
    """The rule of a primitive agrees with what its kernel makes, over the gradient samples."""
    from .gradient_samples import SAMPLES
    from .test_gradients import tensor

    for name, op in sorted(OPS.items()):
        if op.shape is None or name not in SAMPLES or op.multi:
            continue
        seen: list = []
        original = op.cpu
        cpu = torch.zeros(1)._storage.backend

        def spy(*args, _op=op, _cpu=original, _seen=seen):
            out = _cpu(*args)
            arrays = args[0] if _op.list_input else args[: len(_op.tensors)]
            shapes = [a.shape if a is not None else None for a in arrays]
            want = _op.shape(shapes, *args[1:]) if _op.list_input else _op.shape(*shapes, *args[len(_op.tensors) :])
            _seen.append((tuple(np.shape(out)), tuple(want)))
            return out

        before = cpu.kernels.get(name)
        cpu.kernels[name] = spy
        try:
            function, inputs = SAMPLES[name](tensor)
            function(*inputs)
        finally:
            cpu.kernels.pop(name)
            if before is not None:
                cpu.kernels[name] = before
        assert seen and all(a == b for a, b in seen), f"{name}: {seen}"


def test_a_primitive_cannot_be_declared_twice_or_ask_for_what_it_has_not():
    with pytest.raises(ValueError, match="declared twice"):
        Op("exp", "input", kind="pointwise")
    with pytest.raises(ValueError, match="asks for 'weights'"):
        Op("nonsense", "input", kind="pointwise", grads={"input": lambda g, weights: g})
    OPS.pop("nonsense", None)
