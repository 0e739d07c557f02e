"""Branches and loops on data, as functions: `cond`, `switch`, `while_loop`, `scan`.

Run eagerly they do what their names say. Inside a compiled function they become one node with the functions as graphs, so that the
graph need not break at them; the functions must have no effects there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..func.trees import flatten
from ..tensor import Tensor


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any:
    """`true_fn(*operands)` where `pred` (a bool, or a tensor of one element) is true, else `false_fn(*operands)`.

    Raises RuntimeError for a `pred` of several elements, TypeError for operands that are no sequence.
    """
    if not isinstance(operands, (tuple, list)):
        raise TypeError(f"cond wants a tuple of operands, not {type(operands).__name__}")
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


def switch(index: Any, branches: Sequence[Callable[..., Any]], operands: Sequence[Any] = ()) -> Any:
    """`branches[index](*operands)`; an index out of range means the nearest branch. Raises ValueError without branches."""
    if not branches:
        raise ValueError("switch needs at least one branch")
    return branches[min(max(int(index), 0), len(branches) - 1)](*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]) -> Any:
    """`carried = body_fn(*carried)` as long as `cond_fn(*carried)` is true; the last `carried`.

    Raises RuntimeError where `body_fn` returns another number of values.
    """
    values = tuple(carried_inputs)
    while bool(cond_fn(*values)):
        made = body_fn(*values)
        made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        if len(made) != len(values):
            raise RuntimeError(f"while_loop: body_fn returned {len(made)} values, but {len(values)} are carried")
        values = made
    return values


def scan(combine_fn: Callable[..., Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> Any:
    """`carry, y = combine_fn(carry, x)` for each slice x of `xs` along `dim`; the last carry, and the y's stacked along `dim`.

    `init` and `xs` may be nested containers of tensors. Raises RuntimeError for `xs` without slices.
    """
    from .. import stack

    leaves, build = flatten(xs)
    if not leaves or not isinstance(leaves[0], Tensor) or leaves[0].shape[dim] == 0:
        raise RuntimeError("scan: xs leaves must have a positive size in the dimension that is scanned")
    length = leaves[0].shape[dim]
    carry, rows, rebuild = init, [], None
    for i in reversed(range(length)) if reverse else range(length):
        carry, y = combine_fn(carry, build([x.select(dim, i) for x in leaves]))
        parts, rebuild = flatten(y)
        rows.append(parts)
    if reverse:
        rows.reverse()
    assert rebuild is not None
    return carry, rebuild([stack(list(column), dim) for column in zip(*rows, strict=True)])


CONTROL = (cond, switch, while_loop, scan)
"""What the surface takes from here."""
