"""A device that holds no values: kernels only say what shape, dtype and memory order their results have.

It goes by the name of the device it stands in for, so that everything the engine decides by device it decides as it would there.
Reading a value raises `DataDependent`. Where a recorder listens it is told of everything that makes or changes memory.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ... import dtypes
from ...backends.base import Backend, Kernel
from ...ops.table import Op
from ...shapes import broadcast_shapes
from ...state import state
from ...tensor import wrap
from .array import FakeArray, FakeMemory, FakeRoot
from .layout import kept_order, row_major
from .probing import asked, strides_of
from .rules import FORMULAS, LAYOUTS, SHAPES
from .symbolic import DataDependent


class FakeBackend(Backend):
    """Stands in for device `name`. With `decompose`, formulas that have a fused kernel run as formulas (softmax).

    `recorder` (see `aot.recorder`) has methods `ran`, `made`, `cast`, `viewed` and `wrote`.
    """

    lifts: ClassVar[bool] = True

    def __init__(self, name: str = "cpu", *, decompose: bool = False):
        super().__init__()
        self.name = name  # type: ignore[misc]
        self.wide = dtypes.float64 if name == "cpu" else None
        self.decompose = decompose
        self.fuses = name == "cpu" and not decompose
        self.keeps_order = name == "cpu"
        self.recorder: Any = None
        self.reader: Callable[[Any], Any] | None = None
        """What `item()` of a fake gives, if anything: a function of the tensor."""
        self._lifted: dict[int, tuple[Any, Any]] = {}

    # -- memory ---------------------------------------------------------------------------------

    def array(self, shape: Any, dtype: Any, strides: Any = None) -> FakeArray:
        """Fresh memory."""
        shape = tuple(shape)
        return FakeArray(
            shape, row_major(shape) if strides is None else tuple(strides), 0, dtype, FakeMemory(self.name)
        )

    def empty(self, shape: Sequence[int], dtype: Any) -> FakeArray:
        return self._told("empty", self.array(shape, dtype))

    def full(self, shape: Sequence[int], value: Any, dtype: Any) -> FakeArray:
        return self._told("full", self.array(shape, dtype), value)

    def arange(self, first: Any, step: Any, count: Any, dtype: Any) -> FakeArray:
        return self._told("arange", self.array((count,), dtype), first, step)

    def lift(self, tensor: Any) -> Any:
        """A twin for a real tensor that meets fakes; a recorder has it as a constant."""
        known = self._lifted.get(id(tensor))
        if known is not None and known[0] is tensor:
            return known[1]
        from .tensors import fake_like

        name = tensor._storage.backend.name
        twin = fake_like(tensor, backends=lambda device: self if device == self.name else self.sibling(device))
        if name == "cpu" and not tensor._dtype.rounds:
            twin._data.constant = tensor.detach_shallow()._host()
        if self.recorder is not None:
            self.recorder.lifted(tensor, twin)
            self._lifted[id(tensor)] = (tensor, twin)
        return twin

    def read_number(self, tensor: Any) -> Any:
        """A literal's number, or what the `reader` stands in for it; raises DataDependent where there is none."""
        array = tensor._data
        if array.constant is not None and not array.memory.writes:
            return array.constant.item()
        if self.reader is not None:
            return self.reader(tensor)
        raise DataDependent(_reader(), tensor)

    def sibling(self, device: str) -> FakeBackend:
        """The fake of another device in the same recording."""
        if self.recorder is not None:
            return self.recorder.backend(device)
        from .tensors import fake_backend

        return fake_backend(device)

    def upload(self, array: np.ndarray, dtype: Any) -> FakeArray:
        if isinstance(array, FakeArray):
            return self.cast(array, dtype)
        out = self.array(array.shape, dtype)
        out.constant = np.array(array, dtype.numpy)
        return self._told("constant", out, out.constant)

    def receive(self, array: Any, home: Backend, dtype: Any) -> FakeArray:
        if not isinstance(array, FakeArray):
            return self.upload(home.download(array, dtype), dtype)
        out = self.array(array.shape, dtype)
        if self.recorder is not None:
            self.recorder.moved(array, out)
        return out

    def draw(self, shape: Any, dtype: Any, fill: Any, like: Any = None, gaps: bool = False) -> FakeArray:
        strides = None
        if like is not None:
            strides = like if gaps else kept_order(shape, [(shape, like)])
        return self._told("draw", self.array(shape, dtype, strides), fill, like, gaps)

    def _told(self, kind: str, out: FakeArray, *facts: Any) -> FakeArray:
        if self.recorder is not None:
            self.recorder.made(kind, out, *facts)
        return out

    def download(self, array: FakeArray, dtype: Any) -> np.ndarray:
        if array.constant is not None and not array.memory.writes:
            return array.constant.copy()
        raise DataDependent(_reader(), array)

    def rounded(self, array: FakeArray, dtype: Any) -> FakeArray:
        array._dtype = dtype
        return array

    def root(self, array: FakeArray) -> FakeRoot:
        return FakeRoot(array.memory, array._dtype)

    def view(self, root: FakeRoot, shape: Any, strides: Any, offset: Any) -> FakeArray:
        return FakeArray(tuple(shape), tuple(strides), offset, root.dtype, root.memory)

    def reinterpret(self, root: FakeRoot, dtype: Any) -> FakeRoot:
        return FakeRoot(root.memory, dtype)

    def geometry(self, array: FakeArray) -> tuple[Any, Any]:
        return array.strides, 0

    def cast(self, array: Any, dtype: Any) -> Any:
        if not isinstance(array, FakeArray):
            from ...backends.base import _backends, _factories

            return (_backends.get("cpu") or _factories["cpu"]()).cast(array, dtype)
        out = self.array(array.shape, dtype, self._order(array.shape, [array]))
        if array.constant is not None and not array.memory.writes and dtype is array._dtype:
            out.constant = array.constant
        if self.recorder is not None:
            self.recorder.cast(array, dtype, out)
        return out

    def copy(self, target: FakeArray, source: Any) -> None:
        if not isinstance(source, FakeArray):
            source = self.upload(source, target._dtype)
        target.memory.writes += 1
        if self.recorder is not None:
            self.recorder.wrote(target, source)

    def nbytes(self, array: FakeArray) -> Any:
        return array.numel() * array._dtype.itemsize

    def _order(self, shape: Any, arrays: Sequence[FakeArray]) -> Any:
        if not self.keeps_order:
            return row_major(shape)
        return kept_order(shape, [(a.shape, a.strides) for a in arrays])

    # -- kernels --------------------------------------------------------------------------------

    def generate(self, op: Op) -> Kernel:
        if op.kind == "pointwise":
            return self._pointwise(op)
        return self._by_rule(op)

    def _pointwise(self, op: Op) -> Kernel:
        result = op.result
        count = len(op.tensors)

        def kernel(*args: Any) -> FakeArray:
            arrays = [a for a in args[:count] if type(a) is FakeArray]
            first = arrays[0]
            shape = first.shape
            if any(a.shape is not shape for a in arrays):
                try:
                    shape = broadcast_shapes(*[a.shape for a in arrays])
                except RuntimeError as error:
                    raise ValueError(str(error)) from None
            dtype = first._dtype
            if result == "bool":
                dtype = dtypes.bool_
            elif result.endswith("real"):
                dtype = dtype.to_real()
            strides = None
            if self.keeps_order:
                (strides,) = strides_of(op, args[:count], args[count:], (shape,))
            out = self.array(shape, dtype, strides)
            if self.recorder is not None:
                self.recorder.ran(op, args[:count], args[count:], (out,))
            return out

        return kernel

    def _by_rule(self, op: Op) -> Kernel:
        rule = SHAPES.get(op.name) or op.shape
        formula = FORMULAS.get(op.name) if self.decompose else None
        layout, asks = LAYOUTS.get(op.name), asked(op)
        count = len(op.tensors)

        def kernel(*args: Any) -> Any:
            tensors, statics = (tuple(args[0]), args[1:]) if op.list_input else (args[:count], args[count:])
            first = next(a for a in tensors if a is not None)
            if formula is not None:
                return self._decomposed(formula, args[:count], statics)
            if rule is None:
                raise DataDependent(op.name, first)
            shapes = [None if a is None else a.shape for a in tensors]
            got = rule(shapes, *statics) if op.list_input else rule(*shapes, *statics)
            kinds = op.dtype(*tensors, *statics) if op.dtype is not None and not op.list_input else None
            shapes, kinds = (
                (got, kinds or (tensors[0]._dtype,) * len(got)) if op.multi else ((got,), (kinds or first._dtype,))
            )
            strides = strides_of(op, tensors, statics, shapes) if asks and self.keeps_order else [None] * len(shapes)
            outs = tuple(
                [
                    self._result(s, k, layout, tensors, statics) if layout is not None else self.array(s, k, st)
                    for s, k, st in zip(shapes, kinds, strides, strict=True)
                ]
            )
            if self.recorder is not None:
                self.recorder.ran(op, tensors, statics, outs)
            return outs if op.multi else outs[0]

        return kernel

    def _decomposed(self, formula: Any, tensors: Any, statics: Any) -> Any:
        """What a formula written with operators makes of the arrays."""
        before, state.grad_enabled = state.grad_enabled, False
        try:
            return formula(*[None if a is None else wrap(a, a._dtype, self) for a in tensors], *statics)._data
        finally:
            state.grad_enabled = before

    def _result(self, shape: Any, dtype: Any, layout: Any, tensors: Any, statics: Any) -> FakeArray:
        shape = tuple(shape)
        strides = layout(shape, tensors, statics) if layout is not None and self.keeps_order else None
        return self.array(shape, dtype, strides)


def _reader() -> str:
    """How the value is being read: the name of the Tensor method that was called ("item", "tolist", "bool")."""
    frame, name = sys._getframe(2), "value"
    while frame is not None and frame.f_code.co_filename.endswith(
        ("engine/tensor.py", "engine\\tensor.py", "modes.py")
    ):
        name = frame.f_code.co_name.strip("_")
        frame = frame.f_back  # type: ignore[assignment]
    return {"host": "value"}.get(name, name)
