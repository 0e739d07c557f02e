"""Regular sequences: arange, linspace, logspace, range, and the identity matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..backends.base import backend as backend_of
from ..device import resolve
from ..tensor import Tensor, wrap
from .creation import number_as, of_array
from .declare import into, operator

# PyTorch's kernels round once in `a * b + c`, and compute ranges in blocks of a vector register. That shows in the last digit
# (`arange(-1, 1, 0.05)` does not quite reach zero), so it is done the same way here.


def _fused(a: Any, b: Any, c: Any) -> np.ndarray:
    """`a * b + c` of float64 values rounded once: the product's error by Dekker's splitting, the sum's by Knuth's."""
    product = a * b
    wide_a, wide_b = 134217729.0 * a, 134217729.0 * b  # 2**27 + 1
    high_a, high_b = wide_a - (wide_a - a), wide_b - (wide_b - b)
    low_a, low_b = a - high_a, b - high_b
    error = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    total = product + c
    back = total - product
    return total + (error + ((product - (total - back)) + (c - back)))


def _blocks(first: float, step: float, count: int, kind: np.dtype) -> np.ndarray:
    """`first + step * i`: in whole blocks from their first element, rounded to `kind`, and singly behind them."""
    lanes = 8 if kind.itemsize == 4 else 4
    whole = count // (2 * lanes) * 2 * lanes
    first, step = np.float64(first), np.float64(step)
    out = np.empty(count, kind)
    starts = _fused(step, np.arange(0, whole, lanes, dtype=np.float64), first).astype(kind).astype(np.float64)
    out[:whole] = _fused(step, np.arange(lanes, dtype=np.float64), starts[:, None]).reshape(-1)
    out[whole:] = _fused(step, np.arange(whole, count, dtype=np.float64), first)
    return out


def _number(value: Any, function: str, name: str) -> Any:
    """A number, or that of a 0-d tensor."""
    if isinstance(value, Tensor):
        if value.ndim and function != "arange":
            raise RuntimeError(
                f"{function} only supports 0-dimensional start and end tensors, but got {name} with {value.ndim} dimension(s)."
            )
        return value.item()
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, (int, float, complex)):
        raise TypeError(f"{function}(): argument '{name}' must be Number, not {type(value).__name__}")
    return value


def _computes(function: str, kind: Any, categories: tuple[int, ...]) -> None:
    if kind.category not in categories:
        raise NotImplementedError(f"\"{function}_cpu\" not implemented for '{dispatch.type_name(kind)}'")


def _halves(first: float, step: float, count: int) -> np.ndarray:
    """The elements of a range of a type with 16 bits, which are computed in 32."""
    return _fused(
        np.float64(np.float32(step)), np.arange(count, dtype=np.float64), np.float64(np.float32(first))
    ).astype(np.float32)


def _bounds(args: tuple[Any, ...], start: Any, end: Any, step: Any, function: str) -> tuple[Any, Any, Any]:
    """start, end and step from the forms (end), (start, end), (start, end, step)."""
    if len(args) > 3:
        raise TypeError(f"{function}() takes at most 3 positional arguments, but got {len(args)}")
    if len(args) == 1 and end is None:
        end = args[0]
    elif args:
        start = args[0]
        end = args[1] if len(args) > 1 else end
        step = args[2] if len(args) > 2 else step
    if end is None:
        raise TypeError(f'{function}() missing 1 required positional arguments: "end"')
    start, end = _number(0 if start is None else start, function, "start"), _number(end, function, "end")
    step = _number(1 if step is None else step, function, "step")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not all(isinstance(v, int) or math.isfinite(v) for v in (start, end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    return start, end, step


@operator(method=False)
def arange(*args: Any, start: Any = None, end: Any = None, step: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
           device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """`start, start + step, ...` below `end`; int64 where all are integers, else the default dtype.

    Raises RuntimeError for a step of zero or of the wrong sign, and for bounds that are not finite.
    """
    first, last, step = _bounds(args, start, end, step, "arange")
    kind = dtype or (out.dtype if out is not None else None) or (
        dtypes.get_default_dtype() if any(isinstance(v, float) for v in (first, last, step)) else dtypes.int64
    )  # fmt: skip
    _computes("arange", kind, (dtypes.INTEGRAL, dtypes.FLOATING))
    if kind.category == dtypes.INTEGRAL and all(isinstance(v, int) for v in (first, last, step)):
        home = backend_of(resolve(device).type)
        made = home.arange(first, step, -((first - last) // step), kind)
        if made is not None:
            made = wrap(made, kind, home)
            made = made.requires_grad_() if requires_grad else made
            return made if out is None else into(out, made, "arange")
    if kind.category == dtypes.INTEGRAL:
        a, b, by = (number_as(v, dtypes.int64) for v in (first, last, step))
        count = math.ceil((last - first) / step) if kind is not dtypes.int64 else -((a - b) // by)
        values = a + np.arange(count, dtype=np.int64) * by
    else:
        count = math.ceil((last - first) / step)
        values = _blocks(first, step, count, kind.numpy) if kind.itemsize >= 4 else _halves(first, step, count)
    made = of_array(values.astype(kind.numpy, copy=False), kind, device, requires_grad)
    return made if out is None else into(out, made, "arange")


@operator(method=False, name="range")
def inclusive_range(start: Any = 0, end: Any = None, step: Any = 1, *, out: Any = None, dtype: Any = None, layout: Any = None,
                    device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """`start, start + step, ...` up to and including `end`, in the default dtype."""
    first, last, by = _bounds((start, end, step), None, None, None, "range")
    kind = dtype or (out.dtype if out is not None else dtypes.get_default_dtype())
    _computes("range", kind, (dtypes.INTEGRAL, dtypes.FLOATING))
    values = first + np.arange(int((last - first) / by) + 1, dtype=np.float64) * by
    made = of_array(values.astype(kind.numpy), kind, device, requires_grad)
    return made if out is None else into(out, made, "range")


def _between(function: str, start: Any, end: Any, steps: Any, out: Any, dtype: Any) -> tuple[Any, Any, Any]:
    """Both ends as numbers, and the dtype of the sequence."""
    if not isinstance(steps, (int, np.integer)) or isinstance(steps, bool):
        raise TypeError(f"{function}(): argument 'steps' must be int, not {type(steps).__name__}")
    first, last = _number(start, function, "start"), _number(end, function, "end")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = dtype or (out.dtype if out is not None else None)
    if isinstance(first, complex) or isinstance(last, complex):
        default = dtypes.get_default_dtype().to_complex()
        if kind is not None and not kind.is_complex:
            inferred = {"complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}[default.name]
            raise RuntimeError(
                f"torch.{function}(): inferred dtype {inferred} can't be safely cast to passed dtype {dispatch.type_name(kind)}"
            )
        kind = kind or default
    kind = kind or dtypes.get_default_dtype()
    _computes(function, kind, (dtypes.INTEGRAL, dtypes.FLOATING, dtypes.COMPLEX))
    return first, last, kind


def _spaced(first: Any, last: Any, steps: int, kind: Any) -> np.ndarray:
    """Evenly spaced values, computed from the nearer end, for integers in float64 from truncated ends."""
    integral = kind.category == dtypes.INTEGRAL
    work = np.dtype(np.float64) if integral else kind.numpy
    a, b = (work.type(number_as(v, kind)) for v in (first, last))
    if steps <= 1:
        return np.full(steps, a, work)
    with np.errstate(all="ignore"):
        step = (b - a) / work.type(steps - 1)
        at = np.arange(steps)
        near, far = (at < steps // 2), (steps - 1 - at)
        if work.kind == "f" and work.itemsize > 2:
            low = _fused(np.float64(step), at.astype(np.float64), np.float64(a))
            high = _fused(-np.float64(step), far.astype(np.float64), np.float64(b))
            return np.where(near, low, high).astype(work)
        return np.where(near, a + step * at.astype(work), b - step * far.astype(work))


@operator(method=False)
def linspace(start: Any, end: Any, steps: int, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """`steps` evenly spaced values from `start` to `end` (numbers or 0-d tensors), both included."""
    first, last, kind = _between("linspace", start, end, steps, out, dtype)
    values = _spaced(first, last, steps, kind)
    made = of_array(values.astype(kind.numpy, copy=False), kind, device, requires_grad)
    return made if out is None else into(out, made, "linspace")


@operator(method=False)
def logspace(start: Any, end: Any, steps: int, base: Any = 10.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """`base` to the powers of `steps` evenly spaced values from `start` to `end` (numbers or 0-d tensors), both included."""
    first, last, kind = _between("logspace", start, end, steps, out, dtype)
    exponents = _spaced(first, last, steps, kind)
    wide = np.complex128 if kind.is_complex else np.float64  # a power of floats is rounded once from the exact one
    with np.errstate(all="ignore"):
        values = np.power(wide(exponents.dtype.type(base)), exponents.astype(wide))
    made = of_array(values.astype(kind.numpy, copy=False), kind, device, requires_grad)
    return made if out is None else into(out, made, "logspace")


@operator(method=False)
def eye(n: int, m: int | None = None, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """The identity matrix, [n, m]. Raises RuntimeError for negative sizes."""
    for name, size in (("n", n), ("m", m)):
        if size is not None and not hasattr(size, "__index__"):
            raise TypeError(f"eye(): argument '{name}' must be int, not {type(size).__name__}")
        if size is not None and size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    kind = dtype or (out.dtype if out is not None else dtypes.get_default_dtype())
    made = of_array(np.eye(n, m, dtype=kind.numpy), kind, device, requires_grad)
    return made if out is None else into(out, made, "eye")
