"""Where a value came from: paths from the slots of the entry frames, from globals and from constants to the value.

A source knows the Python expression that reaches its value again at the next call, and the words in which a user would write it
("self.fc.weight").  Sources are made by one table a capture, so that equal paths are one object.  What is checked about a value is the
business of `guards.py`.
"""

from __future__ import annotations

import copy
import gc
import itertools
from typing import Any

from ..interpreter.frame import Sentinel

LITERALS = (int, float, str, bytes, bool, type(None))


class Source:
    """One path. `covered` says that the structure epoch of modules moves when the value at the end of it changes."""

    __slots__ = ("base", "covered", "key", "key_source", "kind", "label", "number")

    def __init__(
        self, number: int, kind: str, base: Source | None, key: Any, label: str, covered: bool, by: Any
    ) -> None:
        self.number, self.kind, self.base, self.key, self.label = number, kind, base, key, label
        self.covered, self.key_source = covered, by

    def __repr__(self) -> str:
        return f"<source {self.label}>"

    def anchor(self) -> Source:
        """The end of the path before the part that the structure epoch covers."""
        source = self
        while source.covered and source.base is not None:
            source = source.base
        return source


class Sources:
    """The sources of one capture; equal paths are the same object. Constants are numbered for the generated code."""

    def __init__(self) -> None:
        self._known: dict[Any, Source] = {}
        self.constants: dict[int, tuple[str, Any]] = {}

    def constant(self, value: Any) -> str:
        """The name under which generated code finds `value` (a literal where one says it exactly)."""
        if value is None or value is True or value is False:
            return repr(value)
        if type(value) in (int, str, bytes):
            return repr(value)
        return self.object(value)

    def object(self, value: Any) -> str:
        """The name under which generated code finds this very object."""
        known = self.constants.get(id(value))
        if known is None:
            known = self.constants[id(value)] = (f"K{len(self.constants)}", value)
        return known[0]

    def namespace(self) -> dict[str, Any]:
        """The constants by their names."""
        return dict(self.constants.values())

    def _get(
        self, kind: str, base: Source | None, key: Any, label: str, covered: bool = False, by: Any = None
    ) -> Source:
        known = (kind, base.number if base is not None else -1, _hashable(key), by.number if by is not None else -1)
        found = self._known.get(known)
        if found is None:
            found = self._known[known] = Source(len(self._known), kind, base, key, label, covered, by)
        return found

    def slot(self, index: int, label: str) -> Source:
        """Number `index` of the values that a segment is entered with."""
        return self._get("slot", None, index, label)

    def const(self, value: Any, label: str) -> Source:
        """An object that is the same at every call."""
        self.constant(value)
        return self._get("const", None, value, label)

    def attr(self, base: Source, name: str, covered: bool = False) -> Source:
        """An attribute, read as `base.name`."""
        return self._get("attr", base, name, f"{base.label}.{name}" if base.label else name, covered)

    def own(self, base: Source, name: str, covered: bool = False) -> Source:
        """An attribute of the object itself, in its `__dict__`."""
        return self._get("own", base, name, f"{base.label}.{name}" if base.label else name, covered)

    def item(self, base: Source, key: Any, covered: bool = False, label: str | None = None) -> Source:
        """An item under a literal key."""
        if label is None:
            label = f"{base.label}[{key!r}]"
        return self._get("item", base, key, label, covered)

    def item_at(self, base: Source, key: Source, covered: bool = False) -> Source:
        """An item of a dictionary under a key that has a source itself."""
        return self._get("item_at", base, None, f"{base.label}[{key.label}]", covered, key)

    def nth_key(self, base: Source, index: int, covered: bool = False) -> Source:
        """The key of a dictionary (or element of a set) at a place in its order."""
        return self._get("nth_key", base, index, f"list({base.label})[{index}]", covered)

    def of(self, kind: str, base: Source, key: Any, label: str, covered: bool = False) -> Source:
        """Another step: "cell" (the contents of a cell), "closure" (a function's cell), "type", "list_item", "tuple_item"."""
        return self._get(kind, base, key, label, covered)


def _hashable(key: Any) -> Any:
    return (type(key), key) if type(key) in LITERALS else id(key)


def step(source: Source, base: str, constant: Any, by: str = "") -> str:
    """The expression of the last step of a path, given that of what lies before it."""
    kind, key = source.kind, source.key
    if kind == "slot":
        return f"S[{key}]"
    if kind == "const":
        return constant(key)
    if kind == "attr":
        return f"{base}.{key}"
    if kind == "own":
        return f"{base}.__dict__[{key!r}]"
    if kind == "item":
        return f"{base}[{constant(key)}]"
    if kind == "item_at":
        return f"{base}[{by}]"
    if kind == "nth_key":
        return f"_nth({base}, {key})"
    if kind == "cell":
        return f"{base}.cell_contents"
    if kind == "closure":
        return f"{base}.__closure__[{key}]"
    if kind == "type":
        return f"type({base})"
    if kind == "list_item":
        return f"list.__getitem__({base}, {key})"
    if kind == "tuple_item":
        return f"tuple.__getitem__({base}, {key})"
    if kind == "dict_item":
        return f"dict.__getitem__({base}, {constant(key)})"
    if kind == "default":
        return f"{base}.__defaults__[{key}]"
    if kind == "kwdefault":
        return f"{base}.__kwdefaults__[{key!r}]"
    if kind == "viewed":
        return f"_viewed({base})"
    if kind == "ahead":
        return f"_ahead({base}, {key})"
    if kind == "func":
        return f"{base}.__func__"
    if kind == "self":
        return f"{base}.__self__"
    raise ValueError(f"no step {kind!r}")


def full(source: Source, constant: Any) -> str:
    """The whole expression of a source."""
    base = full(source.base, constant) if source.base is not None else ""
    by = full(source.key_source, constant) if source.key_source is not None else ""
    return step(source, base, constant, by)


def viewed(view: Any) -> Any:
    """The dictionary that a view is of."""
    return next(r for r in gc.get_referents(view) if isinstance(r, dict))


END = Sentinel("end")


def ahead(iterator: Any, count: int) -> Any:
    """What one of Python's own iterators gives `count` items from now, END where it gives none; it stays where it is."""
    return next(itertools.islice(copy.copy(iterator), count, count + 1), END)


def advance(iterator: Any, count: int) -> None:
    """Let an iterator give `count` items."""
    next(itertools.islice(iterator, count, count), None)


STEPS: dict[str, Any] = {}
"""What the expressions of paths need, by name."""


def nth(container: Any, index: int) -> Any:
    """The key (or element) at a place in the order of a container."""
    for i, key in enumerate(container):
        if i == index:
            return key
    raise IndexError(index)


STEPS.update(_nth=nth, _viewed=viewed, _ahead=ahead)
