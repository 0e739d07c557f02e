"""Segments of a compiled function: where they begin, what was captured there, and how they end.

A place is the chain of frames without its values: code, instruction, which slots are bound.  The values, in a fixed order, are the
slots `S` that sources start from.  Each place holds up to a limit of captured entries, which differ in their guards.
"""

from __future__ import annotations

from typing import Any

from ..interpreter.frame import NULL, UNBOUND, Frame
from .guards import Guard
from .sources import Sources
from .world import Dynamic


class Exit:
    """How a segment ends: "return", "break", "turn" or "raise"; the break with its place."""

    __slots__ = ("break_id", "category", "hint", "kind", "reason", "source", "values")

    def __init__(
        self, kind: str, break_id: str = "", category: str = "", reason: str = "", hint: str = "", source: Any = None,
        values: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.kind, self.break_id, self.category, self.reason, self.hint = kind, break_id, category, reason, hint
        self.source, self.values = source, values


class Entry:
    """One captured segment. `run(S)` answers `MISS`, or what comes out."""

    __slots__ = (
        "calls", "compiled", "effects", "exit", "following", "foreign", "function_name", "graph", "guards", "id", "inputs", "operators", "place",
        "relations", "returns", "run", "seconds", "source", "sources", "symbols", "text",
    )  # fmt: skip

    def __init__(self, id: str) -> None:
        self.id = id
        self.run: Any = None
        self.returns = False
        self.graph: Any = None
        self.compiled: Any = None
        self.guards: list[Guard] = []
        self.sources: Sources | None = None
        self.symbols: dict[str, Any] = {}
        self.exit = Exit("return")
        self.calls = 0
        self.seconds = 0.0
        self.effects: list[str] = []
        self.text = ""
        self.inputs: list[Any] = []
        self.place: Any = None
        self.following: dict[str, None] = {}
        self.function_name = ""
        self.source: Any = None
        self.operators = 0
        self.foreign = False
        """Whether the graph is run by a backend of the user, whose errors are the user's."""
        self.relations: list[str] = []


class Place:
    """What is known of one place: its entries, newest match first, and whether it runs eagerly from now on."""

    __slots__ = ("dynamic", "eager", "entries", "key", "labels")

    def __init__(self, key: Any, labels: list[str]) -> None:
        self.key, self.labels = key, labels
        self.dynamic = Dynamic()
        self.entries: list[Entry] = []
        self.eager = ""


def flatten(frame: Frame) -> tuple[Any, list[Any]]:
    """The key of the place at which a chain of frames stands, and its slots."""
    key: list[Any] = []
    slots: list[Any] = []
    chain = list(frame.chain())
    for f in reversed(chain):
        bound = []
        for values in (f.locals, f.stack):
            for v in values:
                if v is UNBOUND or v is NULL:
                    bound.append(v.name)
                else:
                    bound.append("")
                    slots.append(v)
        if f.handled is not None:
            slots.append(f.handled)
        if f.convert is not None:
            slots.append(f.convert.payload)
        key.append(
            (
                f.program,
                f.ip,
                len(f.stack),
                tuple(bound),
                f.handled is not None,
                f.convert.name if f.convert is not None else "",
                f.on_return,
            )
        )
    return tuple(key), slots


def labels_of(frame: Frame) -> list[str]:
    """How a user would name each slot."""
    out: list[str] = []
    chain = list(frame.chain())
    for f in reversed(chain):
        for name, v in zip(f.program.slots, f.locals, strict=True):
            if v is not UNBOUND and v is not NULL:
                out.append(name)
        for i, v in enumerate(f.stack):
            if v is not UNBOUND and v is not NULL:
                out.append(f"<value {i}>")
        if f.handled is not None:
            out.append("<exception>")
        if f.convert is not None:
            out.append("<instance>")
    return out


def symbolic_chain(frame: Frame, wrap: Any, note: Any) -> Frame:
    """A copy of a chain of frames with symbolic values; `wrap(value, index)` gives those, in the order of `flatten`."""
    from ..interpreter.frame import Convert
    from .calls import _Instance

    index = 0
    back: Frame | None = None
    for f in reversed(list(frame.chain())):
        made = f.copy()
        for values in (made.locals, made.stack):
            for i, v in enumerate(values):
                if v is not UNBOUND and v is not NULL:
                    values[i] = wrap(v, index)
                    index += 1
        if f.handled is not None:
            made.handled = wrap(f.handled, index)
            index += 1
        if f.convert is not None:
            instance = wrap(f.convert.payload, index)
            index += 1
            made.convert = Convert("init", _Instance(instance), instance)
        made.back = back
        made.note = note()
        back = made
    assert back is not None
    return back
