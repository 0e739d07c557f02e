"""Matrix products as C: calls of BLAS on memory as it lies, over all leading dimensions."""

from __future__ import annotations

from collections.abc import Container

from ..loops.index import ONE, Ix, product
from ..schedule.matrices import Matrix, matrix
from ..values import Value, canonical
from .functions import TYPES
from .text import polynomial


def result(v: Value) -> Matrix:
    """The memory that a product is written to."""
    steps = v.strides if v.strides is not None else canonical(v.shape)
    lead = steps[-2] if v.shape[-2] != ONE else v.shape[-1]
    return Matrix(v, v.start, tuple(steps[:-2]), lead, False)


def text(
    v: Value, name: str, slot: int, slots: tuple[int, int], symbols: list[str], symbol_slot: dict[str, int], held: Container[Value]
) -> list[str] | None:
    """The function of one part of a product, None where BLAS cannot read an operand."""
    a, b = matrix(v.args[0], held), matrix(v.args[1], held)
    if a is None or b is None:
        return None
    c = result(v)
    m, k = v.args[0].shape[-2:]
    n = v.args[1].shape[-1]
    kind = TYPES[v.dtype]
    call = "sgemm" if v.dtype == "f32" else "dgemm"
    batch = v.shape[:-2]
    lines = [f"static void {name}(ts_context *x, int64_t part, int64_t parts) {{"]
    lines += [f"  const int64_t n_{s} = x->n[{symbol_slot[s]}];" for s in symbols]
    for label, side, at in (("a", a, slots[0]), ("b", b, slots[1])):
        lines.append(f"  const {kind} *{label} = (const {kind} *)x->m[{at}] + {_wrapped(side.start)};")
    lines.append(f"  {kind} *c = ({kind} *)x->m[{slot}] + {_wrapped(c.start)};")
    total = product(batch)
    lines.append(f"  const int64_t begin = part * {_wrapped(total)} / parts, end = (part + 1) * {_wrapped(total)} / parts;")
    lines.append("  for (int64_t i = begin; i < end; i++) {")
    offsets = {"a": [], "b": [], "c": []}
    left = "i"
    for d in range(len(batch) - 1, -1, -1):
        size = _wrapped(batch[d])
        at = left if d == 0 else f"({left} % {size})"
        for label, side in (("a", a), ("b", b), ("c", c)):
            if side.batch[d].terms:
                offsets[label].append(f"{at} * {_wrapped(side.batch[d])}")
        left = f"({left} / {size})"
    where = {label: " + ".join([label, *reversed(o)]) for label, o in offsets.items()}
    one, none = ("1.0f", "0.0f") if v.dtype == "f32" else ("1.0", "0.0")
    flags = ", ".join("112" if side.transposed else "111" for side in (a, b))
    lines.append(
        f"    x->{call}(101, {flags}, {polynomial(m)}, {polynomial(n)}, {polynomial(k)}, {one}, {where['a']}, {polynomial(a.lead)}, "
        f"{where['b']}, {polynomial(b.lead)}, {none}, {where['c']}, {polynomial(c.lead)});"
    )
    lines += ["  }", "}"]
    return lines


def _wrapped(e: Ix) -> str:
    t = polynomial(e)
    return t if t.replace("_", "").isalnum() else f"({t})"
