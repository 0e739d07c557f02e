"""A module whose `forward` is a graph."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

from ..nn.module import Module
from .graph import Graph

_numbers = itertools.count()


class GraphModule(Module):
    """Runs `graph` with the submodules, parameters and attributes that its nodes name, taken from `root`.

    `root` is a module, or a dictionary from dotted names to attributes. After the graph was edited, call `recompile()`.
    Raises RuntimeError for a name that the root has not.
    """

    _graph: Graph
    _code: str

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule"):
        super().__init__()
        self.__dict__["_class_name"] = class_name
        if isinstance(root, Module):
            self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    self._adopt(str(node.target), _find(root, str(node.target)))
        else:
            for name, value in root.items():
                self._adopt(name, value)
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and str(node.target) not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                    )
        self.__dict__["meta"] = {}
        self.graph = graph

    def _get_name(self) -> str:
        return self.__dict__.get("_class_name", "GraphModule")

    def _adopt(self, path: str, value: Any) -> None:
        place: Any = self
        *parents, last = path.split(".")
        for part in parents:
            if not hasattr(place, part):
                setattr(place, part, Module())
            place = getattr(place, part)
        if not isinstance(value, Module) and hasattr(value, "shape") and not hasattr(value, "requires_grad_"):
            setattr(place, last, value)
        elif not isinstance(value, Module) and type(value).__name__ == "Tensor":
            place.register_buffer(last, value)
        else:
            setattr(place, last, value)

    @property
    def graph(self) -> Graph:
        """The graph; assigning one compiles it."""
        return self.__dict__["_graph"]

    @graph.setter
    def graph(self, graph: Graph) -> None:
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        self.recompile()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "graph":
            type(self).graph.__set__(self, value)  # type: ignore[attr-defined]  (Module's own would not ask the property)
        else:
            super().__setattr__(name, value)

    @property
    def code(self) -> str:
        """The source of `forward`."""
        return self.__dict__["_code"]

    def recompile(self) -> Any:
        """Print and compile the graph anew; needed after it was edited."""
        made = self.graph.python_code()
        name, space = f"<fx graph {next(_numbers)}>", dict(made.globals)
        exec(compile(made.src, name, "exec"), space)
        linecache.cache[name] = (len(made.src), None, made.src.splitlines(True), name)
        self.__dict__["_code"] = made.src
        self.__dict__["forward"] = space["forward"].__get__(self)
        return made

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module under a dotted name."""
        self._adopt(target, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take a submodule away; returns whether it was there."""
        *parents, last = target.split(".")
        try:
            place = _find(self, ".".join(parents)) if parents else self
            delattr(place, last)
        except (AttributeError, RuntimeError):
            return False
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take away the submodules that no node names."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("get_attr", "call_module"):
                parts = str(node.target).split(".")
                used |= {".".join(parts[: i + 1]) for i in range(len(parts))}
                if node.op == "call_module":
                    used |= {f"{node.target}.{n}" for n, _ in _find(self, str(node.target)).named_modules() if n}
        for name in [n for n, _ in self.named_modules() if n and n not in used]:
            self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **unused: Any) -> str:
        """The source, within a class; printed unless told not to, and returned."""
        body = self.code.strip("\n").rstrip().replace("\n", "\n    ")
        text = f"class {self._get_name()}(torch.nn.Module):\n    {body}\n"
        if print_output:
            print(text)
        return text

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        import copy

        root = Module()
        for name, value in self.__dict__.items():
            if name in ("_parameters", "_buffers", "_modules"):
                root.__dict__[name] = copy.deepcopy(value, memo)
        graph = Graph()
        made: dict[Any, Any] = {}
        graph.output(graph.graph_copy(self.graph, made))
        out = GraphModule(root, graph, self._get_name())
        out.training = self.training
        return out

    def __repr__(self) -> str:
        return (
            f"{super().__repr__()}\n{self.code}\n# To see more debug info, please use `graph_module.print_readable()`"
        )

    __str__ = __repr__


def _find(root: Any, path: str) -> Any:
    place = root
    for part in path.split("."):
        if not hasattr(place, part):
            raise RuntimeError(f"the graph names {path!r}, but the module {type(root).__name__} has no such attribute")
        place = getattr(place, part)
    return place


__all__ = ["GraphModule"]
