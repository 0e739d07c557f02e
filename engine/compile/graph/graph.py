"""The graph: an ordered list of nodes that can be edited, checked and printed; and the module that runs one.

Names of methods are torch.fx's. A graph holds no values: constants stand in the `GraphModule` that owns it.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Iterator
from typing import Any

from .node import Node, map_nodes


class _Insertion:
    """`with graph.inserting_before(node):` New nodes go there; the place before comes back at the end."""

    def __init__(self, graph: Graph, place: Node):
        self._graph, self._before = graph, graph._place
        graph._place = place

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        self._graph._place = self._before


class Graph:
    """Nodes in program order."""

    def __init__(self) -> None:
        # A ring through a root that is no node of the program: its next is the first node, its previous the last.
        self._root = Node(self, "", "output", "root", (), {})
        self._place = self._root
        self._names: dict[str, int] = {}
        self._taken: set[str] = set()

    # -- reading --------------------------------------------------------------------------------

    @property
    def nodes(self) -> list[Node]:
        """All nodes in order (a copy: the graph may be edited while walking it)."""
        return list(self)

    def __iter__(self) -> Iterator[Node]:
        node = self._root._next
        while node is not self._root:
            following = node._next
            yield node
            node = following

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def placeholders(self) -> list[Node]:
        """The parameters in order."""
        return [n for n in self if n.op == "placeholder"]

    @property
    def output_node(self) -> Node:
        """The node that returns; raises RuntimeError where there is none yet."""
        last = self._root._prev
        if last.op != "output" or last is self._root:
            raise RuntimeError("this graph has no output yet: call graph.output(value) first")
        return last

    def find_nodes(self, *, op: str, target: Any = None) -> list[Node]:
        """The nodes of one kind (and target)."""
        return [n for n in self if n.op == op and (target is None or n.target == target)]

    # -- making nodes ---------------------------------------------------------------------------

    def create_node(
        self, op: str, target: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, name: str = ""
    ) -> Node:
        """A node at the place of insertion (by default the end)."""
        node = Node(self, self.fresh_name(name or _hint(op, target)), op, target, args, kwargs or {})
        self._link(node, self._place)
        return node

    def placeholder(self, name: str) -> Node:
        """A parameter of the graph's function."""
        node = self.create_node("placeholder", name, name=name)
        node.target = node.name
        return node

    def get_attr(self, name: str) -> Node:
        """A constant of the module that runs the graph."""
        return self.create_node("get_attr", name, name=name.replace(".", "_"))

    def call_function(
        self, target: Callable[..., Any] | Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Node:
        """A call of a function, or of a primitive (`Op`)."""
        return self.create_node("call_function", target, args, kwargs)

    def call_method(self, name: str, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Node:
        """A call of a method; the first argument is the object."""
        return self.create_node("call_method", name, args, kwargs)

    def output(self, value: Any) -> Node:
        """What the graph's function returns."""
        return self.create_node("output", "output", (value,))

    def fresh_name(self, hint: str) -> str:
        """A valid Python name close to `hint` that no node has."""
        name = re.sub(r"\W", "_", hint).lstrip("_") or "value"
        if name[0].isdigit() or keyword.iskeyword(name):
            name = "_" + name
        if name not in self._taken and name not in _RESERVED:
            self._taken.add(name)
            return name
        base = re.sub(r"_\d+$", "", name)
        number = self._names.get(base, 0)
        while True:
            number += 1
            if f"{base}_{number}" not in self._taken:
                break
        self._names[base] = number
        self._taken.add(f"{base}_{number}")
        return f"{base}_{number}"

    # -- places ---------------------------------------------------------------------------------

    def inserting_before(self, node: Node) -> _Insertion:
        """Put new nodes before `node`, at once or within a `with`."""
        return _Insertion(self, node)

    def inserting_after(self, node: Node) -> _Insertion:
        """Put new nodes right after `node`, at once or within a `with`."""
        return _Insertion(self, node._next)

    def insert_before(self, place: Node, node: Node) -> None:
        """Move `node` to right before `place`."""
        self._unlink(node)
        self._link(node, place)

    def _link(self, node: Node, place: Node) -> None:
        before = place._prev
        before._next, node._prev = node, before
        node._next, place._prev = place, node

    def _unlink(self, node: Node) -> None:
        node._prev._next, node._next._prev = node._next, node._prev
        node._prev = node._next = node

    def erase_node(self, node: Node) -> None:
        """Take out a node that nobody uses; raises RuntimeError otherwise."""
        if node.users:
            raise RuntimeError(f"cannot erase {node.name}: {next(iter(node.users)).name} uses it")
        if self._place is node:
            self._place = node._next
        self._unlink(node)
        node._set((), {})

    # -- passes ---------------------------------------------------------------------------------

    def eliminate_dead_code(self) -> bool:
        """Take out pure nodes whose value nobody uses; returns whether there were any. Placeholders stay."""
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not node.is_impure():
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """Check the order of definitions, names and the links to users; raises RuntimeError naming the node."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self:
            if node.graph is not self:
                raise RuntimeError(f"{node.name} belongs to another graph")
            if node.name in names:
                raise RuntimeError(f"two nodes are called {node.name}")
            names.add(node.name)
            for n in node.all_input_nodes:
                if n not in seen:
                    raise RuntimeError(f"{node.name} uses {n.name} before it is defined")
                if node not in n.users:
                    raise RuntimeError(f"{n.name} does not know that {node.name} uses it")
            for user in node.users:
                if node not in user.all_input_nodes:
                    raise RuntimeError(f"{node.name} counts {user.name} among its users, which does not use it")
            if node.op == "output" and node._next is not self._root:
                raise RuntimeError("nodes stand after the output")
            if node.op == "placeholder" and any(n.op not in ("placeholder", "get_attr") for n in seen):
                raise RuntimeError(f"placeholder {node.name} stands after computing nodes")
            seen.add(node)

    def copy(self) -> tuple[Graph, dict[Node, Node]]:
        """A copy, and which node became which."""
        out = Graph()
        made: dict[Node, Node] = {}
        for node in self:
            args, kwargs = (map_nodes(a, made.__getitem__) for a in (node.args, node.kwargs))
            twin = out.create_node(node.op, node.target, args, kwargs, node.name)
            twin.meta = dict(node.meta)
            made[node] = twin
        return out, made

    def python_code(self, name: str = "forward") -> Any:
        """The graph as the source of a Python function, with what it refers to: see `printing.PythonCode`."""
        from .printing import print_graph

        return print_graph(self, name)

    def __str__(self) -> str:
        return "\n".join(n.format_node() for n in self)


_RESERVED = {*dir(builtins), "self", "torch", "ops", "effects", "creations", "operator", "math"}
"""Names that generated code uses itself."""


def _hint(op: str, target: Any) -> str:
    if isinstance(target, str):
        return target.split(".")[-1]
    return str(getattr(target, "name", None) or getattr(target, "__name__", None) or "value").split(".")[-1]


__all__ = ["Graph"]
