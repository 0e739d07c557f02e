"""Matrix products as C: calls of BLAS on memory as it lies, over all leading dimensions.

BLAS itself runs in one thread; the parts of a product (of its leading dimensions, or else of its rows or columns) are spread over the
threads that run kernels. So threads wait for one another in one place only.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from ..loops.index import ONE, Ix, product
from ..schedule.matrices import Matrix, matrix
from ..values import Value, canonical
from .functions import TYPES
from .text import polynomial

SMALL = 1 << 20
"""Multiplications below which a product is one part."""


@dataclass
class Product:
    """The function of a product and how many parts it may have: `parts` at most, one where there is no more to gain."""

    lines: list[str]
    parts: int


def result(v: Value) -> Matrix:
    """The memory that a product is written to."""
    steps = v.strides if v.strides is not None else canonical(v.shape)
    lead = steps[-2] if v.shape[-2] != ONE else v.shape[-1]
    return Matrix(v, v.start, tuple(steps[:-2]), lead, False)


def text(
    v: Value, name: str, symbols: list[str], symbol_slot: dict[str, int], held: Container[Value]
) -> Product | None:
    """The function of one part of a product, None where BLAS cannot read an operand. Its memory is a, b and c, in this order."""
    a, b = matrix(v.args[0], held), matrix(v.args[1], held)
    if a is None or b is None:
        return None
    c = result(v)
    m, k = v.args[0].shape[-2:]
    n = v.args[1].shape[-1]
    kind, call = TYPES[v.dtype], "sgemm" if v.dtype == "f32" else "dgemm"
    one, none = ("1.0f", "0.0f") if v.dtype == "f32" else ("1.0", "0.0")
    flags = ", ".join("112" if side.transposed else "111" for side in (a, b))
    lines = [f"static void {name}(ts_context *x, int64_t part, int64_t parts) {{"]
    lines += [f"  const int64_t n_{s} = x->n[{symbol_slot[s]}];" for s in symbols]
    for i, (label, side) in enumerate((("a", a), ("b", b), ("c", c))):
        const = "" if label == "c" else "const "
        start = f" + {_wrapped(side.start)}" if side.start.terms else ""
        lines.append(f"  {const}{kind} *{label} = ({const}{kind} *)x->m[x->s[{i}]]{start};")
    batch = v.shape[:-2]
    total = product(batch)
    mult = product((*v.shape, k)).number
    if total != ONE:
        return Product(
            [*lines, *_stack(call, flags, one, none, (a, b, c), batch, (m, n, k))],
            1 if mult is not None and mult < SMALL // 8 else min(16, total.number or 16),
        )
    rows = (m.number or 64) >= (n.number or 64)
    size = m if rows else n
    lines.append(
        f"  const int64_t begin = part * {_wrapped(size)} / parts, end = (part + 1) * {_wrapped(size)} / parts;"
    )
    if rows:
        at_a = "begin" if a.transposed else f"begin * {_wrapped(a.lead)}"
        where = (f"a + {at_a}", "b", f"c + begin * {_wrapped(c.lead)}")
        sizes = ("end - begin", polynomial(n))
    else:
        at_b = f"begin * {_wrapped(b.lead)}" if b.transposed else "begin"
        where = ("a", f"b + {at_b}", "c + begin")
        sizes = (polynomial(m), "end - begin")
    lines.append(
        f"  x->{call}(101, {flags}, {sizes[0]}, {sizes[1]}, {polynomial(k)}, {one}, {where[0]}, {polynomial(a.lead)}, {where[1]}, "
        f"{polynomial(b.lead)}, {none}, {where[2]}, {polynomial(c.lead)});"
    )
    lines.append("}")
    most = max(1, (size.number or 256) // 32)
    parts = 1 if mult is not None and mult < SMALL else min(most, 2 if mult is not None and mult < 16 * SMALL else 4)
    return Product(lines, parts)


def _stack(
    call: str,
    flags: str,
    one: str,
    none: str,
    sides: tuple[Matrix, Matrix, Matrix],
    batch: tuple[Ix, ...],
    sizes: tuple[Ix, Ix, Ix],
) -> list[str]:
    """The loop over the leading dimensions."""
    a, b, c = sides
    m, n, k = sizes
    total = product(batch)
    lines = [f"  const int64_t begin = part * {_wrapped(total)} / parts, end = (part + 1) * {_wrapped(total)} / parts;"]
    lines.append("  for (int64_t i = begin; i < end; i++) {")
    offsets: dict[str, list[str]] = {"a": [], "b": [], "c": []}
    left = "i"
    moving = [d for d in range(len(batch)) if batch[d] != ONE]
    for d in reversed(moving):
        size = _wrapped(batch[d])
        at = left if d == moving[0] else f"({left} % {size})"
        for label, side in (("a", a), ("b", b), ("c", c)):
            if side.batch[d].terms:
                offsets[label].append(f"{at} * {_wrapped(side.batch[d])}")
        left = f"({left} / {size})"
    where = {label: " + ".join([label, *reversed(o)]) for label, o in offsets.items()}
    lines.append(
        f"    x->{call}(101, {flags}, {polynomial(m)}, {polynomial(n)}, {polynomial(k)}, {one}, {where['a']}, {polynomial(a.lead)}, "
        f"{where['b']}, {polynomial(b.lead)}, {none}, {where['c']}, {polynomial(c.lead)});"
    )
    return [*lines, "  }", "}"]


def _wrapped(e: Ix) -> str:
    t = polynomial(e)
    return t if t.replace("_", "").isalnum() else f"({t})"
