"""Matrix products as WGSL for adapters whose subgroups are known: sizes in the text, one operand shared by broadcasts.

A subgroup computes a tile: each of its lanes has columns of its own (`across` of them), and all lanes have the same rows (`down`).  The
operand of the columns is read by each lane for itself; that of the rows is read once by the subgroup, a part by each lane, and every
element is then broadcast.  So a step along K takes `across + down / lanes` loads for `across * down` multiplications, which is what
counts where a load costs ten multiplications, as on software adapters: each lane's address is looked at by itself there.

Which dimension lies across the lanes, and how large a tile is, is chosen by `choose` from the sizes alone.  Operands may be any views
whose place in memory is a sum of a part of the row (or column) and a part of K.  What follows each result (`epilogue.py`) is a function
that is called where results are stored.  This file launches nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .....webgpu_kernels.wgsl import FOLDED, MAX_STEPS, Program
from .....webgpu_kernels.wgsl import Buffer as Binding
from .....webgpu_kernels.wgsl import Kernel as Shader
from ..loops.form import Buffer
from ..loops.index import Arithmetic, Ix, ix, replace, text, var
from .epilogue import Epilogue, EpiloguePrinter

LOAD, GATHER, BROADCAST = 10.0, 22.0, 1.5
"""What a lane's read costs beside a multiplication: of one of four elements, of one alone, and of a broadcast."""

BUSY = 12
"""Tiles below which some cores have nothing to do."""

STAGE = 16384
"""Bytes of memory that a workgroup can share."""


@dataclass(frozen=True)
class Operand:
    """Where an element of an operand is: `place` is a polynomial of the layers' variables, of `own` and of "k"."""

    buffer: Buffer
    place: Ix
    own: str
    """ "m" for the left operand, "n" for the right one. """

    size: int
    """How many there are of `own`."""

    def outer(self) -> Ix:
        """The part of the place that does not move with K."""
        return Ix({key: c for key, c in self.place.terms.items() if "k" not in Ix({key: 1}).variables()})

    def inner(self) -> Ix:
        """The part that does."""
        return self.place - self.outer()

    def separable(self) -> bool:
        """Whether no term of the place needs both."""
        return self.own not in self.inner().variables()

    def form(self, depth: int) -> str:
        """ "k": four steps of K are read at once; "x": four rows (or columns); "s": one element."""
        if not self.place.is_affine():
            return "s"
        for name, form, size in (("k", "k", depth), (self.own, "x", self.size)):
            rest = self.place.without((name,))
            if self.place.factor(name).number == 1 and size % 4 == 0 and all(c % 4 == 0 for c in rest.terms.values()):
                return form
        return "s"


@dataclass(frozen=True)
class Tiling:
    """How a product is cut: whether columns of the result lie across the lanes (else its rows do), and a tile's size."""

    columns: bool
    down: int
    across: int
    cost: float = 0.0


def choose(layers: int, m: int, n: int, depth: int, forms: tuple[str, str], lanes: int, rank: int = 0) -> Tiling:
    """The tiling whose loads and multiplications cost least; with `rank` the next ones, as far as there are any."""
    found: list[Tiling] = []
    for columns in (True, False):
        wide, tall = (n, m) if columns else (m, n)
        lane_form, row_form = (forms[1], forms[0]) if columns else forms
        for across in (1, 2, 4, 8):
            if lane_form == "x" and across % 4:
                continue
            for down in (1, 2, 4, 8, 16, 32, 48, 64):
                if across * down > 256 or (row_form == "x" and down % 4):
                    continue
                if row_form == "x" and down > 4 * lanes:
                    continue
                tiles = -(-wide // (lanes * across)) * -(-tall // down) * layers
                own = LOAD if lane_form != "s" else GATHER
                other = LOAD if row_form != "s" else GATHER
                shared = 4 * other if row_form == "x" else -(-down // lanes) * other
                step = across * own + shared + down * BROADCAST + across * down * 1.2
                cost = tiles * step * max(1.0, BUSY / tiles)
                found.append(Tiling(columns, down, across, cost))
    found.sort(key=lambda t: t.cost)
    return found[min(rank, len(found) - 1)]


@dataclass(frozen=True)
class Product:
    """What is printed: name, operands, layers (variables with their sizes) and sizes."""

    name: str
    a: Operand
    b: Operand
    out: Buffer
    layers: tuple[tuple[str, int], ...]
    m: int
    n: int
    depth: int


@dataclass
class ProductText:
    """The shader and how it is launched."""

    shader: Shader
    words: list[tuple[str, Any]]
    bindings: list[Buffer]
    groups: int
    threads: int
    wide: frozenset[str]
    tiling: Tiling
    lines: list[tuple[int, tuple[str, ...]]]
    """Which lines of the epilogue compute which graph nodes."""


@dataclass(frozen=True)
class Follow:
    """An epilogue, and how its buffers are typed and its lines noted."""

    epilogue: Epilogue
    code: Callable[[Buffer], str]
    note: Callable[[tuple[str, ...]], str]


def print_product(
    p: Product, lanes: int, note: str = "", tiling: Tiling | None = None, rank: int = 0, follow: Follow | None = None
) -> ProductText:
    """The kernel of a product of float32, with what follows it, and with the tiling of that `rank` where none is given.

    Raises NotImplementedError for what it cannot say.
    """
    return _Printer(p, lanes, note, tiling, rank, follow).print()


class _Printer:
    def __init__(
        self, p: Product, lanes: int, note: str, tiling: Tiling | None, rank: int, follow: Follow | None = None
    ):
        self.p, self.lanes, self.note, self.follow = p, lanes, note, follow
        self.forms = [p.a.form(p.depth), p.b.form(p.depth)]
        if not (p.a.separable() and p.b.separable()):
            raise NotImplementedError("rows and K of an operand cannot be told apart")
        if p.a.buffer is p.b.buffer and "s" in self.forms:
            self.forms = ["s", "s"]
        layers = 1
        for _, size in p.layers:
            layers *= size
        self.layers = layers
        self.tiling = tiling or choose(layers, p.m, p.n, p.depth, (self.forms[0], self.forms[1]), lanes, rank)
        if p.depth > 4 * MAX_STEPS:
            raise NotImplementedError("K is longer than a thread may walk")
        self.words: list[tuple[str, Any]] = []
        self.texts: dict[Any, str] = {}
        self.names: dict[str, str] = {}
        """What buffers are called in the text, by their names."""
        self.out: list[str] = []

    def line(self, line: str) -> None:
        self.out.append(line)

    def print(self) -> ProductText:
        p, t, lanes = self.p, self.tiling, self.lanes
        a, b = p.a, p.b
        self.wide = {x.buffer.name for x, f in zip((a, b), self.forms, strict=True) if f != "s"}
        self.lane, self.lane_form = (b, self.forms[1]) if t.columns else (a, self.forms[0])
        self.row, self.row_form = (a, self.forms[0]) if t.columns else (b, self.forms[1])
        lane_tiles = -(-self.lane.size // (lanes * t.across))
        row_tiles = -(-self.row.size // t.down)
        tiles = self.layers * lane_tiles * row_tiles
        together = max(1, min(64 // lanes, tiles // 16))
        if self.follow is not None:  # a subgroup stages the results of a tile
            together = max(1, min(together, STAGE // (4 * t.across * t.down * lanes)))
        self.threads = lanes * together
        program = Program(p.name, (lanes * together, 1))
        program.subgroups = True
        self.program = program
        bindings = [a.buffer] if a.buffer is b.buffer else [a.buffer, b.buffer]
        known = {}
        for buffer in bindings:
            known[buffer.name] = program.buffer(self._name(buffer.name), "f32", wide=buffer.name in self.wide)
        self.store4 = self._stores_four()
        self.stored = None
        if self.follow is None or self.follow.epilogue.store:
            self.stored = program.buffer(self._name(p.out.name), "f32", "w", wide=self.store4)
            bindings = [*bindings, p.out]
            if self.store4:
                self.wide.add(p.out.name)
        self.finish = self._declare(known, bindings)
        if self.note:
            self.line(f"// {self.note}")
        self.line(f"// {p.m} x {p.depth} times {p.depth} x {p.n}: tiles of {t.down} x {t.across} a lane")
        self.line(f"let at = i32({lanes}u * {together}u * {FOLDED} + lane);")
        self.line(f"let id = min(at / {lanes}, {tiles - 1});")
        self.line(f"let mine = i32(lane % {lanes}u);")
        self.line(f"let real = at / {lanes} < {tiles};")
        left = "id"
        for size, name in ((lane_tiles, "lane_tile"), (row_tiles, "row_tile")):
            if size == 1:
                self.line(f"let {name} = 0;")
            else:
                self.line(f"let {name} = {left} % {size};")
                self.line(f"let after_{name} = {left} / {size};")
                left = f"after_{name}"
        for i, (name, size) in enumerate(reversed(p.layers)):
            last = i == len(p.layers) - 1
            self.line(f"let {name} = {left};" if last else f"let {name} = {left} % {size};")
            if not last:
                self.line(f"let after_{name} = {left} / {size};")
                left = f"after_{name}"
        self._begin()
        unroll = 4 if p.depth >= 4 else p.depth
        whole = p.depth - p.depth % unroll
        if p.depth <= 8 or (p.depth <= 16 and not (p.a.inner().is_affine() and p.b.inner().is_affine())):
            for k in range(0, whole, unroll):
                self._turn(ix(k), unroll, "")
        elif whole:
            self.line(f"for (var k = 0; k < {whole}; k += {unroll}) {{")
            self._turn(var("k"), unroll, "  ")
            self.line("}")
        if whole < p.depth:
            self._turn(ix(whole), p.depth - whole, "")
        self._stores()
        program.main(*self.out)
        shader = program.build()
        groups = -(-tiles // together)
        lines = []
        if self.finish is not None:
            first = shader.source[: shader.source.index("fn finish(")].count("\n") + 2
            lines = [(first + at, origins) for at, origins in self.finish.marks]
        return ProductText(
            shader, self.words, bindings, groups, lanes * together, frozenset(self.wide), self.tiling, lines
        )

    def _name(self, name: str) -> str:
        """What a buffer is called in the text: the same in kernels that do the same with other memory."""
        return self.names.setdefault(name, f"b{len(self.names)}")

    def _declare(self, known: dict[str, Binding], bindings: list[Buffer]) -> EpiloguePrinter | None:
        """The function for what follows, with its buffers among the bindings; None where nothing follows."""
        if self.follow is None:
            return None
        f = self.follow
        made = EpiloguePrinter(f.epilogue, f.code, f.note, self.program, self.words, self.texts, self.store4)
        bindings += made.declare(known, self.stored, self._name)
        self.wide |= made.wide_buffers
        self.program.top(made.function())
        return made

    # -- places ---------------------------------------------------------------------------------

    def index(self, e: Ix, names: dict[str, str] | None = None) -> str:
        """A place as text; `names` are what variables are called where they are more than a name."""
        names = names or {}
        return text(e, lambda atom: names.get(str(atom[1]), str(atom[1])), "({0} / {1})", "({0} % {1})")

    def word(self, buffer: Buffer) -> str:
        key = ("offset", buffer.name)
        if key not in self.texts:
            self.words.append(("offset", buffer))
            self.texts[key] = self.program.word(f"offset_{self.names[buffer.name]}", "i32")
        return self.texts[key]

    def _begin(self) -> None:
        """Where each column of a lane and each row that a lane reads begins, and the running sums."""
        t, lanes = self.tiling, self.lanes
        lane, row = self.lane, self.row
        self.line(f"let first = lane_tile * {lanes * t.across};")
        self.line(f"let top = row_tile * {t.down};")
        # Columns: a lane has fours of neighbours, or single ones.
        self.columns: list[str] = []
        for j in range(t.across):
            if t.across >= 4:
                self.columns.append(f"first + {j // 4 * 4 * lanes + j % 4} + mine * 4")
            else:
                self.columns.append(f"first + mine * {t.across} + {j}")
        offset = self.word(lane.buffer)
        if self.lane_form == "x":
            for q in range(t.across // 4):
                self.line(f"let x{q} = min({self.columns[4 * q]}, {lane.size - 4});")
                self.line(f"let l{q} = ({offset} + {self.index(lane.outer(), {lane.own: f'x{q}'})}) >> 2u;")
        else:
            for j in range(t.across):
                self.line(f"let x{j} = min({self.columns[j]}, {lane.size - 1});")
                place = f"{offset} + {self.index(lane.outer(), {lane.own: f'x{j}'})}"
                self.line(f"let l{j} = ({place}) >> 2u;" if self.lane_form == "k" else f"let l{j} = {place};")
        offset = self.word(row.buffer)
        if self.row_form == "x":
            self.line(f"let y0 = min(top + (mine % {max(1, t.down // 4)}) * 4, {row.size - 4});")
            self.line(f"let r0 = ({offset} + {self.index(row.outer(), {row.own: 'y0'})}) >> 2u;")
        else:
            for g in range(-(-t.down // lanes)):
                self.line(f"let y{g} = min(top + {g * lanes} + mine, {row.size - 1});")
                place = f"{offset} + {self.index(row.outer(), {row.own: f'y{g}'})}"
                self.line(f"let r{g} = ({place}) >> 2u;" if self.row_form == "k" else f"let r{g} = {place};")
        four = t.across % 4 == 0
        for i in range(t.down):
            if four:
                for q in range(t.across // 4):
                    self.line(f"var c{i}_{q} = vec4<f32>();")
            else:
                for j in range(t.across):
                    self.line(f"var c{i}_{j} = 0.0;")

    def _step(self, operand: Operand, k: Ix, s: int) -> Ix:
        """The part of a place that moves with K, at step `s` of a turn that begins at `k`."""
        arithmetic = Arithmetic({"k": ix(self.p.depth), **{n: ix(size) for n, size in self.p.layers}})
        at = k + s
        return replace(operand.inner(), lambda atom: at if atom == ("v", "k") else None, arithmetic)

    @staticmethod
    def _plus(base: str, e: str) -> str:
        return base if e == "0" else f"{base} + {e}"

    def _turn(self, k: Ix, count: int, pad: str) -> None:
        """`count` steps of K."""
        t, lanes = self.tiling, self.lanes
        own, other = self.names[self.lane.buffer.name], self.names[self.row.buffer.name]
        if count < 4:  # fours along K are there where K is a multiple of four
            assert "k" not in (self.lane_form, self.row_form)
        self.line(f"{pad}{{")
        pad += "  "
        # The rows' operand, a part by each lane.
        if self.row_form == "k":
            at = self.index(k)
            for g in range(-(-t.down // lanes)):
                self.line(f"{pad}let a{g} = {other}[r{g} + ({at}) / 4];")
        else:
            for s in range(count):
                e = self._step(self.row, k, s)
                if self.row_form == "x":
                    quarter = self.index(Ix({key: c // 4 for key, c in e.terms.items()}))
                    self.line(f"{pad}let a0_{s} = {other}[{self._plus('r0', quarter)}];")
                else:
                    self.line(f"{pad}let ka{s} = {self.index(e)};")
                    for g in range(-(-t.down // lanes)):
                        self.line(f"{pad}let a{g}_{s} = {other}[r{g} + ka{s}];")
        # The lanes' own.
        four = t.across % 4 == 0
        if self.lane_form == "k":
            at = self.index(k)
            for j in range(t.across):
                self.line(f"{pad}let w{j} = {own}[l{j} + ({at}) / 4];")
            for s in range(count):
                c = "xyzw"[s]
                if four:
                    for q in range(t.across // 4):
                        parts = ", ".join(f"w{4 * q + j}.{c}" for j in range(4))
                        self.line(f"{pad}let b{s}_{q} = vec4<f32>({parts});")
                else:
                    for j in range(t.across):
                        self.line(f"{pad}let b{s}_{j} = w{j}.{c};")
        else:
            for s in range(count):
                e = self._step(self.lane, k, s)
                if self.lane_form == "x":
                    quarter = self.index(Ix({key: c // 4 for key, c in e.terms.items()}))
                    for q in range(t.across // 4):
                        self.line(f"{pad}let b{s}_{q} = {own}[{self._plus(f'l{q}', quarter)}];")
                    continue
                self.line(f"{pad}let kb{s} = {self.index(e)};")
                if four:
                    for q in range(t.across // 4):
                        parts = ", ".join(f"{own}[l{4 * q + j} + kb{s}]" for j in range(4))
                        self.line(f"{pad}let b{s}_{q} = vec4<f32>({parts});")
                else:
                    for j in range(t.across):
                        self.line(f"{pad}let b{s}_{j} = {own}[l{j} + kb{s}];")
        parts_ = t.across // 4 if four else t.across
        for i in range(t.down):
            for s in range(count):
                self.line(f"{pad}let x{i}_{s} = subgroupBroadcast({self._mine(i, s)});")
            for s in range(count):
                factor = f"vec4<f32>(x{i}_{s})" if four else f"x{i}_{s}"
                for q in range(parts_):
                    self.line(f"{pad}c{i}_{q} = fma({factor}, b{s}_{q}, c{i}_{q});")
        self.line(f"{pad[:-2]}}}")

    def _mine(self, i: int, s: int) -> str:
        """What a lane has read of row `i` at step `s`, and which lane that is."""
        if self.row_form == "k":
            return f"a{i // self.lanes}.{'xyzw'[s]}, {i % self.lanes}u"
        if self.row_form == "x":
            return f"a0_{s}.{'xyzw'[i % 4]}, {i // 4}u"
        return f"a{i // self.lanes}_{s}, {i % self.lanes}u"

    # -- results --------------------------------------------------------------------------------

    def _stores_four(self) -> bool:
        """Whether four neighbours in memory are one lane's: along its columns, or along the rows."""
        t, n = self.tiling, self.p.n
        return n % 4 == 0 and (t.across if t.columns else t.down) % 4 == 0

    def _element(self, i: int, j: int) -> str:
        return f"c{i}_{j // 4}.{'xyzw'[j % 4]}" if self.tiling.across % 4 == 0 else f"c{i}_{j}"

    def _stores(self) -> None:
        p, t = self.p, self.tiling
        layer = ix(0)
        for name, size in p.layers:
            layer = layer * size + var(name)
        if self.stored is not None:
            start = self._plus(self.word(p.out), self.index(layer * (p.m * p.n)))
            self.line(f"let base = {start};")
        most = p.n if t.columns else p.m
        together = 4 if self.store4 and not t.columns else 1  # rows that one statement stores
        beside = 4 if self.store4 and t.columns else 1  # columns that one statement stores
        values: list[str] = []
        for i in range(0, t.down, together):
            for j in range(0, t.across, beside):
                if not self.store4:
                    values.append(self._element(i, j))
                elif t.columns:
                    values.append(f"c{i}_{j // 4}")
                else:
                    values.append(f"vec4<f32>({', '.join(self._element(i + h, j) for h in range(4))})")
        if self.finish is not None and len(values) > 1:
            self._finish_all(values, together, beside, most)
            return
        for i in range(0, t.down, together):
            self.line(f"if (real && top + {i} < {self.row.size}) {{")
            for j in range(0, t.across, beside):
                column = self.columns[j]
                done = self._done(f"top + {i}", column, values[i // together * (t.across // beside) + j // beside])
                self.line(f"  if ({column} < {most}) {{ {done} }}")
            self.line("}")

    def _finish_all(self, values: list[str], together: int, beside: int, most: int) -> None:
        """A loop over a lane's results, which wait in memory of the workgroup: each lane reads what it wrote. Written out for each of them, what
        follows took seconds to compile, and was slower, since it is executed once a tile."""
        t = self.tiling
        kind = "vec4<f32>" if self.store4 else "f32"
        self.program.top(f"var<workgroup> staged: array<{kind}, {len(values) * self.threads}>;")
        for n, v in enumerate(values):
            self.line(f"staged[{n * self.threads}u + lane] = {v};")
        across = t.across // beside
        # A number of turns that is no constant: drivers write loops over arrays out, else.
        self.line(f"let count = select(0, {len(values)}, real);")
        self.line("for (var i = 0; i < count; i += 1) {")
        down = "i" if across == 1 else f"i / {across}"
        j = "0" if across == 1 else f"i % {across}"
        self.line(f"  let down = top + {down if together == 1 else f'({down}) * {together}'};")
        if t.across < 4:
            self.line(f"  let over = first + mine * {t.across} + {j};")
        elif beside == 4:
            self.line(f"  let over = first + {j} * {4 * self.lanes} + mine * 4;")
        else:
            self.line(f"  let over = first + ({j}) / 4 * {4 * self.lanes} + ({j}) % 4 + mine * 4;")
        self.line(
            f"  if (down < {self.row.size} && over < {most}) {{ {self._done('down', 'over', f'staged[u32(i) * {self.threads}u + lane]')} }}"
        )
        self.line("}")

    def _done(self, down: str, over: str, value: str) -> str:
        """What is done with a result: it is stored, or what follows it is computed, or both."""
        p, t = self.p, self.tiling
        row, column = (down, over) if t.columns else (over, down)
        done = []
        if self.stored is not None:
            at = f"base + ({row}) * {p.n} + {column}" if row != "down" else f"base + down * {p.n} + {column}"
            done.append(f"{self.stored.name}[{f'({at}) >> 2u' if self.store4 else at}] = {value};")
        if self.finish is not None:
            layers = "".join(f"{name}, " for name, _ in p.layers)
            done.append(f"finish({layers}{row}, {column}, {value});")
        return " ".join(done)


__all__ = ["Follow", "Operand", "Product", "ProductText", "Tiling", "choose", "print_product"]
