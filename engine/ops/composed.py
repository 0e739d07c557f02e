"""Formulas written with operators that stand on the tape as one node, as PyTorch has it: losses, normalisations,
embedding.

They need no kernels: the formula runs, unrecorded, on whatever device its tensors are, and the node carries a gradient
rule of its own. Where the CPU does better, a kernel may be given for it. Where something else looks at operators (a
function transform, a capture) it sees the formula's.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from .. import dispatch
from ..observe import bus
from ..state import state
from ..tensor import Tensor
from .table import OPS, Grad, Op

COMPOSED: dict[str, tuple[Op, Callable[..., Any]]] = {}
"""The node's operator and the formula, by name."""


def composed(
    name: str,
    tensors: str,
    statics: str = "",
    *,
    grads: dict[str | tuple[str, ...], Grad],
    backward: str | None = None,
    overload: Callable[[tuple[Any, ...], tuple[Any, ...]], int | str] | None = None,
    multi: bool = False,
    cpu: Callable[..., Any] | None = None,
    dtype: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator for a formula `f(*tensors, *statics)`: the function runs it and records one node.

    `tensors`, `statics`, `grads`, `backward`, `overload` and `multi` mean what they mean for a primitive (see `Op`); tensors may be
    None. With `cpu` (and `dtype`, where the results' are not the first input's) a numpy kernel stands in for the formula where all
    tensors are on the CPU.
    """

    def declare(formula: Callable[..., Any]) -> Callable[..., Any]:
        primitive = OPS.pop(name, None)  # there may be one that does a part of it
        op = Op(
            name, tensors, statics, kind="fused", grads=grads, backward=backward, overload=overload, multi=multi, cpu=cpu, dtype=dtype,
        )  # fmt: skip
        del OPS[name]  # devices need no kernel for it, so it is none of the primitives itself
        if primitive is not None:
            OPS[name] = primitive
        COMPOSED[name] = (op, formula)
        count = len(op.tensors)

        def run(*args: Any) -> Any:
            given = args[:count]
            if cpu is not None and not state.modes and given[0]._storage.backend.is_host:
                return dispatch.call(op, given, args[count:])
            needs = state.grad_enabled and any([isinstance(t, Tensor) and t._requires_grad for t in given])
            if state.modes or not (needs or bus.op):
                return formula(*args)
            before, told = state.grad_enabled, bus.op
            state.grad_enabled = bus.op = False
            bus.began = perf_counter()
            try:
                made = formula(*args)
            finally:
                state.grad_enabled, bus.op = before, told
            outputs = tuple(made) if multi else (made,)
            # What is one of the inputs, or a view of one, must not get a second history.
            outputs = tuple([o.detach_shallow() if isinstance(o, Tensor) else o for o in outputs])
            return dispatch._finish(op, given, args[count:], outputs, needs)

        run.__name__ = name
        run.__doc__ = formula.__doc__
        return run

    return declare
