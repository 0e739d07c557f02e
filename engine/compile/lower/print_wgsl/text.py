"""Kernels as WGSL: a thread for each turn of the loops outside of rows, or for each element where nothing is reduced.

Sizes known when compiling are in the text; symbolic ones, offsets of tensors and numbers are parameter words. Functions are those
of eager kernels (`webgpu_kernels.functions`), so that results differ only where sums are ordered otherwise.
"""

from __future__ import annotations

import ast as _AST
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .....webgpu_kernels import expression
from .....webgpu_kernels.expression import Value as Typed
from .....webgpu_kernels.wgsl import FOLDED, MAX_STEPS, TYPES, Program, convert
from .....webgpu_kernels.wgsl import Buffer as Binding
from .....webgpu_kernels.wgsl import Kernel as Shader
from ..loops.form import Buffer, Fold, Kernel, Let, Loop, Start, Store, Update, statements
from ..loops.index import Atom, Ix, ix, product, text
from ..loops.scalar import Scalar

GROUP = 64

TURNS = (260, 132, 68, 36, 20, 12, 8, 4, 2)
"""How many neighbouring elements (or fours) a thread of a software adapter may compute, where nothing is reduced.

A workgroup costs as much there as three loads by all of its threads. Long stretches of whole cache lines keep the memory's prefetching
busy with several pages at once, and those that are no power of two do not meet in one set of a cache.
"""

THREADS = 1024
"""Threads that are left at least, for the cores: 16 workgroups."""

LEAST_WALKS = 16
"""Threads below which a kernel does not walk along its rows."""

COMPUTE = {"f32": "f32", "i64": "i32", "i32": "i32", "i16": "i32", "i8": "i32", "u8": "i32", "bool": "bool"}
"""WGSL's computing type of each type code; double precision has none."""

_SAME = {
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh", "sqrt", "rsqrt", "sigmoid", "erf", "erfc", "lgamma", "atan2", "floor", "ceil", "round", "trunc", "abs", "sign",
    "minimum", "maximum", "isnan", "isinf", "isfinite", "signbit", "where", "pow", "floor_divide", "remainder", "fmod", "copysign",
    "nextafter",
}  # fmt: skip
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_LOGIC = {"and": ("&", "&&"), "or": ("|", "||"), "xor": ("^", "!=")}


class Unprintable(NotImplementedError):
    """The kernel has something that WGSL cannot say."""


@dataclass
class Printed:
    """A shader, how its words are filled, and its threads."""

    shader: Shader
    words: list[tuple[str, Any]]
    """ ("offset", buffer), ("size", name), ("number", buffer), ("threads", None), ("code", None) """
    bindings: list[Buffer]
    threads: Ix
    checks: bool
    wide: frozenset[str]
    """Buffers that are read in fours: their offsets must be multiples of four."""

    lines: list[tuple[int, tuple[str, ...]]]
    """Which lines of the source compute which graph nodes."""

    group: int = GROUP
    """Threads of a workgroup."""

    work: int = 0
    """Multiplications of a product, for launches that are long by themselves."""


def quarter(e: Ix) -> Ix:
    """A fourth of what is a multiple of four."""
    return Ix({key: c // 4 for key, c in e.terms.items()})


class Printer:
    """Prints one kernel. `code` gives the kernels' type code of a buffer in device memory."""

    def __init__(
        self, kernel: Kernel, code: Callable[[Buffer], str], note: Callable[[tuple[str, ...]], str], name: str
    ):
        self.k, self.code, self.note, self.name = kernel, code, note, name
        self.bindings: dict[str, Binding] = {}
        self.words: list[tuple[str, Any]] = []
        self.texts: dict[Any, str] = {}
        self.types: dict[str, str] = {}
        self.last_note = ""
        self.depth = 0
        self.takes_fours = True
        """Whether loops take four elements a turn where they can."""
        self.lanes: dict[str, list[str]] = {}
        """Names that differ among the four elements of a turn of a wide loop."""
        self.wide: set[int] = set()
        """Loops (by identity) whose turns take four elements."""
        self.wide_buffers: set[str] = set()
        self.folded: dict[str, list[str]] = {}
        """Reductions that only wide loops fold: four running values each, which are put together after."""
        self.bases: dict[tuple[str, Ix], str] = {}
        """Places in memory that move with the innermost open loop: their names."""
        self.inmost = ""
        """The variable of the innermost open loop."""
        self.meanings: dict[str, int] = {}
        """What each name is: equal formulas have the same number."""
        self.numbered: dict[Any, int] = {}
        self.greatest: dict[str, set[Any]] = {}
        """What each running maximum has taken in."""
        self.nonpositive: set[str] = set()
        self.counter = 0
        self.software = False
        """Whether it is for an adapter that computes on the CPU: few threads with much to do, each on neighbouring elements."""
        self.across = ""
        """The variable of a loop outside of rows of which each thread takes four turns side by side."""
        self.walk: tuple[str, int] | None = None
        """The variable of the rows of a kernel whose threads walk along `across` with sums in memory, and how many rows at a time."""
        self.turns = 1
        """How many elements (or fours) each thread computes."""
        self.sums: dict[str, Store] = {}
        """Where the sums of such a kernel are stored."""
        self.written = 0
        """Lines of the entry point so far."""
        self.marks: list[tuple[int, tuple[str, ...]]] = []

    def print(self) -> Printed:
        """The shader. Raises Unprintable (a NotImplementedError)."""
        k = self.k
        if k.inits or k.combines:
            raise Unprintable("sums over several threads")
        written = {s.buffer.name for s in statements(k.body) if isinstance(s, (Store, Update))}
        p = self.p = Program(self.name, (GROUP, 1))
        memory = [b for b in k.buffers if b.dtype != "number"]
        if any(b.role != "memory" for b in memory) or any(b.dtype == "f64" for b in memory):
            raise Unprintable("double precision, or memory of its own")
        loops = [s for s in statements(k.body) if isinstance(s, Loop)]
        codes = {b.name: self.code(b) for b in memory}
        reduced = any(isinstance(s, (Start, Fold)) for s in statements(k.body))
        self._choose_wide(loops, codes)
        if reduced:
            names = list(dict.fromkeys(s.variable for s in loops))
            self._choose_across(loops, [n for n in names if n in k.rows], codes)
        self._choose_folded(loops)
        for i, b in enumerate(memory):
            access = "w" if b.name in written else "r"
            self.bindings[b.name] = p.buffer(f"b{i}", self.code(b), access, wide=b.name in self.wide_buffers)
        if k.checks:
            p.buffer("fault", "u32", "w")
            p.top(_CHECK)
            self.fault = self._word("code", None)
        names = list(dict.fromkeys(s.variable for s in loops))
        parallel = [n for n in names if n in k.rows] if reduced else names
        for s in statements(k.body):
            # Writes to places that index values say are made by one thread in order, each where no other writes.
            if isinstance(s, (Store, Update)) and any(a[0] == "r" for a in s.place.atoms()):
                parallel = [n for n in parallel if n in s.place.variables()]
        sizes = {s.variable: s.size for s in loops}
        fours = {s.variable for s in loops if id(s) in self.wide and s.variable in parallel}
        if self.across:
            fours = {self.across}
            if self._choose_walk(parallel, sizes):
                parallel.remove(self.across)
                fours = set()
        sizes.update({n: quarter(sizes[n]) for n in fours})
        threads = product(sizes[n] for n in parallel)
        self.parallel = {*parallel, self.across}
        group = self._group(threads) if reduced else GROUP
        p.workgroup = (group, 1)
        turns = self.turns = 1 if reduced or set(names) - set(parallel) else self._turns(threads)
        if turns == 1:
            self._begin(group)
        else:
            self.line(f"let first = ({FOLDED} * {group}u + lane) * {turns}u;")
            self.line(f"let end = min(first + {turns}u, {threads.number}u);")
            self.line("for (var id = first; id < end; id++) {")
            self.depth += 1
        left = "id"
        for i, n in enumerate(reversed(parallel)):
            last = i == len(parallel) - 1
            size = f"u32({self.index(sizes[n])})"
            times = " * 4" if n in fours else ""
            self.line(f"let {n} = i32({left}){times};" if last else f"let {n} = i32({left} % {size}){times};")
            if not last:
                self.line(f"let quotient{i} = {left} / {size};")
                left = f"quotient{i}"
        self.block(k.body)
        if turns > 1:
            self.depth -= 1
            self.line("}")
            threads = ix(-(-(threads.number or 0) // turns))
        self._end()
        shader = p.build()
        first = (
            shader.source[: shader.source.index("@compute")].count("\n") + 4
        )  # after the three lines of the entry point
        lines = [(first + at, origins) for at, origins in self.marks]
        return Printed(shader, self.words, memory, threads, k.checks, frozenset(self.wide_buffers), lines, group)

    def _turns(self, threads: Ix) -> int:
        """How many elements (or fours) a thread computes where nothing is reduced."""
        if not self.software or threads.number is None:
            return 1
        return next((t for t in TURNS if t * THREADS <= threads.number), 1)

    def _group(self, threads: Ix) -> int:
        """Threads of a workgroup: fewer where they would not fill several, on adapters that have a workgroup on one core."""
        if not self.software or threads.number is None:
            return GROUP
        return next((g for g in (64, 32, 16) if g * 8 <= threads.number), 8)

    def _choose_across(self, loops: list[Loop], parallel: list[str], codes: dict[str, str]) -> None:
        """Let threads of a kernel with rows take four of them side by side, where these are neighbours in memory: sums of columns.

        A load of four costs a software adapter what one of one element does.
        """
        if not self.software or self.wide or not parallel:
            return
        sizes = {s.variable: s.size.number for s in loops}
        found: set[str] = set()
        for s in statements(self.k.body):
            if isinstance(s, Update) or (isinstance(s, (Start, Fold)) and s.function.startswith("arg")):
                return
            if isinstance(s, Let) and s.scalar.op in ("place", "clip"):
                return
            if isinstance(s, Store):
                found |= s.place.variables()
        for v in reversed(parallel):
            n = sizes[v]
            if n is None or n % 4 or v not in found:
                continue
            mine: set[str] = set()
            others: set[str] = set()
            good = True
            for s in statements(self.k.body):
                if isinstance(s, Store):
                    buffer, place = s.buffer, s.place
                elif isinstance(s, Let) and s.scalar.op == "load":
                    buffer, place = s.scalar.data
                else:
                    continue
                if v not in place.variables():
                    others.add(buffer.name)
                    good = good and not isinstance(s, Store)
                    continue
                rest = place.without((v,))
                good = (
                    good
                    and place.is_affine()
                    and place.factor(v).number == 1
                    and all(c % 4 == 0 for c in rest.terms.values())
                    and TYPES[codes[buffer.name]].itemsize == 4
                )
                mine.add(buffer.name)
            if good and mine and not mine & others:
                self.across, self.wide_buffers = v, mine
                return

    def _choose_walk(self, parallel: list[str], sizes: dict[str, Ix]) -> bool:
        """Whether threads go through memory as it lies, row after row, and keep the sums of columns in memory.

        A thread that goes down its own columns meets a line of the cache, and a page, that nobody has asked for at every turn.
        """
        if parallel[-1] != self.across or (product(sizes[n] for n in parallel[:-1]).number or 0) < LEAST_WALKS:
            return False
        body: list[Any] = self.k.body
        while any(isinstance(s, Loop) and s.variable in parallel for s in body):
            body = next(s.body for s in body if isinstance(s, Loop) and s.variable in parallel)
        rows = [s for s in body if isinstance(s, Loop)]
        if len(rows) != 1:
            return False
        turns, columns = rows[0].size.number, sizes[self.across].number
        if turns is None or columns is None or turns * columns > 4 * MAX_STEPS:
            return False
        if any(isinstance(s, Loop) for s in rows[0].body):
            return False
        starts = {s.name: s for s in body if isinstance(s, Start)}
        after = body[body.index(rows[0]) + 1 :]
        if any(not isinstance(s, Store) or s.value.op != "name" or s.value.data not in starts for s in after):
            return False
        sums = {str(s.value.data): s for s in after}
        if len(sums) != len(after) or sums.keys() != starts.keys():
            return False
        if any(TYPES[self.code(s.buffer)].save != "@" for s in after):
            return False
        if any(isinstance(s, Store) for s in body[: body.index(rows[0])]):
            return False
        self.walk = (rows[0].variable, next(n for n in (4, 2, 1) if turns % n == 0))
        self.sums = sums
        return True

    def _begin(self, group: int) -> None:
        """Which of all threads this one is."""
        total = self._word("threads", None)
        self.line(f"let id = {FOLDED} * {group}u + lane;")
        self.line(f"if (id >= {total}) {{ return; }}")

    def _end(self) -> None:
        """What is known only when all is written."""

    def _choose_wide(self, loops: list[Loop], codes: dict[str, str]) -> None:
        """Loops that can take four elements a turn: everything that moves with them is contiguous and aligned."""
        inner = (
            [s for s in loops if s.lanes and not any(isinstance(x, Loop) for x in s.body)] if self.takes_fours else []
        )
        wide: set[str] = set()
        narrow: set[str] = set()
        for s in statements(self.k.body):
            if isinstance(s, Update):
                narrow.add(s.buffer.name)
        for s in inner:
            n = s.size.number
            good = n is not None and n % 4 == 0 and not any(isinstance(x, (Update, Loop, Start)) for x in s.body)
            mine: set[str] = set()
            for x in s.body:
                place = (
                    x.place
                    if isinstance(x, Store)
                    else x.scalar.data[1]
                    if isinstance(x, Let) and x.scalar.op == "load"
                    else None
                )
                buffer = x.buffer if isinstance(x, Store) else x.scalar.data[0] if place is not None else None  # type: ignore[union-attr]
                if isinstance(x, Let) and x.scalar.op in ("place", "clip"):
                    good = False
                if place is None or buffer is None:
                    continue
                atoms = place.atoms()
                if any(a[0] in "/%r" and a[0] != "r" for a in atoms) or any(a[0] == "r" for a in atoms):
                    good = (
                        good
                        and s.variable not in place.variables()
                        and all(a[0] == "r" for a in atoms if a[0] in "/%r")
                    )
                    good = good and not any(isinstance(y, Let) and ("r", y.name) in atoms for y in s.body)
                    continue
                if s.variable not in place.variables():
                    good = good and not isinstance(x, Store)
                    continue
                rest = place.without((s.variable,))
                aligned = all(c % 4 == 0 for c in rest.terms.values())
                good = (
                    good
                    and place.factor(s.variable).number == 1
                    and aligned
                    and TYPES[codes[buffer.name]].itemsize == 4
                )
                mine.add(buffer.name)
            if good and mine:
                self.wide.add(id(s))
                wide |= mine
        # A buffer that is written one element at a time somewhere is not bound in fours.
        for s in statements(self.k.body):
            if (
                isinstance(s, Store)
                and s.buffer.name in wide
                and not any(id(w) in self.wide and s in w.body for w in inner)
            ):
                narrow.add(s.buffer.name)
        if narrow & wide:
            self.wide.clear()
            return
        self.wide_buffers = wide

    def _choose_folded(self, loops: list[Loop]) -> None:
        """Reductions that all of their loops take in fours have four running values, so that additions do not wait for one another."""
        inside = {id(x) for w in loops if id(w) in self.wide for x in w.body}
        narrow = {s.name for s in statements(self.k.body) if isinstance(s, Fold) and id(s) not in inside}
        for s in statements(self.k.body):
            if isinstance(s, Start) and s.name not in narrow and not s.function.startswith("arg"):
                self.folded[s.name] = [s.name + c for c in "xyzw"]

    # -- pieces ---------------------------------------------------------------------------------

    def _word(self, kind: str, what: Any, type: str = "u32") -> str:
        key = (kind, what.name if isinstance(what, Buffer) else what)
        if key not in self.texts:
            self.words.append((kind, what))
            self.texts[key] = self.p.word(f"{kind}_{key[1]}", type)
        return self.texts[key]

    def index(self, e: Ix) -> str:
        """A place, coordinate or size as i32 text."""

        def atom(a: Atom) -> str:
            return self._word("size", a[1], "i32") if a[0] == "s" else str(a[1])

        return text(e, atom, "({0} / {1})", "({0} % {1})")

    def element(self, b: Buffer, place: Ix) -> str:
        """The index of an element in its binding."""
        name = self.bases.get((b.name, place))
        if name is not None:
            return name
        offset = self._word("offset", b, "i32")
        e = self.index(place)
        return offset if e == "0" else f"{offset} + {e}"

    def fours(self, b: Buffer, place: Ix, variable: str) -> str:
        """The index of four elements in their binding, where `variable` is that of a wide loop."""
        if variable not in place.variables():
            return self._base(b, place)
        if (b.name, place) in self.bases:
            return self.bases[b.name, place]
        if variable != self.inmost:
            return f"{self._base(b, place.without((variable,)))} + ({variable} >> 2u)"
        return self.bases[b.name, place]

    def _base(self, b: Buffer, rest: Ix) -> str:
        """A quarter of a place that is a multiple of four, as text."""
        offset = self._word("offset4", b, "i32")
        fourth = self.index(quarter(rest))
        return offset if fourth == "0" else f"{offset} + {fourth}"

    def _name_bases(self, loop: Loop) -> list[str]:
        """Name the places that a loop reads and writes, before it; returns the lines that move them on at the end of a turn."""
        v = loop.variable
        out: list[str] = []
        for s in loop.body:
            if isinstance(s, (Store, Update)):
                buffer, place = s.buffer, s.place
            elif isinstance(s, Let) and s.scalar.op == "load":
                buffer, place = s.scalar.data
            else:
                continue
            if v not in place.variables() or not place.is_affine() or (buffer.name, place) in self.bases:
                continue
            rest = place.without((v,))
            step = self.index(place.factor(v))
            if id(loop) in self.wide:
                start, step = self._base(buffer, rest), "1"
            elif self.across and self.across in place.variables():
                start = f"{self._base(buffer, rest.without((self.across,)))} + ({self.across} >> 2u)"
                step = self.index(Ix({key: c // 4 for key, c in place.factor(v).terms.items()}))
            else:
                start = self.element(buffer, rest)
            if self.walk:
                start += f" + {v}_first * {step}"
            name = f"at{self.counter}"
            self.counter += 1
            self.line(f"var {name} = {start};")
            out.append(f"{name} += {step};")
            self.bases[buffer.name, place] = name
        return out

    def _learn(self, s: Let) -> None:
        """Note what a name is, and whether it is a value less the greatest of all such values."""
        x = s.scalar
        mine = tuple(self.meanings.get(str(a.data), a.data) if a.op == "name" else ("lit", a.data) for a in x.args)
        data = (x.data[0].name, x.data[1]) if x.op == "load" else x.data
        self.meanings[s.name] = self.numbered.setdefault((x.op, x.type, data, mine), len(self.numbered))
        if x.op == "sub" and all(a.op == "name" for a in x.args):
            value, top = (str(a.data) for a in x.args)
            if self.meanings.get(value, value) in self.greatest.get(top, ()):
                self.nonpositive.add(s.name)

    def typed(self, s: Scalar) -> Typed:
        """An operand with its WGSL type."""
        if s.op == "name":
            return Typed(str(s.data), self.types.get(str(s.data)) or self.type(s.type))
        kind = self.type(s.type)
        if kind == "f32":
            return Typed(expression.float_text(float(s.data)), kind, s.data)
        if kind == "bool":
            return Typed("true" if s.data else "false", kind, s.data)
        if not -(2**31) < s.data < 2**31:
            return Typed("2147483647" if s.data > 0 else "(-2147483647 - 1)", kind, None)
        return Typed(str(s.data) if s.data >= 0 else f"({s.data})", kind, s.data)

    @staticmethod
    def type(code: str) -> str:
        """The computing type of a type code. Raises Unprintable for double precision."""
        if code not in COMPUTE:
            raise Unprintable("WGSL has no double precision")
        return COMPUTE[code]

    def line(self, text: str) -> None:
        self.written += 1
        self.p.main("  " * self.depth + text)

    def comment(self, origins: Sequence[str]) -> None:
        """A line that names the user's line, where it is another than the last one's."""
        if origins:
            note = self.note(tuple(origins))
            if note and note != self.last_note:
                self.last_note = note
                self.line(f"// {note}")
            self.marks.append((self.written, tuple(origins)))

    # -- statements -----------------------------------------------------------------------------

    def block(self, body: Sequence[Any]) -> None:
        """Statements; parallel loops are gone, the thread is in one of their turns."""
        begun: list[Start] = []
        for s in body:
            if isinstance(s, Loop):
                v, four = s.variable, id(s) in self.wide
                if v in self.parallel:
                    if v == self.across and self.walk:
                        self._walk(s)
                    else:
                        self.four(s) if four or v == self.across else self.block(s.body)
                    continue
                if s.size.number is not None and s.size.number > MAX_STEPS * (4 if four else 1):
                    raise Unprintable(f"a loop of {s.size} turns in one thread")
                outside, self.bases = (self.bases, self.inmost), {}
                self.inmost = ""
                moves = self._name_bases(s)
                self.inmost = v
                start, end = "0", self.index(s.size)
                if self.walk and v == self.walk[0]:
                    start, end = f"{v}_first", f"{v}_first + {self.walk[1]}"
                self.line(f"for (var {v} = {start}; {v} < {end}; {v} += {4 if four else 1}) {{")
                self.depth += 1
                self.four(s) if four or self.lanes else self.block(s.body)
                for line in moves:
                    self.line(line)
                self.depth -= 1
                self.line("}")
                self.bases, self.inmost = outside
                self._join(begun)
                begun = []
            elif isinstance(s, Let):
                self._learn(s)
                self.comment(s.origins)
                value = self.value(s.scalar)
                self.types[s.name] = value.type
                self.line(f"let {s.name} = {value.text};")
            elif isinstance(s, Store):
                self.comment(s.origins)
                binding = self.bindings[s.buffer.name]
                value = self.typed(s.value)
                converted = convert(value.text, value.type, binding.type.compute)
                self.line(binding.save(self.element(s.buffer, s.place), converted))
            elif isinstance(s, Update):
                binding = self.bindings[s.buffer.name]
                at = self.element(s.buffer, s.place)
                merged = self.merged(s.function, Typed(binding.load(at), binding.type.compute), self.typed(s.value))
                self.line(binding.save(at, merged))
            elif isinstance(s, Start):
                kind = self.type(s.type)
                self.types[s.name] = "i32" if s.function.startswith("arg") else kind
                if s.name in self.folded:
                    for lane in self.folded[s.name]:
                        self.types[lane] = kind
                        self.line(f"var {lane} = {self.neutral(s.function, kind)};")
                    begun.append(s)
                elif s.function.startswith("arg"):
                    self.line(f"var {s.name} = 0;")
                    self.line(f"var {s.name}_best = {self.neutral(s.function, kind)};")
                else:
                    self.line(f"var {s.name} = {self.neutral(s.function, kind)};")
            elif isinstance(s, Fold):
                self.comment(s.origins)
                self._grows(s)
                v = self.typed(s.value)
                if s.function.startswith("arg"):
                    sign = ">" if s.function == "argmax" else "<"
                    nan = f" || (is_nan({v.text}) && !is_nan({s.name}_best))" if v.type == "f32" else ""
                    assert s.place is not None
                    self.line(
                        f"if ({v.text} {sign} {s.name}_best{nan}) {{ {s.name}_best = {v.text}; {s.name} = {self.index(s.place)}; }}"
                    )
                else:
                    self.line(f"{s.name} = {self.merged(s.function, Typed(s.name, v.type), v)};")

    def _grows(self, s: Fold) -> None:
        """Note what a running maximum takes in."""
        if s.function == "max" and s.value.op == "name":
            name = str(s.value.data)
            self.greatest.setdefault(s.name, set()).add(self.meanings.get(name, name))

    def _walk(self, loop: Loop) -> None:
        """The rows of a thread, some at a time, and along them."""
        assert self.walk is not None
        (row, count), v = self.walk, loop.variable
        turns = next(s.size for s in loop.body if isinstance(s, Loop))
        self.line(f"for (var {row}_first = 0; {row}_first < {self.index(turns)}; {row}_first += {count}) {{")
        self.line(f"  for (var {v} = 0; {v} < {self.index(loop.size)}; {v} += 4) {{")
        self.depth += 2
        self.four(loop)
        self.depth -= 2
        self.line("  }")
        self.line("}")

    def _join(self, begun: list[Start]) -> None:
        """Put the four running values of reductions together, after their loops."""
        for s in begun:
            a, b, c, d = (Typed(n, self.types[n]) for n in self.folded[s.name])
            low, high = (Typed(f"({self.merged(s.function, *pair)})", a.type) for pair in ((a, b), (c, d)))
            self.line(f"let {s.name} = {self.merged(s.function, low, high)};")

    def four(self, loop: Loop) -> None:
        """The body of a wide loop: what differs among the four elements is written four times."""
        v = self.across or loop.variable
        if not self.across:
            self.lanes = {}
        for s in loop.body:
            if isinstance(s, Loop):
                self.block([s])
            elif isinstance(s, Start):
                kind = self.type(s.type)
                neutral = self.neutral(s.function, kind)
                if self.walk:
                    to = self.sums[s.name]
                    self.line(
                        f"let {s.name}_before = {self.bindings[to.buffer.name].name}[{self.fours(to.buffer, to.place, v)}];"
                    )
                for c in "xyzw":
                    first = (
                        f"select({s.name}_before.{c}, {neutral}, {self.walk[0]}_first == 0)" if self.walk else neutral
                    )
                    self.line(f"var {s.name}{c} = {first};")
                self._moves(s.name, kind)
            elif isinstance(s, Let):
                self._learn(s)
                self.comment(s.origins)
                x = s.scalar
                if x.op == "load" and v in x.data[1].variables():
                    buffer, place = x.data
                    binding = self.bindings[buffer.name]
                    self.line(f"let {s.name} = {binding.name}[{self.fours(buffer, place, v)}];")
                    for j in range(4):
                        self.line(f"let {s.name}{'xyzw'[j]} = {binding.lane(s.name, j)};")
                    self._moves(s.name, binding.type.compute)
                    continue
                names = [str(a.data) for a in x.args if a.op == "name" and str(a.data) in self.lanes]
                coordinate = x.op == "ix" and v in x.data.variables()
                if not names and not coordinate:
                    value = self.value(x)
                    self.types[s.name] = value.type
                    self.line(f"let {s.name} = {value.text};")
                    continue
                kind = ""
                for j in range(4):
                    if coordinate:
                        value = Typed(f"({self.index(x.data + x.data.factor(v) * j)})", "i32")
                    else:
                        value = self.value(self._lane(x, j))
                    kind = value.type
                    self.line(f"let {s.name}{'xyzw'[j]} = {value.text};")
                self._moves(s.name, kind)
            elif isinstance(s, Store):
                self.comment(s.origins)
                binding = self.bindings[s.buffer.name]
                values = []
                for j in range(4):
                    value = self.typed(self._lane(s.value, j))
                    values.append(convert(value.text, value.type, binding.type.compute))
                self.line(binding.save4(self.fours(s.buffer, s.place, v), values))
            elif isinstance(s, Fold):
                self._grows(s)
                if s.name in self.folded:
                    for j, lane in enumerate(self.folded[s.name]):
                        value = self.typed(self._lane(s.value, j))
                        self.line(f"{lane} = {self.merged(s.function, Typed(lane, value.type), value)};")
                    continue
                if s.name in self.lanes:
                    for j, lane in enumerate(self.lanes[s.name]):
                        value = self.typed(self._lane(s.value, j))
                        self.line(f"{lane} = {self.merged(s.function, Typed(lane, value.type), value)};")
                    continue
                for j in range(4):
                    place = None if s.place is None else s.place + s.place.factor(v) * j
                    self.block([Fold(s.name, s.function, self._lane(s.value, j), place, s.origins if j == 0 else ())])
        if not self.across:
            self.lanes = {}

    def _moves(self, name: str, kind: str) -> None:
        self.lanes[name] = [name + c for c in "xyzw"]
        for c in "xyzw":
            self.types[name + c] = kind

    def _lane(self, x: Scalar, j: int) -> Scalar:
        """An operation with the names of one of the four elements."""
        if x.op == "name":
            found = self.lanes.get(str(x.data))
            return x if found is None else Scalar("name", (), x.type, found[j])
        if not x.args:
            return x
        return Scalar(x.op, tuple(self._lane(a, j) for a in x.args), x.type, x.data)

    @staticmethod
    def neutral(function: str, kind: str) -> str:
        """What does not change a reduction."""
        if function in ("and", "or"):
            return "true" if function == "and" else "false"
        if function in ("sum", "prod"):
            return {"f32": ("0.0", "1.0"), "i32": ("0", "1")}.get(kind, ("false", "true"))[function == "prod"]
        low = function in ("max", "argmax")
        if kind == "f32":
            return "-infinity()" if low else "infinity()"
        return {"i32": ("2147483647", "(-2147483647 - 1)"), "bool": ("true", "false")}[kind][low]

    @staticmethod
    def merged(function: str, a: Typed, b: Typed) -> str:
        """One step of a reduction."""
        if function in ("sum", "prod"):
            return f"{a.text} {'+' if function == 'sum' else '*'} {b.text}"
        if function in ("and", "or"):
            return f"{a.text} {'&&' if function == 'and' else '||'} {b.text}"
        return expression.FUNCTIONS["maximum" if function == "max" else "minimum"](a, b).text

    def value(self, x: Scalar) -> Typed:
        """The right side of a `Let`."""
        if x.op in ("name", "lit"):
            return self.typed(x)
        if x.op == "load":
            buffer, place = x.data
            binding = self.bindings[buffer.name]
            if binding.wide:
                at = self.element(buffer, place)
                return Typed(
                    binding.type.load.replace("@", f"{binding.name}[({at}) / 4][({at}) % 4]"), binding.type.compute
                )
            return Typed(binding.load(self.element(buffer, place)), binding.type.compute)
        if x.op in ("ix", "size"):
            return Typed(self.index(x.data), "i32")
        if x.op == "given":
            return Typed(self._word("number", x.data, "f32"), "f32")
        args = [self.typed(a) for a in x.args]
        if x.op == "exp" and str(x.args[0].data).rstrip("xyzw") in self.nonpositive:
            return Typed(f"exp_nonpositive({args[0].text})", "f32")
        if x.op == "cast":
            return self.cast(args[0], x.type)
        if x.op == "place":
            n = self.index(x.data)
            return Typed(f"checked({args[0].text}, {n}, {self.fault})", "i32")
        if x.op == "clip":
            return Typed(f"clamp({args[0].text}, 0, {self.index(x.data - 1)})", "i32")
        if x.op in _SIGNS:
            f = expression.BINARY.get({"add": _AST.Add, "sub": _AST.Sub, "mul": _AST.Mult}.get(x.op))  # type: ignore[arg-type]
            made = f(*args) if f is not None else expression.COMPARE[_COMPARE[x.op]](*args)
        elif x.op == "div":
            made = expression.BINARY[_AST.Div](*args)
        elif x.op in _LOGIC:
            made = expression.BINARY[{"and": _AST.BitAnd, "or": _AST.BitOr, "xor": _AST.BitXor}[x.op]](*args)
        elif x.op in ("shl", "shr"):
            made = expression.FUNCTIONS["left_shift" if x.op == "shl" else "right_shift"](*args)
        elif x.op == "neg":
            made = Typed(f"(-{args[0].text})", args[0].type)
        elif x.op == "not":
            made = Typed(f"(!{args[0].text})", "bool")
        elif x.op == "invert":
            made = Typed(f"(~{args[0].text})", args[0].type)
        elif x.op in _SAME:
            try:
                made = expression.FUNCTIONS[x.op](*args)
            except expression.ExpressionError as reason:
                raise Unprintable(str(reason)) from None
        else:
            raise Unprintable(f"WGSL has no {x.op}")
        if x.type in ("i8", "i16", "u8"):
            t = TYPES[x.type]
            made = Typed(t.save.replace("@", made.text), made.type)
        return made

    @staticmethod
    def cast(x: Typed, target: str) -> Typed:
        """A conversion as eager kernels do it."""
        kind = Printer.type(target)
        made = convert(x.text, x.type, kind)
        if target in ("i8", "i16", "u8"):
            made = TYPES[target].save.replace("@", made)
        return Typed(made, kind)


_COMPARE = {"lt": _AST.Lt, "le": _AST.LtE, "gt": _AST.Gt, "ge": _AST.GtE, "eq": _AST.Eq, "ne": _AST.NotEq}

_CHECK = """
fn checked(i: i32, n: i32, code: u32) -> i32 {
  let at = select(i, i + n, i < 0);
  if (at < 0 || at >= n) {
    if (code != 0u) {
      fault[0] = code;
      fault[1] = bitcast<u32>(i);
    }
    return 0;
  }
  return at;
}
"""

__all__ = ["GROUP", "Printed", "Printer", "Unprintable", "math"]
