"""Captured graphs: nodes, printing as valid Python, running, and passes that need no shapes."""

from .graph import Graph
from .module import GraphModule
from .node import Node, TensorSpec, map_nodes, nodes_in, spec_of

__all__ = ["Graph", "GraphModule", "Node", "TensorSpec", "map_nodes", "nodes_in", "spec_of"]
