"""Running a graph node by node, with a method for each kind of node to override; and rewriting one that way."""

from __future__ import annotations

from typing import Any

from ..compile.graph.node import map_nodes
from .graph import Graph
from .graph_module import GraphModule, _find
from .node import Node
from .proxy import Proxy
from .tracer import Tracer


class Interpreter:
    """`Interpreter(gm).run(*inputs)` computes what `gm(*inputs)` does. Values are forgotten after their last use."""

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None):
        self.module = module
        self.graph = graph if graph is not None else module.graph
        self.env: dict[Node, Any] = {}
        self.garbage_collect_values = garbage_collect_values
        last: dict[Node, Node] = {}
        for node in self.graph.nodes:
            for n in node.all_input_nodes:
                last[n] = node
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        for n, user in last.items():
            self.user_to_last_uses.setdefault(user, []).append(n)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Run the graph. An error says at which node it was raised."""
        self.env = dict(initial_env or {})
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if not any("While executing" in n for n in getattr(error, "__notes__", ())):
                    error.add_note(f"While executing {node.format_node()}")
                raise
            if self.garbage_collect_values:
                for gone in self.user_to_last_uses.get(node, ()):
                    del self.env[gone]
            if node.op == "output":
                return self.env[node]
        return None

    def run_node(self, n: Node) -> Any:
        """The value of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The next input, or the default; raises RuntimeError where there is neither."""
        if isinstance(target, str) and target.startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a method."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        """What the graph returns."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """An attribute by its dotted name."""
        return _find(self.module, target)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, Any]:
        """The arguments of a node, as values."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Nodes replaced by their values."""
        return map_nodes(args, self.env.__getitem__)


class Transformer(Interpreter):
    """Builds a new module out of an old one: what the methods return becomes its nodes. `transform()` runs it."""

    def __init__(self, module: GraphModule):
        super().__init__(module)
        self.new_graph = Graph(module)
        self.tracer = Tracer()
        self.tracer.graph, self.tracer.root = self.new_graph, module
        self.tracer._names = {id(t): n for n, t in (*module.named_parameters(), *module.named_buffers())}

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A parameter of the new graph."""
        return Proxy(self.new_graph.create_node("placeholder", target, args, {}, str(target).lstrip("*")), self.tracer)

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """An attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, (), {}, name=str(target).replace(".", "_"))

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of a method in the new graph."""
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A call of a submodule in the new graph."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        result = super().run()
        self.new_graph.output(self.tracer.create_arg(result))
        return GraphModule(self.module, self.new_graph)


__all__ = ["Interpreter", "Transformer"]
