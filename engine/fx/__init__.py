"""`torch.fx`: tracing a module with stand-ins for tensors, and the graph of its calls as something to read, edit and run.

Graphs and nodes are those of the compiler (`engine/compile/graph`), with modules as one more kind of node. The names, the printed code
and the errors are PyTorch's. Tracing runs the Python of `forward` once: it sees one path, and refuses control flow that looks at values
(`torch.compile` does not).
"""

from __future__ import annotations

from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, map_arg
from .proxy import Attribute, Proxy, TraceError
from .rewriter import Match, replace_pattern
from .tracer import Tracer, has_side_effect, symbolic_trace, wrap
