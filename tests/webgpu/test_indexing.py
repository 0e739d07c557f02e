"""Moving elements by integer tensors, against numpy; indices out of range; sums that are the same twice."""

import numpy as np
import pytest

from tapescope.engine import dtypes as D
from tapescope.engine.ops.table import OPS


def cpu(name):
    return OPS[name].cpu


def check(bench, name, made, want):
    np.testing.assert_allclose(
        bench.down(made).astype(np.float64),
        want.astype(np.float64),
        atol=2e-2 if want.dtype == np.float16 else 1e-5,
        err_msg=name,
    )
    assert bench.down(made).dtype == want.dtype


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.bool_, np.float16], ids=lambda k: k.__name__)
@pytest.mark.parametrize(
    ("shape", "order"), [((7,), None), ((5, 6), None), ((5, 6), (1, 0)), ((3, 4, 5), (1, 2, 0))], ids=str
)
def test_along_a_dimension(bench, kind, shape, order):
    rng = np.random.default_rng(0)

    def make(shape):
        return rng.integers(-3, 4, shape).astype(kind)

    x = make(shape)
    x = x.transpose(order) if order else x
    a = bench.strided(x)
    for dim in range(x.ndim):
        index = rng.integers(0, x.shape[dim], 9)
        check(
            bench, "index_select", bench.op("index_select")(a, bench.up(index), dim), cpu("index_select")(x, index, dim)
        )
        sizes = list(x.shape)
        sizes[dim] = 3
        places = rng.integers(0, x.shape[dim], sizes)
        check(bench, "gather", bench.op("gather")(a, bench.up(places), dim), cpu("gather")(x, places, dim))
        source = make(tuple(sizes))
        once = np.argsort(rng.standard_normal(sizes), dim)
        check(
            bench,
            "scatter",
            bench.op("scatter")(a, bench.up(once), bench.up(source), dim),
            cpu("scatter")(x, once, source, dim),
        )
        if kind is not np.bool_:
            made = bench.op("scatter_add")(a, bench.up(places), bench.up(source), dim)
            check(bench, "scatter_add", made, cpu("scatter_add")(x, places, source, dim))
            rows = make((*x.shape[:dim], 9, *x.shape[dim + 1 :]))
            made = bench.op("index_add")(a, bench.up(index), bench.up(rows), dim)
            check(bench, "index_add", made, cpu("index_add")(x, index, rows, dim))
        check(bench, "cat", bench.op("cat")([a] * 30, dim), np.concatenate([x] * 30, dim))


def patterns(rng):
    return [
        (rng.integers(-4, 4, (7,)),),
        (None, rng.integers(0, 5, (2, 3)), rng.integers(0, 6, (3,))),
        (rng.integers(0, 4, (2,)), None, rng.integers(0, 6, (2,))),
        (rng.integers(0, 4, (2,)), rng.integers(0, 5, (2,)), rng.integers(0, 6, (2,)), rng.integers(0, 3, (2,))),
        (rng.integers(0, 4, (0,)),),
    ]


@pytest.mark.parametrize("number", range(5))
def test_by_several_tensors(bench, number):
    rng = np.random.default_rng(number)
    x = rng.standard_normal((4, 5, 6, 3)).astype(np.float32)
    index = patterns(rng)[number]
    on_device = tuple(None if i is None else bench.up(i) for i in index)
    want = cpu("index")(x, index)
    check(bench, "index", bench.op("index")(bench.up(x), on_device), want)
    values = rng.standard_normal(want.shape).astype(np.float32)
    for given in (values, np.float32(2)):
        for accumulate in (True, False):
            made = bench.op("index_put")(bench.up(x), bench.up(given), on_device, accumulate)
            check(bench, "index_put", made, cpu("index_put")(x, given, index, accumulate))


def test_the_last_of_several_writes_counts(bench):
    x = np.zeros((3, 2), np.float32)
    index, values = np.array([1, 1, 0, 1]), np.arange(8, dtype=np.float32).reshape(4, 2)
    for _ in range(3):
        made = bench.down(bench.op("index_put")(bench.up(x), bench.up(values), (bench.up(index),), False))
        assert made.tolist() == [[4, 5], [6, 7], [0, 0]]


def test_sums_by_place_are_the_same_twice(bench):
    rng = np.random.default_rng(0)
    for n in (3000, 20_000):  # chains found on the device, and by the host's sort
        source, index = rng.standard_normal((n, 4)).astype(np.float32), rng.integers(0, 50, n)
        zero = np.zeros((50, 4), np.float32)
        one, two = (
            bench.down(bench.op("index_add")(bench.up(zero), bench.up(index), bench.up(source), 0)) for _ in range(2)
        )
        np.testing.assert_array_equal(one.view(np.uint32), two.view(np.uint32))
        np.testing.assert_allclose(
            one, cpu("index_add")(zero.astype(np.float64), index, source.astype(np.float64), 0), atol=1e-3
        )


def test_loss_of_classes(bench):
    rng = np.random.default_rng(0)
    logs, weight = rng.standard_normal((6, 10)).astype(np.float32), rng.random(10).astype(np.float32)
    target = np.array([1, 2, -100, 9, 0, 3])
    for kind in (np.int64, np.uint8):
        t = np.where(target < 0, 4, target).astype(kind) if kind is np.uint8 else target
        for w in (None, weight):
            made = bench.op("nll_loss")(bench.up(logs), bench.up(t), None if w is None else bench.up(w), -100)
            check(bench, "nll_loss", made, cpu("nll_loss")(logs, t, w, -100))


def test_true_elements_in_order(bench):
    rng = np.random.default_rng(0)
    for shape in ((5,), (40, 31), (3, 4, 5), (2000,), (0, 3), (2, 2, 2, 2)):
        x = rng.random(shape) > 0.7
        made = bench.down(bench.op("nonzero")(bench.up(x)))
        np.testing.assert_array_equal(made, np.argwhere(x))
        assert made.dtype == np.int64
    x = np.array([[0.0, np.nan], [-0.0, 2.0]], np.float32)
    np.testing.assert_array_equal(bench.down(bench.op("nonzero")(bench.strided(x.T))), np.argwhere(x.T))


@pytest.mark.parametrize(
    "call",
    [
        lambda b, x: b.op("index_select")(x, b.up(np.array([4])), 0),
        lambda b, x: b.op("gather")(x, b.up(np.array([[0, -5]])), 1),
        lambda b, x: b.op("index")(x, (b.up(np.array([0, 4])),)),
        lambda b, x: b.op("index_put")(x, b.up(np.float32(1)), (b.up(np.array([-5])),), True),
        lambda b, x: b.op("scatter_add")(x, b.up(np.array([[9, 0]])), b.up(np.ones((1, 2), np.float32)), 1),
    ],
)  # fmt: skip
def test_an_index_out_of_range(bench, call, monkeypatch):
    """Told at once where the indices came from the host, and at the next read where the device computed them."""
    x = bench.up(np.ones((4, 4), np.float32))
    with pytest.raises((IndexError, RuntimeError), match=r"index -?\d is out of bounds for dimension with size 4$"):
        call(bench, x)
    up = bench.up

    def computed(array, dtype=None):
        made = up(array, dtype)
        return bench.backend.cast(made, made.dtype)

    monkeypatch.setattr(bench, "up", computed)
    made = call(bench, x)
    with pytest.raises(IndexError, match=r"index -?\d is out of bounds for dimension with size 4 \(in .*webgpu"):
        bench.down(made)
    assert bench.down(x).sum() == 16  # told once


def test_what_is_known_of_indices_is_forgotten_when_they_change(bench):
    x, index = bench.up(np.arange(4, dtype=np.float32)), bench.up(np.array([0, 1]))
    assert index.block.bounds == (0, 1, True)
    assert bench.down(bench.op("index_select")(x, index, 0)).tolist() == [0, 1]
    bench.expression("i + 5", "i")(index, out=index)
    assert index.block.bounds is None
    with pytest.raises(IndexError, match="out of bounds"):
        bench.down(bench.op("index_select")(x, index, 0))


def test_a_class_out_of_range(bench):
    made = bench.op("nll_loss")(bench.up(np.zeros((2, 3), np.float32)), bench.up(np.array([0, 3])), None, -100)
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        bench.down(made)


def test_writing_into_a_window(bench):
    x, source = np.arange(20, dtype=np.float32).reshape(4, 5), np.full((2, 2), -1, np.float32)
    made = bench.op("as_strided_scatter")(bench.up(x), bench.up(source), (2, 2), (10, 2), 1)
    check(bench, "as_strided_scatter", made, cpu("as_strided_scatter")(x, source, (2, 2), (10, 2), 1))


def test_small_operators(bench):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 6)).astype(np.float32)
    check(bench, "glu", bench.op("glu")(bench.up(x), 1), x[:, :3] / (1 + np.exp(-x[:, 3:])))
    odd = np.array([np.nan, np.inf, -np.inf, 2], np.float32)
    assert bench.down(bench.op("nan_to_num")(bench.up(odd), 1.0, None, -5.0)).tolist() == [
        1,
        float(np.finfo(np.float32).max),
        -5,
        2,
    ]
    mantissa, exponent = (
        bench.down(a) for a in bench.op("frexp")(bench.up(np.array([0.0, 8, -0.3, 1e-41], np.float32)))
    )
    want = np.frexp(np.array([0.0, 8, -0.3, 1e-41], np.float32))
    assert mantissa.tolist() == want[0].tolist() and exponent.tolist() == want[1].tolist()
    a, b = rng.integers(-50, 50, 40), rng.integers(-50, 50, 40)
    np.testing.assert_array_equal(bench.down(bench.op("gcd")(bench.up(a), bench.up(b))), np.gcd(a, b))
    np.testing.assert_array_equal(bench.down(bench.op("lcm")(bench.up(a), bench.up(b))), np.lcm(a, b))
    assert bench.op("nonzero")(bench.up(x)).dtype is D.int64


def test_what_is_known_of_a_whole_is_not_held_against_a_part(bench):
    ids = bench.up(np.array([1, 90, 0, 2]))
    few = bench.op("index_select")(ids, bench.up(np.array([0, 2, 3])), 0)
    copied = bench.backend.contiguous(bench.backend.view(ids, (2,), (2,), 0))
    table = bench.up(np.arange(5, dtype=np.float32))
    assert bench.down(bench.op("index_select")(table, few, 0)).tolist() == [1, 0, 2]
    assert bench.down(bench.op("index_select")(table, copied, 0)).tolist() == [1, 0]
    with pytest.raises(IndexError, match="index 90 is out of bounds"):
        bench.op("index_select")(table, ids, 0)
    _, places = bench.op("topk")(bench.up(np.arange(9, dtype=np.float32)[::-1].copy()), 0, 3, True, True)
    assert bench.down(bench.op("index_select")(table, places, 0)).tolist() == [0, 1, 2]


def test_a_window_beyond_the_memory_is_refused(bench):
    x = bench.up(np.zeros((4, 4), np.float32))
    with pytest.raises(ValueError, match="reaches beyond the 16 elements"):
        bench.op("as_strided_scatter")(x, bench.up(np.ones((2, 2), np.float32)), (2, 2), (200, 200), 0)
