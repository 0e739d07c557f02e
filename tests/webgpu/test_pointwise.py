"""Pointwise kernels against numpy: shapes, strides, dtypes, numbers, writing in place, and what they leave alone."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tapescope.engine import dtypes as D

SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
DTYPES = [np.float32, np.int32, np.int64, np.uint8, np.int8, np.int16, np.bool_, np.float16]


def values(rng, shape, kind):
    if kind is np.bool_:
        return rng.random(shape) > 0.5
    if np.issubdtype(kind, np.integer):
        low = 0 if np.issubdtype(kind, np.unsignedinteger) else -100
        return rng.integers(low, 100, shape).astype(kind)
    return rng.standard_normal(shape).astype(kind)


@st.composite
def geometries(draw):
    """Two shapes that broadcast, and how each is laid out: a permutation and a step in each dimension."""
    rank = draw(st.integers(0, 5))
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 5, 16, 20]), min_size=rank, max_size=rank)))
    while np.prod(shape, dtype=int) > 6000:
        shape = shape[1:]
    other = tuple(1 if draw(st.booleans()) else s for s in shape)[draw(st.integers(0, len(shape))) :]
    return shape, other, draw(st.integers(0, 2**31)), draw(st.booleans()), draw(st.booleans())


def laid_out(rng, shape, kind, awkward):
    """An array of this shape, whose memory is permuted, stepped and offset where `awkward`."""
    if not awkward or not shape:
        return values(rng, shape, kind)
    order = rng.permutation(len(shape))
    steps = rng.integers(1, 3, len(shape))
    base = values(rng, tuple(int(shape[o] * steps[o] + 1) for o in order), kind)
    cut = base[tuple(slice(1, 1 + shape[o] * steps[o], steps[o]) for o in order)]
    return cut.transpose(np.argsort(order))


@SETTINGS
@given(geometries(), st.sampled_from(DTYPES))
def test_any_geometry(bench, geometry, kind):
    shape, other, seed, awkward, swap = geometry
    rng = np.random.default_rng(seed)
    x, y = laid_out(rng, shape, kind, awkward), laid_out(rng, other, kind, awkward)
    if swap:
        x, y = y, x
    add = bench.expression("x + y", "x", "y")
    with np.errstate(all="ignore"):
        expected = x + y
    np.testing.assert_array_equal(bench.down(add(bench.strided(x), bench.strided(y))), expected)


@SETTINGS
@given(geometries(), st.sampled_from([np.float32, np.int64, np.bool_, np.float16]))
def test_writing_into_any_geometry_leaves_the_rest_alone(bench, geometry, kind):
    shape, other, seed, awkward, _ = geometry
    rng = np.random.default_rng(seed)
    memory = values(rng, 4 * max(1, int(np.prod(shape, dtype=int))) + 7, kind)
    expected = memory.copy()
    y = laid_out(rng, other, kind, awkward)
    root = bench.up(memory)
    strides = np.cumprod([1, *[s * 1 for s in reversed(shape)]])[:-1][::-1] * 2 if shape else []
    strides = tuple(int(s) for s in strides)
    window = np.lib.stride_tricks.as_strided(expected[3:], shape, tuple(s * memory.itemsize for s in strides))
    target = bench.backend.view(root, shape, strides, 3)
    multiply = bench.expression("x * y", "x", "y")
    assert multiply(target, bench.strided(y), out=target) is target
    window[...] = window * y
    np.testing.assert_array_equal(bench.down(root), expected)


@pytest.mark.parametrize("kind", DTYPES)
def test_every_pair_of_dtypes_converts_as_numpy(bench, kind):
    rng = np.random.default_rng(1)
    x = values(rng, (37,), kind)
    for target in DTYPES:
        made = bench.backend.cast(bench.up(x), D.of_numpy(np.dtype(target)))
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(
                bench.down(made),
                x.astype(np.int64).astype(target)
                if kind in (np.float32, np.float16) and target in (np.uint8, np.int8)
                else x.astype(target),
            )


def test_floats_become_integers_by_saturation(bench):
    x = np.array([3e9, -3e9, np.nan, np.inf, -np.inf, 2147483520.0, -1.9, 1.9], np.float32)
    made = bench.down(bench.backend.cast(bench.up(x), D.int32))
    most = 2**31 - 1
    assert made.tolist() == [most, -most - 1, 0, most, -most - 1, 2147483520, -1, 1]


def test_nan_and_subnormals_are_true(bench):
    x = np.array([0.0, -0.0, np.nan, 1e-40, np.inf], np.float32)
    assert bench.down(bench.backend.cast(bench.up(x), D.bool_)).tolist() == [False, False, True, True, True]


def test_numbers_are_parameters_and_never_in_the_text(bench):
    add = bench.expression("x + a", "x", "a")
    x = bench.up(np.zeros(8, np.float32))
    before = bench.backend.device.pipelines
    seen = [float(bench.down(add(x, v))[0]) for v in (1, 2.5, -3.0, np.inf, 1e39, -1e39)]
    assert seen == [1, 2.5, -3, np.inf, np.inf, -np.inf]
    assert np.isnan(bench.down(add(x, float("nan")))).all()
    assert bench.backend.device.pipelines <= before + 1


def test_integers_that_do_not_fit_are_refused(bench):
    add = bench.expression("x + a", "x", "a")
    x = bench.up(np.zeros(4, np.int64))
    assert bench.down(add(x, 2**31 - 1)).tolist() == [2**31 - 1] * 4
    with pytest.raises(OverflowError, match="32 bits"):
        add(x, 2**31)
    with pytest.raises(OverflowError, match=r"2147483648 does not fit in 32 bits.*int64"):
        bench.up(np.array([1, 2**31]))


def test_dtypes_that_are_only_stored(bench):
    for kind in (np.float64, np.complex64, np.complex128):
        x = (np.arange(24).reshape(4, 6) * (1 + 2**-30)).astype(kind)
        turned = bench.strided(x.T[1:, ::2])
        assert bench.down(turned).dtype == kind
        np.testing.assert_array_equal(bench.down(turned), x.T[1:, ::2])
        np.testing.assert_array_equal(bench.down(bench.backend.contiguous(turned)), x.T[1:, ::2])
        with pytest.raises(TypeError, match=f"WGSL has no {np.dtype(kind).name}"):
            bench.expression("x + 1", "x")(turned)


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2), ()])
def test_empty_and_0d(bench, shape):
    x = np.ones(shape, np.float32)
    made = bench.down(bench.expression("x * 2", "x")(bench.up(x)))
    assert made.shape == shape
    np.testing.assert_array_equal(made, x * 2)


def test_shapes_that_do_not_broadcast(bench):
    add = bench.expression("x + y", "x", "y")
    with pytest.raises(ValueError, match="broadcast"):
        add(bench.up(np.zeros(3, np.float32)), bench.up(np.zeros(4, np.float32)))


def test_overlapping_input_is_read_before_it_is_overwritten(bench):
    x = np.arange(64, dtype=np.float32)
    root = bench.up(x)
    head, tail = bench.backend.view(root, (63,), (1,), 0), bench.backend.view(root, (63,), (1,), 1)
    bench.expression("x + y", "x", "y")(tail, head, out=tail)
    expected = x.copy()
    expected[1:] += x[:-1]
    np.testing.assert_array_equal(bench.down(root), expected)


def test_transposed_inputs_give_a_transposed_result(bench):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    made = bench.expression("x + x", "x")(bench.strided(x.T))
    assert made.strides == (1, 4) and made.shape == (4, 3)
    np.testing.assert_array_equal(bench.down(made), 2 * x.T)


def test_mixed_operands_of_where(bench):
    rng = np.random.default_rng(0)
    c = rng.random((3, 1, 5)) > 0.5
    x = rng.standard_normal((4, 5)).astype(np.float32)
    made = bench.down(bench.op("where")(bench.up(c), bench.up(x), bench.up(np.float32(7))))
    np.testing.assert_array_equal(made, np.where(c, x, np.float32(7)))


def test_integer_division_and_shifts(bench):
    x, y = (a.ravel().astype(np.int32) for a in np.meshgrid(np.arange(-9, 10), [-4, -3, -1, 1, 2, 7]))
    for text, expected in {
        "x // y": x // y,
        "x % y": x % y,
        "fmod(x, y)": np.fmod(x, y),
        "x << (y % 40)": np.where(y % 40 < 32, x << (y % 40), 0),
        "x >> (y % 40)": np.where(y % 40 < 32, x >> np.minimum(y % 40, 31), np.where(x < 0, -1, 0)),
        "x ** abs(y)": x ** abs(y),
    }.items():
        made = bench.down(bench.expression(text, "x", "y")(bench.up(x), bench.up(y)))
        np.testing.assert_array_equal(made, expected.astype(np.int32), err_msg=text)


def test_small_integers_wrap(bench):
    x = np.array([250, 255, 0, 3], np.uint8)
    assert bench.down(bench.expression("x + 10", "x")(bench.up(x))).tolist() == [4, 9, 10, 13]
    y = np.array([127, -128], np.int8)
    assert bench.down(bench.expression("x + 1", "x")(bench.up(y))).tolist() == [-128, -127]


def test_numbers_wrap_to_small_integers(bench):
    for kind, number, same in ((np.uint8, 257, 1), (np.int8, 255, -1), (np.int16, -65535, 1), (np.uint16, -1, 65535)):
        x = bench.up(np.array([same, 5], kind))
        assert bench.down(bench.op("eq")(x, number)).tolist() == [True, False]
    assert bench.down(bench.op("clamp_numbers")(bench.up(np.array([200], np.uint8)), 0, 300)).tolist() == [200]


def test_the_sign_of_zero_is_kept(bench):
    x = bench.up(np.ones(2, np.float32))
    for number in (0.0, -0.0, 0.0):
        assert np.signbit(bench.down(bench.op("mul")(x, number))).tolist() == [np.signbit(number)] * 2


def test_many_dimensions(bench):
    x = np.arange(2**8, dtype=np.float32).reshape((2,) * 8).transpose(7, 5, 3, 1, 6, 4, 2, 0)
    y = np.arange(2**8, dtype=np.float32).reshape((2,) * 8).transpose(0, 2, 1, 3, 5, 4, 7, 6)
    made = bench.down(bench.expression("x - y", "x", "y")(bench.strided(x), bench.strided(y)))
    np.testing.assert_array_equal(made, x - y)


def test_more_workgroups_than_a_dimension_holds(bench):
    n = 65_536 * 256 + 5
    x = bench.backend.full((n,), 3, D.float32)
    made = bench.expression("x + 1", "x")(x)
    tail = bench.backend.view(made, (9,), (1,), n - 9)
    assert bench.down(tail).tolist() == [4.0] * 9
    total = bench.op("sum")(made, (0,), False)
    assert float(bench.down(total)) == pytest.approx(4.0 * n, rel=1e-6)


def test_same_bits_twice(bench):
    rng = np.random.default_rng(5)
    x = bench.up(rng.standard_normal((300, 33)).astype(np.float32))
    f = bench.expression("sin(x) * exp(x) + erf(x)", "x")
    np.testing.assert_array_equal(bench.down(f(x)).view(np.uint32), bench.down(f(x)).view(np.uint32))
