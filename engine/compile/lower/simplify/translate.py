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
from ..loops.index import ONE, Ix, ix
from ..loops.scalar import CODES, Scalar, ScalarError, arg, cast, is_float, lit, read
from ..values import Call, Slot, Value, Values, canonical
from .algebra import simplified
from .decompose import DECOMPOSITIONS
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


class Lowering:
    """Translates one graph. `values` makes values; `primitive` is the name of the primitive being translated."""

    def __init__(self) -> None:
        self.values = Values()
        self.rewrites: Counter[str] = Counter()
        self.primitive = ""
        self.sizes: dict[str, Any] = {}
        self._derived: dict[str, Any] = {}

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
        v.strides = None if steps == canonical(shape) else steps
        return v

    def number(self, position: int, kind: str) -> Value:
        """A Python number that comes from outside."""
        return self.values.new("number", (), kind, (), position)

    def node(self, op: Op, args: list[Any], statics: tuple[Any, ...], result: Any) -> Any:
        """The value (or tuple of them) of a primitive on values and numbers."""
        self.primitive = op.name
        specs = result if isinstance(result, (tuple, list)) else (result,)
        typed = all(not isinstance(a, Value) or not a.dtype.startswith("opaque") for a in args)
        if typed and all(self.code(s.dtype) for s in specs if isinstance(s, TensorSpec)):
            try:
                made = self._formula(op, args, statics, result)
            except ScalarError:
                made = None
            if made is not None:
                return made
        return self.call(op, args, statics, specs)

    def _formula(self, op: Op, args: list[Any], statics: tuple[Any, ...], result: Any) -> Any:
        if op.name in DECOMPOSITIONS:
            if any(a is not None and not isinstance(a, Value) for a in args) and op.name != "fill":
                args = [self._full(a, args) for a in args]
            return DECOMPOSITIONS[op.name](self, args, statics, result)
        if op.kind == "view":
            if op.name not in VIEWS or args[0].dtype != self.code(result.dtype):
                return None
            shape = tuple(self.size(n) for n in result.shape)
            statics = tuple(self.size(s) if hasattr(s, "__index__") and type(s) is not bool else s for s in statics)
            dims = [int(s.number) if isinstance(s, Ix) and s.number is not None else s for s in statics]
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
        compute = self.promoted(args)
        out = self.code(result.dtype)
        wide = False
        if op.floats and compute.category < FLOATING:
            compute, wide = get_default_dtype(), op.wide
        code = self.code(compute)
        if code is None or out is None:
            return None
        at = "f64" if wide else code
        operands: list[Value] = []
        names: dict[str, Any] = {}
        for name, a in zip(op.tensors, args, strict=True):
            if not isinstance(a, Value):
                names[name] = a if a is None or isinstance(a, Scalar) else lit(a, at)
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
        formula = SPECIAL[op.name](names, at) if op.name in SPECIAL else None
        if formula is None:
            text = EXPRESSIONS.get(op.name, op.expr)
            formula = read(text, names, out if op.result == "bool" else at)  # type: ignore[arg-type]
        if op.result != "bool" and formula.type != out:
            formula = cast(formula, out)
        formula = simplified(formula, self.rewrites)
        if formula.op == "arg" and not formula.args:
            only = operands[formula.data]
            if only.shape == tuple(self.size(n) for n in result.shape):
                return only
        formula, operands = used_only(formula, operands)
        return self.values.point(formula, operands, [self.size(n) for n in result.shape])

    def promoted(self, args: list[Any]) -> Any:
        """The dtype that tensors and numbers meet in."""
        from ....dtypes import DTYPES, of_scalar
        from ..loops.scalar import NUMPY

        best: list[Any] = [None, None, None]
        for a in args:
            if a is None:
                continue
            if isinstance(a, Value) and a.kind != "number":
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
            "call", (), "none", operands, Call(op, arguments, tuple(s.dtype for s in specs), impure), key=(op.name, repr(arguments), impure)
        )
        items = tuple(
            self.values.new(
                "item", [self.size(n) for n in s.shape], self.code(s.dtype) or f"opaque {s.dtype.name}", (made,), i
            )
            for i, s in enumerate(specs)
        )
        return items if op.multi else items[0]


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

EXPRESSIONS: dict[str, str] = {}
"""Expressions that kernels here compute better than those of the table."""


_HOST = {operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv, operator.neg, operator.pow}
"""Functions of plain numbers that a graph may call."""


def translate(gm: Any) -> Program:
    """The program of a level-2 graph. Raises NotImplementedError for nodes that are no primitives."""
    L = Lowering()
    made: dict[str, Any] = {}
    inputs: list[Value | None] = []
    names: list[str] = []
    specs: dict[str, TensorSpec] = {}
    nodes: dict[str, Any] = {}
    outputs: list[Output] = []
    structure: Any = None

    def resolve(a: Any) -> Any:
        if hasattr(a, "users") and hasattr(a, "meta"):
            return made[a.name]
        if isinstance(a, (tuple, list)):
            return tuple(resolve(x) for x in a)
        return a

    for node in gm.graph:
        nodes[node.name] = node
        val = node.meta.get("val")
        L.values.origin = node.name
        if isinstance(val, TensorSpec):
            specs[node.name] = val
        if node.op == "placeholder":
            names.append(node.name)
            made[node.name] = _placeholder(L, len(inputs), val)
            inputs.append(made[node.name] if isinstance(made[node.name], Value) else None)
        elif node.op == "get_attr":
            made[node.name] = _constant(L, gm.constants[node.target])
        elif node.op == "output":
            L.values.origin = ""
            structure = _outputs(node.args[0], made, outputs)
        elif node.op == "call_function" and isinstance(node.target, Op):
            made[node.name] = _primitive(L, node.target, [resolve(a) for a in node.args], val)
        elif node.op == "call_function" and node.target is operator.getitem:
            made[node.name] = resolve(node.args[0])[node.args[1]]
        elif node.op == "call_function" and val is not None and not isinstance(val, (TensorSpec, tuple, list)):
            made[node.name] = val
        else:
            raise NotImplementedError(
                f"the node {node.name} ({getattr(node.target, '__name__', node.target)}) is no primitive: trace the graph with "
                "aot.make_fx before it is lowered"
            )
    if L.values.merged:
        L.rewrites["common subexpressions"] += L.values.merged
    return Program(L.values, inputs, names, outputs, structure, L.sizes, specs, nodes, L.rewrites)


def _placeholder(L: Lowering, position: int, val: Any) -> Any:
    if isinstance(val, TensorSpec):
        v = L.input(position, val)
        for d, n in enumerate(val.shape):
            if type(n) is not int:
                symbol = getattr(getattr(n, "expr", None), "symbol", None)
                if symbol is not None:
                    L.sizes.setdefault(symbol, (position, d))
        return v
    if type(val) is not int and getattr(val, "expr", None) is not None:
        symbol = val.expr.symbol
        if symbol is not None:
            L.sizes[symbol] = (position, None)
        return val
    if type(val).__name__ == "SymFloat":
        return L.number(position, "f64")
    return val


def _constant(L: Lowering, value: Any) -> Any:
    if hasattr(value, "_data") and hasattr(value, "_dtype"):
        code = L.code(value._dtype)
        if value._storage.backend.name != "cpu" or code is None:
            v = L.values.new("constant", value._data.shape, code or f"opaque {value._dtype.name}", (), value, key=id(value))
            return v
        if value._data.ndim == 0:
            return L.values.full((), value._data.item(), code)
        return L.values.constant(value._data, code)
    return value


def _primitive(L: Lowering, op: Op, args: list[Any], val: Any) -> Any:
    op = OPS.get(op.name, op)
    count = 1 if op.list_input else len(op.tensors)
    operands = list(args[0]) if op.list_input else args[:count]
    return L.node(op, operands, tuple(args[count:]), val)


def _outputs(tree: Any, made: dict[str, Any], outputs: list[Output]) -> Any:
    if hasattr(tree, "users") and hasattr(tree, "meta"):
        value = made[tree.name]
        val = tree.meta.get("val")
        outputs.append(Output(value, val) if isinstance(value, Value) else Output(None, None, value))
        return len(outputs) - 1
    if isinstance(tree, (tuple, list)):
        return [_outputs(t, made, outputs) for t in tree]
    outputs.append(Output(None, None, tree))
    return len(outputs) - 1


__all__ = ["BOOL", "Lowering", "Output", "Program", "translate"]
