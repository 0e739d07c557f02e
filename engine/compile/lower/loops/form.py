"""The loop-level form of a kernel: what all printers print.

A kernel is a tree of statements. Arithmetic is in three-address form: each `Let` names one operation on names and numbers
before it, placed in the outermost loop in which all it needs is known. Sizes and strides are numbers or polynomials of
symbolic sizes. The form itself prints as Python, with shapes in comments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .index import Ix, text
from .scalar import NUMPY, Scalar, show


@dataclass(eq=False)
class Buffer:
    """Memory that a kernel reads or writes. `role` is "memory", "partial" (one stretch a chunk) or "scratch" (the same)."""

    name: str
    dtype: str
    size: Ix
    role: str = "memory"
    value: Any = None
    shape: tuple[Ix, ...] = ()

    def __repr__(self) -> str:
        return self.name


@dataclass
class Let:
    """`name` is the result of one operation. Operands are `Scalar("name", data=...)` or literals."""

    name: str
    scalar: Scalar
    origins: tuple[str, ...] = ()


@dataclass
class Store:
    """buffer[place] = value"""

    buffer: Buffer
    place: Ix
    value: Scalar
    origins: tuple[str, ...] = ()


@dataclass
class Update:
    """buffer[place] = buffer[place] combined with value by `function`"""

    buffer: Buffer
    place: Ix
    function: str
    value: Scalar
    origins: tuple[str, ...] = ()


@dataclass
class Start:
    """A running reduction begins: `name` is set to what does not change it. `type` is that of the values, `wide` that of the running total."""

    name: str
    function: str
    type: str
    wide: str


@dataclass
class Fold:
    """A running reduction takes a value in; for argmax and argmin `place` is the number that is wanted."""

    name: str
    function: str
    value: Scalar
    place: Ix | None = None
    origins: tuple[str, ...] = ()


@dataclass
class Loop:
    """`variable` runs from 0 to `size` less one. `lanes` loops may run side by side; `folds` are reductions whose running values
    begin outside of it."""

    variable: str
    size: Ix
    body: list[Any] = field(default_factory=list)
    lanes: bool = False
    folds: list[Start] = field(default_factory=list)
    grid: bool = False
    """Whether it is the outermost loop, of which a chunk runs a part."""


@dataclass
class Kernel:
    """One kernel. `body` is what one chunk does; the loop `grid` in it runs over the chunk's part of its range only.

    `inits` are memory that is set before: (buffer, function whose neutral number it is, elements a chunk). `combines` are
    partial results that are put together after: (partial, buffer, function, elements).
    """

    name: str
    buffers: list[Buffer]
    body: list[Any]
    grid: Loop | None = None
    chunks: int = 1
    """Into how many parts the outermost loop may be cut (the order of additions depends on it)."""

    inits: list[tuple[Buffer, str, Ix]] = field(default_factory=list)
    combines: list[tuple[Buffer, Buffer, str, Ix]] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    work: Ix = field(default_factory=lambda: Ix({}))
    """Operations, roughly."""

    reads: list[Buffer] = field(default_factory=list)
    writes: list[Buffer] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    """The loop variables outside of its rows, whose turns do not depend on one another."""

    rewrites: list[str] = field(default_factory=list)
    """Names of the rules of `simplify.algebra.MEETING` that did something."""

    checks: bool = False
    """Whether it finds indices out of range."""


def statements(body: list[Any]) -> Iterator[Any]:
    """All statements, those inside loops too."""
    for s in body:
        yield s
        if isinstance(s, Loop):
            yield from statements(s.body)


IDENTITY: dict[str, Any] = {"sum": 0, "prod": 1, "max": "lowest", "min": "highest", "and": True, "or": False}
"""What does not change a reduction; "lowest" and "highest" are those of the type."""


def python(kernel: Kernel) -> str:
    """The kernel as Python text, for people."""
    from .scalar import is_float

    lines = [f"def {kernel.name}({', '.join(b.name for b in kernel.buffers)}):"]
    for b in kernel.buffers:
        note = f"  ({b.role})" if b.role != "memory" else ""
        lines.append(f"    # {b.name}: {b.dtype}[{', '.join(text(n) for n in b.shape) or text(b.size)}]{note}")

    def number(s: Any, type: str) -> str:
        if s == "lowest":
            return "-inf" if is_float(type) else f"numpy.iinfo('{NUMPY[type]}').min"
        if s == "highest":
            return "inf" if is_float(type) else f"numpy.iinfo('{NUMPY[type]}').max"
        return repr(s)

    def block(body: list[Any], depth: int) -> None:
        pad = "    " * depth
        for s in body:
            if isinstance(s, Loop):
                note = f"  # in up to {kernel.chunks} parts" if s.grid and kernel.chunks > 1 else ""
                lines.append(f"{pad}for {s.variable} in range({text(s.size)}):{note}")
                block(s.body, depth + 1)
            elif isinstance(s, Let):
                lines.append(
                    f"{pad}{s.name} = {expression(s.scalar)}" + (f"  # {', '.join(s.origins)}" if s.origins else "")
                )
            elif isinstance(s, Store):
                lines.append(
                    f"{pad}{s.buffer.name}[{place(s.place)}] = {expression(s.value)}"
                    + (f"  # {', '.join(s.origins)}" if s.origins else "")
                )
            elif isinstance(s, Update):
                at = f"{s.buffer.name}[{place(s.place)}]"
                lines.append(f"{pad}{at} = {s.function}({at}, {expression(s.value)})  # {', '.join(s.origins)}")
            elif isinstance(s, Start):
                lines.append(f"{pad}{s.name} = {number(IDENTITY.get(s.function, 'lowest'), s.wide)}")
            elif isinstance(s, Fold):
                extra = f", {text(s.place)}" if s.place is not None else ""
                lines.append(
                    f"{pad}{s.name} = {s.function}({s.name}, {expression(s.value)}{extra})  # {', '.join(s.origins)}"
                )

    for b, function, n in kernel.inits:
        lines.append(f"    {b.name}[:{text(n)}] = {number(IDENTITY[function], b.dtype)}")
    block(kernel.body, 1)
    for part, b, function, _ in kernel.combines:
        lines.append(f"    {b.name}[:] = {function}({part.name})  # of all parts")
    return "\n".join(lines) + "\n"


def place(e: Ix) -> str:
    """A place in a buffer as text; run-time numbers are the names they got."""
    return text(e, lambda a: str(a[1]))


def expression(s: Scalar) -> str:
    """One operation as text."""

    def names(x: Scalar) -> str | None:
        if x.op == "name":
            return str(x.data)
        if x.op == "load":
            return f"{x.data[0].name}[{place(x.data[1])}]"
        if x.op in ("ix", "size"):
            return f"({place(x.data)})"
        return None

    return show(s, names)
