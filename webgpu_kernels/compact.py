"""Where the true elements are: counts of each chunk, then their coordinates, in order.

The host adds the counts up in between: how long the result is must be known there anyway.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from .pointwise import FLAT_GROUP as GROUP
from .pointwise import RANKS, dot, padded, rank_class, take_apart
from .wgsl import FOLDED, Kernel, Program, convert, fold

CHUNK = 256
"""Elements that one thread looks at."""


@functools.cache
def build(code: str, rank: int, write: bool) -> Kernel:
    """Counting: counts[t] of the true elements in chunk t. Writing: rows of coordinates from row starts[t] on.

    Bindings: x, then counts, or starts and result (i32). Parameters: n, offset of x, dimensions of the array (writing: the
    length of a row), sizes, strides.
    """
    p = Program("nonzero" if write else "count_nonzero")
    x = p.buffer("x", code)
    p.buffer("starts", "u32", "r" if write else "w")
    if write:
        p.buffer("result", "i32", "w")
    n, at, dims = p.word("n"), p.word("offset"), p.word("dims")
    sizes, strides = p.words("size", rank - 1), p.words("stride", rank)
    p.main(
        f"let t = {FOLDED} * {GROUP}u + lane;",
        f"let first = t * {CHUNK}u;",
        f"if (first >= {n}) {{ return; }}",
        "var row = starts[t];" if write else "var row = 0u;",
        f"for (var i = first; i < min(first + {CHUNK}u, {n}); i++) {{",
        *["  " + line for line in take_apart("i", sizes, rank)],
        f"  if ({convert(x.load(dot(at, strides)), x.type.compute, 'bool')}) {{",
    )
    if write:
        p.main(
            *[f"    if ({d}u < {dims}) {{ result[(row + 1u) * {dims} - {d + 1}u] = i32(x{d}); }}" for d in range(rank)]
        )
    p.main("    row += 1u;", "  }", "}")
    if not write:
        p.main("starts[t] = row;")
    return p.build()


def words(shape: Sequence[int], offset: int, strides: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Parameter words and the rank class; outermost first."""
    rank = rank_class(len(shape), RANKS)
    n = 1
    for s in shape:
        n *= s
    return (n, offset, len(shape), *padded(shape, rank), *reversed(strides), *[0] * (rank - len(strides))), rank


def chunks(n: int) -> int:
    """How many counts there are for n elements."""
    return -(-n // CHUNK)


def grid(n: int) -> tuple[int, int, int]:
    """Workgroups of a launch over n elements."""
    return fold(-(-chunks(n) // GROUP))
