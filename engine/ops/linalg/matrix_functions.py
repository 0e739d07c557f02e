"""Functions of matrices: the exponential.

Scaling and squaring with Taylor polynomials (P. Bader, S. Blanes, F. Casas, "Computing the matrix exponential with an optimized Taylor
polynomial approximation", Mathematics 7 (2019)): the lowest degree that the 1-norm allows, the matrix halved until degree 18 does.
"""

from __future__ import annotations

import math
from typing import Any

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


# Each polynomial by the fewest products of matrices; the numbers are those of the article's equations for T8, T12 and T18.
_ROOT = math.sqrt(177.0)
_X3 = 2 / 3
_T8 = (
    _X3 * (1 + _ROOT) / 88, _X3 * (1 + _ROOT) / 352, _X3, (-271 + 29 * _ROOT) / (315 * _X3), (-11 + 11 * _ROOT) / (1260 * _X3),
    (-99 + 11 * _ROOT) / (5040 * _X3), (89 - _ROOT) / (5040 * _X3), (857 - 58 * _ROOT) / 630,
)  # fmt: skip
_T12 = (
    (9.0198e-16, 0.46932117595418237389, -0.20099424927047284052, -0.04623946134063071740),
    (5.31597895759871264183, 1.19926790417132231573, 0.01179296240992997031, 0.01108844528519167989),
    (0.18188869982170434744, 0.05502798439925399070, 0.09351590770535414968, 0.00610700528898058230),
    (-2.0861320e-13, -0.13181061013830184015, -0.02027855540589259079, -0.00675951846863086359),
)
_T18 = (
    (0.0, -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04, 0.0),
    (0.0, 3.97849749499645077844e-01, 1.36783778460411720168e00, 4.98289622525382669416e-01, -6.37898194594723280150e-04),
    (-1.09676396052962061844e01, 1.68015813878906206114e00, 5.71779846478865511061e-02, -6.98210122488052056106e-03, 3.34975017086070470649e-05),
    (-9.04316832390810593223e-02, -6.76404519071381882256e-02, 6.75961301770459654925e-02, 2.95552570429315521194e-02, -1.39180257516060693404e-05),
    (0.0, 0.0, -9.23364619367118555360e-02, -1.69364939002081722752e-02, -1.40086798182036094347e-05),
)  # fmt: skip


def _combined(rows: Any, powers: list[Array]) -> list[Array]:
    kind = powers[0].real.dtype
    return list(np.tensordot(np.asarray(rows, kind), np.stack(powers), axes=1).astype(powers[1].dtype, copy=False))


def _taylor(a: Array, degree: int) -> Array:
    """The polynomial of a degree among those above."""
    unit = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    if degree == 1:
        return unit + a
    two = a @ a
    if degree == 2:
        return unit + a + two / 2
    if degree == 4:
        return unit + a + two @ (unit / 2 + a / 6 + two / 24)
    if degree == 8:
        x1, x2, x3, x4, x5, x6, x7, y2 = _T8
        four = two @ (x1 * a + x2 * two)
        return unit + a + y2 * two + (x3 * two + four) @ (x4 * unit + x5 * a + x6 * two + x7 * four)
    three = a @ two
    if degree == 12:
        b = _combined(_T12, [unit, a, two, three])
        six = b[2] + b[3] @ b[3]
        return b[0] + (b[1] + six) @ six
    b = _combined(_T18, [unit, a, two, three, three @ three])
    nine = b[0] @ b[4] + b[3]
    return b[1] + (b[2] + nine) @ nine


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


@operator(name="matrix_exp")
def exponential(input: Tensor) -> Tensor:
    """The exponentials of square matrices. Raises RuntimeError for other shapes."""
    return matrix_exp(input)


@operator(spaces=("linalg",), method=False)
def matrix_exp(A: Tensor) -> Tensor:
    """The exponentials of square matrices. Raises RuntimeError for other shapes."""
    square("linalg.matrix_exp", A, floating=False)
    float_or_complex("linalg.matrix_exp", A, low=True)
    return dispatch.call(MATRIX_EXP, (A,))
