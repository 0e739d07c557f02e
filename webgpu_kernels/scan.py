"""Running sums and products along a dimension.

One thread walks a chunk of a line.  Long lines take three launches: the totals of the chunks (`totals`), a scan of those, and
the chunks again, each begun with what the ones before it come to (`begun`).

Parameters: offsets of the output and the input, lines, chunks a line, elements a chunk, elements a line, steps of the output and
the input along the line, sizes of the outer dimensions without the last, strides of output and input; innermost first.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from .pointwise import dot, padded, take_apart
from .wgsl import FOLDED, TYPES, Kernel, Program, convert, fold

GROUP = 64
CHUNK = 256
"""Elements of a line above twice which it is cut."""
OUTER_RANKS = (1, 3, 7)


@functools.cache
def build(name: str, code: str, outer: int, *, totals: bool = False, begun: bool = False) -> Kernel:
    """ "sum" or "prod" of arrays of a type code. Bindings: input, the totals of earlier chunks (where begun), result."""
    t = TYPES[code].compute if TYPES[code].compute != "bool" else "i32"
    p = Program(f"scan_{name}{'.totals' if totals else ''}{'.begun' if begun else ''}", (GROUP, 1))
    x = p.buffer("x", code)
    before = p.buffer("before", t) if begun else None
    result = p.buffer("result", t if totals else code, "w")
    out, at = p.word("offset"), p.word("offset_x")
    lines, chunks, size, count = p.word("lines"), p.word("chunks"), p.word("chunk"), p.word("count")
    step_out, step = p.word("step_out"), p.word("step")
    sizes = p.words("size", outer - 1)
    strides_out, strides = p.words("stride_out", outer), p.words("stride", outer)
    zero = {"f32": "0.0", "i32": "0", "u32": "0u"}[t] if name == "sum" else {"f32": "1.0", "i32": "1", "u32": "1u"}[t]
    both = "+" if name == "sum" else "*"
    p.main(
        f"let task = {FOLDED} * {GROUP}u + lane;",
        f"if (task >= {lines} * {chunks}) {{ return; }}",
        f"let line = task / {chunks};",
        f"let chunk = task - line * {chunks};",
        *take_apart("line", sizes, outer, "x"),
        f"let from_x = {dot(at, strides)};",
        f"let from_out = {dot(out, strides_out)};",
        f"let first = chunk * {size};",
        f"let end = min({count}, first + {size});",
        f"var total = {zero};",
    )
    if before is not None:  # the scan of totals holds, for each chunk, all up to its end
        p.main(f"if (chunk > 0u) {{ total = {before.load(f'line * {chunks} + chunk - 1u')}; }}")
    value = convert(x.load(f"from_x + i * {step}"), x.type.compute, t)
    p.main("for (var i = first; i < end; i++) {", f"  total = total {both} {value};")
    if not totals:
        p.main("  " + result.save(f"from_out + i * {step_out}", convert("total", t, result.type.compute)))
    p.main("}")
    if totals:
        p.main(result.save(f"line * {chunks} + chunk", "total"))
    return p.build()


def words(
    out: int, offset: int, lines: int, chunks: int, chunk: int, count: int, step_out: int, step: int, sizes: Sequence[int],
    strides_out: Sequence[int], strides: Sequence[int], outer: int,
) -> tuple[int, ...]:  # fmt: skip
    """Parameter words; sizes and strides outermost first."""
    return (
        out, offset, lines, chunks, chunk, count, step_out, step, *padded(sizes, outer),
        *reversed(strides_out), *[0] * (outer - len(sizes)), *reversed(strides), *[0] * (outer - len(sizes)),
    )  # fmt: skip


def grid(lines: int, chunks: int) -> tuple[int, int, int]:
    """Workgroups of a launch."""
    return fold(-(-lines * chunks // GROUP))


# -- scans of pairs ---------------------------------------------------------------------------------------------

PAIRS = ("cummax", "cummin", "logcumsumexp", "linear")


def _pair_text(kind: str, t: str) -> str:
    """WGSL of the pair that a scan carries along, of its start, and of joining an earlier with a later one."""
    if kind == "logcumsumexp":  # the largest so far, and the sum of exponentials relative to it
        return (
            "struct Pair { a: f32, b: f32 }\n"
            "fn start() -> Pair { return Pair(-infinity(), 0.0); }\n"
            "fn join(p: Pair, q: Pair) -> Pair {\n"
            "  let m = max_nan(p.a, q.a);\n"
            "  if (!is_finite(m)) { return Pair(m, 1.0); }\n"
            "  return Pair(m, p.b * exp_nonpositive(p.a - m) + q.b * exp_nonpositive(q.a - m));\n}\n"
        )
    if kind == "linear":  # the map s -> a s + b
        return (
            f"struct Pair {{ a: {t}, b: {t} }}\n"
            f"fn start() -> Pair {{ return Pair({t}(1), {t}(0)); }}\n"
            "fn join(p: Pair, q: Pair) -> Pair { return Pair(p.a * q.a, q.a * p.b + q.b); }\n"
        )
    sign = ">=" if kind == "cummax" else "<="  # the extreme and its last place
    compare = {"bool": f"(u32(q.a) {sign} u32(p.a))"}.get(t, f"q.a {sign} p.a")
    later = f"is_nan(q.a) || (!is_nan(p.a) && {compare})" if t == "f32" else compare
    zero = {"f32": "0.0", "i32": "0", "u32": "0u", "bool": "false"}[t]
    return (
        f"struct Pair {{ a: {t}, b: u32 }}\n"
        f"fn start() -> Pair {{ return Pair({zero}, 0xffffffffu); }}\n"
        "fn join(p: Pair, q: Pair) -> Pair {\n"
        "  if (p.b == 0xffffffffu) { return q; }\n"
        f"  if (q.b != 0xffffffffu && ({later})) {{ return q; }}\n"
        "  return p;\n}\n"
    )


def pair_codes(kind: str, code: str) -> tuple[str, str]:
    """The types in which totals of the two components are stored."""
    t = TYPES[code].compute
    return t, "u32" if kind in ("cummax", "cummin") else t


@functools.cache
def pairs(kind: str, code: str, outer: int, *, totals: bool = False, begun: bool = False) -> Kernel:
    """The scan of lines of `kind`; cut into chunks as above. Bindings: x (for "linear" the factors, then the terms), the two
    components of the totals of the chunks before (where begun); results: the values, and the places of extremes (i64), or both
    components of the totals.

    Parameters: offsets of the output and the inputs, lines, chunks a line, elements a chunk, elements a line, steps of output and
    inputs, sizes of the outer dimensions without the last, strides of output and inputs; innermost first.
    """
    t = TYPES[code].compute
    extreme = kind in ("cummax", "cummin")
    p = Program(f"scan_{kind}{'.totals' if totals else ''}{'.begun' if begun else ''}", (GROUP, 1))
    inputs = [p.buffer(n, code) for n in (("x", "y") if kind == "linear" else ("x",))]
    first, second = pair_codes(kind, code)
    earlier = [p.buffer(n, c) for n, c in (("before_a", first), ("before_b", second))] if begun else []
    if totals:
        results = [p.buffer("total_a", first, "w"), p.buffer("total_b", second, "w")]
    else:
        results = [p.buffer("result", code, "w"), *([p.buffer("places", "i64", "w")] if extreme else [])]
    out, offsets = p.word("offset"), [p.word(f"offset_{b.name}") for b in inputs]
    lines, chunks, size, count = p.word("lines"), p.word("chunks"), p.word("chunk"), p.word("count")
    step_out, steps = p.word("step_out"), [p.word(f"step_{b.name}") for b in inputs]
    sizes = p.words("size", outer - 1)
    strides_out, strides = p.words("stride_out", outer), [p.words(f"stride_{b.name}", outer) for b in inputs]
    p.top(_pair_text(kind, t))
    p.main(
        f"let task = {FOLDED} * {GROUP}u + lane;",
        f"if (task >= {lines} * {chunks}) {{ return; }}",
        f"let line = task / {chunks};",
        f"let chunk = task - line * {chunks};",
        *take_apart("line", sizes, outer, "x"),
        *[f"let from_{b.name} = {dot(o, s)};" for b, o, s in zip(inputs, offsets, strides)],
        f"let from_out = {dot(out, strides_out)};",
        f"let first = chunk * {size};",
        f"let end = min({count}, first + {size});",
        "var pair = start();",
    )
    if earlier:
        at = f"line * {chunks} + chunk - 1u"
        p.main(f"if (chunk > 0u) {{ pair = Pair({earlier[0].load(at)}, {earlier[1].load(at)}); }}")
    values = [b.load(f"from_{b.name} + i * {s}") for b, s in zip(inputs, steps)]
    one = f"Pair({values[0]}, {values[1] if kind == 'linear' else '1.0' if kind == 'logcumsumexp' else 'i'})"
    p.main("for (var i = first; i < end; i++) {")
    # Before the first element there is nothing, not a zero that its factor would multiply (it may be infinite).
    p.main(f"  if (i == 0u) {{ pair = {one}; }} else {{ pair = join(pair, {one}); }}")
    if not totals:
        made = {"logcumsumexp": "pair.a + log_f(pair.b)", "linear": "pair.b"}.get(kind, "pair.a")
        to = f"from_out + i * {step_out}"
        p.main("  " + results[0].save(to, made), *(["  " + results[1].save(to, "i32(pair.b)")] if extreme else []))
    p.main("}")
    if totals:
        at = f"line * {chunks} + chunk"
        p.main(results[0].save(at, "pair.a"), results[1].save(at, "pair.b"))
    return p.build()


@functools.cache
def pair_totals(kind: str, code: str) -> Kernel:
    """The totals of chunks scanned in place, one thread a line. Bindings: both components. Parameters: lines, chunks."""
    p = Program(f"scan_{kind}.chunks", (GROUP, 1))
    a, b = (p.buffer(n, c, "w") for n, c in zip(("total_a", "total_b"), pair_codes(kind, code)))
    lines, chunks = p.word("lines"), p.word("chunks")
    p.top(_pair_text(kind, TYPES[code].compute))
    p.main(
        f"let line = {FOLDED} * {GROUP}u + lane;",
        f"if (line >= {lines}) {{ return; }}",
        "var pair = start();",
        f"let first = line * {chunks};",
        f"for (var i = first; i < first + {chunks}; i++) {{",
        f"  let next = Pair({a.load('i')}, {b.load('i')});",
        "  if (i == first) { pair = next; } else { pair = join(pair, next); }",
        "  " + a.save("i", "pair.a"),
        "  " + b.save("i", "pair.b"),
        "}",
    )
    return p.build()


def pair_words(
    offsets: Sequence[int], lines: int, chunks: int, chunk: int, count: int, steps: Sequence[int], sizes: Sequence[int],
    strides: Sequence[Sequence[int]], outer: int,
) -> tuple[int, ...]:  # fmt: skip
    """Parameter words of `pairs`; the output first in `offsets`, `steps` and `strides`, dimensions outermost first."""
    words = [*offsets, lines, chunks, chunk, count, *steps, *padded(sizes, outer)]
    for s in strides:
        words += [*reversed(s), *[0] * (outer - len(sizes))]
    return tuple([w & 0xFFFFFFFF for w in words])
