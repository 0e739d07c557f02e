"""Softmax and log-softmax along one dimension, forward and backward, each in one launch.

forward             y = exp(x - max) / sum          log: y = x - max - log(sum)
backward            dx = (g - sum(g y)) y           log: dx = g - exp(y) sum(g)

moments             max and log(sum), two f32 a row
cross entropy       dx = w (exp(x - max - log(sum)) - 1 at the target), from moments, targets and the factor w of each row

A row is walked three times (twice backward).  Serial form: one thread a row; tree form: a workgroup a row, merging through
workgroup memory.  `wide` reads and writes four elements at once where all arrays are contiguous along the dimension.

Parameters: offsets of the output and the inputs, rows, count (of fours where wide), for each of them the step along the
dimension, the sizes of the outer dimensions without the last, and for each array the strides of the outer ones.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from .pointwise import dot, padded, take_apart
from .wgsl import FOLDED, TYPES, Kernel, Program, fold

GROUP = 64
TREE = 64
OUTER_RANKS = (1, 3, 7)

_KINDS = ("softmax", "log_softmax", "softmax_backward", "log_softmax_backward", "moments", "cross_entropy")


@functools.cache
def build(kind: str, code: str, *, form: str, wide: bool, outer: int) -> Kernel:
    """The kernel of one of the operators, for arrays of one type code. Backward takes g, then y.

    "moments" writes row-major, and has no offset, step and strides of its output among its parameters. "cross_entropy" reads
    moments, factors (f32) and targets (i32) of the rows too, all row-major.
    """
    if kind not in _KINDS:
        raise ValueError(f"no kernel {kind!r}; there are {', '.join(_KINDS)}")
    backward = kind.endswith("backward")
    moments = kind == "moments"
    log = kind.startswith("log") or moments
    tree = form == "tree"
    p = Program(f"{kind}.{form}{'.wide' if wide else ''}", (TREE if tree else GROUP, 1))
    names = ["g", "y"] if backward else ["x"]
    inputs = [p.buffer(n, code, wide=wide) for n in names]
    if kind == "cross_entropy":
        p.buffer("moments", "f32")
        p.buffer("factors", "f32")
        p.buffer("targets", "i32")
    out = p.buffer("result", "f32" if moments else code, "w", wide=wide and not moments)
    arrays = names if moments else ["out", *names]
    offsets = {n: p.word(f"offset_{n}") for n in arrays}
    rows, count = p.word("rows"), p.word("count")
    steps = {n: p.word(f"step_{n}") for n in arrays}
    sizes = p.words("size", outer - 1)
    strides = {n: p.words(f"stride_{n}", outer) for n in arrays}
    lanes = 4 if wide else 1

    if tree:
        p.top(
            f"var<workgroup> meeting: array<f32, {TREE}>;\n"
            + "".join(
                f"fn {name}(lane: u32, value: f32) -> f32 {{\n"
                "  var a = value;\n  meeting[lane] = a;\n  workgroupBarrier();\n"
                f"  for (var width = {TREE // 2}u; width > 0u; width >>= 1u) {{\n"
                f"    if (lane < width) {{ a = {both}; meeting[lane] = a; }}\n    workgroupBarrier();\n  }}\n"
                "  let r = meeting[0];\n  workgroupBarrier();\n  return r;\n}\n"
                for name, both in (
                    ("join_max", "max(a, meeting[lane + width])"),
                    ("join_sum", "a + meeting[lane + width]"),
                )
            )
        )
        p.main(f"let row = {FOLDED};", f"if (row >= {rows}) {{ return; }}", "let first = lane;", f"let leap = {TREE}u;")
    else:
        p.main(
            f"let row = {FOLDED} * {GROUP}u + lane;",
            f"if (row >= {rows}) {{ return; }}",
            "let first = 0u;",
            "let leap = 1u;",
        )
    p.main(*take_apart("row", sizes, outer, "x"), f"let count = {count};")
    for n in arrays:
        p.main(f"let at_{n} = {dot(offsets[n], strides[n])};", f"let step_{n} = {steps[n]};")

    def loop(*body: str) -> None:
        p.main("for (var i = first; i < count; i += leap) {", *["  " + line for line in body], "}")

    def read(n: str) -> list[str]:
        """Lines that define n0 to n3 (or n0), the elements at i."""
        b = inputs[names.index(n)]
        if not wide:
            return [f"let {n}0 = {b.load(f'at_{n} + i * step_{n}')};"]
        return [f"let {n}v = {n}[at_{n} + i];", *[f"let {n}{j} = {b.lane(f'{n}v', j)};" for j in range(4)]]

    def store(values: list[str]) -> str:
        return out.save4("at_out + i", values) if wide else out.save("at_out + i * step_out", values[0])

    def merged(name: str, both: str) -> str:
        text = (
            name + "0"
            if not wide
            else both.format(both.format(f"{name}0", f"{name}1"), both.format(f"{name}2", f"{name}3"))
        )
        return f"{'join_max' if 'max' in both else 'join_sum'}(lane, {text})" if tree else text

    if kind == "cross_entropy":
        each = "exp_nonpositive((x{j} - top) - shift) * factor"
        p.main("let top = moments[2u * row];", "let shift = moments[2u * row + 1u];", "let factor = factors[row];")
        loop(*read("x"), store([each.format(j=j) for j in range(lanes)]))
        # The element of the target once more, by the thread that wrote it.
        p.main("let t = u32(targets[row]);", f"if (t / {lanes}u % leap == first) {{")
        if wide:
            p.main("  let i = t / 4u;", "  let lane4 = t % 4u;", *["  " + line for line in read("x")])
            p.main("  " + store([f"({each.format(j=j)} - select(0.0, factor, lane4 == {j}u))" for j in range(4)]))
        else:
            p.main("  let i = t;", "  " + read("x")[0], "  " + store([f"({each.format(j=0)} - factor)"]))
        p.main("}")
        return p.build()

    if backward:
        p.main(*[f"var s{j} = 0.0;" for j in range(lanes)])
        if log:
            loop(*read("g"), *[f"s{j} += g{j};" for j in range(lanes)])
        else:
            loop(*read("g"), *read("y"), *[f"s{j} += g{j} * y{j};" for j in range(lanes)])
        p.main(f"let total = {merged('s', '({} + {})')};")
        each = "g{j} - exp_nonpositive(y{j}) * total" if log else "(g{j} - total) * y{j}"
        loop(*read("g"), *read("y"), store([each.format(j=j) for j in range(lanes)]))
        return p.build()

    p.main(*[f"var m{j} = -infinity();" for j in range(lanes)])
    loop(*read("x"), *[f"m{j} = max(m{j}, x{j});" for j in range(lanes)])
    p.main(f"let top = {merged('m', 'max({}, {})')};", *[f"var s{j} = 0.0;" for j in range(lanes)])
    if log:
        loop(*read("x"), *[f"s{j} += exp_nonpositive(x{j} - top);" for j in range(lanes)])
        p.main(f"let shift = log_f({merged('s', '({} + {})')});")
        if moments:
            p.main("if (first == 0u) { result[2u * row] = top; result[2u * row + 1u] = shift; }")
            return p.build()
        loop(*read("x"), store([f"(x{j} - top) - shift" for j in range(lanes)]))
    elif TYPES[code].store == "f32" and code == "f32":
        loop(*read("x"), *[f"let e{j} = exp_nonpositive(x{j} - top);" for j in range(lanes)], *[f"s{j} += e{j};" for j in range(lanes)],
             store([f"e{j}" for j in range(lanes)]))  # fmt: skip
        p.main(f"let scale = 1.0 / {merged('s', '({} + {})')};")
        place = "at_out + i" if wide else "at_out + i * step_out"
        loop(f"result[{place}] = result[{place}] * scale;")
    else:  # half precision: what is stored in between would lose digits, so it is computed twice
        loop(*read("x"), *[f"s{j} += exp_nonpositive(x{j} - top);" for j in range(lanes)])
        p.main(f"let scale = 1.0 / {merged('s', '({} + {})')};")
        loop(*read("x"), store([f"exp_nonpositive(x{j} - top) * scale" for j in range(lanes)]))
    return p.build()


def words(
    offsets: Sequence[int], count: int, steps: Sequence[int], sizes: Sequence[int], strides: Sequence[Sequence[int]], wide: bool,
    outer: int,
) -> tuple[int, ...]:  # fmt: skip
    """Parameter words; output (if it has a place in them) first in `offsets`, `steps` and `strides` (outermost first, as `sizes`)."""
    unit = 4 if wide else 1
    rows = 1
    for s in sizes:
        rows *= s
    out = [o // unit for o in offsets] + [rows, count // unit, *steps, *padded(sizes, outer)]
    for s in strides:
        out += [*[t // unit for t in reversed(s)], *[0] * (outer - len(s))]
    return tuple(out)


def grid(rows: int, form: str) -> tuple[int, int, int]:
    """Workgroups of a launch."""
    return fold(rows if form == "tree" else -(-rows // GROUP))
