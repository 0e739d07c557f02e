"""What level-1 graphs call that takes a graph, a class or a mode: vmap, branches and loops on data, custom functions, autocast.

Replaying a graph calls these on real tensors, natively; their meaning is that of the public functions.
"""

from __future__ import annotations

from typing import Any

from ...amp import autocast
from ...func import vmap as _vmap_function
from ...nn.parameter import Parameter
from ...state import state
from ...tensor import Tensor

_vmap: Any = __import__("sys").modules[_vmap_function.__module__]


def enter_autocast(device: str, dtype: Any, enabled: bool) -> Any:
    """`autocast(device, dtype, enabled).__enter__()`."""
    return autocast(device, dtype, enabled).__enter__()


def exit_context(context: Any) -> None:
    """The end of a region that was entered in the graph, or before it."""
    context.__exit__(None, None, None)


def set_inference(on: bool) -> None:
    """Inference mode on or off from here on."""
    state.inference = on


def make_parameter(data: Tensor, requires_grad: bool) -> Any:
    """`Parameter(data, requires_grad)`."""
    return Parameter(data, requires_grad)


def apply_function(cls: Any, *args: Any) -> Any:
    """`cls.apply(*args)` of a custom autograd function."""
    return cls.apply(*args)


def run_vmap(gm: Any, places: Any, out_places: Any, size: int, randomness: str, *tensors: Tensor) -> Any:
    """A graph of one example over a batch: `places` says which dimension of each tensor is the batch, None for none."""
    return _vmap._one(
        gm.forward, list, list(tensors), list(places), lambda parts: {}, [], [], size, randomness, tuple(out_places)
    )


def run_cond(predicate: Any, true_graph: Any, false_graph: Any, count: int, true_count: int, *tensors: Any) -> Any:
    """One of two graphs: both get the first `count` tensors, then each its own."""
    shared, rest = tensors[:count], tensors[count:]
    if bool(predicate):
        return true_graph(*shared, *rest[:true_count])
    return false_graph(*shared, *rest[true_count:])


def run_switch(index: Any, graphs: Any, counts: Any, count: int, *tensors: Any) -> Any:
    """One of several graphs, by a number that is brought into range: all get the first `count` tensors, then each its own."""
    shared, rest = tensors[:count], list(tensors[count:])
    chosen = min(max(int(index), 0), len(graphs) - 1)
    at = sum(counts[:chosen])
    return graphs[chosen](*shared, *rest[at : at + counts[chosen]])


def run_while(test: Any, body: Any, count: int, test_count: int, *tensors: Any) -> Any:
    """A loop: `body` of the first `count` values as long as `test` of them is true."""
    values, rest = tuple(tensors[:count]), tensors[count:]
    while bool(test(*values, *rest[:test_count])[0]):
        values = tuple(body(*values, *rest[test_count:]))
    return values


def run_scan(body: Any, carried: int, dim: int, reverse: bool, count: int, *tensors: Any) -> Any:
    """`body(carry..., slice...)` along a dimension of the `count` tensors after the carry; (carry..., stacked results...)."""
    from ... import stack

    carry, xs, rest = list(tensors[:carried]), tensors[carried : carried + count], tensors[carried + count :]
    length = xs[0].shape[dim]
    rows: list[Any] = []
    for i in reversed(range(length)) if reverse else range(length):
        out = body(*carry, *[x.select(dim, i) for x in xs], *rest)
        carry, made = list(out[:carried]), out[carried:]
        rows.append(made)
    if reverse:
        rows.reverse()
    return (*carry, *[stack(list(column), dim) for column in zip(*rows, strict=True)])
