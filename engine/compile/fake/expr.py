"""Integer expressions in a normal form: polynomials with integer coefficients over symbols and a few functions.

Two sizes that are equal for all values of their symbols mostly have the same normal form (`(s0*4)//4` is `s0`), so that
equality is a comparison of keys. The functions are floor division, modulo, minimum and maximum; where no rule simplifies one,
it stands as an atom of the polynomial. This file knows integers and names only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Atom = tuple[Any, ...]
"""("s", name), or ("//" | "%" | "min" | "max", Expr, Expr)."""
Monomial = tuple[tuple[Atom, int], ...]
"""Atoms with their powers, sorted."""


class Expr:
    """A sum of monomials with integer coefficients; immutable, equal when the normal forms are."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, int]):
        self.terms: tuple[tuple[Monomial, int], ...] = tuple(
            sorted(((m, c) for m, c in terms.items() if c), key=lambda item: _order(item[0]))
        )
        self._hash = hash(self.terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return self.code()

    # -- reading --------------------------------------------------------------------------------

    @property
    def constant(self) -> int | None:
        """The value, where it depends on no symbol."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        return None

    @property
    def symbol(self) -> str | None:
        """The name, where it is one symbol."""
        if len(self.terms) == 1 and self.terms[0][1] == 1:
            m = self.terms[0][0]
            if len(m) == 1 and m[0][1] == 1 and m[0][0][0] == "s":
                return m[0][0][1]
        return None

    def symbols(self) -> list[str]:
        """The names of all symbols, in order of appearance."""
        out: dict[str, None] = {}
        for m, _ in self.terms:
            for atom, _power in m:
                if atom[0] == "s":
                    out[atom[1]] = None
                else:
                    out.update(dict.fromkeys([*atom[1].symbols(), *atom[2].symbols()]))
        return list(out)

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The value for values of the symbols; raises KeyError for a symbol that has none."""
        total = 0
        for m, c in self.terms:
            for atom, power in m:
                if atom[0] == "s":
                    c *= values[atom[1]] ** power
                else:
                    c *= _APPLY[atom[0]](atom[1].evaluate(values), atom[2].evaluate(values)) ** power
            total += c
        return total

    def substitute(self, values: Mapping[str, Expr]) -> Expr:
        """The expression with symbols replaced."""
        if not any(s in values for s in self.symbols()):
            return self
        total = ZERO
        for m, c in self.terms:
            product = const(c)
            for atom, power in m:
                if atom[0] == "s":
                    base = values.get(atom[1]) or Expr({((atom, 1),): 1})
                else:
                    base = _BUILD[atom[0]](atom[1].substitute(values), atom[2].substitute(values))
                for _ in range(power):
                    product = mul(product, base)
            total = add(total, product)
        return total

    def code(self) -> str:
        """The expression as Python; needs parentheses around it where it is a sum."""
        if not self.terms:
            return "0"
        out = ""
        for m, c in sorted(self.terms, key=lambda item: (not item[0], item[1] < 0)):
            body = "*".join(_atom_code(a) + (f"**{p}" if p != 1 else "") for a, p in m)
            if not body:
                text = str(abs(c))
            elif abs(c) == 1:
                text = body
            else:
                text = f"{abs(c)}*{body}"
            if not out:
                out = f"-{text}" if c < 0 else text
            else:
                out += (" - " if c < 0 else " + ") + text
        return out


def _order(m: Monomial) -> tuple[Any, ...]:
    return (-sum(p for _, p in m), *((_atom_order(a), p) for a, p in m))


def _atom_order(a: Atom) -> tuple[Any, ...]:
    if a[0] == "s":
        name = a[1]
        digits = "".join(ch for ch in name if ch.isdigit())
        return (0, len(digits), name)
    return (1, 0, a[0] + a[1].code() + "," + a[2].code())


def _atom_code(a: Atom) -> str:
    if a[0] == "s":
        return a[1]
    first, second = a[1].code(), a[2].code()
    if a[0] in ("min", "max"):
        return f"{a[0]}({first}, {second})"
    return f"({_wrapped(a[1], first)}{a[0]}{_wrapped(a[2], second)})"


def _wrapped(e: Expr, text: str) -> str:
    return text if e.symbol is not None or (e.constant is not None and e.constant >= 0) else f"({text})"


def const(n: int) -> Expr:
    """A number."""
    return Expr({(): int(n)})


def symbol(name: str) -> Expr:
    """A symbol."""
    return Expr({((("s", name), 1),): 1})


ZERO, ONE = const(0), const(1)


def add(a: Expr, b: Expr) -> Expr:
    """a + b."""
    terms = dict(a.terms)
    for m, c in b.terms:
        terms[m] = terms.get(m, 0) + c
    return Expr(terms)


def scale(a: Expr, n: int) -> Expr:
    """n * a."""
    return Expr({m: c * n for m, c in a.terms})


def sub(a: Expr, b: Expr) -> Expr:
    """a - b."""
    return add(a, scale(b, -1))


def mul(a: Expr, b: Expr) -> Expr:
    """a * b."""
    terms: dict[Monomial, int] = {}
    for ma, ca in a.terms:
        for mb, cb in b.terms:
            m = _times(ma, mb)
            terms[m] = terms.get(m, 0) + ca * cb
    return Expr(terms)


def power(a: Expr, n: int) -> Expr:
    """a ** n for n >= 0."""
    out = ONE
    for _ in range(n):
        out = mul(out, a)
    return out


def _times(a: Monomial, b: Monomial) -> Monomial:
    if not a:
        return b
    if not b:
        return a
    powers = dict(a)
    for atom, p in b:
        powers[atom] = powers.get(atom, 0) + p
    return tuple(sorted(powers.items(), key=lambda item: _atom_order(item[0])))


def _quotient(a: Monomial, b: Monomial) -> Monomial | None:
    powers = dict(a)
    for atom, p in b:
        left = powers.get(atom, 0) - p
        if left < 0:
            return None
        if left:
            powers[atom] = left
        else:
            del powers[atom]
    return tuple(sorted(powers.items(), key=lambda item: _atom_order(item[0])))


def divide(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Quotient and rest of polynomial division by the leading term of `b`, as far as coefficients divide: a = q*b + r."""
    lead, factor = b.terms[0]
    quotient, rest = ZERO, a
    for _ in range(64):
        for m, c in rest.terms:
            q = _quotient(m, lead)
            if q is not None and c % factor == 0:
                part = Expr({q: c // factor})
                quotient, rest = add(quotient, part), sub(rest, mul(part, b))
                break
        else:
            break
    return quotient, rest


def floordiv(a: Expr, b: Expr) -> Expr:
    """a // b, for b that is not zero."""
    n = b.constant
    if n is not None:
        if n == 1:
            return a
        if n == -1:
            return scale(a, -1)
        if a.constant is not None:
            return const(a.constant // n)
        if n > 0:
            whole = Expr({m: c // n for m, c in a.terms})
            rest = Expr({m: c % n for m, c in a.terms})
            if rest.constant is not None:
                return whole  # 0 <= rest < n
            if whole.terms:
                return add(whole, floordiv(rest, b))
            inner = _as_quotient(rest)
            if inner is not None and (inner[1].constant or 0) > 0:  # (x // m) // n is x // (m n)
                return floordiv(inner[0], scale(inner[1], n))
        return _atom("//", a, b)
    if not a.terms:
        return ZERO
    quotient, rest = divide(a, b)
    if not rest.terms:
        return quotient
    if quotient.terms:
        return add(quotient, floordiv(rest, b))
    return _atom("//", a, b)


def mod(a: Expr, b: Expr) -> Expr:
    """a % b, for b that is not zero."""
    n = b.constant
    if n is not None:
        if n in (1, -1):
            return ZERO
        if a.constant is not None:
            return const(a.constant % n)
        if n > 0:
            rest = Expr({m: c % n for m, c in a.terms})
            return rest if rest.constant is not None else _atom("%", rest, b)
        return _atom("%", a, b)
    if not a.terms:
        return ZERO
    _, rest = divide(a, b)
    return ZERO if not rest.terms else _atom("%", rest, b)


def _as_quotient(a: Expr) -> tuple[Expr, Expr] | None:
    if len(a.terms) == 1 and a.terms[0][1] == 1:
        m = a.terms[0][0]
        if len(m) == 1 and m[0][1] == 1 and m[0][0][0] == "//":
            return m[0][0][1], m[0][0][2]
    return None


def minimum(a: Expr, b: Expr) -> Expr:
    """min(a, b)."""
    return _extreme("min", a, b)


def maximum(a: Expr, b: Expr) -> Expr:
    """max(a, b)."""
    return _extreme("max", a, b)


def _extreme(kind: str, a: Expr, b: Expr) -> Expr:
    difference = sub(a, b).constant
    if difference is not None:
        return a if (difference <= 0) == (kind == "min") else b
    first, second = sorted((a, b), key=lambda e: e.code())
    return _atom(kind, first, second)


def _atom(kind: str, a: Expr, b: Expr) -> Expr:
    return Expr({(((kind, a, b), 1),): 1})


_APPLY: dict[str, Callable[[int, int], int]] = {
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
}
_BUILD: dict[str, Callable[[Expr, Expr], Expr]] = {"//": floordiv, "%": mod, "min": minimum, "max": maximum}

Range = tuple[int | None, int | None]
"""Least and greatest value; None is unbounded."""


def bounds(e: Expr, ranges: Mapping[str, Range]) -> Range:
    """An interval that holds all values of `e` for symbols within their ranges (not always the smallest one)."""
    low: int | None = 0
    high: int | None = 0
    for m, c in e.terms:
        lo, hi = _monomial_bounds(m, ranges)
        lo, hi = (_scaled(lo, c), _scaled(hi, c)) if c > 0 else (_scaled(hi, c), _scaled(lo, c))
        low = None if low is None or lo is None else low + lo
        high = None if high is None or hi is None else high + hi
    return low, high


def _scaled(x: int | None, c: int) -> int | None:
    return None if x is None else x * c


def _monomial_bounds(m: Monomial, ranges: Mapping[str, Range]) -> Range:
    low: int | None = 1
    high: int | None = 1
    for atom, p in m:
        lo, hi = _atom_bounds(atom, ranges)
        if lo is None or lo < 0:
            return (0, None) if p % 2 == 0 and len(m) == 1 else (None, None)
        assert low is not None
        low *= lo**p
        high = None if high is None or hi is None else high * hi**p
    return low, high


def _atom_bounds(atom: Atom, ranges: Mapping[str, Range]) -> Range:
    kind = atom[0]
    if kind == "s":
        return ranges.get(atom[1], (None, None))
    (a, b), (c, d) = bounds(atom[1], ranges), bounds(atom[2], ranges)
    if kind == "min":
        return (None if a is None or c is None else min(a, c)), min((x for x in (b, d) if x is not None), default=None)
    if kind == "max":
        return max((x for x in (a, c) if x is not None), default=None), (None if b is None or d is None else max(b, d))
    if c is None or c <= 0:
        return None, None
    if kind == "%":
        return 0, (None if d is None else d - 1)
    low = None if a is None else a // c if a < 0 else 0 if d is None else a // d
    return low, (None if b is None else b // c if b >= 0 else -1)


def total(values: Iterable[Expr]) -> Expr:
    """The sum of expressions."""
    out = ZERO
    for v in values:
        out = add(out, v)
    return out
