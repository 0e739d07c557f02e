"""The values that kernels are made from: a graph without names of operators, in which every view is arithmetic on indices.

A `Value` is an array that may never exist in memory. Its kind says how an element of it is found:

=========  ==========================================================  ==================================================
kind       `args`                                                      `data`
=========  ==========================================================  ==================================================
input      ()                                                          position among the program's inputs
constant   ()                                                          a numpy array
number     ()                                                          position among the inputs: a Python number
point      operands, broadcast to the value's shape                    `Scalar` of operands and coordinates
view       (source,)                                                   strides and offset in the source's row-major order
pick       (source, *index values)                                     for each dimension of the source, where it is read
reduce     (source,)                                                   (function, dimensions)
product    (a [..., M, K], b [..., K, N])                              None
scatter    (base, source, *index values)                               (function or "set", places: as `pick`'s)
cat        parts                                                       dimension
embed      (source,)                                                   (number around it, where it begins in each dimension)
call       operands                                                    `Call`: a kernel of the engine
item       (call,)                                                     which of its outputs
=========  ==========================================================  ==================================================

`Values` makes them; what was made before is found again, so common subexpressions are one value.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .loops.index import ONE, ZERO, Intlike, Ix, ix, product, strides_of
from .loops.scalar import Scalar, arg, cast, is_float, lit


@dataclass(frozen=True)
class Call:
    """A call of an engine kernel. `arguments` nests `Slot(i)` for operands, and plain values."""

    op: Any
    arguments: tuple[Any, ...]
    dtypes: tuple[Any, ...] = ()
    """The engine's dtypes of its outputs."""

    impure: int = 0
    """Not 0 for a call that may not be merged with another (random numbers): its number."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of an operand in the arguments of a `Call`."""

    position: int


class Value:
    """An array as a formula. `origins` are the names of the graph nodes that it computes, or a part of them."""

    __slots__ = (
        "_numel",
        "_single",
        "args",
        "data",
        "dtype",
        "id",
        "kind",
        "order",
        "origins",
        "pinned",
        "shape",
        "start",
        "strides",
    )

    def __init__(self, id: int, kind: str, shape: tuple[Ix, ...], dtype: str, args: tuple[Value, ...], data: Any):
        self.id, self.kind, self.shape, self.dtype, self.args, self.data = id, kind, shape, dtype, args, data
        self.order: float = id
        """Where it stands in the program; what rewrites put in stands between others."""
        self._numel: Ix | None = None
        self._single: bool | None = None
        self.origins: dict[str, None] = {}
        self.strides: tuple[Ix, ...] | None = None
        """Where its elements are in memory, if not in row-major order."""
        self.pinned = False
        """Whether it has memory of its own, though nothing asks for it."""
        self.start: Ix = ZERO
        """Where its first element is in memory."""

    def __repr__(self) -> str:
        return f"%{self.id}"

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def single(self) -> bool:
        """Whether some dimension has one place only."""
        if self._single is None:
            self._single = any([n.number == 1 for n in self.shape])
        return self._single

    def numel(self) -> Ix:
        """The number of elements."""
        if self._numel is None:
            self._numel = product(self.shape)
        return self._numel


@dataclass
class Values:
    """Makes values, and finds those that were made before."""

    made: list[Value] = field(default_factory=list)
    merged: int = 0
    origin: str = ""
    """The node that is being translated."""

    _known: dict[Any, Value] = field(default_factory=dict)

    def new(
        self,
        kind: str,
        shape: Iterable[Intlike],
        dtype: str,
        args: Sequence[Value] = (),
        data: Any = None,
        key: Any = None,
    ) -> Value:
        """A value; the same one for the same description."""
        sizes = tuple(ix(n) for n in shape)
        known = (kind, sizes, dtype, tuple(a.id for a in args), data if key is None else key)
        try:
            found = self._known.get(known)
        except TypeError:
            known, found = object(), None
        if found is None:
            found = Value(len(self.made), kind, sizes, dtype, tuple(args), data)
            self.made.append(found)
            self._known[known] = found
        elif kind not in ("input", "constant"):
            self.merged += self.origin not in found.origins
        if self.origin:
            found.origins[self.origin] = None
        return found

    def point(self, formula: Scalar, args: Sequence[Value], shape: Iterable[Intlike] | None = None) -> Value:
        """Elementwise: operands are broadcast. Without `shape` the result has their common one."""
        sizes = broadcast(*[a.shape for a in args]) if shape is None else tuple(ix(n) for n in shape)
        return self.new("point", sizes, formula.type, args, formula)

    def full(self, shape: Iterable[Intlike], number: Any, dtype: str) -> Value:
        """The same number everywhere."""
        return self.point(lit(number, dtype), (), shape)

    def cast(self, x: Value, dtype: str) -> Value:
        """The elements in another type."""
        return x if x.dtype == dtype else self.point(cast(arg(0, x.dtype), dtype), (x,))

    def view(self, x: Value, shape: Iterable[Intlike], strides: Iterable[Intlike], offset: Intlike = 0) -> Value:
        """Elements of `x` at strides in its row-major order."""
        sizes = tuple(ix(n) for n in shape)
        steps = tuple(ZERO if n == ONE else ix(s) for n, s in zip(sizes, strides, strict=True))
        offset = ix(offset)
        if sizes == x.shape and offset == ZERO and steps == canonical(sizes):
            return x
        if x.kind == "point" and not x.args and not any(leaf.op == "index" for leaf in _leaves(x.data)):
            return self.point(x.data, (), sizes)
        return self.new("view", sizes, x.dtype, (x,), (steps, offset))

    def reshape(self, x: Value, shape: Iterable[Intlike]) -> Value:
        """The same elements in row-major order in another shape."""
        sizes = tuple(ix(n) for n in shape)
        if x.kind == "view" and self._flat(x):
            x = x.args[0]
        return self.view(x, sizes, strides_of(sizes))

    def _flat(self, x: Value) -> bool:
        """Whether a view keeps all elements in their order."""
        steps, offset = x.data
        return offset == ZERO and steps == canonical(x.shape) and x.numel() == x.args[0].numel()

    def permute(self, x: Value, dims: Sequence[int]) -> Value:
        """The dimensions in another order."""
        steps = strides_of(x.shape)
        return self.view(x, [x.shape[d] for d in dims], [steps[d] for d in dims])

    def expand(self, x: Value, shape: Sequence[Intlike]) -> Value:
        """Dimensions of size 1 repeated, new ones in front."""
        sizes = tuple(ix(n) for n in shape)
        extra = len(sizes) - x.rank
        steps = [ZERO] * extra + [
            s if n == m else ZERO for s, n, m in zip(strides_of(x.shape), x.shape, sizes[extra:], strict=True)
        ]
        return self.view(x, sizes, steps)

    def unsqueeze(self, x: Value, dims: Iterable[int]) -> Value:
        """Dimensions of size 1 put in at these places of the result."""
        shape: list[Intlike] = list(x.shape)
        for d in sorted(dims):
            shape.insert(d, ONE)
        return self.reshape(x, shape)

    def reduce(
        self, function: str, x: Value, dims: Sequence[int], keepdim: bool = False, dtype: str | None = None
    ) -> Value:
        """A reduction over dimensions; `function` is sum, prod, max, min, and, or, argmax, argmin."""
        named = tuple(sorted(dims))
        kept = [n for d, n in enumerate(x.shape) if d not in named]
        if any(x.shape[d] == ONE for d in named):
            if function.startswith("arg"):
                out = self.full(kept, 0, dtype or "i64")
                return self.unsqueeze(out, named) if keepdim else out
            # Dimensions of size 1 are gone at once.
            gone = [d for d in named if x.shape[d] == ONE]
            rest = [d for d in range(x.rank) if d not in gone]
            x = self.reshape(x, [x.shape[d] for d in rest])
            dims = tuple(rest.index(d) for d in named if d not in gone)
        else:
            dims = named
        if dims:
            out = self.new("reduce", kept, dtype or x.dtype, (x,), (function, dims))
        else:
            out = self.cast(x, dtype) if dtype else x
        return self.unsqueeze(out, named) if keepdim else out

    def pick(
        self, x: Value, places: Sequence[tuple[Any, ...]], indices: Sequence[Value], shape: Iterable[Intlike]
    ) -> Value:
        """Elements of `x`, whose coordinate in each dimension is ("dim", k): the result's in dimension k; or ("at", j,
        dims): the element of `indices[j]` at the result's coordinates in `dims`."""
        return self.new("pick", shape, x.dtype, (x, *indices), tuple(places))

    def scatter(
        self, base: Value, source: Value, function: str, places: Sequence[tuple[Any, ...]], indices: Sequence[Value]
    ) -> Value:
        """`base` with the elements of `source` set, or combined by `function`, at places as in `pick` (coordinates are the source's)."""
        return self.new("scatter", base.shape, base.dtype, (base, source, *indices), (function, tuple(places)))

    def product(self, a: Value, b: Value) -> Value:
        """Matrix products over the last two dimensions; those before are equal."""
        return self.new("product", (*a.shape[:-1], b.shape[-1]), a.dtype, (a, b))

    def constant(self, array: Any, dtype: str) -> Value:
        """An array known now."""
        return self.new("constant", array.shape, dtype, (), array, key=id(array))


def _leaves(x: Scalar) -> list[Scalar]:
    from .loops.scalar import leaves

    return leaves(x)


def canonical(shape: Sequence[Ix]) -> tuple[Ix, ...]:
    """Row-major strides, 0 where the size is 1."""
    return _canonical(tuple(shape))


@functools.lru_cache(4096)
def _canonical(shape: tuple[Ix, ...]) -> tuple[Ix, ...]:
    return tuple(ZERO if n == ONE else s for n, s in zip(shape, strides_of(shape), strict=True))


def broadcast(*shapes: Sequence[Ix]) -> tuple[Ix, ...]:
    """The common shape."""
    rank = max((len(s) for s in shapes), default=0)
    out = [ONE] * rank
    for s in shapes:
        for d, n in enumerate(s, rank - len(s)):
            if n != ONE:
                out[d] = n
    return tuple(out)


__all__ = ["Call", "Slot", "Value", "Values", "broadcast", "canonical", "is_float"]
