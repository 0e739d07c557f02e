"""Images in other sizes and at coordinates, distances of pairs, batch norm and sums with products: values and gradients beside the CPU,
and nothing falls back."""

import itertools
import math
import warnings

import numpy as np
import pytest

from tapescope import engine as torch

F = torch.nn.functional


@pytest.fixture(autouse=True)
def device(need_vulkan):
    need_vulkan()
    torch.manual_seed(0)


def both(function, *inputs, tolerance=1e-4):
    """Run on the CPU and on the device, and compare results and gradients."""
    here, there = [], []
    for x in inputs:
        here.append(x.clone().requires_grad_())
        there.append(x.to("webgpu").requires_grad_())
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*runs on the CPU")
        want, got = function(*here), function(*there)
        assert got.device.type == "webgpu" and got.dtype is want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got.detach().cpu().numpy(), want.detach().numpy(), rtol=tolerance, atol=tolerance)
        g = torch.randn(want.shape)
        want.backward(g)
        got.backward(g.to("webgpu"))
    for a, b in zip(here, there):
        np.testing.assert_allclose(b.grad.cpu().numpy(), a.grad.numpy(), rtol=10 * tolerance, atol=10 * tolerance)


@pytest.mark.parametrize(
    "mode, align, antialias",
    [
        ("nearest", None, False), ("nearest-exact", None, False), ("bilinear", False, False), ("bilinear", True, False),
        ("bicubic", False, False), ("bilinear", False, True), ("bicubic", False, True), ("area", None, False),
    ],
)  # fmt: skip
def test_interpolate_images(mode, align, antialias):
    x = torch.randn(2, 3, 7, 9)
    for size in ((5, 13), (14, 18)):
        both(lambda v, s=size: F.interpolate(v, size=s, mode=mode, align_corners=align, antialias=antialias), x)


def test_interpolate_lines_and_volumes():
    both(lambda v: F.interpolate(v, scale_factor=2.3, mode="linear"), torch.randn(2, 3, 9).transpose(0, 1))
    both(lambda v: F.interpolate(v, scale_factor=0.6, mode="trilinear"), torch.randn(1, 2, 5, 6, 7))


def test_interpolate_pixels():
    x = (torch.rand(1, 3, 8, 8) * 255).to(torch.uint8)
    for mode, off in (("nearest", 0), ("bilinear", 1), ("bicubic", 1)):
        want = F.interpolate(x, size=(5, 11), mode=mode).to(torch.int32)
        got = F.interpolate(x.to("webgpu"), size=(5, 11), mode=mode)
        assert got.dtype is torch.uint8
        assert (got.cpu().to(torch.int32) - want).abs().max() <= off


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(mode):
    x, grid = torch.randn(2, 3, 7, 9), torch.rand(2, 4, 5, 2) * 3 - 1.5
    for padding, align in itertools.product(("zeros", "border", "reflection"), (False, True)):
        both(
            lambda v, w, p=padding, a=align: F.grid_sample(v, w, mode=mode, padding_mode=p, align_corners=a), x, grid,
            tolerance=3e-4,
        )  # fmt: skip
    if mode != "bicubic":
        grid = torch.rand(1, 2, 3, 4, 3) * 3 - 1.5
        both(lambda v, w: F.grid_sample(v, w, mode=mode, align_corners=False), torch.randn(1, 2, 4, 5, 6), grid)


def test_a_coordinate_that_is_no_number_lies_outside():
    grid = torch.tensor([math.nan, 0.0, math.inf, 1e30]).reshape(1, 1, 2, 2).to("webgpu")
    made = F.grid_sample(torch.ones(1, 1, 4, 4, device="webgpu"), grid, align_corners=False)
    assert made.tolist() == [[[[0.0, 0.0]]]]


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.5, math.inf])
def test_distances_of_pairs(p):
    mode = "donot_use_mm_for_euclid_dist"
    both(lambda a, b: torch.cdist(a, b, p=p, compute_mode=mode), torch.randn(2, 5, 4), torch.randn(6, 4))


def test_norms_and_crosses():
    x = torch.randn(3, 4, 5)
    for order in (0, 1, 2, 3, -1, 0.5, math.inf, -math.inf):
        both(lambda v, o=order: torch.linalg.vector_norm(v, o, dim=(0, 2)), x)
    both(torch.linalg.cross, torch.randn(4, 3), torch.randn(4, 3))
    both(lambda a, b: torch.linalg.cross(a, b, dim=0), torch.randn(3, 4), torch.randn(3, 1))


def test_products_with_sums():
    a, b = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
    both(lambda x, y, z: torch.baddbmm(x, y, z, beta=0.5, alpha=2), torch.randn(2, 3, 5), a, b)
    both(lambda x, y, z: torch.addbmm(x, y, z, beta=0, alpha=2), torch.randn(3, 5), a, b)
    both(torch.addmv, torch.randn(3), torch.randn(3, 4), torch.randn(4))
    both(lambda x, y, z: torch.addr(x, y, z, beta=2), torch.randn(3, 4), torch.randn(3), torch.randn(4))
    both(torch.trace, torch.randn(4, 6))
    both(torch.vdot, torch.randn(9), torch.randn(9))


@pytest.mark.parametrize("affine", ["weight and bias", "weight", "nothing"])
def test_batch_norm(affine):
    x = torch.randn(4, 3, 5, 6) * 2 + 3
    w, b = torch.rand(3) + 0.5, torch.randn(3)

    def given(v, w, b, training):
        mean, var = torch.linspace(0, 1, 3).to(v.device), torch.linspace(1, 2, 3).to(v.device)
        out = F.batch_norm(v, mean, var, None if affine == "nothing" else w, b if "bias" in affine else None, training)
        return out + (w.sum() + b.sum()) * 0

    for training in (True, False):
        both(lambda v, w, b, t=training: given(v, w, b, t), x, w, b)
    both(lambda v: F.batch_norm(v, None, None, training=True), torch.randn(8, 3))


def test_batch_norm_moves_running_statistics():
    torch.manual_seed(0)
    x = torch.randn(16, 4, 8) * 3 + 100
    layers = [torch.nn.BatchNorm1d(4), torch.nn.BatchNorm1d(4).to("webgpu")]
    for layer in layers:
        layer(x.to(layer.weight.device))
    for name in ("running_mean", "running_var"):
        a, b = (getattr(layer, name) for layer in layers)
        np.testing.assert_allclose(b.cpu().numpy(), a.numpy(), rtol=1e-4)
