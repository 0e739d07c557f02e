"""Built-in functions that iterate, and itertools, while capturing: one entry each, as in `builtins_table.py`.

Native iterators run natively over native containers; where one would run Python code, it is given an iterator (or function) that has
that code interpreted.
"""

from __future__ import annotations

import bisect
import itertools
import operator
from typing import Any

from ...tensor import Tensor
from ..interpreter.frame import EXHAUSTED, Frame
from ..interpreter.generators import InterpretedGenerator
from . import equivalents
from .entries import entry
from .stops import Stop
from .tables import HANDLERS
from .values import PLAIN, Obj, facet

# -- iteration --------------------------------------------------------------------------------------


class Following:
    """A native iterator over one that is interpreted, for native code that wants one. `iterator` is that."""

    __slots__ = ("domain", "iterator")

    def __init__(self, domain: Any, iterator: Any) -> None:
        self.domain, self.iterator = domain, iterator

    def __iter__(self) -> Following:
        return self

    def __next__(self) -> Any:
        item = self.domain.next_value(self.domain.now, self.iterator)
        if item is EXHAUSTED:
            raise StopIteration
        return item


class Calling:
    """A native function that calls an interpreted one, for native code that wants one. `function` is that."""

    __slots__ = ("domain", "function", "test")

    def __init__(self, domain: Any, function: Any, test: bool = False) -> None:
        self.domain, self.function, self.test = domain, function, test

    def __call__(self, *args: Any) -> Any:
        out = self.domain.nested(self.function, list(args), {})
        return self.domain.truth_of(out) if self.test else out


def native_iterator(domain: Any, frame: Frame, value: Any) -> Any:
    """An iterator that native code may use."""
    iterator = domain.nested_value(frame, domain.get_iter(frame, value))
    if (
        isinstance(iterator, InterpretedGenerator)
        or type(iterator) is Obj
        or domain.special(iterator, "__next__") is not None
    ):
        return Following(domain, iterator)
    return iterator


@entry(iter)
def _iter(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    if len(args) == 2:
        return domain.push(frame, equivalents.until, args, {})
    return domain.get_iter(frame, args[0])


@entry(next)
def _next(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    iterator = domain.read(args[0])
    if isinstance(iterator, InterpretedGenerator):
        if len(args) == 1:
            made = iterator.resume(None)
            if made is None:
                raise StopIteration
            return made
        item = domain.resume_nested(iterator, None)
    elif type(iterator) is Obj and domain.special(iterator, "__next__") is None:
        item = domain.next_ahead(iterator)
    else:
        method = domain.special(iterator, "__next__")
        if method is not None and len(args) == 1:
            return domain.push(frame, method, [iterator], {})
        if method is None and not hasattr(type(iterator), "__next__"):
            raise TypeError(f"'{type(iterator).__name__}' object is not an iterator")
        item = domain.next_value(frame, iterator)
    if item is EXHAUSTED:
        if len(args) > 1:
            return args[1]
        raise StopIteration
    return item


@entry(range)
def _range(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    given = [domain.read(a) for a in args]
    if any(isinstance(a, Tensor) for a in given):
        raise Stop("item", "range()")
    return range(*[domain.concrete(a) for a in given])


@entry(slice)
def _slice(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return slice(*[domain.read(a) for a in args])


@entry(enumerate)
def _enumerate(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    return enumerate(native_iterator(domain, frame, args[0]), domain.concrete(domain.read(start)))


@entry(zip)
def _zip(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    strict = domain.truth_of(kwargs.get("strict", False))
    return zip(*[native_iterator(domain, frame, a) for a in args], strict=strict)


@entry(map)
def _map(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return map(Calling(domain, args[0]), *[native_iterator(domain, frame, a) for a in args[1:]])


@entry(filter)
def _filter(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    f = domain.read(args[0])
    test = Calling(domain, bool if f is None else f, True)
    return filter(test, native_iterator(domain, frame, args[1]))


@entry(reversed)
def _reversed(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    value = domain.read(args[0])
    method = domain.special(value, "__reversed__")
    if method is not None:
        return domain.push(frame, method, [value], {})
    if isinstance(value, Tensor):
        raise Stop("opaque-call", "reversed() of a tensor")
    if type(value) is Obj:
        part = facet(value)
        if part is not None:
            return reversed(part.native())
        method = domain.special(value, "__getitem__")
        if method is not None:
            n = domain.nested(domain.attribute(frame, value, "__len__"), [], {})
            return iter([domain.nested(method, [value, i], {}) for i in reversed(range(domain.concrete(n)))])
        raise Stop("opaque-call", f"reversed() of a {value.kind.__name__}")
    return reversed(value)


@entry(sorted)
def _sorted(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.sorted(
        frame, domain.elements(frame, args[0]), kwargs.get("key"), domain.truth_of(kwargs.get("reverse", False))
    )


def _itertool(native: Any, iterables: Any, functions: tuple[int, ...] = ()) -> Any:
    """A class of itertools whose arguments number `iterables` (None: all) are iterables, those of `functions` functions."""

    def handler(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
        given = []
        for i, a in enumerate(args):
            if i in functions:
                f = domain.read(a)
                given.append(None if f is None else Calling(domain, f))
            elif iterables is None or i in iterables:
                given.append(native_iterator(domain, frame, a))
            else:
                given.append(domain.concrete(domain.read(a)))
        return native(*given, **{k: domain.concrete(domain.read(v)) for k, v in kwargs.items()})

    return handler


for _native, _iterables, _functions in (
    (itertools.chain, None, ()), (itertools.islice, (0,), ()), (itertools.product, None, ()), (itertools.zip_longest, None, ()),
    (itertools.repeat, (), ()), (itertools.count, (), ()), (itertools.cycle, (0,), ()),
    (itertools.permutations, (0,), ()), (itertools.combinations, (0,), ()), (itertools.combinations_with_replacement, (0,), ()),
    (itertools.pairwise, (0,), ()), (itertools.compress, (0, 1), ()),
    (itertools.takewhile, (1,), (0,)), (itertools.dropwhile, (1,), (0,)), (itertools.filterfalse, (1,), (0,)),
):  # fmt: skip
    HANDLERS[id(_native)] = (_native, _itertool(_native, _iterables, _functions))


@entry(itertools.accumulate)
def _accumulate(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    """Sums, or what a function makes of two, of values that may be symbolic."""
    names = ("iterable", "func")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    f = domain.read(given.get("func"))
    start = {"initial": domain.read(kwargs["initial"])} if "initial" in kwargs else {}
    items = native_iterator(domain, frame, given["iterable"])
    return itertools.accumulate(items, Calling(domain, operator.add if f is None else f), **start)


def _place_in(native: Any) -> Any:
    """A search in a sorted list, where all are plain values and no function is asked."""

    def handler(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
        if len(args) < 2 or len(args) > 4 or kwargs:
            raise Stop("opaque-call", f"bisect.{native.__name__} with keywords")
        row = [domain.concrete(domain.read(v)) for v in domain.elements(frame, args[0])]
        rest = [domain.concrete(domain.read(v)) for v in args[1:]]
        if not all(type(v) in PLAIN for v in (*row, *rest)):
            raise Stop("opaque-call", f"bisect.{native.__name__} of something else than numbers and texts")
        return native(row, *rest)

    return handler


for _native in (bisect.bisect_left, bisect.bisect_right):
    HANDLERS[id(_native)] = (_native, _place_in(_native))


@entry(itertools.repeat)
def _repeat(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return itertools.repeat(args[0], *[domain.concrete(domain.read(a)) for a in (*args[1:], *kwargs.values())])


@entry(itertools.starmap)
def _starmap(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    rows = [domain.elements(frame, row) for row in domain.elements(frame, args[1])]
    return itertools.starmap(Calling(domain, args[0]), rows)
