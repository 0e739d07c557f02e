"""Kernels that move elements by integer tensors: take (gather, index_select, embedding, advanced indexing), and back.

Reading is one family, `take`: the place of an output element is an affine function of its coordinates plus, for each index
tensor, its entry times a stride.

Writing is made deterministic without float atomics.  Where one list of places serves whole rows (index_add, index_put, the
gradient of an embedding), the places become one *key* a source row (`keys`), and then

- adding: `links` chains the sources of each key in ascending order, `add_rows` has one thread an output element, which
  walks its key's chain;
- assigning: `owners` finds the last source of each key (an integer maximum, whose order does not matter), `put_rows` copies.

Where every column has its own places (scatter, scatter_add), one thread an output element walks along the dimension.

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
  let w = select(i, i + size, i < 0);
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
    p.buffer("heads", "u32", "w")
    n = p.word("n")
    _each(p, n)
    p.main(f"atomicMax(&heads[{keys.load('i')}], i + 1u);")
    made = p.build()
    return Kernel(
        made.name,
        made.source.replace("heads: array<u32>", "heads: array<atomic<u32>>"),
        made.access,
        made.words,
        made.parameters,
    )


@functools.cache
def by_rows(code: str, rank: int, add: bool) -> Kernel:
    """`add_rows` or `put_rows`: out[c] = x[c] plus (or replaced by) the source rows of its key, where
    key = sum(c_d ks_d) and the element within a source row is sum(c_d rs_d).

    Bindings: x, source ([rows, row elements], contiguous), heads, nexts (adding only), result. Parameters: n, offset of x,
    offset of source, elements a row; sizes, strides of x, of the key, of the row.
    """
    p = Program("add_rows" if add else "put_rows")
    x, source = p.buffer("x", code), p.buffer("source", code)
    p.buffer("heads", "u32")
    if add:
        p.buffer("nexts", "u32")
    result = p.buffer("result", code, "w")
    n, at, start, row = p.word("n"), p.word("offset_x"), p.word("offset_source"), p.word("row")
    sizes, strides = p.words("size", rank - 1), p.words("stride", rank)
    key, within = p.words("key", rank), p.words("within", rank)
    _each(p, n)
    p.main(
        *take_apart("i", sizes, rank),
        f"let element = {dot(start, within)};",
        f"var value = {x.load(dot(at, strides))};",
        f"var j = heads[{dot('0u', key)}];",
    )
    if add:
        t = TYPES[code].compute
        more = source.load(f"element + (j - 1u) * {row}")
        p.main(
            "while (j != 0u) {", f"  value = value {'||' if t == 'bool' else '+'} {more};", "  j = nexts[j - 1u];", "}"
        )
    else:
        p.main(f"if (j != 0u) {{ value = {source.load(f'element + (j - 1u) * {row}')}; }}")
    p.main(result.save("i", "value"))
    return p.build()


def by_rows_words(
    shape: Sequence[int],
    offset: int,
    source: int,
    row: int,
    strides: Sequence[int],
    key: Sequence[int],
    within: Sequence[int],
) -> tuple[tuple[int, ...], int]:
    """Parameter words and the rank class; everything outermost first."""
    rank = rank_class(len(shape), RANKS)
    return (
        _count(shape), offset, source, row, *padded(shape, rank), *_reversed(strides, rank), *_reversed(key, rank),
        *_reversed(within, rank),
    ), rank  # fmt: skip


@functools.cache
def scatter(code: str, index_code: str, rank: int, add: bool) -> Kernel:
    """out[c] = x[c] plus (or replaced by the last of) src[c with k for c_dim] over the k whose index is c_dim.

    Only coordinates inside of the index tensor's sizes have sources. Bindings: x, index, src, fault, result. Parameters: n,
    code, offsets of x, index, src; which dimension (innermost first), its size in index and in x, steps of index and src
    along it; sizes; the index's sizes; strides of x, of index and of src (0 along the dimension).
    """
    p = Program("scatter_add" if add else "scatter")
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
    p.main(*take_apart("i", sizes, rank), f"var value = {x.load(dot(at_x, sx))};")
    p.main("var mine = 0u;", *[f"if ({dim} == {d}u) {{ mine = x{d}; }}" for d in range(rank)])
    within = " && ".join(f"({dim} == {d}u || x{d} < {inside[d]})" for d in range(rank))
    t = TYPES[code].compute
    both = ("value || {}" if t == "bool" else "value + {}") if add else "{}"
    place = convert(index.load("from_index + k * " + step_i), index.type.compute, "i32")
    p.main(
        f"if ({within}) {{",
        f"  let from_index = {dot(at_i, si)};",
        f"  let from_src = {dot(at_s, ss)};",
        f"  for (var k = 0u; k < {count}; k++) {{",
        f"    if (checked({place}, {size}, {fault}) == i32(mine)) {{",
        f"      value = {both.format(src.load('from_src + k * ' + step_s))};",
        "    }",
        "  }",
        "}",
        result.save("i", "value"),
    )
    return p.build()


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
    p.top(_CHECK.replace("let w = select(i, i + size, i < 0);", "let w = i;"))
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
