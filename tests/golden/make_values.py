"""Freezes PyTorch's values of the pointwise, special, scanning and sorting functions: tests/golden/ops/values.json.

    python tests/golden/make_values.py          # with torch 2.13 installed

Every function sees the same few numbers in every dtype that it supports; what is kept is the result's dtype and its numbers, or
"refused".
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

DTYPES = ("float32", "float64", "int64", "uint8", "bool", "complex64")
FLOATS = [-3.5, -1.0, -0.75, -0.0, 0.1, 0.5, 0.999, 1.0, 2.25, 7.5, 12.0, float("inf"), float("-inf"), float("nan")]
OTHER = [2.0, -1.0, 0.5, 0.0, -0.1, 3.0, 1.5, 1.0, -2.0, 0.25, 5.0, 1.0, 2.0, 1.0]
NUMBERS = {
    "float32": (FLOATS, OTHER), "float64": (FLOATS, OTHER), "int64": ([-7, -2, -1, 0, 1, 2, 3, 9], [2, -3, 1, 5, 4, 2, -2, 7]),
    "uint8": ([0, 1, 2, 3, 100, 200, 255, 7], [1, 2, 3, 1, 3, 100, 255, 7]), "bool": ([True, False, True, False], [True, True, False, False]),
    "complex64": ([1 + 2j, -0.5 + 0.25j, 0.1 - 3j, 2 + 0j, 0.75j], [0.5 - 1j, 1 + 1j, 2 + 0j, -1 + 0.5j, 1 - 1j]),
}  # fmt: skip
UNARY_WORDS = (
    "abs acos acosh angle asin asinh atan atanh bitwise_not ceil conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 "
    "expm1 floor frac i0 isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not logit nan_to_num neg "
    "positive rad2deg reciprocal round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc special.entr "
    "special.erfcx special.i0e special.i1 special.i1e special.log_ndtr special.ndtr special.ndtri special.bessel_j0 special.bessel_j1 "
    "special.bessel_y0 special.bessel_y1 special.modified_bessel_i0 special.modified_bessel_i1 special.modified_bessel_k0 "
    "special.modified_bessel_k1 special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1 special.spherical_bessel_j0 sum "
    "mean prod std var amax amin argmax argmin all any median nanmedian nansum nanmean count_nonzero aminmax logsumexp(0) cumsum(0) "
    "cumprod(0) cummax(0) cummin(0) logcumsumexp(0) sort argsort(stable=True) topk(2) kthvalue(2) quantile(0.3) nanquantile(0.3) diff "
    "unique unique_consecutive bincount histc(4,-5,5) trapezoid cov corrcoef msort var_mean std_mean cumulative_trapezoid"
)
UNARY = UNARY_WORDS.split()
BINARY_WORDS = (
    "add sub mul true_divide div(rounding_mode='floor') div(rounding_mode='trunc') floor_divide remainder fmod pow float_power "
    "maximum minimum fmax fmin eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor "
    "bitwise_left_shift bitwise_right_shift gcd lcm atan2 hypot copysign nextafter heaviside ldexp logaddexp logaddexp2 xlogy "
    "special.xlog1py rsub isclose dist lerp(weight=0.25) clamp(max=2) isin searchsorted igamma igammac special.zeta "
    "special.chebyshev_polynomial_t special.hermite_polynomial_h special.laguerre_polynomial_l special.legendre_polynomial_p "
    "special.shifted_chebyshev_polynomial_u"
)
BINARY = BINARY_WORDS.split()


def numbers(value) -> list:
    """A result as nested lists of JSON numbers; complex ones as pairs, what is not finite as text."""
    if isinstance(value, tuple):
        return [numbers(v) for v in value]

    def plain(v):
        if isinstance(v, list):
            return [plain(w) for w in v]
        if isinstance(v, complex):
            return [plain(v.real), plain(v.imag)]
        return v if isinstance(v, (int, bool)) or abs(v) < float("inf") else str(v)

    return [str(value.dtype).removeprefix("torch."), plain(value.tolist())]


def call(torch, name: str, operands: list):
    """`name` of the operands; "(...)" behind a name are further arguments. None where it is refused."""
    head, _, rest = name.partition("(")
    function = torch
    for part in head.split("."):
        function = getattr(function, part)
    try:
        return eval(f"function(*operands, {rest or ')'}", {"function": function, "operands": operands})
    except (RuntimeError, TypeError):
        return None


def table(torch):
    """Name and dtype to numbers, or "refused"."""
    for names, count in ((UNARY, 1), (BINARY, 2)):
        for name in names:
            for dtype in DTYPES:
                operands = [torch.tensor(v, dtype=getattr(torch, dtype)) for v in NUMBERS[dtype][:count]]
                yield name, dtype, call(torch, name, operands)


def main() -> None:
    import torch

    warnings.simplefilter("ignore")
    frozen: dict = {}
    for name, dtype, value in table(torch):
        frozen.setdefault(name, {})[dtype] = "refused" if value is None else numbers(value)

    def short(v, digits=9):
        if isinstance(v, dict):
            return {k: short(w) for k, w in v.items()}
        if isinstance(v, list):
            if v and isinstance(v[0], str) and v[0].isidentifier():
                digits = 17 if v[0] in ("float64", "complex128") else digits
            return [short(w, digits) for w in v]
        return float(f"{v:.{digits}g}") if isinstance(v, float) else v

    rows = ",\n".join(f"{json.dumps(n)}: {json.dumps(short(v), separators=(',', ':'))}" for n, v in frozen.items())
    (Path(__file__).parent / "ops" / "values.json").write_text("{\n" + rows + "\n}\n")


if __name__ == "__main__":
    main()
