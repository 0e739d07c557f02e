"""Writes the Python function of a captured segment: guards, the call of the graph, effects, and what comes out.

The function takes the list of slot values `S` and answers `MISS` where a guard does not hold; otherwise it runs the graph, applies the
effects in their order, and answers the value that is returned, or the innermost frame to go on with.  All paths are read before the
graph runs, so that effects cannot change what they lead to.  How symbolic values are built again is `rebuild.py`'s.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

from ... import module_path
from ...autograd.node import ENGINE_FOLDER
from .guards import Guard
from .sources import STEPS, Source, step
from .world import World

_numbers = itertools.count()


class Miss:
    """What the function of a segment answers where a guard does not hold."""

    def __repr__(self) -> str:
        return "<miss>"


MISS = Miss()


class Cache:
    """What a segment remembers of the modules below one anchor: valid while the anchor and the structure epoch are the same."""

    __slots__ = ("dicts", "epoch", "root", "size", "values")

    def __init__(self) -> None:
        self.epoch = -1
        self.root: Any = _nothing
        self.values: Any = ()
        self.dicts: Any = ()
        """The dictionaries of the modules that must not get an attribute in front of a parameter, and how many names they have in all:
        names that are put straight into a `__dict__` do not move the epoch."""
        self.size = -1


def _nothing() -> None:
    return None


class Writer:
    """Collects the lines of the function."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sources = world.sources
        self.wanted: dict[Source, None] = {}
        """Sources that are read before the graph runs, besides those that guards look at."""
        self.body: list[str] = []
        self.names = itertools.count()
        self.extra: dict[str, Any] = {}
        self._by_id: dict[int, str] = {}

    def constant(self, value: Any) -> str:
        """The name of a constant in the function's globals."""
        return self.sources.constant(value)

    def fresh(self, prefix: str = "x") -> str:
        return f"_{prefix}{next(self.names)}"

    def source(self, source: Source) -> str:
        """The variable that holds what a source leads to."""
        self.wanted.setdefault(source)
        return _variable(source)

    def line(self, text: str) -> None:
        self.body.append("    " + text)

    # -- putting it together --------------------------------------------------------------------

    def finish(
        self, guards: list[Guard], symbols: dict[str, tuple[Source, int | None]], relations: list[str], name: str
    ) -> Any:
        """The compiled function. `symbols` bind sizes and numbers, `relations` are conditions over them."""
        head = _Head(self, guards)
        for source in self.wanted:
            head.need(source)
        for source, _ in symbols.values():
            head.need(source)
        lines = head.lines()
        late: list[str] = []
        for symbol, (source, dim) in symbols.items():
            e = _variable(source)
            late.append(f"        {symbol} = {e}._data.shape[{dim}]" if dim is not None else f"        {symbol} = {e}")
        for relation in relations:
            late.append(f"        if not ({relation}):\n            return _MISS")
        text = "\n".join(
            [
                f"def {name}(S):",
                "    try:",
                *(lines + late or ["        pass"]),
                "    except Exception:",
                "        return _MISS",
                *self.body,
            ]
        )
        filename = f"{ENGINE_FOLDER}generated/segment_{next(_numbers)}.py"
        space: dict[str, Any] = {
            **self.sources.namespace(), **head.caches, **self.extra, "_MISS": MISS, "_mp": module_path, **STEPS, "math": __import__("math"),
        }  # fmt: skip
        exec(compile(text, filename, "exec"), space)
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        return space[name], text


def _variable(source: Source) -> str:
    return f"v{source.number}"


class _Head:
    """The first part of the function: reads sources and checks guards, those of modules only when the epoch moved."""

    def __init__(self, writer: Writer, guards: list[Guard]) -> None:
        self.writer = writer
        self.constant = writer.constant
        self.guards = guards
        self.out: list[str] = []
        self.known: set[Source] = set()
        self.needed: dict[Source, None] = {}
        self.caches: dict[str, Any] = {}
        self.by_anchor: dict[Source, list[Guard]] = {}
        self.blocks: set[Source] = set()

    def need(self, source: Source) -> None:
        self.needed.setdefault(source)

    def lines(self) -> list[str]:
        plain: list[Guard] = []
        for guard in self.guards:
            anchor = self._anchor(guard)
            if anchor is None:
                plain.append(guard)
            else:
                self.by_anchor.setdefault(anchor, []).append(guard)
        # Which covered sources are used outside of their block: those that something uncovered is read from or needed.
        self.exported: dict[Source, dict[Source, None]] = {}
        for guard in plain:
            self._export(guard.source)
            for other in guard.others:
                self._export(other)
        for source in self.needed:
            self._export(source)
        for guard in plain:
            self._check(guard)
        for anchor in self.by_anchor:
            self._block(anchor)
        for source in self.needed:
            self._emit(source)
        return self.out

    def _anchor(self, guard: Guard) -> Source | None:
        """The anchor in whose block a guard stands, None for one that is always checked."""
        if not guard.covered:
            return None
        if guard.source.covered:
            return guard.source.anchor()
        return guard.source

    def _export(self, source: Source | None) -> None:
        while source is not None:
            if source.covered:
                self.exported.setdefault(source.anchor(), {})[source] = None
                source = source.anchor()
            else:
                self._export(source.key_source)
                source = source.base

    def _check(self, guard: Guard) -> None:
        e = self._emit(guard.source)
        for other in guard.others:
            self._emit(other)
        self.out.append(f"        if {guard.test(e, self.constant, _variable)}:\n            return _MISS")

    def _emit(self, source: Source) -> str:
        name = _variable(source)
        if source in self.known:
            return name
        if source.covered:
            self._block(source.anchor())
            if source in self.known:
                return name
        base = self._emit(source.base) if source.base is not None else ""
        by = self._emit(source.key_source) if source.key_source is not None else ""
        self.out.append(f"        {name} = {step(source, base, self.constant, by)}")
        self.known.add(source)
        return name

    def _block(self, anchor: Source) -> None:
        if anchor in self.blocks:
            return
        self.blocks.add(anchor)
        root = self._emit(anchor)
        exported = list(self.exported.get(anchor, ()))
        guards = self.by_anchor.get(anchor, [])
        if not exported and not guards:
            return
        cache = f"C{len(self.caches)}"
        self.caches[cache] = Cache()
        inside: dict[Source, None] = {}
        lines: list[str] = []

        def emit(source: Source) -> str:
            name = _variable(source)
            if source in inside or source in self.known:
                return name
            base = emit(source.base) if source.base is not None else ""
            by = emit(source.key_source) if source.key_source is not None else ""
            lines.append(f"            {name} = {step(source, base, self.constant, by)}")
            inside[source] = None
            return name

        for guard in guards:
            e = emit(guard.source)
            for other in guard.others:
                emit(other)
            lines.append(f"            if {guard.test(e, self.constant, _variable)}:\n                return _MISS")
        for source in exported:
            emit(source)
        values = ", ".join(map(_variable, exported)) + ("," if exported else "")
        bare = list(dict.fromkeys(emit(g.source) for g in guards if g.kind == "has_own"))
        grown = f" or sum(map(len, {cache}.dicts)) != {cache}.size" if bare else ""
        self.out.append(f"        if {cache}.epoch != _mp.structure_epoch or {cache}.root() is not {root}{grown}:")
        self.out += lines
        self.writer.extra["_ref"] = _reference
        if bare:
            self.out.append(f"            {cache}.dicts = ({', '.join(f'{e}.__dict__' for e in bare)},)")
            self.out.append(f"            {cache}.size = sum(map(len, {cache}.dicts))")
        self.out.append(
            f"            {cache}.values, {cache}.root, {cache}.epoch = ({values}), _ref({root}), _mp.structure_epoch"
        )
        if exported:
            self.out.append("        else:")
            self.out.append(f"            {values} = {cache}.values")
        self.known.update(exported)


def _reference(value: Any) -> Callable[[], Any]:
    import weakref

    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


__all__ = ["MISS", "Writer"]
