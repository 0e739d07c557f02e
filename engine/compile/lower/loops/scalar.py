"""Typed scalar expressions: what one element of a result is, in terms of elements of operands.

The descriptions in the operator table (`Op.expr`) are parsed into them once; every printer and the simplifier share them.
A `Scalar` is a function name, its operands, and a type code; leaves are operands ("arg"), numbers ("lit"), coordinates of the
element ("index"), and run-time numbers ("number"). Types are f32, f64, i8, i16, i32, i64, u8 and bool. Operands of different
types meet in the higher one; a literal takes the type of what it meets.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

RANK = {"bool": 0, "u8": 1, "i8": 2, "i16": 3, "i32": 4, "i64": 5, "f32": 6, "f64": 7}
"""Type codes in the order in which operands meet."""

BYTES = {"bool": 1, "u8": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f32": 4, "f64": 8}

CODES = {
    "bool": "bool", "uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "float32": "f32",
    "float64": "f64",
}  # fmt: skip
"""Type codes by the engine's names. What is not here is computed by the engine's own kernels."""

NUMPY = {code: name for name, code in CODES.items()}
"""numpy's names by type code."""


class ScalarError(ValueError):
    """The expression uses something that generated kernels cannot."""


class Scalar:
    """`op` of `args`, of type `type`; `data` is what a leaf holds. Compared by structure."""

    __slots__ = ("_hash", "args", "data", "op", "type")

    def __init__(self, op: str, args: tuple[Scalar, ...], type: str, data: Any = None):
        self.op, self.args, self.type, self.data = op, args, type, data
        # Numbers by their text: a zero has a sign, and a NaN is like another.
        self._hash = hash((op, args, type, repr(data) if data.__class__ is float else data))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Scalar) or self._hash != other._hash:
            return False
        a, b = self.data, other.data
        return (
            self.op == other.op
            and self.type == other.type
            and (a is b or (repr(a) == repr(b) if a.__class__ is float or b.__class__ is float else a == b))
            and self.args == other.args
        )

    def __repr__(self) -> str:
        return show(self)

    @property
    def number(self) -> Any:
        """The Python number of a literal, else None."""
        return self.data if self.op == "lit" else None


def is_float(type: str) -> bool:
    """Whether a type code is a floating-point one."""
    return type[0] == "f"


def lit(value: Any, type: str) -> Scalar:
    """A number of a type."""
    if type == "bool":
        value = bool(value)
    elif is_float(type):
        value = float(value)
        if type == "f32":
            value = single(value)
    else:
        bits = BYTES[type] * 8
        value = int(value) & ((1 << bits) - 1)
        if type[0] == "i" and value >> (bits - 1):
            value -= 1 << bits
    return Scalar("lit", (), type, value)


def single(value: float) -> float:
    """A number rounded to single precision."""
    import struct

    if math.isnan(value) or math.isinf(value):
        return value
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def arg(i: int, type: str) -> Scalar:
    """The element of the i-th operand."""
    return Scalar("arg", (), type, i)


def coordinate(d: int) -> Scalar:
    """The element's place in dimension d, an int64."""
    return Scalar("index", (), "i64", d)


def cast(x: Scalar, type: str) -> Scalar:
    """A value in another type, converted as PyTorch does."""
    if x.type == type:
        return x
    if x.op == "lit" and (not is_float(x.type) or is_float(type) or type == "bool"):
        return lit(x.data, type)
    return Scalar("cast", (x,), type)


def meet(*values: Any) -> tuple[Scalar, ...]:
    """Operands in one type. Python numbers, and literals of lower category, take the type of the others."""
    typed = [v for v in values if isinstance(v, Scalar)]
    if not typed:
        top = "f64" if any(isinstance(v, float) for v in values) else "i64"
    else:
        top = max((v.type for v in typed), key=RANK.__getitem__)
        for v in values:
            if isinstance(v, float) and not is_float(top):
                top = "f32"
            elif isinstance(v, int) and not isinstance(v, bool) and top == "bool":
                top = "i64"
    return tuple(cast(v, top) if isinstance(v, Scalar) else lit(v, top) for v in values)


def make(op: str, *values: Any, type: str | None = None) -> Scalar:
    """A function of operands that meet in one type; the result has that type unless `type` says another."""
    args = meet(*values)
    return Scalar(op, args, type or args[0].type)


_FLOAT_ONLY = frozenset(
    [
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "sqrt",
        "rsqrt",
        "sigmoid",
        "erf",
        "erfc",
        "erfinv",
        "lgamma",
        "digamma",
        "atan2",
        "copysign",
        "nextafter",
    ]
)
_ROUNDING = frozenset(["floor", "ceil", "round", "trunc"])
_TESTS = {"isnan": False, "isinf": False, "isfinite": True}

Any_ = Any


def apply(name: str, values: list[Any]) -> Any:
    """A function of the expression language on operands; Python numbers alone give numbers where that is simple."""
    if name in ("erfinv", "digamma"):
        raise ScalarError(f"the function {name!r} is the engine's own")
    if name in _FLOAT_ONLY:
        if not any(isinstance(v, Scalar) for v in values):
            values = [lit(v, "f64") for v in values]
        values = [v if not isinstance(v, Scalar) or is_float(v.type) else cast(v, "f32") for v in values]
        return make(name, *values)
    if name in _ROUNDING:
        (x,) = values
        return x if isinstance(x, Scalar) and not is_float(x.type) else make(name, x)
    if name in _TESTS:
        (x,) = values
        if not is_float(x.type):
            return lit(_TESTS[name], "bool")
        return make(name, x, type="bool")
    if name == "signbit":
        (x,) = values
        return make("signbit", x, type="bool") if is_float(x.type) else make("lt", x, 0, type="bool")
    if name == "where":
        c, a, b = values
        if isinstance(c, bool):
            return a if c else b
        a, b = meet(a, b)
        c = truth(c)
        return Scalar("where", (c, a, b), a.type)
    if name == "clamp":
        x, low, high = values
        if low is not None and not _outside(low, x, -1):
            x = apply("maximum", [x, low])
        return x if high is None or _outside(high, x, 1) else apply("minimum", [x, high])
    if name in ("gcd", "lcm", "erfinv", "digamma") or (
        name == "pow" and any(isinstance(v, Scalar) and not is_float(v.type) for v in values)
    ):
        raise ScalarError(f"the function {name!r} is the engine's own")
    if name in ("abs", "sign", "minimum", "maximum", "pow", "floor_divide", "remainder", "fmod", "gcd", "lcm"):
        if name == "abs" and not isinstance(values[0], Scalar):
            return abs(values[0])
        if name == "pow" and not any(isinstance(v, Scalar) for v in values):
            base, exponent = cast_numbers(values)
            return base**exponent
        return make(name, *values)
    if name in ("float", "int", "bool"):
        return cast(values[0], {"float": "f32", "int": "i32", "bool": "bool"}[name])
    raise ScalarError(f"the function {name!r} is not known to generated kernels")


def cast_numbers(values: list[Any]) -> list[float]:
    """Plain numbers as floats."""
    return [float(v) for v in values]


def _outside(bound: Any, x: Scalar, side: int) -> bool:
    """Whether an integer bound lies beyond what the type of `x` can hold, so that it does not bound."""
    if not isinstance(bound, int) or is_float(x.type) or x.type == "bool":
        return False
    bits = BYTES[x.type] * 8
    low, high = (0, (1 << bits) - 1) if x.type[0] == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return bound <= low if side < 0 else bound >= high


def truth(x: Any) -> Scalar:
    """A value as a truth value: whether it is not zero (NaN is not)."""
    if not isinstance(x, Scalar):
        return lit(bool(x), "bool")
    return x if x.type == "bool" else make("ne", x, 0, type="bool")


_BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}
_COMPARE = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_ON_BOOL = {"add": "or", "mul": "and", "and": "and", "or": "or", "xor": "xor"}
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}  # fmt: skip


def binary(op: str, a: Any, b: Any) -> Any:
    """Arithmetic as the expression language has it: on bools `+` is or, `*` is and."""
    if not isinstance(a, Scalar) and not isinstance(b, Scalar) and op in _PYTHON:
        return _PYTHON[op](a, b)
    if op == "div":
        x, y = meet(a, b)
        if not is_float(x.type):
            x, y = cast(x, "f64"), cast(y, "f64")
        return make("div", x, y)
    x, y = meet(a, b)
    if x.type == "bool" and op in _ON_BOOL:
        return make(_ON_BOOL[op], x, y)
    if x.type == "bool" and op == "sub":
        raise ScalarError("two bools are not subtracted")
    return make(op, x, y)


def compare(op: str, a: Any, b: Any) -> Any:
    """A comparison, of type bool."""
    if not isinstance(a, Scalar) and not isinstance(b, Scalar):
        return _PYTHON[op](a, b)
    return make(op, a, b, type="bool")


class _Reader:
    """Walks the syntax tree of a description; `names` are its parameters."""

    def __init__(self, names: Mapping[str, Any]):
        self.names = names

    def visit(self, node: ast.AST) -> Any:
        match node:
            case ast.Expression(body):
                return self.visit(body)
            case ast.Constant(bool() | int() | float() as v):
                return v
            case ast.Name(name) if name in self.names:
                return self.names[name]
            case ast.Name(name) if name in ("inf", "nan", "pi", "e"):
                return {"inf": math.inf, "nan": math.nan, "pi": math.pi, "e": math.e}[name]
            case ast.BinOp(left, op, right):
                a, b = self.visit(left), self.visit(right)
                if a is None or b is None:
                    raise ScalarError("an argument that is None takes part in arithmetic")
                if type(op) in _BINARY:
                    return binary(_BINARY[type(op)], a, b)
                if isinstance(op, ast.Div):
                    return binary("div", a, b)
                names = {ast.FloorDiv: "floor_divide", ast.Mod: "remainder", ast.Pow: "pow"}
                if type(op) in names:
                    return apply(names[type(op)], [a, b])
                if isinstance(op, (ast.LShift, ast.RShift)):
                    return make("shl" if isinstance(op, ast.LShift) else "shr", a, b)
            case ast.UnaryOp(ast.USub(), x):
                v = self.visit(x)
                return make("neg", v) if isinstance(v, Scalar) else -v
            case ast.UnaryOp(ast.Invert(), x):
                v = self.visit(x)
                return make("not" if v.type == "bool" else "invert", v)
            case ast.UnaryOp(ast.Not(), x):
                return make("not", truth(self.visit(x)))
            case ast.BoolOp(op, values):
                parts = [truth(self.visit(v)) for v in values]
                return functools.reduce(lambda a, b: make("and" if isinstance(op, ast.And) else "or", a, b), parts)
            case ast.Compare(left, [op], [right]) if type(op) in _COMPARE:
                return compare(_COMPARE[type(op)], self.visit(left), self.visit(right))
            case ast.Call(ast.Name(name), args, []):
                return apply(name, [self.visit(a) for a in args])
        raise ScalarError(f"generated kernels cannot compute {type(node).__name__} expressions")


@functools.lru_cache(512)
def _tree(text: str) -> ast.AST:
    return ast.parse(text.strip(), mode="eval")


def read(text: str, names: Mapping[str, Any], type: str) -> Scalar:
    """The description with its parameters as Scalars, numbers or None; the result is of type `type`.

    Raises ScalarError for what generated kernels cannot compute.
    """
    value = _Reader(names).visit(_tree(text))
    return cast(value, type) if isinstance(value, Scalar) else lit(value, type)


def substitute(
    x: Scalar,
    args: Callable[[Scalar], Scalar | None],
    memo: dict[Scalar, Scalar] | None = None,
    rule: Callable[[Scalar], Scalar | None] | None = None,
) -> Scalar:
    """The expression with leaves replaced where `args` gives something for them, and what thereby became new as `rule` says."""
    memo = {} if memo is None else memo
    found = memo.get(x)
    if found is None:
        if not x.args:
            found = args(x) or x
        else:
            parts = tuple(substitute(a, args, memo, rule) for a in x.args)
            same = all(p is a for p, a in zip(parts, x.args, strict=True))
            found = x if same else Scalar(x.op, parts, x.type, x.data)
            if rule is not None and not same:
                found = rule(found) or found
        memo[x] = found
    return found


def leaves(x: Scalar, seen: dict[Scalar, None] | None = None) -> list[Scalar]:
    """The distinct leaves, in order of first use."""
    seen = {} if seen is None else seen

    def walk(s: Scalar) -> None:
        if s in seen:
            return
        seen[s] = None
        for a in s.args:
            walk(a)

    walk(x)
    return [s for s in seen if not s.args]


_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>",
}  # fmt: skip


def show(x: Scalar, names: Callable[[Scalar], str | None] = lambda _: None) -> str:
    """The expression as Python text."""
    given = names(x)
    if given is not None:
        return given
    if x.op == "lit":
        return repr(x.data)
    if x.op == "arg":
        return f"a{x.data}"
    if x.op == "index":
        return f"i{x.data}"
    parts = [show(a, names) for a in x.args]
    if x.op in _SIGNS:
        return f"({parts[0]} {_SIGNS[x.op]} {parts[1]})"
    if x.op == "neg":
        return f"(-{parts[0]})"
    if x.op == "cast":
        return f"{x.type}({parts[0]})"
    return f"{x.op}({', '.join([*parts, *([repr(x.data)] if x.data is not None else [])])})"


COST = {
    "exp": 8, "exp2": 8, "expm1": 12, "log": 10, "log2": 10, "log10": 12, "log1p": 12, "sin": 12, "cos": 12, "tan": 20,
    "asin": 15, "acos": 15, "atan": 15, "sinh": 15, "cosh": 15, "tanh": 12, "asinh": 20, "acosh": 20, "atanh": 20, "sqrt": 3,
    "rsqrt": 4, "sigmoid": 10, "erf": 14, "erfc": 20, "erfinv": 25, "lgamma": 40, "digamma": 40, "atan2": 20, "pow": 25,
    "div": 2, "floor_divide": 6, "remainder": 8, "fmod": 10, "gcd": 30, "lcm": 30, "nextafter": 5,
}  # fmt: skip
"""What a function costs beside an addition, roughly; used to decide what is computed twice rather than kept."""
