"""Primitives as functions of tensors, for generated code: `ops.sum(x, (0,), False)`.

A primitive is called with its tensors (a list where it takes a list) and then its static arguments, as a level-2 node has
them; it takes the ordinary path of a call (modes, kernel, tape).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dispatch
from ...ops import functions as F
from ...ops.composed import COMPOSED
from ...ops.table import OPS, Op


def runner(op: Op) -> Callable[..., Any]:
    """The function that runs one primitive on `(*tensors, *statics)`."""
    count = len(op.tensors)
    run: Callable[..., Any]
    if op.name in ("view", "unsafe_view"):
        run = _named(_view)
    elif op.name == "as_strided":
        run = _named(_as_strided)
    elif op.list_input:
        run = lambda tensors, *statics: dispatch.call(op, tuple(tensors), statics)  # noqa: E731
    elif op.kind == "pointwise":
        run = lambda *args: dispatch.pointwise(op, args[:count], args[count:])  # noqa: E731
    else:
        run = lambda *args: dispatch.call(op, args[:count], args[count:])  # noqa: E731
    run.__name__ = run.__qualname__ = op.name
    return run


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*args)


def _view(t: Any, size: Any) -> Any:
    """A graph of values says nothing of memory: where the elements do not lie as a view needs, they are copied."""
    return F.reshape(t, size)


def _as_strided(t: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    """Strides count among the elements in row-major order."""
    t = t.contiguous()
    return dispatch.call(OPS["as_strided"], (t,), (size, stride, storage_offset + t.storage_offset()))


class Primitives:
    """A namespace with a function for every primitive."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        op = OPS.get(name)
        if op is None and name in COMPOSED:
            op = COMPOSED[name][0]
        if op is None:
            raise AttributeError(f"there is no primitive {name!r}")
        made = runner(op)
        setattr(self, name, made)
        return made


ops = Primitives()
"""The namespace that generated code calls `ops`."""
