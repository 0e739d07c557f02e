"""Kernels that move elements by integer tensors: take (gather, index_select, embedding, advanced indexing), and back.

Reading is one family, `take`: the place of an output element is an affine function of its coordinates plus, for each index
tensor, its entry times a stride.

Writing is made deterministic without float atomics.  Where one list of places serves whole rows (index_add, index_put, the
gradient of an embedding), the places become one *key* a source row (`keys`), and then

- adding (or multiplying, or comparing): `links` chains the sources of each key in ascending order (where there are many, their
  keys are sorted first, and `chains` reads the chains off), and `by_rows` has one thread an output element, which walks its
  key's chain; `advance` lets a chain be walked in several launches;
- assigning: `owners` finds the last source of each key (an integer maximum, whose order does not matter), `put_rows` copies.

Where every column has its own places (scatter, scatter_add), one thread an output element walks along the dimension, or
`scatter_keys` gives every source element a key, and the rest goes as above.

Indices are checked: the first two words of the binding `fault` take a code (given as a parameter, never 0) and an index that is
out of range; reads are clamped.  Dimensions stand innermost first in the parameters, as everywhere.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from .pointwise import FLAT_GROUP as GROUP
from .pointwise import RANKS, dot, padded, rank_class, take_apart
from .wgsl import FOLDED, TYPES, Kernel, Program, convert, fold

MAX_INDICES = 5
"""Index tensors that one launch of `take` or `keys` can have."""

_CHECK = """fn checked(i: i32, size: i32, code: u32) -> i32 {
  let w = select(i, i + size, i < 0 && (code >> 31u) == 0u);
  if (w < 0 || w >= size) {
    fault[0] = code;
    fault[1] = bitcast<u32>(i);
  }
  return clamp(w, 0, size - 1);
}"""


def grid(n: int) -> tuple[int, int, int]:
    """Workgroups for one thread an element."""
    return fold(-(-n // GROUP))


def _each(p: Program, n: str) -> None:
    p.main(f"let i = {FOLDED} * {GROUP}u + lane;", f"if (i >= {n}) {{ return; }}")


@functools.cache
def take(code: str, index_codes: tuple[str, ...], rank: int, *, out_code: str | None = None) -> Kernel:
    """out[c] = x[offset + sum(c_d xs_d) + sum over t of index_t[offset_t + sum(c_d is_td)] step_t].

    Bindings: x, the index tensors, fault, result. Parameters: n, code of the fault, offset of x, for each index tensor its
    offset, size and step; sizes, strides of x, strides of each index tensor.
    """
    p = Program(f"take.{len(index_codes)}")
    x = p.buffer("x", code)
    indices = [p.buffer(f"index{t}", c) for t, c in enumerate(index_codes)]
    p.buffer("fault", "u32", "w")
    result = p.buffer("result", out_code or code, "w")
    n, fault, at = p.word("n"), p.word("code"), p.word("offset_x")
    heads = [(p.word(f"offset{t}"), p.word(f"size{t}", "i32"), p.word(f"step{t}")) for t in range(len(indices))]
    sizes, strides = p.words("size", rank - 1), p.words("stride", rank)
    steps = [p.words(f"stride{t}_", rank) for t in range(len(indices))]
    p.top(_CHECK)
    _each(p, n)
    p.main(*take_apart("i", sizes, rank), f"var at = {dot(at, strides)};")
    for (offset, size, step), b, s in zip(heads, indices, steps):
        place = convert(b.load(dot(offset, s)), b.type.compute, "i32")
        p.main(f"at += u32(checked({place}, {size}, {fault})) * {step};")
    p.main(result.save("i", convert(x.load("at"), x.type.compute, result.type.compute)))
    return p.build()


def take_words(
    shape: Sequence[int], code: int, offset: int, strides: Sequence[int],
    indices: Sequence[tuple[int, int, int, Sequence[int]]],
) -> tuple[tuple[int, ...], int]:  # fmt: skip
    """Parameter words and the rank class. `indices` are (offset, size, step, strides); all outermost first."""
    rank = rank_class(len(shape), RANKS)
    words = [_count(shape), code, offset]
    for at, size, step, _ in indices:
        words += [at, size, step]
    words += [*padded(shape, rank), *_reversed(strides, rank)]
    for *_, steps in indices:
        words += _reversed(steps, rank)
    return tuple(words), rank


def _count(shape: Sequence[int]) -> int:
    n = 1
    for s in shape:
        n *= s
    return n


def _reversed(strides: Sequence[int], rank: int) -> list[int]:
    return [*reversed(strides), *[0] * (rank - len(strides))]


@functools.cache
def keys(index_codes: tuple[str, ...], rank: int) -> Kernel:
    """key[i] = sum over t of checked(index_t[...]) step_t for each coordinate i of the indices' common shape.

    Bindings: index tensors, fault, result (i32). Parameters: n, code; for each: offset, size, step; sizes; strides of each.
    """
    p = Program("keys")
    indices = [p.buffer(f"index{t}", c) for t, c in enumerate(index_codes)]
    p.buffer("fault", "u32", "w")
    result = p.buffer("result", "i32", "w")
    n, fault = p.word("n"), p.word("code")
    heads = [(p.word(f"offset{t}"), p.word(f"size{t}", "i32"), p.word(f"step{t}", "i32")) for t in range(len(indices))]
    sizes = p.words("size", rank - 1)
    steps = [p.words(f"stride{t}_", rank) for t in range(len(indices))]
    p.top(_CHECK)
    _each(p, n)
    p.main(*take_apart("i", sizes, rank), "var key = 0;")
    for (offset, size, step), b, s in zip(heads, indices, steps):
        place = convert(b.load(dot(offset, s)), b.type.compute, "i32")
        p.main(f"key += checked({place}, {size}, {fault}) * {step};")
    p.main(result.save("i", "key"))
    return p.build()


def keys_words(
    shape: Sequence[int], code: int, indices: Sequence[tuple[int, int, int, Sequence[int]]]
) -> tuple[tuple[int, ...], int]:
    """Parameter words and the rank class; `indices` as in `take_words`."""
    rank = rank_class(len(shape), RANKS)
    words = [_count(shape), code]
    for at, size, step, _ in indices:
        words += [at, size, step]
    words += padded(shape, rank)
    for *_, steps in indices:
        words += _reversed(steps, rank)
    return tuple(words), rank


@functools.cache
def links() -> Kernel:
    """Chains of sources with the same key. Bindings: keys, heads (zeroed, one a key), nexts. Parameter: n.

    heads[k] is 1 + the first source of key k, nexts[i] is 1 + the next source after i with the same key, 0 for none.
    """
    p = Program("links")
    keys = p.buffer("keys", "i32")
    p.buffer("heads", "u32", "w")
    p.buffer("nexts", "u32", "w")
    n = p.word("n")
    _each(p, n)
    p.main(
        f"let key = {keys.load('i')};",
        "var earlier = false;",
        f"for (var j = i; j > 0u && !earlier; j--) {{ earlier = {keys.load('j - 1u')} == key; }}",
        "if (!earlier) { heads[key] = i + 1u; }",
        "var next = 0u;",
        f"for (var j = i + 1u; j < {n} && next == 0u; j++) {{ if ({keys.load('j')} == key) {{ next = j + 1u; }} }}",
        "nexts[i] = next;",
    )
    return p.build()


@functools.cache
def owners() -> Kernel:
    """heads[k] = 1 + the last source of key k (0 for none). Bindings: keys, heads (zeroed). Parameter: n."""
    p = Program("owners")
    keys = p.buffer("keys", "i32")
    p.buffer("heads", "u32", "w", atomic=True)
    n = p.word("n")
    _each(p, n)
    p.main(f"atomicMax(&heads[{keys.load('i')}], i + 1u);")
    return p.build()


@functools.cache
def chains() -> Kernel:
    """The same, read off sorted keys. Bindings: keys (sorted, as `sort.runs` makes them of i32), places, heads, nexts. Parameter: n."""
    p = Program("chains")
    p.buffer("keys", "u32")
    p.buffer("places", "u32")
    p.buffer("heads", "u32", "w")
    p.buffer("nexts", "u32", "w")
    n = p.word("n")
    _each(p, n)
    p.main(
        "let key = keys[i];",
        "if (i == 0u || keys[max(i, 1u) - 1u] != key) { heads[key ^ 0x80000000u] = places[i] + 1u; }",
        "var next = 0u;",
        f"if (i + 1u < {n}) {{ if (keys[i + 1u] == key) {{ next = places[i + 1u] + 1u; }} }}",
        "nexts[places[i]] = next;",
    )
    return p.build()


@functools.cache
def advance() -> Kernel:
    """Heads moved on along their chains. Bindings: heads, nexts. Parameters: keys, steps."""
    p = Program("advance")
    p.buffer("heads", "u32", "w")
    p.buffer("nexts", "u32")
    n, steps = p.word("n"), p.word("steps")
    _each(p, n)
    p.main(
        "var j = heads[i];",
        f"for (var k = 0u; k < {steps} && j != 0u; k++) {{ j = nexts[j - 1u]; }}",
        "heads[i] = j;",
    )
    return p.build()


REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _reduction(kind: str, t: str) -> tuple[str, str]:
    """Of a reduction by index in computing type `t`: what changes nothing, and the expression that takes {} to `value`."""
    if kind in ("sum", "mean"):
        return ("false", "value || {}") if t == "bool" else (f"{t}(0)", "value + {}")
    if kind == "prod":
        return ("true", "value && {}") if t == "bool" else (f"{t}(1)", "value * {}")
    if t == "bool":
        return ("false", "value || {}") if kind == "amax" else ("true", "value && {}")
    if t == "f32":
        return ("-infinity()", "max_nan(value, {})") if kind == "amax" else ("infinity()", "min_nan(value, {})")
    least, most = {"i32": ("(-2147483647 - 1)", "2147483647"), "u32": ("0u", "4294967295u")}[t]
    return (least, "max(value, {})") if kind == "amax" else (most, "min(value, {})")


def _finish(kind: str, t: str, include: bool) -> list[str]:
    """Lines that turn `value`, `hits` and `old` into the result."""
    lines = []
    if kind == "mean":
        hits = "hits + 1u" if include else "max(hits, 1u)"
        mean = {"f32": f"value / f32({hits})", "i32": f"floor_divide_i(value, i32({hits}))", "u32": f"value / ({hits})"}
        lines.append(f"value = {mean.get(t, 'value')};")
    return lines if include else [*lines, "if (hits == 0u) { value = old; }"]


@functools.cache
def by_rows(code: str, rank: int, kind: str, *, include: bool = True, more: bool = False) -> Kernel:
    """out[c] = x[c] combined with (or, of kind "put", replaced by) the source rows of its key, where key = sum(c_d ks_d) and the
    element within a source row is sum(c_d rs_d). Without `include`, x[c] counts only where there are no sources.

    Bindings: x (none where `more`: the result goes on from what it holds), source ([rows, row elements], contiguous), heads, nexts
    (none for "put"), result. Parameters: n, offset of x, offset of source, elements a row, most steps; sizes, strides of x, of the
    key, of the row.
    """
    p = Program(f"{kind}_rows{'.more' if more else ''}")
    x = None if more else p.buffer("x", code)
    source = p.buffer("source", code)
    p.buffer("heads", "u32")
    if kind != "put":
        p.buffer("nexts", "u32")
    result = p.buffer("result", code, "w")
    n, at, start, row, steps = (p.word(w) for w in ("n", "offset_x", "offset_source", "row", "steps"))
    sizes, strides = p.words("size", rank - 1), p.words("stride", rank)
    key, within = p.words("key", rank), p.words("within", rank)
    _each(p, n)
    p.main(*take_apart("i", sizes, rank), f"var j = heads[{dot('0u', key)}];")
    if more:
        p.main("if (j == 0u) { return; }")
    given = source.load(f"element + (j - 1u) * {row}")
    old = result.load("i") if x is None else x.load(dot(at, strides))
    p.main(f"let element = {dot(start, within)};", f"let old = {old};", "var value = old;")
    if kind == "put":
        p.main(f"if (j != 0u) {{ value = {given}; }}")
    else:
        neutral, both = _reduction(kind, TYPES[code].compute)
        if not include:
            p.main(f"if (j != 0u) {{ value = {neutral}; }}")
        p.main(
            "var hits = 0u;",
            f"while (j != 0u && hits < {steps}) {{",
            f"  value = {both.format(given)};",
            "  j = nexts[j - 1u];",
            "  hits += 1u;",
            "}",
            *_finish(kind, TYPES[code].compute, include),
        )
    p.main(result.save("i", "value"))
    return p.build()


def by_rows_words(
    shape: Sequence[int],
    offset: int,
    source: int,
    row: int,
    steps: int,
    strides: Sequence[int],
    key: Sequence[int],
    within: Sequence[int],
) -> tuple[tuple[int, ...], int]:
    """Parameter words and the rank class; everything outermost first."""
    rank = rank_class(len(shape), RANKS)
    return (
        _count(shape), offset, source, row, steps, *padded(shape, rank), *_reversed(strides, rank), *_reversed(key, rank),
        *_reversed(within, rank),
    ), rank  # fmt: skip


@functools.cache
def scatter(code: str, index_code: str, rank: int, kind: str, *, include: bool = True) -> Kernel:
    """out[c] = x[c] combined with (or, of kind "put", replaced by the last of) src[c with k for c_dim] over the k whose index is
    c_dim. Without `include`, x[c] counts only where there are none.

    Only coordinates inside of the index tensor's sizes have sources. Bindings: x, index, src, fault, result. Parameters: n,
    code, offsets of x, index, src; which dimension (innermost first), its size in index and in x, steps of index and src
    along it; sizes; the index's sizes; strides of x, of index and of src (0 along the dimension).
    """
    p = Program(f"scatter_{kind}")
    x, index, src = p.buffer("x", code), p.buffer("index", index_code), p.buffer("src", code)
    p.buffer("fault", "u32", "w")
    result = p.buffer("result", code, "w")
    n, fault = p.word("n"), p.word("code")
    at_x, at_i, at_s = p.word("offset_x"), p.word("offset_index"), p.word("offset_src")
    dim, count, size = p.word("dim"), p.word("count"), p.word("size", "i32")
    step_i, step_s = p.word("step_index"), p.word("step_src")
    sizes, inside = p.words("size", rank - 1), p.words("inside", rank)
    sx, si, ss = p.words("stride_x", rank), p.words("stride_index", rank), p.words("stride_src", rank)
    p.top(_CHECK)
    _each(p, n)
    p.main(*take_apart("i", sizes, rank), f"let old = {x.load(dot(at_x, sx))};", "var value = old;", "var hits = 0u;")
    p.main("var mine = 0u;", *[f"if ({dim} == {d}u) {{ mine = x{d}; }}" for d in range(rank)])
    within = " && ".join(f"({dim} == {d}u || x{d} < {inside[d]})" for d in range(rank))
    t = TYPES[code].compute
    neutral, both = ("", "{}") if kind == "put" else _reduction(kind, t)
    place = convert(index.load("from_index + k * " + step_i), index.type.compute, "i32")
    p.main(
        f"if ({within}) {{",
        f"  let from_index = {dot(at_i, si)};",
        f"  let from_src = {dot(at_s, ss)};",
        f"  for (var k = 0u; k < {count}; k++) {{",
        f"    if (checked({place}, {size}, {fault}) == i32(mine)) {{",
        *([] if include else [f"      if (hits == 0u) {{ value = {neutral}; }}"]),
        f"      value = {both.format(src.load('from_src + k * ' + step_s))};",
        "      hits += 1u;",
        "    }",
        "  }",
        "}",
        *([] if kind == "put" else _finish(kind, t, include)),
        result.save("i", "value"),
    )
    return p.build()


@functools.cache
def scatter_keys(index_code: str, rank: int) -> Kernel:
    """key[i] = sum(c_d ks_d) + checked(index[c]) step for each coordinate c of the index, in row-major order.

    Bindings: index, fault, keys (i32). Parameters: n, code, offset of the index, size and step of the dimension; sizes, strides of
    the index, strides of the key (0 along the dimension).
    """
    p = Program("scatter_keys")
    index = p.buffer("index", index_code)
    p.buffer("fault", "u32", "w")
    p.buffer("keys", "i32", "w")
    n, fault, at, size, step = p.word("n"), p.word("code"), p.word("offset"), p.word("size", "i32"), p.word("step")
    sizes, strides, key = p.words("size", rank - 1), p.words("stride", rank), p.words("key", rank)
    p.top(_CHECK)
    _each(p, n)
    place = convert(index.load(dot(at, strides)), index.type.compute, "i32")
    p.main(
        *take_apart("i", sizes, rank),
        f"keys[i] = i32({dot('0u', key)} + u32(checked({place}, {size}, {fault})) * {step});",
    )
    return p.build()


def scatter_keys_words(
    shape: Sequence[int], code: int, offset: int, size: int, step: int, strides: Sequence[int], key: Sequence[int]
) -> tuple[tuple[int, ...], int]:
    """Parameter words and the rank class; outermost first."""
    rank = rank_class(len(shape), RANKS)
    return (
        _count(shape), code, offset, size, step, *padded(shape, rank), *_reversed(strides, rank), *_reversed(key, rank)
    ), rank  # fmt: skip


def scatter_words(
    shape: Sequence[int], code: int, offsets: tuple[int, int, int], dim: int, index_shape: Sequence[int], x: Sequence[int],
    index: Sequence[int], src: Sequence[int],
) -> tuple[tuple[int, ...], int]:  # fmt: skip
    """Parameter words and the rank class; shapes and strides outermost first."""
    rank = rank_class(len(shape), RANKS)
    zeroed = [[0 if d == dim else s for d, s in enumerate(strides)] for strides in (index, src)]
    return (
        _count(shape), code, *offsets, len(shape) - 1 - dim, index_shape[dim], shape[dim], index[dim], src[dim],
        *padded(shape, rank), *reversed(index_shape), *[1] * (rank - len(shape)),
        *_reversed(x, rank), *_reversed(zeroed[0], rank), *_reversed(zeroed[1], rank),
    ), rank  # fmt: skip


@functools.cache
def nll(code: str, index_code: str, weight_code: str | None) -> Kernel:
    """out[i] = -x[i, target[i]] (times weight[target[i]]), and 0 where the target is the one to ignore.

    Bindings: x, target, weight (if any), fault, result. Parameters: n, code, offsets of x, target, weight; strides of x (row,
    class), of target, of weight; classes, ignored target.
    """
    p = Program("nll_loss")
    x, target = p.buffer("x", code), p.buffer("targets", index_code)
    weight = p.buffer("weight", weight_code) if weight_code else None
    p.buffer("fault", "u32", "w")
    result = p.buffer("result", code, "w")
    n, fault, at_x, at_t, at_w = (p.word(w) for w in ("n", "code", "offset_x", "offset_target", "offset_weight"))
    row, col, step_t, step_w = (p.word(w) for w in ("row", "class", "step_target", "step_weight"))
    classes, ignored = p.word("classes", "i32"), p.word("ignored", "i32")
    p.top(_CHECK)
    _each(p, n)
    scale = f" * {weight.load(f'{at_w} + u32(c) * {step_w}')}" if weight is not None else ""
    picked = x.load(f"{at_x} + i * {row} + u32(c) * {col}")
    p.main(
        f"let t = {convert(target.load(f'{at_t} + i * {step_t}'), target.type.compute, 'i32')};",
        f"if (t == {ignored}) {{ {result.save('i', '0.0')} return; }}",
        f"let c = checked(t, {classes}, {fault});",
        result.save("i", f"-{picked}{scale}"),
    )
    return p.build()
