"""Matrix products: one family of register-tiled kernels for stacks of matrices with any strides.

A thread computes `rows` x `cols` results in registers; K is unrolled by four; no workgroup memory is used.  On lavapipe the
barriers of a staged tile cost more than they save (a third of the speed), and on GPUs a register tile whose operands
come as vec4 is within the noise of staged ones.  What matters is how many multiplications a load instruction feeds, so
each operand is read as vec4 along whichever dimension is contiguous:

a   "k": four steps of K of one row at a time.  "m": four rows of one step.  "s": one by one, any strides.
b   "k": four steps of K of one column (the product is then a dot product).  "n": four columns of one step.  "s".

"k" needs K to be a multiple of four, and all three need the other strides and the offset to be multiples of four; reads
beyond the last row or column are clamped to it, stores are guarded.  With `split` each launch layer takes a chunk of K
and the layers are added by a second, ordinary reduction, so that the sum's order depends on sizes alone.

Parameters: offsets of the output, a, b, bias; M, N, K; strides of a (row, k), of b (k, column), of the output (row);
chunk of K; then for each batch dimension (innermost first): sizes without the last, strides of a, b and the output's layer;
strides of the bias (row, column), alpha, beta.  Strides along which vec4 are read count units of four.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from .pointwise import padded, take_apart
from .wgsl import MAX_WORKGROUPS, TYPES, Kernel, Program

GROUP_X, GROUP_Y = 8, 8
"""A workgroup: threads along columns and rows of results."""

BATCH_RANKS = (1, 3)


@dataclass(frozen=True, slots=True)
class Tile:
    """Results of one thread. `cols` is 1, 4 or 8."""

    rows: int
    cols: int


SOFTWARE_TILES = (Tile(8, 8), Tile(4, 4), Tile(2, 4))
HARDWARE_TILES = (Tile(8, 4), Tile(4, 4), Tile(2, 4), Tile(1, 4))
COLUMN_TILES = (Tile(8, 1), Tile(4, 1), Tile(1, 1))


def tile_for(m: int, n: int, batch: int, tiles: Sequence[Tile], threads: int) -> Tile:
    """The largest tile that still gives `threads` threads to work on, or the smallest."""
    choice = COLUMN_TILES if n < 3 else tiles
    for tile in choice:
        if -(-m // tile.rows) * -(-n // tile.cols) * batch >= threads and m > tile.rows // 2:
            return tile
    return choice[-1]


@functools.cache
def build(
    a_code: str, b_code: str, out_code: str, a_form: str, b_form: str, tile: Tile, *,
    store4: bool, batch: int = 1, bias: str | None = None, split: bool = False,
) -> Kernel:  # fmt: skip
    """The kernel for operands of these type codes and forms.

    `store4`: results are written four columns at a time (needs N and the output's strides to be multiples of four);
    `bias`: the type code of a matrix that is scaled and added; `batch`: class of batch dimensions.
    """
    rows, cols = tile.rows, tile.cols
    store4 = store4 and cols >= 4
    t = TYPES[a_code].compute if TYPES[a_code].compute != "bool" else "u32"
    p = Program(
        f"matmul.{a_form}{b_form}.{rows}x{cols}{'.bias' if bias else ''}{'.split' if split else ''}", (GROUP_X, GROUP_Y)
    )
    p.buffer("a", a_code, wide=a_form != "s")
    p.buffer("b", b_code, wide=b_form != "s")
    extra = p.buffer("bias", bias) if bias else None
    out = p.buffer("result", out_code, "w", wide=store4)

    start, a_at, b_at, bias_at = (p.word(w) for w in ("offset", "offset_a", "offset_b", "offset_bias"))
    m, n, k = p.word("m"), p.word("n"), p.word("k")
    a_row, a_k, b_k, b_col, out_row, chunk = (p.word(w) for w in ("a_row", "a_k", "b_k", "b_col", "out_row", "chunk"))
    sizes = p.words("batch", batch - 1)
    a_layer, b_layer, out_layer = p.words("a_layer", batch), p.words("b_layer", batch), p.word("out_layer")
    layers = p.word("layers")

    def typed(text: str, code: str, four: bool) -> str:
        """A stored value (or four) as the accumulating type."""
        kind = TYPES[code]
        if kind.store == t:
            return text
        return f"vec4<{t}>({text})" if four else f"{t}({text})"

    col_text = f"(group.x * {GROUP_X}u + local.x) * {cols}u"
    p.main(
        f"let col = {col_text};",
        f"let row = (group.y * {GROUP_Y}u + local.y) * {rows}u;",
        f"let m = {m};", f"let n = {n};",
        "if (row >= m || col >= n) { return; }",
        f"let depth = {k};",
    )  # fmt: skip
    if split:
        p.main(f"let layer = group.z % {layers};", f"let slab = group.z / {layers};")
        p.main(f"let from_ = slab * {chunk};", f"let to_ = min(depth, from_ + {chunk});")
    else:
        p.main("let layer = group.z;", "let from_ = 0u;", "let to_ = depth;")
    p.main(*take_apart("layer", sizes, batch, "z"))
    p.main(
        f"let a_base = {a_at}" + "".join(f" + z{d} * {s}" for d, s in enumerate(a_layer)) + ";",
        f"let b_base = {b_at}" + "".join(f" + z{d} * {s}" for d, s in enumerate(b_layer)) + ";",
        f"let a_k = {a_k};", f"let b_k = {b_k};",
    )  # fmt: skip

    # Where each row of a and each column of b begins; rows and columns beyond the last read the last one.
    if a_form == "m":
        for i in range(-(-rows // 4)):
            p.main(f"let ar{i} = a_base + min(row / 4u + {i}u, (m - 1u) / 4u);")
    else:
        for i in range(rows):
            p.main(f"let ar{i} = a_base + min(row + {i}u, m - 1u) * {a_row};")
    quads = max(1, cols // 4)
    if b_form == "n":
        for j in range(quads):
            p.main(f"let bc{j} = b_base + min(col / 4u + {j}u, (n - 1u) / 4u);")
    else:
        for j in range(cols):
            p.main(f"let bc{j} = b_base + min(col + {j}u, n - 1u) * {b_col};")

    dots = b_form == "k"
    single = dots or cols == 1
    if single:
        p.main(*[f"var c{i}_{j} = {t}(0);" for i in range(rows) for j in range(cols)])
    else:
        p.main(*[f"var c{i}_{j} = vec4<{t}>();" for i in range(rows) for j in range(quads)])

    def load_a(step: int, at: str) -> list[str]:
        """Lines that read what step `step` of the unrolled four needs of a."""
        if a_form == "m":
            return [
                f"let a{step}_{i} = {typed(f'a[ar{i} + ({at}) * a_k]', a_code, True)};" for i in range(-(-rows // 4))
            ]
        if a_form == "s":
            return [f"let a{step}_{i} = {typed(f'a[ar{i} + ({at}) * a_k]', a_code, False)};" for i in range(rows)]
        return []

    def a_value(i: int, step: int) -> str:
        if a_form == "k":
            return f"a_{i}.{'xyzw'[step]}"
        if a_form == "m":
            return f"a{step}_{i // 4}.{'xyzw'[i % 4]}"
        return f"a{step}_{i}"

    def add(target: str, x: str, y: str) -> str:
        return f"{target} = fma({x}, {y}, {target});" if t == "f32" else f"{target} = {x} * {y} + {target};"

    def step_lines(step: int, at: str) -> list[str]:
        """One step of K in the form that adds rows of b."""
        lines = load_a(step, at)
        if cols == 1:
            lines.append(f"let b{step} = {typed(f'b[bc0 + ({at}) * b_k]', b_code, False)};")
            return lines + [add(f"c{i}_0", a_value(i, step), f"b{step}") for i in range(rows)]
        for j in range(quads):
            if b_form == "n":
                lines.append(f"let b{step}_{j} = {typed(f'b[bc{j} + ({at}) * b_k]', b_code, True)};")
            else:
                four = ", ".join(typed(f"b[bc{4 * j + q} + ({at}) * b_k]", b_code, False) for q in range(4))
                lines.append(f"let b{step}_{j} = vec4<{t}>({four});")
        for i in range(rows):
            for j in range(quads):
                lines.append(add(f"c{i}_{j}", f"vec4<{t}>({a_value(i, step)})", f"b{step}_{j}"))
        return lines

    vector = a_form == "k" or dots
    p.main("var k = from_;")
    p.main("for (; k + 4u <= to_; k += 4u) {")
    if a_form == "k":
        p.main(*[f"  let a_{i} = {typed(f'a[ar{i} + k / 4u]', a_code, True)};" for i in range(rows)])
    if dots:
        if a_form != "k":
            for step in range(4):
                p.main(*["  " + line for line in load_a(step, f"k + {step}u")])
            p.main(*[f"  let a_{i} = vec4<{t}>({', '.join(a_value(i, u) for u in range(4))});" for i in range(rows)])
        for j in range(cols):
            p.main(f"  let b_{j} = {typed(f'b[bc{j} + k / 4u]', b_code, True)};")
            p.main(*[f"  c{i}_{j} = c{i}_{j} + dot(a_{i}, b_{j});" for i in range(rows)])
    else:
        for step in range(4):
            p.main("  {", *["    " + line for line in step_lines(step, f"k + {step}u")], "  }")
    p.main("}")
    if not vector:
        p.main("for (; k < to_; k += 1u) {", *["  " + line for line in step_lines(0, "k")], "}")

    # Stores, with the bias taken along.
    layer_text = f"(group.z) * {out_layer}" if split else f"layer * {out_layer}"
    p.main(f"let base = {start} + {layer_text};", f"let out_row = {out_row};")
    bias_row = bias_col = alpha = beta = ""
    if extra is not None:
        bias_row, bias_col = p.word("bias_row"), p.word("bias_col")
        alpha, beta = p.word("alpha", t), p.word("beta", t)

    def element(i: int, j: int) -> str:
        text = f"c{i}_{j}" if single else f"c{i}_{j // 4}.{'xyzw'[j % 4]}"
        if extra is not None:
            read = typed(f"bias[{bias_at} + (row + {i}u) * {bias_row} + (col + {j}u) * {bias_col}]", bias or "", False)
            text = f"({alpha} * {text} + {beta} * {read})"
        return f"({text} != {t}(0))" if out_code == "bool" else text

    for i in range(rows):
        p.main(f"if (row + {i}u < m) {{", f"  let at = base + (row + {i}u) * out_row;")
        if store4:
            for j in range(quads):
                values = [element(i, 4 * j + q) for q in range(4)]
                p.main(f"  if (col + {4 * j}u < n) {{ {out.save4(f'at + col / 4u + {j}u', values)} }}")
        else:
            for j in range(cols):
                p.main(f"  if (col + {j}u < n) {{ {out.save(f'at + col + {j}u', element(i, j))} }}")
        p.main("}")
    return p.build()


def words(
    offsets: Sequence[int], sizes: tuple[int, int, int], a: tuple[int, int], b: tuple[int, int], out_row: int, chunk: int,
    batch: Sequence[tuple[int, int, int]], rank: int, out_layer: int, layers: int, forms: tuple[str, str], store4: bool,
    bias: tuple[int, int, int, int] | None = None,
) -> tuple[int, ...]:  # fmt: skip
    """Parameter words.

    `offsets` of output, a, b and bias, `a` the strides (row, k), `b` (k, column), `batch` (size, a's stride, b's stride)
    innermost first, `bias` its strides (row, column) and the bits of alpha and beta. All strides in elements.
    """
    ua, ub, uo = (4 if forms[0] != "s" else 1), (4 if forms[1] != "s" else 1), (4 if store4 else 1)
    (m, n, k), (a_row, a_k), (b_k, b_col) = sizes, a, b
    more = [*batch, *[(1, 0, 0)] * (rank - len(batch))]
    return (
        offsets[0] // uo, offsets[1] // ua, offsets[2] // ub, offsets[3], m, n, k,
        a_row // ua, a_k // ua, b_k // ub, b_col // ub, out_row // uo, chunk,
        *padded([s for s, _, _ in reversed(more)], rank), *[x // ua for _, x, _ in more], *[y // ub for _, _, y in more],
        out_layer // uo, layers, *(bias or ()),
    )  # fmt: skip


def grid(m: int, n: int, layers: int, tile: Tile) -> tuple[int, int, int]:
    """Workgroups of a launch of `layers` products. Raises ValueError where a dimension has too many."""
    x, y = -(-n // (GROUP_X * tile.cols)), -(-m // (GROUP_Y * tile.rows))
    if max(x, y, layers) > MAX_WORKGROUPS:
        raise ValueError(f"a product of {layers} x {m} x {n} results is more than one launch can hold")
    return x, y, layers


def form_of_a(row: int, k: int, offset: int, layers: Sequence[int], depth: int, rows: int) -> str:
    """How to read a, given its strides and offset, for a tile of `rows` rows."""
    if offset % 4 or any(x % 4 for x in layers):
        return "s"
    if k == 1 and row % 4 == 0 and depth % 4 == 0:
        return "k"
    return "m" if row == 1 and k % 4 == 0 and rows % 4 == 0 else "s"


def form_of_b(k: int, col: int, offset: int, layers: Sequence[int], depth: int, cols: int) -> str:
    """How to read b, given its strides and offset, for a tile of `cols` columns."""
    if offset % 4 or any(x % 4 for x in layers):
        return "s"
    if k == 1 and depth % 4 == 0 and (col % 4 == 0 or cols == 1):
        return "k"
    return "n" if col == 1 and k % 4 == 0 and cols >= 4 else "s"
