"""Records what a fake backend does as a functional graph of primitives.

Each fake array has a *value*: the node that computes its elements. A write gives the written array, and what it is a view of, new
values; other views of the same memory are read anew from there. So in-place writes and views become functions of values, and the
graph has neither. This file knows arrays and nodes; tensors and the tape stand above it, on the fakes.
"""

from __future__ import annotations

import operator
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from ... import module_path
from ...autograd.node import ENGINE_FOLDER, resolve_source
from ...autograd.node import Node as TapeNode
from ...backends.base import backend as real_backend
from ...dtypes import FROM_NUMPY
from ...ops.random import Draw
from ...ops.table import OPS, Op
from ...state import state
from ...tensor import wrap
from ..fake import FakeArray, FakeBackend
from ..fake.layout import is_row_major, kept_order, row_major
from ..fake.probing import asked, strides_of
from ..fake.symbolic import surely_equal
from ..graph import Graph, GraphModule, Node, TensorSpec, spec_of
from . import creations


class Recorder:
    """One recording: a graph that grows while fakes compute."""

    def __init__(self, *, decompose: bool = True):
        self.graph = Graph()
        self.module = GraphModule(self.graph)
        self.decompose = decompose
        self.current: Node | None = None
        """The level-1 node that runs now, if one does: its source and module are those of what it records."""
        self.origins: list[tuple[int, Node]] = []
        """(first sequence number, level-1 node), in order: which line a tape node came from."""
        self.reader: Any = None
        """What `item()` gives, see `FakeBackend`."""
        self._backends: dict[str, FakeBackend] = {}
        self._values: dict[int, tuple[FakeArray, Node, int]] = {}
        self.objects: dict[int, tuple[Any, Node]] = {}
        """Inputs that are no tensors and no plain values, by identity."""
        self._views: list[FakeArray] = []  # kept, as arrays are known by their identity
        self._links: dict[int, tuple[Op, FakeArray, tuple[Any, ...]]] = {}

    def backend(self, name: str) -> FakeBackend:
        """The fake of a device whose work is recorded here."""
        found = self._backends.get(name)
        if found is None:
            found = self._backends[name] = FakeBackend(name, decompose=self.decompose)
            found.recorder = self
            found.reader = self.reader
        return found

    # -- values ---------------------------------------------------------------------------------

    def define(self, array: FakeArray, node: Node) -> None:
        """Let `node` be the value of `array` from now on."""
        self._values[id(array)] = (array, node, array.memory.writes)

    def value(self, array: FakeArray) -> Node:
        """The node that computes the elements that `array` has now."""
        found = self._values.get(id(array))
        if found is not None and found[2] == array.memory.writes:
            return found[1]
        link = self._links.get(id(array))
        if link is not None:
            op, source, statics = link
            node = self.value(source)
            if not _same_window(source, array):
                node = self._emit(op, (node, *statics), array)
        else:
            owner = array.memory.owner
            if owner is None or owner is array or owner._dtype is not array._dtype:
                raise RuntimeError(
                    "a tensor that was made outside of the traced function takes part in it: pass it as an argument"
                )
            node = self._emit(OPS["as_strided"], (self.value(owner), *_place(owner, array)), array)
        self.define(array, node)
        return node

    def known(self, array: FakeArray) -> bool:
        """Whether the array has a value here."""
        return id(array) in self._values or id(array) in self._links

    def chain(self, array: FakeArray) -> list[tuple[Op, tuple[Any, ...]]]:
        """The view operators that lead from the array which owns the memory to this one."""
        out: list[tuple[Op, tuple[Any, ...]]] = []
        while (link := self._links.get(id(array))) is not None:
            op, array, statics = link
            out.append((op, statics))
        if array is not array.memory.owner:
            out.append((OPS["as_strided"], (tuple(array.shape), tuple(array.strides), array.offset)))
        return out[::-1]

    def argument(self, a: Any) -> Any:
        """An argument of a kernel as a node has it."""
        if type(a) is FakeArray:
            return self.value(a)
        if type(a) is tuple or type(a) is list:
            return type(a)([self.argument(x) for x in a])
        if isinstance(a, tuple) and not hasattr(a, "_fields"):
            return tuple([self.argument(x) for x in a])
        if isinstance(a, dict):
            return {k: self.argument(v) for k, v in a.items()}
        if isinstance(a, np.ndarray):  # an index that was met as a real tensor
            return self._constant(_real(a, FROM_NUMPY[a.dtype], "cpu"), "index")
        if id(a) in self.objects:
            return self.objects[id(a)][1]
        data = getattr(a, "_data", None)
        return self.value(data) if type(data) is FakeArray else a

    def lifted(self, tensor: Any, twin: Any) -> None:
        """A real tensor met fakes: it is a constant."""
        node = self._constant(tensor, "constant")
        node.meta["val"] = self.spec(twin._data)
        self.define(twin._data, node)

    def _constant(self, tensor: Any, hint: str) -> Node:
        node = self.graph.get_attr(self.module.add_constant(tensor, hint))
        node.meta.update(self._place())
        node.meta["val"] = spec_of(tensor)
        return node

    # -- what the backend tells -----------------------------------------------------------------

    def ran(self, op: Op, tensors: tuple[Any, ...], statics: tuple[Any, ...], outs: tuple[FakeArray, ...]) -> None:
        """A primitive ran."""
        if op.name in ("clone", "contiguous") and self._same_order(tensors[0], outs[0]):
            self.define(outs[0], self.value(tensors[0]))  # in a graph without writes a copy is what it copies
            return
        inputs = tuple([self.argument(t) for t in tensors])
        args = (list(inputs), *self.argument(statics)) if op.list_input else (*inputs, *self.argument(statics))
        if not op.multi:
            self.define(outs[0], self._emit(op, args, outs[0]))
            return
        node = self._add(op, args)
        node.meta["val"] = tuple([self.spec(o) for o in outs])
        for i, o in enumerate(outs):
            part = self._add(operator.getitem, (node, i))
            part.meta["val"] = self.spec(o)
            self.define(o, part)

    def _same_order(self, source: FakeArray, out: FakeArray) -> bool:
        val = self.value(source).meta["val"]
        return _same(val.strides, out.strides)

    def made(self, kind: str, out: FakeArray, *facts: Any) -> None:
        """Memory was made from nothing."""
        shape, dtype, device = out.shape, out._dtype, out.memory.device
        if kind == "constant":
            tensor = _real(facts[0], dtype, device)
            node = self._constant(tensor, "constant")
        elif kind == "full":
            node = self._add(creations.full, (shape, facts[0], dtype, device))
        elif kind == "arange":
            node = self._add(creations.arange, (*facts, shape[0], dtype, device))
        elif kind == "draw":
            fill, like, gaps = facts
            assert isinstance(fill, Draw)
            args: tuple[Any, ...] = (shape, dtype, device, fill.function, self.argument(fill.args))
            if fill.kwargs or like is not None:
                args = (*args, self.argument(fill.kwargs))
            if like is not None:
                args = (*args, tuple(like), gaps)
            node = self._add(creations.draw, args)
            node.meta["random"] = True
        else:
            node = self._add(creations.empty, (shape, dtype, device))
        node.meta["val"] = self.spec(out)
        self.define(out, node)

    def cast(self, source: FakeArray, dtype: Any, out: FakeArray) -> None:
        """Memory was copied to another dtype (or the same)."""
        node = self.value(source)
        if dtype is not source._dtype:
            node = self._emit(OPS["to_dtype"], (node, dtype), out)
        self.define(out, node)

    def moved(self, source: FakeArray, out: FakeArray) -> None:
        """Memory was copied to another device."""
        node = self._add(creations.to_device, (self.value(source), out.memory.device))
        node.meta["val"] = self.spec(out)
        self.define(out, node)

    def viewed(self, op: Op, source: FakeArray, statics: tuple[Any, ...], out: FakeArray) -> None:
        """A view was made."""
        if out is source:
            return
        if op.name != "as_strided":  # which looks at the whole memory, not at what it was called on
            self._links[id(out)] = (op, source, self.argument(statics))
        else:
            self._views.append(out)
        self.value(out)

    def wrote(self, target: FakeArray, source: FakeArray) -> None:
        """Elements were written into `target`: its value, and that of what it is a view of, change."""
        memory = target.memory
        memory.writes -= 1  # what was there before is read first (the source may be the same memory)
        node = self.value(source)
        if not _same(source.shape, target.shape):
            node = self._emit(OPS["expand"], (node, target.shape), target)
        steps: list[tuple[FakeArray, Node]] = [(target, node)]
        array = target
        while (link := self._links.get(id(array))) is not None:
            op, parent, statics = link
            node = self._written(op, parent, statics, node)
            steps.append((parent, node))
            array = parent
        owner = memory.owner
        if owner is not None and array is not owner:
            args = (self.value(owner), node, *_place(owner, array))
            steps.append((owner, self._emit(OPS["as_strided_scatter"], args, owner)))
        memory.writes += 1
        for a, n in steps:
            self.define(a, n)

    def _written(self, op: Op, parent: FakeArray, statics: tuple[Any, ...], node: Node) -> Node:
        """The value of `parent` after `node` was written over its view by `op`."""
        name = op.name
        if name == "alias" or (name == "view" and _same(parent.shape, statics[0])):
            return node
        if name in ("view", "unsafe_view", "squeeze", "unsqueeze"):
            return self._emit(OPS["view"], (node, parent.shape), parent)
        if name == "t" or name == "transpose":
            return self._emit(op, (node, *statics), parent)
        if name == "permute":
            back = [0] * len(statics[0])
            for i, d in enumerate(statics[0]):
                back[d] = i
            return self._emit(op, (node, tuple(back)), parent)
        if name == "view_as_real":
            return self._emit(OPS["view_as_complex"], (node,), parent)
        if name == "view_as_complex":
            return self._emit(OPS["view_as_real"], (node,), parent)
        steps = row_major(parent.shape)
        size, stride, offset = op.geometry(tuple(parent.shape), steps, 0, *statics)  # type: ignore[misc]
        return self._emit(
            OPS["as_strided_scatter"], (self.value(parent), node, tuple(size), tuple(stride), offset), parent
        )

    # -- nodes ----------------------------------------------------------------------------------

    def spec(self, array: FakeArray) -> TensorSpec:
        """What is known of an array."""
        return TensorSpec(tuple(array.shape), tuple(array.strides), array._dtype, array.memory.device)

    def _emit(self, op: Op, args: tuple[Any, ...], out: FakeArray) -> Node:
        node = self._add(op, args)
        spec = self.spec(out)
        strides = self._strides(op, args, spec)
        if not _same(strides, spec.strides):
            spec = replace(spec, strides=strides)
        node.meta["val"] = spec
        return node

    def _strides(self, op: Op, args: tuple[Any, ...], spec: TensorSpec) -> tuple[Any, ...]:
        """How the value lies in memory: the array it is the value of may lie otherwise, having been written to."""
        vals = [a.meta.get("val") for a in args if isinstance(a, Node)]
        if op.kind == "view":
            if op.name in ("view_as_real", "view_as_complex"):
                return spec.strides
            source: Any = vals[0]
            steps = row_major(source.shape) if op.name == "as_strided" else source.strides
            try:
                return tuple(op.geometry(tuple(source.shape), tuple(steps), 0, *args[1:])[1])  # type: ignore[misc]
            except RuntimeError:  # it is copied
                return row_major(spec.shape)
        if asked(op) and not op.multi and self.backend(spec.device).keeps_order:
            count = len(op.tensors)
            tensors, statics = (args[0], args[1:]) if op.list_input else (args[:count], args[count:])
            inputs = [a.meta["val"] if isinstance(a, Node) else a for a in tensors]
            return strides_of(op, inputs, tuple(statics), (spec.shape,))[0]
        if op.name in ("clone", "to_dtype"):
            given = [(v.shape, v.strides) for v in vals if isinstance(v, TensorSpec)]
            return kept_order(spec.shape, given) if self.backend(spec.device).keeps_order else row_major(spec.shape)
        return row_major(spec.shape) if op.name == "as_strided_scatter" else spec.strides

    def _add(self, target: Any, args: tuple[Any, ...]) -> Node:
        node = self.graph.call_function(target, args)
        node.meta.update(self._place())
        return node

    def _place(self) -> dict[str, Any]:
        """Source, module and tape node of what is being recorded."""
        found = self.current
        frame = sys._getframe(2)
        while frame is not None:
            code = frame.f_code
            if code.co_name == "apply" and code.co_filename.startswith(_AUTOGRAD):
                node = frame.f_locals.get("self")
                if isinstance(node, TapeNode):
                    return self._backward_place(node)
            elif found is None and not code.co_filename.startswith(ENGINE_FOLDER):
                return {"source": resolve_source(code, frame.f_lasti), "module": module_path.current}
            frame = frame.f_back  # type: ignore[assignment]
        if found is not None:
            module = found.meta.get("module") or module_path.current
            return {"source": found.meta.get("source"), "module": module, "origin": found.name}
        return {"source": None, "module": module_path.current}

    def _backward_place(self, node: TapeNode) -> dict[str, Any]:
        number = node.sequence_nr
        maker = None
        for first, n in reversed(self.origins):
            if first <= number:
                maker = n
                break
        source = maker.meta.get("source") if maker is not None else resolve_source(node._code, node._offset)
        module = (maker.meta.get("module") if maker is not None else None) or node.module
        place = {"source": source, "module": module, "tape": number, "backward": True}
        return place if maker is None else {**place, "origin": maker.name}


def _real(array: np.ndarray, dtype: Any, device: str) -> Any:
    """A real tensor with a copy of the elements, although new tensors are fakes now."""
    before, state.fakes = state.fakes, None
    try:
        home = real_backend(device)
        return wrap(home.upload(array, dtype), dtype, home)
    finally:
        state.fakes = before


def _same(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(map(surely_equal, a, b))


def _same_window(a: FakeArray, b: FakeArray) -> bool:
    """Whether two arrays show the same elements in the same form."""
    if a._dtype is not b._dtype or len(a.shape) != len(b.shape):
        return False
    return _same(a.shape, b.shape) and _same(a.strides, b.strides) and surely_equal(a.offset, b.offset)


def _place(owner: FakeArray, array: FakeArray) -> tuple[Any, Any, Any]:
    """Geometry of a window among the elements of the owner of its memory in row-major order."""
    shape, strides, offset = tuple(array.shape), tuple(array.strides), array.offset
    if not is_row_major(owner.shape, owner.strides):
        from ...autograd.slices import in_logical_order

        return in_logical_order(tuple(owner.shape), owner.strides, shape, strides, offset)
    return shape, strides, offset


_AUTOGRAD = ENGINE_FOLDER + "autograd"

__all__ = ["Recorder"]
