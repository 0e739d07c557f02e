"""Convolution, pooling and patches, in one to three dimensions, against the CPU's kernels."""

import itertools

import numpy as np
import pytest

from tapescope.engine.backends.webgpu import windows
from tapescope.engine.ops.table import OPS


def run(bench, name, arrays, statics):
    on_device = [None if a is None else bench.strided(a) if a.ndim else bench.up(a) for a in arrays]
    made = bench.op(name)(*on_device, *statics)
    return [bench.down(m) for m in made] if isinstance(made, tuple) else [bench.down(made)]


def check(bench, name, arrays, statics, tolerance=2e-5):
    wide = [None if a is None else a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays]
    want = OPS[name].cpu(*wide, *statics)
    made = run(bench, name, arrays, statics)
    for got, expected in zip(made, want if isinstance(want, tuple) else [want], strict=True):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=f"{name} {statics}")
    return made


CONVOLUTIONS = [
    # image, channels in and out, kernel, stride, padding, dilation, groups
    ((12,), 4, 6, (3,), (1,), (1,), (1,), 1),
    ((11,), 4, 6, (4,), (2,), (3,), (2,), 2),
    ((9, 8), 3, 5, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((9, 8), 4, 8, (3, 2), (2, 1), (0, 1), (1, 2), 4),
    ((7, 7), 8, 4, (1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((8, 8), 6, 6, (1, 1), (2, 2), (0, 0), (1, 1), 2),
    ((9, 8), 7, 3, (3, 2), (1, 1), (1, 1), (1, 1), 1),
    ((12, 9), 12, 6, (3, 3), (1, 1), (0, 2), (2, 1), 2),
    ((6, 5, 4), 5, 2, (2, 3, 2), (1, 1, 1), (1, 0, 1), (1, 1, 1), 1),
    ((5, 6, 4), 2, 3, (2, 3, 2), (1, 2, 1), (1, 0, 1), (1, 1, 1), 1),
]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolution_its_transpose_and_its_weights(bench, case):
    size, c, o, kernel, stride, padding, dilation, groups = case
    rng = np.random.default_rng(0)

    def draw(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    x, w, bias = draw(3, c, *size), draw(o, c // groups, *kernel), draw(o)
    none = (0,) * len(size)
    out = check(bench, "convolution", [x, w, bias], [stride, padding, dilation, False, none, groups])[0]
    check(
        bench, "convolution", [x.swapaxes(0, 0)[:, :, ::1], w, None], [stride, padding, dilation, False, none, groups]
    )
    g = draw(*out.shape)
    check(bench, "convolution_weight", [x, g], [kernel, stride, padding, dilation, groups], 1e-4)
    for extra in (none, tuple(s - 1 for s in stride)):
        check(bench, "convolution", [g, w, None], [stride, padding, dilation, True, extra, groups], 5e-5)


def test_images_in_several_batches(bench, monkeypatch):
    monkeypatch.setattr(windows, "PATCH_BYTES", 5000)
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((7, 2, 8, 8)).astype(np.float32), rng.standard_normal((3, 2, 3, 3)).astype(np.float32)
    numbers = [(1, 1), (1, 1), (1, 1)]
    out = check(bench, "convolution", [x, w, None], [*numbers, False, (0, 0), 1])[0]
    check(bench, "convolution", [out, w, None], [*numbers, True, (0, 0), 1])
    check(bench, "convolution_weight", [x, out], [(3, 3), *numbers, 1], 1e-4)


def test_nothing_to_convolve(bench):
    x, w = np.zeros((0, 2, 5, 5), np.float32), np.ones((3, 2, 3, 3), np.float32)
    check(bench, "convolution", [x, w, None], [(1, 1), (0, 0), (1, 1), False, (0, 0), 1])
    check(bench, "convolution_weight", [x, np.zeros((0, 3, 3, 3), np.float32)], [(3, 3), (1, 1), (0, 0), (1, 1), 1])


def test_patches_and_back(bench):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 7, 6)).astype(np.float32)
    for kernel, dilation, padding, stride in (((3, 2), (1, 1), (1, 0), (2, 1)), ((2, 2), (2, 1), (0, 1), (1, 3))):
        cols = check(bench, "im2col", [x], [kernel, dilation, padding, stride])[0]
        check(bench, "col2im", [cols], [(7, 6), kernel, dilation, padding, stride])


POOLS = [
    ((3, 4, 9, 8), (2, 2), (2, 2), (0, 0), False),
    ((3, 9, 8), (3, 2), (2, 1), (1, 1), False),
    ((2, 3, 7, 7), (3, 3), (2, 2), (1, 1), True),
    ((2, 2, 5, 6, 5), (2, 3, 2), (2, 2, 1), (1, 0, 1), True),
]


@pytest.mark.parametrize("case", POOLS, ids=str)
def test_pooling(bench, case):
    shape, kernel, stride, padding, ceil = case
    rank = len(kernel)
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, shape).astype(np.float32)  # with equal elements: the first one counts
    for dilation in ((1,) * rank, (2,) + (1,) * (rank - 1)):
        if all(d == 1 for d in dilation) or not ceil:
            values, places = check(
                bench, f"max_pool{rank}d_with_indices", [x], [kernel, stride, padding, dilation, ceil]
            )
    assert places.dtype == np.int64
    values, places = run(bench, f"max_pool{rank}d_with_indices", [x], [kernel, stride, padding, (1,) * rank, ceil])
    g = rng.standard_normal(values.shape).astype(np.float32)
    size = shape[len(shape) - rank :]
    check(bench, f"max_pool{rank}d_with_indices_backward", [g, places], [size, False])
    for include, divisor in itertools.product((True, False), (None, 5, -2)):
        numbers = [kernel, stride, padding, ceil, include, divisor]
        out = check(bench, f"avg_pool{rank}d", [x], numbers)[0]
        check(bench, f"avg_pool{rank}d_backward", [rng.standard_normal(out.shape).astype(np.float32)], [*numbers, size])


@pytest.mark.parametrize("counts", [(3, 4), (1, 1), (7, 2)])
def test_windows_of_given_number(bench, counts):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 8, 7)).astype(np.float32)
    out = check(bench, "adaptive_avg_pool2d", [x], [counts])[0]
    check(bench, "adaptive_avg_pool2d_backward", [rng.standard_normal(out.shape).astype(np.float32)], [counts, (8, 7)])
    values, places = check(bench, "adaptive_max_pool2d", [x], [counts])
    check(bench, "max_pool2d_with_indices_backward", [values, places], [(8, 7), False])


def test_nan_is_the_largest(bench):
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    x[0, 0, 0, 0] = np.nan
    values, places = run(bench, "max_pool2d_with_indices", [x], [(2, 2), (2, 2), (0, 0), (1, 1), False])
    assert np.isnan(values[0, 0, 0, 0]) and places[0, 0, 0, 0] == 0
    assert values[0, 0, 1, 1] == 15


def test_unpooling(bench):
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2) + 1
    places = np.array([[[[0, 3], [8, 15]]]])
    check(bench, "max_unpool2d", [x, places], [(4, 4)])


@pytest.mark.parametrize("multiplier", [1, 2, 3])
@pytest.mark.parametrize("stride, padding, dilation", [(1, 1, 1), (2, 0, 1), (1, 2, 2), (1, 4, 1)])
def test_depthwise(need_vulkan, multiplier, stride, padding, dilation):
    """A few output channels a group go without columns, and so does the gradient by the data where the stride is 1."""
    from tapescope import engine as torch

    need_vulkan()
    torch.manual_seed(0)
    x, w = torch.randn(2, 5, 9, 11), torch.randn(5 * multiplier, 1, 3, 3)
    results = []
    for where in ("cpu", "webgpu"):
        a, b = (t.clone().to(where).requires_grad_() for t in (x, w))
        out = torch.nn.functional.conv2d(a, b, None, stride, padding, dilation, groups=5)
        torch.manual_seed(1)
        out.backward(torch.randn(out.shape).to(where))
        results.append([t.detach().cpu().numpy() for t in (out, a.grad, b.grad)])
    for want, got in zip(*results):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    y = torch.randn(1, 4, 6).to("webgpu")
    turned = torch.nn.functional.conv_transpose1d(y, torch.ones(4, 2, 3, device="webgpu"), padding=1, groups=2)
    want = torch.nn.functional.conv_transpose1d(y.cpu(), torch.ones(4, 2, 3), padding=1, groups=2)
    np.testing.assert_allclose(turned.cpu().numpy(), want.numpy(), rtol=1e-5, atol=1e-5)
