"""Formulas of gradients as one kernel, on devices that have one or make them of expressions.

A gradient rule is written with operators, so that it can be differentiated and traced. Where neither is going on, and the device
offers it, the same formula may run as one expression (the language of `Op.expr`) over the tensors' elements, or by a kernel of its
own: one pass over memory instead of one an operator. The caller falls back on its operators where None comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import FLOATING
from ..observe import bus
from ..state import state
from ..tensor import Tensor, wrap


def one_launch(expression: str, **tensors: Tensor) -> Tensor | None:
    """The expression over elements of tensors of one floating dtype, which may broadcast; None where it must go another way."""
    given = tuple(tensors.values())
    backend = given[0]._storage.backend
    formula = getattr(backend, "formula", None)
    if formula is None or not _alike(given):
        return None
    return wrap(formula(expression, tuple(tensors), [t._data for t in given]), given[0]._dtype, backend)


def by_kernel(name: str, tensors: tuple[Tensor, ...], *statics: Any) -> Tensor | None:
    """The device's kernel `name`, which is none of the primitives, of tensors of one floating dtype; None where it has none."""
    backend = tensors[0]._storage.backend
    kernel = backend.kernels.get(name)
    if kernel is None or not _alike(tensors):
        return None
    return wrap(kernel(*[t._data for t in tensors], *statics), tensors[0]._dtype, backend)


def unwatched(name: str, tensors: tuple[Tensor | None, ...], *statics: Any) -> tuple[Tensor, ...] | None:
    """What the device's kernel `name`, none of the primitives, makes of tensors of whatever dtypes: one tensor or several.

    None where there is no such kernel, it cannot take these tensors, one is empty or in double precision, or somebody watches.
    """
    first = tensors[0]
    assert first is not None
    backend = first._storage.backend
    kernel = backend.kernels.get(name)
    if kernel is None or state.modes or bus.op or not first._dtype.is_floating_point:
        return None
    for t in tensors:
        if t is not None and (t._storage.backend is not backend or not t.numel() or _double(t)):
            return None
    made = kernel(*[None if t is None else t._data for t in tensors], *statics)
    if made is None:
        return None
    return tuple([wrap(a, a.dtype, backend) for a in (made if isinstance(made, tuple) else (made,))])


def _double(t: Tensor) -> bool:
    return t._dtype.category >= FLOATING and t._dtype.itemsize > 4


def either(made: Tensor | None, formula: Callable[[], Tensor]) -> Tensor:
    """What was made in one launch, else the formula's."""
    return formula() if made is None else made


def _alike(tensors: tuple[Tensor, ...]) -> bool:
    """Whether nobody watches the operators, and the tensors are of one device and one floating dtype that kernels compute in."""
    if state.modes or state.grad_enabled or bus.op:
        return False
    backend, kind = tensors[0]._storage.backend, tensors[0]._dtype
    if not kind.is_floating_point or kind.itemsize > 4:
        return False
    return all(t._storage.backend is backend and t._dtype is kind for t in tensors)
