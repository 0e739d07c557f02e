"""Gradient samples of convolution, patches, padding, pooling and normalisation."""

from __future__ import annotations

from tapescope import engine as torch

from ..gradient_samples import call


def distinct(t):
    """Elements of `t` moved apart, so that no two are equal and none leads by less than a finite difference."""
    order = torch.arange(t.numel(), dtype=torch.float64)
    return t * 1e-3 + (order * 7 % t.numel()).reshape(t.shape)


def places(*shape):
    """Places in a plane of 12 elements, some of them twice."""
    count = torch.Size(shape).numel()
    return (torch.arange(count) * 5 % 12 // 2 * 2).reshape(shape)


ONE, TWO = ((2,), (1,), (1,), False, (0,), 1), ((2, 1), (1, 0), (1, 2), True, (1, 0), 2)
SAMPLES = {
    "embedding_bag": lambda t: (
        lambda w, s: call("embedding_bag", 2, "sum", False)(w, torch.tensor([0, 2, 2, 1]), torch.tensor([0, 0, 1, 1]), s)[0],
        [t(3, 2), t(4, seed=1)],
    ),
    "convolution": lambda t: (call("convolution", *TWO), [t(2, 4, 3, 4), t(4, 1, 2, 3, seed=1), t(2, seed=2)]),
    "convolution_weight": lambda t: (
        call("convolution_weight", (3,), (2,), (1,), (1,), 2), [t(2, 4, 5), t(2, 2, 3, seed=1)],
    ),
    "im2col": lambda t: (call("im2col", (2, 2), (1, 2), (1, 0), (2, 1)), [t(2, 2, 3, 4)]),
    "col2im": lambda t: (call("col2im", (3, 4), (2, 2), (1, 2), (1, 0), (2, 1)), [t(2, 8, 4)]),
    "constant_pad_nd": lambda t: (call("constant_pad_nd", (1, -1, 0, 2), 0.5), [t(2, 3, 3)]),
    "circular_pad": lambda t: (call("circular_pad", (1, -1, 2, 0)), [t(1, 2, 3, 3)]),
    "circular_pad_backward": lambda t: (call("circular_pad_backward", (1, 2), (1, 3)), [t(1, 6)]),
    "native_layer_norm": lambda t: (call("native_layer_norm", 2, 0.1), [t(2, 2, 3), t(2, 3, seed=1), t(2, 3, seed=2)]),
    "native_batch_norm": lambda t: (call("native_batch_norm", 0.1), [t(3, 2, 2), t(2, seed=1), t(2, seed=2)]),
    "native_group_norm": lambda t: (call("native_group_norm", 2, 0.1), [t(2, 4, 2), t(4, seed=1), t(4, seed=2)]),
    "batch_norm_with_statistics": lambda t: (
        lambda x, w, b: call("batch_norm_with_statistics", 0.1)(
            x, w, b, torch.tensor([0.1, 0.2], dtype=torch.float64), torch.tensor([0.5, 2.0], dtype=torch.float64)
        ),
        [t(3, 2, 2), t(2, seed=1), t(2, seed=2)],
    ),
}  # fmt: skip
for rank in (1, 2, 3):
    for mode in ("reflection", "replication"):
        pad, size = (2, 1, 1, 0, 0, 1)[: 2 * rank], (1, 2, *[3] * rank)
        padded = torch.Size([1, 2, *[3 + pad[2 * i] + pad[2 * i + 1] for i in range(rank)][::-1]])
        SAMPLES[f"{mode}_pad{rank}d"] = lambda t, name=f"{mode}_pad{rank}d", pad=pad, size=size: (
            call(name, pad), [t(*size)],
        )  # fmt: skip
        SAMPLES[f"{mode}_pad{rank}d_backward"] = lambda t, name=f"{mode}_pad{rank}d_backward", pad=pad, size=size, padded=padded: (
            call(name, pad, size), [t(*padded)],
        )  # fmt: skip
for rank in (2, 3):
    many, plane = (1,) * (rank - 2), (3, 4)
    SAMPLES |= {
        f"max_pool{rank}d_with_indices": lambda t, many=many, rank=rank: (
            lambda x: call(
                f"max_pool{rank}d_with_indices",
                (*many, 2, 3),
                (*many, 1, 2),
                (0,) * (rank - 1) + (1,),
                (1,) * rank,
                True,
            )(distinct(x))[0],
            [t(2, *many, 3, 4)],
        ),
        f"max_pool{rank}d_with_indices_backward": lambda t, many=many, rank=rank: (
            lambda g: call(f"max_pool{rank}d_with_indices_backward", (*many, 3, 4), False)(g, places(2, *many, 2, 3)),
            [t(2, *many, 2, 3)],
        ),
        f"adaptive_max_pool{rank}d": lambda t, many=many, rank=rank: (
            lambda x: call(f"adaptive_max_pool{rank}d", (*many, 2, 3))(distinct(x))[0],
            [t(2, *many, 3, 4)],
        ),
        f"max_unpool{rank}d": lambda t, many=many, rank=rank: (
            lambda x: call(f"max_unpool{rank}d", (*many, 3, 4))(x, torch.arange(6).reshape(*many, 2, 3) * 2),
            [t(*many, 2, 3)],
        ),
        f"avg_pool{rank}d": lambda t, many=many, rank=rank: (
            call(f"avg_pool{rank}d", (*many, 2, 3), (*many, 1, 2), (0,) * (rank - 1) + (1,), True, False, None),
            [t(2, *many, 3, 4)],
        ),
        f"avg_pool{rank}d_backward": lambda t, many=many, rank=rank: (
            call(
                f"avg_pool{rank}d_backward",
                (*many, 2, 3),
                (*many, 1, 2),
                (0,) * (rank - 1) + (1,),
                False,
                True,
                3,
                (*many, 3, 4),
            ),
            [t(2, *many, 2, 2)],
        ),
        f"adaptive_avg_pool{rank}d": lambda t, many=many, rank=rank: (
            call(f"adaptive_avg_pool{rank}d", (*many, 2, 3)),
            [t(2, *many, 3, 4)],
        ),
        f"adaptive_avg_pool{rank}d_backward": lambda t, many=many, rank=rank: (
            call(f"adaptive_avg_pool{rank}d_backward", (*many, 2, 3), (*many, 3, 4)),
            [t(2, *many, 2, 3)],
        ),
    }  # fmt: skipfor rank in (2, 3):
    SAMPLES[f"fractional_max_pool{rank}d"] = lambda t, rank=rank: (
        lambda x: call(f"fractional_max_pool{rank}d", (2,) * rank, (2,) * rank)(
            distinct(x), torch.full((1, 2, rank), 0.4, dtype=torch.float64)
        )[0],
        [t(1, 2, *[5] * rank)],
    )  # fmt: skip


# -- resampling -----------------------------------------------------------------------------------

NAMES = (
    "upsample_nearest", "_upsample_nearest_exact", "upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d",
    "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa",
)  # fmt: skip
for base in NAMES:
    for name in [f"{base}{n}d" for n in (1, 2, 3)] if "nearest" in base else [base]:
        rank = int(name.removesuffix("_aa")[-2])
        small, large = (2, 3, 2)[:rank], (3, 2, 4)[:rank]
        scales = (None, 1.5, None)[:rank]
        SAMPLES[name] = lambda t, name=name, small=small, large=large, scales=scales: (
            call(name, large, False, scales), [t(1, 2, *small)],
        )  # fmt: skip
        SAMPLES[name + "_backward"] = lambda t, name=name, small=small, large=large, scales=scales: (
            call(name + "_backward", large, True, scales, small), [t(1, 2, *large)],
        )  # fmt: skip
SAMPLES |= {
    "grid_sampler_2d": lambda t: (call("grid_sampler_2d", 2, 0, False), [t(1, 2, 3, 3), t(1, 2, 2, 2, seed=1)]),
    "grid_sampler_3d": lambda t: (call("grid_sampler_3d", 0, 1, True), [t(1, 2, 2, 2, 3), t(1, 2, 2, 1, 3, seed=1)]),
}


def run_only(name, *statics):
    """A function that runs a primitive whose rule refuses (test_grid_sampling.py holds it to that), and is differentiable itself."""

    def function(*inputs):
        made = call(name, *statics)(*[t.detach() for t in inputs])
        return inputs[0] + 0.0 * made[0].sum()

    return function


for rank in (2, 3):
    SAMPLES[f"grid_sampler_{rank}d_backward"] = lambda t, rank=rank: (
        run_only(f"grid_sampler_{rank}d_backward", 0, 0, False), [t(1, 1, *[1] * rank), t(1, 1, *[2] * rank), t(1, *[1] * rank, rank)],
    )  # fmt: skip
SINGLE = {"grid_sampler_2d", "grid_sampler_3d"}
