"""Decompositions: what primitives that are no formula of single elements are made of.

One entry a primitive: a function of the builder (`Lowering`), the operands as values, the static arguments and what the
graph knows of the result. A primitive without an entry, a view rule or an expression stays a call of the engine's kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..loops.index import ONE, ix
from ..loops.scalar import NUMPY, Scalar, apply, arg, binary, cast, compare, coordinate, is_float, lit, make
from ..values import Value

if TYPE_CHECKING:
    from .translate import Lowering

Rule = Callable[..., Any]
DECOMPOSITIONS: dict[str, Rule] = {}
"""(lowering, operands, statics, result) -> Value, a tuple of them, or None where the engine's kernel should run."""


_WINDOWS = frozenset(
    {"convolution", "convolution_weight", "max_pool2d_with_indices", "max_pool2d_with_indices_backward"}
)

TUNED: dict[str, frozenset[str]] = {
    "numpy": _WINDOWS | {"argmax", "argmin"},
    "wgsl": _WINDOWS,
    "wgsl, subgroups": frozenset(),
}
"""Primitives whose kernels in the engine are faster than what is generated, or which a printer does not know, by printer: they stay
calls."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Enter a decomposition for these primitives."""

    def enter(f: Rule) -> Rule:
        for n in names:
            DECOMPOSITIONS[n] = f
        return f

    return enter


def two(L: Lowering, op: str, a: Value, b: Value) -> Value:
    """Elementwise arithmetic on two values of one type."""
    return L.values.point(binary(op, arg(0, a.dtype), arg(1, b.dtype)), (a, b))


def with_number(L: Lowering, op: str, a: Value, number: Any) -> Value:
    """Elementwise arithmetic with a number."""
    return L.values.point(binary(op, arg(0, a.dtype), lit(number, a.dtype)), (a,))


def one(L: Lowering, name: str, a: Value) -> Value:
    """An elementwise function."""
    return L.values.point(apply(name, [arg(0, a.dtype)]), (a,))


def divided_by_size(L: Lowering, x: Value, count: Any) -> Value:
    """Elements divided by a number of elements, which may be symbolic."""
    n = ix(count)
    size = lit(n.number, x.dtype) if n.number is not None else cast(Scalar("size", (), "i64", n), x.dtype)
    return L.values.point(binary("div", arg(0, x.dtype), size), (x,))


# -- reductions ---------------------------------------------------------------------------------


def _count(x: Value, dims: Any) -> Any:
    n: Any = ONE
    for d in dims:
        n = n * x.shape[d]
    return n


@rule("sum")
def _sum(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    return L.values.reduce("sum", args[0], statics[0], statics[1])


@rule("mean")
def _mean(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    total = L.values.reduce("sum", args[0], statics[0], statics[1])
    return divided_by_size(L, total, _count(args[0], statics[0]))


@rule("prod")
def _prod(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    return L.values.reduce("prod", args[0], statics[0], statics[1])


@rule("amax")
def _amax(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    return L.values.reduce("max", args[0], statics[0], statics[1])


@rule("amin")
def _amin(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    return L.values.reduce("min", args[0], statics[0], statics[1])


@rule("argmax", "argmin")
def _arg(L: Lowering, args: Any, statics: Any, out: Any, name: str = "") -> Any:
    x, (dim, keepdim) = args[0], statics
    if dim is None or x.rank == 0:
        return None
    return L.values.reduce(L.primitive, x, (dim,), keepdim, dtype="i64")


@rule("all", "any")
def _truth(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x = args[0]
    if x.dtype != "bool":
        x = L.values.point(compare("ne", arg(0, x.dtype), 0), (x,))
    return L.values.reduce("and" if L.primitive == "all" else "or", x, statics[0], statics[1])


@rule("linalg_vector_norm")
def _norm(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, (order, dims, keepdim) = args[0], statics
    if order == 2:
        return one(L, "sqrt", L.values.reduce("sum", two(L, "mul", x, x), dims, keepdim))
    size = one(L, "abs", x)
    if order == 1:
        return L.values.reduce("sum", size, dims, keepdim)
    if math.isinf(order):
        return L.values.reduce("max" if order > 0 else "min", size, dims, keepdim)
    return None


# -- softmax and norms --------------------------------------------------------------------------


@rule("softmax")
def _softmax(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, (dim,) = args[0], statics
    if x.rank == 0:
        return L.values.full((), 1.0, x.dtype)
    e = one(L, "exp", two(L, "sub", x, L.values.reduce("max", x, (dim,), True)))
    return two(L, "div", e, L.values.reduce("sum", e, (dim,), True))


@rule("log_softmax")
def _log_softmax(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, (dim,) = args[0], statics
    if x.rank == 0:
        return L.values.full((), 0.0, x.dtype)
    shifted = two(L, "sub", x, L.values.reduce("max", x, (dim,), True))
    total = L.values.reduce("sum", one(L, "exp", shifted), (dim,), True)
    return two(L, "sub", shifted, one(L, "log", total))


def _standardised(L: Lowering, x: Value, axes: tuple[int, ...], eps: float) -> tuple[Value, Value, Value]:
    """x less its mean, times its reciprocal deviation; the mean; the reciprocal deviation (axes kept)."""
    count = _count(x, axes)
    mean = divided_by_size(L, L.values.reduce("sum", x, axes, True), count)
    centred = two(L, "sub", x, mean)
    square = divided_by_size(L, L.values.reduce("sum", two(L, "mul", centred, centred), axes, True), count)
    root = apply("sqrt", [binary("add", arg(0, x.dtype), lit(eps, x.dtype))])
    rstd = L.values.point(binary("div", lit(1, x.dtype), root), (square,))
    return two(L, "mul", centred, rstd), mean, rstd


def _affine(L: Lowering, y: Value, weight: Value | None, bias: Value | None, shape: Any) -> Value:
    if weight is not None:
        y = two(L, "mul", y, L.values.reshape(weight, shape))
    if bias is not None:
        y = two(L, "add", y, L.values.reshape(bias, shape))
    return y


def _same_types(*args: Any) -> bool:
    return len({a.dtype for a in args if a is not None}) == 1


@rule("native_layer_norm")
def _layer_norm(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, weight, bias = args
    rank, eps = statics
    if not _same_types(*args):
        return None
    y, mean, rstd = _standardised(L, x, tuple(range(x.rank - rank, x.rank)), eps)
    return _affine(L, y, weight, bias, x.shape[x.rank - rank :]), mean, rstd


def _channels(rank: int, count: Any) -> tuple[Any, ...]:
    return (ONE, count, *[ONE] * (rank - 2))


@rule("native_batch_norm")
def _batch_norm(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, weight, bias = args
    if not _same_types(*args):
        return None
    y, mean, rstd = _standardised(L, x, (0, *range(2, x.rank)), statics[0])
    c = x.shape[1]
    return (
        _affine(L, y, weight, bias, _channels(x.rank, c)),
        L.values.reshape(mean, (c,)),
        L.values.reshape(rstd, (c,)),
    )


@rule("native_group_norm")
def _group_norm(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, weight, bias = args
    groups, eps = statics
    n, c = x.shape[:2]
    each = (x.numel().number or 0) // max((n.number or 1) * groups, 1)
    if not each or not _same_types(*args):
        return None
    y, mean, rstd = _standardised(L, L.values.reshape(x, (n, groups, each)), (2,), eps)
    y = _affine(L, L.values.reshape(y, x.shape), weight, bias, _channels(x.rank, c))
    return y, L.values.reshape(mean, (n, groups)), L.values.reshape(rstd, (n, groups))


@rule("batch_norm_with_statistics")
def _given_norm(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, weight, bias, mean, var = args
    if not _same_types(*args):
        return None
    root = apply("sqrt", [binary("add", arg(0, x.dtype), lit(statics[0], x.dtype))])
    scale = L.values.point(binary("div", lit(1, x.dtype), root), (var,))
    if weight is not None:
        scale = two(L, "mul", scale, weight)
    shift = two(L, "mul", one_minus(L, mean), scale)
    if bias is not None:
        shift = two(L, "sub", bias, two(L, "mul", mean, scale))
    shape = _channels(x.rank, x.shape[1])
    return two(L, "add", two(L, "mul", x, L.values.reshape(scale, shape)), L.values.reshape(shift, shape))


def one_minus(L: Lowering, x: Value) -> Value:
    """-x."""
    return L.values.point(make("neg", arg(0, x.dtype)), (x,))


# -- products -----------------------------------------------------------------------------------


@rule("mm", "bmm")
def _mm(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    a, b = args
    if a.dtype != b.dtype or not is_float(a.dtype):
        return None
    return L.values.product(a, b)


@rule("mv")
def _mv(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    a, v = args
    if a.dtype != v.dtype or not is_float(a.dtype):
        return None
    return L.values.reshape(L.values.product(a, L.values.reshape(v, (*v.shape, 1))), (a.shape[0],))


@rule("dot", "vdot")
def _dot(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    return L.values.reduce("sum", two(L, "mul", args[0], args[1]), (0,))


def _added(L: Lowering, bias: Value, x: Value, beta: Any, alpha: Any) -> Any:
    """beta * bias + alpha * x; a zero beta ignores what the bias holds."""
    if not all(isinstance(n, (int, float)) for n in (beta, alpha)):
        return None
    x = x if alpha == 1 else with_number(L, "mul", x, alpha)
    if beta == 0:
        return x
    return two(L, "add", bias if beta == 1 else with_number(L, "mul", bias, beta), x)


@rule("addmm", "baddbmm", "addbmm", "addmv", "addr")
def _addmm(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    bias, a, b = args
    if len({v.dtype for v in args}) != 1 or not is_float(a.dtype):
        return None
    if L.primitive == "addmv":
        b = L.values.reshape(b, (*b.shape, 1))
    elif L.primitive == "addr":
        return _added(
            L, bias, two(L, "mul", L.values.reshape(a, (*a.shape, 1)), L.values.reshape(b, (1, *b.shape))), *statics
        )
    x = L.values.product(a, b)
    if L.primitive == "addbmm":
        x = L.values.reduce("sum", x, (0,))
    elif L.primitive == "addmv":
        x = L.values.reshape(x, (a.shape[0],))
    return _added(L, bias, x, *statics)


# -- moving elements ----------------------------------------------------------------------------


@rule("clone", "contiguous")
def _same(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    return args[0]


@rule("to_dtype")
def _to(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    code, x = L.code(statics[0]), args[0]
    if code is None:
        return None
    if x.kind == "point" and x.data.op == "cast" and x.data.args[0].op == "arg":
        from .algebra import simplified

        there = simplified(Scalar("cast", (x.data,), code), L.rewrites)
        return x.args[0] if there.op == "arg" else L.values.point(there, x.args, x.shape)
    return L.values.cast(x, code)


@rule("fill")
def _fill(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, value = args
    if not isinstance(value, Value):
        return L.values.full(x.shape, value, x.dtype)
    return L.values.expand(L.values.cast(value, x.dtype), x.shape)


@rule("where")
def _where(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    c, a, b = args
    if c.dtype != "bool" or a.dtype != b.dtype:
        return None
    return L.values.point(Scalar("where", (arg(0, "bool"), arg(1, a.dtype), arg(2, a.dtype)), a.dtype), args)


@rule("flip")
def _flip(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, (dims,) = args[0], statics
    from ..loops.index import ZERO, strides_of

    steps, offset = list(strides_of(x.shape)), ZERO
    for d in dims:
        offset = offset + steps[d] * (x.shape[d] - 1)
        steps[d] = -steps[d]
    return L.values.view(x, x.shape, steps, offset)


@rule("tril", "triu")
def _triangle(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, (diagonal,) = args[0], statics
    row, column = coordinate(x.rank - 2), coordinate(x.rank - 1)
    edge = binary("add", row, lit(diagonal, "i64"))
    keep = compare("le" if L.primitive == "tril" else "ge", column, edge)
    return L.values.point(Scalar("where", (keep, arg(0, x.dtype), lit(0, x.dtype)), x.dtype), (x,), x.shape)


@rule("repeat")
def _repeat(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, (times,) = args[0], statics
    times = [ix(t) for t in times]
    shape = [ONE] * (len(times) - x.rank) + list(x.shape)
    between = [n for t, m in zip(times, shape, strict=True) for n in (ONE, m)]
    wide = [n for t, m in zip(times, shape, strict=True) for n in (t, m)]
    y = L.values.expand(L.values.reshape(x, between), wide)
    return L.values.reshape(y, [t * m for t, m in zip(times, shape, strict=True)])


@rule("cat")
def _cat(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    parts = [p for p in args if p.shape != (ix(0),)] or [args[0]]
    if len({p.dtype for p in parts}) != 1 or any(n == ix(0) for p in parts for n in p.shape):
        return None
    if len(parts) == 1:
        return parts[0]
    dim = statics[0]
    total = ix(0)
    for p in parts:
        total = total + p.shape[dim]
    first = parts[0].shape
    return L.values.new("cat", (*first[:dim], total, *first[dim + 1 :]), parts[0].dtype, parts, dim)


@rule("stack")
def _stack(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    dim = statics[0]
    return _cat(L, [L.values.unsqueeze(p, (dim,)) for p in args], (dim,), out)


@rule("constant_pad_nd")
def _pad(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, (pad, value) = args[0], statics
    if any(not isinstance(p, int) for p in pad) or isinstance(value, complex):
        return None
    shape, inside, places = list(x.shape), None, []
    for d in range(x.rank):
        k = x.rank - 1 - d
        before, after = (pad[2 * k], pad[2 * k + 1]) if 2 * k + 1 < len(pad) else (0, 0)
        shape[d] = x.shape[d] + before + after
        places.append(("shift", d, before))
        c = coordinate(d)
        size = lit(x.shape[d].number, "i64") if x.shape[d].number is not None else Scalar("size", (), "i64", x.shape[d])
        for test in (
            [compare("ge", c, lit(before, "i64"))] if before > 0 else [],
            [compare("lt", c, binary("add", size, lit(before, "i64")))] if after > 0 else [],
        ):
            for t in test:
                inside = t if inside is None else make("and", inside, t)
    moved = L.values.pick(x, tuple(places), (), shape)
    if inside is None:
        return moved
    return L.values.point(
        Scalar("where", (inside, arg(0, x.dtype), lit(value or 0, x.dtype)), x.dtype), (moved,), shape
    )


# -- by index -----------------------------------------------------------------------------------


def _indices(L: Lowering, index: Value) -> Value:
    return L.values.cast(index, "i64")


@rule("index_select")
def _index_select(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, index = args
    dim = statics[0]
    if x.rank == 0:
        return None
    index = _indices(L, L.values.reshape(index, (index.numel(),)))
    places = [("at", 0, (dim,)) if d == dim else ("dim", d) for d in range(x.rank)]
    return L.values.pick(x, places, (index,), (*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :]))


@rule("gather")
def _gather(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, index = args
    dim = statics[0]
    if x.rank == 0 or index.rank != x.rank:
        return None
    every = tuple(range(x.rank))
    places = [("at", 0, every) if d == dim else ("dim", d) for d in range(x.rank)]
    return L.values.pick(x, places, (_indices(L, index),), index.shape)


@rule("take")
def _take(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, index = args
    flat = L.values.reshape(x, (x.numel(),))
    return L.values.pick(flat, [("at", 0, tuple(range(index.rank)))], (_indices(L, index),), index.shape)


@rule("nll_loss")
def _nll(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    x, target, weight = args
    ignore = statics[0]
    if target.dtype != "i64" or (weight is not None and weight.dtype != x.dtype):
        return None
    keep = compare("ne", arg(0, "i64"), lit(ignore, "i64"))
    safe = L.values.point(Scalar("where", (keep, arg(0, "i64"), lit(0, "i64")), "i64"), (target,))
    every = tuple(range(target.rank))
    places = [("dim", 0), ("at", 0, every), *[("dim", d) for d in range(1, target.rank)]]
    got = one_minus(L, L.values.pick(x, places, (safe,), target.shape))
    if weight is not None:
        got = two(L, "mul", got, L.values.pick(weight, [("at", 0, every)], (safe,), target.shape))
    chosen = Scalar("where", (keep, arg(1, x.dtype), lit(0, x.dtype)), x.dtype)
    return L.values.point(chosen, (target, got))


def is_number(v: Value, number: float) -> bool:
    """Whether every element is this number."""
    return v.kind == "point" and not v.args and v.data.op == "lit" and v.data.data == number


@rule("scatter_add", "scatter")
def _scatter(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    base, index, source = args
    dim = statics[0]
    if base.rank == 0 or index.rank != base.rank or source.dtype != base.dtype or source.shape != index.shape:
        return None
    index = _indices(L, index)
    same = all(n == m for d, (n, m) in enumerate(zip(index.shape, base.shape, strict=True)) if d != dim)
    if index.shape[dim] == ONE and same:
        # One place a row: each element of the result asks whether it is the place.
        hit = compare("eq", coordinate(dim), arg(1, "i64"))
        there = arg(2, base.dtype)
        if L.primitive == "scatter_add" and not is_number(base, 0):
            there = binary("add", arg(0, base.dtype), there)
        formula = Scalar("where", (hit, there, arg(0, base.dtype)), base.dtype)
        L.rewrote("scatter of one element a row to a comparison")
        return L.values.point(formula, (base, L.checked(index, base.shape[dim]), source), base.shape)
    every = tuple(range(index.rank))
    places = [("at", 0, every) if d == dim else ("dim", d) for d in range(base.rank)]
    how = "sum" if L.primitive == "scatter_add" else "set"
    return L.values.scatter(base, source, how, places, (index,))


@rule("index_add")
def _index_add(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    base, index, source = args
    dim = statics[0]
    if base.rank == 0 or source.rank != base.rank or source.dtype != base.dtype:
        return None
    index = _indices(L, L.values.reshape(index, (index.numel(),)))
    places = [("at", 0, (dim,)) if d == dim else ("dim", d) for d in range(base.rank)]
    return L.values.scatter(base, source, "sum", places, (index,))


@rule("as_strided_scatter")
def _window(L: Lowering, args: Any, statics: Any, out: Any) -> Any:
    """A window of a tensor written: the gradient of slices and selections."""
    from ..loops.index import Arithmetic, strides_of

    base, source = args
    size, stride, offset = statics
    if (
        base.dtype != source.dtype
        or source.rank > base.rank
        or any(n.number is None or n.number == 0 for n in base.shape)
    ):
        return None
    first = ix_or_none(offset)
    if first is None or first.number is None or source.shape != tuple(map(ix, size)):
        return None
    start = Arithmetic({}).unflatten(first, base.shape)
    steps = strides_of(base.shape)
    place: dict[int, int] = {}  # dimension of the window to dimension of the base
    for e, (n, s) in enumerate(zip(size, stride, strict=True)):
        if ix(n) == ONE:
            continue
        match = [d for d in range(base.rank) if steps[d] == ix(s) and base.shape[d] != ONE and d not in place.values()]
        if not match:
            return None
        place[e] = match[-1]
    inside, places = None, []
    for e in range(source.rank):
        if e not in place:
            places.append(("zero",))
            continue
        d = place[e]
        begin, n, whole = start[d].number or 0, ix(size[e]).number or 0, base.shape[d].number or 0
        if begin + n > whole:
            return None
        places.append(("dim", d) if n == whole else ("clip", d, begin))
    for d in range(base.rank):
        e = next((k for k, v in place.items() if v == d), None)
        begin, whole = start[d].number or 0, base.shape[d].number or 0
        n = 1 if e is None else ix(size[e]).number or 0
        c = coordinate(d)
        tests = [compare("ge", c, lit(begin, "i64"))] if begin else []
        tests += [compare("lt", c, lit(begin + n, "i64"))] if begin + n < whole else []
        for t in tests:
            inside = t if inside is None else make("and", inside, t)
    moved = L.values.pick(source, tuple(places), (), base.shape)
    if inside is None:
        return moved
    formula = Scalar("where", (inside, arg(1, base.dtype), arg(0, base.dtype)), base.dtype)
    return L.values.point(formula, (base, moved), base.shape)


def ix_or_none(value: Any) -> Any:
    """A size as a polynomial, None for what is no number."""
    try:
        return ix(value)
    except (TypeError, ValueError):
        return None


__all__ = ["DECOMPOSITIONS", "NUMPY", "divided_by_size", "is_number", "one", "rule", "two", "with_number"]
