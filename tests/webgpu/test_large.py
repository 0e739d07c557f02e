"""Tensors above what one binding may hold: 128 MiB."""

import numpy as np
import pytest

from tapescope.engine import dtypes as D

ROWS, COLS = 36_000, 1_000  # 137 MiB of float32


@pytest.fixture(scope="module")
def large(shared):
    if shared.device.gpu.limits.binding_bytes != 128 << 20:
        pytest.skip("the limit is another")
    x = shared.full((ROWS, COLS), 2, D.float32)
    yield x
    del x
    shared.device.flush()
    shared.device.pool.empty()


def ends(bench, array, at=3):
    """A few elements from both ends of a flat array."""
    n = array.size
    first = bench.backend.view(array, (at,), (1,), 0)
    last = bench.backend.view(array, (at,), (1,), n - at)
    return [*bench.down(first).tolist(), *bench.down(last).tolist()]


def test_pointwise(bench, large):
    assert large.block.windows is not None
    made = bench.expression("x * y + 1", "x", "y")(large, bench.up(np.arange(COLS, dtype=np.float32)))
    assert ends(bench, made) == [1, 3, 5, 2 * (COLS - 3) + 1, 2 * (COLS - 2) + 1, 2 * (COLS - 1) + 1]


def test_in_place(bench, large):
    bench.expression("x + 1", "x")(large, out=large)
    assert ends(bench, large) == [3.0] * 6
    bench.expression("x - 1", "x")(large, out=large)
    assert ends(bench, large) == [2.0] * 6


def test_reductions(bench, large):
    assert float(bench.down(bench.op("sum")(large, (0, 1), False))) == pytest.approx(2.0 * ROWS * COLS, rel=1e-6)
    assert float(bench.down(bench.op("mean")(large, (0, 1), False))) == pytest.approx(2.0, rel=1e-6)
    rows = bench.op("sum")(large, (1,), False)
    assert rows.shape == (ROWS,) and (bench.down(rows) == 2.0 * COLS).all()
    assert (bench.down(bench.op("amax")(large, (0,), True)) == 2).all()


def test_copies_and_casts(bench, large):
    copy = bench.backend.clone(large)
    assert copy.block is not large.block and ends(bench, copy) == [2.0] * 6
    whole = bench.backend.cast(large, D.int32)
    assert ends(bench, whole) == [2] * 6


def test_softmax_goes_by_rows(bench, large):
    made = bench.op("softmax")(large, 1)
    np.testing.assert_allclose(ends(bench, made), 1 / COLS, rtol=1e-5)


def test_products(bench, large):
    column = bench.up(np.ones((COLS, 1), np.float32))
    made = bench.op("mm")(large, column)
    assert made.shape == (ROWS, 1) and (bench.down(made) == 2 * COLS).all()
    turned = bench.backend.view(large, (COLS, ROWS), (1, COLS), 0)
    long = bench.up((np.arange(ROWS) % 3 == 0).astype(np.float32).reshape(ROWS, 1))
    assert (bench.down(bench.op("mm")(turned, long)) == 2 * ROWS / 3).all()
    row = bench.up(np.ones((3, COLS), np.float32))
    assert (bench.down(bench.op("mm")(row, turned)) == 2 * COLS).all()
    bias = bench.up(np.arange(ROWS, dtype=np.float32).reshape(ROWS, 1))
    np.testing.assert_array_equal(
        bench.down(bench.op("addmm")(bias, large, column, 2.0, 0.5)), COLS + 2 * np.arange(ROWS)[:, None]
    )


def test_a_product_larger_than_a_binding(bench):
    a = np.arange(6000, dtype=np.float32).reshape(6000, 1) % 7
    made = bench.op("mm")(bench.up(a), bench.up(np.full((1, 6000), 3, np.float32)))
    assert made.shape == (6000, 6000) and made.block.windows is not None
    middle = bench.backend.view(made, (6000,), (6000,), 17)
    np.testing.assert_array_equal(bench.down(middle), 3 * a[:, 0])


def test_places_of_extremes(bench, large):
    line = bench.backend.view(large, (ROWS * COLS,), (1,), 0)
    for name, value, at in (("argmax", 5, 35_999_990), ("argmin", 1, 35_999_991), ("argmax", float("nan"), 35_999_992)):
        spot = bench.backend.view(large, (1,), (1,), at)
        bench.backend.copy(spot, bench.up(np.float32([value])))
        assert int(bench.down(bench.op(name)(line, 0, False))) == at
        bench.backend.copy(spot, bench.up(np.float32([2])))
    assert int(bench.down(bench.op("argmax")(line, 0, False))) == 0
    assert (bench.down(bench.op("argmax")(large, 1, False)) == 0).all()


def test_a_part_of_a_large_tensor_is_as_any_other(bench, large):
    part = bench.backend.view(large, (10, COLS), (COLS, 1), (ROWS - 10) * COLS)
    made = bench.op("index_select")(part, bench.up(np.array([9, 0])), 0)
    assert bench.down(made).tolist() == [[2.0] * COLS] * 2


def test_what_no_kernel_splits_runs_on_the_cpu(bench, large):
    with pytest.warns(RuntimeWarning, match="cumsum runs on the CPU because an operand is larger than a binding"):
        made = bench.op("cumsum")(large, 1)
    assert bench.down(bench.backend.view(made, (3,), (1,), 0)).tolist() == [2, 4, 6]
