"""Rewrites of scalar expressions that keep every bit: a table of named rules.

A rule sees one node whose operands are simplified already, and gives another node or None. What would change a result (the sign
of a zero, a NaN, a rounding) is no rule: `x + 0` is not `x` for -0.0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

from ..loops.scalar import RANK, Scalar, is_float, lit

Rule = Callable[[Scalar], "Scalar | None"]


def _number(x: Scalar, value: float) -> bool:
    return x.op == "lit" and x.type != "bool" and x.data == value


def _negative_zero(x: Scalar) -> bool:
    return x.op == "lit" and is_float(x.type) and x.data == 0 and math.copysign(1, x.data) < 0


def _times_one(x: Scalar) -> Scalar | None:
    if x.op in ("mul", "div") and _number(x.args[1], 1):
        return x.args[0]
    return x.args[1] if x.op == "mul" and _number(x.args[0], 1) else None


def _divided_by_zero(x: Scalar) -> Scalar | None:
    """x / 0 is x times infinity, with the zero's sign (0 / 0 is NaN as 0 * infinity is): WGSL refuses the literal."""
    if x.op == "div" and is_float(x.type) and _number(x.args[1], 0) and x.args[0].op != "lit":
        return Scalar("mul", (x.args[0], lit(math.copysign(math.inf, x.args[1].data), x.type)), x.type)
    return None


def _plus_nothing(x: Scalar) -> Scalar | None:
    if x.op == "add":
        a, b = x.args
        for one, other in ((a, b), (b, a)):
            if _negative_zero(other) or (not is_float(x.type) and _number(other, 0)):
                return one
    if x.op == "sub" and _number(x.args[1], 0) and not _negative_zero(x.args[1]):
        return x.args[0]
    return None


def _minus_one_times(x: Scalar) -> Scalar | None:
    if x.op == "mul" and is_float(x.type):
        for one, other in (x.args, x.args[::-1]):
            if _number(other, -1):
                return Scalar("neg", (one,), x.type)
    return None


def _double_negation(x: Scalar) -> Scalar | None:
    if x.op in ("neg", "not", "invert") and x.args[0].op == x.op:
        return x.args[0].args[0]
    return None


def _plus_negative(x: Scalar) -> Scalar | None:
    """a + (-b) is a - b, a - (-b) is a + b; (-a) * (-b) is a * b."""
    if x.op in ("add", "sub") and x.args[1].op == "neg" and is_float(x.type):
        return Scalar("sub" if x.op == "add" else "add", (x.args[0], x.args[1].args[0]), x.type)
    if x.op == "add" and x.args[0].op == "neg" and is_float(x.type):
        return Scalar("sub", (x.args[1], x.args[0].args[0]), x.type)
    if x.op in ("mul", "div") and is_float(x.type) and x.args[0].op == x.args[1].op == "neg":
        return Scalar(x.op, (x.args[0].args[0], x.args[1].args[0]), x.type)
    return None


def _double_cast(x: Scalar) -> Scalar | None:
    """A cast that a cast before made no difference to: through a type that holds every value."""
    if x.op != "cast":
        return None
    y = x.args[0]
    if y.type == x.type:
        return y
    if y.op != "cast":
        return None
    z = y.args[0]
    wider = RANK[y.type] >= RANK[z.type] and (
        is_float(y.type) == is_float(z.type) or z.type in _SMALL or y.type == "f64"
    )
    wider = wider and not (z.type == "i64" and is_float(y.type)) and not (z.type == "u8" and y.type == "i8")
    wider = wider and not (z.type == "i32" and y.type == "f32")
    if wider and x.type == z.type:
        return z
    if z.type == "bool" and x.type != "bool":
        return Scalar("cast", (z,), x.type)
    return None


_SMALL = ("bool", "u8", "i8", "i16")

_FOLD: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "neg": lambda a: -a,
}  # fmt: skip


_TESTS: dict[str, Callable[..., bool]] = {
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}  # fmt: skip


def _constants(x: Scalar) -> Scalar | None:
    if not x.args or any(a.op != "lit" for a in x.args):
        return None
    values = [a.data for a in x.args]
    if x.op in _FOLD and x.type != "bool":
        return lit(_FOLD[x.op](*values), x.type)
    if x.op == "div" and values[1] != 0 and is_float(x.type):
        return lit(values[0] / values[1], x.type)
    if x.op == "sqrt" and values[0] >= 0:
        return lit(math.sqrt(values[0]), x.type)
    if x.op == "not":
        return lit(not values[0], "bool")
    if x.op in _TESTS:
        return lit(_TESTS[x.op](*values), "bool")
    return None


def _choice(x: Scalar) -> Scalar | None:
    if x.op != "where":
        return None
    c, a, b = x.args
    if c.op == "lit":
        return a if c.data else b
    if c.op == "not":
        return Scalar("where", (c.args[0], b, a), x.type)
    return a if a == b else None


def _truth(x: Scalar) -> Scalar | None:
    if x.op in ("and", "or") and x.type == "bool":
        for one, other in (x.args, x.args[::-1]):
            if other.op == "lit":
                return one if other.data == (x.op == "and") else other
        if x.args[0] == x.args[1]:
            return x.args[0]
    return None


def _bool_cast_test(x: Scalar) -> Scalar | None:
    """bool -> number != 0 is the bool itself."""
    if x.op == "ne" and _number(x.args[1], 0) and x.args[0].op == "cast" and x.args[0].args[0].type == "bool":
        return x.args[0].args[0]
    return None


RULES: dict[str, Rule] = {
    "times or divided by one": _times_one,
    "divided by zero": _divided_by_zero,
    "plus or minus nothing": _plus_nothing,
    "minus one times": _minus_one_times,
    "double negation": _double_negation,
    "plus a negative": _plus_negative,
    "casts there and back": _double_cast,
    "constants": _constants,
    "choice that is known": _choice,
    "truth that is known": _truth,
    "test of a truth value": _bool_cast_test,
}
"""The rules by name, tried in order until none fits."""


def _test_of_maximum(x: Scalar) -> Scalar | None:
    """maximum(x, 0) > 0 is x > 0, NaN or not."""
    if x.op == "gt" and _number(x.args[1], 0) and x.args[0].op == "maximum" and _number(x.args[0].args[1], 0):
        return Scalar("gt", (x.args[0].args[0], x.args[1]), x.type)
    return None


MEETING: dict[str, Rule] = {"test of a maximum": _test_of_maximum}
"""Rules for what only shows where formulas of several primitives meet in a kernel."""


def simplified(x: Scalar, count: Counter[str] | None = None, memo: dict[Scalar, Scalar] | None = None) -> Scalar:
    """The expression with all rules applied from the leaves up; `count` is told which rules did."""
    memo = {} if memo is None else memo
    found = memo.get(x)
    if found is not None:
        return found
    y = x
    if x.args:
        parts = tuple(simplified(a, count, memo) for a in x.args)
        if any(p is not a for p, a in zip(parts, x.args, strict=True)):
            y = Scalar(x.op, parts, x.type, x.data)
    again = True
    while again:
        again = False
        for name, rule in RULES.items():
            z = rule(y)
            if z is not None and z != y:
                if count is not None:
                    count[name] += 1
                y, again = z, True
                break
    memo[x] = y
    return y
