"""Collectives: what the processes of a group do together with tensors (and objects), each a combination done on rank 0.

Tensors travel as numpy arrays. Sums run over the ranks in order, so that every process gets the same bits every time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import autograd
from ..tensor import Tensor
from .group import current


class ReduceOp:
    """How values of several processes become one."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = "sum", "avg", "product", "min", "max", "band", "bor", "bxor"


_COMBINE: dict[str, Callable[..., Any]] = {
    "sum": np.add,
    "avg": np.add,
    "product": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
}


class Work:
    """A collective that has been done; `async_op=True` returns it."""

    def wait(self, timeout: Any = None) -> bool:
        """Returns at once: the work is done."""
        return True

    def is_completed(self) -> bool:
        """True."""
        return True


def _array(t: Tensor) -> np.ndarray:
    if not isinstance(t, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `tensor` of type torch.Tensor but got {type(t)} instead."
        )
    return np.ascontiguousarray(t.detach()._host())


def _write(t: Tensor, array: np.ndarray) -> None:
    from ..ops.creation import from_numpy

    with autograd.no_grad():
        t.copy_(from_numpy(np.array(array)))


def _reduced(arrays: list[np.ndarray], op: str) -> np.ndarray:
    shapes = {a.shape for a in arrays}
    if len(shapes) > 1:
        raise RuntimeError(f"the tensors have different shapes: {sorted(shapes)}")
    total = arrays[0]
    for a in arrays[1:]:
        total = _COMBINE[op](total, a)
    return (total / len(arrays)).astype(total.dtype) if op == "avg" else total


def _done(async_op: bool) -> Work | None:
    return Work() if async_op else None


def _op(op: Any) -> str:
    if op not in _COMBINE:
        raise ValueError(
            f"reduce operation {op!r} is not known; the operations are those of ReduceOp: {', '.join(_COMBINE)}"
        )
    return op


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Combine the tensors of all processes; each gets the result in place."""
    name = _op(op)
    _write(
        tensor,
        current().exchange(_array(tensor), lambda all_: [_reduced(all_, name)] * len(all_), f"all_reduce({name})"),
    )
    return _done(async_op)


def reduce(
    tensor: Tensor, dst: int = 0, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Combine the tensors of all processes; rank `dst` gets the result in place."""
    name = _op(op)
    result = current().exchange(
        _array(tensor),
        lambda all_: [_reduced(all_, name) if r == dst else None for r in range(len(all_))],
        f"reduce({name} to {dst})",
    )
    if result is not None:
        _write(tensor, result)
    return _done(async_op)


def broadcast(tensor: Tensor, src: int = 0, group: Any = None, async_op: bool = False) -> Work | None:
    """Every process gets the tensor of rank `src`, in place."""
    mine = _array(tensor) if current().rank_number == src else None
    _write(tensor, current().exchange(mine, lambda all_: [all_[src]] * len(all_), f"broadcast(from {src})"))
    return _done(async_op)


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Every process gets the tensors of all, in the order of their ranks, in the tensors of `tensor_list`."""
    everything = current().exchange(_array(tensor), lambda all_: [all_] * len(all_), "all_gather")
    if len(tensor_list) != len(everything):
        raise ValueError(f"tensor_list needs one tensor a process ({len(everything)}), but has {len(tensor_list)}")
    for t, a in zip(tensor_list, everything):
        _write(t, a)
    return _done(async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_gather` into one tensor, concatenated along the first dimension (or stacked, where its shape says so)."""
    everything = current().exchange(_array(input_tensor), lambda all_: [all_] * len(all_), "all_gather_into_tensor")
    _write(output_tensor, np.concatenate([np.atleast_1d(a) for a in everything]).reshape(tuple(output_tensor.shape)))
    return _done(async_op)


def gather(
    tensor: Tensor, gather_list: list[Tensor] | None = None, dst: int = 0, group: Any = None, async_op: bool = False
) -> Work | None:
    """Rank `dst` gets the tensors of all in `gather_list`."""
    everything = current().exchange(
        _array(tensor), lambda all_: [all_ if r == dst else None for r in range(len(all_))], f"gather(to {dst})"
    )
    if everything is not None:
        if not gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        for t, a in zip(gather_list, everything):
            _write(t, a)
    return _done(async_op)


def scatter(
    tensor: Tensor, scatter_list: list[Tensor] | None = None, src: int = 0, group: Any = None, async_op: bool = False
) -> Work | None:
    """Every process gets its entry of the `scatter_list` of rank `src`, in place."""
    g = current()
    if g.rank_number == src and (scatter_list is None or len(scatter_list) != g.count):
        raise ValueError(f"scatter_list needs one tensor a process ({g.count}) on the source rank")
    mine = [_array(t) for t in scatter_list or ()] if g.rank_number == src else None
    _write(tensor, g.exchange(mine, lambda all_: all_[src], f"scatter(from {src})"))
    return _done(async_op)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Entry r of the lists of all processes, combined, goes to rank r."""
    name = _op(op)
    mine = [_array(t) for t in input_list]
    _write(
        output,
        current().exchange(mine, lambda all_: [_reduced(list(c), name) for c in zip(*all_)], f"reduce_scatter({name})"),
    )
    return _done(async_op)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """`all_gather` of picklable objects."""
    object_list[:] = current().exchange(obj, lambda all_: [all_] * len(all_), "all_gather_object")


def broadcast_object_list(object_list: list[Any], src: int = 0, group: Any = None, device: Any = None) -> None:
    """Every process gets the objects of rank `src`."""
    mine = object_list if current().rank_number == src else None
    object_list[:] = current().exchange(
        mine, lambda all_: [all_[src]] * len(all_), f"broadcast_object_list(from {src})"
    )


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until every process is here."""
    current().exchange(None, lambda all_: all_, "barrier")
    return _done(async_op)


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(
        "messages between two processes are not supported here; use a collective (broadcast, gather, all_gather_object)"
    )


send = recv = isend = irecv = _refuse
