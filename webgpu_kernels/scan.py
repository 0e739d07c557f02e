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
