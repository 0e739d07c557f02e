"""Sorting lines of elements, and what is read off sorted lines: runs of equal elements, places in sorted sequences.

Elements become unsigned *keys* in the order of the elements (zeros of both signs are equal, NaN is the largest; complemented
for a descending order), which travel with the places they came from.  A line is cut into runs; a workgroup sorts a run by a
bitonic network (Batcher, 1968) in workgroup memory, comparing places where keys are equal, so that the order is stable.  Runs
are then merged two by two, one thread an element: its place in the merged run is its place in its own plus the number of
elements of the other that come before it, found by bisection.  No thread waits for another, and no order depends on timing.

Software adapters, where barriers are dear and threads few, sort longer lines by digits instead: for each of the bytes of a key that can
differ, a thread counts the digits of a chunk, the counts are scanned, and a thread moves the elements of its chunk, in order, to
where their digit's elements belong.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from .pointwise import FLAT_GROUP as GROUP
from .pointwise import RANKS, dot, padded, rank_class, take_apart
from .wgsl import FOLDED, TYPES, Kernel, Program, convert, fold

RUNS = (64, 256, 1024)
"""Lengths of the runs that a workgroup sorts: 8 bytes of workgroup memory an element."""
OUTER_RANKS = (1, 3, 7)

NAN_KEY = 0xFFFFFFFF
"""The ascending key of every NaN."""


def key_function(compute: str, descending: bool = False) -> str:
    """WGSL of `key_of`, from an element of a computing type to its key."""
    turn = "~" if descending else ""
    if compute == "f32":
        return (
            "fn key_of(x: f32) -> u32 {\n"
            f"  if (is_nan(x)) {{ return {turn}0xffffffffu; }}\n"
            "  let b = bitcast<u32>(select(x, 0.0, x == 0.0));\n"
            f"  return {turn}(select(b | 0x80000000u, ~b, (b >> 31u) != 0u));\n}}"
        )
    body = {"i32": "bitcast<u32>(x) ^ 0x80000000u", "u32": "x", "bool": "select(0u, 1u, x)"}[compute]
    return f"fn key_of(x: {compute}) -> u32 {{ return {turn}({body}); }}"


def run_for(count: int) -> int:
    """The run length for lines of `count` elements."""
    return next((r for r in RUNS if count <= r), RUNS[-1])


@functools.cache
def runs(code: str, run: int, descending: bool, outer: int) -> Kernel:
    """Sorted runs of lines. Bindings: x, keys, places ([lines, count] each, u32).

    Parameters: offset of x, lines, count, runs a line, step along the line, outer sizes and strides (innermost first).
    """
    threads = min(run // 2, 256)
    p = Program(f"sort_runs.{run}", (threads, 1))
    x = p.buffer("x", code)
    p.buffer("keys", "u32", "w")
    p.buffer("places", "u32", "w")
    at, lines, count, parts, step = (p.word(w) for w in ("offset", "lines", "count", "runs", "step"))
    sizes, strides = p.words("size", outer - 1), p.words("stride", outer)
    p.top(key_function(x.type.compute, descending))
    p.top(f"var<workgroup> pairs: array<vec2<u32>, {run}>;")
    p.main(
        f"let task = {FOLDED};",
        f"if (task >= {lines} * {parts}) {{ return; }}",
        f"let line = task / {parts};",
        f"let first = (task - line * {parts}) * {run}u;",
        *take_apart("line", sizes, outer, "x"),
        f"let from_x = {dot(at, strides)};",
        f"for (var i = lane; i < {run}u; i += {threads}u) {{",
        "  let place = first + i;",
        "  var pair = vec2<u32>(0xffffffffu, place);",  # behind everything: its place is beyond the line
        f"  if (place < {count}) {{ pair.x = key_of({x.load(f'from_x + place * {step}')}); }}",
        "  pairs[i] = pair;",
        "}",
        "workgroupBarrier();",
        f"for (var width = 2u; width <= {run}u; width <<= 1u) {{",
        "  for (var gap = width >> 1u; gap > 0u; gap >>= 1u) {",
        f"    for (var t = lane; t < {run // 2}u; t += {threads}u) {{",
        "      let i = 2u * t - (t & (gap - 1u));",
        "      let a = pairs[i];",
        "      let b = pairs[i + gap];",
        "      let wrong = a.x > b.x || (a.x == b.x && a.y > b.y);",
        "      if (wrong == ((i & width) == 0u)) {",
        "        pairs[i] = b;",
        "        pairs[i + gap] = a;",
        "      }",
        "    }",
        "    workgroupBarrier();",
        "  }",
        "}",
        f"for (var i = lane; i < {run}u; i += {threads}u) {{",
        f"  if (first + i < {count}) {{",
        f"    keys[line * {count} + first + i] = pairs[i].x;",
        f"    places[line * {count} + first + i] = pairs[i].y;",
        "  }",
        "}",
    )
    return p.build()


def runs_words(
    offset: int, lines: int, count: int, step: int, run: int, sizes: Sequence[int], strides: Sequence[int], outer: int
) -> tuple[int, ...]:
    """Parameter words of `runs`; sizes and strides outermost first."""
    return (
        offset, lines, count, -(-count // run), step, *padded(sizes, outer), *reversed(strides), *[0] * (outer - len(sizes))
    )  # fmt: skip


def runs_grid(lines: int, count: int, run: int) -> tuple[int, int, int]:
    """Workgroups of `runs`."""
    return fold(lines * -(-count // run))


@functools.cache
def merge() -> Kernel:
    """Runs merged two by two. Bindings: keys, places, merged keys, merged places. Parameters: elements in all, count a line, run."""
    p = Program("sort_merge", (GROUP, 1))
    p.buffer("keys", "u32")
    p.buffer("places", "u32")
    p.buffer("keys_out", "u32", "w")
    p.buffer("places_out", "u32", "w")
    n, count, run = p.word("n"), p.word("count"), p.word("run")
    p.main(
        f"let i = {FOLDED} * {GROUP}u + lane;",
        f"if (i >= {n}) {{ return; }}",
        f"let line = i / {count} * {count};",
        "let place = i - line;",
        f"let which = place / {run};",
        "let left = (which & 1u) == 0u;",
        f"let base = (which & 0xfffffffeu) * {run};",
        f"let other = min({count}, base + select(0u, {run}, left));",
        f"let end = min({count}, other + {run});",
        "let key = keys[i];",
        # How many of the other run come before: of equal keys the left run's do.
        "var low = other;",
        "var high = end;",
        "while (low < high) {",
        "  let middle = (low + high) >> 1u;",
        "  let k = keys[line + middle];",
        "  if (k < key || (k == key && !left)) { low = middle + 1u; } else { high = middle; }",
        "}",
        f"let at = line + base + (place - which * {run}) + (low - other);",
        "keys_out[at] = key;",
        "places_out[at] = places[i];",
    )
    return p.build()


@functools.cache
def keyed(code: str, rank: int, descending: bool = False) -> Kernel:
    """Keys of elements in row-major order, and their places in lines of `count`. Bindings: x, keys, places.

    Parameters: n, offset, count, sizes, strides.
    """
    p = Program("sort_keys", (GROUP, 1))
    x = p.buffer("x", code)
    p.buffer("keys", "u32", "w")
    p.buffer("places", "u32", "w")
    n, at, count = p.word("n"), p.word("offset"), p.word("count")
    sizes, strides = p.words("size", rank - 1), p.words("stride", rank)
    p.top(key_function(x.type.compute, descending))
    p.main(
        f"let i = {FOLDED} * {GROUP}u + lane;",
        f"if (i >= {n}) {{ return; }}",
        *take_apart("i", sizes, rank),
        f"keys[i] = key_of({x.load(dot(at, strides))});",
        f"places[i] = i % {count};",
    )
    return p.build()


def keyed_words(shape: Sequence[int], offset: int, strides: Sequence[int], count: int) -> tuple[tuple[int, ...], int]:
    """Parameter words of `keyed`, and the rank class; outermost first."""
    rank = rank_class(len(shape), RANKS)
    n = 1
    for s in shape:
        n *= s
    return (n, offset, count, *padded(shape, rank), *reversed(strides), *[0] * (rank - len(strides))), rank


CHUNK = 1024
"""Elements whose digits one thread counts and moves."""
DIGIT_FROM = 256
"""Elements of a line from which on software adapters sort by digits."""

_BYTES = {"bool": (0,), "u8": (0,), "i8": (0, 3), "u16": (0, 1), "i16": (0, 1, 3)}


def digits(code: str) -> tuple[int, ...]:
    """The bytes of a key in which keys of this element type can differ, the least first."""
    return _BYTES.get(code, (0, 1, 2, 3))


def _chunk(p: Program, lines: str, chunks: str, count: str) -> None:
    p.top("var<private> bins: array<u32, 256>;")
    p.main(
        f"let task = {FOLDED} * {GROUP}u + lane;",
        f"if (task >= {lines} * {chunks}) {{ return; }}",
        f"let line = task / {chunks};",
        f"let chunk = task - line * {chunks};",
        f"let first = line * {count} + chunk * {CHUNK}u;",
        f"let end = min(first + {CHUNK}u, (line + 1u) * {count});",
        f"let table = line * 256u * {chunks} + chunk;",
    )


@functools.cache
def count_digits() -> Kernel:
    """How often each digit occurs in each chunk. Bindings: keys, counts (i32, [lines, 256, chunks]).

    Parameters: lines, chunks, count a line, shift of the digit.
    """
    p = Program("sort_digits", (GROUP, 1))
    p.buffer("keys", "u32")
    p.buffer("counts", "i32", "w")
    lines, chunks, count, shift = (p.word(w) for w in ("lines", "chunks", "count", "shift"))
    _chunk(p, lines, chunks, count)
    p.main(
        "for (var d = 0u; d < 256u; d++) { bins[d] = 0u; }",
        f"for (var i = first; i < end; i++) {{ bins[(keys[i] >> {shift}) & 255u] += 1u; }}",
        f"for (var d = 0u; d < 256u; d++) {{ counts[table + d * {chunks}] = i32(bins[d]); }}",
    )
    return p.build()


@functools.cache
def move_digits() -> Kernel:
    """Elements moved to where their digit's belong. Bindings: keys, places, ends (the counts, summed up along each line), moved keys,
    moved places. Parameters as in `count_digits`.
    """
    p = Program("sort_move", (GROUP, 1))
    p.buffer("keys", "u32")
    p.buffer("places", "u32")
    p.buffer("ends", "i32")
    p.buffer("keys_out", "u32", "w")
    p.buffer("places_out", "u32", "w")
    lines, chunks, count, shift = (p.word(w) for w in ("lines", "chunks", "count", "shift"))
    _chunk(p, lines, chunks, count)
    p.main(
        f"let from_ = line * {count};",
        f"let zero = line * 256u * {chunks};",
        "for (var d = 0u; d < 256u; d++) {",
        f"  let at = table + d * {chunks};",
        "  bins[d] = 0u;",
        "  if (at > zero) { bins[d] = u32(ends[at - 1u]); }",
        "}",
        "for (var i = first; i < end; i++) {",
        "  let key = keys[i];",
        f"  let digit = (key >> {shift}) & 255u;",
        "  let to = from_ + bins[digit];",
        "  bins[digit] += 1u;",
        "  keys_out[to] = key;",
        "  places_out[to] = places[i];",
        "}",
    )
    return p.build()


# -- what sorted lines tell -------------------------------------------------------------------------------------


def _differs(nans: bool) -> str:
    """Whether the sorted element at `at` differs from the one before it; no NaN equals another."""
    return "(keys[at] != keys[at - 1u]" + (" || keys[at] == 0xffffffffu)" if nans else ")")


@functools.cache
def run_lengths(nans: bool) -> Kernel:
    """How many equal elements of its line end at each sorted element. Bindings: keys, result (i32). Parameters: n, count a line."""
    p = Program("run_lengths", (GROUP, 1))
    p.buffer("keys", "u32")
    p.buffer("result", "i32", "w")
    n, count = p.word("n"), p.word("count")
    p.main(
        f"let i = {FOLDED} * {GROUP}u + lane;",
        f"if (i >= {n}) {{ return; }}",
        "let key = keys[i];",
        f"var low = i / {count} * {count};",
        "var high = i;",
        "while (low < high) {",
        "  let middle = (low + high) >> 1u;",
        "  if (keys[middle] < key) { low = middle + 1u; } else { high = middle; }",
        "}",
        *(["if (key == 0xffffffffu) { low = i; }"] if nans else []),
        "result[i] = i32(i - low + 1u);",
    )
    return p.build()


@functools.cache
def firsts(nans: bool) -> Kernel:
    """1 where a sorted element differs from the one before it, else 0. Bindings: keys, result (i32). Parameter: n."""
    p = Program("firsts", (GROUP, 1))
    p.buffer("keys", "u32")
    p.buffer("result", "i32", "w")
    n = p.word("n")
    p.main(
        f"let at = {FOLDED} * {GROUP}u + lane;",
        f"if (at >= {n}) {{ return; }}",
        "var new_one = true;",
        f"if (at > 0u) {{ new_one = {_differs(nans)}; }}",
        "result[at] = select(0, 1, new_one);",
    )
    return p.build()


@functools.cache
def distinct() -> Kernel:
    """Which distinct element each one is, and of each where it begins. Bindings: ranks (how many distinct ones up to each
    sorted element, i32), places, which (i32, [n]), starts (i32, [distinct + 1]), origins (i32, [distinct]): the first places.

    Parameters: n, distinct.
    """
    p = Program("distinct", (GROUP, 1))
    p.buffer("ranks", "i32")
    p.buffer("places", "u32")
    p.buffer("which", "i32", "w")
    p.buffer("starts", "i32", "w")
    p.buffer("origins", "i32", "w")
    n, total = p.word("n"), p.word("distinct")
    p.main(
        f"let at = {FOLDED} * {GROUP}u + lane;",
        f"if (at >= {n}) {{ return; }}",
        "let rank = ranks[at] - 1;",
        "which[places[at]] = rank;",
        "if (at == 0u || ranks[at] != ranks[max(at, 1u) - 1u]) {",
        "  starts[rank] = i32(at);",
        "  origins[rank] = i32(places[at]);",
        "}",
        f"if (at == {n} - 1u) {{ starts[{total}] = i32({n}); }}",
    )
    return p.build()


@functools.cache
def search(code: str, value_code: str, result: str) -> Kernel:
    """How many elements of a sorted row come before a value ("left"), or before and with it ("right"); or whether one equals it
    ("member", of keys that `runs` and `merge` have sorted; "stranger": whether none does).

    Bindings: sequence (or keys), values, result (i32, or bool). Parameters: n, offsets of both, length of a row, its step, values
    a row, the step from row to row.
    """
    member = result in ("member", "stranger")
    p = Program(f"search_{result}", (GROUP, 1))
    sequence = p.buffer("sequence", "u32" if member else code)
    values = p.buffer("values", value_code)
    out = p.buffer("result", "bool" if member else "i32", "w")
    n, at_s, at_v, length, step, each, row = (
        p.word(w) for w in ("n", "offset_sequence", "offset_values", "length", "step", "each", "row")
    )
    types = [TYPES[code].compute, values.type.compute]
    common = "f32" if "f32" in types else "u32" if types == ["u32", "u32"] else "i32"
    p.top(key_function(common))

    def key(text: str, compute: str) -> str:
        return f"key_of({convert(text, compute, common)})"

    there = sequence.load(f"from_s + middle * {step}")
    p.main(
        f"let i = {FOLDED} * {GROUP}u + lane;",
        f"if (i >= {n}) {{ return; }}",
        f"let from_s = {at_s} + i / {each} * {row};",
        f"let key = {key(values.load(f'{at_v} + i'), values.type.compute)};",
        "var low = 0u;",
        f"var high = {length};",
        "while (low < high) {",
        "  let middle = (low + high) >> 1u;",
        f"  let k = {there if member else key(there, sequence.type.compute)};",
        f"  if (k {'<=' if result == 'right' else '<'} key) {{ low = middle + 1u; }} else {{ high = middle; }}",
        "}",
    )
    if member:
        found = f"(low < {length} && sequence[from_s + min(low, max({length}, 1u) - 1u) * {step}] == key" + (
            f" && key != {NAN_KEY}u)" if common == "f32" else ")"
        )
        p.main(out.save("i", found if result == "member" else f"!{found}"))
    else:
        p.main("result[i] = i32(low);")
    return p.build()


# -- counting ---------------------------------------------------------------------------------------------------


@functools.cache
def count() -> Kernel:
    """How often each number occurs. Bindings: numbers (i32; negative ones do not count), counts (zeroed). Parameters: n, offset, step.

    Whole numbers are added atomically: their sum does not depend on the order.
    """
    p = Program("count", (GROUP, 1))
    p.buffer("numbers", "i32")
    p.buffer("counts", "u32", "w", atomic=True)
    n, at, step = p.word("n"), p.word("offset"), p.word("step")
    p.main(
        f"let i = {FOLDED} * {GROUP}u + lane;",
        f"if (i >= {n}) {{ return; }}",
        f"let number = numbers[{at} + i * {step}];",
        "if (number >= 0) { atomicAdd(&counts[number], 1u); }",
    )
    return p.build()


@functools.cache
def bins(code: str, begun: bool) -> Kernel:
    """The bin of each element between sorted edges, added to `bins of this dimension` times the bins before; -1 outside.

    The last edge belongs to the last bin. Bindings: x, edges, numbers (i32; read where `begun`). Parameters: n, offset and step of
    x, offset of the edges, their number.
    """
    p = Program("bins", (GROUP, 1))
    x, edges = p.buffer("x", code), p.buffer("edges", code)
    p.buffer("numbers", "i32", "w")
    n, at, step, at_e, length = (p.word(w) for w in ("n", "offset", "step", "offset_edges", "length"))
    p.main(
        f"let i = {FOLDED} * {GROUP}u + lane;",
        f"if (i >= {n}) {{ return; }}",
        f"let value = {x.load(f'{at} + i * {step}')};",
        f"var number = {'numbers[i]' if begun else '0'};",
        f"let last = {length} - 1u;",
        f"let outside = value < {edges.load(at_e)} || value > {edges.load(f'{at_e} + last')};",
        f"if (outside{' || is_nan(value)' if x.type.compute == 'f32' else ''}) {{ number = -1; }}",
        "var low = 0u;",
        "var high = last;",
        "while (low < high) {",
        "  let middle = (low + high) >> 1u;",
        f"  if ({edges.load(f'{at_e} + middle')} <= value) {{ low = middle + 1u; }} else {{ high = middle; }}",
        "}",
        "if (number >= 0) { number = number * i32(last) + max(i32(low) - 1, 0); }",
        "numbers[i] = number;",
    )
    return p.build()


def grid(n: int) -> tuple[int, int, int]:
    """Workgroups of a launch with one thread an element (or line)."""
    return fold(-(-n // GROUP))
