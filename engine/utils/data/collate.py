"""How samples become a batch: tensors are stacked, numbers become tensors, containers keep their form."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ...tensor import Tensor

_TEXT_OR_OBJECTS = re.compile(r"[SaUO]")
_WHAT = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_convert(data: Any) -> Any:
    """numpy arrays and numbers inside of `data` as tensors; everything else as it is."""
    kind = type(data)
    if isinstance(data, Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ != "str_":
        if isinstance(data, np.ndarray) and _TEXT_OR_OBJECTS.search(data.dtype.str):
            return data
        from ... import as_tensor

        return as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping(data, {k: default_convert(v) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*(default_convert(d) for d in data))
    if isinstance(data, tuple):
        return [default_convert(d) for d in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence(data, [default_convert(d) for d in data])
    return data


def _mapping(like: Any, items: dict[Any, Any]) -> Any:
    """A mapping of the same type with other values; a plain one where that type cannot be made so."""
    try:
        if isinstance(like, MutableMapping):
            out = copy.copy(like)
            out.update(items)
            return out
        return type(like)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def _sequence(like: Any, items: list[Any]) -> Any:
    """A sequence of the same type with other elements; a plain one where that type cannot be made so."""
    try:
        if isinstance(like, MutableSequence):
            out = copy.copy(like)
            for i, item in enumerate(items):
                out[i] = item
            return out
        return type(like)(items)  # type: ignore[call-arg]
    except TypeError:
        return items


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """One batch of a list of samples. `collate_fn_map` says for each type what to do with a list of such.

    Containers are gone into. Raises TypeError for samples of an unknown type, RuntimeError for lists of different
    lengths.
    """
    first = batch[0]
    for kind, function in (collate_fn_map or {}).items():
        if type(first) is kind:
            return function(batch, collate_fn_map=collate_fn_map)
    for kind, function in (collate_fn_map or {}).items():
        if isinstance(first, kind):
            return function(batch, collate_fn_map=collate_fn_map)

    def inner(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _mapping(first, {k: inner([d[k] for d in batch]) for k in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(inner(samples) for samples in zip(*batch, strict=False)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [inner(samples) for samples in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else _sequence(first, columns)
    raise TypeError(_WHAT.format(type(first)))


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """Tensors of one shape, stacked."""
    from ... import stack

    return stack(list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """numpy arrays of one shape, stacked."""
    if _TEXT_OR_OBJECTS.search(batch[0].dtype.str):
        raise TypeError(_WHAT.format(batch[0].dtype))
    from ... import as_tensor

    return collate([as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """numpy's scalars as one tensor."""
    from ... import as_tensor

    return as_tensor(np.array(list(batch)))


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """Python floats as a float64 tensor."""
    from ... import float64, tensor

    return tensor(list(batch), dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Tensor:
    """Python ints (or bools) as a tensor."""
    from ... import tensor

    return tensor(list(batch))


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Texts stay a list."""
    return batch


default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
"""What `default_collate` does, by the type of the samples; add a type of one's own here."""


def default_collate(batch: Any) -> Any:
    """One batch of a list of samples, by the rules above.

    Example::

        default_collate([(1, torch.ones(2)), (2, torch.zeros(2))])  # [tensor([1, 2]), tensor([[1., 1.], [0., 0.]])]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
