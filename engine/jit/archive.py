"""Traces in files: the state as `torch.save` writes it, the graph as its own text, which is checked word by word before it is compiled.

Loading runs nothing that the file brings: the text may only assign results of primitives (by name, from the operator table) and of a few
functions of the engine to names, and return them. Anything else is refused with the line that it stands on.
"""

from __future__ import annotations

import ast
import operator
from typing import Any

from ..tensor import Tensor

FORMAT, VERSION = "tapescope.jit", 1
_FUNCTIONS = ("min", "max", "abs", "int", "float", "slice", "bool", "complex", "len", "range")


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Keep what `torch.jit.trace` made in a file (a name or a binary file). Raises TypeError for anything else."""
    from ..serialization import save as save_tensors
    from .trace import TopLevelTracedModule

    if not isinstance(m, TopLevelTracedModule):
        raise TypeError(
            f"torch.jit.save takes what torch.jit.trace made, not {type(m).__name__}; torch.save keeps other things"
        )
    module = m.__dict__["_graph"]
    names, state = m.__dict__["_names"], m._state()
    constants = {k: v for k, v in module.constants.items() if isinstance(v, Tensor)}
    _check(module.code, set(module.constants))  # what cannot be read back is refused now, not later
    save_tensors(
        {
            "format": FORMAT, "version": VERSION, "name": m.original_name, "code": module.code, "training": m.training,
            "arguments": list(m.__dict__["_arguments"]),
            "state": {n: t.detach() for n, t in zip(names, state)},
            "parameters": [n for n, t in zip(names, state) if type(t).__name__ == "Parameter"],
            "needs": [n for n, t in zip(names, state) if t.requires_grad],
            "constants": {k: v.detach() for k, v in constants.items()},
        },
        f,
    )  # fmt: skip


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> Any:
    """What `torch.jit.save` kept, as something to call. Raises RuntimeError for other files, or for a text that is no graph."""
    from ..nn.parameter import Parameter
    from ..serialization import load as load_tensors
    from .trace import TopLevelTracedModule

    kept = load_tensors(f, map_location=map_location, weights_only=True)
    if not isinstance(kept, dict) or kept.get("format") != FORMAT:
        raise RuntimeError(
            "this file holds no trace: it was not written by torch.jit.save of this engine (torch.load reads other files)"
        )
    if kept["version"] > VERSION:
        raise RuntimeError(
            f"this trace was written by a newer version (format {kept['version']}, this one reads up to {VERSION})"
        )
    state: dict[str, Any] = {}
    for name, value in kept["state"].items():
        state[name] = Parameter(value, name in kept["needs"]) if name in kept["parameters"] else value
    graph = _Loaded(kept["code"], kept["constants"])
    return TopLevelTracedModule(kept["name"], state, graph, kept["training"], kept["arguments"])


class _Loaded:
    """A graph that came from a file: its text, compiled."""

    def __init__(self, code: str, constants: dict[str, Any]):
        _check(code, set(constants))
        self.code, self.constants, self.graph = code, constants, code
        space = {
            "__builtins__": {
                n: __builtins__[n] if isinstance(__builtins__, dict) else getattr(__builtins__, n) for n in _FUNCTIONS
            }
        }
        space.update(_names())
        exec(compile(code, "<trace from a file>", "exec"), space)
        self._forward = next(
            v for k, v in space.items() if callable(v) and getattr(v, "__code__", None) is not None and k == "forward"
        )

    def __call__(self, *inputs: Any) -> Any:
        return self._forward(self, *inputs)


def _names() -> dict[str, Any]:
    """What the text of a graph refers to."""
    import sys

    from .. import random
    from ..compile.aot import creations
    from ..compile.graph.primitives import ops

    return {
        "ops": ops, "creations": creations, "random": random, "operator": operator, "_operator": operator,
        "torch": sys.modules[(__package__ or "").rsplit(".", 1)[0]],
    }  # fmt: skip


def _public(module: str) -> set[str]:
    """The functions of a module of the engine that a graph may call."""
    found = _names()[module]
    return {
        n
        for n, v in vars(found).items()
        if callable(v) and not n.startswith("_") and getattr(v, "__module__", "") == found.__name__
    }


def _check(code: str, constants: set[str]) -> None:
    """Raises RuntimeError naming the line of a text that does more than compute a graph."""
    from ..ops.composed import COMPOSED
    from ..ops.table import OPS

    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        raise RuntimeError(f"the graph in this file is no Python: {error}") from None
    lines = code.splitlines()
    allowed = {
        "ops": {*OPS, *COMPOSED}, "creations": _public("creations"), "random": _public("random"),
        "operator": {"getitem", "add", "sub", "mul", "floordiv", "mod", "neg"},
    }  # fmt: skip
    allowed["_operator"] = allowed["operator"]

    def refuse(node: ast.AST, why: str) -> None:
        line = getattr(node, "lineno", 1)
        text = lines[line - 1].strip() if line <= len(lines) else ""
        raise RuntimeError(f"the graph in this file is refused at line {line}, `{text[:80]}`: {why}")

    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef) or tree.body[0].name != "forward":
        refuse(tree.body[0] if tree.body else tree, "there must be one function, called forward")
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    if function.decorator_list or function.args.defaults or function.args.kw_defaults or function.returns:
        refuse(function, "its function has decorators, defaults or annotations")
    for statement in function.body:
        if not isinstance(statement, (ast.Assign, ast.Expr, ast.Delete, ast.Return, ast.Pass)):
            refuse(statement, f"a graph has no {type(statement).__name__} statement")
        for node in ast.walk(statement):
            _allow(node, allowed, constants, refuse)


_PLAIN = (
    ast.Assign, ast.Expr, ast.Delete, ast.Return, ast.Pass, ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Slice, ast.Load, ast.Store,
    ast.Del, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.BoolOp, ast.keyword, ast.operator, ast.unaryop, ast.cmpop, ast.boolop,
)  # fmt: skip


def _allow(node: ast.AST, allowed: dict[str, set[str]], constants: set[str], refuse: Any) -> None:
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id not in _FUNCTIONS:
            refuse(node, f"it calls {node.func.id}")
        elif not isinstance(node.func, (ast.Name, ast.Attribute)):
            refuse(node, "it calls what is no name")
    elif isinstance(node, ast.Attribute):
        root = node.value
        if isinstance(root, ast.Name) and root.id in allowed:
            if node.attr not in allowed[root.id]:
                refuse(node, f"there is no {root.id}.{node.attr} that a graph may use")
        elif isinstance(root, ast.Name) and root.id == "torch":
            from ..dtypes import DTYPES

            if node.attr not in {"device", *DTYPES}:
                refuse(node, f"a graph may not use torch.{node.attr}")
        elif isinstance(root, ast.Name) and root.id == "self":
            if node.attr != "constants" and node.attr not in constants:
                refuse(node, f"it reads self.{node.attr}")
        elif node.attr != "shape":
            refuse(node, f"it reads the attribute {node.attr}")
    elif isinstance(node, ast.Subscript):
        pass
    elif isinstance(node, ast.Name):
        if node.id.startswith("__"):
            refuse(node, f"it uses the name {node.id}")
    elif not isinstance(node, _PLAIN):
        refuse(node, f"a graph has no {type(node).__name__}")


__all__ = ["load", "save"]
