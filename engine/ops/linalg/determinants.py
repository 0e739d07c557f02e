"""Determinants and their logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dispatch
from ...return_types import return_type
from ...tensor import Tensor
from ..declare import operator
from ..gradients import choose, conj
from ..table import Op
from .checks import adjoint, readable, square
from .kernels import Array
from .solves import inv
from .spectra import SVD

LinalgSlogdet = return_type("linalg_slogdet", "sign logabsdet")
Slogdet = return_type("slogdet", "sign logabsdet")

DET = Op(
    "linalg_det", "A", kind="linalg", cpu=lambda a: np.asarray(np.linalg.det(a)), shape=lambda a: a[:-2],
    grads={"A": lambda g, A, result: _det_backward(g, A, result)},
)  # fmt: skip


def _det_backward(g: Tensor, a: Tensor, det: Tensor) -> Tensor:
    """`g conj(det) A^-H`; where a determinant is zero, the cofactors, which the singular values give without a division."""
    if a.numel() == 0:
        return g.new_zeros(a.shape)
    if not readable(det) or not bool((det == 0).any().item()):
        return (g * conj(det)).unsqueeze(-1).unsqueeze(-1) * adjoint(inv(a))
    u, s, vh = dispatch.call(SVD, (a,), (False,))
    k = s.shape[-1]
    others = choose(s.new_ones(k).diag_embed() > 0, 1.0, s.unsqueeze(-2)).prod(-1)
    phase = dispatch.call(DET, (u,)) * dispatch.call(DET, (vh,))
    return (g * conj(phase)).unsqueeze(-1).unsqueeze(-1) * ((u * others.unsqueeze(-2)) @ vh)


def _slogdet(a: Array) -> tuple[Array, Array]:
    sign, logarithm = np.linalg.slogdet(a)
    return np.asarray(sign), np.asarray(logarithm)


SLOGDET = Op(
    "linalg_slogdet", "A", kind="linalg", multi=True, cpu=_slogdet, shape=lambda a: [a[:-2], a[:-2]],
    dtype=lambda a: (a._dtype, a._dtype.to_real()),
    grads={"A": lambda g, A, results: _slogdet_backward(g[0], g[1], A, results[0])},
)  # fmt: skip


def _slogdet_backward(g_sign: Tensor, g_log: Tensor, a: Tensor, sign: Tensor) -> Tensor:
    """`g A^-H`; for complex matrices with the change of the phase in the imaginary part of g."""
    factor = g_log
    if a._dtype.is_complex:
        factor = g_log - (conj(g_sign) * sign).imag * 1j
    return factor.unsqueeze(-1).unsqueeze(-1) * adjoint(inv(a))


@operator(spaces=("linalg",), method=False, out="same dtype", name="det")
def linalg_det(A: Tensor) -> Tensor:
    """The determinants of square matrices. Raises RuntimeError for other shapes."""
    return dispatch.call(DET, (square("linalg.det", A),))


@operator()
def det(input: Tensor) -> Tensor:
    """The determinants of square matrices. Raises RuntimeError for other shapes."""
    return linalg_det(input)


@operator(spaces=("linalg",), method=False, out="same dtype", name="slogdet")
def linalg_slogdet(A: Tensor) -> Any:
    """The sign (or phase) of the determinants, and the logarithms of their absolute values."""
    return LinalgSlogdet(*dispatch.call(SLOGDET, (square("linalg.slogdet", A),)))


@operator(out="same dtype")
def slogdet(input: Tensor) -> Any:
    """The sign (or phase) of the determinants, and the logarithms of their absolute values."""
    return Slogdet(*dispatch.call(SLOGDET, (square("linalg.slogdet", input),)))


@operator()
def logdet(input: Tensor) -> Tensor:
    """The logarithms of the determinants; NaN for negative ones."""
    sign, logarithm = dispatch.call(SLOGDET, (square("logdet", input),))
    if input._dtype.is_complex:
        return sign.log() + logarithm
    return choose(sign == -1, float("nan"), logarithm)
