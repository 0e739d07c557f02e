"""The graph of a trace: nodes of modules beside those of functions, and printed as PyTorch prints it."""

from __future__ import annotations

import builtins
import keyword
import operator
import re
from dataclasses import dataclass, field
from typing import Any

from ..compile.graph.graph import Graph as _Graph
from ..compile.graph.node import map_nodes
from .node import Node, line, target_name

_INFIX = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//", operator.mod: "%",
    operator.pow: "**", operator.matmul: "@", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==",
    operator.ne: "!=", operator.and_: "&", operator.or_: "|", operator.xor: "^", operator.lshift: "<<", operator.rshift: ">>",
}  # fmt: skip
_PREFIX = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}


_PYTHON = frozenset([*dir(builtins), *keyword.kwlist, "self", "torch", "inf", "nan", "device"])
"""Names that nodes do not get, since printed code would read them as something else."""


@dataclass
class PythonCode:
    """`src` defines `forward(self, ...)`; `globals` are what it refers to."""

    src: str
    globals: dict[str, Any] = field(default_factory=dict)


class Graph(_Graph):
    """Nodes in program order. `owning_module` is where `get_attr` and `call_module` look."""

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None):
        super().__init__()
        self.owning_module = owning_module

    @staticmethod
    def _hint_for(target: Any) -> str:
        """The name that a call of `target` is given before it is made unique."""
        label = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
        return re.sub(r"\W", "_", str(label).split(".")[-1])

    def fresh_name(self, hint: str) -> str:
        """A name close to `hint` that no node has and that means nothing in Python."""
        name = re.sub(r"\W", "_", hint.lstrip("*")) or "value"
        if name[0].isdigit():
            name = "_" + name
        base, _, number = name.rpartition("_")
        if not (base and number.isdigit()):
            base, number = name, "0"
        count = int(number)
        while name in self._taken or name in _PYTHON:
            count = max(count, self._names.get(base, 0)) + 1
            name = f"{base}_{count}"
        self._names[base] = max(count, self._names.get(base, 0))
        self._taken.add(name)
        return name

    def call_module(
        self, module_name: str, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, type_expr: Any = None
    ) -> Node:
        """A call of a submodule, by its dotted name."""
        return self.create_node("call_module", module_name, args, kwargs, name=module_name.replace(".", "_"))

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """A parameter, with a default where one is given."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, name=name)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """An attribute of the module, by its dotted name."""
        return self.create_node("get_attr", qualified_name, name=qualified_name.replace(".", "_"))

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """What the function returns."""
        return self.create_node("output", "output", (result,))

    def node_copy(self, node: Node, arg_transform: Any = lambda n: n) -> Node:
        """A copy of another graph's node here; `arg_transform` says what its arguments are."""
        args, kwargs = (map_nodes(a, arg_transform) for a in (node.args, node.kwargs))
        twin = self.create_node(node.op, node.target, args, kwargs, node.name)
        twin.meta = dict(node.meta)
        return twin

    def graph_copy(self, g: Any, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copy all nodes of `g` here; returns what it returns, in nodes of this graph."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                out = map_nodes(node.args[0], val_map.__getitem__)
                return (out, node) if return_output_node else out
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def python_code(self, root_module: str = "self", **unused: Any) -> PythonCode:
        """The source of `forward`, and its globals."""
        return _Printer(root_module).code(self)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self.nodes]
        widths = [max(len(r[i]) for r in rows) for i in range(5)]
        for i, row in enumerate(rows):
            print("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip())
            if i == 0:
                print("  ".join("-" * w for w in widths))

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {line(n)}" for n in self.nodes)


class _Printer:
    """Writes one graph."""

    def __init__(self, root: str):
        self.root = root
        self.globals: dict[str, Any] = {}

    def code(self, graph: Graph) -> PythonCode:
        nodes = graph.nodes
        last: dict[Node, Node] = {}
        for node in nodes:
            for n in node.all_input_nodes:
                last[n] = node
        dead: dict[Node, list[Node]] = {}
        for n in nodes:
            user = last.get(n)
            if user is not None and user.op != "output":
                dead.setdefault(user, []).append(n)
        parameters, body = ["self"], []
        for node in nodes:
            if node.op == "placeholder":
                label = str(node.target)
                parameters.append(label + (f" = {self.value(node.args[0])}" if node.args else ""))
                if label.lstrip("*") != node.name:
                    body.append(f"{node.name} = {label.lstrip('*')}")
                continue
            if node.op == "output":
                body.append(f"return {self.value(node.args[0])}")
                continue
            text = f"{node.name} = {self.call(node)}"
            gone = [n.name for n in self._order(dead.get(node, []), node)]
            if gone:
                text += f";  {' = '.join(gone)} = None"
            elif not node.users:
                text += f";  {node.name} = None"
            body.append(text)
        inner = "\n".join(f"    {b}" for b in body or ["pass"])
        return PythonCode(f"\n\n\ndef forward({', '.join(parameters)}):\n{inner}\n    ", self.globals)

    @staticmethod
    def _order(gone: list[Node], node: Node) -> list[Node]:
        """In the order of the arguments, as PyTorch forgets them."""
        places = {n: i for i, n in enumerate(node.all_input_nodes)}
        return sorted(gone, key=lambda n: places[n])

    def value(self, v: Any) -> str:
        if isinstance(v, Node):
            return v.name
        if isinstance(v, tuple) and hasattr(v, "_fields"):
            return f"{self.named(type(v))}({', '.join(map(self.value, v))})"
        if isinstance(v, tuple):
            return f"({', '.join(map(self.value, v))}{',' if len(v) == 1 else ''})"
        if isinstance(v, list):
            return f"[{', '.join(map(self.value, v))}]"
        if isinstance(v, dict):
            return "{" + ", ".join(f"{k!r}: {self.value(x)}" for k, x in v.items()) + "}"
        if isinstance(v, slice):
            return f"slice({self.value(v.start)}, {self.value(v.stop)}, {self.value(v.step)})"
        text = repr(v)
        if text in ("inf", "nan", "-inf"):
            return f"float({text!r})"
        if text.startswith("torch.") or isinstance(v, type) or callable(v):
            return self.named(v) if callable(v) else self._torch(text)
        if text.startswith("device("):
            self._torch("")
            return f"torch.{text}"
        return text

    def _torch(self, text: str) -> str:
        import sys

        self.globals["torch"] = sys.modules[(__package__ or "").rsplit(".", 1)[0]]
        return text

    def named(self, target: Any) -> str:
        """A function by a name that the source can use."""
        name = target_name(target)
        if name.startswith("torch."):
            place: Any = None
            try:
                self._torch("")
                place = self.globals["torch"]
                for part in name.split(".")[1:]:
                    place = getattr(place, part)
            except AttributeError:
                place = None
            from .. import overrides

            if place is target or overrides.original(place) is overrides.original(target):
                return name
        module, _, label = name.rpartition(".")
        if module == "builtins":
            return label
        if module == "operator":
            self.globals["operator"] = operator
            return name
        safe = name.replace(".", "_").replace("<", "_").replace(">", "_")
        safe = safe + "_" if keyword.iskeyword(safe) else safe
        while safe in self.globals and self.globals[safe] is not target:
            safe += "_"
        self.globals[safe] = target
        return safe

    def call(self, node: Node) -> str:
        args, kwargs = node.args, node.kwargs
        if node.op in ("get_attr", "call_module"):
            place = self._attribute(str(node.target))
            if node.op == "get_attr":
                return place
            return f"{place}({self._given(args, kwargs)})"
        if node.op == "call_method":
            return f"{self._atom(args[0])}.{node.target}({self._given(args[1:], kwargs)})"
        target = node.target
        if not kwargs:
            if target in _INFIX and len(args) == 2:
                return f"{self.value(args[0])} {_INFIX[target]} {self.value(args[1])}"
            if target in _PREFIX and len(args) == 1:
                return f"{_PREFIX[target]}{self.value(args[0])}"
            if target is operator.getitem and len(args) == 2:
                return f"{self._atom(args[0])}[{self.value(args[1])}]"
            if target is getattr and len(args) == 2 and str(args[1]).isidentifier():
                return f"{self._atom(args[0])}.{args[1]}"
        return f"{self.named(target)}({self._given(args, kwargs)})"

    def _given(self, args: Any, kwargs: Any) -> str:
        return ", ".join([*map(self.value, args), *(f"{k} = {self.value(v)}" for k, v in kwargs.items())])

    def _atom(self, v: Any) -> str:
        text = self.value(v)
        return text if isinstance(v, Node) else f"({text})"

    def _attribute(self, path: str) -> str:
        out = self.root
        for part in path.split("."):
            out = (
                f"{out}.{part}" if part.isidentifier() and not keyword.iskeyword(part) else f'getattr({out}, "{part}")'
            )
        return out


__all__ = ["Graph", "PythonCode"]
