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


def test_what_cannot_be_split_is_refused_with_a_sentence(bench, large):
    with pytest.raises(RuntimeError, match=r"137 MiB does not fit into one binding .*slices.*device='cpu'"):
        bench.op("mm")(large, bench.up(np.ones((COLS, 1), np.float32)))
    with pytest.raises(RuntimeError, match="argmax over a dimension that is too large for one binding"):
        bench.op("argmax")(bench.backend.view(large, (ROWS * COLS,), (1,), 0), 0, False)
