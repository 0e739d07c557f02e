"""Tensors as text, letter for letter as PyTorch prints them, and the options for it.

The rules in short: one format serves all elements shown.  Floats print with `precision` digits after the point; as
"1." where all are whole; in scientific form where the largest is over 1e8 or over 1000 times the smallest, or the
smallest of broken numbers under 1e-4.  More than `threshold` elements are cut to `edgeitems` at both ends of every
dimension.  What differs from the defaults (size of an empty tensor, dtype, device, gradient) stands behind.

Works on numpy arrays; only `tensor_repr` knows what a tensor's attributes are called.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from . import dtypes


@dataclass(slots=True)
class Options:
    """How tensors print; `sci_mode` None chooses by the values."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PROFILES = {
    "default": Options(),
    "short": Options(precision=2, edgeitems=2),
    "full": Options(threshold=math.inf),
}
"""Sets of options by the name that `set_printoptions(profile=...)` takes."""

options = Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print.

    `precision` digits after the point (4); above `threshold` elements (1000) only `edgeitems` (3) at each end of a
    dimension are shown; lines are `linewidth` (80) characters. `profile` ("default", "short" or "full") sets all of
    them first. `sci_mode` True or False forces scientific form on or off; each call without it goes back to choosing
    by the values. An unknown profile is passed over, as in PyTorch.
    """
    if profile is not None and profile in PROFILES:
        for name, value in asdict(PROFILES[profile]).items():
            setattr(options, name, value)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            setattr(options, name, value)
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options now in force."""
    return asdict(options)


@contextlib.contextmanager
def printoptions(**changes: Any) -> Iterator[None]:
    """Other options inside the context; takes what `set_printoptions` takes."""
    before = replace(options)
    try:
        set_printoptions(**changes)
        yield
    finally:
        for name, value in asdict(before).items():
            setattr(options, name, value)


class _Format:
    """The one format of all elements that are shown: its width, and the text of a value."""

    def __init__(self, shown: np.ndarray):
        self.floating = shown.dtype.kind == "f"
        self.whole = True
        self.scientific = False
        self.width = 1
        if not self.floating:
            self.width = max((len(str(v)) for v in shown.reshape(-1).tolist()), default=1)
            return
        values = shown.reshape(-1).astype(np.float64)
        values = values[np.isfinite(values) & (values != 0)]
        if not values.size:
            return
        self.whole = bool(np.all(values == np.ceil(values)))
        size = np.abs(values)
        smallest, largest = float(size.min()), float(size.max())
        with np.errstate(over="ignore"):
            ratio = size.max() / size.min()
        self.scientific = bool(ratio > 1000.0) or largest > 1e8 or (not self.whole and smallest < 1e-4)
        if options.sci_mode is not None:
            self.scientific = options.sci_mode
        self.width = max(len(self._digits(v)) for v in values.tolist())

    def _digits(self, value: float) -> str:
        if self.scientific:
            return f"{value:.{options.precision}e}"
        if self.whole:
            return f"{value:.0f}" if math.isinf(value) or math.isnan(value) else f"{value:.0f}."
        return f"{value:.{options.precision}f}"

    def __call__(self, value: Any) -> str:
        return (self._digits(value) if self.floating else str(value)).rjust(self.width)


class _Layout:
    """Brackets, commas and line breaks around the elements of one array."""

    def __init__(self, array: np.ndarray):
        self.summarize = array.size > options.threshold
        shown = _edges(array) if self.summarize else array
        if array.dtype.kind == "c":
            real, imaginary = _Format(np.real(shown)), _Format(np.imag(shown))
            self.width = real.width + imaginary.width + 3
            self.element = lambda z: _complex_text(real(z.real), imaginary(z.imag))
        else:
            self.element = _Format(shown)
            self.width = self.element.width + 2

    def text(self, array: np.ndarray, indent: int) -> str:
        if array.ndim == 0:
            return self.element(array.item())
        if self.summarize and not options.edgeitems:
            return "[...]"
        if array.ndim == 1:
            return self._row(array, indent)
        n, edge = len(array), options.edgeitems
        if self.summarize and n > 2 * edge:
            parts = [self.text(array[i], indent + 1) for i in range(edge)]
            parts.append("...")
            parts += [self.text(array[i], indent + 1) for i in range(n - edge, n)]
        else:
            parts = [self.text(row, indent + 1) for row in array]
        return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"

    def _row(self, array: np.ndarray, indent: int) -> str:
        n, edge = len(array), options.edgeitems
        if self.summarize and n > 2 * edge:
            head, tail = array[:edge].tolist(), array[n - edge :].tolist()
            items = [*map(self.element, head), " ...", *map(self.element, tail)]
        else:
            items = list(map(self.element, array.tolist()))
        per_line = max(1, (options.linewidth - indent) // self.width)
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _complex_text(real: str, imaginary: str) -> str:
    imaginary = f"{imaginary}j".lstrip()
    return f"{real}{'' if imaginary[0] in '+-' else '+'}{imaginary}"


def _edges(array: np.ndarray) -> np.ndarray:
    """The elements that a summary shows."""
    edge = options.edgeitems
    kept = [[*range(edge), *range(n - edge, n)] if n > 2 * edge else range(n) for n in array.shape]
    return array[np.ix_(*kept)] if kept else array


def array_text(array: np.ndarray, indent: int = 0) -> str:
    """The elements alone, bracketed; lines after the first are indented by `indent` columns."""
    if array.size == 0:
        return "[]"
    return _Layout(array).text(array, indent)


def describe(
    array: np.ndarray,
    *,
    prefix: str = "tensor(",
    device: str | None = None,
    dtype: dtypes.dtype | None = None,
    gradient: str | None = None,
    contents: str | None = None,
) -> str:
    """The whole text: prefix, elements, and what stands behind them, broken at the line's width.

    `device` is given where it is not the default one; `dtype` where it is not numpy's own; `gradient` is the last part
    ("requires_grad=True" or "grad_fn=<MulBackward0>"); `contents` replaces the elements.
    """
    dtype = dtype or dtypes.of_numpy(array.dtype)
    default = dtypes.get_default_dtype()
    behind = [f"device='{device}'"] if device is not None else []
    if array.ndim != 1 if array.size == 0 else not options.edgeitems:
        behind.append(f"size={tuple(array.shape)}")
    if array.size == 0:
        plain = dtype is default
    else:
        plain = dtype in (default, default.to_complex(), dtypes.int64, dtypes.bool_)
    if not plain:
        behind.append(f"dtype={dtype}")
    if gradient:
        behind.append(gradient)
    out = prefix + (array_text(array, len(prefix)) if contents is None else contents)
    column = len(out) - out.rfind("\n") + 1
    for part in behind:
        if column + len(part) + 2 > options.linewidth:
            out += ",\n" + " " * len(prefix) + part
            column = len(prefix) + len(part)
        else:
            out += ", " + part
            column += len(part) + 2
    return out + ")"


def tensor_repr(tensor: Any, contents: str | None = None) -> str:
    """`repr` of a tensor. Subclasses stand under their own name, parameters as what they contain."""
    from .tensor import Tensor

    kind = type(tensor)
    plain = kind is Tensor or getattr(kind, "prints_as_tensor", False)
    gradient = None
    if tensor.grad_fn is not None:
        gradient = f"grad_fn=<{tensor.grad_fn.name()}>"
    elif tensor.requires_grad:
        gradient = "requires_grad=True"
    return describe(
        tensor._host(),
        prefix="tensor(" if plain else f"{kind.__name__}(",
        device=None if tensor.is_cpu else str(tensor.device),
        dtype=tensor.dtype,
        gradient=gradient,
        contents=contents,
    )
