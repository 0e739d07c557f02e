"""Pointwise kernels, generated from an operator's expression: one output, any number of inputs.

Three forms, chosen by the caller from the operands' geometry:

flat     every operand is contiguous or one element; one index serves all. `wide` reads and writes four elements at once
         (offsets must be multiples of four, and what lies behind the last element up to a multiple of four is
         overwritten, so that the output must own that memory).
rows     an inner dimension, along which a workgroup walks, and rows. 16 x 4 threads take 64 elements of 4 rows. `wide`:
         the inner strides are 1 (or 0: one element repeated), and all offsets and outer strides multiples of four.
strided  one thread an element, the index taken apart by division; for small inner dimensions.

Operands are (type code, mode) pairs. Modes: "array" a binding of its own, "out" the input lives in the output's buffer
(read through the output's binding), "one" a binding read at one element, "repeat" (rows) a binding with inner stride 0,
"number" a parameter word, "none" an argument that is None.

Parameters: the offset of the output, the offset of each input in memory, the numbers, and then what depends on shapes
alone (packed by `flat_geometry`, `rows_geometry`, `strided_geometry`):

flat     n
rows     inner size, rows, the outer sizes; for the output and each input in memory: inner stride, the outer strides
strided  n, the sizes; for the output and each input in memory: the strides

Dimensions stand innermost first; the last size, which nobody divides by, is left out.  In wide kernels n, the inner
size, and the offsets and outer strides of operands read four at a time count units of four.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from .expression import function
from .wgsl import FOLDED, MAX_WORKGROUPS, TYPES, Buffer, Kernel, Program, convert, fold

FLAT_GROUP = 64
"""Threads a workgroup of the flat and strided forms."""
ROW_LANES, ROW_ROWS = 16, 4
"""A workgroup of the rows form."""
ROW_SPAN = 4 * ROW_LANES
"""Elements of a row that one workgroup takes."""

RANKS = (1, 2, 3, 4, 8)
"""Ranks that the strided form is made for; shapes are padded with dimensions of size 1."""
OUTER_RANKS = (1, 2, 3, 7)
"""Numbers of outer dimensions that the rows form is made for."""


def rank_class(rank: int, classes: Sequence[int] = RANKS) -> int:
    """The smallest class that holds `rank`. Raises ValueError above the largest."""
    for c in classes:
        if rank <= c:
            return c
    raise ValueError(f"kernels reach up to {classes[-1]} dimensions after merging, this has {rank}")


@functools.cache
def build(
    name: str,
    expression: str,
    parameters: tuple[str, ...],
    operands: tuple[tuple[str, str], ...],
    out: str,
    form: str,
    rank: int = 1,
    wide: bool = False,
    types: tuple[str, ...] | None = None,
) -> Kernel:
    """The kernel of `expression` over `parameters`, which are the operands in order.

    `out` is the output's type code, `rank` the class of dimensions (strided: all, rows: the outer ones).  `types` are
    the computing types that the expression sees, where they differ from those of the operands' codes (a cast on load).
    Raises ExpressionError for an expression that kernels cannot compute, ValueError for too many buffers.
    """
    computed = types or tuple("none" if mode == "none" else TYPES[c].compute for c, mode in operands)
    p = Program(name, (ROW_LANES, ROW_ROWS) if form == "rows" else (FLAT_GROUP, 1))
    buffers: list[Buffer | None] = []
    for i, (code, mode) in enumerate(operands):
        if mode in ("array", "one", "repeat"):
            buffers.append(p.buffer(f"in{i}", code, wide=wide and mode == "array"))
        else:
            buffers.append(None)
    result = p.buffer("result", out, "w", wide=wide)
    buffers = [result if mode == "out" else b for b, (_, mode) in zip(buffers, operands)]
    p.top(function("compute", expression, tuple(zip(parameters, computed)), TYPES[out].compute))
    body = {"flat": _flat, "rows": _rows, "strided": _strided}[form]
    body(p, operands, computed, buffers, result, rank, wide)
    return p.build()


def _heads(
    p: Program, operands: Sequence[tuple[str, str]], computed: Sequence[str], buffers: Sequence[Buffer | None]
) -> tuple[str, list[str], list[str]]:
    """The words every form begins with: the output's offset, those of the inputs, the numbers ("" where there is none)."""
    start = p.word("offset")
    offsets = [p.word(f"offset{i}") if b is not None else "" for i, b in enumerate(buffers)]
    numbers = ["" for _ in operands]
    for i, (_, mode) in enumerate(operands):
        if mode == "number":
            p.main(f"let n{i} = {p.word(f'number{i}', computed[i])};")
            numbers[i] = f"n{i}"
    return start, offsets, numbers


def _argument(b: Buffer, text: str, target: str) -> str:
    return convert(text, b.type.compute, target)


def _flat(
    p: Program, operands: Sequence, computed: Sequence[str], buffers: Sequence, result: Buffer, rank: int, wide: bool
) -> None:
    start, offsets, numbers = _heads(p, operands, computed, buffers)
    n = p.word("n")
    p.main(f"let i = {FOLDED} * {FLAT_GROUP}u + lane;", f"if (i >= {n}) {{ return; }}")
    arguments = []  # for each operand, its text for each of the four lanes (or the one)
    lanes = 4 if wide else 1
    for k, (_, mode) in enumerate(operands):
        b = buffers[k]
        if b is None:
            arguments.append([numbers[k]] * lanes)
        elif mode == "one":
            p.main(f"let a{k} = {_argument(b, b.load(offsets[k]), computed[k])};")
            arguments.append([f"a{k}"] * lanes)
        elif wide:
            p.main(f"let a{k} = {b.name}[{offsets[k]} + i];")
            arguments.append([_argument(b, b.lane(f"a{k}", j), computed[k]) for j in range(4)])
        else:
            arguments.append([_argument(b, b.load(f"{offsets[k]} + i"), computed[k])])
    calls = [f"compute({', '.join(a[j] for a in arguments if a[j])})" for j in range(lanes)]
    p.main(result.save4(f"{start} + i", calls) if wide else result.save(f"{start} + i", calls[0]))


def flat_geometry(n: int, wide: bool) -> tuple[int, ...]:
    """Parameter words of a flat launch over `n` elements that follow its offsets and numbers."""
    return (-(-n // 4) if wide else n,)


def flat_grid(n: int, wide: bool) -> tuple[int, int, int]:
    """Workgroups of a flat (or strided, never wide) launch over `n` elements."""
    return fold(-(-n // (4 * FLAT_GROUP if wide else FLAT_GROUP)))


def _rows(
    p: Program, operands: Sequence, computed: Sequence[str], buffers: Sequence, result: Buffer, rank: int, wide: bool
) -> None:
    start, offsets, numbers = _heads(p, operands, computed, buffers)
    inner, rows = p.word("inner"), p.word("rows")
    sizes = p.words("size", rank - 1)
    places: dict[int, tuple[str, str, list[str]]] = {-1: (start, p.word("step"), p.words("stride_", rank))}
    for i, b in enumerate(buffers):
        if b is not None:
            places[i] = (offsets[i], p.word(f"step{i}"), p.words(f"stride{i}_", rank))
    p.main(f"let row = (group.z * groups.y + group.y) * {ROW_ROWS}u + local.y;", f"if (row >= {rows}) {{ return; }}")
    if rank > 1:
        p.main("var left = row;")
    for d in range(rank):
        if d == rank - 1:
            p.main(f"let x{d} = {'left' if rank > 1 else 'row'};")
        else:
            p.main(f"let x{d} = left % {sizes[d]};", f"left = left / {sizes[d]};")
    for i, (offset, _, strides) in places.items():
        where = " + ".join([offset, *[f"x{d} * {s}" for d, s in enumerate(strides)]])
        p.main(f"let at{i if i >= 0 else '_'} = {where};")
    ones = []
    for k, (_, mode) in enumerate(operands):
        b = buffers[k]
        if b is not None and mode in ("one", "repeat"):
            ones.append(k)
            p.main(f"let a{k} = {_argument(b, b.load(f'at{k}'), computed[k])};")
    if wide:
        p.main(f"let i = group.x * {ROW_LANES}u + local.x;", f"if (i >= {inner}) {{ return; }}")
        arguments = []
        for k in range(len(operands)):
            b = buffers[k]
            if b is None:
                arguments.append([numbers[k]] * 4)
            elif k in ones:
                arguments.append([f"a{k}"] * 4)
            else:
                p.main(f"let a{k} = {b.name}[at{k} + i];")
                arguments.append([_argument(b, b.lane(f"a{k}", j), computed[k]) for j in range(4)])
        p.main(result.save4("at_ + i", [f"compute({', '.join(a[j] for a in arguments if a[j])})" for j in range(4)]))
        return
    p.main(f"let first = group.x * {ROW_SPAN}u + local.x;", f"let inner = {inner};")
    for i, (_, step, _) in places.items():
        p.main(f"let step{i if i >= 0 else '_'} = {step};")
    texts = []
    for k in range(len(operands)):
        b = buffers[k]
        if b is None:
            texts.append(numbers[k])
        elif k in ones:
            texts.append(f"a{k}")
        else:
            texts.append(_argument(b, b.load(f"at{k} + i * step{k}"), computed[k]))
    call = f"compute({', '.join(filter(None, texts))})"
    p.main(
        f"for (var j = 0u; j < {ROW_SPAN}u; j += {ROW_LANES}u) {{",
        "  let i = first + j;",
        f"  if (i < inner) {{ {result.save('at_ + i * step_', call)} }}",
        "}",
    )


def rows_geometry(sizes: Sequence[int], all_strides: Sequence[Sequence[int]], wide: bool, rank: int) -> tuple[int, ...]:
    """Parameter words of a rows launch that follow its offsets and numbers.

    `sizes` and each of `all_strides` (of the output and each input in memory) stand outermost first.
    """
    rows = 1
    for s in sizes[:-1]:
        rows *= s
    words = [sizes[-1] // 4 if wide else sizes[-1], rows, *padded(sizes[:-1], rank)]
    for strides in all_strides:
        unit = 4 if wide and strides[-1] == 1 else 1
        words += [strides[-1], *[s // unit for s in reversed(strides[:-1])], *[0] * (rank - len(strides) + 1)]
    return tuple(words)


def rows_grid(inner: int, rows: int) -> tuple[int, int, int] | None:
    """Workgroups of a rows launch, or None where there are more than one launch can hold."""
    x = -(-inner // ROW_SPAN)
    y, z, _ = fold(-(-rows // ROW_ROWS))
    return (x, y, z) if x <= MAX_WORKGROUPS else None


def _strided(
    p: Program, operands: Sequence, computed: Sequence[str], buffers: Sequence, result: Buffer, rank: int, wide: bool
) -> None:
    start, offsets, numbers = _heads(p, operands, computed, buffers)
    n = p.word("n")
    sizes = p.words("size", rank - 1)
    places: dict[int, tuple[str, list[str]]] = {-1: (start, p.words("stride_", rank))}
    for i, b in enumerate(buffers):
        if b is not None:
            places[i] = (offsets[i], p.words(f"stride{i}_", rank))
    p.main(f"let i = {FOLDED} * {FLAT_GROUP}u + lane;", f"if (i >= {n}) {{ return; }}")
    p.main(*take_apart("i", sizes, rank))
    texts = []
    for k in range(len(operands)):
        b = buffers[k]
        texts.append(numbers[k] if b is None else _argument(b, b.load(dot(*places[k])), computed[k]))
    p.main(result.save(dot(*places[-1]), f"compute({', '.join(filter(None, texts))})"))


def take_apart(index: str, sizes: Sequence[str], rank: int, prefix: str = "x") -> list[str]:
    """Lines that define x0, x1, ... (innermost first): the coordinates of `index` in dimensions of these sizes."""
    lines = []
    left = index
    for d in range(rank - 1):
        lines.append(f"let {prefix}q{d} = {left} / {sizes[d]};")
        lines.append(f"let {prefix}{d} = {left} - {prefix}q{d} * {sizes[d]};")
        left = f"{prefix}q{d}"
    lines.append(f"let {prefix}{rank - 1} = {left};")
    return lines


def dot(offset: str, strides: Sequence[str], prefix: str = "x") -> str:
    """Text of the place at coordinates x0, x1, ... given an offset and strides, innermost first."""
    return " + ".join([offset, *[f"{prefix}{d} * {s}" for d, s in enumerate(strides)]])


def padded(sizes: Sequence[int], rank: int) -> list[int]:
    """Sizes innermost first, filled up with 1 to `rank`, without the last (which nobody divides by)."""
    return [*reversed(sizes), *[1] * (rank - len(sizes))][: rank - 1]


def strided_geometry(sizes: Sequence[int], all_strides: Sequence[Sequence[int]], rank: int) -> tuple[int, ...]:
    """Parameter words of a strided launch that follow its offsets and numbers; as in `rows_geometry`."""
    n = 1
    for s in sizes:
        n *= s
    words = [n, *padded(sizes, rank)]
    for strides in all_strides:
        words += [*reversed(strides), *[0] * (rank - len(strides))]
    return tuple(words)
