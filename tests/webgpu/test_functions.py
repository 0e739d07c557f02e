"""Special functions against float64: errors in units of the last place, and values at the edges."""

import math

import numpy as np
import pytest

EDGES = np.array(
    [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 0.5, -0.5, 100, -100, 1e38, -1e38], np.float32
)


def spread_out(rng, low, high, n=6000, signed=True):
    """Numbers whose logarithms are uniform."""
    x = np.exp(rng.uniform(np.log(low), np.log(high), n))
    return (x * (rng.choice([-1, 1], n) if signed else 1)).astype(np.float32)


def even(rng, low, high, n=6000):
    return rng.uniform(low, high, n).astype(np.float32)


def ulps(got, want):
    step = np.spacing(
        np.maximum(np.abs(np.clip(want, -3.4e38, 3.4e38).astype(np.float32)), np.float32(1.2e-38))
    ).astype(np.float64)
    return np.where(np.abs(want) < 3.4e38, np.abs(got.astype(np.float64) - want) / step, 0)


vectorised = np.vectorize
CASES = {
    # name: (most ulps, reference, samples)
    "exp": (2, np.exp, lambda r: [even(r, -104, 89), spread_out(r, 1e-8, 1)]),
    "exp2": (2, np.exp2, lambda r: [even(r, -150, 128)]),
    "expm1": (2, np.expm1, lambda r: [even(r, -30, 88), spread_out(r, 1e-30, 1)]),
    "log": (2, np.log, lambda r: [spread_out(r, 1e-44, 3e38, signed=False), even(r, 0.5, 2)]),
    "log2": (2, np.log2, lambda r: [spread_out(r, 1e-44, 3e38, signed=False), even(r, 0.5, 2)]),
    "log10": (4, np.log10, lambda r: [spread_out(r, 1e-44, 3e38, signed=False), even(r, 0.5, 2)]),
    "log1p": (
        4,
        np.log1p,
        lambda r: [spread_out(r, 1e-30, 3e38, signed=False), even(r, -1, 1), spread_out(r, 1e-30, 1e-3)],
    ),
    "sin": (3, np.sin, lambda r: [even(r, -100, 100), spread_out(r, 1e-20, 3e38)]),
    "cos": (3, np.cos, lambda r: [even(r, -100, 100), spread_out(r, 1e-20, 3e38)]),
    "tan": (5, np.tan, lambda r: [even(r, -100, 100), spread_out(r, 1e-20, 3e38)]),
    "asin": (3, np.arcsin, lambda r: [even(r, -1, 1), spread_out(r, 1e-20, 1)]),
    "acos": (2, np.arccos, lambda r: [even(r, -1, 1)]),
    "atan": (3, np.arctan, lambda r: [spread_out(r, 1e-20, 1e20)]),
    "sinh": (3, np.sinh, lambda r: [even(r, -89, 89), spread_out(r, 1e-20, 1)]),
    "cosh": (3, np.cosh, lambda r: [even(r, -89, 89)]),
    "tanh": (3, np.tanh, lambda r: [even(r, -12, 12), spread_out(r, 1e-20, 1)]),
    "asinh": (4, np.arcsinh, lambda r: [spread_out(r, 1e-20, 1e38)]),
    "acosh": (4, np.arccosh, lambda r: [spread_out(r, 1, 1e38, signed=False)]),
    "atanh": (4, np.arctanh, lambda r: [even(r, -1, 1), spread_out(r, 1e-20, 1)]),
    "sigmoid": (
        3,
        lambda x: np.where(x >= 0, 1, np.exp(-np.abs(x))) / (1 + np.exp(-np.abs(x))),
        lambda r: [even(r, -100, 100)],
    ),
    "erf": (3, vectorised(math.erf), lambda r: [even(r, -5, 5), spread_out(r, 1e-20, 1)]),
    "erfc": (10, vectorised(math.erfc), lambda r: [even(r, -10, 10)]),
    "lgamma": (20, vectorised(math.lgamma), lambda r: [spread_out(r, 1e-10, 1e30, signed=False), even(r, 0.1, 12)]),
    "sqrt": (1, np.sqrt, lambda r: [spread_out(r, 1e-44, 3e38, signed=False)]),
    "rsqrt": (2, lambda x: 1 / np.sqrt(x), lambda r: [spread_out(r, 1e-37, 3e38, signed=False)]),
}


@pytest.mark.parametrize("name", CASES)
def test_error_in_ulps(bench, name):
    most, reference, samples = CASES[name]
    x = np.concatenate(samples(np.random.default_rng(3)))
    got = bench.down(bench.expression(f"{name}(x)", "x")(bench.up(x)))
    with np.errstate(all="ignore"):
        want = reference(x.astype(np.float64))
    error = ulps(got, want)
    worst = int(np.nanargmax(error))
    assert error[worst] <= most, f"{name}({x[worst]!r}) is {got[worst]!r}, not {want[worst]!r}"
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))


def test_digamma_and_erfinv(bench):
    x = even(np.random.default_rng(0), 0.2, 50)
    h = 1e-5
    derivative = vectorised(lambda v: (math.lgamma(v + h) - math.lgamma(v - h)) / (2 * h))(x.astype(np.float64))
    np.testing.assert_allclose(
        bench.down(bench.expression("digamma(x)", "x")(bench.up(x))), derivative, rtol=3e-6, atol=3e-6
    )
    y = even(np.random.default_rng(0), -0.99999, 0.99999)
    back = vectorised(math.erf)(bench.down(bench.expression("erfinv(x)", "x")(bench.up(y))).astype(np.float64))
    np.testing.assert_allclose(back, y, rtol=2e-6)


def test_power(bench):
    rng = np.random.default_rng(4)
    x, y = spread_out(rng, 1e-6, 1e6, signed=False), even(rng, -8, 8)
    got = bench.down(bench.expression("pow(x, y)", "x", "y")(bench.up(x), bench.up(y)))
    with np.errstate(all="ignore"):
        assert ulps(got, x.astype(np.float64) ** y).max() <= 2


def same(got, want):
    return (got == want) | (np.isnan(got) & np.isnan(want)) | np.isclose(got, want, rtol=2e-6, atol=1e-44)


@pytest.mark.parametrize(
    "name",
    ["exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tanh", "sinh", "cosh", "sqrt", "sign", "round", "floor", "ceil",
     "trunc", "abs"],
)  # fmt: skip
def test_edges(bench, name):
    got = bench.down(bench.expression(f"{name}(x)", "x")(bench.up(EDGES)))
    with np.errstate(all="ignore"):
        want = getattr(np, name)(EDGES)
    if name == "sign":
        want[np.isnan(EDGES)] = 0
    assert same(got, want).all(), EDGES[~same(got, want)]
    zeros = (want == 0) & (EDGES == 0)
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))


@pytest.mark.parametrize(
    "name", ["power", "fmod", "remainder", "floor_divide", "arctan2", "maximum", "minimum", "copysign", "nextafter"]
)
def test_edges_of_two_arguments(bench, name):
    grid = np.array([0.0, -0.0, 1, -1, 2, -2, 3, 0.5, -0.5, np.inf, -np.inf, np.nan, -3, 7.5, -7.5], np.float32)
    x, y = (a.ravel() for a in np.meshgrid(grid, grid))
    text = {"power": "pow", "arctan2": "atan2"}.get(name, name)
    got = bench.down(bench.expression(f"{text}(x, y)", "x", "y")(bench.up(x), bench.up(y)))
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x, y)
    bad = ~same(got, want)
    assert not bad.any(), list(zip(x[bad], y[bad], got[bad], want[bad]))


def test_comparisons_with_nan(bench):
    x, y = (a.ravel() for a in np.meshgrid(EDGES, EDGES))
    for sign in ("==", "!=", "<", "<=", ">", ">="):
        got = bench.down(bench.expression(f"x {sign} y", "x", "y", result="bool")(bench.up(x), bench.up(y)))
        np.testing.assert_array_equal(got, eval(f"x {sign} y", {"x": x, "y": y}), err_msg=sign)
        alone = bench.up(EDGES)
        got = bench.down(bench.expression(f"x {sign} y", "x", "y", result="bool")(alone, alone))
        np.testing.assert_array_equal(got, eval(f"x {sign} x", {"x": EDGES}), err_msg=sign)


def test_nan_and_infinity_are_found_by_their_bits(bench):
    for name in ("isnan", "isinf", "isfinite"):
        got = bench.down(bench.expression(f"{name}(x)", "x", result="bool")(bench.up(EDGES)))
        np.testing.assert_array_equal(got, getattr(np, name)(EDGES))


def test_large_arguments_stay_finite(bench):
    x = np.array([30, 90, 1e4, -90, -1e4], np.float32)
    for text in ("tanh(x)", "sigmoid(x)", "x * 0.5 * (1 + erf(x * 0.7071067811865476))"):
        assert np.isfinite(bench.down(bench.expression(text, "x")(bench.up(x)))).all(), text


def test_half_precision_without_the_feature_rounds_alike(bench):
    """The f32 twin of float16 gives the bits that real float16 gives."""
    from tapescope.engine import dtypes as D
    from tapescope.engine.backends.webgpu.backend import WebGPUBackend
    from tapescope.engine.backends.webgpu.native import NativeGpu

    from .conftest import Bench

    twin = Bench(WebGPUBackend(lambda: NativeGpu(without=["shader-f16"])))
    try:
        assert twin.backend.code(D.float16) == "f16w"
        rng = np.random.default_rng(0)
        x = np.concatenate(
            [rng.standard_normal(4000), rng.uniform(-6.5e4, 6.5e4, 500), spread_out(rng, 1e-9, 1e-3, 500)]
        ).astype(np.float16)
        x = np.concatenate([x, np.array([np.inf, -np.inf, np.nan, 65504, 6e-8, -0.0], np.float16)])
        for text in ("x * 1.0009765625", "x + x", "exp(x)", "x / 3"):
            a = bench.down(bench.expression(text, "x")(bench.up(x)))
            b = twin.down(twin.expression(text, "x")(twin.up(x)))
            same = (a.view(np.uint16) == b.view(np.uint16)) | (np.isnan(a) & np.isnan(b))
            assert same.all(), (text, x[~same], a[~same], b[~same])
    finally:
        twin.backend.device.close()
