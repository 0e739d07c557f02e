"""Decompositions of what slides over images: convolution as products of columns, pooling as comparisons.

Columns are a view of the padded image, which one kernel copies, or products read as it is (`Caps.gathers`), forward and for the weight's
gradient. The gradient of the image is the convolution with the flipped weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..loops.index import ONE, Ix, ix, product, strides_of
from ..loops.scalar import Scalar, arg, binary, compare, coordinate, is_float, lit, make
from ..values import Value
from .decompose import DECOMPOSITIONS, rule, two

if TYPE_CHECKING:
    from .translate import Lowering

Ints = tuple[int, ...]


def _padded(L: Lowering, x: Value, padding: Ints) -> Value:
    """Zeros around the spatial dimensions, in memory of its own."""
    if not any(padding):
        return x
    around = (0, 0, *padding)
    return L.values.new("embed", [n + 2 * p for n, p in zip(x.shape, around, strict=True)], x.dtype, (x,), (0, around))


def _columns(
    L: Lowering, x: Value, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> tuple[Value, tuple[Ix, ...]]:
    """The windows of x [N, C, ...] as [N, C * kernel, windows], and the numbers of windows."""
    rank = len(kernel)
    counts = tuple(
        ix(((x.shape[2 + d].number or 0) + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) // stride[d] + 1)
        for d in range(rank)
    )
    n, c = x.shape[:2]
    if all(k == 1 for k in kernel) and all(s == 1 for s in stride) and not any(padding):
        return L.values.reshape(x, (n, c, product(counts))), counts
    whole = _padded(L, x, padding)
    steps = strides_of(whole.shape)
    shape = (n, c, *map(ix, kernel), *counts)
    strides = (
        *steps[:2],
        *[s * d for s, d in zip(steps[2:], dilation, strict=True)],
        *[s * t for s, t in zip(steps[2:], stride, strict=True)],
    )
    windows = L.values.view(whole, shape, strides)
    return L.values.reshape(windows, (n, c * product(map(ix, kernel)), product(counts))), counts


def _fits(*values: Value) -> bool:
    first = values[0]
    return (
        is_float(first.dtype)
        and len({v.dtype for v in values}) == 1
        and all(n.number is not None and n.number > 0 for v in values for n in v.shape)
    )


@rule("convolution")
def _convolution(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, weight, bias = args
    stride, padding, dilation, transposed, extra, groups = statics
    if groups != 1 or x.rank != 4 or not _fits(*[v for v in args if v is not None]):
        return None
    kernel = tuple(n.number or 0 for n in weight.shape[2:])
    if transposed:
        if any(s != 1 for s in stride) or any(extra):
            return None
        # The gradient of a convolution of stride 1 is one with the weight flipped and its channels exchanged.
        weight = DECOMPOSITIONS["flip"](L, [weight], ((2, 3),), None)
        weight = L.values.permute(weight, (1, 0, 2, 3))
        padding = tuple(d * (k - 1) - p for k, p, d in zip(kernel, padding, dilation, strict=True))
        if any(p < 0 for p in padding):
            return None
    columns, counts = _columns(L, x, kernel, stride, padding, dilation)
    n, o = x.shape[0], weight.shape[0]
    flat = L.values.reshape(weight, (o, columns.shape[1]))
    product_ = L.values.product(L.values.expand(flat, (n, *flat.shape)), columns)
    y = L.values.reshape(product_, (n, o, *counts))
    return y if bias is None else two(L, "add", y, L.values.reshape(bias, (o, ONE, ONE)))


@rule("convolution_weight")
def _weight_gradient(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, g = args
    kernel, stride, padding, dilation, groups = statics
    if groups != 1 or x.rank != 4 or not _fits(x, g):
        return None
    columns, counts = _columns(L, x, tuple(kernel), stride, padding, dilation)
    if g.shape[2:] != counts:
        return None
    n, o = g.shape[:2]
    rows = L.values.reshape(g, (n, o, product(counts)))
    each = L.values.product(rows, L.values.permute(columns, (0, 2, 1)))
    return L.values.reshape(L.values.reduce("sum", each, (0,)), (o, x.shape[1], *map(ix, kernel)))


@rule("max_pool2d_with_indices")
def _max_pool(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    """Windows that do not overlap, element by element of a window; the first of equal ones wins, NaN above all."""
    (x,) = args
    kernel, stride, padding, dilation, ceil = statics
    if x.rank != 4 or any(padding) or any(d != 1 for d in dilation) or ceil or not _fits(x):
        return None
    if kernel[0] * kernel[1] > 16:
        return None
    n, c, height, width = x.shape
    counts = tuple(ix(((s.number or 0) - k) // t + 1) for s, k, t in zip((height, width), kernel, stride, strict=True))
    steps = strides_of(x.shape)
    strides = (steps[0], steps[1], steps[2] * stride[0], steps[3] * stride[1])
    parts = [
        L.values.view(x, (n, c, *counts), strides, steps[2] * i + steps[3] * j)
        for i in range(kernel[0])
        for j in range(kernel[1])
    ]
    corner = binary(
        "add",
        binary("mul", binary("mul", coordinate(2), lit(stride[0], "i64")), lit(width.number, "i64")),
        binary("mul", coordinate(3), lit(stride[1], "i64")),
    )
    best = arg(0, x.dtype)
    at = lit(0, "i64")
    for k in range(1, len(parts)):
        one = arg(k, x.dtype)
        wins = make("or", compare("gt", one, best), make("isnan", one, type="bool"))
        best = Scalar("where", (wins, one, best), x.dtype)
        place = k // kernel[1] * (width.number or 0) + k % kernel[1]
        at = Scalar("where", (wins, lit(place, "i64"), at), "i64")
    shape = (n, c, *counts)
    made = L.values.point(best, parts, shape), L.values.point(binary("add", corner, at), parts, shape)
    for v in made:  # what reads them reads them often
        v.pinned = True
    return made


@rule("max_pool2d_with_indices_backward")
def _max_pool_backward(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    """Each element asks whether it was its window's largest, where windows tile the plane."""
    g, index = args
    size, distinct = statics
    if g.rank != 4 or not distinct or not _fits(g):
        return None
    height, width = size
    oh, ow = (n.number or 0 for n in g.shape[2:])
    if not oh or not ow or height % oh or width % ow:
        return None
    kh, kw = height // oh, width // ow
    n, c = g.shape[:2]

    def spread(v: Value) -> Value:
        a = L.values.reshape(v, (n, c, oh, 1, ow, 1))
        return L.values.reshape(L.values.expand(a, (n, c, oh, kh, ow, kw)), (n, c, height, width))

    here = binary("add", binary("mul", coordinate(2), lit(width, "i64")), coordinate(3))
    hit = compare("eq", here, arg(1, "i64"))
    formula = Scalar("where", (hit, arg(0, g.dtype), lit(0, g.dtype)), g.dtype)
    return L.values.point(formula, (spread(g), spread(index)), (n, c, height, width))
