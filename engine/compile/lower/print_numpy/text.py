"""Kernels as numpy programs: every loop variable is an axis, every statement one call on a block.

The outermost loop runs in blocks of about 256 KiB, so that what one statement makes is in the cache when the next reads it. A
value that is not used again lends its memory to the next result. The functions that C's printer has own forms for are those of
numpy and of the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..loops.form import IDENTITY, Buffer, Fold, Kernel, Let, Loop, Start, Store, Update, statements
from ..loops.index import Atom, Ix, text
from ..loops.scalar import BYTES, NUMPY, Scalar, is_float

BLOCK, LIGHT = 1 << 16, 1 << 18
"""Elements of a block; and of one where little is made between reading and writing, so that calls cost more than the cache gains."""

SHORT = 8
"""Axes shorter than this are better not numpy's innermost."""

LONGEST = 4096
"""Elements of a row whose products are summed without pairs."""

UFUNCS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "neg": "negative", "exp": "exp", "exp2": "exp2", "expm1": "expm1",
    "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin",
    "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint", "abs": "absolute",
    "maximum": "maximum", "minimum": "minimum", "atan2": "arctan2", "pow": "power", "copysign": "copysign", "nextafter": "nextafter",
    "fmod": "fmod", "remainder": "remainder", "floor_divide": "floor_divide", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal", "eq": "equal", "ne": "not_equal", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "invert": "invert", "not": "logical_not", "shl": "left_shift", "shr": "right_shift", "isnan": "isnan", "isinf": "isinf",
    "isfinite": "isfinite", "signbit": "signbit",
}  # fmt: skip
"""numpy's names of functions, all of which take `out=`."""

_REDUCERS = {
    "sum": "add",
    "prod": "multiply",
    "max": "maximum",
    "min": "minimum",
    "and": "logical_and",
    "or": "logical_or",
}


class Unprintable(NotImplementedError):
    """The kernel has something that numpy programs have no form for."""


class Printer:
    """Prints one kernel as a Python function `name(m, n, g)` of flat arrays, sizes and numbers."""

    def __init__(self, kernel: Kernel, slot: Any, symbol_slot: Any, name: str, block: int | None = None):
        """`block` gives the elements of a block, 0 for the whole at once; None leaves it to the kernel."""
        self.elements = block
        self.k, self.slot, self.symbol_slot, self.name = kernel, slot, symbol_slot, name
        self.axes: list[str] = []
        self.sizes: dict[str, Ix] = {}
        for s in statements(kernel.body):
            if isinstance(s, Loop) and s.variable not in self.sizes:
                self.axes.append(s.variable)
                self.sizes[s.variable] = s.size
        self.order = self._outwards()
        self.marks: list[tuple[int, tuple[str, ...]]] = []
        self.nodes: list[tuple[int, tuple[str, ...]]] = []
        """Which lines of the function compute which graph nodes, once it is printed."""
        self.lines: list[str] = []
        self.types: dict[str, str] = {}
        self.uses: dict[str, int] = {}
        self.depends: dict[str, frozenset[str]] = {}
        self.own: set[str] = set()
        self.taken: dict[str, tuple[frozenset[str], int]] = {}
        """What allocates memory while a block is computed: its loop variables and the bytes of an element."""
        self.block: int | None = None
        """Turns of the outermost loop in a block; None where all are taken at once."""

    def _outwards(self) -> str:
        """Put short axes before long ones where the innermost is short: numpy's loops run over the last one.

        Returns what its functions are told for this to hold.
        """
        short = [v for v in self.axes if (self.sizes[v].number or SHORT) < SHORT]
        if not short or self.axes[-1] not in short or len(short) == len(self.axes):
            return ""
        self.axes = short + [v for v in self.axes if v not in short]
        return ", order='C'"

    # -- text -----------------------------------------------------------------------------------

    def size(self, e: Ix) -> str:
        """A size, or a place that does not move, as Python."""
        return text(e, lambda a: f"n_{a[1]}" if a[0] == "s" else self.index_atom(a))

    def index_atom(self, a: Atom) -> str:
        """A loop variable as an array of its values, a run-time number as the array it is."""
        return f"x_{a[1]}" if a[0] == "v" else str(a[1])

    def extent(self, variable: str) -> str:
        """How long an axis is in a block."""
        if self.k.grid is not None and variable == self.k.grid.variable:
            return "e - b"
        return self.size(self.sizes[variable])

    def view(self, buffer: Buffer, place: Ix) -> tuple[str, frozenset[str]]:
        """Memory at a place for all values of the loop variables, and which of them it depends on."""
        m = f"m{self.slot(buffer)}"
        if place.is_affine():
            used = place.variables()
            start = place.without(used)
            grid = self.k.grid.variable if self.k.grid is not None else None
            offset = self.size(start)
            if grid in used:
                offset += f" + b * ({self.size(place.factor(grid))})"
            item = BYTES[buffer.dtype]
            shape = ", ".join(self.extent(v) if v in used else "1" for v in self.axes)
            steps = ", ".join(f"({self.size(place.factor(v))}) * {item}" if v in used else "0" for v in self.axes)
            comma = "," if len(self.axes) == 1 else ""
            return f"view(({shape}{comma}), {m}.dtype, {m}, ({offset}) * {item}, ({steps}{comma}))", frozenset(used)
        used = set()
        for a in place.atoms():
            if a[0] == "v":
                used.add(a[1])
            elif a[0] == "r":
                used |= self.depends.get(a[1], frozenset())
        for v in sorted(used):
            self.need_axis(v)
        return f"{m}[{self.size(place)}]", frozenset(used)

    def need_axis(self, v: str) -> None:
        """Define the values of a loop variable as an array."""
        if v not in self.defined:
            self.defined.add(v)
            at = self.axes.index(v)
            shape = ", ".join("-1" if i == at else "1" for i in range(len(self.axes)))
            comma = "," if len(self.axes) == 1 else ""
            span = "b, e" if self.k.grid is not None and v == self.k.grid.variable else self.size(self.sizes[v])
            self.add(f"x_{v} = np.arange({span}).reshape(({shape}{comma}))")

    defined: set[str] = set()

    indent = "    "

    def add(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def operand(self, s: Scalar) -> str:
        if s.op == "name":
            return str(s.data)
        if s.type == "bool":
            return str(bool(s.data))
        if is_float(s.type):
            v = s.data
            body = "nan" if math.isnan(v) else ("inf" if v > 0 else "-inf") if math.isinf(v) else repr(v)
            return f"{s.type}({body!r})" if not math.isfinite(v) else f"{s.type}({body})"
        return f"{s.type}({s.data})"

    # -- statements -----------------------------------------------------------------------------

    def print(self) -> str:
        """The function's source."""
        self.defined = set()
        k = self.k
        for s in statements(k.body):
            for x in self._read(s):
                self.uses[x] = self.uses.get(x, 0) + 1
        self.overwritten = self._overwritten()
        self._choose_squares()
        self.folds, self.starts, self.kept, self.made = {}, {}, {}, {}
        for x in k.body:
            if isinstance(x, Loop) and x.grid:
                inner = 1
                for v in self.axes:
                    if v != x.variable:
                        inner *= self.sizes[v].number or 64
                block = LIGHT if self._made(x.body) <= 4 else BLOCK
                if self.elements is not None:
                    block = self.elements
                whole = self._moves_only(x.body) or block == 0
                self.block = None if whole else max(1, block // max(1, inner))
                step = str(self.block or "whole or 1")
                self.add(f"whole = {self.size(x.size)}")
                self.add(f"step = {step}")
                self.add("for b in range(0, whole, step):")
                self.indent = "        "
                self.add("e = min(b + step, whole)")
                self.running = set(f.name for f in x.folds)
                self._block(x.body)
                for f in x.folds:
                    self._total(f)
                self.indent, self.running = "    ", set()
            else:
                self._block([x])
        slots = sorted(
            {self.slot(b) for b in k.buffers if b.dtype != "number" and b.role != "scratch"}
            | {self.slot(p) for p, *_ in k.combines}
        )
        head = [f"def {self.name}(m, n, g):", f"    # {', '.join(k.origins)}"]
        head += [f"    n_{name} = n[{self.symbol_slot(name)}]" for name in self._symbols()]
        head += [f"    m{i} = m[{i}]" for i in slots]
        for b, function, size in k.inits:
            head.append(f"    m{self.slot(b)}[: {self.size(size)}] = {self._neutral(function, b.dtype)}")
        self.nodes = [(len(head) + 1 + at, origins) for at, origins in self.marks]
        tail = []
        for part, b, _, size in k.combines:
            tail.append(f"    m{self.slot(b)}[: {self.size(size)}] = m{self.slot(part)}[: {self.size(size)}]")
        return "\n".join([*head, *(self.lines or ["    pass"]), *tail]) + "\n"

    def _made(self, body: list[Any]) -> int:
        """How many arrays of a block's size are computed."""
        inmost = [
            s.body for s in statements(body) if isinstance(s, Loop) and not any(isinstance(x, Loop) for x in s.body)
        ]
        return sum(
            isinstance(s, Let)
            and s.scalar.op not in ("ix", "size", "given")
            and (s.scalar.op != "load" or not s.scalar.data[1].is_affine())
            for part in inmost or [body]
            for s in part
        )

    @staticmethod
    def _moves_only(body: list[Any]) -> bool:
        """Whether there is nothing between what is read and what is summed or stored, so that blocks would gain nothing."""
        return all(
            s.scalar.op == "load" and s.scalar.data[0].role != "scratch" and s.scalar.data[1].is_affine()
            if isinstance(s, Let)
            else not isinstance(s, Store) or s.place.is_affine()
            for s in statements(body)
        )

    def _choose_squares(self) -> None:
        """Products that only a sum along the last axis needs, so that the product is not made."""
        self.squares = {}
        if set(self.k.reads) & set(self.k.writes):
            return
        lets = {s.name: s.scalar for s in statements(self.k.body) if isinstance(s, Let)}
        for s in statements(self.k.body):
            if isinstance(s, Fold) and s.function == "sum" and s.value.op == "name" and is_float(s.value.type):
                x = lets.get(str(s.value.data))
                if x is not None and x.op == "mul" and self.uses[str(s.value.data)] == 1:
                    if all(a.op == "name" for a in x.args):
                        self.squares[str(s.value.data)] = [str(a.data) for a in x.args]

    squares: dict[str, list[str]] = {}
    """Products that are not made unless they must be: their factors."""

    running: set[str] = set()
    """Reductions that go on over all blocks."""
    kept: dict[str, str] = {}
    """What stands in scratch memory: a whole block of it is a value."""

    def _symbols(self) -> list[str]:
        found: dict[str, None] = {}
        from ..print_c.text import Printer as CPrinter

        c = CPrinter(self.k, lambda b: 0, lambda o: "")
        for name in c.symbols():
            found[name] = None
        return list(found)

    overwritten: frozenset[str] = frozenset()
    """Loads that must be copies: their memory is written before they are used for the last time."""

    def _overwritten(self) -> frozenset[str]:
        both = set(self.k.reads) & set(self.k.writes)
        if not both:
            return frozenset()
        loads: dict[str, Buffer] = {}
        done: set[Buffer] = set()
        out: set[str] = set()
        for s in statements(self.k.body):
            # Reductions are made when their loop has ended, behind what it stores.
            out |= {x for x in self._read(s) if x in loads and (isinstance(s, Fold) or loads[x] in done)}
            if isinstance(s, Let) and s.scalar.op == "load" and s.scalar.data[0] in both:
                loads[s.name] = s.scalar.data[0]
            elif isinstance(s, (Store, Update)) and s.buffer in both:
                done.add(s.buffer)
        return frozenset(out)

    def _read(self, s: Any) -> list[str]:
        """Names that a statement reads."""
        out: list[str] = []
        scalars: list[Scalar] = []
        places: list[Ix] = []
        if isinstance(s, Let):
            scalars += [*s.scalar.args]
            if s.scalar.op == "load":
                places.append(s.scalar.data[1])
            elif s.scalar.op == "ix":
                places.append(s.scalar.data)
        elif isinstance(s, (Store, Update)):
            scalars.append(s.value)
            places.append(s.place)
        elif isinstance(s, Fold):
            scalars.append(s.value)
        for x in scalars:
            if x.op == "name":
                out.append(x.data)
        for p in places:
            out += [a[1] for a in p.atoms() if a[0] == "r"]
        return out

    def _block(self, body: list[Any]) -> None:
        for s in body:
            before = len(self.lines)
            self._statement(s)
            if isinstance(s, (Let, Store, Update)) and s.origins:
                self.marks += [(at, tuple(s.origins)) for at in range(before, len(self.lines))]

    def _ones(self) -> str:
        """The shape of a single element."""
        return f"({'1, ' * len(self.axes)})"

    def _empty(self, s: Any) -> bool:
        """Whether a statement stands in a loop without turns."""
        none = [v for v in self.axes if self.sizes[v].number == 0]
        return bool(none) and not set(none).isdisjoint(self._around(s))

    def _statement(self, s: Any) -> None:
        if isinstance(s, (Store, Update)) and s.buffer.role != "scratch" and self._empty(s):
            return  # an axis that its place does not depend on would be of size 1
        if isinstance(s, Loop):
            self._block(s.body)
            for f in s.folds:
                self._total(f)
        elif isinstance(s, Let):
            self._let(s)
        elif isinstance(s, Store) and s.buffer.role == "scratch":
            self.kept[s.buffer.name] = str(s.value.data)
            self.uses[str(s.value.data)] += 1000
        elif isinstance(s, Store):
            view, used = self.view(s.buffer, s.place)
            if self._aimed(s, view, used):
                return
            if s.place.is_affine():
                self.add(f"{view}[...] = {self.operand(s.value)}")
            else:
                self.add(f"{view} = {self.operand(s.value)}")
        elif isinstance(s, Update):
            self._update(s)
        elif isinstance(s, Fold):
            self.folds.setdefault(s.name, []).append(s)
        elif isinstance(s, Start):
            if s.function in ("argmax", "argmin"):
                raise Unprintable(f"{s.function} in a numpy program")
            self.starts[s.name] = s
            if self.indent == "    ":
                self.add(f"{s.name} = {self._neutral(s.function, s.wide)}")

    def _aimed(self, s: Store, view: str, used: frozenset[str]) -> bool:
        """Whether the function that makes the value can write it where it is stored; its line is changed then."""
        name = str(s.value.data)
        at = self.made.get(name) if s.value.op == "name" else None
        if (
            at is None
            or not s.place.is_affine()
            or self.types[name] != s.buffer.dtype
            or self.depends[name] != used
            or any(b is s.buffer for b in self.k.reads)
        ):
            return False
        self.lines[at] = f"{self.lines[at][:-1]}, out={view})"
        del self.made[name]
        self.taken.pop(name, None)
        self.own.discard(name)
        return True

    made: dict[str, int] = {}
    """Lines whose function allocates its result, by the name of the result."""

    folds: dict[str, list[Fold]] = {}
    starts: dict[str, Start] = {}

    def _total(self, start: Start) -> None:
        """A reduction whose loop has ended: over all axes of that loop that its value depends on."""
        (f,) = self.folds.pop(start.name)
        if f.origins:
            self.marks.append((len(self.lines), tuple(f.origins)))
        value = self.operand(f.value)
        over = self._inside(start)
        axes = tuple(i for i, v in enumerate(self.axes) if v in over)
        full = self._spread(f.value, over)
        factors = self.squares.get(str(f.value.data))
        if factors is not None:
            letters = "abcdefghijklmnop"[: len(self.axes)]
            self.add(
                f"{start.name} = np.einsum('{letters},{letters}->{letters[:-1]}', {', '.join(factors)})[..., None]"
            )
            self.types[start.name] = f.value.type
            self.depends[start.name] = self.depends[str(f.value.data)] - over
            return
        reduced = f"np.{_REDUCERS[f.function]}.reduce({full or value}, axis={axes!r}, keepdims=True)"
        if start.name in self.running:
            reduced = f"np.{_REDUCERS[f.function]}({start.name}, {reduced})"
        self.add(f"{start.name} = {reduced}")
        self.types[start.name] = f.value.type
        self.depends[start.name] = self.depends.get(str(f.value.data), frozenset()) - over

    def _spread(self, value: Scalar, over: frozenset[str]) -> str | None:
        """The text of a value with an element for each turn of the loops it is reduced over, where it has fewer."""
        missing = over - self.depends.get(str(value.data), frozenset()) if value.op == "name" else over
        if not missing:
            return None
        shape = ", ".join(
            self.extent(v) if v in missing or v in self.depends.get(str(value.data), frozenset()) else "1"
            for v in self.axes
        )
        comma = "," if len(self.axes) == 1 else ""
        return f"np.broadcast_to({self.operand(value)}, ({shape}{comma}))"

    def _inside(self, start: Start) -> frozenset[str]:
        """The loop variables of the loops that a reduction runs over."""
        out: set[str] = set()

        def search(body: list[Any], open_: tuple[str, ...], begun: int | None) -> None:
            for s in body:
                if s is start:
                    begun = len(open_)
                elif isinstance(s, Loop):
                    search(s.body, (*open_, s.variable), begun)
                elif isinstance(s, Fold) and s.name == start.name and begun is not None:
                    out.update(open_[begun:])

        search(self.k.body, (), None)
        return frozenset(out)

    def _update(self, s: Update) -> None:
        value = self.operand(s.value)
        mine = self.depends.get(str(s.value.data), frozenset()) if s.value.op == "name" else frozenset()
        if not s.place.is_affine():
            _, used = self.view(s.buffer, s.place)
            view, _ = self.view(s.buffer, s.place)
            array, _, at = view.partition("[")
            del used
            self.add(f"np.{_REDUCERS[s.function]}.at({array}, {at[:-1]}, {value})")
            return
        view, used = self.view(s.buffer, s.place)
        whole = frozenset(self._around(s))
        over = whole - used
        full = value
        missing = whole - mine
        if missing & over:
            shape = ", ".join(self.extent(v) if v in whole else "1" for v in self.axes)
            comma = "," if len(self.axes) == 1 else ""
            full = f"np.broadcast_to({value}, ({shape}{comma}))"
        axes = tuple(i for i, v in enumerate(self.axes) if v in over)
        if axes:
            wide = f", dtype=np.{NUMPY[s.buffer.dtype]}" if s.buffer.dtype != s.value.type else ""
            full = f"np.{_REDUCERS[s.function]}.reduce({full}, axis={axes!r}, keepdims=True{wide})"
        self.add(f"u = {view}")
        self.add(f"np.{_REDUCERS[s.function]}(u, {full}, out=u)")

    def _around(self, wanted: Any) -> tuple[str, ...]:
        """The loop variables of the loops around a statement."""

        def search(body: list[Any], open_: tuple[str, ...]) -> tuple[str, ...] | None:
            for s in body:
                if s is wanted:
                    return open_
                if isinstance(s, Loop):
                    found = search(s.body, (*open_, s.variable))
                    if found is not None:
                        return found
            return None

        return search(self.k.body, ()) or ()

    @staticmethod
    def _neutral(function: str, type: str) -> str:
        value = IDENTITY[function]
        if value in ("lowest", "highest"):
            if type == "bool":
                return str(value == "highest")
            if is_float(type):
                return "-np.inf" if value == "lowest" else "np.inf"
            return f"np.iinfo(np.{NUMPY[type]}).{'min' if value == 'lowest' else 'max'}"
        return repr(value)

    def _let(self, s: Let) -> None:
        x, name = s.scalar, s.name
        self.types[name] = x.type
        if x.op == "load" and x.data[0].role == "scratch":
            kept = self.kept[x.data[0].name]
            self.add(f"{name} = {kept}")
            self.depends[name] = self.depends.get(kept, frozenset())
            return
        if x.op == "load" and x.data[0].size.number == 0 and not x.data[1].is_affine():
            self.add(f"{name} = np.zeros({self._ones()}, np.{NUMPY[x.type]})")  # a choice will not take it
            self.depends[name] = frozenset()
            return
        if x.op == "load":
            view, used = self.view(*x.data)
            self.add(f"{name} = {view}" + (".copy()" if name in self.overwritten else ""))
            self.depends[name] = used
            if name in self.overwritten or not x.data[1].is_affine():
                self.taken[name] = (used, BYTES[x.type])
            return
        if x.op in ("ix", "size"):
            used = x.data.variables()
            for v in sorted(used):
                self.need_axis(v)
            self.depends[name] = frozenset(used)
            self.add(f"{name} = np.asarray({self.size(x.data)}, np.int64)")
            return
        if x.op == "given":
            self.depends[name] = frozenset()
            self.add(f"{name} = {x.type}(g[{self.slot(x.data)}])")
            return
        args = [self.operand(a) for a in x.args]
        used = frozenset().union(*[self.depends.get(str(a.data), frozenset()) for a in x.args if a.op == "name"])
        self.depends[name] = used
        if x.op == "cast":
            kind = NUMPY[x.type]
            self.add(
                f"{name} = ({args[0]} != 0)"
                if x.type == "bool"
                else f"{name} = np.asarray({args[0]}).astype(np.{kind})"
            )
        elif x.op == "where":
            self.add(f"{name} = np.where({', '.join(args)})")
        elif x.op == "place":
            self.add(f"{name} = place({args[0]}, {self.size(x.data)})")
        elif x.op == "clip":
            self.add(f"{name} = np.clip({args[0]}, 0, {self.size(x.data - 1)})")
        elif x.op in HELPERS:
            self.add(f"{name} = {HELPERS[x.op]}({', '.join(args)})")
        elif x.op in UFUNCS:
            if name in self.squares:
                if self._summed_along(name, args):
                    return
                del self.squares[name]
            out = self._lent(x, used)
            self.add(f"{name} = np.{UFUNCS[x.op]}({', '.join(args)}{out}{self.order})")
            self.own.add(name)
            if out:
                return
            self.made[name] = len(self.lines) - 1
        else:
            raise Unprintable(f"{x.op} in a numpy program")
        self.own.add(name)
        self.taken[name] = (used, BYTES[x.type])

    def temporary(self, size: Callable[[Ix], int]) -> int:
        """Bytes that a call allocates while it runs, once printed; `size` gives the number of turns of a loop."""
        parts = []
        grid = self.k.grid.variable if self.k.grid is not None else None
        whole = size(self.sizes[grid]) if grid is not None else 1
        turns = min(whole, self.block or whole)
        for used, item in self.taken.values():
            parts.append(item * math.prod(turns if v == grid else size(self.sizes[v]) for v in used))
        again = max(parts, default=0) if turns < whole else 0  # the next block's is made while the last one's is there
        return sum(parts) + again

    def _summed_along(self, name: str, factors: list[str]) -> bool:
        """Whether a product is summed along the last axis, a row of moderate length, and both factors have all of its elements."""
        start = next(
            self.starts[s.name] for s in statements(self.k.body) if isinstance(s, Fold) and s.value.data == name
        )
        over, last = self._inside(start), self.axes[-1]
        return (
            over == {last}
            and 16 <= (self.sizes[last].number or 0) <= LONGEST
            and start.name not in self.running
            and all(self.depends.get(f) == frozenset(self.axes) for f in factors)
        )

    def _lent(self, x: Scalar, used: frozenset[str]) -> str:
        """`, out=...` with the memory of an operand that is not used again."""
        for a in dict.fromkeys(x.args):
            if a.op != "name":
                continue
            name = str(a.data)
            self.uses[name] -= x.args.count(a)
            if (
                self.uses[name] <= 0
                and name in self.own
                and self.types[name] == x.type
                and self.depends[name] == used
                and used
            ):
                self.own.discard(name)
                self.made.pop(name, None)
                return f", out={name}"
        return ""


HELPERS = {
    "sigmoid": "sigmoid", "rsqrt": "rsqrt", "erf": "erf", "erfc": "erfc", "sign": "sign", "lgamma": "lgamma",
}  # fmt: skip
"""Functions that the program finds in its own namespace."""
