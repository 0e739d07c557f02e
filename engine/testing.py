"""`torch.testing`: comparing what was computed with what was expected, in words that say where they differ, and random test tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .tensor import Tensor

_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}  # fmt: skip
"""Relative and absolute tolerance by dtype, as PyTorch has them; integers and booleans must be equal."""


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless `|actual - expected| <= atol + rtol * |expected|` everywhere.

    Tensors, numbers, and sequences and mappings of them. The tolerances follow from the dtype unless both are given
    (ValueError for one alone). TypeError for things that cannot be compared.
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {'rtol' if rtol is None else 'atol'}."
        )
    checks = (check_device, check_dtype, check_layout, check_stride)
    found = _compare(actual, expected, (), rtol, atol, equal_nan, checks)
    if found is not None:
        text = found if msg is None else msg(found) if callable(msg) else msg
        raise AssertionError(text)


def _compare(
    a: Any, b: Any, path: tuple[Any, ...], rtol: Any, atol: Any, equal_nan: bool, checks: tuple[bool, ...]
) -> str | None:
    """What is wrong, or None."""
    rest = (rtol, atol, equal_nan, checks)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            only_a, only_b = sorted(map(str, a.keys() - b.keys())), sorted(map(str, b.keys() - a.keys()))
            return (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {only_b}\nAdditional keys in the actual mapping: {only_a}"
            )
        return next((f for k in b if (f := _compare(a[k], b[k], (*path, k), *rest)) is not None), None)
    if _is_sequence(a) and _is_sequence(b):
        if len(a) != len(b):
            return f"The length of the sequences mismatch: {len(a)} != {len(b)}"
        return next(
            (f for i, (x, y) in enumerate(zip(a, b)) if (f := _compare(x, y, (*path, i), *rest)) is not None), None
        )
    where = "".join(f"[{p!r}]" for p in path)
    tail = f"\n\nThe failure occurred for item {where}" if path else ""
    if a is None or b is None:
        return None if a is b else f"None mismatch: {a} is not {b}{tail}"
    if not isinstance(a, Tensor) and not isinstance(b, Tensor) and _is_number(a) and _is_number(b):
        found = _numbers(a, b, rtol, atol, equal_nan, checks[1])
    else:
        found = _tensors(_tensor(a), _tensor(b), rtol, atol, equal_nan, checks)
    return None if found is None else found + tail


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex))


def _tensor(value: Any) -> Tensor:
    from . import as_tensor

    if isinstance(value, Tensor):
        return value
    try:
        return as_tensor(value)
    except Exception:
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(value)}; tensors, numbers, and sequences and mappings of them are compared"
        ) from None


def _limits(kinds: Sequence[str], rtol: Any, atol: Any) -> tuple[float, float]:
    if rtol is not None:
        return rtol, atol
    found = [_TOLERANCES.get(k, (0.0, 0.0)) for k in kinds]
    return max(r for r, _ in found), max(t for _, t in found)


def _numbers(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool, check_type: bool) -> str | None:
    kinds = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
    rtol, atol = _limits([kinds[type(a)], kinds[type(b)]], rtol, atol)
    if check_type and type(a) is not type(b):
        return f"The (d)types do not match: {type(a)} != {type(b)}."
    if a == b or (equal_nan and a != a and b != b):
        return None
    difference = abs(a - b)
    if math.isfinite(difference) and difference <= atol + rtol * abs(b):
        return None
    relative = difference / abs(b) if b else math.inf
    if not rtol and not atol:
        return f"Scalars are not equal!\n\nExpected {b} but got {a}.\nAbsolute difference: {difference}\nRelative difference: {relative}"
    return (
        f"Scalars are not close!\n\nExpected {b} but got {a}.\nAbsolute difference: {difference} (up to {atol} allowed)\n"
        f"Relative difference: {relative} (up to {rtol} allowed)"
    )


def _tensors(a: Tensor, b: Tensor, rtol: Any, atol: Any, equal_nan: bool, checks: tuple[bool, ...]) -> str | None:
    from . import promote_types, where

    check_device, check_dtype, check_layout, check_stride = checks
    a, b = a.detach(), b.detach()
    if a.shape != b.shape:
        return f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}."
    if check_layout and a.layout is not b.layout:
        return f"The values for attribute 'layout' do not match: {a.layout} != {b.layout}."
    if check_device and a.device != b.device:
        return f"The values for attribute 'device' do not match: {a.device} != {b.device}."
    if check_dtype and a.dtype != b.dtype:
        return f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}."
    if check_stride and a.stride() != b.stride():
        return f"The values for attribute 'stride()' do not match: {a.stride()} != {b.stride()}."
    rtol, atol = _limits([a.dtype.name, b.dtype.name], rtol, atol)
    kind = promote_types(a.dtype, b.dtype)
    a, b = a.to_dense().cpu().to(kind), b.to_dense().cpu().to(kind)
    same = a.isclose(b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    wrong = int((~same).sum())
    if not wrong:
        return None
    exact = not rtol and not atol
    label = "equal" if exact else "close"
    if not kind.is_floating_point and not kind.is_complex:
        a, b = a.long(), b.long()
    difference = (a - b).abs()
    if a.ndim == 0:
        relative = abs(difference.item() / b.abs().item()) if b.item() else math.inf
        allowed = ("", "") if exact else (f" (up to {atol} allowed)", f" (up to {rtol} allowed)")
        return (
            f"Scalars are not {label}!\n\nExpected {b.item()} but got {a.item()}.\nAbsolute difference: {difference.item()}{allowed[0]}\n"
            f"Relative difference: {relative}{allowed[1]}"
        )
    difference = where(same, difference.new_zeros(()), difference)
    relative = where(same, difference.new_zeros(()).to(difference.dtype) / 1, difference / b.abs())
    lines = [
        f"Tensor-likes are not {label}!",
        "",
        f"Mismatched elements: {wrong} / {a.numel()} ({wrong / a.numel():.1%})",
    ]
    for name, values, limit in (("absolute", difference, atol), ("relative", relative, rtol)):
        place = int(values.flatten().argmax())
        index, rest = [], place
        for size in reversed(a.shape):
            index.append(rest % size)
            rest //= size
        allowed = "" if exact else f" (up to {limit} allowed)"
        lines.append(
            f"Greatest {name} difference: {values.flatten()[place].item()} at index {tuple(index[::-1])}{allowed}"
        )
    return "\n".join(lines)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """`assert_close` that looks neither at devices nor at dtypes; an older name."""
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=False,
        check_dtype=False,
        check_stride=False,
        msg=msg or None,
    )


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Random values for a test, within [low, high): -9 to 9 for floats and signed integers unless given, 0 to 9 for unsigned ones."""
    from . import empty, randint, where

    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    drawn = (*sizes[:-1], sizes[-1] * 2) if noncontiguous and sizes else sizes
    if dtype.name == "bool":
        out = randint(0, 2, drawn, device=device).to(dtype)
    elif dtype.is_floating_point or dtype.is_complex:
        out = empty(drawn, dtype=dtype, device=device)
        if dtype.is_complex:
            from . import view_as_real

            view_as_real(out).uniform_(-9 if low is None else low, 9 if high is None else high)
        else:
            out.uniform_(-9 if low is None else low, 9 if high is None else high)
    else:
        start = (0 if dtype.name.startswith("u") else -9) if low is None else math.ceil(low)
        out = randint(start, 10 if high is None else math.ceil(high), drawn, device=device).to(dtype)
    if exclude_zero:
        out = where(out == 0, out.new_ones(()), out)
    if noncontiguous and sizes:
        out = out[..., ::2]
    return out.requires_grad_(requires_grad)
