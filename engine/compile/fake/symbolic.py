"""Symbolic numbers: integers and floats that stand for what a later call will have, and the relations they were asked about.

A `SymInt` behaves as an int in Python code: arithmetic gives expressions, a comparison is decided by its *hint* (the value of the
call that is being captured) and the relation becomes a guard. What cannot hold an expression (C code, hashing, `range`) gets the
hint through `__index__`, and the guard says that the number is that one: so nothing is assumed that is not guarded.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import expr as E
from .expr import Expr, Range


class DataDependent(RuntimeError):
    """The value of a fake tensor was asked for. `kind` says how ("item", "bool", "nonzero", ...), `tensor` is the fake."""

    def __init__(self, kind: str, tensor: Any = None, message: str = ""):
        super().__init__(
            message or f"{kind} needs the values of a tensor, which are not known while a graph is being captured"
        )
        self.kind = kind
        self.tensor = tensor


@dataclass(frozen=True, slots=True)
class SymbolicGuard:
    """A relation that held while capturing: `text` is Python over `symbols`, `why` says what asked for it."""

    text: str
    symbols: tuple[str, ...]
    why: str = ""


class ShapeEnv:
    """The symbols of one capture: their hints, ranges and sources, and the guards collected.

    A source is whatever the caller wants to find a symbol's value by at run time; `(input, dim)` for sizes.
    """

    def __init__(self) -> None:
        self.hints: dict[str, Any] = {}
        self.sources: dict[str, Any] = {}
        self.ranges: dict[str, Range] = {}
        self.replacements: dict[str, Expr] = {}
        self.frozen = False
        self._guards: dict[str, SymbolicGuard] = {}
        self._counts: dict[str, int] = {}

    # -- symbols --------------------------------------------------------------------------------

    def _fresh(self, prefix: str, hint: Any, source: Any, name: str | None) -> str:
        if name is None:
            number = self._counts.get(prefix, 0)
            self._counts[prefix] = number + 1
            name = f"{prefix}{number}"
        self.hints[name] = hint
        self.sources[name] = source
        return name

    def size(self, hint: int, source: Any = None, name: str | None = None) -> SymInt:
        """A symbolic size. Sizes 0 and 1 mean something else to operators, so a symbol is at least 2 (a guard says so)."""
        made = self._fresh("s", int(hint), source, name)
        if hint >= 2:
            self.ranges[made] = (2, None)
            self._put(f"{made} >= 2", (made,), "sizes 0 and 1 are captured on their own")
        else:
            self.ranges[made] = (0, None)
        return SymInt(E.symbol(made), self)

    def integer(self, hint: int | None, source: Any = None, name: str | None = None) -> SymInt:
        """A symbolic integer that may have any value; with hint None it is not known before the graph runs."""
        made = self._fresh("i", None if hint is None else int(hint), source, name)
        self.ranges[made] = (None, None)
        return SymInt(E.symbol(made), self)

    def real(self, hint: float | None, source: Any = None, name: str | None = None) -> SymFloat:
        """A symbolic float; with hint None its value is not known before the graph runs (`tensor.item()`)."""
        made = self._fresh("f", hint, source, name)
        return SymFloat(made, self, hint)

    def symbol_of(self, source: Any) -> str | None:
        """The symbol of a source, if there is one."""
        return next((s for s, found in self.sources.items() if found == source), None)

    # -- guards ---------------------------------------------------------------------------------

    @property
    def guards(self) -> list[str]:
        """All guards as Python expressions over the symbols."""
        return [g.text for g in self._guards.values()]

    @property
    def records(self) -> list[SymbolicGuard]:
        """The guards with their symbols and reasons."""
        return list(self._guards.values())

    def _put(self, text: str, symbols: tuple[str, ...], why: str) -> None:
        if text not in self._guards and not self.frozen:
            self._guards[text] = SymbolicGuard(text, symbols, why)

    def checks(self, values: Mapping[str, Any]) -> bool:
        """Whether all guards hold for values of the symbols."""
        space = {**dict(values), "math": math}
        names = {"min": min, "max": max, "abs": abs, "float": float, "round": round, "repr": repr}
        return all(eval(g.text, {"__builtins__": names}, space) for g in self._guards.values())

    def simplify(self, e: Expr) -> Expr:
        """`e` with symbols replaced that guards made equal to others."""
        return e.substitute(self.replacements) if self.replacements else e

    def hint_of(self, e: Expr) -> int:
        """The value of an expression in the call that is being captured."""
        if any(self.hints[s] is None for s in e.symbols()):
            raise DataDependent("a decision by a number that only running the graph gives")
        return e.evaluate(self.hints)

    def known(self, op: str, a: Expr, b: Expr) -> bool | None:
        """Whether `a op b` for all values of the symbols; None where it depends."""
        d = self.simplify(E.sub(a, b))
        if d.constant is not None:
            return _known(op, d.constant, d.constant)
        return _known(op, *E.bounds(d, self.ranges))

    def decide(self, op: str, a: Expr, b: Expr, why: str = "") -> bool:
        """Whether `a op b`: known for all values, or by the hints with a guard."""
        d = self.simplify(E.sub(a, b))
        known = self.known(op, a, b)
        if known is not None:
            return known
        held = _RELATIONS[op](self.hint_of(d), 0)
        relation = op if held else _OPPOSITE[op]
        self._assume(relation, self.simplify(a), self.simplify(b), d, why)
        return held

    def _assume(self, relation: str, a: Expr, b: Expr, d: Expr, why: str) -> None:
        self._put(f"{a.code()} {relation} {b.code()}", tuple(dict.fromkeys([*a.symbols(), *b.symbols()])), why)
        if relation == "==":
            self._unify(d)
            return
        # One symbol and a number: the range says it from now on.
        for m, c in d.terms:
            if abs(c) == 1 and len(m) == 1 and m[0][1] == 1 and m[0][0][0] == "s" and len(d.terms) <= 2:
                rest = E.sub(d, Expr({m: c})).constant
                if rest is not None:
                    self._narrow(m[0][0][1], relation if c > 0 else _MIRRORED[relation], -rest * c)
                return

    def _narrow(self, name: str, relation: str, value: int) -> None:
        low, high = self.ranges.get(name, (None, None))
        if relation in (">", ">="):
            bound = value + (relation == ">")
            low = bound if low is None else max(low, bound)
        elif relation in ("<", "<="):
            bound = value - (relation == "<")
            high = bound if high is None else min(high, bound)
        elif relation == "!=":
            low = value + 1 if low == value else low
            high = value - 1 if high == value else high
        self.ranges[name] = (low, high)

    def _unify(self, d: Expr) -> None:
        """Use d == 0: replace a symbol that stands alone with coefficient one by the rest."""
        alone = [
            (m[0][0][1], c) for m, c in d.terms if abs(c) == 1 and len(m) == 1 and m[0][1] == 1 and m[0][0][0] == "s"
        ]
        for name, c in reversed(alone):
            rest = E.scale(E.sub(d, Expr({((("s", name), 1),): c})), -c)
            if name not in rest.symbols():
                self.replacements = {k: v.substitute({name: rest}) for k, v in self.replacements.items()}
                self.replacements[name] = rest
                if rest.constant is not None:
                    self.ranges[name] = (rest.constant, rest.constant)
                return

    def specialise(self, e: Expr, why: str) -> int:
        """The value of the call being captured, with the guard that it is that."""
        value = self.hint_of(e)
        self.decide("==", e, E.const(value), why)
        return value


_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _known(op: str, low: int | None, high: int | None) -> bool | None:
    """Whether `d op 0` for all d in an interval, or None where it depends."""
    if op == "==":
        if low == 0 and high == 0:
            return True
        return False if (low is not None and low > 0) or (high is not None and high < 0) else None
    if op == "!=":
        found = _known("==", low, high)
        return None if found is None else not found
    if op == "<":
        return True if high is not None and high < 0 else False if low is not None and low >= 0 else None
    if op == "<=":
        return True if high is not None and high <= 0 else False if low is not None and low > 0 else None
    found = _known("<=" if op == ">" else "<", low, high)
    return None if found is None else not found


def _expr(value: Any) -> Expr | None:
    if type(value) is SymInt:
        return value.expr
    if type(value) is int or type(value) is bool:
        return E.const(value)
    if hasattr(type(value), "__index__") and not isinstance(value, float) and type(value).__module__ == "numpy":
        return E.const(value.__index__())
    return None


class SymInt:
    """An integer that is an expression over the symbols of a `ShapeEnv`. `isinstance(n, int)` holds; `type(n) is int` does not."""

    __slots__ = ("env", "expr")

    def __init__(self, e: Expr, env: ShapeEnv):
        self.expr = e
        self.env = env

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return int

    # -- reading --------------------------------------------------------------------------------

    def code(self) -> str:
        """The number as a Python expression over the symbols, safe within a larger expression."""
        e = self.env.simplify(self.expr)
        text = e.code()
        return text if e.symbol is not None or (len(e.terms) == 1 and e.terms[0][1] > 0) else f"({text})"

    def free_symbols(self) -> list[str]:
        """The symbols it depends on."""
        return self.env.simplify(self.expr).symbols()

    def symbol_name(self) -> str | None:
        """Its name where it is one symbol."""
        return self.expr.symbol

    @property
    def hint(self) -> int:
        """The value in the call that is being captured."""
        return self.env.hint_of(self.expr)

    def evaluate(self, values: Mapping[str, Any]) -> int:
        """The value for values of the symbols."""
        return self.env.simplify(self.expr).evaluate(values)

    def __repr__(self) -> str:
        return self.env.simplify(self.expr).code()

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(int(self), spec) if spec else repr(self)

    # -- where only the number will do -----------------------------------------------------------

    def __index__(self) -> int:
        return self.env.specialise(self.expr, "a plain number was needed")

    __int__ = __trunc__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __complex__(self) -> complex:
        return complex(self.__index__())

    def __hash__(self) -> int:
        return hash(self.__index__())

    def __reduce__(self) -> tuple:
        return (int, (self.__index__(),))

    def __bool__(self) -> bool:
        return self.env.decide("!=", self.expr, E.ZERO)

    # -- relations ------------------------------------------------------------------------------

    def _relation(self, op: str, other: Any) -> Any:
        e = _expr(other)
        if e is not None:
            return self.env.decide(op, self.expr, e)
        if isinstance(other, float):
            return _compare_floats(op, symbolic_float(self), other)
        return NotImplemented

    def __eq__(self, other: object) -> Any:
        return self._relation("==", other)

    def __ne__(self, other: object) -> Any:
        return self._relation("!=", other)

    def __lt__(self, other: Any) -> Any:
        return self._relation("<", other)

    def __le__(self, other: Any) -> Any:
        return self._relation("<=", other)

    def __gt__(self, other: Any) -> Any:
        return self._relation(">", other)

    def __ge__(self, other: Any) -> Any:
        return self._relation(">=", other)

    # -- arithmetic -----------------------------------------------------------------------------

    def _made(self, e: Expr) -> Any:
        e = self.env.simplify(e)
        n = e.constant
        return n if n is not None else SymInt(e, self.env)

    def _with(self, other: Any, f: Callable[[Expr, Expr], Expr], name: str, swapped: bool = False) -> Any:
        e = _expr(other)
        if e is None:
            if isinstance(other, float):
                return _binary(name, other, self) if swapped else _binary(name, self, other)
            return NotImplemented
        return self._made(f(e, self.expr) if swapped else f(self.expr, e))

    def __add__(self, other: Any) -> Any:
        return self._with(other, E.add, "+")

    def __radd__(self, other: Any) -> Any:
        return self._with(other, E.add, "+", True)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, E.sub, "-")

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, E.sub, "-", True)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (tuple, list)):
            return other * self.__index__()
        return self._with(other, E.mul, "*")

    def __rmul__(self, other: Any) -> Any:
        if isinstance(other, (tuple, list)):
            return other * self.__index__()
        return self._with(other, E.mul, "*", True)

    def _divided(self, a: Any, b: Any, f: Callable[[Expr, Expr], Expr], name: str) -> Any:
        ea, eb = _expr(a), _expr(b)
        if ea is None or eb is None:
            return _binary(name, a, b) if isinstance(a, float) or isinstance(b, float) else NotImplemented
        if self.env.decide("==", eb, E.ZERO, "a division by it"):
            raise ZeroDivisionError("integer division or modulo by zero")
        ea, eb = self.env.simplify(ea), self.env.simplify(eb)
        known = self.env.known
        if eb.constant is None and known(">", eb, E.ZERO):
            if known(">=", ea, E.ZERO) and known("<", ea, eb):
                return self._made(E.ZERO if name == "//" else ea)
            if known("<", ea, E.ZERO) and known(">=", E.add(ea, eb), E.ZERO):
                return self._made(E.const(-1) if name == "//" else E.add(ea, eb))
        return self._made(f(ea, eb))

    def __floordiv__(self, other: Any) -> Any:
        return self._divided(self, other, E.floordiv, "//")

    def __rfloordiv__(self, other: Any) -> Any:
        return self._divided(other, self, E.floordiv, "//")

    def __mod__(self, other: Any) -> Any:
        return self._divided(self, other, E.mod, "%")

    def __rmod__(self, other: Any) -> Any:
        return self._divided(other, self, E.mod, "%")

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __truediv__(self, other: Any) -> Any:
        return _binary("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary("/", other, self)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is None and type(other) is int and 0 <= other <= 8:
            return self._made(E.power(self.expr, other))
        if modulus is None and isinstance(other, float):
            return _binary("**", self, other)
        return pow(self.__index__(), other, modulus)

    def __rpow__(self, other: Any) -> Any:
        return _binary("**", other, self) if isinstance(other, float) else other ** self.__index__()

    def __neg__(self) -> Any:
        return self._made(E.scale(self.expr, -1))

    def __pos__(self) -> SymInt:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __round__(self, digits: Any = None) -> Any:
        return self

    def __ceil__(self) -> SymInt:
        return self

    __floor__ = conjugate = __ceil__

    def __invert__(self) -> Any:
        return -self - 1

    def __and__(self, other: Any) -> Any:
        return self.__index__() & other

    def __or__(self, other: Any) -> Any:
        return self.__index__() | other

    def __xor__(self, other: Any) -> Any:
        return self.__index__() ^ other

    def __lshift__(self, other: Any) -> Any:
        return self * 2 ** operator.index(other)

    def __rshift__(self, other: Any) -> Any:
        return self // 2 ** operator.index(other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __rlshift__(self, other: Any) -> Any:
        return other << self.__index__()

    def __rrshift__(self, other: Any) -> Any:
        return other >> self.__index__()

    @property
    def real(self) -> SymInt:
        """Itself."""
        return self

    imag = 0
    numerator = real
    denominator = 1

    def bit_length(self) -> int:
        """The number of bits of the plain number."""
        return self.__index__().bit_length()

    def is_integer(self) -> bool:
        """Always True."""
        return True


def surely_equal(a: Any, b: Any) -> bool:
    """Whether two sizes are equal for all values of the symbols; asks nothing of the hints, so that no guard arises."""
    if a is b:
        return True
    sym = a if type(a) is SymInt else b
    if type(sym) is not SymInt:
        return a == b
    ea, eb = _expr(a), _expr(b)
    return ea is not None and eb is not None and sym.env.known("==", ea, eb) is True


def symbolic_min(a: Any, b: Any) -> Any:
    """min(a, b) as an expression, without asking which is smaller."""
    return _extreme(E.minimum, a, b)


def symbolic_max(a: Any, b: Any) -> Any:
    """max(a, b) as an expression, without asking which is larger."""
    return _extreme(E.maximum, a, b)


def _extreme(f: Callable[[Expr, Expr], Expr], a: Any, b: Any) -> Any:
    if type(a) is SymFloat or type(b) is SymFloat:
        native = min if f is E.minimum else max
        (ta, ha, sa), (tb, hb, sb) = _operand(a), _operand(b)
        hint = None if ha is None or hb is None else native(ha, hb)
        env = a.env if is_symbolic(a) else b.env
        return SymFloat(f"{native.__name__}({ta}, {tb})", env, hint, tuple(dict.fromkeys([*sa, *sb])))
    sym = a if type(a) is SymInt else b
    ea, eb = _expr(a), _expr(b)
    if type(sym) is not SymInt or ea is None or eb is None:
        return (min if f is E.minimum else max)(a, b)
    return sym._made(f(sym.env.simplify(ea), sym.env.simplify(eb)))


# -- floats -------------------------------------------------------------------------------------


class SymFloat:
    """A float that is a formula over symbols: Python's own operations, kept as text and done when the graph runs."""

    __slots__ = ("_code", "_symbols", "env", "hint")

    def __init__(self, code: str, env: ShapeEnv, hint: float | None, symbols: tuple[str, ...] | None = None):
        self._code = code
        self.env = env
        self.hint = hint
        self._symbols = (code,) if symbols is None else symbols

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return float

    def code(self) -> str:
        """The number as a Python expression over the symbols, safe within a larger expression."""
        return self._code

    def free_symbols(self) -> list[str]:
        """The symbols it depends on."""
        return list(self._symbols)

    def symbol_name(self) -> str | None:
        """Its name where it is one symbol."""
        return self._code if self._symbols == (self._code,) else None

    def evaluate(self, values: Mapping[str, Any]) -> float:
        """The value for values of the symbols."""
        return eval(
            self._code,
            {"__builtins__": {"min": min, "max": max, "abs": abs, "float": float, "round": round}, "math": math},
            dict(values),
        )

    def __repr__(self) -> str:
        return self._code

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else self._code

    def __float__(self) -> float:
        if self.hint is None:
            raise DataDependent("float")
        code, hint = self._code, float(self.hint)
        if hint == 0.0 or not math.isfinite(hint):  # equality tells neither the zeros apart, nor one nan from another
            text = f"repr({code}) == {str(hint)!r}"
        else:
            text = f"{code} == {hint!r}"
        self.env._put(text, self._symbols, "a plain number was needed")
        return hint

    def __int__(self) -> int:
        return int(self.__float__())

    __trunc__ = __int__

    def __hash__(self) -> int:
        return hash(self.__float__())

    def __reduce__(self) -> tuple:
        return (float, (self.__float__(),))

    def __bool__(self) -> bool:
        return _compare_floats("!=", self, 0.0)

    def is_integer(self) -> bool:
        """Whether the plain number is whole."""
        return self.__float__().is_integer()


def symbolic_float(n: SymInt) -> SymFloat:
    """A whole number as a float."""
    hint = None if n.hint is None else float(n.hint)
    return SymFloat(f"float({n.code()})", n.env, hint, tuple(n.free_symbols()))


def _operand(x: Any) -> tuple[str, Any, tuple[str, ...]]:
    if type(x) is SymInt:
        return x.code(), x.hint, tuple(x.free_symbols())
    if type(x) is SymFloat:
        return x._code, x.hint, x._symbols
    if isinstance(x, float) and not math.isfinite(x):
        return f"float({str(x)!r})", x, ()
    item = getattr(x, "item", None)  # numpy's numbers
    text = repr(x if item is None else item())
    return (f"({text})" if text.startswith("-") else text), x, ()


_FLOAT_OPS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow,
}  # fmt: skip


def _binary(op: str, a: Any, b: Any) -> Any:
    for x in (a, b):
        if not isinstance(x, (int, float)) or hasattr(x, "_dtype"):
            return NotImplemented
    (ta, ha, sa), (tb, hb, sb) = _operand(a), _operand(b)
    sym = a if type(a) in (SymInt, SymFloat) else b
    hint = None if ha is None or hb is None else _FLOAT_OPS[op](ha, hb)
    return SymFloat(f"({ta} {op} {tb})", sym.env, hint, tuple(dict.fromkeys([*sa, *sb])))


def symbolic_call(name: str, function: Callable[[float], Any], x: Any) -> SymFloat:
    """A function of one number, such as ("math.sqrt", math.sqrt), of a symbolic one, as a formula."""
    text, hint, symbols = _operand(x)
    return SymFloat(f"{name}({text})", x.env, None if hint is None else function(hint), symbols)


def _compare_floats(op: str, a: Any, b: Any) -> bool:
    (ta, ha, sa), (tb, hb, sb) = _operand(a), _operand(b)
    if ha is None or hb is None:
        raise DataDependent("a comparison of a number that only running the graph gives")
    held = _RELATIONS[op](ha, hb)
    text = f"{ta} {op} {tb}"
    sym = a if type(a) is SymFloat else b
    sym.env._put(text if held else f"not ({text})", tuple(dict.fromkeys([*sa, *sb])), "")
    return held


def _install() -> None:
    for name, op in (
        ("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("floordiv", "//"), ("mod", "%"), ("pow", "**"),
    ):  # fmt: skip
        setattr(SymFloat, f"__{name}__", lambda self, other, op=op: _binary(op, self, other))
        setattr(SymFloat, f"__r{name}__", lambda self, other, op=op: _binary(op, other, self))
    for name, op in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):

        def compare(self: Any, other: Any, op: str = op) -> Any:
            if not isinstance(other, (int, float)):
                return NotImplemented
            return _compare_floats(op, self, other)

        setattr(SymFloat, f"__{name}__", compare)

    def unary(form: str, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda self: SymFloat(
            form.format(self._code), self.env, None if self.hint is None else f(self.hint), self._symbols
        )

    SymFloat.__neg__ = unary("(-{})", operator.neg)  # type: ignore[attr-defined]
    SymFloat.__pos__ = lambda self: self  # type: ignore[attr-defined]
    SymFloat.__abs__ = unary("abs({})", abs)  # type: ignore[attr-defined]


_install()


def is_symbolic(value: Any) -> bool:
    """Whether a number is a SymInt or SymFloat."""
    return type(value) is SymInt or type(value) is SymFloat
