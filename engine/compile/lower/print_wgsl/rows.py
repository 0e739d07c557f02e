"""Kernels that walk rows, for adapters whose subgroups are known: a subgroup a row, whose elements stay in its registers.

A lane takes every so many fours of a row (four neighbours, then the next four beyond the other lanes'), so that a row is read from memory
once, whatever number of walks it takes; what a walk has computed is there for the next ones.  Running values of the lanes are put
together by broadcasts, in the order of the lanes, so that the same input gives the same bits.  Loops are written out: this pays up to a
few thousand elements a row (`LINES`), beyond which, and for rows that are no multiple of four, `text.Printer` has a thread walk each row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....webgpu_kernels.expression import Value as Typed
from .....webgpu_kernels.wgsl import FOLDED, Program, convert
from ..loops.form import Buffer, Fold, Kernel, Let, Loop, Start, Store, Update, statements
from ..loops.index import Ix, ix, product, text
from ..loops.scalar import Scalar
from .text import GROUP, Printed, Printer

TURNS = 16
"""Turns of a row that are written out; beyond them a thread a row was as fast on software adapters."""

LINES = 5000
"""Lines of text that a kernel may come to."""

LEAST = 32
"""Elements of a row below which most lanes would have nothing to do."""


class RowPrinter(Printer):
    """Prints a kernel with a subgroup of `lanes` threads a row."""

    def __init__(
        self,
        kernel: Kernel,
        code: Callable[[Buffer], str],
        note: Callable[[tuple[str, ...]], str],
        name: str,
        lanes: int,
    ):
        super().__init__(kernel, code, note, name)
        self.count = lanes
        self.rename: dict[str, str] = {}
        self.kept: dict[tuple[int, int], list[str]] = {}
        """What a turn has computed: by meaning and turn, the names of its four elements."""
        self.stored: dict[tuple[str, Ix, int], list[Typed]] = {}
        """What was last stored at a place of the row."""
        self.last_store: dict[tuple[str, Ix], int] = {}

    def fits(self) -> bool:
        """Whether the kernel has rows of the kind that this printer can walk."""
        k = self.k
        if k.inits or k.combines or k.checks:
            return False
        memory = [b for b in k.buffers if b.dtype != "number"]
        if any(b.role != "memory" or b.dtype in ("f64", "bf16", "f16") for b in memory):
            return False
        every = list(statements(k.body))
        loops = [s for s in every if isinstance(s, Loop)]
        rows = [s for s in loops if s.variable not in k.rows]
        if not rows or not any(isinstance(s, Start) for s in every) or len({s.variable for s in rows}) != 1:
            return False
        self._choose_wide(loops, {b.name: self.code(b) for b in memory})
        size = rows[0].size.number
        if size is None or size < LEAST or not all(id(s) in self.wide for s in rows):
            return False
        inside = {id(x) for s in rows for x in s.body}
        if any(isinstance(s, Update) or (isinstance(s, (Start, Fold)) and s.function.startswith("arg")) for s in every):
            return False
        if any(isinstance(s, Fold) and id(s) not in inside for s in every):
            return False
        self.variable, self.size = rows[0].variable, size
        self.turns = -(-size // (4 * self.count))
        return self.turns <= TURNS and sum(len(s.body) for s in rows) * 4 * self.turns <= LINES

    def print(self) -> Printed:
        k, lanes = self.k, self.count
        written = {s.buffer.name for s in statements(k.body) if isinstance(s, Store)}
        p = self.p = Program(self.name, (GROUP, 1))
        p.subgroups = True
        memory = [b for b in k.buffers if b.dtype != "number"]
        loops = [s for s in statements(k.body) if isinstance(s, Loop)]
        for i, b in enumerate(memory):
            access = "w" if b.name in written else "r"
            self.bindings[b.name] = p.buffer(f"b{i}", self.code(b), access, wide=b.name in self.wide_buffers)
        sizes = {s.variable: s.size for s in loops}
        names = [n for n in dict.fromkeys(s.variable for s in loops) if n in k.rows]
        rows = product(sizes[n] for n in names)
        self.parallel = set(names)
        at = 0
        for s in statements(k.body):
            if isinstance(s, Store):
                at += 1
                self.last_store[s.buffer.name, s.place] = id(s)
        total = self.index(rows)
        self.line(f"let at = i32({FOLDED} * {GROUP}u + lane);")
        self.line(f"let mine = at % {lanes};")
        self.line(f"let real = at / {lanes} < {total};")
        left = f"min(at / {lanes}, {total} - 1)"
        for i, n in enumerate(reversed(names)):
            last = i == len(names) - 1
            size = self.index(sizes[n])
            self.line(f"let row{i} = {left};")
            self.line(f"let {n} = row{i};" if last else f"let {n} = row{i} % {size};")
            left = f"row{i} / {size}"
        for q in range(self.turns):
            place = f"(mine + {q * lanes}) * 4"
            self.line(f"let {self.variable}_{q} = {place if self._whole(q) else f'min({place}, {self.size - 4})'};")
            if not self._whole(q):
                self.line(f"let in_{q} = {place} < {self.size};")
        self.block(k.body)
        shader = p.build()
        first = shader.source[: shader.source.index("@compute")].count("\n") + 4
        lines = [(first + at, origins) for at, origins in self.marks]
        return Printed(shader, self.words, memory, rows * lanes, False, frozenset(self.wide_buffers), lines)

    def _whole(self, q: int) -> bool:
        """Whether every lane has elements in turn `q`."""
        return (q + 1) * self.count * 4 <= self.size

    def index(self, e: Ix) -> str:
        def atom(a: Any) -> str:
            if a[0] == "s":
                return self._word("size", a[1], "i32")
            return self.rename.get(str(a[1]), str(a[1]))

        return text(e, atom, "({0} / {1})", "({0} % {1})")

    def fours(self, b: Buffer, place: Ix, variable: str) -> str:
        if variable not in place.variables():
            return self._base(b, place)
        return f"{self._base(b, place.without((variable,)))} + ({self.rename[variable]} >> 2u)"

    # -- statements -----------------------------------------------------------------------------

    def block(self, body: Any) -> None:
        begun: list[Start] = []
        for s in body:
            if isinstance(s, Loop) and s.variable in self.parallel:
                self.block(s.body)
            elif isinstance(s, Loop):
                for q in range(self.turns):
                    self.rename = {self.variable: f"{self.variable}_{q}"}
                    self.turn(s, q)
                    self.rename = {}
                self._join(begun)
                begun = []
            elif isinstance(s, Start):
                kind = self.type(s.type)
                self.types[s.name] = kind
                self.folded[s.name] = [f"{s.name}{c}" for c in "xyzw"]
                for lane in self.folded[s.name]:
                    self.types[lane] = kind
                    self.line(f"var {lane} = {self.neutral(s.function, kind)};")
                begun.append(s)
            elif isinstance(s, Store):
                self.comment(s.origins)
                binding = self.bindings[s.buffer.name]
                value = self.typed(s.value)
                at = self.element(s.buffer, s.place)
                made = binding.save(at, convert(value.text, value.type, binding.type.compute))
                self.line(f"if (real && mine == 0) {{ {made} }}")
            else:
                super().block([s])

    def _join(self, begun: list[Start]) -> None:
        for s in begun:
            a, b, c, d = (Typed(n, self.types[n]) for n in self.folded[s.name])
            low, high = (Typed(f"({self.merged(s.function, *pair)})", a.type) for pair in ((a, b), (c, d)))
            self.line(f"let {s.name}_lane = {self.merged(s.function, low, high)};")
            shared = f"{s.name}_lane" if a.type != "bool" else f"select(0u, 1u, {s.name}_lane)"
            back = "({0})" if a.type != "bool" else "({0} == 1u)"
            parts = [Typed(back.format(f"subgroupBroadcast({shared}, {i}u)"), a.type) for i in range(self.count)]
            while len(parts) > 1:
                named = []
                for i in range(0, len(parts), 2):
                    name = f"{s.name}_{len(parts)}_{i}"
                    self.line(f"let {name} = {self.merged(s.function, parts[i], parts[i + 1])};")
                    named.append(Typed(name, a.type))
                parts = named
            self.line(f"let {s.name} = {parts[0].text};")

    def turn(self, loop: Loop, q: int) -> None:
        """What one turn does with the four elements that it has of each lane's."""
        v = loop.variable
        self.lanes = {}
        for s in loop.body:
            if isinstance(s, Let):
                self._learn(s)
                if q == 0:
                    self.comment(s.origins)
                self._let(s, v, q)
            elif isinstance(s, Store):
                self._store(s, v, q)
            elif isinstance(s, Fold):
                self._grows(s)
                for j, lane in enumerate(self.folded[s.name]):
                    value = self.typed(self._lane(s.value, j))
                    merged = self.merged(s.function, Typed(lane, value.type), value)
                    if not self._whole(q):
                        merged = f"select({lane}, {merged}, in_{q})"
                    self.line(f"{lane} = {merged};")
        self.lanes = {}

    def _let(self, s: Let, v: str, q: int) -> None:
        x = s.scalar
        if x.op == "load" and (x.data[0].name, x.data[1], q) in self.stored:
            known = self.stored[x.data[0].name, x.data[1], q]
            self.lanes[s.name] = [t.text for t in known]
            for t in known:
                self.types.setdefault(t.text, t.type)
            return
        moves = (x.op == "load" and v in x.data[1].variables()) or (x.op == "ix" and v in x.data.variables())
        names = [str(a.data) for a in x.args if a.op == "name" and str(a.data) in self.lanes]
        key = (self.meanings[s.name], q if moves or names else -1)
        if key in self.kept:
            found = self.kept[key]
            if len(found) == 1:
                self.rename_scalar(s.name, found[0])
            else:
                self.lanes[s.name] = found
            return
        if not moves and not names:
            if q:
                return  # the first turn has it
            value = self.value(x)
            self.types[s.name] = value.type
            self.line(f"let {s.name} = {value.text};")
            self.kept[key] = [s.name]
            return
        mine = f"{s.name}_{q}"
        kind = ""
        if x.op == "load":
            buffer, place = x.data
            binding = self.bindings[buffer.name]
            self.line(f"let {mine} = {binding.name}[{self.fours(buffer, place, v)}];")
            made = [Typed(binding.lane(mine, j), binding.type.compute) for j in range(4)]
        elif x.op == "ix":
            made = [Typed(f"({self.index(x.data + x.data.factor(v) * j)})", "i32") for j in range(4)]
        else:
            made = [self.value(self._lane(x, j)) for j in range(4)]
        out = []
        for c, value in zip("xyzw", made, strict=True):
            kind = value.type
            self.line(f"let {mine}{c} = {value.text};")
            self.types[mine + c] = kind
            out.append(mine + c)
        self.lanes[s.name] = out
        self.kept[key] = out

    def rename_scalar(self, name: str, known: str) -> None:
        """Let a name be what another is already."""
        if name != known:
            self.types[name] = self.types[known]
            self.line(f"let {name} = {known};")
            self.kept[self.meanings[name], -1] = [name]

    def _store(self, s: Store, v: str, q: int) -> None:
        binding = self.bindings[s.buffer.name]
        values = [self.typed(self._lane(s.value, j)) for j in range(4)]
        self.stored[s.buffer.name, s.place, q] = values
        if self.last_store[s.buffer.name, s.place] != id(s):
            return  # only kept there for a later walk, which finds it in registers
        if q == 0:
            self.comment(s.origins)
        texts = [convert(t.text, t.type, binding.type.compute) for t in values]
        guard = "real" if self._whole(q) else f"real && in_{q}"
        self.line(f"if ({guard}) {{ {binding.save4(self.fours(s.buffer, s.place, v), texts)} }}")

    def value(self, x: Scalar) -> Typed:
        # A running maximum's members differ from it by what is not positive in every lane's names too.
        if x.op == "exp" and x.args[0].op == "name":
            name = str(x.args[0].data).rstrip("xyzw").rsplit("_", 1)[0]
            if name in self.nonpositive:
                return Typed(f"exp_nonpositive({self.typed(x.args[0]).text})", "f32")
        return super().value(x)


def row_printer(
    kernel: Kernel, code: Callable[[Buffer], str], note: Callable[[tuple[str, ...]], str], name: str, lanes: int
) -> Printer:
    """The printer for a kernel on an adapter whose subgroups have `lanes` threads (0 where that is not known)."""
    if lanes:
        made = RowPrinter(kernel, code, note, name, lanes)
        if made.fits():
            return made
    printer = Printer(kernel, code, note, name)
    printer.software = bool(lanes)
    return printer


__all__ = ["RowPrinter", "ix", "row_printer"]
