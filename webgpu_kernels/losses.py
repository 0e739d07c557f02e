"""The negative log-likelihood of classes, reduced: its sum or mean in one launch, and its gradient.

Either of logarithms of probabilities, or of logits and the moments of their rows (maximum and logarithm of the sum, from
`softmax`): the cross entropy, without the logarithms in memory.

Rows are places of a batch and of space: row r of [N, C, S] is (r / S, r % S).  `total` adds the picked elements (times the
weights of their classes) and the weights by one workgroup for 4,096 rows; the pairs of several workgroups are added by
`merge`.  `slope` gives each row a thread, which stores the one element of the gradient that is not zero, or what
`softmax.build("cross_entropy")` makes the gradient by the logits of.  The losses of single rows are `indexing.nll`.
"""

from __future__ import annotations

import functools

from .wgsl import FOLDED, Kernel, Program, convert, fold

GROUP = 64
ROWS = 4096
"""Rows that one workgroup adds up."""

ENDS = {"sum": "a", "mean": "a / b", "weights": "b"}
"""What is stored of the sum `a` of weighted losses and the sum `b` of weights."""

_MERGE = f"""var<workgroup> meeting: array<vec2<f32>, {GROUP}>;
fn joined(lane: u32, value: vec2<f32>) -> vec2<f32> {{
  var a = value;
  meeting[lane] = a;
  workgroupBarrier();
  for (var width = {GROUP // 2}u; width > 0u; width >>= 1u) {{
    if (lane < width) {{ a += meeting[lane + width]; meeting[lane] = a; }}
    workgroupBarrier();
  }}
  return meeting[0];
}}"""

_IN_RANGE = """fn in_range(t: i32, classes: i32, code: u32) -> u32 {
  if (t < 0 || t >= classes) {
    fault[0] = code;
    fault[1] = bitcast<u32>(t);
  }
  return u32(clamp(t, 0, classes - 1));
}"""


def _row(p: Program) -> tuple[str, str]:
    """Declares what places rows in the targets; gives the text that takes a row apart, and that of its place there."""
    space, at, step_n, step_s = (p.word(w) for w in ("space", "offset_target", "target_n", "target_s"))
    return f"let n = r / {space}; let s = r % {space};", f"{at} + n * {step_n} + s * {step_s}"


def _end(p: Program, result_code: str | None, end: str) -> Kernel:
    """Adds the pairs of a workgroup's threads, and stores them (no result code) or what is wanted of them."""
    result = p.buffer("result", result_code or "f32", "w")
    p.top(_MERGE)
    p.main("let both = joined(lane, pair);", "let a = both.x;", "let b = both.y;")
    if result_code is None:
        p.main(f"if (lane == 0u) {{ result[2u * {FOLDED}] = a; result[2u * {FOLDED} + 1u] = b; }}")
    else:
        p.main(f"if (lane == 0u) {{ {result.save('0', f'({ENDS[end]})')} }}")
    return p.build()


@functools.cache
def total(
    code: str | None, index_code: str, weight_code: str | None, result_code: str | None, end: str, moments: bool = False
) -> Kernel:
    """The sums of a workgroup's rows: of -x[row, target] w[target] (0 without `code`), and of w[target] (1 without weights).

    With `result_code` the one workgroup stores `end` of them, else each its pair.

    Bindings: x (if any), target, weight (if any), fault (with x), moments (if they are wanted off x), result. Parameters: rows,
    ignored target, sizes and strides of the targets; with x: code of the fault, classes, offset, strides of batch, class,
    space; with a weight: offset, step.
    """
    p = Program(f"nll_total.{end if result_code else 'part'}")
    x = p.buffer("x", code) if code else None
    target = p.buffer("targets", index_code)
    weight = p.buffer("weight", weight_code) if weight_code else None
    rows, ignored = p.word("rows"), p.word("ignored", "i32")
    row, place = _row(p)
    p.main(
        f"let start = {FOLDED} * {ROWS}u;", f"let end = min(start + {ROWS}u, {rows});", "var pair = vec2<f32>();",
        "for (var r = start + lane; r < end; r += 64u) {", "  " + row,
        f"  let t = {convert(target.load(place), target.type.compute, 'i32')};", f"  if (t != {ignored}) {{",
    )  # fmt: skip
    if x is not None:
        p.buffer("fault", "u32", "w")
        fault, classes = p.word("code"), p.word("classes", "i32")
        at, step_n, step_c, step_s = (p.word(w) for w in ("offset_x", "x_n", "x_class", "x_s"))
        p.top(_IN_RANGE)
        p.main(f"    let c = in_range(t, {classes}, {fault});")
        picked = x.load(f"{at} + n * {step_n} + c * {step_c} + s * {step_s}")
        if moments:
            p.buffer("moments", "f32")
            picked = f"({picked} - moments[2u * r]) - moments[2u * r + 1u]"
        p.main(f"    let picked = -({picked});")
    else:
        p.main("    let c = u32(t);", "    let picked = 0.0;")
    if weight is not None:
        at, step = p.word("offset_weight"), p.word("step_weight")
        p.main(f"    let w = {weight.load(f'{at} + c * {step}')};")
    else:
        p.main("    let w = 1.0;")
    p.main("    pair += vec2<f32>(picked * w, w);", "  }", "}")
    return _end(p, result_code, end)


@functools.cache
def merge(result_code: str, end: str) -> Kernel:
    """`end` of the sum of pairs. Bindings: pairs, result. Parameter: their number."""
    p = Program(f"nll_merge.{end}")
    p.buffer("pairs", "f32")
    n = p.word("n")
    p.main("var pair = vec2<f32>();", f"for (var i = lane; i < {n}; i += {GROUP}u) {{")
    p.main("  pair += vec2<f32>(pairs[2u * i], pairs[2u * i + 1u]);", "}")
    return _end(p, result_code, end)


@functools.cache
def slope(code: str, index_code: str, weight_code: str | None, mean: bool, scatter: bool) -> Kernel:
    """-g[r] w[t] (/ total) of each row r of target t, 0 where it is the one to ignore.

    With `scatter` it is stored at [n, t, s] of a result full of zeros, row-major; without, its negative and the target (0 where it is
    ignored) are stored a row, in two arrays. Bindings: g, target, weight (if any), total (if `mean`), result, targets (without
    `scatter`). Parameters: rows, ignored target, sizes and strides of the targets, classes, offset and strides (batch, space)
    of g; with a weight: offset, step.
    """
    p = Program(f"nll_slope{'' if scatter else '.rows'}")
    g, target = p.buffer("g", code), p.buffer("targets", index_code)
    weight = p.buffer("weight", weight_code) if weight_code else None
    if mean:
        p.buffer("total", "f32")
    result = p.buffer("result", code if scatter else "f32", "w")
    if not scatter:
        p.buffer("chosen", "i32", "w")
    rows, ignored = p.word("rows"), p.word("ignored", "i32")
    space, at, step_n, step_s = (p.word(w) for w in ("space", "offset_target", "target_n", "target_s"))
    classes, at_g, g_n, g_s = (p.word(w) for w in ("classes", "offset_g", "g_n", "g_s"))
    p.main(
        f"let r = {FOLDED} * {GROUP}u + lane;", f"if (r >= {rows}) {{ return; }}", f"let n = r / {space};", f"let s = r % {space};",
        f"let t = {convert(target.load(f'{at} + n * {step_n} + s * {step_s}'), target.type.compute, 'i32')};",
        f"if (t == {ignored}) {{",
        *([] if scatter else ["  result[r] = 0.0;", "  chosen[r] = 0;"]),
        "  return;", "}", f"let c = clamp(t, 0, i32({classes}) - 1);",
        f"var value = -({g.load(f'{at_g} + n * {g_n} + s * {g_s}')});",
    )  # fmt: skip
    if weight is not None:
        at, step = p.word("offset_weight"), p.word("step_weight")
        p.main(f"value *= {weight.load(f'{at} + u32(c) * {step}')};")
    p.main(*["value /= total[0];"] if mean else [])
    if scatter:
        p.main(result.save(f"(n * {classes} + u32(c)) * {space} + s", "value"))
    else:
        p.main("result[r] = -value;", "chosen[r] = c;")
    return p.build()


def groups(rows: int) -> int:
    """Workgroups of `total`."""
    return max(1, -(-rows // ROWS))


def grid(rows: int) -> tuple[int, int, int]:
    """Workgroups of `slope`."""
    return fold(-(-rows // GROUP))
