"""What follows a product element by element, as a function that the product's kernel calls for each result, or for four neighbours.

`finish(layers.., row, column, c)` gets the place of the result (of the first of four) and the result itself. A place in memory that
moves with the column is read and written four elements at once where it can be; others one by one, and once where all four share it.
The formulas are those of `loops/straight.py`; which anchors follow a product is decided in `schedule/epilogue.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .....webgpu_kernels.expression import Value as Typed
from .....webgpu_kernels.wgsl import TYPES, Program, convert
from .....webgpu_kernels.wgsl import Buffer as Binding
from ..loops.form import Buffer, Kernel, Let, Store
from ..loops.index import Arithmetic, Ix, ix, text, var
from ..loops.scalar import Scalar
from .text import Printer

QUARTER, PART = "quarter", "part"
"""Four columns begin at 4 * QUARTER; PART says which of them."""


@dataclass(frozen=True)
class Epilogue:
    """`kernel` has no loops: its variables are the product's. `names` says what they are called in the function."""

    kernel: Kernel
    product: Buffer
    """What the kernel reads the product from, which it gets from its caller instead."""

    names: dict[str, str]
    """ "z0", ... for layers, "row" and "column"; dimensions of one element have no variable."""

    sizes: dict[str, Ix]
    """The sizes of the kernel's variables."""

    store: bool
    """Whether the product itself is stored too."""

    @property
    def accesses(self) -> int:
        """How many loads and stores each result takes."""
        return sum(isinstance(s, Store) or s.scalar.op == "load" for s in self.kernel.body) - 1 + self.store

    @property
    def length(self) -> int:
        """How many operations and accesses are written for each result."""
        return len(self.kernel.body) + self.store


class EpiloguePrinter(Printer):
    """Prints the function into a program. `words` and `texts` are those of the kernel that calls it; `four` says whether it is called
    with four results."""

    def __init__(
        self,
        epilogue: Epilogue,
        code: Callable[[Buffer], str],
        note: Callable[[tuple[str, ...]], str],
        program: Program,
        words: list[Any],
        texts: dict[Any, str],
        four: bool,
    ):
        super().__init__(epilogue.kernel, code, note, "finish")
        self.e, self.p, self.words, self.texts, self.fours_at_once = epilogue, program, words, texts, four
        self.column = next((v for v, name in epilogue.names.items() if name == "column"), "")
        sizes = dict(epilogue.sizes)
        if self.column:
            sizes.update({QUARTER: ix((sizes.pop(self.column).number or 0) // 4), PART: ix(4)})
        self.arithmetic = Arithmetic(sizes)
        self.text: list[str] = []
        self.moved: dict[Ix, Ix] = {}

    def declare(self, known: dict[str, Binding], stored: Binding | None, name: Callable[[str], str]) -> list[Buffer]:
        """Declare what the kernel does not bind yet, and return its buffers. `known` are the bindings there are, by the names of their
        buffers; `stored` is the product's, and `name` says what a buffer is called in the text."""
        places: dict[str, list[Ix]] = {}
        written: set[str] = set()
        memory = [b for b in self.k.buffers if b.dtype != "number" and b is not self.e.product]
        for s in self.k.body:
            if isinstance(s, Store):
                places.setdefault(s.buffer.name, []).append(s.place)
                written.add(s.buffer.name)
            elif s.scalar.op == "load":
                places.setdefault(s.scalar.data[0].name, []).append(s.scalar.data[1])
        if stored is not None:
            self.bindings[self.e.product.name] = stored
        for b in memory:
            if b.name in known:
                self.bindings[b.name] = known[b.name]
                continue
            access = "w" if b.name in written else "r"
            wide = all(self.mode(x) == "four" for x in places[b.name]) and TYPES[self.code(b)].itemsize == 4
            self.bindings[b.name] = self.p.buffer(name(b.name), self.code(b), access, wide=wide)
            if wide:
                self.wide_buffers.add(b.name)
        return [b for b in memory if b.name not in known]

    def mode(self, place: Ix) -> str:
        """How four columns are reached: "same", "four" neighbours that begin at a multiple of four, or "each" by itself."""
        if not self.fours_at_once or self.column not in place.variables():
            return "same"
        moved = self.parts(place)
        if PART not in moved.variables():
            return "same"
        rest = Ix({key: c for key, c in moved.terms.items() if key != (("v", PART),)})
        if moved.terms.get((("v", PART),)) != 1 or PART in rest.variables() or any(c % 4 for c in rest.terms.values()):
            return "each"
        return "four"

    def parts(self, place: Ix) -> Ix:
        """A place with the column as four times a quarter and a part."""
        found = self.moved.get(place)
        if found is None:
            found = self.arithmetic.substitute(place, {self.column: var(QUARTER) * 4 + var(PART)})
            self.moved[place] = found
        return found

    def at(self, place: Ix, j: int) -> Ix:
        """The place for one of the four columns."""
        if not self.fours_at_once or self.column not in place.variables():
            return place
        return self.arithmetic.substitute(self.parts(place), {PART: ix(j)})

    def index(self, e: Ix) -> str:
        names = {**self.e.names, QUARTER: "(column >> 2u)"}
        return text(e, lambda atom: names.get(str(atom[1]), str(atom[1])), "({0} / {1})", "({0} % {1})")

    def line(self, text: str) -> None:
        self.written += 1
        self.text.append("  " + text)

    # -- the function ---------------------------------------------------------------------------

    def function(self) -> str:
        """The text of the function."""
        layers = sorted(n for n in self.e.names.values() if n not in ("row", "column"))
        kind = "vec4<f32>" if self.fours_at_once else "f32"
        for s in self.k.body:
            if isinstance(s, Let):
                self._learn(s)
                self.comment(s.origins)
                self._let(s)
            else:
                self._store(s)
        head = "".join(f"{n}: i32, " for n in [*layers, "row", "column"])
        return "\n".join([f"fn finish({head}c: {kind}) {{", *self.text, "}"])

    def _let(self, s: Let) -> None:
        x = s.scalar
        if x.op == "load" and x.data[0] is self.e.product:
            if self.fours_at_once:
                self._lanes_of(s.name, [Typed(f"c.{c}", "f32") for c in "xyzw"], False)
            else:
                self.types[s.name] = "f32"
                self.line(f"let {s.name} = c;")
            return
        moving = self.mode(x.data[1] if x.op == "load" else x.data) if x.op in ("load", "ix") else "same"
        if moving == "four" and x.op == "load" and self.bindings[x.data[0].name].wide:
            binding = self.bindings[x.data[0].name]
            self.line(f"let {s.name} = {binding.name}[{self._four(*x.data)}];")
            self._lanes_of(s.name, [Typed(binding.lane(s.name, j), binding.type.compute) for j in range(4)])
        elif moving != "same":
            made = [
                self.value(Scalar("load", (), x.type, (x.data[0], self.at(x.data[1], j))) if x.op == "load"
                           else Scalar("ix", (), x.type, self.at(x.data, j)))
                for j in range(4)
            ]  # fmt: skip
            self._lanes_of(s.name, made)
        elif any(a.op == "name" and str(a.data) in self.lanes for a in x.args):
            self._lanes_of(s.name, [self.value(self._lane(x, j)) for j in range(4)])
        else:
            value = self.value(self._first(x))
            self.types[s.name] = value.type
            self.line(f"let {s.name} = {value.text};")

    def _first(self, x: Scalar) -> Scalar:
        """A load or coordinate that four columns share, by the first of them."""
        if x.op == "load":
            return Scalar("load", (), x.type, (x.data[0], self.at(x.data[1], 0)))
        return Scalar("ix", (), x.type, self.at(x.data, 0)) if x.op == "ix" else x

    def _lanes_of(self, name: str, values: list[Typed], named: bool = True) -> None:
        """Four values of one name: named by it, or texts that need no name."""
        self.lanes[name] = [name + c for c in "xyzw"] if named else [v.text for v in values]
        for lane, value in zip(self.lanes[name], values, strict=True):
            self.types[lane] = value.type
            if named:
                self.line(f"let {lane} = {value.text};")

    def _four(self, b: Buffer, place: Ix) -> str:
        """The index of four neighbours in a binding of fours."""
        return self._base(b, self.at(place, 0))

    def _store(self, s: Store) -> None:
        self.comment(s.origins)
        binding = self.bindings[s.buffer.name]
        count = 4 if self.fours_at_once else 1
        values = [self.typed(self._lane(s.value, j) if count == 4 else s.value) for j in range(count)]
        texts = [convert(v.text, v.type, binding.type.compute) for v in values]
        if binding.wide:
            self.line(binding.save4(self._four(s.buffer, s.place), texts))
            return
        for j, made in enumerate(texts):
            self.line(binding.save(self.element(s.buffer, self.at(s.place, j)), made))


__all__ = ["Epilogue", "EpiloguePrinter"]
