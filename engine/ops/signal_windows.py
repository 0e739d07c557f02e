"""Windows of signal processing: `torch.hann_window` and its relatives, and those of `torch.signal.windows`.

The former are periodic by default, the latter symmetric. Formulas: F. J. Harris, "On the use of windows for harmonic analysis with
the discrete Fourier transform", Proc. IEEE 66 (1978); Nuttall's: A. H. Nuttall, IEEE Trans. ASSP 29 (1981).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..tensor import Tensor
from . import creation
from .declare import op_functions, operator
from .sequences import arange, linspace

# -- torch.NAME_window --------------------------------------------------------------------------


def _window(
    name: str, length: int, periodic: bool, formula: Callable[[Tensor, int], Tensor], dtype: Any, device: Any,
    requires_grad: bool,
) -> Tensor:  # fmt: skip
    """`formula(0, 1, ... n-1; n)`, of one more and without the last for a periodic window."""
    kind = dtype or dtypes.get_default_dtype()
    if kind.category < dtypes.FLOATING:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if length <= 1:
        out = creation.ones(length, dtype=kind, device=device)
    else:
        size = length + 1 if periodic else length
        out = formula(arange(size, dtype=kind, device=device), size)
        out = out.narrow(0, 0, length) if periodic else out
    return out.requires_grad_() if requires_grad else out


@operator(method=False)
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
                    pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The triangle from zero to one to zero."""

    def formula(n: Tensor, size: int) -> Tensor:
        rising = n * (2.0 / (size - 1))
        return op_functions["where"](n <= (size - 1) // 2, rising, rising * -1 + 2)

    return _window("bartlett_window", window_length, periodic, formula, dtype, device, requires_grad)


@operator(method=False)
def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
                    pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """`0.42 - 0.5 cos(2 pi n / (N-1)) + 0.08 cos(4 pi n / (N-1))`."""

    def formula(n: Tensor, size: int) -> Tensor:
        n = n * (math.pi / (size - 1))
        return (n * 4).cos() * 0.08 - (n * 2).cos() * 0.5 + 0.42

    return _window("blackman_window", window_length, periodic, formula, dtype, device, requires_grad)


@operator(method=False)
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None,
                   layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """`alpha - beta cos(2 pi n / (N-1))`."""

    def formula(n: Tensor, size: int) -> Tensor:
        return (n * (2 * math.pi / (size - 1))).cos() * -beta + alpha

    return _window("hamming_window", window_length, periodic, formula, dtype, device, requires_grad)


@operator(method=False)
def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
                pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """`0.5 (1 - cos(2 pi n / (N-1)))`."""

    def formula(n: Tensor, size: int) -> Tensor:
        return (n * (2 * math.pi / (size - 1))).cos() * -0.5 + 0.5

    return _window("hann_window", window_length, periodic, formula, dtype, device, requires_grad)


@operator(method=False)
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, layout: Any = None,
                  device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """`I0(beta sqrt(1 - (2n/(N-1) - 1)^2)) / I0(beta)`, with I0 the modified Bessel function of order zero."""

    def formula(n: Tensor, size: int) -> Tensor:
        place = n * (2.0 / (size - 1)) - 1
        i0 = op_functions["i0"]
        return i0((1 - place * place).sqrt() * beta) / i0(n.new_full((), beta))

    return _window("kaiser_window", window_length, periodic, formula, dtype, device, requires_grad)


# -- torch.signal.windows.NAME ------------------------------------------------------------------


def _space(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return operator(spaces=("signal.windows",), method=False)(function)


def _checked(name: str, length: int, dtype: Any) -> Any:
    if length < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={length}")
    kind = dtype or dtypes.get_default_dtype()
    if kind not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    return kind


def _line(start: float, step: float, length: int, kind: Any, device: Any) -> Tensor:
    return linspace(start * step, (start + (length - 1)) * step, length, dtype=kind, device=device)


def _cosines(
    name: str, length: int, weights: Sequence[float], sym: bool, dtype: Any, device: Any, grad: bool
) -> Tensor:
    """The sum of `(-1)^k weights[k] cos(2 pi k n / N)`."""
    kind = _checked(name, length, dtype)
    if length <= 1:
        out = creation.ones(length, dtype=kind, device=device)
    else:
        n = _line(0, 2 * math.pi / (length - 1 if sym else length), length, kind, device)
        signed = creation.tensor([(-1) ** i * w for i, w in enumerate(weights)], dtype=kind, device=device)
        order = arange(len(weights), dtype=kind, device=device)
        out = (signed.unsqueeze(-1) * (order.unsqueeze(-1) * n).cos()).sum(0)
    return out.requires_grad_() if grad else out


@_space
def general_cosine(M: int, *, a: Any, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
                   requires_grad: bool = False) -> Tensor:  # fmt: skip
    """A sum of cosines with the weights `a` and alternating signs."""
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _cosines("general_cosine", M, a, sym, dtype, device, requires_grad)


@_space
def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
                    requires_grad: bool = False) -> Tensor:  # fmt: skip
    """`alpha - (1 - alpha) cos(2 pi n / (M-1))`."""
    return _cosines("general_hamming", M, [alpha, 1.0 - alpha], sym, dtype, device, requires_grad)


@_space
def hamming(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`0.54 - 0.46 cos(2 pi n / (M-1))`."""
    return _cosines("general_cosine", M, [0.54, 0.46], sym, dtype, device, requires_grad)


@_space
def hann(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`0.5 - 0.5 cos(2 pi n / (M-1))`."""
    return _cosines("general_cosine", M, [0.5, 0.5], sym, dtype, device, requires_grad)


@_space
def blackman(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`0.42 - 0.5 cos(2 pi n / (M-1)) + 0.08 cos(4 pi n / (M-1))`."""
    return _cosines("blackman", M, [0.42, 0.5, 0.08], sym, dtype, device, requires_grad)


@_space
def nuttall(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Nuttall's window with four terms, whose side lobes are the lowest."""
    weights = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return _cosines("general_cosine", M, weights, sym, dtype, device, requires_grad)


def _shaped(
    name: str, length: int, dtype: Any, device: Any, grad: bool, formula: Callable[[Any], Tensor], single: bool = False
) -> Tensor:
    kind = _checked(name, length, dtype)
    if length == 0 or (single and length == 1):
        out = creation.ones(length, dtype=kind, device=device)
    else:
        out = formula(kind)
    return out.requires_grad_() if grad else out


@_space
def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The triangle from zero to one to zero."""

    def formula(kind: Any) -> Tensor:
        step = 2 / (M - 1 if sym else M)
        return 1 - linspace(-1, -1 + (M - 1) * step, M, dtype=kind, device=device).abs()

    return _shaped("bartlett", M, dtype, device, requires_grad, formula, True)


@_space
def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`sin(pi (n + 0.5) / M)`."""
    step = math.pi / (M if sym or M <= 1 else M + 1) if M > 0 else 0.0
    return _shaped("cosine", M, dtype, device, requires_grad, lambda kind: _line(0.5, step, M, kind, device).sin())


@_space
def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None,
                device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """`exp(-|n - center| / tau)`; a symmetric window has its own centre. Raises ValueError for a `tau` that is not positive."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = (M if not sym and M > 1 else M - 1) / 2.0 if center is None else center
    return _shaped(
        "exponential", M, dtype, device, requires_grad, lambda kind: (-_line(-middle, 1 / tau, M, kind, device).abs()).exp()
    )  # fmt: skip


@_space
def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
    """`exp(-(n - centre)^2 / (2 std^2))`. Raises ValueError for a `std` that is not positive."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    start = -(M if not sym and M > 1 else M - 1) / 2.0
    step = 1 / (std * math.sqrt(2))
    return _shaped(
        "gaussian", M, dtype, device, requires_grad, lambda kind: (-(_line(start, step, M, kind, device) ** 2)).exp()
    )


@_space
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
           requires_grad: bool = False) -> Tensor:  # fmt: skip
    """`I0(beta sqrt(1 - (2n/(M-1) - 1)^2)) / I0(beta)`. Raises ValueError for a negative `beta`."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def formula(kind: Any) -> Tensor:
        step = 2.0 * beta / (M - 1 if sym else M)
        k = linspace(-beta, min(beta, -beta + (M - 1) * step), M, dtype=kind, device=device)
        i0 = op_functions["i0"]
        return i0((beta * beta - k * k).sqrt()) / i0(k.new_full((), beta))

    return _shaped("kaiser", M, dtype, device, requires_grad, formula, True)
