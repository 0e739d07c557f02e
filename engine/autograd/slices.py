"""History of views under in-place writes.

Writing through a view rewrites the history of its base (`CopySlices`), and every view of that memory gets a new
history from the base when it is next asked (`AsStrided`).  Both work on the geometry of the view within its base.
"""

from __future__ import annotations

from typing import Any

from ..shapes import is_contiguous
from .node import Node
from .op_node import FREED


class CopySlices(Node):
    """The node of a base after a write through a view of it: edge 0 is the base before, the rest are the write's."""

    __slots__ = ("dtype", "number", "place", "writer")

    def __init__(self, base_edge: Any, writer: Node, number: int, place: tuple[Any, ...], dtype: Any):
        super().__init__(None, (base_edge, *writer.edges[1:]))
        self.writer = writer
        self.number = number
        self.place = place
        self.dtype = dtype

    def apply(self, grads: list[Any]) -> list[Any]:
        if self.writer is None:
            raise RuntimeError(FREED)
        whole = grads[0].contiguous()
        grad = _read_as(whole, self.dtype)
        shape, strides, offset = self.place
        part = grad.as_strided(shape, strides, offset)
        slots: list[Any] = [None] * max(1, self.number + 1)
        slots[self.number] = part
        inner = self.writer.apply(slots)
        before = inner[0]
        base = None
        if self.edges[0] is not None:
            kept = before if before is not None else part._zeros_like_plain()
            base = _read_as(grad.as_strided_scatter(kept, shape, strides, offset), whole.dtype).reshape(whole.shape)
        return [base, *inner[1:]]

    def release(self) -> None:
        if self.writer is not None:
            self.writer.release()


class WriteThrough(Node):
    """A write of a computed value over a whole view: nothing of what was there before is left."""

    __slots__ = ()

    def __init__(self, old: Any, edge: Any):
        super().__init__(None, (old, edge))

    def apply(self, grads: list[Any]) -> list[Any]:
        return [None, grads[0]]


def _read_as(t: Any, dtype: Any) -> Any:
    """A row-major tensor with its memory read as complex numbers or as their parts, where `dtype` is of the other kind."""
    if t._dtype.is_complex == dtype.is_complex:
        return t
    from ..ops import functions as F

    return F.view_as_real(t) if t._dtype.is_complex else F.view_as_complex(t.reshape(-1, 2))


def _place(view: Any) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Geometry of a view within the row-major layout of its base, in elements of the view."""
    base = view._base
    shape, strides, offset = tuple(view._data.shape), view.stride(), view._offset - base._offset
    if view._dtype.itemsize != base._dtype.itemsize:
        if not is_contiguous(base._data.shape, base.stride()):
            raise RuntimeError(
                "in-place writes to the parts of complex numbers need a contiguous base; call .contiguous() first"
            )
        return shape, strides, view._offset - base._offset * base._dtype.itemsize // view._dtype.itemsize
    if is_contiguous(base._data.shape, base.stride()):
        return shape, strides, offset
    return in_logical_order(tuple(base._data.shape), base.stride(), shape, strides, offset)


def in_logical_order(
    sizes: tuple[int, ...], steps: tuple[int, ...], shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> tuple[Any, Any, int]:
    """Translate strides in memory to strides among the elements, in row-major order, of a base of `sizes` and `steps`.

    A step of one of the base's own strides is a step of that dimension's row-major stride.
    """
    from ..shapes import contiguous_strides

    logical = contiguous_strides(sizes)
    order = sorted((st, lg, n) for st, lg, n in zip(steps, logical, sizes, strict=True) if n > 1)

    def translate(distance: int) -> int:
        out = 0
        for step, row_major, size in reversed(order):
            turns = min(distance // step, size - 1) if step else 0
            out += turns * row_major
            distance -= turns * step
        return out

    return shape, tuple(translate(s) if n > 1 else 1 for s, n in zip(strides, shape, strict=True)), translate(offset)


def copy_slices(view: Any, writer: Node, number: int) -> None:
    """Give the base of `view` the history "what it was, with `writer`'s output written over the view"."""
    from ..tensor import gradient_edge

    base = view._base
    old = gradient_edge(base) if base._requires_grad else None
    if not _writes_in_place(writer, view):
        writer = WriteThrough(None, (writer, number))
        number = 0
        writer.outputs = ((view._data.shape, view._dtype, view._storage.backend.name),)
    node = CopySlices(old, writer, number, _place(view), view._dtype)
    node.outputs = ((base._data.shape, base._dtype, base._storage.backend.name),)
    base._requires_grad = True
    base._grad_fn, base._output_nr = node, 0
    regenerate(view)


def _writes_in_place(writer: Node, view: Any) -> bool:
    """Whether the writer is an in-place operator whose first input is the view itself."""
    return bool(
        writer.saved is not None and getattr(writer, "op", None) is not None and writer.metadata.get("in-place")
    )


def regenerate(view: Any) -> None:
    """A fresh history for a view from its base: an `AsStrided` node."""
    from ..ops.views import AS_STRIDED
    from ..tensor import gradient_edge
    from .op_node import record

    base = view._base
    if view._creation in ("custom", "multi"):
        from ..dispatch import view_refusal

        raise RuntimeError(view_refusal(view, base_written=True))
    shape, strides, offset = _place(view)
    view._requires_grad = base._requires_grad
    base = _read_as(base, view._dtype)
    record(AS_STRIDED, (base,), (gradient_edge(base),), (shape, strides, offset), (view,))
    view._seen_version = view._storage.version
