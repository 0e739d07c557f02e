"""Special functions: the error function's and the gamma function's relatives, Bessel functions, orthogonal polynomials.

The numbers come from `engine/numerics`; here they become operators with PyTorch's names, dtypes and gradients. Where PyTorch has no
gradient there is none here either.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dispatch
from ..dtypes import BOOL
from ..numerics import bessel, error, gamma, polynomials
from ..numerics.blocks import blockwise, store
from ..tensor import Tensor
from .declare import op_functions, operator, pointwise, tensor_argument
from .exponential import rounded
from .gradients import choose
from .table import Op

_SLOPE = 2.0 / math.sqrt(math.pi)
SPECIAL = ("special",)


def _exp(x: Tensor) -> Tensor:
    return op_functions["exp"](x)


Vectors = Callable[[np.ndarray], np.ndarray]


def _special(name: str, function: Vectors, single: Vectors | None = None, **parts: Any) -> Op:
    """A function of one argument that stands in `torch.special` alone; `single` is for float32."""
    return pointwise(
        name, cpu=blockwise(function, single=single), result="float", wide=single is None, accepts="bif", spaces=SPECIAL,
        method=False, inplace=False, backward="Special" + "".join(p.capitalize() for p in name.split("_")),
        doc=function.__doc__ or "", **parts,
    )  # fmt: skip


# -- the error function and its relatives -------------------------------------------------------

ERF = pointwise(
    "erf", cpu=error.erf_array, expr="erf(input)", result="float", wide=True, accepts="bif", spaces=("torch", "special"),
    refusals={"": "erf_vml_cpu"}, doc=error.erf.__doc__ or "",
    grads={"input": lambda g, input: g * (_SLOPE * _exp(-(input * input)))},
)  # fmt: skip
ERFC = pointwise(
    "erfc", cpu=blockwise(error.erfc), expr="erfc(input)", result="float", wide=True, accepts="bif", spaces=("torch", "special"),
    refusals={"": "erfc_vml_cpu"}, doc=error.erfc.__doc__ or "",
    grads={"input": lambda g, input: g * (-_SLOPE * _exp(-(input * input)))},
)  # fmt: skip
ERFINV = pointwise(
    "erfinv", cpu=blockwise(error.erfinv), expr="erfinv(input)", result="float", wide=True, accepts="bif", spaces=("torch", "special"),
    refusals={"": "erfinv_vml_cpu"}, doc=error.erfinv.__doc__ or "",
    grads={"input": lambda g, result: g * (_exp(result * result) / _SLOPE)},
)  # fmt: skip
ERFCX = _special("erfcx", error.erfcx, grads={"input": lambda g, input, result: g * (2.0 * input * result - _SLOPE)})


@operator(spaces=SPECIAL, method=False, out=True)
def ndtr(input: Tensor) -> Tensor:
    """The normal distribution function, (1 + erf(x / sqrt(2))) / 2 as PyTorch computes it."""
    return (op_functions["erf"](input * error.ROOT_HALF) + 1.0) * 0.5


NDTRI = _special(
    "ndtri", error.ndtri, expr=f"erfinv(2.0 * input - 1.0) * {error.ROOT_TWO!r}",
    grads={"input": lambda g, result: g * (math.sqrt(2 * math.pi) * _exp(0.5 * (result * result)))},
)  # fmt: skip
LOG_NDTR = _special(
    "log_ndtr", error.log_ndtr,
    grads={"input": lambda g, input: g / op_functions["erfcx"](input * -error.ROOT_HALF) * (2.0 / math.sqrt(2 * math.pi))},
)  # fmt: skip


def _entr(x: Any, out: Any = None) -> Any:
    value = np.where(x > 0, -x * rounded(np.log)(x), np.where(x < 0, -np.inf, x))
    return store(np.where(x == 0, 0, value), x.dtype, out)


ENTR = pointwise(
    "entr", cpu=_entr, result="float", accepts="bif", spaces=SPECIAL, method=False, inplace=False, backward="SpecialEntr",
    expr="where(isnan(input), input, where(input > 0, -input * log(input), where(input == 0, 0.0, -inf)))",
    doc="-x log(x); 0 at 0, -inf below.",
    grads={"input": lambda g, input: -g * (1 + op_functions["log"](input))},
)  # fmt: skip

# -- the gamma function and its relatives -------------------------------------------------------

LGAMMA = pointwise(
    "lgamma", cpu=blockwise(gamma.lgamma), expr="lgamma(input)", result="float", wide=True, accepts="bif",
    spaces=("torch", "special.gammaln"), refusals={"": "lgamma_vml_cpu"}, doc=gamma.lgamma.__doc__ or "",
    grads={"input": lambda g, input: g * op_functions["digamma"](input)},
)  # fmt: skip
DIGAMMA = pointwise(
    "digamma", cpu=blockwise(gamma.digamma, single=gamma.digamma_single), expr="digamma(input)", result="float", accepts="bif",
    refusals={"": "digamma"}, spaces=("torch", "special", "special.psi"), doc=gamma.digamma.__doc__ or "",
    grads={"input": lambda g, input: g * polygamma(1, input)},
)  # fmt: skip
POLYGAMMA = pointwise(
    "polygamma_of", "input; n", cpu=blockwise(gamma.polygamma), result="float", accepts="bif", spaces=("primitive",), method=False,
    backward="Polygamma", inplace=False, refusals={"": "trigamma"}, doc=gamma.polygamma.__doc__ or "",
    grads={"input": lambda g, input, n: g * polygamma(n + 1, input)},
)  # fmt: skip


def _order(n: Any) -> int:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return int(n)


def _polygamma_in_place(self: Tensor, n: int) -> Tensor:
    return dispatch.inplace(POLYGAMMA, self, (), (_order(n),))


@operator(inplace=_polygamma_in_place, out=True, spaces=("torch", "special"))
def polygamma(n: Any, input: Any) -> Tensor:
    """The n-th derivative of digamma; the method has the tensor first. Raises RuntimeError for negative n."""
    if isinstance(n, Tensor) and not isinstance(input, Tensor):
        n, input = input, n
    return dispatch.pointwise(POLYGAMMA, (tensor_argument("polygamma", "input", 2, input),), (_order(n),))


@operator(inplace=True, out=True, spaces=("torch", "special.multigammaln"))
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`. Raises RuntimeError for p < 1 and bools."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if input.dtype.category == BOOL:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    total = p * (p - 1) / 4 * math.log(math.pi)
    for j in range(p):
        total = total + op_functions["lgamma"](input - 0.5 * j)
    return total  # type: ignore[return-value]


def _density(a: Any, x: Tensor) -> Tensor:
    """The derivative of the lower incomplete gamma function by x."""
    lgamma = op_functions["lgamma"]
    return _exp((a - 1) * op_functions["log"](x) - x - lgamma(a))


IGAMMA = pointwise(
    "igamma", "input, other", cpu=blockwise(gamma.gammainc, 2), accepts="f", spaces=("torch", "special.gammainc"),
    doc=gamma.gammainc.__doc__ or "", grads={"other": lambda g, input, other: g * _density(input, other)},
)  # fmt: skip
IGAMMAC = pointwise(
    "igammac", "input, other", cpu=blockwise(gamma.gammaincc, 2), accepts="f", spaces=("torch", "special.gammaincc"),
    doc=gamma.gammaincc.__doc__ or "", grads={"other": lambda g, input, other: -g * _density(input, other)},
)  # fmt: skip
ZETA = pointwise(
    "zeta", "input, other", cpu=blockwise(gamma.zeta, 2), result="float", accepts="bif", spaces=SPECIAL, method=False,
    inplace=False, numbers="input other", backward="SpecialZeta", doc=gamma.zeta.__doc__ or "",
    grads={"other": lambda g, input, other: -g * input * op_functions["zeta"](input + 1, other)},
)  # fmt: skip

# -- Bessel and Airy functions ------------------------------------------------------------------


def _over(x: Tensor, value: Tensor) -> Tensor:
    """`value / x` for an odd function, whose slope at 0 is a half."""
    return choose(x == 0, 0.5, value / choose(x == 0, 1.0, x))


def _sign(x: Tensor) -> Tensor:
    return op_functions["sign"](x)


I0 = pointwise(
    "i0", cpu=blockwise(bessel.i0, single=bessel.i0_single), result="float", accepts="bif", spaces=("torch", "special"), refusals={"": "i0_vml_cpu"},
    doc=bessel.i0.__doc__ or "", grads={"input": lambda g, input: g * op_functions["i1"](input)},
)  # fmt: skip
I0E = _special(
    "i0e",
    bessel.i0e,
    bessel.i0e_single,
    grads={"input": lambda g, input, result: g * (op_functions["i1e"](input) - _sign(input) * result)},
)
I1 = _special(
    "i1",
    bessel.i1,
    bessel.i1_single,
    grads={"input": lambda g, input, result: g * (op_functions["i0"](input) - _over(input, result))},
)
I1E = _special(
    "i1e", bessel.i1e, bessel.i1e_single,
    grads={
        "input": lambda g, input, result: g
        * (op_functions["i0e"](input) - _over(input, result) - _sign(input) * result)
    },
)  # fmt: skip

for _name, _function in {
    "airy_ai": bessel.airy, "bessel_j0": bessel.j0, "bessel_j1": bessel.j1, "bessel_y0": bessel.y0, "bessel_y1": bessel.y1,
    "modified_bessel_i0": bessel.i0, "modified_bessel_i1": bessel.i1, "modified_bessel_k0": bessel.k0,
    "modified_bessel_k1": bessel.k1, "scaled_modified_bessel_k0": bessel.k0e, "scaled_modified_bessel_k1": bessel.k1e,
    "spherical_bessel_j0": bessel.spherical_j0,
}.items():  # fmt: skip
    _special(_name, _function)

# -- orthogonal polynomials ---------------------------------------------------------------------

for _name, _function in {
    "chebyshev_polynomial_t": polynomials.chebyshev_t, "chebyshev_polynomial_u": polynomials.chebyshev_u,
    "chebyshev_polynomial_v": polynomials.chebyshev_v, "chebyshev_polynomial_w": polynomials.chebyshev_w,
    "shifted_chebyshev_polynomial_t": polynomials.shifted_chebyshev_t,
    "shifted_chebyshev_polynomial_u": polynomials.shifted_chebyshev_u,
    "shifted_chebyshev_polynomial_v": polynomials.shifted_chebyshev_v,
    "shifted_chebyshev_polynomial_w": polynomials.shifted_chebyshev_w,
    "hermite_polynomial_h": polynomials.hermite_h, "hermite_polynomial_he": polynomials.hermite_he,
    "laguerre_polynomial_l": polynomials.laguerre_l, "legendre_polynomial_p": polynomials.legendre_p,
}.items():  # fmt: skip
    pointwise(
        _name, "input, n", cpu=blockwise(_function, 2, _function), result="float", accepts="bif", spaces=SPECIAL, method=False, inplace=False,
        numbers="input n", doc=f"The polynomial of degree `n` at `input`: {_name.replace('_', ' ')}.",
    )  # fmt: skip
