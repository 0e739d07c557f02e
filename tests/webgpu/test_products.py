"""Matrix products against numpy: every transposition and alignment, stacks, bias, and split K."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SIZES = [
    (1, 1, 1), (3, 5, 7), (32, 64, 128), (128, 512, 10), (10, 128, 512), (128, 10, 512), (33, 65, 17), (64, 1000, 1), (1, 1000, 64),
    (5, 4, 2), (100, 2000, 3), (257, 12, 130), (64, 64, 64),
]  # fmt: skip


def matrix(rng, rows, cols, transposed):
    return (
        rng.standard_normal((cols, rows)).astype(np.float32).T
        if transposed
        else rng.standard_normal((rows, cols)).astype(np.float32)
    )


def close(got, want, depth):
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5 * np.sqrt(depth) + 1e-6)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_transposition(bench, rows, size):
    m, k, n = size
    rng = np.random.default_rng(0)
    for ta in (False, True):
        for tb in (False, True):
            a, b, bias = matrix(rng, m, k, ta), matrix(rng, k, n, tb), rng.standard_normal(n).astype(np.float32)
            want = a.astype(np.float64) @ b
            close(bench.down(bench.op("mm")(bench.strided(a), bench.strided(b))), want, k)
            made = bench.op("addmm")(bench.up(bias), bench.strided(a), bench.strided(b), 2, 0.5)
            close(bench.down(made), 2 * bias + 0.5 * want, k)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.tuples(st.integers(1, 70), st.integers(1, 70), st.integers(1, 70)),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 99),
)
def test_windows_of_larger_matrices(bench, size, top, left, seed):
    m, k, n = size
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((m + 4, k + 5)).astype(np.float32)[top : top + m, left : left + k]
    b = rng.standard_normal((n + 4, k + 4)).astype(np.float32)[left : left + n, top : top + k].T
    close(bench.down(bench.op("mm")(bench.strided(a), bench.strided(b))), a.astype(np.float64) @ b, k)


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 4, 5), (3, 5, 6)), ((2, 3, 8, 16), (2, 3, 16, 8)), ((2, 1, 8, 16), (1, 3, 16, 8)), ((4, 33, 7), (1, 7, 9)),
        ((2, 2, 2, 3, 4), (2, 1, 2, 4, 3)),
    ],
    ids=str,
)  # fmt: skip
def test_stacks(bench, rows, shapes):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in shapes)
    close(bench.down(bench.op("bmm")(bench.up(a), bench.up(b))), a @ b, shapes[0][-1])
    close(
        bench.down(
            bench.op("bmm")(bench.up(a), bench.strided(np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2)))
        ),
        a @ b,
        20,
    )


def test_more_products_than_a_dimension_of_a_launch(bench):
    a = np.random.default_rng(0).integers(-3, 3, (66_000, 2, 2)).astype(np.float32)
    np.testing.assert_array_equal(bench.down(bench.op("bmm")(bench.up(a), bench.up(a))), a @ a)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.bool_])
def test_whole_numbers_are_exact(bench, rows, kind):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (13, 40)).astype(kind), rng.integers(0, 2, (40, 9)).astype(kind)
    np.testing.assert_array_equal(bench.down(bench.op("mm")(bench.up(a), bench.up(b))), a @ b)


def test_half_precision_accumulates_in_single(bench):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((16, 512), (512, 8)))
    want = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16)
    np.testing.assert_allclose(bench.down(bench.op("mm")(bench.up(a), bench.up(b))), want, rtol=2e-3, atol=2e-2)


def test_vectors(bench, rows):
    rng = np.random.default_rng(0)
    a, x = rng.standard_normal((30, 77)).astype(np.float32), rng.standard_normal(77).astype(np.float32)
    close(bench.down(bench.op("mv")(bench.up(a), bench.up(x))), a @ x, 77)
    close(bench.down(bench.op("dot")(bench.up(x), bench.up(x))), x @ x, 77)


def test_nothing_to_multiply(bench):
    zero = bench.op("mm")(bench.up(np.zeros((3, 0), np.float32)), bench.up(np.zeros((0, 4), np.float32)))
    assert bench.down(zero).tolist() == [[0] * 4] * 3
    bias = bench.op("addmm")(
        bench.up(np.ones(4, np.float32)),
        bench.up(np.zeros((3, 0), np.float32)),
        bench.up(np.zeros((0, 4), np.float32)),
        2,
        1,
    )
    assert bench.down(bias).tolist() == [[2] * 4] * 3
    assert bench.down(
        bench.op("mm")(bench.up(np.zeros((0, 3), np.float32)), bench.up(np.zeros((3, 4), np.float32)))
    ).shape == (0, 4)


def test_a_bias_that_is_not_counted_is_not_read(bench):
    nan = bench.up(np.full(4, np.nan, np.float32))
    a = bench.up(np.ones((3, 2), np.float32))
    made = bench.op("addmm")(nan, a, bench.up(np.ones((2, 4), np.float32)), 0, 3)
    assert bench.down(made).tolist() == [[6] * 4] * 3


def test_split_sums_are_the_same_twice(bench, rows):
    rng = np.random.default_rng(0)
    a, b = (
        bench.up(rng.standard_normal((4, 5000)).astype(np.float32)),
        bench.up(rng.standard_normal((5000, 4)).astype(np.float32)),
    )
    one, two = (bench.down(bench.op("mm")(a, b)).view(np.uint32) for _ in range(2))
    np.testing.assert_array_equal(one, two)
