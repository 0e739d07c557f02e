"""A graph with its constants, as something to call.

The compiled function is made on the first call and kept until the graph is recompiled. An error raised while it runs can be
traced to the node that raised it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ...autograd.node import ENGINE_FOLDER, graph_printed
from ...observe import Source
from .graph import Graph
from .node import Node
from .printing import PythonCode

_numbers = itertools.count()


def _origin(node: Node | None) -> tuple[Source | None, str]:
    """Where the user called the operator of a node, and in which module."""
    return (node.meta.get("source"), node.meta.get("module") or "") if node is not None else (None, "")


class GraphModule:
    """`gm(*inputs)` runs the graph. `constants` are what its get_attr nodes name.

    `meta` is free for whoever made or transformed it.
    """

    def __init__(self, graph: Graph, constants: dict[str, Any] | None = None, name: str = "forward"):
        self.graph = graph
        self.constants: dict[str, Any] = dict(constants or {})
        self.meta: dict[str, Any] = {}
        self.name = name
        self.filename = f"{ENGINE_FOLDER}generated/graph_{next(_numbers)}.py"
        self._printed: PythonCode | None = None
        self._function: Callable[..., Any] | None = None

    def __getattr__(self, name: str) -> Any:
        constants = self.__dict__.get("constants")
        if constants is not None and name in constants:
            return constants[name]
        raise AttributeError(f"'GraphModule' object has no attribute or constant '{name}'")

    def add_constant(self, value: Any, hint: str = "constant") -> str:
        """Keep a value under a fresh name, which is returned; a value that is there already keeps its name."""
        for name, known in self.constants.items():
            if known is value:
                return name
        name, number = hint, 0
        while name in self.constants or name in self.__dict__ or hasattr(type(self), name):
            number += 1
            name = f"{hint}_{number}"
        self.constants[name] = value
        return name

    def recompile(self) -> PythonCode:
        """Print and compile anew, after the graph was edited."""
        self._printed = self._function = None
        return self._python()

    def _python(self) -> PythonCode:
        printed = self._printed
        if printed is None:
            printed = self._printed = self.graph.python_code(self.name)
        return printed

    @property
    def code(self) -> str:
        """The source of the function."""
        return self._python().src

    @property
    def forward(self) -> Callable[..., Any]:
        """The compiled function, bound to this module."""
        function: Callable[..., Any] | None = self._function
        if function is None:
            plain = self._python().function(self.filename)
            lines = self._python().lines
            graph_printed(plain.__code__, lambda number: _origin(lines.get(number)))
            function = self._function = plain.__get__(self)
        assert function is not None
        return function

    def __call__(self, *inputs: Any) -> Any:
        return self.forward(*inputs)

    def print_readable(self, print_output: bool = True) -> str:
        """The source, printed (unless told not to) and returned."""
        if print_output:
            print(self.code)
        return self.code

    def node_of(self, error: BaseException) -> Node | None:
        """The node that was running when `error` was raised in this module; None where it came from elsewhere."""
        trace, found = error.__traceback__, None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.filename:
                found = self._python().lines.get(trace.tb_lineno)
            trace = trace.tb_next
        return found

    def placeholders(self) -> list[Node]:
        """The parameters in order."""
        return self.graph.placeholders

    def copy(self) -> GraphModule:
        """A module with a copy of the graph and the same constants."""
        out = GraphModule(self.graph.copy()[0], self.constants, self.name)
        out.meta = dict(self.meta)
        return out

    def __repr__(self) -> str:
        return f"GraphModule({len(self.graph)} nodes)\n{self.code}"


__all__ = ["GraphModule"]
