"""Writes docs/reference/operators.md, the page of operators, from the operator table.

    python docs/make_operators.py           # write it
    python docs/make_operators.py --check   # fail where it is not up to date

What is written is found by trying: each function is called with small arguments chosen by the names of its parameters
(`VALUES`, `CALLS`); whether its result can be differentiated, and which primitives ran, is what the page says. Where no
trial succeeds, the primitives that the function's code names decide. No GPU is needed: whether the WebGPU device has a
kernel for a primitive is asked of its table of kernels.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import sys
import types
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tapescope import engine as torch
from tapescope.engine import observe
from tapescope.engine.backends.webgpu.backend import WebGPUBackend
from tapescope.engine.ops import composed
from tapescope.engine.ops.table import FUNCTIONS, OPS, Function, Op

PAGE = Path(__file__).parent / "reference" / "operators.md"

SPACES = {
    "torch": "`torch`",
    "method": "Methods of tensors only",
    "nn.functional": "`torch.nn.functional`",
    "linalg": "`torch.linalg`",
    "fft": "`torch.fft`",
    "special": "`torch.special`",
    "masked": "`torch.masked`",
    "signal.windows": "`torch.signal.windows`",
}
"""Namespaces in the order of the page; a function stands under the first of its own."""

SHAPES = ((4, 4), (6,), (2, 3, 6), (1, 4, 8, 8), (1, 4, 8, 8, 8), ())


def grid(*shape: int) -> Any:
    """Numbers between 0.2 and 0.8, no two the same, that gather a gradient."""
    n = 1
    for s in shape:
        n *= s
    return torch.linspace(0.2, 0.8, n).reshape(shape).requires_grad_()


def index(*shape: int) -> Any:
    """Zeros and ones as integers."""
    return (torch.arange(max(1, torch.zeros(shape).numel())) % 2).reshape(shape)


VALUES: dict[str, tuple[Any, ...]] = {
    "dim": (0,), "kernel_size": (2,), "n": (2,), "output_size": (2,), "M": (8,), "value": (0.5,), "eps": (1e-5,), "window_length": (8,),
    "stride": (1, (1, 1)), "align_corners": (False,), "norm_type": (2,), "interpolation_mode": (0,), "padding_mode": (0,), "momentum": (0.1,),
    "split_sizes": ([2, 2],), "dim0": (0,), "dim1": (1,), "start": (0,), "end": (1,), "length": (2,), "dimension": (0,), "step": (1,),
    "threshold": (0.5,), "groups": (2,), "exponent": (2,), "bins": (4,), "steps": (4,), "training": (True,), "num_groups": (2,),
    "pad": ((1, 1),), "p": (2,), "reduce": ("sum",), "n_fft": (4,), "k": (1,), "q": (0.5,), "chunks": (2,), "row": (3,), "col": (3,),
    "sizes": ((2, 2),), "axis0": (0,), "axis1": (1,), "destination": (1,), "shifts": (1,), "num_samples": (2,), "maxnorm": (1.0,),
    "upscale_factor": (2,), "downscale_factor": (2,), "ord": (2,), "split_size": (2,), "shape": ((2, 2),), "size": ((4, 4), 2, (2, 2)),
    "normalized_shape": ((4,), (6,)), "fill_value": (0.5,), "HxW": (64,), "N": (1,), "C": (4,), "group": (2,), "use_input_stats": (True,),
}  # fmt: skip
"""Values to try for plain parameters, by their names."""

INDEXES = {"index", "indices", "target", "targets", "boundaries"}
MASKS = {"mask", "condition"}
LISTS = {"tensors"}

CALLS: dict[str, Any] = {
    "linalg.solve_triangular": lambda f: f(grid(3, 3), grid(3, 2), upper=True),
    "nn.functional.linear": lambda f: f(grid(2, 3), grid(4, 3), grid(4)),
    "nn.functional.nll_loss": lambda f: f(grid(3, 4), index(3)),
    "nn.functional.cross_entropy": lambda f: f(grid(3, 4), index(3)),
    "nn.functional.embedding_bag": lambda f: f(index(2, 2), grid(4, 3)),
    "nn.functional.ctc_loss": lambda f: f(
        grid(6, 2, 4).log_softmax(2), torch.ones(2, 3, dtype=torch.int64), torch.tensor([6, 6]), torch.tensor([2, 1])
    ),
    "nn.functional.fold": lambda f: f(grid(1, 8, 9), (4, 4), 2),
    "nn.functional.unfold": lambda f: f(grid(1, 2, 4, 4), 2),
    "nn.functional.gaussian_nll_loss": lambda f: f(grid(3, 2), grid(3, 2), grid(3, 2)),
    "nn.functional.scaled_dot_product_attention": lambda f: f(grid(1, 2, 3, 4), grid(1, 2, 3, 4), grid(1, 2, 3, 4)),
    "nn.functional.multi_head_attention_forward": lambda f: f(
        grid(3, 1, 4), grid(3, 1, 4), grid(3, 1, 4), 4, 2, grid(12, 4), grid(12), None, None, False, 0.0, grid(4, 4), grid(4)
    ),
    "nn.functional.multi_margin_loss": lambda f: f(grid(3, 4), index(3)),
    "nn.functional.multilabel_margin_loss": lambda f: f(grid(2, 4), torch.tensor([[1, 0, -1, -1], [2, 1, -1, -1]])),
    "nn.functional.one_hot": lambda f: f(index(4)),
    "nn.functional.cosine_embedding_loss": lambda f: f(grid(3, 4), grid(3, 4), torch.ones(3)),
    "nn.functional.triplet_margin_with_distance_loss": lambda f: f(grid(3, 4), grid(3, 4), grid(3, 4)),
    "nn.functional.affine_grid": lambda f: f(grid(1, 2, 3), (1, 1, 4, 4)),
    "nn.functional.batch_norm": lambda f: f(grid(3, 4), None, None, training=True),
    "nn.functional.rrelu": lambda f: f(grid(3, 4)),
    "nn.functional.gumbel_softmax": lambda f: f(grid(3, 4)),
    "nn.functional.grid_sample": lambda f: f(grid(1, 1, 4, 4), grid(1, 2, 2, 2), align_corners=False),
    "nn.functional.interpolate": lambda f: f(grid(1, 1, 4, 4), scale_factor=2),
    "nn.functional.upsample": lambda f: f(grid(1, 1, 4, 4), scale_factor=2),
    "nn.functional.max_unpool1d": lambda f: f(grid(1, 1, 2), torch.tensor([[[1, 3]]]), 2),
    "nn.functional.max_unpool2d": lambda f: f(grid(1, 1, 1, 1), torch.tensor([[[[3]]]]), 2),
    "nn.functional.max_unpool3d": lambda f: f(grid(1, 1, 1, 1, 1), torch.tensor([[[[[7]]]]]), 2),
    "conv1d": lambda f: f(grid(1, 2, 6), grid(3, 2, 3)),
    "conv2d": lambda f: f(grid(1, 2, 6, 6), grid(3, 2, 3, 3)),
    "conv3d": lambda f: f(grid(1, 2, 4, 4, 4), grid(3, 2, 3, 3, 3)),
    "conv_transpose1d": lambda f: f(grid(1, 2, 6), grid(2, 3, 3)),
    "conv_transpose2d": lambda f: f(grid(1, 2, 6, 6), grid(2, 3, 3, 3)),
    "conv_transpose3d": lambda f: f(grid(1, 2, 4, 4, 4), grid(2, 3, 3, 3, 3)),
    "conv_tbc": lambda f: f(grid(6, 1, 2), grid(3, 2, 3), grid(3)),
    "convolution": lambda f: f(grid(1, 2, 6), grid(3, 2, 3), None, (1,), (0,), (1,), False, (0,), 1),
    "embedding": lambda f: f(grid(4, 3), index(2)),
    "embedding_bag": lambda f: f(grid(4, 3), index(4), torch.tensor([0, 2])),
    "dot": lambda f: f(grid(4), grid(4)),
    "vdot": lambda f: f(grid(4), grid(4)),
    "outer": lambda f: f(grid(4), grid(4)),
    "inner": lambda f: f(grid(4), grid(4)),
    "bmm": lambda f: f(grid(2, 3, 3), grid(2, 3, 3)),
    "baddbmm": lambda f: f(grid(2, 3, 3), grid(2, 3, 3), grid(2, 3, 3)),
    "addbmm": lambda f: f(grid(3, 3), grid(2, 3, 3), grid(2, 3, 3)),
    "addmv": lambda f: f(grid(3), grid(3, 3), grid(3)),
    "mv": lambda f: f(grid(3, 3), grid(3)),
    "addr": lambda f: f(grid(3, 3), grid(3), grid(3)),
    "cross": lambda f: f(grid(3, 3), grid(3, 3)),
    "linalg.cross": lambda f: f(grid(3, 3), grid(3, 3)),
    "tensordot": lambda f: f(grid(3, 3), grid(3, 3), 1),
    "bilinear": lambda f: f(grid(2, 3), grid(2, 3), grid(4, 3, 3), None),
    "einsum": lambda f: f("ij,jk->ik", grid(3, 3), grid(3, 3)),
    "gather": lambda f: f(grid(3, 3), 0, index(2, 3)),
    "scatter": lambda f: f(grid(3, 3), 0, index(2, 3), grid(2, 3)),
    "scatter_add": lambda f: f(grid(3, 3), 0, index(2, 3), grid(2, 3)),
    "scatter_reduce": lambda f: f(grid(3, 3), 0, index(2, 3), grid(2, 3), "sum"),
    "index_select": lambda f: f(grid(3, 3), 0, index(2)),
    "index_add": lambda f: f(grid(3, 3), 0, index(2), grid(2, 3)),
    "index_copy": lambda f: f(grid(3, 3), 0, torch.tensor([0, 1]), grid(2, 3)),
    "index_reduce": lambda f: f(grid(3, 3), 0, index(2), grid(2, 3), "prod"),
    "index_fill": lambda f: f(grid(3, 3), 0, index(2), 0.5),
    "index_put": lambda f: f(grid(3, 3), (index(2),), grid(2, 3)),
    "put": lambda f: f(grid(3, 3), index(2), grid(2)),
    "take": lambda f: f(grid(3, 3), index(2)),
    "take_along_dim": lambda f: f(grid(3, 3), index(3, 3), 0),
    "masked_scatter": lambda f: f(grid(3, 3), grid(3, 3) > 0.5, grid(3, 3)),
    "where": lambda f: f(grid(3, 3) > 0.5, grid(3, 3), grid(3, 3)),
    "method.where": lambda f: f(grid(3, 3), grid(3, 3) > 0.5, grid(3, 3)),
    "select_scatter": lambda f: f(grid(3, 3), grid(3), 0, 1),
    "slice_scatter": lambda f: f(grid(3, 3), grid(2, 3), 0, 0, 2),
    "diagonal_scatter": lambda f: f(grid(3, 3), grid(3)),
    "as_strided_scatter": lambda f: f(grid(3, 3), grid(2, 2), (2, 2), (1, 1)),
    "as_strided": lambda f: f(grid(6), (2, 2), (1, 1)),
    "as_strided_copy": lambda f: f(grid(6), (2, 2), (1, 1)),
    "stft": lambda f: f(grid(16), 4, return_complex=True, window=torch.ones(4)),
    "istft": lambda f: f(torch.stft(grid(16), 4, return_complex=True, window=torch.ones(4)), 4, window=torch.ones(4)),
    "complex": lambda f: f(grid(3), grid(3)),
    "polar": lambda f: f(grid(3), grid(3)),
    "view_as_complex": lambda f: f(grid(3, 2)),
    "view_as_real": lambda f: f(torch.complex(grid(3), grid(3))),
    "movedim": lambda f: f(grid(2, 3), 0, 1),
    "permute": lambda f: f(grid(2, 3), (1, 0)),
    "permute_copy": lambda f: f(grid(2, 3), (1, 0)),
    "block_diag": lambda f: f(grid(2, 2), grid(2, 2)),
    "broadcast_tensors": lambda f: f(grid(2, 1), grid(1, 2)),
    "cartesian_prod": lambda f: f(grid(2), grid(2)),
    "meshgrid": lambda f: f(grid(2), grid(2), indexing="ij"),
    "combinations": lambda f: f(grid(3)),
    "bincount": lambda f: f(index(4)),
    "searchsorted": lambda f: f(torch.tensor([0.0, 0.5]), grid(3)),
    "bucketize": lambda f: f(grid(3), torch.tensor([0.0, 0.5])),
    "isin": lambda f: f(grid(3), grid(3)),
    "quantile": lambda f: f(grid(4), 0.5),
    "cov": lambda f: f(grid(3, 4)),
    "corrcoef": lambda f: f(torch.tensor([[1.0, 2, 4], [2.0, 1, 3]], requires_grad=True)),
    "unflatten": lambda f: f(grid(4, 3), 0, (2, 2)),
    "cdist": lambda f: f(grid(3, 2), grid(4, 2)),
    "heaviside": lambda f: f(grid(3), grid(3)),
    "multinomial": lambda f: f(grid(4), 2),
    "binomial": lambda f: f(torch.ones(3), torch.full((3,), 0.5)),
    "lu_unpack": lambda f: f(*torch.linalg.lu_factor(grid(3, 3) + 3 * torch.eye(3))),
    "lu_solve": lambda f: f(grid(3, 2), *torch.linalg.lu_factor(grid(3, 3) + 3 * torch.eye(3))),
    "linalg.lu_solve": lambda f: f(*torch.linalg.lu_factor(grid(3, 3) + 3 * torch.eye(3)), grid(3, 2)),
    "linalg.ldl_solve": lambda f: f(*torch.linalg.ldl_factor(spd()), grid(3, 2)),
    "cholesky_solve": lambda f: f(grid(3, 2), torch.linalg.cholesky(spd())),
    "linalg.solve": lambda f: f(spd(), grid(3, 2)),
    "linalg.solve_ex": lambda f: f(spd(), grid(3, 2)),
    "linalg.lstsq": lambda f: f(grid(4, 3), grid(4, 2)),
    "linalg.multi_dot": lambda f: f([grid(3, 3), grid(3, 3)]),
    "chain_matmul": lambda f: f(grid(3, 3), grid(3, 3)),
    "linalg.tensorsolve": lambda f: f(torch.eye(4).reshape(2, 2, 4).requires_grad_(), grid(2, 2)),
    "linalg.tensorinv": lambda f: f(torch.eye(4).reshape(2, 2, 4).requires_grad_(), 2),
    "linalg.vander": lambda f: f(grid(3)),
    "linalg.householder_product": lambda f: f(grid(3, 2), grid(2)),
    "orgqr": lambda f: f(grid(3, 2), grid(2)),
    "ormqr": lambda f: f(grid(3, 2), grid(2), grid(3, 3)),
    "lerp": lambda f: f(grid(3), grid(3), 0.5),
    "clamp": lambda f: f(grid(3), 0.3, 0.6),
    "clip": lambda f: f(grid(3), 0.3, 0.6),
    "normal": lambda f: f(grid(3), 1.0),
    "roll": lambda f: f(grid(3), 1),
    "renorm": lambda f: f(grid(3, 3), 2, 0, 1.0),
    "channel_shuffle": lambda f: f(grid(1, 4, 2, 2), 2),
    "native_group_norm": lambda f: f(grid(1, 4, 8), None, None, 1, 4, 8, 2, 1e-5),
    "native_layer_norm": lambda f: f(grid(2, 4), (4,), None, None, 1e-5),
    "batch_norm": lambda f: f(grid(3, 4), None, None, None, None, True, 0.1, 1e-5, False),
    "native_batch_norm": lambda f: f(grid(3, 4), None, None, None, None, True, 0.1, 1e-5),
    "instance_norm": lambda f: f(grid(2, 3, 4), None, None, None, None, True, 0.1, 1e-5, False),
    "layer_norm": lambda f: f(grid(2, 4), (4,)),
    "rms_norm": lambda f: f(grid(2, 4), (4,)),
    "nn.functional.layer_norm": lambda f: f(grid(2, 4), (4,)),
    "nn.functional.rms_norm": lambda f: f(grid(2, 4), (4,)),
    "cosine_similarity": lambda f: f(grid(3, 4), grid(3, 4)),
    "trapezoid": lambda f: f(grid(4)),
    "trapz": lambda f: f(grid(4)),
    "cumulative_trapezoid": lambda f: f(grid(4)),
    "grid_sampler": lambda f: f(grid(1, 1, 4, 4), grid(1, 2, 2, 2), 0, 0, False),
    "grid_sampler_2d": lambda f: f(grid(1, 1, 4, 4), grid(1, 2, 2, 2), 0, 0, False),
    "grid_sampler_3d": lambda f: f(grid(1, 1, 4, 4, 4), grid(1, 2, 2, 2, 3), 0, 0, False),
    "affine_grid_generator": lambda f: f(grid(1, 2, 3), (1, 1, 4, 4), False),
    "method.__getitem__": lambda f: f(grid(3, 3), 0),
    "method.view": lambda f: f(grid(4), 2, 2),
    "method.expand": lambda f: f(grid(1, 4), 3, 4),
    "method.repeat": lambda f: f(grid(2), 3),
    "method.unfold": lambda f: f(grid(6), 0, 2, 1),
    "unfold_copy": lambda f: f(grid(6), 0, 2, 1),
    "method.sum_to_size": lambda f: f(grid(3, 4), 1, 4),
    "method.view_as": lambda f: f(grid(4), grid(2, 2)),
    "method.reshape_as": lambda f: f(grid(4), grid(2, 2)),
    "method.expand_as": lambda f: f(grid(1, 4), grid(3, 4)),
    "linalg.vecdot": lambda f: f(grid(4), grid(4)),
    "linalg.matrix_power": lambda f: f(grid(3, 3), 2),
    "linalg.eigh": lambda f: f(spd()), "linalg.eigvalsh": lambda f: f(spd()), "linalg.cholesky": lambda f: f(spd()),
    "linalg.cholesky_ex": lambda f: f(spd()), "cholesky": lambda f: f(spd()), "cholesky_inverse": lambda f: f(spd()),
    "linalg.ldl_factor": lambda f: f(spd()), "linalg.ldl_factor_ex": lambda f: f(spd()),
    "linalg.inv": lambda f: f(spd()), "linalg.inv_ex": lambda f: f(spd()), "inverse": lambda f: f(spd()),
    "nn.functional.binary_cross_entropy": lambda f: f(grid(3), torch.full((3,), 0.5)),
    "repeat_interleave": lambda f: f(grid(3), 2),
    "tile": lambda f: f(grid(3), (2,)),
    "fill": lambda f: f(grid(3), 0.5),
    "dist": lambda f: f(grid(3), grid(3)),
    "acosh": lambda f: f(grid(3) + 1), "arccosh": lambda f: f(grid(3) + 1),
    "split": lambda f: f(grid(4), 2), "split_copy": lambda f: f(grid(4), 2), "tensor_split": lambda f: f(grid(4), 2),
    "dsplit": lambda f: f(grid(2, 2, 4), 2), "hsplit": lambda f: f(grid(2, 4), 2), "vsplit": lambda f: f(grid(4, 2), 2),
    "nonzero_static": lambda f: f(grid(3), size=2), "arange": lambda f: f(3), "range": lambda f: f(1, 3),
    "view_as_complex_copy": lambda f: f(grid(3, 2)), "method.apply_": lambda f: f(torch.ones(2), abs),
    "method.map_": lambda f: f(torch.ones(2), torch.ones(2), max), "as_strided_": lambda f: f(grid(4) * 1, (2, 2), (2, 1)),
    "method.swapaxes_": lambda f: f(grid(2, 3) * 1, 0, 1), "method.swapdims_": lambda f: f(grid(2, 3) * 1, 0, 1),
    "method.transpose_": lambda f: f(grid(2, 3) * 1, 0, 1), "method.unsqueeze_": lambda f: f(grid(2, 3) * 1, 0),
    "nn.functional.fractional_max_pool2d": lambda f: f(grid(1, 1, 6, 6), 2, output_size=3),
    "nn.functional.fractional_max_pool2d_with_indices": lambda f: f(grid(1, 1, 6, 6), 2, output_size=3),
    "nn.functional.fractional_max_pool3d": lambda f: f(grid(1, 1, 6, 6, 6), 2, output_size=3),
    "nn.functional.fractional_max_pool3d_with_indices": lambda f: f(grid(1, 1, 6, 6, 6), 2, output_size=3),
    "nn.functional.upsample_bilinear": lambda f: f(grid(1, 1, 4, 4), scale_factor=2),
    "nn.functional.upsample_nearest": lambda f: f(grid(1, 1, 4, 4), scale_factor=2),
    "signal.windows.general_cosine": lambda f: f(8, a=[0.5, 0.5]),
    "imag": lambda f: f(torch.complex(grid(3), grid(3))), "view_as_real_copy": lambda f: f(torch.complex(grid(3), grid(3))),
    "nn.functional.embedding": lambda f: f(index(2), grid(4, 3)), "method.squeeze_": lambda f: f(grid(1, 3) * 1),
    "method.t_": lambda f: f(grid(2, 3) * 1), "method.copy_": lambda f: f(torch.zeros(3), grid(3)), "fill_": lambda f: f(grid(3) * 1, 0.5),
    "zero_": lambda f: f(grid(3) * 1), "method.type": lambda f: f(grid(3), torch.float64),
    "method.type_as": lambda f: f(grid(3), torch.ones(1, dtype=torch.float64)), "method.__setitem__": lambda f: set_item(f),
    "atleast_1d": lambda f: f(grid(2)), "atleast_2d": lambda f: f(grid(2)), "atleast_3d": lambda f: f(grid(2)),
    "masked.normalize": lambda f: f(grid(3, 3), 2.0, 1),
}  # fmt: skip
"""Calls that names do not lead to."""

REMOVED = {"eig", "symeig", "solve", "lstsq", "matrix_rank"}
"""Names of earlier releases of PyTorch that only say what to use instead."""


def spd() -> Any:
    """A symmetric positive definite matrix."""
    return (torch.eye(3) + 0.1).requires_grad_()


def set_item(f: Any) -> Any:
    """A tensor, a part of which was replaced."""
    target = torch.zeros(3)
    f(target, 0, grid())
    return target


class _Table(WebGPUBackend):
    """The WebGPU device's table of kernels, without a device."""

    device = None  # type: ignore[assignment]


def trial(key: str, function: Function) -> tuple[bool, set[str]] | None:
    """Whether the result of a small call can be differentiated, and which primitives ran; None where no call succeeds."""
    for call in attempts(key, function):
        ran: set[str] = set()

        def watched(*args: Any, ran: set[str] = ran, **more: Any) -> Any:
            stop = observe.bus.subscribe(lambda record: ran.add(record.op), ["op"])  # type: ignore[attr-defined]
            try:
                return function.call(*args, **more)
            finally:
                stop()

        try:
            result = call(watched)
        except Exception:
            continue
        tensors = [t for t in _flat(result) if isinstance(t, torch.Tensor)]
        return any(t.requires_grad for t in tensors), ran
    return None


def attempts(key: str, function: Function) -> Iterator[Any]:
    """Calls to try, the likeliest first: functions of the function."""
    if key in CALLS:
        yield CALLS[key]
    parameters = inspect.signature(function.call).parameters.values()
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wanted = [p for p in parameters if p.default is p.empty and p.kind in by_place]
    for shape in SHAPES:
        choices = []
        for p in wanted:
            if p.name in INDEXES:
                choices.append((index(*shape), 0))
            elif p.name in MASKS:
                choices.append((torch.ones(shape, dtype=torch.bool),))
            elif p.name in LISTS:
                choices.append(([grid(*shape), grid(*shape)],))
            else:
                choices.append(VALUES.get(p.name, (grid(*shape),)))
        for values in itertools.islice(itertools.product(*choices), 8):
            yield lambda f, values=values: f(*values)
    for dtype in (torch.int64, torch.bool, torch.complex64):
        given = torch.ones(4, 4, dtype=dtype)
        yield lambda f, given=given: f(*[VALUES.get(p.name, (given,))[0] for p in wanted])


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for v in value:
            yield from _flat(v)
    else:
        yield value


def named_in(function: Any, seen: set[int]) -> Iterator[Op]:
    """The primitives that a function's code names, and those of the functions that it names in the engine."""
    function = inspect.unwrap(function)
    if (
        id(function) in seen
        or not isinstance(function, types.FunctionType)
        or "tapescope" not in (function.__module__ or "")
    ):
        return
    seen.add(id(function))
    cells = [c.cell_contents for c in function.__closure__ or () if _filled(c)]
    for value in [*cells, *(function.__globals__.get(n) for n in function.__code__.co_names)]:
        if isinstance(value, Op):
            yield value
        elif isinstance(value, types.FunctionType):
            yield from named_in(value, seen)


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def row(key: str, function: Function, kernels: _Table, unknown: list[str]) -> str:
    """One line of the table."""
    found = trial(key, function)
    if found is None:
        ops = list(named_in(function.call, set()))
        found = any(op.rules for op in ops), {op.name for op in ops}
        unknown.append(key)
    differentiable, ran = found
    host = sorted(n for n in ran if not on_device(n, kernels))
    forms = "".join(
        [
            " .m" if function.method else "",
            " _" if function.inplace else "",
            " out" if "out" in inspect.signature(function.call).parameters else "",
        ]
    )
    names = ", ".join(f"`{n}`" for n in (function.name, *function.aliases))
    gradient = "yes" if differentiable else "–"
    webgpu = "yes" if not host else "on the CPU: " + ", ".join(f"`{n}`" for n in host)
    return f"| {names} | {forms.strip()} | {gradient} | {webgpu} |"


def on_device(name: str, kernels: _Table) -> bool:
    """Whether the WebGPU device computes a primitive itself. Formulas and views need no kernel."""
    op = OPS.get(name)
    if op is None or name in composed.COMPOSED or op.kind == "view":
        return True
    return name in kernels.kernels or kernels.generate(op) is not None


def page(unknown: list[str] | None = None) -> str:
    """The page as text. Names of functions whose every trial failed are appended to `unknown`."""
    kernels = _Table()
    unknown = [] if unknown is None else unknown
    lines = [
        "# Operators",
        "",
        f"All {sum(bool(home(f)) for f in FUNCTIONS.values())} operator functions, from the operator table (`engine/ops/`). This page is made by",
        "`docs/make_operators.py`, which tries each of them.",
        "",
        "- **Forms**: `.m` also a method of tensors, `_` also in place (`NAME_`), `out` takes `out=`.",
        "- **Gradient**: whether the result can be differentiated. Gradients are written with operators, so that those of higher order follow;",
        "  [conformance](../conformance.md) tells how they compare with PyTorch's.",
        "- **WebGPU**: `yes` where the device computes it by kernels of its own; otherwise the steps that run on the CPU, with one warning each.",
        "  On `cpu` everything runs. float64 and complex numbers always compute on the CPU.",
        "",
        "What differs from PyTorch stands in [differences](../differences.md).",
    ]
    with warnings.catch_warnings(), contextlib.redirect_stdout(None):
        warnings.simplefilter("ignore")
        for space, title in SPACES.items():
            entries = sorted(
                ((k, f) for k, f in FUNCTIONS.items() if home(f) == space), key=lambda e: e[1].name.lower()
            )
            if entries:
                lines += ["", f"## {title}", "", "| name | forms | gradient | WebGPU |", "| --- | --- | --- | --- |"]
                lines += [row(k, f, kernels, unknown) for k, f in entries]
    return "\n".join(lines) + "\n"


def home(function: Function) -> str:
    """The namespace under which a function is listed, "" for those that are not for users."""
    if function.spaces[:1] == ("torch",) and function.name in REMOVED:
        return ""
    if function.name.startswith("_") and not function.name.startswith("__"):
        return ""
    return next((s for s in SPACES if s in function.spaces), "")


def check(text: str, target: Path, script: str, arguments: Iterable[str]) -> None:
    """Write a page, or with `--check` in the arguments raise SystemExit where it is not up to date."""
    if "--check" in arguments:
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{target.name} is not up to date: run python docs/{script}")
    else:
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    failed: list[str] = []
    check(page(failed), PAGE, "make_operators.py", sys.argv[1:])
    if failed:
        print("decided by their code, since no trial succeeded:", ", ".join(failed), file=sys.stderr)
