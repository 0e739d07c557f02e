"""Kernels as C: one static function each, and a function that runs a stretch of them in order.

Comments name the user's lines. Loops that run in lanes carry `#pragma omp simd`, which allows their sums to be reordered
and nothing else; no other arithmetic is reordered or contracted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..loops.form import Buffer, Fold, Kernel, Let, Loop, Start, Store, Update, statements
from ..loops.index import Atom, Ix, text
from ..loops.scalar import Scalar, is_float
from .functions import NAMES, TYPES, template

BLOCK = 4096
"""Elements whose sum is kept in single precision before it goes to a total in double."""

_SIGN = {"sum": "+", "prod": "*", "max": "max", "min": "min", "and": "&", "or": "|"}
_LOWEST = {"i64": "INT64_MIN", "i32": "INT32_MIN", "i16": "INT16_MIN", "i8": "INT8_MIN", "u8": "0", "bool": "0"}
_HIGHEST = {"i64": "INT64_MAX", "i32": "INT32_MAX", "i16": "INT16_MAX", "i8": "INT8_MAX", "u8": "255", "bool": "1"}


@dataclass
class Text:
    """Lines of C, and which of them compute which graph nodes."""

    lines: list[str] = field(default_factory=list)
    nodes: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)

    def add(self, line: str, origins: tuple[str, ...] = ()) -> None:
        self.lines.append(line)
        if origins:
            self.nodes.append((len(self.lines), origins))


def number(value: Any, type: str) -> str:
    """A literal."""
    if is_float(type):
        suffix = "f" if type == "f32" else ""
        if math.isnan(value):
            return "NAN" if type == "f32" else "(double)NAN"
        if math.isinf(value):
            return ("-" if value < 0 else "") + ("INFINITY" if type == "f32" else "(double)INFINITY")
        return f"{value!r}{suffix}" if value >= 0 and math.copysign(1, value) > 0 else f"({value!r}{suffix})"
    if type == "bool":
        return "1" if value else "0"
    if type == "i64" and not -(2**31) <= value < 2**31:
        return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})"
    return f"{value}" if value >= 0 else f"({value})"


def neutral(function: str, type: str) -> str:
    """What does not change a reduction."""
    if function in ("sum", "or"):
        return number(0, type) if not is_float(type) else number(0.0, type)
    if function in ("prod", "and"):
        return number(1, type) if not is_float(type) else number(1.0, type)
    low = function in ("max", "argmax")
    if is_float(type):
        return number(-math.inf if low else math.inf, type)
    return (_LOWEST if low else _HIGHEST)[type]


def combined(function: str, a: str, b: str, type: str) -> str:
    """The C expression of one step of a reduction."""
    if function in ("max", "min"):
        sign = ">" if function == "max" else "<"
        nan = f" | ({b} != {b})" if is_float(type) else ""
        return f"({b} {sign} {a}){nan} ? {b} : {a}"
    return f"{a} {_SIGN[function]} {b}"


def polynomial(e: Ix) -> str:
    """A place or size as C; sizes are `n_NAME`, run-time numbers the names of locals."""

    def atom(a: Atom) -> str:
        return f"n_{a[1]}" if a[0] == "s" else str(a[1])

    return text(e, atom, "({0} / {1})", "({0} % {1})")


class Printer:
    """Prints one kernel. `slot` gives the number of a buffer's memory in the table, `note` a comment for origins."""

    def __init__(
        self, kernel: Kernel, slot: Callable[[Buffer], int], note: Callable[[tuple[str, ...]], str], name: str = ""
    ):
        self.k, self.slot, self.note = kernel, slot, note
        self.name = name or kernel.name
        self.places = [b for b in kernel.buffers if b.dtype != "number"]
        # By their places in this kernel, so that kernels that differ in their memory only have the same text.
        self.names = {b.name: (f"b{i}" if b.role == "memory" else b.name) for i, b in enumerate(self.places)}
        self.out = Text()
        self.last_note = ""
        self.written = {s.buffer.name for s in statements(kernel.body) if isinstance(s, (Store, Update))}
        self.written |= {b.name for b, _, _ in kernel.inits} | {b.name for _, b, _, _ in kernel.combines}

    # -- expressions ----------------------------------------------------------------------------

    def operand(self, s: Scalar) -> str:
        """A name or literal."""
        return str(s.data) if s.op == "name" else number(s.data, s.type)

    def value(self, s: Scalar) -> str:
        """The right side of a `Let`."""
        if s.op in ("name", "lit"):
            return self.operand(s)
        if s.op == "load":
            buffer, place = s.data
            return f"{self.names[buffer.name]}[{polynomial(place)}]"
        if s.op in ("ix", "size"):
            return polynomial(s.data)
        if s.op == "given":
            return f"x->g[{self.slot(s.data)}]" if s.type == "f64" else f"({NAMES[s.type]})x->g[{self.slot(s.data)}]"
        args = [self.operand(a) for a in s.args]
        kind = s.args[0].type
        if s.op == "cast":
            return self.cast(args[0], kind, s.type)
        if s.op == "clip":
            top = polynomial(s.data - 1)
            return f"{args[0]} < 0 ? 0 : {args[0]} > {top} ? {top} : {args[0]}"
        if s.op == "where":
            return f"{args[0]} ? {args[1]} : {args[2]}"
        if (
            s.op == "maximum"
            and kind in ("f32", "f64")
            and s.args[1].op == "lit"
            and number(s.args[1].data, "f64") == "0.0"
        ):
            return f"ts_positive{'f' if kind == 'f32' else ''}({args[0]})"
        form = template(s.op, kind)
        if form is None:
            raise NotImplementedError(f"{s.op} of {kind} has no C")
        made = form.format(*args)
        if s.type in ("i8", "i16", "u8", "i32") and s.op not in ("maximum", "minimum"):
            made = f"({NAMES[s.type]})({made})"
        return made

    @staticmethod
    def cast(x: str, source: str, target: str) -> str:
        """A conversion; to bool whatever is not zero is true, and numbers that do not fit wrap or saturate as numpy's do here."""
        if target == "bool":
            return f"{x} != 0"
        if is_float(source) and target in ("i8", "i16", "u8"):
            return f"({NAMES[target]})(int32_t){x}"
        return f"({NAMES[target]}){x}"

    # -- statements -----------------------------------------------------------------------------

    def comment(self, origins: tuple[str, ...], pad: str) -> None:
        """A line that names the user's line, where it is another than the last one's."""
        if origins:
            note = self.note(origins)
            if note and note != self.last_note:
                self.last_note = note
                self.out.add(f"{pad}/* {note} */")

    def block(self, body: Sequence[Any], depth: int) -> None:
        pad = "  " * depth
        for s in body:
            if isinstance(s, Let):
                self.comment(s.origins, pad)
                if s.scalar.op == "place":
                    self._place(s, pad)
                else:
                    self.out.add(f"{pad}const {NAMES[s.scalar.type]} {s.name} = {self.value(s.scalar)};", s.origins)
            elif isinstance(s, Store):
                self.comment(s.origins, pad)
                value = self.operand(s.value)
                if s.value.type != s.buffer.dtype:
                    value = f"({TYPES[s.buffer.dtype]}){value}"
                self.out.add(f"{pad}{self.names[s.buffer.name]}[{polynomial(s.place)}] = {value};", s.origins)
            elif isinstance(s, Update):
                self.comment(s.origins, pad)
                at = f"{self.names[s.buffer.name]}[{polynomial(s.place)}]"
                v = self.operand(s.value)
                self.out.add(f"{pad}{at} = {combined(s.function, at, v, s.buffer.dtype)};", s.origins)
            elif isinstance(s, Start):
                self._start(s, pad)
            elif isinstance(s, Fold):
                self._fold(s, pad)
            elif isinstance(s, Loop):
                self._loop(s, depth)

    def _place(self, s: Let, pad: str) -> None:
        """An index: negative ones count from the end, what is out of range is noted and becomes 0."""
        v, n = self.operand(s.scalar.args[0]), polynomial(s.scalar.data)
        self.out.add(f"{pad}const int64_t {s.name}_ = {v} < 0 ? {v} + {n} : {v};")
        self.out.add(f"{pad}bad |= ({s.name}_ < 0) | ({s.name}_ >= {n});")
        self.out.add(f"{pad}const int64_t {s.name} = ({s.name}_ < 0) | ({s.name}_ >= {n}) ? 0 : {s.name}_;", s.origins)

    def _start(self, s: Start, pad: str) -> None:
        if s.function in ("argmax", "argmin"):
            self.out.add(f"{pad}int64_t {s.name} = 0;")
            self.out.add(f"{pad}{NAMES[s.type]} {s.name}_best = {neutral(s.function, s.type)};")
            return
        self.out.add(f"{pad}{NAMES[s.wide]} {s.name} = {neutral(s.function, s.wide)};")
        if s.function in ("max", "min") and is_float(s.type):
            self.out.add(f"{pad}int {s.name}_nan = 0;")

    def _fold(self, s: Fold, pad: str) -> None:
        v = self.operand(s.value)
        self.comment(s.origins, pad)
        if s.function in ("argmax", "argmin"):
            sign = ">" if s.function == "argmax" else "<"
            nan = f" || ({v} != {v} && {s.name}_best == {s.name}_best)" if is_float(s.value.type) else ""
            assert s.place is not None
            line = f"if ({v} {sign} {s.name}_best{nan}) {{ {s.name}_best = {v}; {s.name} = {polynomial(s.place)}; }}"
            self.out.add(pad + line, s.origins)
        elif s.function in ("max", "min"):
            sign = ">" if s.function == "max" else "<"
            self.out.add(f"{pad}{s.name} = {v} {sign} {s.name} ? {v} : {s.name};", s.origins)
            if is_float(s.value.type):
                self.out.add(f"{pad}{s.name}_nan |= {v} != {v};")
        else:
            name = self.partial.get(s.name, s.name)
            self.out.add(f"{pad}{name} = {combined(s.function, name, v, s.value.type)};", s.origins)

    partial: dict[str, str] = {}

    def _loop(self, s: Loop, depth: int) -> None:
        pad = "  " * depth
        v, n = s.variable, polynomial(s.size)
        low, high = ("begin", "end") if s.grid else ("0", n)
        wide = [f for f in s.folds if f.wide != f.type]
        if s.lanes and wide:
            # Sums in single precision over blocks, their total in double.
            self.out.add(f"{pad}for (int64_t {v}_ = {low}; {v}_ < {high}; {v}_ += {BLOCK}) {{")
            self.out.add(f"{pad}  const int64_t {v}_end = {v}_ + {BLOCK} < {high} ? {v}_ + {BLOCK} : {high};")
            self.partial = {f.name: f"{f.name}_part" for f in wide}
            for f in wide:
                self.out.add(f"{pad}  {NAMES[f.type]} {f.name}_part = {neutral(f.function, f.type)};")
            self._plain(s, depth + 1, f"{v}_", f"{v}_end")
            for f in wide:
                self.out.add(f"{pad}  {f.name} = {combined(f.function, f.name, f'{f.name}_part', f.wide)};")
            self.partial = {}
            self.out.add(f"{pad}}}")
        else:
            self._plain(s, depth, low, high)
        for f in s.folds:
            if f.function in ("max", "min") and is_float(f.type):
                self.out.add(f"{pad}if ({f.name}_nan) {f.name} = {number(math.nan, f.type)};")

    def _plain(self, s: Loop, depth: int, low: str, high: str) -> None:
        pad = "  " * depth
        if s.lanes and self._may_run_in_lanes(s):
            clauses = []
            for f in s.folds:
                clauses.append(f"reduction({_SIGN[f.function]}:{self.partial.get(f.name, f.name)})")
                if f.function in ("max", "min") and is_float(f.type):
                    clauses.append(f"reduction(|:{f.name}_nan)")
            if any(isinstance(x, Let) and x.scalar.op == "place" for x in s.body):
                clauses.append("reduction(|:bad)")
            self.out.add(" ".join([f"{pad}#pragma omp simd", *clauses]))
        self.out.add(f"{pad}for (int64_t {s.variable} = {low}; {s.variable} < {high}; {s.variable}++) {{")
        self.block(s.body, depth + 1)
        self.out.add(f"{pad}}}")

    @staticmethod
    def _may_run_in_lanes(s: Loop) -> bool:
        """Whether no turn of the loop needs what another wrote."""
        inside = {x.name for x in s.body if isinstance(x, Let)}
        for x in s.body:
            if isinstance(x, Loop) or (isinstance(x, Fold) and x.function in ("argmax", "argmin")):
                return False
            if isinstance(x, (Store, Update)):
                atoms = x.place.atoms()
                if any(a[0] in "/%" for a in atoms) or any(a[0] == "r" and a[1] in inside for a in atoms):
                    return False
                if not x.place.factor(s.variable).terms:
                    return False
        return True

    # -- the function ---------------------------------------------------------------------------

    def print(self) -> Text:
        """The function of one part of the kernel."""
        k = self.k
        self.out.add(f"static void {self.name}(ts_context *x, int64_t part, int64_t parts) {{")
        for name in self.symbols():
            self.out.add(f"  const int64_t n_{name} = x->n[{self.symbol_slot(name)}];")
        for i, b in enumerate(self.places):
            shape = ", ".join(text(n) for n in b.shape) if b.shape else text(b.size)
            const = "" if b.name in self.written else "const "
            base = f"({const}{TYPES[b.dtype]} *)x->m[x->s[{i}]]"
            if b.role in ("partial", "scratch"):
                base += f" + part * {_factor(polynomial(b.size))}"
            self.out.add(f"  {const}{TYPES[b.dtype]} *restrict {self.names[b.name]} = {base}; /* [{shape}] */")
        if k.grid is not None:
            n = _factor(polynomial(k.grid.size))
            self.out.add(f"  const int64_t begin = part * {n} / parts, end = (part + 1) * {n} / parts;")
        if k.checks:
            self.out.add("  int bad = 0;")
        for b, function, size in k.inits:
            if b.role == "partial":
                self.fill(b, function, size, "  ")
        self.block(k.body, 1)
        if k.checks:
            self.out.add("  if (bad) x->bad = 1;")
        self.out.add("}")
        return self.out

    def fill(self, b: Buffer, function: str, size: Ix, pad: str) -> None:
        """A loop that sets memory to what does not change a reduction."""
        self.out.add(
            f"{pad}for (int64_t i = 0; i < {polynomial(size)}; i++) {self.names.get(b.name, b.name)}[i] = {neutral(function, b.dtype)};"
        )

    def symbols(self) -> list[str]:
        """The symbolic sizes it reads."""
        found: dict[str, None] = {}

        def note(e: Any) -> None:
            if isinstance(e, Ix):
                for a in sorted(e.atoms(), key=repr):
                    if a[0] == "s":
                        found[a[1]] = None

        for s in statements(self.k.body):
            if isinstance(s, Loop):
                note(s.size)
            elif isinstance(s, (Store, Update, Fold)):
                note(s.place)
            elif isinstance(s, Let):
                note(s.scalar.data[1] if s.scalar.op == "load" else s.scalar.data)
        for b in self.k.buffers:
            note(b.size)
        return list(found)

    symbol_slot: Callable[[str], int] = staticmethod(lambda name: 0)

    def driver(self, pad: str, table: str) -> list[str]:
        """Lines that run the kernel: memory set before, its parts, their results put together. `table` names its memory."""
        k = self.k
        lines = [f"{pad}x->s = {table};"]
        run = f"x->parallel({self.name}, x, {k.chunks});" if k.chunks > 1 else f"{self.name}(x, 0, 1);"
        outer = [(b, f, n) for b, f, n in k.inits if b.role != "partial"]
        if not outer and not k.combines:
            return [*lines, f"{pad}{run}"]
        lines.append(f"{pad}{{")
        lines += [f"{pad}  const int64_t n_{name} = x->n[{self.symbol_slot(name)}];" for name in self.symbols()]
        for b, function, size in outer:
            self.out = Text()
            kind, name = TYPES[b.dtype], self.names[b.name]
            lines.append(f"{pad}  {kind} *{name} = ({kind} *)x->m[{self.slot(b)}];")
            self.fill(b, function, size, pad + "  ")
            lines += self.out.lines
        lines.append(f"{pad}  {run}")
        for part, b, function, size in k.combines:
            n, p, q = polynomial(size), TYPES[part.dtype], TYPES[b.dtype]
            out = f"{self.names[b.name]}_"
            lines.append(f"{pad}  const {p} *restrict {part.name} = (const {p} *)x->m[{self.slot(part)}];")
            lines.append(f"{pad}  {q} *restrict {out} = ({q} *)x->m[{self.slot(b)}];")
            lines.append(f"{pad}  for (int64_t i = 0; i < {n}; i++) {{")
            lines.append(f"{pad}    {p} v = {part.name}[i];")
            if k.chunks > 1:
                step = combined(function, "v", f"{part.name}[i + c * {_factor(n)}]", part.dtype)
                lines.append(f"{pad}    for (int64_t c = 1; c < {k.chunks}; c++) v = {step};")
            lines.append(f"{pad}    {out}[i] = ({q})v;")
            lines.append(f"{pad}  }}")
        lines.append(f"{pad}}}")
        return lines


def _factor(e: str) -> str:
    return e if e.replace("_", "").isalnum() else f"({e})"
