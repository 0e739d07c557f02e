"""Functions of matrices: the exponential.

Scaling and squaring with Taylor polynomials (P. Bader, S. Blanes, F. Casas, "Computing the matrix exponential with an optimized Taylor
polynomial approximation", Mathematics 7 (2019)): the lowest degree that the 1-norm allows, the matrix halved until degree 18 does.
"""

from __future__ import annotations

import math

import numpy as np

from ... import dispatch
from ...tensor import Tensor
from ..declare import operator
from ..joining import cat
from ..table import Op
from .checks import adjoint, float_or_complex, square
from .kernels import Array

_DEGREES = (1, 2, 4, 8, 12, 18)
_LIMITS = {
    4: (1.192092800768788e-7, 5.978858893805233e-04, 5.116619363445086e-02, 5.800524627688768e-01, 1.461661507209034e00, 3.010066362817634e00),
    8: (2.220446049250313e-16, 2.580956802971767e-8, 3.397168839976962e-4, 4.991228871115323e-2, 2.996158913811580e-1, 1.090863719290036e00),
}  # fmt: skip
"""The 1-norm up to which each degree is exact to the last digit, by the size of a real number in bytes."""


def _taylor(a: Array, degree: int) -> Array:
    """`sum(a^k / k!)` up to the degree, in blocks of powers (Paterson, Stockmeyer 1973)."""
    unit = np.eye(a.shape[-1], dtype=a.dtype)
    width = max(1, round(degree**0.5))
    powers = [np.broadcast_to(unit, a.shape), a]
    for _ in range(2, width + 1):
        powers.append(powers[-1] @ a)
    kind = a.real.dtype.type
    out = np.zeros(a.shape, a.dtype)
    for start in range(degree // width * width, -1, -width):
        block = sum(powers[j] * kind(1 / math.factorial(start + j)) for j in range(width) if start + j <= degree)
        out = block + (out @ powers[width] if start + width <= degree else 0)
    return out


def _exponential(a: Array) -> Array:
    flat = a.reshape(int(np.prod(a.shape[:-2], dtype=np.int64)), *a.shape[-2:])
    out = np.empty(flat.shape, a.dtype)
    if not out.size:
        return out.reshape(a.shape)
    size = np.abs(flat).sum(-2).max(-1)
    limits = np.asarray(_LIMITS[max(4, a.real.dtype.itemsize)])
    which = np.searchsorted(limits, size)
    which[np.isnan(size)] = len(limits)
    for i in np.unique(which):
        at = np.flatnonzero(which == i)
        if i < len(limits):
            out[at] = _taylor(flat[at], _DEGREES[i])
            continue
        ratio = size[at] / limits[-1]
        times = np.where(np.isfinite(ratio), np.ceil(np.log2(np.where(np.isfinite(ratio), ratio, 1))), 0).astype(int)
        part = _taylor(flat[at] * np.ldexp(a.real.dtype.type(1), -times)[:, None, None], _DEGREES[-1])
        for step in range(times.max()):
            more = np.flatnonzero(times > step)
            part[more] = part[more] @ part[more]
        out[at] = part
    return out.reshape(a.shape)


MATRIX_EXP = Op("linalg_matrix_exp", "A", kind="linalg", cpu=_exponential, shape=lambda a: a,
                grads={"A": lambda g, A: _exponential_backward(g, adjoint(A))})  # fmt: skip


def _exponential_backward(g: Tensor, a: Tensor) -> Tensor:
    """The upper right block of `exp([[A^H, G], [0, A^H]])` (Mathias 1996)."""
    n = a.shape[-1]
    top, bottom = cat([a, g], -1), cat([a.new_zeros(a.shape), a], -1)
    return dispatch.call(MATRIX_EXP, (cat([top, bottom], -2),))[..., :n, n:]


@operator(spaces=("torch", "linalg"))
def matrix_exp(A: Tensor) -> Tensor:
    """The exponentials of square matrices. Raises RuntimeError for other shapes."""
    square("linalg.matrix_exp", A, floating=False)
    float_or_complex("linalg.matrix_exp", A, low=True)
    return dispatch.call(MATRIX_EXP, (A,))
