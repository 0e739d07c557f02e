"""Reductions over any dimensions: sum, mean, prod, amax, amin, any, all, argmax, argmin.

A launch has `outputs` results and `splits` partial results for each: the inner reduced dimension is cut into as many
chunks (for every index of the other reduced dimensions).  Partial results lie as [outputs, splits] and are reduced by
a second launch of the same family, which has the flag `partial`; there are no atomics, and the order of additions
depends on sizes alone.

Two forms:

serial    one thread a chunk.  What software adapters want, where barriers are dear and a core likes to stay on a page;
          and what sums of columns want anywhere.
tree      one workgroup a chunk, whose threads walk it side by side and merge through workgroup memory.

`columns`: neighbouring threads take neighbouring outputs rather than neighbouring chunks (serial form).
`wide`: the inner reduced dimension is read four elements at a time (stride 1, all else multiples of four).

Parameters: offset of the output, offset of the input, outputs, splits, inner count (of fours where wide), count (as f32,
for the mean), inner stride, size of a chunk (like the inner count), the sizes and strides of the other reduced dimensions,
the sizes (without the last) and strides of the outer dimensions; innermost first.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence

from .pointwise import dot, padded, take_apart
from .wgsl import FOLDED, TYPES, Kernel, Program, convert, fold

GROUP = 64
"""Threads a workgroup of the serial form."""
TREE = 128
"""Threads a workgroup of the tree form."""
OUTER_RANKS = (1, 2, 4, 8)
INNER_RANKS = (0, 1, 3, 7)
"""Numbers of reduced dimensions beside the inner one."""

_LOWEST = {"f32": "-infinity()", "i32": "(-2147483647 - 1)", "u32": "0u", "bool": "false"}
_HIGHEST = {"f32": "infinity()", "i32": "2147483647", "u32": "4294967295u", "bool": "true"}
_ZERO = {"f32": "0.0", "i32": "0", "u32": "0u"}
_ONE = {"f32": "1.0", "i32": "1", "u32": "1u"}


def _merge_text(name: str, t: str) -> tuple[str, str]:
    """Start value, and the expression that merges a and b, both of computing type `t`."""
    match name:
        case "sum" | "mean":
            return _ZERO[t], "a + b"
        case "prod":
            return _ONE[t], "a * b"
        case "any":
            return "false", "a || b"
        case "all":
            return "true", "a && b"
        case "amax":
            return _LOWEST[t], {"f32": "max_nan(a, b)", "bool": "a || b"}.get(t, "max(a, b)")
        case "amin":
            return _HIGHEST[t], {"f32": "min_nan(a, b)", "bool": "a && b"}.get(t, "min(a, b)")
    raise ValueError(f"no reduction {name!r}")


def accumulator(name: str, input_code: str) -> str:
    """The computing type in which a reduction of such input accumulates."""
    return "bool" if name in ("any", "all") else TYPES[input_code].compute


def partial_code(compute: str) -> str:
    """The type code in which partial results are stored."""
    return compute


def _functions(name: str, t: str) -> tuple[str, str]:
    """WGSL of `start`, `accumulate` and `merge`, and the accumulator's type."""
    if name in ("argmax", "argmin"):
        if t == "bool":
            better = "x && !y" if name == "argmax" else "!x && y"
        elif t == "f32":
            sign = ">" if name == "argmax" else "<"
            better = f"(is_nan(x) && !is_nan(y)) || (!is_nan(y) && x {sign} y)"
        else:
            better = "x > y" if name == "argmax" else "x < y"
        same = "(x == y || (is_nan(x) && is_nan(y)))" if t == "f32" else "x == y"
        zero = {"bool": "false"}.get(t, _ZERO.get(t, ""))
        return (
            f"struct Best {{ value: {t}, index: u32 }}\n"
            f"fn better(x: {t}, y: {t}) -> bool {{ return {better}; }}\n"
            f"fn same(x: {t}, y: {t}) -> bool {{ return {same}; }}\n"
            f"fn start() -> Best {{ return Best({zero}, 0xffffffffu); }}\n"
            "fn merge(a: Best, b: Best) -> Best {\n"
            "  if (a.index == 0xffffffffu) { return b; }\n"
            "  if (b.index == 0xffffffffu) { return a; }\n"
            "  if (better(b.value, a.value) || (same(a.value, b.value) && b.index < a.index)) { return b; }\n"
            "  return a;\n}\n"
            f"fn accumulate(a: Best, x: {t}, i: u32) -> Best {{ return merge(a, Best(x, i)); }}\n"
        ), "Best"
    start, both = _merge_text(name, t)
    return (
        f"fn start() -> {t} {{ return {start}; }}\n"
        f"fn merge(a: {t}, b: {t}) -> {t} {{ return {both}; }}\n"
        f"fn accumulate(a: {t}, b: {t}, i: u32) -> {t} {{ return {both}; }}\n"
    ), t


@functools.cache
def build(
    name: str,
    input_code: str,
    output_code: str,
    *,
    form: str = "serial",
    partial: bool = False,
    last: bool = True,
    columns: bool = False,
    wide: bool = False,
    outer: int = 1,
    inner: int = 0,
) -> Kernel:
    """A pass of reduction `name`. `partial`: it reads partial results; `last`: it writes final ones, of `output_code`.

    `input_code` is the type of the original input in every pass; `outer` and `inner` are rank classes.
    """
    t = accumulator(name, input_code)
    arg = name in ("argmax", "argmin")
    p = Program(
        f"{name}.{form}{'.partial' if partial else ''}{'.wide' if wide else ''}", (TREE if form == "tree" else GROUP, 1)
    )
    if partial:
        source = p.buffer("values", partial_code(t), wide=wide)
        indices = p.buffer("places", "u32", wide=wide) if arg else None
    else:
        source, indices = p.buffer("values", input_code, wide=wide), None
    result = p.buffer("result", output_code if last else partial_code(t), "w")
    if arg and not last:
        p.buffer("best", "u32", "w")

    start, at = p.word("offset"), p.word("offset_in")
    outputs, splits, count, total = p.word("outputs"), p.word("splits"), p.word("inner"), p.word("count", "f32")
    step, chunk = p.word("step"), p.word("chunk")
    sizes, strides = p.words("size", inner), p.words("stride", inner)
    outer_sizes, outer_strides = p.words("outer_size", outer - 1), p.words("outer_stride", outer)

    functions, kind = _functions(name, t)
    p.top(functions)
    if form == "tree":
        p.top(f"var<workgroup> shared_values: array<{kind if kind != 'bool' else 'u32'}, {TREE}>;")
        p.main(
            f"let task = {FOLDED};",
            f"if (task >= {outputs} * {splits}) {{ return; }}",
            f"let o = task / {splits};",
            f"let s = task - o * {splits};",
            f"let first = s * {chunk} + lane;",
            f"let end = min({count}, (s + 1u) * {chunk});",
            f"let leap = {TREE}u;",
        )
    else:
        p.main(f"let task = {FOLDED} * {GROUP}u + lane;", f"if (task >= {outputs} * {splits}) {{ return; }}")
        if columns:
            p.main(f"let s = task / {outputs};", f"let o = task - s * {outputs};")
        else:
            p.main(f"let o = task / {splits};", f"let s = task - o * {splits};")
        p.main(f"let first = s * {chunk};", f"let end = min({count}, (s + 1u) * {chunk});", "let leap = 1u;")
    p.main(*take_apart("o", outer_sizes, outer, "x"))
    p.main(f"let base = {dot(at, outer_strides)};", f"let pace = {step};")
    lanes = 4 if wide else 1
    p.main(*[f"var a{j} = start();" for j in range(lanes)])
    depth = ""
    place = "base"
    for d in range(inner):
        p.main(f"{depth}for (var r{d} = 0u; r{d} < {sizes[d]}; r{d}++) {{")
        depth += "  "
        place += f" + r{d} * {strides[d]}"
    p.main(f"{depth}let from_ = {place};", f"{depth}for (var k = first; k < end; k += leap) {{")
    body = depth + "  "
    if wide:
        p.main(f"{body}let v = values[from_ + k];")
        if indices is not None:
            p.main(f"{body}let q = places[from_ + k];")
    for j in range(lanes):
        text = source.lane("v", j) if wide else source.load("from_ + k * pace")
        value = text if partial else convert(text, TYPES[input_code].compute, t)
        if indices is not None:
            other = f"q.{'xyzw'[j]}" if wide else "places[from_ + k * pace]"
            p.main(f"{body}a{j} = merge(a{j}, Best({value}, {other}));")
        else:
            p.main(f"{body}a{j} = accumulate(a{j}, {value}, {f'k * 4u + {j}u' if wide else 'k'});")
    p.main(f"{depth}}}")
    for d in reversed(range(inner)):
        p.main("  " * d + "}")
    p.main("var a = merge(merge(a0, a1), merge(a2, a3));" if wide else "var a = a0;")
    if form == "tree":
        put, get = (
            ("select(0u, 1u, a)", "(shared_values[lane + width] != 0u)")
            if kind == "bool"
            else ("a", "shared_values[lane + width]")
        )
        p.main(
            f"shared_values[lane] = {put};",
            "workgroupBarrier();",
            f"for (var width = {TREE // 2}u; width > 0u; width >>= 1u) {{",
            f"  if (lane < width) {{ a = merge(a, {get}); shared_values[lane] = {put}; }}",
            "  workgroupBarrier();",
            "}",
            "if (lane != 0u) { return; }",
        )
    place = f"{start} + o" if last else f"{start} + o * {splits} + s"
    if arg and last:
        p.main(result.save(place, convert("bitcast<i32>(a.index)", "i32", TYPES[output_code].compute)))
    elif arg:
        p.main(result.save(place, "a.value"), f"best[{place}] = a.index;")
    elif last:
        final = f"(a / {total})" if name == "mean" else "a"
        p.main(result.save(place, convert(final, t, TYPES[output_code].compute)))
    else:
        p.main(result.save(place, "a"))
    return p.build()


def words(
    out: int,
    offset: int,
    outputs: int,
    splits: int,
    inner: int,
    count: int,
    step: int,
    others: Sequence[tuple[int, int]],
    outer: Sequence[tuple[int, int]],
    ranks: tuple[int, int],
    wide: bool,
) -> tuple[int, ...]:
    """Parameter words. `others` and `outer` are (size, stride) innermost first; `ranks` their classes."""
    unit = 4 if wide else 1
    chunk = -(-(inner // unit) // splits)
    more = [*others, *[(1, 0)] * (ranks[0] - len(others))]
    bits = struct.unpack("<I", struct.pack("<f", float(count)))[0]
    return (
        out, offset // unit, outputs, splits, inner // unit, bits, step, chunk,
        *[s for s, _ in more], *[t // unit for _, t in more],
        *padded([s for s, _ in reversed(outer)], ranks[1]),
        *[t // unit for _, t in outer], *[0] * (ranks[1] - len(outer)),
    )  # fmt: skip


def grid(outputs: int, splits: int, form: str) -> tuple[int, int, int]:
    """Workgroups of a launch."""
    return fold(outputs * splits if form == "tree" else -(-outputs * splits // GROUP))


def splits_for(outputs: int, count: int, inner: int, form: str) -> int:
    """How many partial results to make for each output; 1 means that one pass will do.

    `count` are all the elements of an output, `inner` the units along the inner dimension, which is what can be split.
    """
    if form == "tree":
        if outputs >= 512 or count <= 32 * TREE:
            return 1
        return max(1, min(-(-count // (16 * TREE)), -(-1024 // outputs), 1024, inner // 2))
    if count <= 1024:
        return 1
    most = -(-16_384 // outputs) if outputs < 8192 else -(-count // 4096)
    return max(1, min(-(-count // 1024), most, inner // 2))
