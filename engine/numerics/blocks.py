"""Running a function of float64 vectors over arrays of any shape and float type, block by block, so that its many temporaries
stay in the processor's cache; and Chebyshev sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

BLOCK = 16384
"""Elements at a time."""


def blockwise(
    function: Callable[..., np.ndarray], count: int = 1, single: Callable[..., np.ndarray] | None = None
) -> Callable[..., np.ndarray]:
    """A kernel of `count` arrays (or numbers), then plain arguments, then `out=`, from a function of float64 vectors.

    `single` is the function for float32 and narrower types, of float32 vectors; without it they are computed in float64.
    """

    def kernel(*args: Any, out: np.ndarray | None = None) -> np.ndarray:
        arrays, statics = args[:count], args[count:]
        kind = next(a.dtype for a in arrays if isinstance(a, np.ndarray))
        if count > 1:
            arrays = np.broadcast_arrays(*arrays)
        shape = arrays[0].shape
        flat = [np.reshape(a, -1) for a in arrays]
        result = np.empty(flat[0].size, kind)
        run, work = (function, np.float64) if single is None or kind.itemsize > 4 else (single, np.float32)
        for start in range(0, result.size, BLOCK):
            part = slice(start, start + BLOCK)
            result[part] = run(*[f[part].astype(work) for f in flat], *statics)
        result = result.reshape(shape)
        if out is None:
            return result
        np.copyto(out, result, casting="same_kind")
        return out

    return kernel


def store(values: Any, kind: np.dtype, out: np.ndarray | None) -> Any:
    """What a kernel returns: `values` in dtype `kind`, or `out` with them written in."""
    if out is None:
        return values.astype(kind, copy=False)
    np.copyto(out, values, casting="unsafe")
    return out


def chebyshev(coefficients: Sequence[float], t: np.ndarray) -> np.ndarray:
    """The sum of c_k T_k(t), by Clenshaw's recurrence."""
    twice = t + t
    after = np.zeros_like(t)
    here = np.full_like(t, coefficients[-1])
    spare = np.empty_like(t)
    for c in coefficients[-2:0:-1]:
        np.multiply(twice, here, out=spare)
        spare -= after
        spare += c
        after, here, spare = here, spare, after
    return t * here - after + coefficients[0]


def chebyshev_single(coefficients: Sequence[float], t: np.ndarray, least: float = 0.0) -> np.ndarray:
    """The same in single precision, without the terms below `least` times the largest; `t` from -2 to 2."""
    limit = max(map(abs, coefficients)) * least
    last = max(k for k, c in enumerate(coefficients) if abs(c) > limit)
    after = np.zeros_like(t)
    here = np.full_like(t, np.float32(coefficients[last]))
    before = after
    for c in [*coefficients[last - 1 : 0 : -1], 2.0 * coefficients[0]]:
        before, after = after, here
        here = t * after - before + np.float32(c)
    return np.float32(0.5) * (here - before)


def horner(coefficients: Sequence[float], x: np.ndarray) -> np.ndarray:
    """The sum of c_k x^k."""
    y = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        y *= x
        y += c
    return y


def pieces(x: np.ndarray, *parts: tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]) -> np.ndarray:
    """`f(x)` where the first condition that holds says which f; `x` itself (so NaN for NaN) where none does."""
    out = x.copy()
    left = np.ones(x.shape, bool)
    for condition, f in parts:
        here = condition & left
        if here.all():
            return f(x)
        if here.any():
            out[here] = f(x[here])
        left &= ~here
    return out
