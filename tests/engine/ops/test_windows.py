"""Convolution, patches, padding, pooling, resampling, normalisation and lookup against what PyTorch computed and refused.

The values stand in tests/golden/ops/windows.json, made by make_windows.py beside it.
"""

from __future__ import annotations

import importlib.util
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from tapescope import engine as torch

FOLDER = Path(__file__).parents[2] / "golden" / "ops"
GOLDEN = json.loads((FOLDER / "windows.json").read_text())
spec = importlib.util.spec_from_file_location("golden_inputs", FOLDER / "inputs.py")
inputs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(inputs)
F = torch.nn.functional
COMPOSITE = ("conv_tbc", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "circular", "lp_pool")
"""Functions that are several nodes here or in PyTorch, under other names."""


def numbers(values):
    return [math.nan if v == "nan" else float(v) for v in values]


def close(got, values):
    return np.allclose(got.detach().numpy().reshape(-1), numbers(values), rtol=2e-6, atol=2e-6, equal_nan=True)


def run(call):
    """The results of a call, and its arguments that need a gradient."""
    space = inputs.namespace(torch)
    name, arguments = call.split("(", 1)
    args, named = eval("(lambda *a, **k: (a, k))(" + arguments, space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = eval(name, space)(*args, **named)
    leaves = [t for t in [*args, *named.values()] if isinstance(t, torch.Tensor) and t.requires_grad]
    return (list(made) if isinstance(made, tuple) else [made]), leaves


@pytest.mark.parametrize("row", GOLDEN["calls"], ids=lambda row: row["call"])
def test_as_in_pytorch(row):
    outs, leaves = run(row["call"])
    assert [[str(o.dtype).removeprefix("torch."), list(o.shape)] for o in outs] == [o[:2] for o in row["outs"]]
    for out, (_, _, values) in zip(outs, row["outs"], strict=True):
        assert close(out, values)
    if "grads" not in row:
        return
    grads = torch.autograd.grad(outs[0], leaves, inputs.weights(torch, outs[0]))
    for got, leaf, values in zip(grads, leaves, row["grads"], strict=True):
        assert got.shape == leaf.shape
        assert close(got, values)
    if not any(word in row["call"] for word in COMPOSITE):
        assert outs[0].grad_fn.name() == row["node"]


@pytest.mark.parametrize(("call", "kind", "message"), GOLDEN["refused"], ids=[r[0] for r in GOLDEN["refused"]])
def test_refused_as_in_pytorch(call, kind, message):
    with pytest.raises(Exception) as caught:
        run(call)
    assert (type(caught.value).__name__, str(caught.value).splitlines()[0]) == (kind, message)


# -- what no golden value says --------------------------------------------------------------------


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_large_convolutions_are_sums_of_products(groups, stride):
    """Images whose patches are copied in several blocks, against the definition."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 6, 90, 85, dtype=torch.float64, generator=generator)
    w = torch.randn(12, 6 // groups, 5, 3, dtype=torch.float64, generator=generator)
    got = F.conv2d(x, w, None, stride, (2, 1), 1, groups).numpy()
    padded = np.pad(x.numpy(), ((0, 0), (0, 0), (2, 2), (1, 1)))
    wide = np.lib.stride_tricks.sliding_window_view(padded, (5, 3), (2, 3))[:, :, ::stride, ::stride]
    wide = wide.reshape(3, groups, 6 // groups, *wide.shape[2:])
    want = np.einsum("ngchwkl,gockl->ngohw", wide, w.numpy().reshape(groups, 12 // groups, 6 // groups, 5, 3))
    assert np.allclose(got, want.reshape(got.shape))


def test_the_transposed_convolution_is_the_transpose():
    """<conv(x), y> = <x, conv_transpose(y)>, for blocks of images and single rows alike."""
    generator = torch.Generator().manual_seed(0)
    for channels, groups in ((3, 1), (4, 2), (4, 4)):
        w = torch.randn(8, channels // groups, 3, 3, dtype=torch.float64, generator=generator)
        x = torch.randn(2, channels, 64, 65, dtype=torch.float64, generator=generator)
        y = torch.randn(2, 8, 32, 33, dtype=torch.float64, generator=generator)
        numbers_ = {"stride": 2, "padding": 1, "groups": groups}
        there = (F.conv2d(x, w, **numbers_) * y).sum()
        back = (F.conv_transpose2d(y, w, output_padding=(1, 0), **numbers_) * x).sum()
        assert torch.allclose(there, back)


def test_convolution_can_be_differentiated_thrice():
    x = torch.randn(1, 2, 4, dtype=torch.float64, requires_grad=True)
    w = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
    out = (F.conv1d(x, w) ** 2).sum()
    (dx,) = torch.autograd.grad(out, x, create_graph=True)
    (dw,) = torch.autograd.grad((dx**2).sum(), w, create_graph=True)
    assert torch.autograd.grad(dw.sum(), x)[0].abs().sum() > 0


def test_empty_batches_go_through():
    x = torch.zeros(0, 3, 8, 8, requires_grad=True)
    w = torch.ones(4, 3, 3, 3, requires_grad=True)
    out = F.avg_pool2d(F.max_pool2d(F.conv2d(x, w), 2), 3)
    assert out.shape == (0, 4, 1, 1)
    out.sum().backward()
    assert x.grad.shape == x.shape
    assert not w.grad.any()


def test_integers_and_halves_are_convolved():
    x = torch.arange(16).reshape(1, 1, 4, 4)
    assert F.conv2d(x, torch.ones(1, 1, 2, 2, dtype=torch.int64)).tolist()[0][0][0] == [10, 14, 18]
    half = F.conv2d(torch.ones(1, 64, 9, 9, dtype=torch.float16), torch.ones(1, 64, 3, 3, dtype=torch.float16))
    assert half.dtype is torch.float16
    assert half.unique().tolist() == [576.0]


def test_a_maximum_is_found_where_windows_overlap_the_end():
    x = torch.full((1, 1, 5), -3.0)
    values, index = F.max_pool1d(x, 2, 2, 1, ceil_mode=True, return_indices=True)
    assert values.tolist() == [[[-3.0, -3.0, -3.0]]]
    assert index.tolist() == [[[0, 1, 3]]]


def test_max_pool_and_unpool_are_inverse():
    x = torch.randn(2, 3, 6, 8)
    values, index = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(values, index, 2)
    assert torch.equal(F.max_pool2d(torch.where(back != 0, back, -1e9), 2), values)
    assert torch.equal(back[back != 0], x[back != 0])


def test_infinities_stay_in_their_windows():
    x = torch.arange(7.0).reshape(1, 1, 7)
    x[..., 0] = float("inf")
    assert F.adaptive_avg_pool1d(x, 3).tolist()[0][0] == [float("inf"), 3.0, 5.0]
    assert F.pad(x, (2, 0), mode="reflect").isinf().tolist()[0][0] == [False, False, True, *[False] * 6]


def test_running_statistics_move_and_are_used():
    x = torch.tensor([[1.0, 10.0], [3.0, 30.0]])
    mean, var = torch.zeros(2), torch.ones(2)
    F.batch_norm(x, mean, var, training=True, momentum=0.5)
    assert mean.tolist() == [1.0, 10.0]
    assert var.tolist() == pytest.approx([1.5, 100.5])
    out = F.batch_norm(x, mean, var)
    assert torch.allclose(out, (x - mean) / (var + 1e-5).sqrt())


def test_statistics_of_large_numbers_keep_their_digits():
    x = torch.randn(4, 2000, generator=torch.Generator().manual_seed(0)) + 1e4
    y = F.layer_norm(x, (2000,))
    assert y.mean(1).abs().max() < 1e-3
    assert (y.std(1, correction=0) - 1).abs().max() < 1e-3


def test_kernels_and_formulas_of_norms_agree():
    """The fused kernels of the CPU against the formulas that other devices and transforms run."""
    x, w, b = torch.randn(3, 4, 5), torch.randn(4), torch.randn(4)
    for function in (
        lambda t: F.group_norm(t, 2, w, b),
        lambda t: F.layer_norm(t, (4, 5), torch.outer(w, torch.ones(5))),
        lambda t: F.batch_norm(t, None, None, w, b, True),
        lambda t: F.batch_norm(t, b * b, w * w + 1, w, b),
    ):
        want = function(x)
        got = torch.vmap(lambda _, function=function: function(x))(torch.zeros(2))[0]
        assert torch.allclose(got, want, atol=1e-5)


def test_bags_give_what_their_rows_give():
    weight = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    numbers_ = torch.tensor([0, 5, 5, 2, 1, 0])
    offsets = torch.tensor([0, 2, 2, 5])
    for mode, reduce in (("sum", torch.sum), ("mean", torch.mean), ("max", torch.amax)):
        got = F.embedding_bag(numbers_, weight, offsets, mode=mode)
        rows = [weight[numbers_[a:b]] for a, b in ((0, 2), (2, 2), (2, 5), (5, 6))]
        want = torch.stack([reduce(r, 0) if len(r) else torch.zeros(3, dtype=torch.float64) for r in rows])
        assert torch.allclose(got, want)
        mine, theirs = (torch.autograd.grad((t**2).sum(), weight)[0] for t in (got, want))
        assert torch.allclose(mine, theirs)


def test_bags_have_their_facts():
    out, owner, sizes, rows = torch.embedding_bag(
        torch.eye(4), torch.tensor([0, 1, 1, 3]), torch.tensor([0, 2, 4]), False, 2, False, None, False, 1
    )
    assert owner.tolist() == [0, 0, 1, 1]
    assert sizes.tolist() == [1, 1, 0]
    assert rows.tolist() == [[0, 0, 0, 0], [3, 3, 3, 3], [0, 0, 0, 0]]
    assert out[2].tolist() == [0, 0, 0, 0]


def test_the_gradient_of_sampling_is_differentiated_no_further():
    x = torch.randn(1, 1, 3, 3, requires_grad=True)
    out = F.grid_sample(x, torch.zeros(1, 2, 2, 2), align_corners=False)
    (g,) = torch.autograd.grad((out**2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for aten::grid_sampler_2d_backward is not implemented"):
        g.sum().backward()


def test_attention_keeps_no_weights():
    """Only inputs are saved, whatever the length; the gradient is that of the formula."""
    q, k, v = (torch.randn(1, 2, 7, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert sum(fact["bytes"] for fact in out.grad_fn.saved_facts()) <= 3 * q.nbytes
    mask = torch.ones(7, 7, dtype=torch.bool).tril()
    formula = ((q @ k.transpose(-2, -1) / 2).masked_fill(~mask, float("-inf"))).softmax(-1) @ v
    assert torch.allclose(out, formula)
    for mine, theirs in zip(
        torch.autograd.grad(out.sum(), (q, k, v)), torch.autograd.grad(formula.sum(), (q, k, v)), strict=True
    ):
        assert torch.allclose(mine, theirs)
    assert torch.autograd.gradgradcheck(
        lambda a: F.scaled_dot_product_attention(a, a, a), (q[:, :, :3].detach().requires_grad_(),)
    )


def test_one_set_of_weights_per_example():
    """Convolution under vmap, its weights and images each shared or not, against a loop."""
    x, w = torch.randn(3, 2, 4, 6, dtype=torch.float64), torch.randn(3, 6, 2, 3, dtype=torch.float64)
    b = torch.randn(3, 6, dtype=torch.float64)

    def function(x, w, b):
        return F.conv1d(x, w, b, 2, 1, 1, 2)

    for dims in ((0, 0, 0), (0, None, None), (None, 0, None), (0, None, 0), (None, None, 0)):
        given = [t if d == 0 else t[0] for t, d in zip((x, w, b), dims, strict=True)]
        got = torch.vmap(function, dims)(*given)
        want = torch.stack(
            [function(*[t[i] if d == 0 else t for t, d in zip(given, dims, strict=True)]) for i in range(3)]
        )
        assert torch.allclose(got, want)
