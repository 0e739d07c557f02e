"""Scalar expressions as WGSL: the printer of the one description that every pointwise operator has.

A description is a Python expression over parameter names, such as `x * (1 + erf(x * 0.7071067811865476)) * 0.5`.
It is parsed by Python's own `ast`, typed bottom-up, and printed; only the nodes, names and functions known here
are accepted, and nothing of the text itself is copied, so that no foreign text reaches a shader.

Types are WGSL's f32, i32, u32 and bool.  Mixed operands go to the higher one in the order bool, i32, u32, f32; a literal
takes the type of the operand it meets.  Arithmetic on two bools is logical, as PyTorch's.  Both arms of `where` are
evaluated.
"""

from __future__ import annotations

import ast
import functools
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass

from . import special
from .wgsl import ZERO, convert


class ExpressionError(ValueError):
    """The expression uses something that kernels cannot."""


@dataclass(frozen=True, slots=True)
class Value:
    """A printed subexpression: its text and its type. `literal` is the number where it is one."""

    text: str
    type: str
    literal: float | int | None = None


_RANK = {"bool": 0, "i32": 1, "u32": 2, "f32": 3}


def float_text(value: float) -> str:
    """A float as WGSL text of type f32, rounded to single precision; NaN and infinities by bits."""
    if math.isnan(value):
        return "not_a_number()"
    try:
        single = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        single = math.copysign(math.inf, value)
    if math.isinf(single):
        return "infinity()" if single > 0 else "(-infinity())"
    return f"{single!r}f" if single >= 0 else f"({single!r}f)"


def _literal(value: float | int, type: str) -> Value:
    if type == "f32":
        return Value(float_text(float(value)), type, value)
    if type == "bool":
        return Value("true" if value else "false", type, value)
    if type == "u32":
        return Value(f"{int(value) & 0xFFFFFFFF}u", type, value)
    if int(value) == -(2**31):
        return Value("(-2147483647 - 1)", type, value)
    if not -(2**31) <= int(value) < 2**31:
        raise ExpressionError(f"{value} does not fit in 32 bits")
    return Value(f"{int(value)}" if value >= 0 else f"({int(value)})", type, value)


def as_type(v: Value, type: str) -> Value:
    """A value converted to another type; a literal becomes a literal of it."""
    if v.type == type:
        return v
    if v.literal is not None:
        return _literal(v.literal, type)
    return Value(convert(v.text, v.type, type), type)


def _common(*values: Value) -> str:
    """The type that operands meet in."""
    if any(v.type == "none" for v in values):
        raise ExpressionError("an argument that is None takes part in arithmetic")
    return max((v.type for v in values), key=_RANK.__getitem__)


def _meet(*values: Value) -> tuple[list[str], str]:
    type = _common(*values)
    return [as_type(v, type).text for v in values], type


# -- operators ----------------------------------------------------------------------------------------------


def _arithmetic(sign: str, on_bool: str | None) -> Callable[[Value, Value], Value]:
    def apply(a: Value, b: Value) -> Value:
        (x, y), type = _meet(a, b)
        if type == "bool":
            if on_bool is None:
                raise ExpressionError(f"{sign} is not defined for two bools")
            return Value(f"({x} {on_bool} {y})", type)
        return Value(f"({x} {sign} {y})", type)

    return apply


def _divide(a: Value, b: Value) -> Value:
    return Value(f"({as_type(a, 'f32').text} / {as_type(b, 'f32').text})", "f32")


def _bitwise(sign: str, on_bool: str) -> Callable[[Value, Value], Value]:
    def apply(a: Value, b: Value) -> Value:
        (x, y), type = _meet(a, b)
        if type == "f32":
            raise ExpressionError(f"{sign} is not defined for floats")
        return Value(f"({x} {on_bool if type == 'bool' else sign} {y})", type)

    return apply


def _by_type(arity: int = 1, **names: str) -> Callable[..., Value]:
    """A function that is called by another name for each type; a type left out becomes the next higher one there is."""

    def apply(*args: Value) -> Value:
        if len(args) != arity:
            raise TypeError(f"takes {arity} arguments")
        texts, type = _meet(*args)
        while type not in names:
            higher = [t for t in names if _RANK[t] > _RANK[type]]
            if not higher:
                raise ExpressionError(f"this function is not defined for {type}")
            type = min(higher, key=_RANK.__getitem__)
            texts = [as_type(v, type).text for v in args]
        return Value(f"{names[type]}({', '.join(texts)})", type)

    return apply


def _floats(name: str, arity: int = 1) -> Callable[..., Value]:
    return _by_type(arity, f32=name)


def _rounding(name: str) -> Callable[[Value], Value]:
    """Functions that leave integers as they are."""

    def apply(x: Value) -> Value:
        return Value(f"{name}({x.text})", "f32") if x.type == "f32" else x

    return apply


def _test(name: str) -> Callable[[Value], Value]:
    """Tests of floats; `is_finite` is true of every integer, the others false."""

    def apply(x: Value) -> Value:
        if x.type != "f32":
            return Value("true" if name == "is_finite" else "false", "bool")
        return Value(f"{name}({x.text})", "bool")

    return apply


def _sign_bit(x: Value) -> Value:
    if x.type == "i32":
        return Value(f"is_negative_i({x.text})", "bool")
    return _test("is_negative")(x)


def _extreme(f32: str, other: str, on_bool: str) -> Callable[[Value, Value], Value]:
    def apply(a: Value, b: Value) -> Value:
        (x, y), type = _meet(a, b)
        if type == "bool":
            return Value(f"({x} {on_bool} {y})", type)
        return Value(f"{f32 if type == 'f32' else other}({x}, {y})", type)

    return apply


def _where(c: Value, a: Value, b: Value) -> Value:
    (x, y), type = _meet(a, b)
    return Value(f"select({y}, {x}, {as_type(c, 'bool').text})", type)


def _compare(sign: str) -> Callable[[Value, Value], Value]:
    def apply(a: Value, b: Value) -> Value:
        (x, y), type = _meet(a, b)
        if type == "bool" and sign not in ("==", "!="):
            x, y = convert(x, "bool", "i32"), convert(y, "bool", "i32")
        if type == "f32" and sign in ("==", "!="):  # NaN by its bits: compilers may assume that there is none
            return Value(f"{'equal_f' if sign == '==' else 'unequal_f'}({x}, {y})", "bool")
        return Value(f"({x} {sign} {y})", "bool")

    return apply


def _negate(x: Value) -> Value:
    if x.literal is not None:
        return _literal(-x.literal, "i32" if x.type == "bool" else x.type)
    if x.type == "bool":
        raise ExpressionError("a bool has no negative")
    if x.type == "u32":
        return Value(f"(0u - {x.text})", "u32")
    return Value(f"(-{x.text})", x.type)


def _invert(x: Value) -> Value:
    if x.type == "f32":
        raise ExpressionError("~ is not defined for floats")
    return Value(f"(!{x.text})" if x.type == "bool" else f"(~{x.text})", x.type)


def _logical(sign: str) -> Callable[[Value, Value], Value]:
    def apply(a: Value, b: Value) -> Value:
        return Value(f"({as_type(a, 'bool').text} {sign} {as_type(b, 'bool').text})", "bool")

    return apply


def _logical_not(x: Value) -> Value:
    return Value(f"(!{as_type(x, 'bool').text})", "bool")


def _clamp(x: Value, low: Value, high: Value) -> Value:
    """Bounds of type "none" do not bound."""
    for bound, limit in ((low, FUNCTIONS["maximum"]), (high, FUNCTIONS["minimum"])):
        if bound.type != "none":
            x = limit(x, bound)
    return x


def _cast(type: str) -> Callable[[Value], Value]:
    return lambda x: as_type(x, type)


_floor_divide = _by_type(2, f32="floor_divide_f", i32="floor_divide_i", u32="divide_u")
_remainder = _by_type(2, f32="remainder_f", i32="remainder_i", u32="remainder_u")
_pow = _by_type(2, f32="pow_f", i32="pow_i")
_left = _by_type(2, i32="left_shift_i", u32="left_shift_u")
_right = _by_type(2, i32="right_shift_i", u32="right_shift_u")

BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: _arithmetic("+", "||"), ast.Sub: _arithmetic("-", None), ast.Mult: _arithmetic("*", "&&"),
    ast.Div: _divide, ast.FloorDiv: _floor_divide, ast.Mod: _remainder, ast.Pow: _pow,
    ast.BitAnd: _bitwise("&", "&&"), ast.BitOr: _bitwise("|", "||"), ast.BitXor: _bitwise("^", "!="),
    ast.LShift: _left, ast.RShift: _right,
}  # fmt: skip

COMPARE: dict[type[ast.cmpop], Callable[[Value, Value], Value]] = {
    ast.Lt: _compare("<"), ast.LtE: _compare("<="), ast.Gt: _compare(">"), ast.GtE: _compare(">="),
    ast.Eq: _compare("=="), ast.NotEq: _compare("!="),
}  # fmt: skip

FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{
        name: _floats(f"{name}_f")
        for name in (
            "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
            "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sqrt", "rsqrt", "sigmoid", "erf", "erfc", "erfinv",
            "lgamma", "digamma", *special.ONE,
        )
    },
    **{name: _floats(f"{name}_f", 2) for name in special.TWO},
    "atan2": _floats("atan2_f", 2),
    "floor": _rounding("floor"), "ceil": _rounding("ceil_f"), "round": _rounding("round_f"), "trunc": _rounding("trunc_f"),
    "abs": _by_type(f32="abs_f", i32="abs", u32="same_u"), "sign": _by_type(f32="sign_f", i32="sign", u32="sign_u"),
    "minimum": _extreme("min_nan", "min", "&&"), "maximum": _extreme("max_nan", "max", "||"),
    "isnan": _test("is_nan"), "isinf": _test("is_inf"), "isfinite": _test("is_finite"), "signbit": _sign_bit,
    "where": _where, "clamp": _clamp, "pow": _pow, "floor_divide": _floor_divide, "remainder": _remainder,
    "fmod": _by_type(2, f32="fmod_f", i32="fmod_i", u32="remainder_u"), "copysign": _floats("with_sign", 2),
    "gcd": _by_type(2, i32="gcd_i"), "lcm": _by_type(2, i32="lcm_i"),
    "nextafter": _floats("nextafter_f", 2),
    "mantissa": _floats("mantissa_f"), "exponent": lambda x: Value(f"exponent_f({as_type(x, 'f32').text})", "i32"),
    "left_shift": _left, "right_shift": _right, "divide": _divide,
    "logical_and": _logical("&&"), "logical_or": _logical("||"), "logical_not": _logical_not, "logical_xor": _logical("!="),
    "float": _cast("f32"), "int": _cast("i32"), "bool": _cast("bool"),
}  # fmt: skip
"""The functions an expression may call, by name."""

CONSTANTS = {"inf": math.inf, "nan": math.nan, "pi": math.pi, "e": math.e}
"""The names an expression may use beside its parameters."""


class _Printer:
    def __init__(self, parameters: dict[str, str]):
        self.parameters = parameters

    def visit(self, node: ast.AST) -> Value:
        match node:
            case ast.Expression(body):
                return self.visit(body)
            case ast.Constant(bool() as v):
                return _literal(v, "bool")
            case ast.Constant(int() as v):
                return _literal(v, "i32")
            case ast.Constant(float() as v):
                return _literal(v, "f32")
            case ast.Name(name) if name in self.parameters:
                # Parameters are renamed by position, so that their names are nobody's business in the shader.
                return Value(f"v{list(self.parameters).index(name)}", self.parameters[name])
            case ast.Name(name) if name in CONSTANTS:
                return _literal(CONSTANTS[name], "f32")
            case ast.Name(name):
                raise ExpressionError(
                    f"the name {name!r} is not a parameter ({', '.join(self.parameters) or 'there are none'})"
                )
            case ast.BinOp(left, op, right) if type(op) in BINARY:
                return BINARY[type(op)](self.visit(left), self.visit(right))
            case ast.UnaryOp(ast.USub(), x):
                return _negate(self.visit(x))
            case ast.UnaryOp(ast.UAdd(), x):
                return self.visit(x)
            case ast.UnaryOp(ast.Invert(), x):
                return _invert(self.visit(x))
            case ast.UnaryOp(ast.Not(), x):
                return _logical_not(self.visit(x))
            case ast.BoolOp(op, values):
                join = _logical("&&" if isinstance(op, ast.And) else "||")
                return functools.reduce(join, [self.visit(v) for v in values])
            case ast.Compare(left, ops, others):
                parts = [self.visit(n) for n in (left, *others)]
                tests = [
                    COMPARE[type(o)](a, b) for o, a, b in zip(ops, parts, parts[1:], strict=False) if type(o) in COMPARE
                ]
                if len(tests) != len(ops):
                    raise ExpressionError("only <, <=, >, >=, == and != compare numbers")
                return functools.reduce(_logical("&&"), tests)
            case ast.IfExp(test, body, other):
                return _where(self.visit(test), self.visit(body), self.visit(other))
            case ast.Call(ast.Name(name), args, []) if name in FUNCTIONS:
                try:
                    return FUNCTIONS[name](*[self.visit(a) for a in args])
                except TypeError:
                    raise ExpressionError(f"{name}() takes another number of arguments than {len(args)}") from None
            case ast.Call(ast.Name(name)):
                raise ExpressionError(f"the function {name!r} is not known to kernels, or was called with keywords")
        raise ExpressionError(f"kernels cannot compute {type(node).__name__} expressions")


@functools.cache
def printed(text: str, parameters: tuple[tuple[str, str], ...]) -> Value:
    """The WGSL of an expression. `parameters` are (name, type) pairs; in the text they stand as v0, v1, ...

    Raises ExpressionError (a ValueError) for anything but a scalar expression over these names.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"not an expression: {error}") from None
    try:
        return _Printer(dict(parameters)).visit(tree)
    except RecursionError:
        raise ExpressionError("the expression is nested too deeply") from None


def function(name: str, text: str, parameters: tuple[tuple[str, str], ...], result: str) -> str:
    """A WGSL function `name` of the parameters that returns the expression as type `result`.

    Parameters of type "none" stand for arguments that are None; they are left out of the function's signature.
    """
    value = as_type(printed(text, parameters), result)
    signature = ", ".join(f"v{i}: {t}" for i, (_, t) in enumerate(parameters) if t != "none")
    return f"fn {name}({signature}) -> {result} {{ return {value.text}; }}"


__all__ = ["CONSTANTS", "FUNCTIONS", "ZERO", "ExpressionError", "Value", "as_type", "float_text", "function", "printed"]
