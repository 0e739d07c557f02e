"""`NAME_copy`: what a view of that name shows, in memory of its own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from . import complex_numbers, indexing, splitting, views
from .declare import into, operator


def _copied(name: str, view: Callable[..., Any]) -> None:
    @functools.wraps(view)
    def function(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        made = view(*args, **kwargs)
        if isinstance(made, Tensor):
            copy = made.clone()
            return copy if out is None else into(out, copy, name)
        copies = tuple(part.clone() for part in made)
        if out is None:
            return copies
        for target, part in zip(out, copies, strict=True):
            into(target, part, name)
        return None

    # `functools.wraps` keeps the view's signature; `out` comes behind it.
    parameters = [p for p in inspect.signature(view).parameters.values() if p.name != "out"]
    extra = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
    setattr(function, "__signature__", inspect.Signature([*parameters, extra]))  # noqa: B010 (no attribute checkers know)
    function.__name__ = name
    function.__doc__ = f"`{name.removesuffix('_copy')}` as a copy."
    operator(name=name, method=False)(function)


def _slice(input: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    return views.slice_dim(input, dim % max(input.ndim, 1), start, end, step)


def _detached(input: Tensor) -> Tensor:
    return input.detach()


for _name, _view in {
    "alias": indexing.alias, "as_strided": views.as_strided, "detach": _detached, "diagonal": views.diagonal, "expand": views.expand,
    "permute": views.permute, "select": views.select, "slice": _slice, "split": splitting.split,
    "split_with_sizes": splitting.split_with_sizes, "squeeze": views.squeeze, "t": views.t, "transpose": views.transpose,
    "unbind": splitting.unbind, "unfold": views.unfold, "unsqueeze": views.unsqueeze, "view": views.view,
    "view_as_complex": complex_numbers.view_as_complex, "view_as_real": complex_numbers.view_as_real,
}.items():  # fmt: skip
    _copied(f"{_name}_copy", _view)
