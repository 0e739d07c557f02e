"""Normalisation of rows by their mean and deviation, scaled and shifted (layer norm, and group norm over rows of groups).

y = (x - mean) rstd weight + bias, with rstd = 1 / sqrt(mean((x - mean)^2) + eps); rows are contiguous. The row is walked three times:
the deviation is taken from the mean, not from a difference of squares, which would lose digits.

Serial form: a thread a row; tree form: a workgroup a row. `wide`: four elements at once.

Parameters: offsets of x, weight and bias, rows, count (of fours where wide), count as f32, eps; for `each` ("element": weight and
bias have one for each element of a row; "channel": one for each run of elements) the length of a run, and the groups that rows count through.
"""

from __future__ import annotations

import functools
import struct

from .wgsl import FOLDED, Kernel, Program, fold

GROUP = 64
TREE = 64


@functools.cache
def build(code: str, *, weight: str | None, bias: str | None, each: str, form: str, wide: bool) -> Kernel:
    """Bindings: x, weight and bias where given (type codes), y, mean, rstd (both f32, one a row)."""
    tree = form == "tree"
    p = Program(f"norm.{form}{'.wide' if wide else ''}", (TREE if tree else GROUP, 1))
    x = p.buffer("x", code, wide=wide)
    spread = wide and each == "element"
    w = p.buffer("w", weight, wide=spread) if weight else None
    b = p.buffer("b", bias, wide=spread) if bias else None
    y = p.buffer("y", code, "w", wide=wide)
    mean, rstd = p.buffer("means", "f32", "w"), p.buffer("rstds", "f32", "w")
    at_x, at_w, at_b, rows, count, total = (p.word(n, "f32" if n == "total" else "u32") for n in
                                            ("offset_x", "offset_w", "offset_b", "rows", "count", "total"))  # fmt: skip
    eps, run, groups = p.word("eps", "f32"), p.word("run"), p.word("groups")
    lanes = 4 if wide else 1
    if tree:
        p.top(
            f"var<workgroup> meeting: array<f32, {TREE}>;\n"
            "fn joined(lane: u32, value: f32) -> f32 {\n  var a = value;\n  meeting[lane] = a;\n  workgroupBarrier();\n"
            f"  for (var width = {TREE // 2}u; width > 0u; width >>= 1u) {{\n"
            "    if (lane < width) { a = a + meeting[lane + width]; meeting[lane] = a; }\n    workgroupBarrier();\n  }\n"
            "  let r = meeting[0];\n  workgroupBarrier();\n  return r;\n}\n"
        )
        p.main(f"let row = {FOLDED};", f"if (row >= {rows}) {{ return; }}", "let first = lane;", f"let leap = {TREE}u;")
    else:
        p.main(
            f"let row = {FOLDED} * {GROUP}u + lane;",
            f"if (row >= {rows}) {{ return; }}",
            "let first = 0u;",
            "let leap = 1u;",
        )
    p.main(f"let count = {count};", f"let from_x = {at_x} + row * count;", "let from_y = row * count;")

    def loop(*body: str) -> None:
        p.main("for (var i = first; i < count; i += leap) {", *["  " + line for line in body], "}")

    if wide:
        read = ["let v = x[from_x + i];", *[f"let x{j} = {x.lane('v', j)};" for j in range(4)]]
    else:
        read = [f"let x0 = {x.load('from_x + i')};"]

    def joined(name: str) -> str:
        text = f"(({name}0 + {name}1) + ({name}2 + {name}3))" if wide else f"{name}0"
        return f"joined(lane, {text})" if tree else text

    p.main(*[f"var s{j} = 0.0;" for j in range(lanes)])
    loop(*read, *[f"s{j} += x{j};" for j in range(lanes)])
    p.main(f"let middle = {joined('s')} / {total};", *[f"s{j} = 0.0; var t{j} = 0.0;" for j in range(lanes)])
    # What the rounded mean leaves counts where numbers are large beside their spread.
    loop(
        *read, *[f"let d{j} = x{j} - middle;" for j in range(lanes)],
        *[f"s{j} = fma(d{j}, d{j}, s{j}); t{j} += d{j};" for j in range(lanes)],
    )  # fmt: skip
    p.main(f"let rest = {joined('t')} / {total};", f"let spread = max({joined('s')} / {total} - rest * rest, 0.0);")
    p.main(f"let scale = rsqrt_f(spread + {eps});")
    body = list(read)
    values = [f"((x{j} - middle) - rest) * scale" for j in range(lanes)]
    if each == "channel" and (w is not None or b is not None):
        unit = "i * 4u" if wide else "i"
        body.append(f"let c = (row % {groups}) * (count * {lanes}u / {run}) + {unit} / {run};")
    for buffer, at, sign in ((w, at_w, "*"), (b, at_b, "+")):
        if buffer is None:
            continue
        if each == "channel":
            more = [buffer.load(f"{at} + c")] * lanes
        elif spread:
            body.append(f"let {buffer.name}v = {buffer.name}[{at} + i];")
            more = [buffer.lane(f"{buffer.name}v", j) for j in range(4)]
        else:
            more = [buffer.load(f"{at} + i")]
        values = [f"({v} {sign} {m})" for v, m in zip(values, more)]
    loop(*body, y.save4("from_y + i", values) if wide else y.save("from_y + i", values[0]))
    p.main(
        ("if (lane == 0u) { " if tree else "{ ")
        + mean.save("row", "middle + rest")
        + " "
        + rstd.save("row", "scale")
        + " }"
    )
    return p.build()


def words(
    offset: int,
    weight: int,
    bias: int,
    rows: int,
    count: int,
    eps: float,
    run: int,
    groups: int,
    wide: bool,
    each: str,
) -> tuple[int, ...]:
    """Parameter words; `count` in elements."""

    def bits(value: float) -> int:
        return struct.unpack("<I", struct.pack("<f", value))[0]

    unit, small = (4 if wide else 1), (4 if wide and each == "element" else 1)
    return (
        offset // unit, weight // small, bias // small, rows, count // unit, bits(float(count)), bits(eps), run, groups
    )  # fmt: skip


def grid(rows: int, form: str) -> tuple[int, int, int]:
    """Workgroups of a launch."""
    return fold(rows if form == "tree" else -(-rows // GROUP))
