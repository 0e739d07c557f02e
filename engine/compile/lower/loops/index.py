"""Index arithmetic of kernels: integer polynomials over loop variables and symbolic sizes, with floor division and remainder.

An `Ix` is a sum of integer multiples of products of *atoms*. Atoms are loop variables, symbolic sizes, quotients,
remainders, and numbers that are known only while the kernel runs (the value of an index tensor). Loop variables run from 0
to their size less one; sizes are at least 1. With these ranges quotients and remainders disappear wherever a reshape
only merges or splits dimensions. Nothing here knows tensors or text of any language.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union

Atom = tuple
"""("v", name) a loop variable, ("s", name) a size, ("/", a, b), ("%", a, b), or ("r", key) a number of run time."""

Intlike = Union["Ix", int]


class Ix:
    """An immutable polynomial. `terms` maps a sorted tuple of atoms to its integer factor; the empty tuple is the constant."""

    __slots__ = ("_atoms", "_hash", "_variables", "number", "terms")

    def __init__(self, terms: Mapping[tuple[Atom, ...], int]):
        self.terms: Mapping[tuple[Atom, ...], int] = terms  # which nobody changes any more
        self.number: int | None = 0 if not terms else terms.get(()) if len(terms) == 1 else None
        """The integer this is, or None where it is none."""
        self._hash: int | None = None
        self._atoms: frozenset[Atom] | None = None
        self._variables: frozenset[str] | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is Ix:
            return self.terms == other.terms
        return isinstance(other, int) and self.number == other

    def __repr__(self) -> str:
        return text(self)

    def __add__(self, other: Intlike) -> Ix:
        if type(other) is not Ix:
            other = ix(other)
        if not other.terms:
            return self
        if not self.terms:
            return other
        terms = dict(self.terms)
        for key, c in other.terms.items():
            c += terms.get(key, 0)
            if c:
                terms[key] = c
            else:
                terms.pop(key, None)
        return Ix(terms)

    __radd__ = __add__

    def __neg__(self) -> Ix:
        return Ix({k: -c for k, c in self.terms.items()})

    def __sub__(self, other: Intlike) -> Ix:
        if type(other) is not Ix:
            other = ix(other)
        if not other.terms:
            return self
        terms = dict(self.terms)
        for key, c in other.terms.items():
            c = terms.get(key, 0) - c
            if c:
                terms[key] = c
            else:
                terms.pop(key, None)
        return Ix(terms)

    def __rsub__(self, other: Intlike) -> Ix:
        return ix(other) - self

    def __mul__(self, other: Intlike) -> Ix:
        if type(other) is not Ix:
            other = ix(other)
        n = other.number
        if n is not None:
            return self if n == 1 else Ix({k: c * n for k, c in self.terms.items()}) if n else ZERO
        n = self.number
        if n is not None:
            return other if n == 1 else Ix({k: c * n for k, c in other.terms.items()}) if n else ZERO
        terms: dict[tuple[Atom, ...], int] = {}
        for a, ca in self.terms.items():
            for b, cb in other.terms.items():
                key = tuple(sorted((*a, *b), key=_order))
                c = terms.get(key, 0) + ca * cb
                if c:
                    terms[key] = c
                else:
                    terms.pop(key, None)
        return Ix(terms)

    __rmul__ = __mul__

    def atoms(self) -> frozenset[Atom]:
        """All atoms that occur, those inside quotients and remainders too."""
        if self._atoms is None:
            found: set[Atom] = set()
            for key in self.terms:
                for a in key:
                    if a not in found:
                        found.add(a)
                        if a[0] in "/%":
                            found |= a[1].atoms() | a[2].atoms()
            self._atoms = frozenset(found)
        return self._atoms

    def variables(self) -> frozenset[str]:
        """Names of the loop variables it depends on."""
        if self._variables is None:
            self._variables = frozenset([a[1] for a in self.atoms() if a[0] == "v"])
        return self._variables

    def is_affine(self) -> bool:
        """Whether loop variables stand in it only with factors that are sizes or numbers."""
        return all(not (sum(a[0] == "v" for a in key) > 1 or any(a[0] in "/%r" for a in key)) for key in self.terms)

    def factor(self, name: str) -> Ix:
        """What the loop variable is multiplied by, in an affine polynomial."""
        out: dict[tuple[Atom, ...], int] = {}
        for key, c in self.terms.items():
            if ("v", name) in key:
                rest = list(key)
                rest.remove(("v", name))
                out[tuple(rest)] = c
        return Ix(out)

    def without(self, names: Iterable[str]) -> Ix:
        """The terms that do not contain any of these loop variables."""
        gone = {("v", n) for n in names}
        return Ix({k: c for k, c in self.terms.items() if not gone.intersection(k)})


@functools.cache
def _order(a: Atom) -> tuple[Any, ...]:
    return (a[0], a[1]) if a[0] in "vs" else (a[0], repr(a))


ZERO, ONE = Ix({}), Ix({(): 1})
_SMALL = {n: Ix({(): n} if n else {}) for n in range(-4, 1025)}


def ix(value: Any) -> Ix:
    """A number as a polynomial; polynomials stay as they are."""
    if type(value) is Ix:
        return value
    value = int(value)
    return _SMALL.get(value) or Ix({(): value} if value else {})


@functools.lru_cache(4096)
def var(name: str) -> Ix:
    """A loop variable."""
    return Ix({(("v", name),): 1})


def size(name: str) -> Ix:
    """A symbolic size."""
    return Ix({(("s", name),): 1})


def runtime(key: Any) -> Ix:
    """A number that is known when the kernel runs."""
    return Ix({(("r", key),): 1})


def product(values: Iterable[Intlike]) -> Ix:
    """The product of sizes."""
    return _product(tuple(values))


@functools.lru_cache(4096)
def _product(values: tuple[Intlike, ...]) -> Ix:
    out = ONE
    for v in values:
        out = out * v
    return out


def strides_of(shape: Iterable[Intlike]) -> tuple[Ix, ...]:
    """Strides of contiguous memory of this shape, in elements."""
    return _strides_of(tuple(shape))


@functools.lru_cache(4096)
def _strides_of(shape: tuple[Intlike, ...]) -> tuple[Ix, ...]:
    out: list[Ix] = []
    step = ONE
    for n in reversed(shape):
        out.append(step)
        step = step * n
    return tuple(reversed(out))


Ranges = Mapping[str, Ix]


class Arithmetic:
    """Quotients and remainders, simplified by the ranges of loop variables (`ranges`: name to size)."""

    def __init__(self, ranges: Ranges):
        self.ranges = ranges

    def bounds(self, e: Ix) -> tuple[Ix | None, Ix | None]:
        """The least and the greatest value, as polynomials over sizes; None where nothing is known."""
        low, high = ZERO, ZERO
        for key, c in e.terms.items():
            top = ONE
            free = ONE
            for a in key:
                if a[0] == "s":
                    free = free * Ix({(a,): 1})
                    continue
                most = self._top(a)
                if most is None:
                    return None, None
                top = top * most
            moving = any(a[0] != "s" for a in key)
            if not moving:
                low, high = low + free * c, high + free * c
            elif c > 0:
                high = high + top * free * c
            else:
                low = low + top * free * c
        return low, high

    def _top(self, a: Atom) -> Ix | None:
        """The greatest value of an atom, whose least is zero."""
        kind = a[0]
        if kind == "v":
            n = self.ranges.get(a[1])
            return None if n is None else n - 1
        if kind == "%":
            return a[2] - 1
        if kind == "/":
            low, high = self.bounds(a[1])
            if high is None or low is None or not nonnegative(low):
                return None
            return self.quotient(high, a[2])
        return None

    def below(self, e: Ix, n: Ix) -> bool:
        """Whether 0 <= e < n is certain."""
        low, high = self.bounds(e)
        return low is not None and high is not None and nonnegative(low) and nonnegative(n - 1 - high)

    def quotient(self, e: Ix, n: Intlike) -> Ix:
        """floor(e / n) for a positive n."""
        n = ix(n)
        if n == ONE or not e.terms:
            return e
        whole, rest = split(e, n)
        return whole + self._rest_quotient(rest, n)

    def _rest_quotient(self, rest: Ix, n: Ix) -> Ix:
        if not rest.terms or self.below(rest, n):
            return ZERO
        a, b = rest.number, n.number
        if a is not None and b is not None:
            return ix(a // b)
        # floor((g a + b) / (g c)) is floor(a / c) where 0 <= b < g.
        for g in _candidates(rest, n):
            c = divided(n, g)
            if c is None:
                continue
            big, small = split(rest, g)
            if big.terms and (not small.terms or self.below(small, g)):
                return self.quotient(big, c)
        if len(rest.terms) == 1:
            ((key, c),) = rest.terms.items()
            if c == 1 and len(key) == 1 and key[0][0] == "/":
                return self.quotient(key[0][1], key[0][2] * n)
        return Ix({(("/", rest, n),): 1})

    def remainder(self, e: Ix, n: Intlike) -> Ix:
        """e modulo a positive n."""
        n = ix(n)
        if n == ONE:
            return ZERO
        _, rest = split(e, n)
        if not rest.terms or self.below(rest, n):
            return rest
        a, b = rest.number, n.number
        if a is not None and b is not None:
            return ix(a % b)
        for g in _candidates(rest, n):
            c = divided(n, g)
            if c is None:
                continue
            big, small = split(rest, g)
            if big.terms and (not small.terms or self.below(small, g)):
                return self.remainder(big, c) * g + small
        if len(rest.terms) == 1:
            ((key, c),) = rest.terms.items()
            if c == 1 and len(key) == 1 and key[0][0] == "%" and divided(key[0][2], n) is not None:
                return self.remainder(key[0][1], n)
        return Ix({(("%", rest, n),): 1})

    def flatten(self, index: Iterable[Ix], shape: Iterable[Intlike]) -> Ix:
        """The place of an element in contiguous memory of `shape`."""
        out = ZERO
        for i, s in zip(index, strides_of(shape), strict=True):
            out = out + i * s
        return self.merge(out)

    def unflatten(self, flat: Ix, shape: Iterable[Intlike]) -> tuple[Ix, ...]:
        """The coordinates of a place in contiguous memory of `shape`."""
        shape = tuple(ix(n) for n in shape)
        plain = self._plainly(flat, shape)
        if plain is not None:
            return plain
        steps = strides_of(shape)
        out: list[Ix] = []
        for d, (n, s) in enumerate(zip(shape, steps, strict=True)):
            if n == ONE:
                out.append(ZERO)
                continue
            q = self.quotient(flat, s)
            out.append(q if all(m == ONE for m in shape[:d]) and self.below(q, n) else self.remainder(q, n))
        return tuple(out)

    def _plainly(self, flat: Ix, shape: tuple[Ix, ...]) -> tuple[Ix, ...] | None:
        """The coordinates where every term belongs to one dimension and the sizes are numbers, as for most views."""
        left = dict(flat.terms)
        out: list[Ix] = []
        rest = 1
        sizes: list[int] = []
        for n in shape:
            k = n.number
            if k is None:
                return None
            sizes.append(k)
            rest *= k
        for n in sizes:
            if n == 0:
                return None
            step = rest // n
            mine: dict[tuple[Atom, ...], int] = {}
            most = 0
            for key, c in list(left.items()):
                if c < step or n == 1:
                    continue
                top = 1
                if key:
                    if len(key) != 1 or key[0][0] != "v" or key[0][1] not in self.ranges:
                        return None
                    top = self.ranges[key[0][1]].number
                    if top is None:
                        return None
                    top -= 1
                if c % step:
                    return None
                mine[key] = c // step
                most += c // step * top
                del left[key]
            if most >= n:
                return None
            out.append(Ix(mine) if mine else ZERO)
            rest = step
        return None if left else tuple(out)

    def merge(self, e: Ix) -> Ix:
        """(x / n) * n + x % n is x; also inside larger sums, with a common factor."""
        changed = True
        while changed:
            changed = False
            for key, c in list(e.terms.items()):
                for a in key:
                    if a[0] != "%":
                        continue
                    others = list(key)
                    others.remove(a)
                    scale = Ix({tuple(others): c})
                    x, n = a[1], a[2]
                    whole = scale * n * self.quotient(x, n)
                    if all(e.terms.get(k) == v for k, v in whole.terms.items()):
                        e = e - whole - scale * Ix({(a,): 1}) + scale * x
                        changed = True
                        break
                if changed:
                    break
        return e

    def substitute(self, e: Ix, values: Mapping[str, Ix]) -> Ix:
        """Loop variables replaced by polynomials, quotients and remainders worked out anew."""
        return replace(e, lambda a: values.get(a[1]) if a[0] == "v" else None, self)


def replace(e: Ix, find: Callable[[Atom], Ix | None], arithmetic: Arithmetic) -> Ix:
    """The polynomial with atoms replaced where `find` gives something for them."""
    out = ZERO
    for key, c in e.terms.items():
        term = ix(c)
        for a in key:
            found = find(a)
            if found is None and a[0] in "/%":
                x, n = replace(a[1], find, arithmetic), replace(a[2], find, arithmetic)
                found = arithmetic.quotient(x, n) if a[0] == "/" else arithmetic.remainder(x, n)
            term = term * (found if found is not None else Ix({(a,): 1}))
        out = out + term
    return arithmetic.merge(out)


def nonnegative(e: Ix) -> bool:
    """Whether a polynomial over sizes (each at least 1) is certainly not negative."""
    n = e.number
    if n is not None:
        return n >= 0
    if any(a[0] != "s" for key in e.terms for a in key):
        return False
    # A positive term is at least its factor, so it may pay for a negative constant.
    negative = [c for k, c in e.terms.items() if c < 0 and k != ()]
    if negative:
        return False
    return sum(e.terms.values()) >= 0


def divided(e: Ix, d: Ix) -> Ix | None:
    """e / d where it is exact for every value, else None."""
    if d == ONE:
        return e
    if e == d:
        return ONE
    if len(d.terms) != 1:
        return None
    ((dk, dc),) = d.terms.items()
    out: dict[tuple[Atom, ...], int] = {}
    for key, c in e.terms.items():
        left = list(key)
        if c % dc:
            return None
        for a in dk:
            if a not in left:
                return None
            left.remove(a)
        out[tuple(left)] = c // dc
    return Ix(out)


def split(e: Ix, d: Ix) -> tuple[Ix, Ix]:
    """(q, r) with e = q d + r, where q takes the terms that d divides."""
    if len(d.terms) != 1:
        return (ONE, ZERO) if e == d else (ZERO, e)
    ((dk, dc),) = d.terms.items()
    q: dict[tuple[Atom, ...], int] = {}
    r: dict[tuple[Atom, ...], int] = {}
    for key, c in e.terms.items():
        left = list(key)
        fits = True
        for a in dk:
            if a in left:
                left.remove(a)
            else:
                fits = False
                break
        if fits and c % dc == 0:
            q[tuple(left)] = c // dc
        elif fits and key == () and (dc > 1 and c // dc):
            q[()] = c // dc
            r[()] = c - c // dc * dc
        else:
            r[key] = c
    return Ix(q), Ix(r)


def _candidates(rest: Ix, n: Ix) -> list[Ix]:
    """Divisors worth trying: what single loop variables are multiplied by, the greatest first."""
    out: list[Ix] = []
    for key, c in rest.terms.items():
        still = tuple(a for a in key if a[0] == "s")
        g = Ix({still: abs(c)})
        if g != ONE and g not in out:
            out.append(g)
    m = n.number
    if m is not None:
        import math

        for g in list(out):
            k = g.number
            if k is not None:
                d = ix(math.gcd(k, m))
                if d != ONE and d not in out:
                    out.append(d)
    out.sort(key=lambda g: (len(next(iter(g.terms))), next(iter(g.terms.values()))), reverse=True)
    return out


def text(
    e: Intlike,
    atom: Callable[[Atom], str] | None = None,
    quotient: str = "({0} // {1})",
    remainder: str = "({0} % {1})",
) -> str:
    """The polynomial as text; `atom` prints variables, sizes and run-time numbers."""
    e = ix(e)
    if not e.terms:
        return "0"

    def one(a: Atom) -> str:
        if a[0] in "/%":
            parts = [text(x, atom, quotient, remainder) for x in a[1:]]
            parts = [p if p.isalnum() else f"({p})" for p in parts]
            return (quotient if a[0] == "/" else remainder).format(*parts)
        return atom(a) if atom is not None else str(a[1])

    parts = []
    for key, c in sorted(e.terms.items(), key=lambda kv: (kv[0] == (), [_order(a) for a in kv[0]])):
        factors = [one(a) for a in key]
        sign = "-" if c < 0 else "+"
        if abs(c) != 1 or not factors:
            factors.append(str(abs(c)))
        parts.append((sign, " * ".join(factors)))
    first = ("-" if parts[0][0] == "-" else "") + parts[0][1]
    return first + "".join(f" {s} {t}" for s, t in parts[1:])


def evaluate(e: Intlike, sizes: Mapping[str, int]) -> int:
    """The number it is when sizes are these. Raises KeyError for a size that is not given, TypeError for loop variables."""
    if isinstance(e, int):
        return e
    total = 0
    for key, c in e.terms.items():
        for a in key:
            if a[0] == "s":
                c *= sizes[a[1]]
            elif a[0] == "/":
                c *= evaluate(a[1], sizes) // evaluate(a[2], sizes)
            elif a[0] == "%":
                c *= evaluate(a[1], sizes) % evaluate(a[2], sizes)
            else:
                raise TypeError(f"{e} depends on {a[1]}, which is no size")
        total += c
    return total
