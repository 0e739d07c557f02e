"""Convolution and its transpose in one to three dimensions, and the patches (`unfold`, `fold`) they can be written with.

The primitive `convolution` is linear in its input and its weight; its gradients are itself, transposed, and
`convolution_weight`, whose gradients are `convolution` again, so that all derivatives exist. On the CPU the patches are
copied through strided views and multiplied by BLAS, in blocks that stay in the cache; one channel a group (depthwise) is
summed over the kernel's elements instead. The layers stand in `engine/nn/`.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .. import dispatch
from ..shapes import numel
from ..tensor import Tensor
from .declare import c_name, operator, tensor_argument
from .gradients import conj
from .table import Op
from .windows import Ints, blocks, ints, offsets, padded_copy, strided

_BLOCK = 1 << 18
"""Elements of patches that are copied before they are multiplied: about what a core's cache holds."""
_PLANES = 1 << 16
"""Elements of planes that are summed at a time: smaller, since each is read and written once an element of the kernel."""
_NAMES = ("width", "height", "depth")


# -- kernels --------------------------------------------------------------------------------------


def _wide(x: np.ndarray) -> np.ndarray:
    """Half precision as single, in which sums are made."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _out_sizes(sizes: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True)
    )


def _transposed_sizes(sizes: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, extra: Ints) -> Ints:
    return tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + 1 + e
        for n, k, s, p, d, e in zip(sizes, kernel, stride, padding, dilation, extra, strict=True)
    )


class _Patches:
    """The patches of a batch of images as matrices, block by block.

    A block is some images whole, or some rows of windows of one image where one has too many.
    """

    def __init__(
        self, x: np.ndarray, kernel: Ints, out: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ):
        n, c = x.shape[:2]
        x = padded_copy(x, padding)
        steps = x.strides
        shape = (groups, c // groups, *kernel, n, *out)
        rows = [b * d for b, d in zip(steps[2:], dilation, strict=True)]
        jumps = [b * s for b, s in zip(steps[2:], stride, strict=True)]
        self.view = strided(x, shape, (c // groups * steps[1], steps[1], *rows, steps[0], *jumps))
        self.rank, self.groups, self.depth = len(kernel), groups, c // groups * numel(kernel)
        self.count, self.out = n, out

    def __iter__(self) -> Any:
        """For each block its first image, the last + 1, the rows of windows (a slice), and the matrices [groups, depth, windows]."""
        each = self.depth * self.groups * numel(self.out)
        lead = (slice(None),) * (2 + self.rank)
        if each <= 2 * _BLOCK:
            for i, j in blocks(self.count, each, _BLOCK):
                cols = np.ascontiguousarray(self.view[(*lead, slice(i, j))])
                yield i, j, slice(None), cols.reshape(self.groups, self.depth, -1)
            return
        for i in range(self.count):
            for a, b in blocks(self.out[0], each // self.out[0], _BLOCK):
                cols = np.ascontiguousarray(self.view[(*lead, slice(i, i + 1), slice(a, b))])
                yield i, i + 1, slice(a, b), cols.reshape(self.groups, self.depth, -1)


def _windows_of(g: np.ndarray, i: int, j: int, rows: slice, groups: int) -> np.ndarray:
    """Part of a batch of outputs as matrices [groups, channels, windows]."""
    part = g[i:j, :, rows]
    n, c = part.shape[:2]
    if n == 1:
        return part.reshape(groups, c // groups, -1)
    return part.swapaxes(0, 1).reshape(groups, c // groups, -1)


def _is_pointwise(kernel: Ints, stride: Ints, padding: Ints) -> bool:
    return all(k == 1 for k in kernel) and all(s == 1 for s in stride) and not any(padding)


def _forward(x: np.ndarray, w: np.ndarray, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> np.ndarray:
    n, c, sizes, kernel, o = x.shape[0], x.shape[1], x.shape[2:], w.shape[2:], w.shape[0]
    counts = _out_sizes(sizes, kernel, stride, padding, dilation)
    out = np.empty((n, o, *counts), x.dtype)
    if not out.size or not c or not w.size:
        out.fill(0)
        return out
    if c == groups and groups > 1:
        return _depthwise(x, w, out, stride, padding, dilation)
    weights = w.reshape(groups, o // groups, -1)
    if _is_pointwise(kernel, stride, padding) and (n == 1 or numel(counts) >= 256):
        image = np.ascontiguousarray(x).reshape(n, groups, c // groups, -1)
        np.matmul(weights, image, out=out.reshape(n, groups, o // groups, -1))
        return out
    for i, j, rows, cols in _Patches(x, kernel, counts, stride, padding, dilation, groups):
        if j - i == 1 and rows == slice(None):
            np.matmul(weights, cols, out=out[i].reshape(groups, o // groups, -1))
        else:
            made = np.matmul(weights, cols)
            out[i:j, :, rows] = made.reshape(o, j - i, -1, *counts[1:]).swapaxes(0, 1)
    return out


class _Planes:
    """Images in the form in which a window's element is a plain shift: `planes[phase]` is [N, C, elements of one plane].

    The windows lie on a grid of `pitch` per dimension, wider than there are windows, so that shifts by rows stay shifts of the flat
    plane; with strides there is one plane for each remainder of the position.
    """

    def __init__(self, sizes: Ints, kernel: Ints, counts: Ints, stride: Ints, padding: Ints, dilation: Ints):
        self.sizes, self.counts, self.stride, self.padding = sizes, counts, stride, padding
        most = [(k - 1) * d // s for k, d, s in zip(kernel, dilation, stride, strict=True)]
        self.pitch = tuple(n + m for n, m in zip(counts, most, strict=True))
        self.places = []
        for place in itertools.product(*[range(k) for k in kernel]):
            at = [k * d for k, d in zip(place, dilation, strict=True)]
            shift = 0
            for a, s, q in zip(at, stride, self.pitch, strict=True):
                shift = shift * q + a // s
            self.places.append((place, tuple(a % s for a, s in zip(at, stride, strict=True)), shift))
        self.length = numel(self.pitch) - max(shift for *_, shift in self.places)

    def _parts(self, phase: Ints) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """Where a phase's elements lie in the image, and in the plane."""
        image, plane = [], []
        for a, n, s, p, q in zip(phase, self.sizes, self.stride, self.padding, self.pitch, strict=True):
            first = -((a - p) // s) if a < p else 0
            start = a + first * s - p
            count = max(0, min(q - first, -(-(n - start) // s)))
            image.append(slice(start, start + count * s, s) if count else slice(0, 0))
            plane.append(slice(first, first + count))
        return tuple(image), tuple(plane)

    def spread(self, x: np.ndarray) -> dict[Ints, np.ndarray]:
        """The planes of a batch of images."""
        out = {}
        for phase in {p for _, p, _ in self.places}:
            made = np.zeros((*x.shape[:2], *self.pitch), x.dtype)
            image, plane = self._parts(phase)
            made[(..., *plane)] = x[(..., *image)]
            out[phase] = made.reshape(*x.shape[:2], -1)
        return out

    def gather(self, planes: dict[Ints, np.ndarray], out: np.ndarray) -> None:
        """The transpose of `spread`: the planes' elements put where they came from."""
        for phase, made in planes.items():
            image, plane = self._parts(phase)
            out[(..., *image)] = made.reshape(*made.shape[:2], *self.pitch)[(..., *plane)]

    def widen(self, g: np.ndarray) -> np.ndarray:
        """Outputs [N, groups, times, ...] on the grid of the planes, zero where there is no window."""
        if self.pitch == self.counts:
            return g.reshape(*g.shape[:3], -1)
        out = np.zeros((*g.shape[:3], *self.pitch), g.dtype)
        out[(..., *[slice(n) for n in self.counts])] = g
        return out.reshape(*g.shape[:3], -1)


def _depthwise(
    x: np.ndarray, w: np.ndarray, out: np.ndarray, stride: Ints, padding: Ints, dilation: Ints
) -> np.ndarray:
    """One input channel a group: a sum over the kernel's elements, without patches."""
    n, c = x.shape[:2]
    times, kernel, counts = w.shape[0] // c, w.shape[2:], out.shape[2:]
    result = out.reshape(n, c, times, *counts)
    weights = w.reshape(c, times, *kernel)[..., None]
    form = _Planes(x.shape[2:], kernel, counts, stride, padding, dilation)
    for i, j in blocks(n, c * times * numel(form.pitch), _PLANES):
        planes = form.spread(x[i:j])
        wide = np.zeros((j - i, c, times, numel(form.pitch)), x.dtype)
        total = wide[..., : form.length]
        for place, phase, shift in form.places:
            total += (
                planes[phase][:, :, None, shift : shift + form.length] * weights[(slice(None), slice(None), *place)]
            )
        result[i:j] = wide.reshape(j - i, c, times, *form.pitch)[(..., *[slice(k) for k in counts])]
    return out


def _depthwise_backward(
    g: np.ndarray, w: np.ndarray, out: np.ndarray, stride: Ints, padding: Ints, dilation: Ints
) -> np.ndarray:
    """The transpose of `_depthwise`, into `out` (zeros)."""
    n, c = out.shape[:2]
    times, kernel, counts = w.shape[0] // c, w.shape[2:], g.shape[2:]
    weights = w.reshape(c, times, *kernel)[..., None]
    form = _Planes(out.shape[2:], kernel, counts, stride, padding, dilation)
    for i, j in blocks(n, c * times * numel(form.pitch), _PLANES):
        wide = form.widen(g[i:j].reshape(j - i, c, times, *counts))[..., : form.length]
        planes: dict[Ints, np.ndarray] = {}
        for place, phase, shift in form.places:
            if phase not in planes:
                planes[phase] = np.zeros((j - i, c, numel(form.pitch)), g.dtype)
            part = wide * weights[(slice(None), slice(None), *place)]
            planes[phase][..., shift : shift + form.length] += part[:, :, 0] if times == 1 else part.sum(2)
        form.gather(planes, out[i:j])
    return out


def _depthwise_weigh(
    x: np.ndarray, g: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> np.ndarray:
    """The weights' gradient of `_depthwise`."""
    n, c, counts = x.shape[0], x.shape[1], g.shape[2:]
    times = g.shape[1] // c
    out = np.zeros((c, times, *kernel), x.dtype)
    form = _Planes(x.shape[2:], kernel, counts, stride, padding, dilation)
    for i, j in blocks(n, c * times * numel(form.pitch), _PLANES):
        planes = form.spread(x[i:j])
        wide = form.widen(g[i:j].reshape(j - i, c, times, *counts))[..., : form.length]
        for place, phase, shift in form.places:
            out[(..., *place)] += np.einsum("ncl,nctl->ct", planes[phase][..., shift : shift + form.length], wide)
    return out


def _backward(
    g: np.ndarray, w: np.ndarray, stride: Ints, padding: Ints, dilation: Ints, extra: Ints, groups: int
) -> np.ndarray:
    """The transpose of `_forward`: each element of `g` spread over its window."""
    n, o, counts, kernel = g.shape[0], g.shape[1], g.shape[2:], w.shape[2:]
    each = w.shape[1]
    c = each * groups
    sizes = _transposed_sizes(counts, kernel, stride, padding, dilation, extra)
    if _is_pointwise(kernel, stride, padding) and not any(extra):
        turned = w.reshape(groups, o // groups, each).swapaxes(1, 2).reshape(c, o // groups, *kernel)
        return _forward(g, turned, stride, padding, dilation, groups)
    out = np.zeros((n, c, *sizes), g.dtype)
    if not g.size or not w.size:
        return out
    if each == 1 and groups > 1:
        return _depthwise_backward(g, w, out, stride, padding, dilation)
    places = list(offsets(kernel, stride, padding, dilation, counts, sizes))
    weights = w.reshape(groups, o // groups, -1).swapaxes(1, 2)
    for i, j in blocks(n, c * numel(kernel) * numel(counts), _BLOCK):
        cols = np.matmul(weights, _windows_of(g, i, j, slice(None), groups)).reshape(c, *kernel, j - i, *counts)
        part = out[i:j].swapaxes(0, 1)
        for place, windows, elements in places:
            part[(slice(None), slice(None), *elements)] += cols[(slice(None), *place, slice(None), *windows)]
    return out


def _convolve(
    x: np.ndarray, w: np.ndarray, bias: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, extra: Ints, groups: int
) -> np.ndarray:  # fmt: skip
    kind = x.dtype
    x, w = _wide(x), _wide(w)
    if transposed:
        out = _backward(x, w, stride, padding, dilation, extra, groups)
    else:
        out = _forward(x, w, stride, padding, dilation, groups)
    if bias is not None:
        out += bias.reshape(-1, *[1] * (x.ndim - 2))
    return out.astype(kind, copy=False)


def _weigh(
    x: np.ndarray, g: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The weights' gradient: patches of `x` times the outputs' gradient, summed over windows and images."""
    kind = x.dtype
    x, g = _wide(x), _wide(g)
    c, o, counts = x.shape[1], g.shape[1], g.shape[2:]
    if c == groups and groups > 1 and g.size and x.size:
        return _depthwise_weigh(x, g, kernel, stride, padding, dilation).reshape(o, 1, *kernel).astype(kind, copy=False)
    out = np.zeros((groups, o // groups, c // groups * numel(kernel)), x.dtype)
    if g.size and out.size:
        for i, j, rows, cols in _Patches(x, kernel, counts, stride, padding, dilation, groups):
            out += np.matmul(_windows_of(g, i, j, rows, groups), cols.swapaxes(1, 2))
    return out.reshape(o, c // groups, *kernel).astype(kind, copy=False)


# -- primitives -----------------------------------------------------------------------------------


def _shape(
    x: Ints, w: Ints, bias: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, extra: Ints, groups: int
) -> Ints:
    if transposed:
        return (x[0], w[1] * groups, *_transposed_sizes(x[2:], w[2:], stride, padding, dilation, extra))
    return (x[0], w[0], *_out_sizes(x[2:], w[2:], stride, padding, dilation))


def _run(x: Tensor, w: Tensor, *statics: Any) -> Tensor:
    return dispatch.call(CONVOLUTION, (x, w, None), statics)


def _cropped(t: Tensor, shape: Ints) -> Tensor:
    """The first elements of each axis. Where the output padding is a stride or more, there are windows beyond the last one."""
    for d in range(2, len(shape)):
        if t.shape[d] != shape[d]:
            t = t.narrow(d, 0, shape[d])
    return t


def _input_gradient(
    g: Tensor, weight: Tensor, input_shape: Ints, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, groups: int
) -> Tensor:  # fmt: skip
    none = (0,) * len(stride)
    if transposed:
        return _cropped(_run(g, conj(weight), stride, padding, dilation, False, none, groups), input_shape)
    kernel = tuple(weight.shape[2:])
    least = _transposed_sizes(tuple(g.shape[2:]), kernel, stride, padding, dilation, none)
    extra = tuple(n - m for n, m in zip(input_shape[2:], least, strict=True))
    return _run(g, conj(weight), stride, padding, dilation, True, extra, groups)


def _weight_gradient(
    g: Tensor, input: Tensor, weight_shape: Ints, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, groups: int
) -> Tensor:  # fmt: skip
    pair = (g, conj(input)) if transposed else (conj(input), g)
    return dispatch.call(CONVOLUTION_WEIGHT, pair, (weight_shape[2:], stride, padding, dilation, groups))


CONVOLUTION = Op(
    "convolution", "input weight bias", "stride padding dilation transposed output_padding groups", kind="matmul", cpu=_convolve, shape=_shape,
    grads={
        "input": _input_gradient,
        "weight": _weight_gradient,
        "bias": lambda g: g.sum((0, *range(2, g.ndim))),
    },
)  # fmt: skip
CONVOLUTION_WEIGHT = Op(
    "convolution_weight", "input grad_output", "kernel_size stride padding dilation groups", kind="matmul", cpu=_weigh,
    shape=lambda x, g, kernel, stride, padding, dilation, groups: (g[1], x[1] // groups, *kernel),
    grads={
        "input": lambda g, grad_output, input_shape, stride, padding, dilation, groups: _input_gradient(
            conj(grad_output), conj(g), input_shape, stride, padding, dilation, False, groups),
        "grad_output": lambda g, input, grad_output_shape, stride, padding, dilation, groups: _cropped(
            _run(conj(input), g, stride, padding, dilation, False, (0,) * len(stride), groups), grad_output_shape),
    },
)  # fmt: skip


# -- functions ------------------------------------------------------------------------------------


def _listed(value: Any, rank: int, function: str, name: str) -> Ints:
    """One integer a spatial dimension. Raises RuntimeError for another number of them."""
    if isinstance(value, (list, tuple)) and len(value) not in (1, rank):
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {rank} values to match the convolution dimensions, but got "
            f"{name}={list(value)}"
        )
    return ints(value, rank, function, name)


def _by_name(values: Ints, what: str = "") -> str:
    names = _NAMES[: len(values)][::-1]
    return " ".join(f"{what}{n}: {v}" for n, v in zip(names, values, strict=True))


def _sizes(values: Ints) -> str:
    return f"({' x '.join(map(str, values))})"


def _check_numbers(
    input: Tensor, weight: Tensor, stride: Ints, padding: Ints, dilation: Ints, extra: Ints, groups: int
) -> None:
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(e < 0 for e in extra):
        raise RuntimeError("negative output_padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")


def _check_shapes(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, extra: Ints, groups: int
) -> None:  # fmt: skip
    w, x = tuple(weight.shape), tuple(input.shape)
    if w[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {list(w)} instead"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size [{list(w)}] instead"
        )
    made, wanted = (w[1] * groups, w[0]) if transposed else (w[0], w[1] * groups)
    given = f"transposed={int(transposed)}" if transposed else f"groups={groups}"
    if x[1] != wanted:
        raise RuntimeError(
            f"Given {given}, weight of size {list(w)}, expected input{list(x)} to have {wanted} channels, but got {x[1]} channels instead"
        )
    if bias is not None and tuple(bias.shape) != (made,):
        given = given + ", " if transposed else ""
        raise RuntimeError(
            f"Given {given}weight of size {list(w)}, expected bias to be 1-dimensional with {made} elements, but got bias of size "
            f"{list(bias.shape)} instead"
        )
    kernel = w[2:]
    if any(k <= 0 for k in kernel):
        raise RuntimeError(f"kernel size should be greater than zero, but got {_by_name(kernel, 'kernel_')}")
    if transposed:
        _check_transposed(x[2:], kernel, stride, padding, dilation, extra)
        return
    padded = tuple(n + 2 * p for n, p in zip(x[2:], padding, strict=True))
    spans = tuple(d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True))
    if any(n < s for n, s in zip(padded, spans, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: {_sizes(padded)}. Kernel size: {_sizes(spans)}. Kernel size can't be greater "
            "than actual input size"
        )


def _check_transposed(sizes: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, extra: Ints) -> None:
    if len(kernel) == 1:  # told as images of height 1, as PyTorch does
        sizes, kernel, stride, padding, dilation, extra = (
            (filler, *values)
            for filler, values in zip(
                (1, 1, 1, 0, 1, 0), (sizes, kernel, stride, padding, dilation, extra), strict=True
            )
        )
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got {_by_name(extra, 'output_padding_')} "
            f"{_by_name(stride, 'stride_')} {_by_name(dilation, 'dilation_')}"
        )
    made = _transposed_sizes(sizes, kernel, stride, padding, dilation, extra)
    if any(n < 1 for n in made):
        raise RuntimeError(
            f"Given input size per channel: {_sizes(sizes)}. Calculated output size per channel: {_sizes(made)}. Output size is "
            "too small"
        )


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if bias is not None and bias._dtype is not input._dtype:
        names = c_name(input._dtype), c_name(bias._dtype)
        raise RuntimeError(f"Input type ({names[0]}) and bias type ({names[1]}) should be the same")
    if input._dtype is not weight._dtype:
        raise RuntimeError(
            f"expected scalar type {dispatch.type_name(input._dtype)} but found {dispatch.type_name(weight._dtype)}"
        )
    if input._dtype.category == 0:
        raise NotImplementedError("\"slow_conv2d_cpu\" not implemented for 'Bool'")


@operator(method=False)
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any,
    groups: int,
) -> Tensor:  # fmt: skip
    """The convolution that all forms come to: input [N, C, ...], weight [O, C / groups, ...] (transposed: [C, O / groups, ...]).

    Raises RuntimeError where shapes, dtypes or numbers do not fit.
    """
    tensor_argument("convolution", "input", 1, input)
    tensor_argument("convolution", "weight", 2, weight)
    rank = weight.ndim - 2
    numbers = [
        _listed(v, rank, "convolution", n)
        for v, n in ((stride, "stride"), (padding, "padding"), (dilation, "dilation"), (output_padding, "output_padding"))
    ]  # fmt: skip
    stride, padding, dilation, extra = numbers
    _check_numbers(input, weight, stride, padding, dilation, extra, groups)
    if input.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, but got "
            f"{input.ndim}-dimensional input of size {list(input.shape)} instead"
        )
    _check_shapes(input, weight, bias, stride, padding, dilation, bool(transposed), extra, groups)
    _check_dtypes(input, weight, bias)
    if not transposed:
        extra = (0,) * rank
    return dispatch.call(
        CONVOLUTION, (input, weight, bias), (stride, padding, dilation, bool(transposed), extra, int(groups))
    )


def _batched(name: str, input: Tensor, weight: Tensor, rank: int) -> tuple[Tensor, bool]:
    """The input with a batch dimension, and whether it had one."""
    tensor_argument(name, "input", 1, input)
    tensor_argument(name, "weight", 2, weight)
    if input.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got input of size: {list(input.shape)}"
        )
    return (input, True) if input.ndim == rank + 2 else (input.unsqueeze(0), False)


def _conv(
    rank: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    name = f"conv{rank}d"
    x, batched = _batched(name, input, weight, rank)
    if isinstance(padding, str):
        x, padding = _worded(name, x, weight, stride, padding, dilation)
    stride, padding, dilation = ((v,) * rank if type(v) is int else v for v in (stride, padding, dilation))
    out = convolution(x, weight, bias, stride, padding, dilation, False, (0,), groups)
    return out if batched else out.squeeze(0)


def _worded(name: str, x: Tensor, weight: Tensor, stride: Any, padding: str, dilation: Any) -> tuple[Tensor, Any]:
    """The padding that "valid" or "same" means. Where it is odd, the input gets the element more at its end."""
    rank = weight.ndim - 2
    if padding == "valid":
        return x, 0
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in _listed(stride, rank, name, "stride")):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    steps = _listed(dilation, rank, name, "dilation")
    total = [d * (k - 1) for d, k in zip(steps, weight.shape[2:], strict=True)]
    if any(t % 2 for t in total):
        from .padding import constant_pad_nd

        x = constant_pad_nd(x, [v for t in reversed(total) for v in (0, t % 2)], 0)
    return x, [t // 2 for t in total]


def _conv_transpose(
    rank: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any
) -> Tensor:  # fmt: skip
    x, batched = _batched(f"conv_transpose{rank}d", input, weight, rank)
    stride, padding, output_padding, dilation = (
        (v,) * rank if type(v) is int else v for v in (stride, padding, output_padding, dilation)
    )
    out = convolution(x, weight, bias, stride, padding, dilation, True, output_padding, groups)
    return out if batched else out.squeeze(0)


_SPACES = ("torch", "nn.functional")


@operator(spaces=_SPACES, method=False)
def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:  # fmt: skip
    """Convolution (cross-correlation) over a length: input [N, C, L] or [C, L], weight [O, C / groups, K].

    `padding` is a number, "valid" or "same". Raises RuntimeError where shapes do not fit.
    """
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


@operator(spaces=_SPACES, method=False)
def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:  # fmt: skip
    """Convolution (cross-correlation) over images: input [N, C, H, W] or [C, H, W], weight [O, C / groups, KH, KW].

    `padding` is a number or two, "valid" or "same". Raises RuntimeError where shapes do not fit.
    """
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)


@operator(spaces=_SPACES, method=False)
def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:  # fmt: skip
    """Convolution (cross-correlation) over volumes: input [N, C, D, H, W] or [C, D, H, W], weight [O, C / groups, KD, KH, KW].

    `padding` is a number or three, "valid" or "same". Raises RuntimeError where shapes do not fit.
    """
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


@operator(spaces=_SPACES, method=False)
def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
    dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """The transpose of `conv1d` as a linear map: input [N, C, L] or [C, L], weight [C, O / groups, K]."""
    return _conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@operator(spaces=_SPACES, method=False)
def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
    dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """The transpose of `conv2d` as a linear map: input [N, C, H, W] or [C, H, W], weight [C, O / groups, KH, KW]."""
    return _conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@operator(spaces=_SPACES, method=False)
def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
    dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """The transpose of `conv3d` as a linear map: input [N, C, D, H, W] or [C, D, H, W], weight [C, O / groups, KD, KH, KW]."""
    return _conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


@operator(spaces=_SPACES, method=False)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution over a length with the time first: input [T, N, C], weight [K, C, O], bias [O]; result [T', N, O]."""
    out = convolution(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, (1,), (pad,), (1,), False, (0,), 1)
    return out.permute(2, 0, 1)


# -- patches --------------------------------------------------------------------------------------


def _im2col(x: np.ndarray, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> np.ndarray:
    n, c = x.shape[:2]
    counts = _out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    x = padded_copy(x, padding)
    steps = x.strides
    rows = [b * d for b, d in zip(steps[2:], dilation, strict=True)]
    jumps = [b * s for b, s in zip(steps[2:], stride, strict=True)]
    view = strided(x, (n, c, *kernel, *counts), (*steps[:2], *rows, *jumps))
    return np.array(view, order="C").reshape(n, c * numel(kernel), numel(counts))


def _col2im(x: np.ndarray, size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> np.ndarray:
    n, c = x.shape[0], x.shape[1] // numel(kernel)
    counts = _out_sizes(size, kernel, stride, padding, dilation)
    patches = x.reshape(n, c, *kernel, *counts)
    out = np.zeros((n, c, *size), x.dtype)
    whole = (slice(None), slice(None))
    for place, windows, elements in offsets(kernel, stride, padding, dilation, counts, size):
        out[(*whole, *elements)] += patches[(*whole, *place, *windows)]
    return out


IM2COL = Op(
    "im2col", "input", "kernel_size dilation padding stride", kind="index", cpu=_im2col, backward="Im2Col",
    shape=lambda x, kernel, dilation, padding, stride: (
        x[0], x[1] * numel(kernel), numel(_out_sizes(x[2:], kernel, stride, padding, dilation))),
    grads={
        "input": lambda g, input_shape, kernel_size, dilation, padding, stride: dispatch.call(
            COL2IM, (g,), (input_shape[2:], kernel_size, dilation, padding, stride))
    },
)  # fmt: skip
COL2IM = Op(
    "col2im", "input", "output_size kernel_size dilation padding stride", kind="index", cpu=_col2im, backward="Col2Im",
    shape=lambda x, size, kernel, dilation, padding, stride: (x[0], x[1] // numel(kernel), *size),
    grads={
        "input": lambda g, kernel_size, dilation, padding, stride: dispatch.call(
            IM2COL, (g,), (kernel_size, dilation, padding, stride))
    },
)  # fmt: skip


def _patch_numbers(name: str, kernel: Any, dilation: Any, padding: Any, stride: Any) -> tuple[Ints, ...]:
    out = []
    for value, label in ((kernel, "kernel_size"), (dilation, "dilation"), (padding, "padding"), (stride, "stride")):
        if isinstance(value, (list, tuple)) and len(value) not in (1, 2):
            raise RuntimeError(f"It is expected {label} equals to 2, but got size {len(value)}")
        out.append(ints(value, 2, name, label))
    kernel, dilation, padding, stride = out
    for values, label, short in (
        (kernel, "kernel size", "kernel_"),
        (dilation, "dilation", "dilation_"),
        (stride, "stride", "stride_"),
    ):
        if any(v <= 0 for v in values):
            raise RuntimeError(f"{label} should be greater than zero, but got {_by_name(values, short)}")
    if any(p < 0 for p in padding):
        raise RuntimeError(f"padding should be non-negative, but got {_by_name(padding, 'pad_')}")
    return kernel, dilation, padding, stride


def _no_integers(name: str, input: Tensor) -> None:
    if input._dtype.category == 1:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dispatch.type_name(input._dtype)}'")


@operator(spaces=("nn.functional",), method=False)
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """All patches of a batch of images as columns: [N, C, H, W] to [N, C * KH * KW, number of patches].

    Raises RuntimeError where no patch fits.
    """
    kernel, dilation, padding, stride = _patch_numbers("unfold", kernel_size, dilation, padding, stride)
    if input.ndim not in (3, 4) or any(n == 0 for n in input.shape[-3:]):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: "
            f"{list(input.shape)}"
        )
    counts = _out_sizes(tuple(input.shape[-2:]), kernel, stride, padding, dilation)
    if any(n < 1 for n in counts):
        raise RuntimeError(
            f"Given input with spatial size {tuple(input.shape[-2:])}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"calculated shape of the array of sliding blocks as {counts}, but its components must be at least one."
        )
    _no_integers("im2col_out_cpu", input)
    x = input if input.ndim == 4 else input.unsqueeze(0)
    out = dispatch.call(IM2COL, (x,), (kernel, dilation, padding, stride))
    return out if input.ndim == 4 else out.squeeze(0)


@operator(spaces=("nn.functional",), method=False)
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The sum of patches at their places, the transpose of `unfold`: [N, C * KH * KW, number of patches] to [N, C, H, W].

    Raises RuntimeError where the number of patches is not that of `output_size`.
    """
    kernel, dilation, padding, stride = _patch_numbers("fold", kernel_size, dilation, padding, stride)
    size = ints(output_size, 2, "fold", "output_size")
    if input.ndim not in (2, 3) or any(n == 0 for n in input.shape[-2:]):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: "
            f"{list(input.shape)}"
        )
    if input.shape[-2] % numel(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)="
            f"{input.shape[-2]} and kernel_size={kernel}."
        )
    counts = _out_sizes(size, kernel, stride, padding, dilation)
    if any(n < 1 for n in counts) or numel(counts) != input.shape[-1]:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, expected size of "
            f"input's dimension 2 to match the calculated number of sliding blocks {counts[0]} * {counts[1]} = {numel(counts)}, but got "
            f"input.size(2)={input.shape[-1]}."
        )
    _no_integers("col2im_out_cpu", input)
    x = input if input.ndim == 3 else input.unsqueeze(0)
    out = dispatch.call(COL2IM, (x,), (size, kernel, dilation, padding, stride))
    return out if input.ndim == 3 else out.squeeze(0)
