"""Graphs of primitives as values: each node through its view rule, its expression, or its decomposition.

What has none of them, or computes in a type that generated kernels do not know, stays a call of the engine's kernel. Rewrites
are counted by the name of their rule, for the notebook's list of passes.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ....dispatch import BOOL, FLOATING
from ....dtypes import get_default_dtype, promote_types
from ....ops.table import OPS, Op
from ...graph.node import TensorSpec
from ..loops.index import ONE, Ix, ix, size
from ..loops.scalar import CODES, Scalar, ScalarError, arg, cast, is_float, lit, read
from ..values import Call, Slot, Value, Values, canonical
from . import windows
from .algebra import simplified
from .decompose import DECOMPOSITIONS, TUNED
from .views import VIEWS


@dataclass
class Output:
    """One thing the program returns: a value with the geometry it is wanted in, or a plain object."""

    value: Value | None
    spec: TensorSpec | None = None
    plain: Any = None


@dataclass
class Program:
    """A graph as values. `inputs` has an entry a placeholder, None for those that are no tensors and are not used."""

    values: Values
    inputs: list[Value | None]
    input_names: list[str]
    outputs: list[Output]
    structure: Any
    """What the graph returns, with the number of an output in the place of each node."""

    sizes: dict[str, tuple[int, int] | Any]
    """Where each symbolic size is found: (input, dimension), or an object with `evaluate(sizes)`."""

    specs: dict[str, TensorSpec]
    nodes: dict[str, Any]
    """Graph nodes by name, for sources and tape numbers."""

    rewrites: Counter[str] = field(default_factory=Counter)
    written: dict[int, int] = field(default_factory=dict)
    """Inputs that are written: position of the input to number of the output whose value it gets."""

    counted: set[int] = field(default_factory=set)
    """Inputs among those whose version this program raises (the caller raises that of the others)."""

    applied: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each entry of a table made a primitive into values: ("decompositions" or "views", its name)."""

    kept: list[str] = field(default_factory=list)
    """Nodes that stay calls because the engine's kernels are faster."""

    backend: str = "cpu"
    host: set[Value] = field(default_factory=set)
    """Values of the CPU in a program of another device."""


class Lowering:
    """Translates one graph. `values` makes values; `primitive` is the name of the primitive being translated."""

    def __init__(self) -> None:
        self.values = Values()
        self.rewrites: Counter[str] = Counter()
        self.applied: Counter[tuple[str, str]] = Counter()
        self.primitive = ""
        self.device = "cpu"
        self.host: set[Value] = set()
        self.sizes: dict[str, Any] = {}
        self._derived: dict[str, Any] = {}
        self._read: dict[Any, tuple[Scalar, Counter[str]]] = {}
        """Formulas that were read, with the rules that simplified them."""
        self.tuned: frozenset[str] = frozenset()
        """Primitives that stay calls of the engine's kernels, which are faster than what would be generated."""
        self.kept: list[str] = []
        """The nodes that did."""
        self.numbers: dict[str, Value] = {}
        """Numbers that only running gives, by the name of their symbol: 0-d values."""
        self.weak: set[Value] = set()
        """0-d values that stand for Python numbers."""

    # -- what decompositions use ----------------------------------------------------------------

    def code(self, dtype: Any) -> str | None:
        """The type code of an engine dtype, None where generated kernels do not know it."""
        return CODES.get(getattr(dtype, "name", str(dtype)))

    def rewrote(self, rule: str) -> None:
        """Count one use of a rule."""
        self.rewrites[rule] += 1

    def checked(self, index: Value, size: Ix) -> Value:
        """An index value that is found out of range when it is not in [0, size)."""
        return self.values.point(Scalar("place", (arg(0, "i64"),), "i64", size), (index,))

    def symbolic(self, n: Any) -> Any:
        """A symbolic number as a 0-d value that promotes like a Python number; others as they are."""
        kind = type(n).__name__
        if kind == "SymInt":
            e = self.size(n)
            if e.number is not None:
                return e.number
            made = self.values.point(Scalar("size", (), "i64", e), (), ())
        elif kind == "SymFloat" and self.device != "cpu":
            # What it waits for are elements that the graph computes; numbers that are inputs have their names.
            known = [self.numbers.get(name) for name in n.free_symbols()]
            made = self.values.new(
                "number", (), "f32", [v for v in known if v is not None and v.kind != "number"], n, key=n.code()
            )
        elif kind == "SymFloat":
            names = n.free_symbols()
            operands = []
            table: dict[str, Any] = {}
            for name in names:
                v = self.numbers.get(name)
                if v is None:
                    v = self.values.point(Scalar("size", (), "i64", size(name)), (), ())
                table[name] = cast(arg(len(operands), v.dtype), "f64")
                operands.append(v)
            made = self.values.point(simplified(read(n.code(), table, "f64"), self.rewrites), operands, ())
        else:
            return n
        self.weak.add(made)
        return made

    def size(self, n: Any) -> Ix:
        """A size as a polynomial; symbolic ones that are no polynomial become sizes of their own."""
        if type(n) is Ix:
            return n
        if type(n) is int:
            return ix(n)
        expr = getattr(n, "expr", None)
        if expr is None:
            return ix(int(n))
        return self._polynomial(expr)

    def _polynomial(self, expr: Any) -> Ix:
        out = ix(0)
        for monomial, factor in expr.terms:
            term = ix(factor)
            for atom, power in monomial:
                name = atom[1]
                if atom[0] != "s":
                    name = f"d{len(self._derived)}"
                    name = self._derived.setdefault(repr(atom), name)
                    self.sizes.setdefault(name, (atom, type(expr)))
                elif name in self.numbers:
                    raise NotImplementedError(f"a size depends on {name}, which only running the graph gives")
                for _ in range(power):
                    term = term * Ix({(("s", name),): 1})
            out = out + term
        return out

    # -- nodes ----------------------------------------------------------------------------------

    def input(self, position: int, spec: TensorSpec) -> Value:
        """A tensor that comes from outside."""
        shape = tuple(self.size(n) for n in spec.shape)
        code = self.code(spec.dtype) or f"opaque {spec.dtype.name}"
        v = self.values.new("input", shape, code, (), position)
        steps = tuple(ix(0) if n == ONE else self.size(s) for n, s in zip(shape, spec.strides, strict=True))
        v.strides = None if steps == canonical(shape) or not _dense(shape, steps) else steps
        return v

    def number(self, position: int, kind: str) -> Value:
        """A Python number that comes from outside."""
        return self.values.new("number", (), kind, (), position)

    def node(self, op: Op, args: list[Any], statics: tuple[Any, ...], result: Any) -> Any:
        """The value (or tuple of them) of a primitive on values and numbers."""
        self.primitive = op.name
        specs = result if isinstance(result, (tuple, list)) else (result,)
        if self._on_host(args, specs):
            return self.call(op, args, statics, specs)
        if op.kind == "pointwise" or op.name == "fill":
            args = [self.symbolic(a) for a in args]
            statics = tuple(self.symbolic(a) for a in statics)
        typed = all(not isinstance(a, Value) or not a.dtype.startswith("opaque") for a in args)
        if typed and all(self.code(s.dtype) for s in specs if isinstance(s, TensorSpec)):
            try:
                made = self._formula(op, args, statics, result)
            except ScalarError:
                made = None
            if made is not None:
                return made
        return self.call(op, args, statics, specs)

    def _on_host(self, args: list[Any], specs: Any) -> bool:
        """Whether a primitive of a program for another device computes on the CPU."""
        return self.device != "cpu" and any(isinstance(s, TensorSpec) and s.device == "cpu" for s in specs)

    def _formula(self, op: Op, args: list[Any], statics: tuple[Any, ...], result: Any) -> Any:
        if op.name in self.tuned:
            self.kept.append(self.values.origin or op.name)
            return None
        if op.name in DECOMPOSITIONS:
            if any(a is not None and not isinstance(a, Value) for a in args) and op.name != "fill":
                args = [self._full(a, args) for a in args]
            made = DECOMPOSITIONS[op.name](self, args, statics, result)
            self.applied["decompositions", op.name] += made is not None
            return made
        if op.kind == "view":
            if op.name not in VIEWS or args[0].dtype != self.code(result.dtype):
                return None
            shape = tuple(self.size(n) for n in result.shape)
            statics = tuple(self.size(s) if hasattr(s, "__index__") and type(s) is not bool else s for s in statics)
            dims = [int(s.number) if isinstance(s, Ix) and s.number is not None else s for s in statics]
            self.applied["views", op.name] += 1
            return self.values.view(args[0], *VIEWS[op.name](args[0].shape, shape, *dims))
        if op.kind == "pointwise" and op.expr is not None:
            return self._pointwise(op, args, statics, result)
        return None

    def _full(self, a: Any, args: list[Any]) -> Any:
        if a is None or isinstance(a, Value):
            return a
        kind = next((x.dtype for x in args if isinstance(x, Value) and x.dtype != "bool"), "f32")
        return self.values.full((), a, kind)

    def _pointwise(self, op: Op, args: list[Any], statics: tuple[Any, ...], result: TensorSpec) -> Value | None:
        compute = result.dtype if op.keeps_dtype else self.promoted(args)
        out = self.code(result.dtype)
        wide = op.wide and self.promoted(args).category < FLOATING
        if op.floats and compute.category < FLOATING:
            compute = get_default_dtype()
        code = self.code(compute)
        if code is None or out is None:
            return None
        at = "f64" if wide else code
        operands: list[Value] = []
        names: dict[str, Any] = {}
        for name, a in zip(op.tensors, args, strict=True):
            if not isinstance(a, Value):
                names[name] = a if a is None or isinstance(a, Scalar) else lit(a, at)
                if type(a) is int and not is_float(at) and names[name].data != a and op.name.startswith("clamp"):
                    return None
                continue
            if a in operands:
                leaf = arg(operands.index(a), a.dtype)
            else:
                leaf = arg(len(operands), a.dtype)
                operands.append(a)
            names[name] = cast(cast(leaf, code), at)
        for name, s in zip(op.statics, statics, strict=True):
            if isinstance(s, Value):
                names[name] = cast(arg(len(operands), s.dtype), at)
                operands.append(s)
            else:
                names[name] = s
        formula = self._formula_of(op, names, at, out)
        if formula.op == "arg" and not formula.args:
            only = operands[formula.data]
            if only.shape == tuple(self.size(n) for n in result.shape):
                return only
        formula, operands = used_only(formula, operands)
        return self.values.point(formula, operands, [self.size(n) for n in result.shape])

    def _formula_of(self, op: Op, names: dict[str, Any], at: str, out: str) -> Scalar:
        """The simplified formula of a primitive over its parameters, read once for the same parameters."""
        key = (op.name, at, out, *[(v.__class__, repr(v) if v.__class__ is float else v) for v in names.values()])
        try:
            found = self._read.get(key)
        except TypeError:  # a parameter that is a list
            key, found = None, None
        if found is None:
            formula = SPECIAL[op.name](names, at) if op.name in SPECIAL else None
            if formula is None:
                text = EXPRESSIONS.get(op.name, op.expr)
                formula = read(text, names, out if op.result == "bool" else at)  # type: ignore[arg-type]
            if op.result != "bool" and formula.type != out:
                formula = cast(formula, out)
            count: Counter[str] = Counter()
            found = simplified(formula, count), count
            if key is not None:
                self._read[key] = found
        self.rewrites.update(found[1])
        return found[0]

    def promoted(self, args: list[Any]) -> Any:
        """The dtype that tensors and numbers meet in."""
        from ....dtypes import DTYPES, of_scalar
        from ..loops.scalar import NUMPY

        best: list[Any] = [None, None, None]
        for a in args:
            if a is None:
                continue
            if isinstance(a, Value) and a not in self.weak:
                d, rank = DTYPES[NUMPY[a.dtype]], 0 if a.rank else 1
            elif isinstance(a, Value):
                d, rank = of_scalar(1.0 if is_float(a.dtype) else 1), 2
            else:
                d, rank = of_scalar(a), 2
            best[rank] = d if best[rank] is None else promote_types(best[rank], d)
        out = None
        for d in best:
            if d is not None and (out is None or d.category > out.category):
                out = d
        return out

    def foreign(self, function: Any, nodes: Any, args: list[Any], specs: Any, number: int) -> Any:
        """A call of a function that takes tensors and gives one; calls stay apart and in their order."""
        operands: list[Value] = []

        def slot(a: Any) -> Any:
            if isinstance(a, Value):
                operands.append(a)
                return Slot(len(operands) - 1)
            return type(a)(slot(x) for x in a) if type(a) in (tuple, list) else a

        arguments = tuple(slot(a) for a in args)
        made = self.values.new(
            "call",
            (),
            "none",
            operands,
            Call(function, arguments, (specs[0].dtype,), number + 1),
            key=("foreign", number),
        )
        s = specs[0]
        return self.values.new(
            "item", [self.size(n) for n in s.shape], self.code(s.dtype) or f"opaque {s.dtype.name}", (made,), 0
        )

    def call(self, op: Op, args: list[Any], statics: tuple[Any, ...], specs: Any) -> Any:
        """A call of the engine's kernel; for several outputs a tuple."""
        operands: list[Value] = []

        def slot(a: Any) -> Any:
            if isinstance(a, Value):
                operands.append(a)
                return Slot(len(operands) - 1)
            if isinstance(a, (tuple, list)):
                return type(a)(slot(x) for x in a) if type(a) in (tuple, list) else a
            return a

        arguments = tuple(slot(a) for a in (*([tuple(args)] if op.list_input else args), *statics))
        impure = len(self.values.made) + 1 if op.kind == "random" else 0
        made = self.values.new(
            "call",
            (),
            "none",
            operands,
            Call(op, arguments, tuple(s.dtype for s in specs), impure),
            key=(op.name, repr(arguments), impure),
        )
        items = tuple(
            self.values.new(
                "item", [self.size(n) for n in s.shape], self.code(s.dtype) or f"opaque {s.dtype.name}", (made,), i
            )
            for i, s in enumerate(specs)
        )
        if self._on_host(args, specs):
            self.host.update(items)
        return items if op.multi else items[0]


def _dense(shape: tuple[Ix, ...], steps: tuple[Ix, ...]) -> bool:
    """Whether strides are those of some order of the dimensions, without gaps. Inputs with gaps are copied on a call."""
    if any(s.number is None for s in steps) or any(n.number is None for n in shape):
        return False
    step = 1
    for s, n in sorted((s.number or 0, n.number or 0) for s, n in zip(steps, shape, strict=True) if n != ONE):
        if s != step:
            return False
        step *= n
    return True


def used_only(formula: Scalar, operands: list[Value]) -> tuple[Scalar, list[Value]]:
    """The formula with operands renumbered, those that it does not use left out."""
    from ..loops.scalar import leaves, substitute

    used = sorted({x.data for x in leaves(formula) if x.op == "arg"})
    if len(used) == len(operands):
        return formula, operands
    place = {old: new for new, old in enumerate(used)}
    formula = substitute(formula, lambda x: Scalar("arg", (), x.type, place[x.data]) if x.op == "arg" else None)
    return formula, [operands[i] for i in used]


def _power(names: dict[str, Any], type: str) -> Scalar | None:
    """Powers that numpy computes otherwise than by `pow`."""
    from ..loops.scalar import apply, binary

    x, n = names["input"], names["exponent"]
    number = n.number if isinstance(n, Scalar) else n
    if number is None or not isinstance(x, Scalar):
        return None
    if number == 1:
        return x
    if number == 2:
        return binary("mul", x, x)
    if not is_float(type):
        return None
    if number == 3:
        return binary("mul", binary("mul", x, x), x)
    if number == 0.5:
        return apply("sqrt", [x])
    if number == -1:
        return binary("div", lit(1, type), x)
    return None


SPECIAL: dict[str, Callable[[dict[str, Any], str], Scalar | None]] = {"pow": _power}
"""Formulas that depend on the values of numbers."""

EXPRESSIONS: dict[str, str] = {
    "lerp": "where((weight < 0.5) & (weight > -0.5), input + weight * (end - input), end - (end - input) * (1 - weight))",
}
"""Expressions that kernels here compute better than those of the table."""


def translate(gm: Any, printer: str = "") -> Program:
    """The program of a level-2 graph, for a printer ("c", "numpy", "wgsl") if what the engine does better is to stay with it.

    Raises NotImplementedError for nodes that are no primitives.
    """
    return _Translation(gm, printer).run()


class _Translation:
    """Walks the nodes of one graph."""

    def __init__(self, gm: Any, printer: str = ""):
        self.gm = gm
        self.L = Lowering()
        self.L.tuned = TUNED.get(printer, frozenset())
        self.made: dict[str, Any] = {}
        self.inputs: list[Value | None] = []
        self.places: dict[str, int] = {}
        self.outputs: list[Output] = []
        self.writes: list[tuple[int, Any]] = []
        self.specs: dict[str, TensorSpec] = {}
        self.given: set[str] = set()

    def run(self) -> Program:
        L, nodes = self.L, {}
        devices = {v.device for n in self.gm.graph if isinstance(v := n.meta.get("val"), TensorSpec)}
        L.device = next(iter(sorted(devices - {"cpu"})), "cpu")
        names: list[str] = []
        structure: Any = None
        for node in self.gm.graph:
            nodes[node.name] = node
            val = node.meta.get("val")
            L.values.origin = node.name
            if isinstance(val, TensorSpec):
                self.specs[node.name] = val
            if node.op == "placeholder":
                names.append(node.name)
                self.given.add(node.name)
                self.places[node.name] = len(self.inputs)
                made = self.made[node.name] = self._placeholder(len(self.inputs), node.name, val)
                self.inputs.append(made if isinstance(made, Value) else None)
            elif node.op == "get_attr":
                self.given.add(node.name)
                self.made[node.name] = self._constant(self.gm.constants[node.target])
            elif node.op == "output":
                L.values.origin = ""
                structure = self._outputs(node.args[0])
            else:
                self.made[node.name] = self._function(node, val)
        written: dict[int, int] = {}
        for position, node in self.writes:
            written[position] = len(self.outputs)
            self._outputs(node)
        written |= {i: o for o, i in (self.gm.meta.get("writes") or {}).items()}
        if L.values.merged:
            L.rewrites["common subexpressions"] += L.values.merged
        self._separate(written)
        return Program(
            L.values, self.inputs, names, self.outputs, structure, L.sizes, self.specs, nodes, L.rewrites, written,
            {position for position, _ in self.writes},
            L.applied,
            L.kept,
            L.device,
            L.host,
        )  # fmt: skip

    def resolve(self, a: Any) -> Any:
        """Arguments with nodes replaced by their values."""
        if hasattr(a, "users") and hasattr(a, "meta"):
            return self.made[a.name]
        if isinstance(a, (tuple, list)):
            return tuple(self.resolve(x) for x in a)
        return a

    def _function(self, node: Any, val: Any) -> Any:
        target, L = node.target, self.L
        if node.op == "call_function":
            if isinstance(target, Op):
                return _primitive(L, target, [self.resolve(a) for a in node.args], val)
            if target is operator.getitem:
                return self.resolve(node.args[0])[node.args[1]]
            made = self._creation(node, getattr(target, "__name__", ""), val)
            if made is not None:
                return made
            if val is not None and not isinstance(val, (TensorSpec, tuple, list)):
                return val
        raise NotImplementedError(
            f"the node {node.name} ({getattr(target, '__name__', target)}) is no primitive: trace the graph with aot.make_fx before "
            "it is lowered"
        )

    def _creation(self, node: Any, name: str, val: Any) -> Any:
        """What level-2 graphs call besides primitives; None for what is not known here."""
        from ...aot import creations

        L, target = self.L, node.target
        if getattr(creations, name, None) is not target:
            return None
        args = [self.resolve(a) for a in node.args]
        if name == "copy_":
            self.writes.append((self.places[node.args[0].name], node.args[1]))
            return args[0]
        code = L.code(val.dtype) if isinstance(val, TensorSpec) else None
        if name == "item":
            if L.device != "cpu" and args[0] not in L.host:
                raise NotImplementedError("a number is read off the device within the graph")
            L.numbers[getattr(val, "symbol_name", lambda: None)() or node.name] = args[0]
            L.weak.add(args[0]) if args[0].rank == 0 else None
            return val
        if name in ("full", "empty") and code is not None:
            shape = [L.size(n) for n in val.shape]
            value = L.symbolic(args[1]) if name == "full" else 0
            if isinstance(value, Value):
                return L.values.expand(L.values.cast(value, code), shape)
            return None if isinstance(value, complex) else L.values.full(shape, value, code)
        if name == "arange" and code is not None:
            step = Scalar("index", (), "i64", 0)
            from ..loops.scalar import binary

            if all(isinstance(a, int) and type(a) is int for a in args[:2]):
                formula = cast(binary("add", lit(args[0], "i64"), binary("mul", step, lit(args[1], "i64"))), code)
                return L.values.point(simplified(formula), (), [L.size(val.shape[0])])
        if name in ("fresh", "laid_out") and code is not None:
            return self._copied(args[0])
        # Called as it is: random draws, copies between devices.
        specs = (val,)
        return L.foreign(target, node.args, [self.resolve(a) for a in node.args], specs, len(self.made))

    def _copied(self, v: Value) -> Value:
        """The value again, in memory of its own."""
        return self.L.values.new(
            "point", v.shape, v.dtype, (v,), arg(0, v.dtype), key=("copy", len(self.L.values.made))
        )

    def _placeholder(self, position: int, name: str, val: Any) -> Any:
        L = self.L
        if isinstance(val, TensorSpec):
            v = L.input(position, val)
            if val.device != L.device:
                L.host.add(v)
            for d, n in enumerate(val.shape):
                if type(n) is not int and n.symbol_name() is not None:
                    L.sizes.setdefault(n.symbol_name(), (position, d))
            return v
        if type(val).__name__ == "SymInt" and val.symbol_name() is not None:
            L.sizes[val.symbol_name()] = (position, None)
        elif type(val).__name__ == "SymFloat":
            L.numbers[val.symbol_name() or name] = L.number(position, "f64" if L.device == "cpu" else "f32")
        return val

    def _constant(self, value: Any) -> Any:
        if not hasattr(value, "_data") or not hasattr(value, "_dtype"):
            return value
        L = self.L
        code = L.code(value._dtype) or f"opaque {value._dtype.name}"
        return L.values.new("constant", value._data.shape, code, (), value, key=id(value))

    def _outputs(self, tree: Any) -> Any:
        if hasattr(tree, "users") and hasattr(tree, "meta"):
            value = self.made[tree.name]
            val = tree.meta.get("val")
            if isinstance(value, Value) and isinstance(val, TensorSpec):
                self.outputs.append(Output(value, val, tree.name))
            else:
                self.outputs.append(Output(None, None, value))
            return len(self.outputs) - 1
        if isinstance(tree, (tuple, list)):
            return [self._outputs(t) for t in tree]
        self.outputs.append(Output(None, None, tree))
        return len(self.outputs) - 1

    def _separate(self, written: dict[int, int]) -> None:
        """Results that are computed have memory of their own, though they may be equal to an input or to another result."""
        from ..schedule.fuse import bare

        seen: set[Value] = set()
        writes = set(written.values())
        for k, o in enumerate(self.outputs):
            if o.value is None:
                continue
            base = bare(o.value)
            if (o.plain in self.given and k not in writes) or base in self.L.host:
                continue
            if base.kind in ("input", "constant", "number") or base in seen or (base.kind == "item" and k in writes):
                o.value = self._copied(o.value)
                base = o.value
            seen.add(base)


def _primitive(L: Lowering, op: Op, args: list[Any], val: Any) -> Any:
    op = OPS.get(op.name, op)
    count = 1 if op.list_input else len(op.tensors)
    operands = list(args[0]) if op.list_input else args[:count]
    return L.node(op, operands, tuple(args[count:]), val)


__all__ = ["BOOL", "Lowering", "Output", "Program", "translate", "windows"]
