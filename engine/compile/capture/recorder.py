"""Writes the level-1 graph of a segment: one node for each call of an operator, in program order, and its inputs.

It knows fakes and the nodes they stand for; which calls become nodes is the domain's business (`leaves.py`), how a segment is put
together from the graph is `codegen.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...observe import Source as Place
from ...tensor import Tensor
from ..fake import FakeBackend, ShapeEnv, SymFloat, SymInt, fake_like
from ..graph import Graph, GraphModule, Node, effects, spec_of
from . import tape
from .values import Misused

if TYPE_CHECKING:
    from .guards import GuardSet
    from .sources import Source


class Input:
    """One parameter of the graph: its node, the source it is read from, and what it was."""

    __slots__ = ("example", "node", "source", "symbol")

    def __init__(self, node: Node, source: Source, example: Any, symbol: Any) -> None:
        self.node, self.source, self.example, self.symbol = node, source, example, symbol


class Unrecorded(Exception):
    """An argument cannot stand in a graph. `value` is it."""

    def __init__(self, value: Any) -> None:
        super().__init__(f"{type(value).__name__} cannot be an argument of a graph node")
        self.value = value


class _Watch:
    """Sees everything that makes or changes memory of fakes."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __getattr__(self, name: str) -> Any:
        if not self._recorder.flag.on:
            raise Misused("a tensor without values was computed with by native code")
        return _ignore


def _ignore(*args: Any, **kwargs: Any) -> None:
    return None


class Flag:
    """Whether an operator runs on fakes now."""

    on = False


class Recorder:
    """The graph of one segment while it is captured."""

    def __init__(self) -> None:
        self.flag = Flag()
        self.backends: dict[str, FakeBackend] = {}
        self.graph = Graph()
        self.env = ShapeEnv()
        self.inputs: list[Input] = []
        self.symbols: dict[str, tuple[Source, int | None]] = {}
        """Where each symbolic number is found: a source, and the dimension where it is a size."""
        self.nodes: dict[int, tuple[Any, Node]] = {}
        """By identity of a fake tensor (or other symbolic value): the value, its node."""
        self.versions: dict[int, int] = {}
        """By identity of the twin of a tensor that existed before: how often its memory was written to at the start."""
        self.numbers: dict[str, Any] = {}
        """Numbers that nodes give (`item` of a counter of an optimizer), by their names."""
        self.constants: dict[str, Any] = {}
        self.operators = 0
        self.place: Callable[[], tuple[Place | None, str]] = lambda: (None, "")
        self.step: Callable[[], int] = lambda: 0
        self.objects: dict[int, tuple[Any, Node]] = {}
        self._inputs_end: Node | None = None

    def backend(self, name: str) -> FakeBackend:
        """The fake of a device in this capture, which refuses to compute outside of operators that become nodes."""
        found = self.backends.get(name)
        if found is None:
            found = self.backends[name] = FakeBackend(name)
            found.recorder = _Watch(self)
        return found

    # -- inputs ---------------------------------------------------------------------------------

    def _placeholder(self, source: Source, example: Any, symbol: Any, name: str = "") -> Node:
        node = self._place_input(name or re.sub(r"\W+", "_", source.label).strip("_") or "input")
        self.inputs.append(Input(node, source, example, symbol))
        return node

    def _place_input(self, name: str) -> Node:
        """A parameter after those that are there."""
        if self._inputs_end is None:
            first = next(iter(self.graph), None)
            if first is None:
                node = self.graph.placeholder(name)
            else:
                with self.graph.inserting_before(first):
                    node = self.graph.placeholder(name)
        else:
            with self.graph.inserting_after(self._inputs_end):
                node = self.graph.placeholder(name)
        self._inputs_end = node
        return node

    def input(self, t: Tensor, source: Source, dims: frozenset[int]) -> Any:
        """The fake twin of a real tensor, as a parameter of the graph."""
        sizes = {}
        for d in sorted(dims):
            size = self.env.size(int(t._data.shape[d]), (source.label, d))
            sizes[d] = size
            self.symbols[size.symbol_name() or ""] = (source, d)
        before, self.flag.on = self.flag.on, True
        try:
            fake = fake_like(t, sizes, env=self.env, backends=self.backend)
            if t.grad_fn is not None:
                tape.begin(fake)
        finally:
            self.flag.on = before
        node = self._placeholder(source, t, fake)
        node.meta["val"] = spec_of(fake)
        node.meta["path"] = source.label
        self.nodes[id(fake)] = (fake, node)
        self.versions[id(fake)] = fake._storage.version
        return fake

    def scalar(self, value: Any, source: Source, guards: GuardSet) -> Any:
        """A number of the program that changes between calls, as a parameter of the graph."""
        label = source.label
        if type(value) is int:
            symbol: Any = self.env.integer(value, (label, None))
        else:
            symbol = self.env.real(value, (label, None))
        guards.type(source, type(value))
        name = symbol.symbol_name()
        self.symbols[name] = (source, None)
        node = self._placeholder(source, value, symbol, name)
        node.meta["val"] = symbol
        node.meta["path"] = label
        return symbol

    def object(self, value: Any, source: Source) -> Node:
        """An object that operators take (a generator of random numbers), as a parameter of the graph."""
        known = self.objects.get(id(value))
        if known is None:
            node = self._placeholder(source, value, value)
            known = self.objects[id(value)] = (value, node)
        return known[1]

    # -- nodes ----------------------------------------------------------------------------------

    def node_of(self, value: Any) -> Node | None:
        """The node of a fake tensor, None where it has none."""
        known = self.nodes.get(id(value))
        return known[1] if known is not None and known[0] is value else None

    def argument(self, value: Any, other: Callable[[Any], Any]) -> Any:
        """An argument with nodes in the place of fakes; `other` answers for what is neither tensor nor plain."""
        if isinstance(value, Tensor):
            node = self.node_of(value)
            if node is None:
                raise Unrecorded(value)
            return node
        kind = type(value)
        if kind in _PLAIN or kind is SymInt or kind is SymFloat:
            return value
        if kind is list:
            return [self.argument(v, other) for v in value]
        if isinstance(value, tuple):
            parts = [self.argument(v, other) for v in value]
            if hasattr(value, "_fields"):
                return kind(*parts)
            return tuple(parts)
        if kind is dict:
            return {k: self.argument(v, other) for k, v in value.items()}
        if kind is slice:
            return slice(*(self.argument(v, other) for v in (value.start, value.stop, value.step)))
        return other(value)

    def call(
        self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any, *, method: bool = False
    ) -> Node:
        """A node that calls an operator, whose result on the fakes was `out`."""
        if method:
            node = self.graph.call_method(target, args, kwargs)
        else:
            node = self.graph.call_function(target, args, kwargs)
        place, path = self.place()
        node.meta["source"], node.meta["module"], node.meta["tape"] = place, path, None
        node.meta["step"] = self.step()
        self.operators += 1
        self.result(node, out)
        return node

    def switch(self, target: Any, args: tuple[Any, ...]) -> Node:
        """A node that switches something of the engine on or off."""
        node = self.call(target, args, {}, None)
        node.meta["impure"] = node.meta["switch"] = True
        return node

    def result(self, node: Node, out: Any) -> None:
        """Say which fakes a node gives; those that have a node already keep it."""
        if isinstance(out, Tensor):
            node.meta["val"] = spec_of(out)
            if self.node_of(out) is None:
                self.nodes[id(out)] = (out, node)
        elif isinstance(out, (tuple, list)):
            node.meta["val"] = tuple(spec_of(o) if isinstance(o, Tensor) else o for o in out)
            for i, o in enumerate(out):
                if (isinstance(o, Tensor) and self.node_of(o) is None) or isinstance(o, (tuple, list)):
                    import operator

                    part = self.graph.call_function(operator.getitem, (node, i))
                    part.meta.update({k: node.meta.get(k) for k in ("source", "module", "tape")})
                    self.result(part, o)
        else:
            node.meta["val"] = out if type(out) in _PLAIN else None

    def read_number(self, t: Any, out_type: type) -> Any:
        """`t.item()` as a number that is known when the graph runs: a symbolic float without a hint."""
        node = self.node_of(t)
        if node is None:
            raise Unrecorded(t)
        symbol = self.env.real(None, None)
        made = self.graph.create_node("call_method", "item", (node,), {}, symbol.symbol_name() or "")
        place, path = self.place()
        made.meta.update(source=place, module=path, tape=None, val=symbol)
        made.meta["impure"] = True
        if made.name != symbol.symbol_name():
            raise Unrecorded(t)
        self.numbers[made.name] = symbol
        self.nodes[id(symbol)] = (symbol, made)
        return symbol

    # -- the end --------------------------------------------------------------------------------

    def finish(self, outputs: list[Any]) -> GraphModule | None:
        """The graph as a module that returns a tuple of `outputs` (fakes); None where it does nothing."""
        nodes = [self.node_of(o) for o in outputs]
        self.graph.output(tuple(nodes))
        self.graph.eliminate_dead_code()
        if all(n.op in ("placeholder", "output") for n in self.graph):
            return None
        for entry in list(self.inputs):
            if not entry.node.users and type(entry.symbol) not in (SymInt, SymFloat):
                self.inputs.remove(entry)
                self.graph.erase_node(entry.node)
        return GraphModule(self.graph, self.constants)


_PLAIN = frozenset({int, float, bool, str, bytes, complex, type(None), type(...)})

__all__ = ["Input", "Recorder", "Unrecorded", "effects"]
