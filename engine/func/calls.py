"""Modules as functions of their parameters: `functional_call`, `stack_module_state`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..ops import functions as F
from ..tensor import Tensor


@contextlib.contextmanager
def _replaced(module: Any, given: dict[str, Tensor], tie_weights: bool) -> Iterator[None]:
    """The module's parameters and buffers exchanged for `given`, by dotted name; put back at the end."""
    names = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    exchanged: list[tuple[dict[str, Any], str, Any]] = []
    values = dict(given)
    if tie_weights:
        for name, value in given.items():
            owner = names.get(name)
            for other, t in names.items():
                if t is owner and owner is not None and other not in values:
                    values[other] = value
    try:
        for name, value in values.items():
            path, _, last = name.rpartition(".")
            home = module.get_submodule(path)
            for store in (home._parameters, home._buffers):
                if last in store:
                    exchanged.append((store, last, store[last]))
                    store[last] = value
                    break
            else:
                raise KeyError(f"functional_call: the module has no parameter or buffer {name!r}")
        yield
    finally:
        for store, last, before in reversed(exchanged):
            store[last] = before


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call `module(*args, **kwargs)` with its parameters and buffers replaced by those of the dictionaries.

    With `strict`, all of them must be given and no others. Raises RuntimeError otherwise, ValueError for a key given twice.
    """
    dicts = (
        parameter_and_buffer_dicts if isinstance(parameter_and_buffer_dicts, Sequence) else [parameter_and_buffer_dicts]
    )
    given: dict[str, Tensor] = {}
    for d in dicts:
        again = next((k for k in d if k in given), None)
        if again is not None:
            raise ValueError(f"{again} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given.update(d)
    if strict:
        known = {*dict(module.named_parameters()), *dict(module.named_buffers())}
        missing, extra = sorted(known - given.keys()), sorted(given.keys() - known)
        if missing or extra:
            raise RuntimeError(f"Error(s) in strict functional_call: missing keys {missing}, unexpected keys {extra}")
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights):
        return module(*positional, **(kwargs or {}))


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and buffers of equal modules, stacked along a new first dimension, for `vmap` over an ensemble."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    rows = [dict(m.named_parameters()) for m in models]
    params = {k: F.stack([r[k] for r in rows]).detach().requires_grad_(rows[0][k].requires_grad) for k in rows[0]}
    stores = [dict(m.named_buffers()) for m in models]
    return params, {k: F.stack([r[k] for r in stores]) for k in stores[0]}


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """`func` with in-place changes of its arguments kept to copies, so that the caller's tensors stay as they are."""
    from .trees import tree_map

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return func(*tree_map(lambda v: v.clone() if isinstance(v, Tensor) else v, list(args)), **kwargs)

    wrapped.__name__ = getattr(func, "__name__", "function")
    return wrapped
