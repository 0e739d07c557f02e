"""Graphs as Python source: valid, runnable, one line a node, shapes in comments, the user's line where it changes.

What the source refers to comes with it (`PythonCode.globals`), and which line is which node (`lines`), so that an error of
the running function can be traced to a node.
"""

from __future__ import annotations

import linecache
import math
import operator
from dataclasses import dataclass
from typing import Any

from ... import overrides
from ...device import device as Device
from ...dtypes import dtype as DType
from ...ops.table import FUNCTIONS, Op
from .node import Node, TensorSpec

_INFIX = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//", operator.mod: "%",
    operator.pow: "**", operator.matmul: "@", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==",
    operator.ne: "!=", operator.and_: "&", operator.or_: "|", operator.xor: "^", operator.lshift: "<<", operator.rshift: ">>",
}  # fmt: skip
_AUGMENTED = {
    operator.iadd: "+", operator.isub: "-", operator.imul: "*", operator.itruediv: "/", operator.ifloordiv: "//", operator.imod: "%",
    operator.ipow: "**", operator.imatmul: "@", operator.iand: "&", operator.ior: "|", operator.ixor: "^", operator.ilshift: "<<",
    operator.irshift: ">>",
}  # fmt: skip
_PREFIX = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}


@dataclass(slots=True)
class PythonCode:
    """`src` defines one function called `name`; `globals` are what it refers to; `lines` maps lines (from 1) to nodes."""

    src: str
    globals: dict[str, Any]
    lines: dict[int, Node]
    name: str

    def function(self, filename: str = "<graph>") -> Any:
        """The function, compiled; its source is shown in tracebacks."""
        space = dict(self.globals)
        exec(compile(self.src, filename, "exec"), space)
        linecache.cache[filename] = (len(self.src), None, self.src.splitlines(True), filename)
        return space[self.name]


_function_names: dict[int, tuple[Any, str]] = {}


def _public_name(function: Any) -> str | None:
    """`torch.nn.functional.linear` for a function of the operator table, or None."""
    if not _function_names:
        for key, entry in FUNCTIONS.items():
            if entry.spaces and entry.spaces[0] != "method":
                _function_names.setdefault(id(entry.call), (entry.call, "torch." + key))
            elif entry.method:
                _function_names.setdefault(id(entry.call), (entry.call, "torch.Tensor." + entry.name))
            if entry.inplace is not None:
                _function_names.setdefault(id(entry.inplace), (entry.inplace, f"torch.Tensor.{entry.name}_"))
    function = overrides.original(function)
    found = _function_names.get(id(function))
    return found[1] if found is not None and found[0] is function else None


def target_text(node: Node) -> str:
    """The target of a node as one name."""
    target = node.target
    if isinstance(target, str):
        return target
    if isinstance(target, Op):
        return f"ops.{target.name}"
    return _public_name(target) or str(getattr(target, "__qualname__", target))


class _Printer:
    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.globals: dict[str, Any] = {}
        self.symbols: dict[str, None] = {}
        self._known: dict[int, str] = {}

    def named(self, value: Any, hint: str) -> str:
        """A global name that means `value`."""
        key = id(value)
        found = self._known.get(key)
        if found is not None and self.globals.get(found) is value:
            return found
        name, number = hint, 0
        while name in self.taken or (name in self.globals and self.globals[name] is not value):
            number += 1
            name = f"{hint}_{number}"
        self.globals[name] = value
        self._known[key] = name
        return name

    def torch(self, path: str) -> str:
        import sys

        from ... import __name__ as package

        self.globals["torch"] = sys.modules[package]
        return path

    def value(self, v: Any) -> str:
        """An argument as an expression."""
        if isinstance(v, Node):
            return v.name
        kind = type(v)
        if v is None or v is Ellipsis or kind in (bool, int, str, bytes):
            return repr(v)
        if kind is float or kind is complex:
            return self._number(v)
        if hasattr(v, "code") and hasattr(v, "free_symbols"):  # symbolic numbers
            for s in v.free_symbols():
                self.symbols[s] = None
            text = v.code()
            if "math." in text:
                self.globals["math"] = math
            return text
        if kind is list:
            return f"[{', '.join(map(self.value, v))}]"
        if isinstance(v, tuple) and not hasattr(v, "_fields"):
            return f"({', '.join(map(self.value, v))}{',' if len(v) == 1 else ''})"
        if isinstance(v, tuple):
            return f"{self.named(kind, kind.__name__)}({', '.join(map(self.value, v))})"
        if kind is dict:
            return "{" + ", ".join(f"{self.value(k)}: {self.value(x)}" for k, x in v.items()) + "}"
        if kind is slice:
            return f"slice({self.value(v.start)}, {self.value(v.stop)}, {self.value(v.step)})"
        if isinstance(v, DType):
            return self.torch(f"torch.{v.name}")
        if isinstance(v, Device):
            return self.torch(f"torch.device({str(v)!r})")
        if kind in (set, frozenset):
            inner = ", ".join(map(self.value, sorted(v, key=repr)))
            return f"{kind.__name__}([{inner}])"
        if callable(v):
            return self.function(v)
        return self.named(v, f"_{kind.__name__.lower()}")

    def _number(self, v: Any) -> str:
        text = repr(v)
        if "inf" in text or "nan" in text:
            return f"{type(v).__name__}({text!r})" if isinstance(v, complex) else f"float({text!r})"
        return text

    def function(self, target: Any) -> str:
        """A function as an expression."""
        if isinstance(target, Op):
            from ...ops.table import OPS
            from .primitives import ops, runner

            if OPS.get(target.name) is target:
                self.globals["ops"] = ops
                return f"ops.{target.name}"
            return self.named(runner(target), target.name)
        public = _public_name(target)
        if public is not None:
            return self.torch(public)
        module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", "")
        if module == "builtins" and "." not in name and name not in self.taken:
            return name
        if isinstance(module, str) and name and "<" not in name:
            import sys

            home = sys.modules.get(module)
            found: Any = home
            for part in name.split("."):
                found = getattr(found, part, None)
            if home is not None and found is target:
                return f"{self.named(home, module.rsplit('.', 1)[-1].lstrip('_'))}.{name}"
        return self.named(target, str(getattr(target, "__name__", "function")).replace("<lambda>", "function"))

    def call(self, node: Node) -> str:
        """The right-hand side of a node's line."""
        args, kwargs = node.args, node.kwargs
        if node.op == "get_attr":
            return f"self.{node.target}" if str(node.target).isidentifier() else f"self.constants[{node.target!r}]"
        given = [*map(self.value, args), *(f"{k}={self.value(v)}" for k, v in kwargs.items())]
        if node.op == "call_method":
            return f"{_atom(args[0], given[0])}.{node.target}({', '.join(given[1:])})"
        target = node.target
        if not kwargs:
            if _among(target, _INFIX) and len(args) == 2:
                return f"{_atom(args[0], given[0])} {_INFIX[target]} {_atom(args[1], given[1])}"
            if _among(target, _PREFIX) and len(args) == 1:
                return _PREFIX[target] + _atom(args[0], given[0])
            if target is operator.getitem and len(args) == 2:
                return f"{_atom(args[0], given[0])}[{self._index(args[1])}]"
            if target is getattr and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
                return f"{_atom(args[0], given[0])}.{args[1]}"
        return f"{self.function(target)}({', '.join(given)})"

    def statement(self, node: Node) -> str | None:
        """A write through an operator as the statement that it is; None for the rest."""
        if node.op != "call_function" or node.kwargs or not node.args or not isinstance(node.args[0], Node):
            return None
        target, args = node.target, node.args
        if target is operator.setitem:
            return f"{args[0]}[{self._index(args[1])}] = {self.value(args[2])}"
        if _among(target, _AUGMENTED):
            return f"{args[0]} {_AUGMENTED[target]}= {self.value(args[1])}"
        return None

    def _index(self, v: Any) -> str:
        if type(v) is tuple and v:
            return ", ".join(map(self._index, v)) + ("," if len(v) == 1 else "")
        if type(v) is slice:
            start, stop = ("" if x is None else self.value(x) for x in (v.start, v.stop))
            return f"{start}:{stop}" + ("" if v.step is None else f":{self.value(v.step)}")
        return self.value(v)


def _among(target: Any, table: dict[Any, str]) -> bool:
    """Whether a function stands in a table (targets need not be hashable)."""
    try:
        return target in table
    except TypeError:
        return False


def _atom(value: Any, text: str) -> str:
    plain = isinstance(value, Node) or (type(value) in (int, float) and not text.startswith(("-", "float")))
    return text if plain else f"({text})"


def describe(val: Any) -> str:
    """What a node gives, for a comment: "f32[32, 128]"."""
    if isinstance(val, TensorSpec):
        return str(val) + ("" if val.device == "cpu" else f" {val.device}")
    if isinstance(val, (tuple, list)):
        inner = [describe(v) for v in val]
        return f"({', '.join(inner)})" if any(inner) else ""
    if val is None or isinstance(val, (bool, str)) or not hasattr(val, "free_symbols"):
        return ""
    return str(val)


def print_graph(graph: Any, name: str = "forward") -> PythonCode:
    """The source of a function `name(self, ...)` that runs the graph."""
    nodes = graph.nodes
    printer = _Printer({n.name for n in nodes})
    last: dict[Node, Node] = {n: n for n in nodes}
    for node in nodes:
        for n in node.all_input_nodes:
            last[n] = node
    dead: dict[Node, list[Node]] = {}
    for n, user in last.items():
        named = getattr(n.meta.get("val"), "symbol_name", None) is not None  # formulas use it by its name
        if n.op not in ("placeholder", "output") and user.op != "output" and not named:
            dead.setdefault(user, []).append(n)
    body: list[tuple[str, Node | None]] = []
    shown: Any = None
    parameters = [n for n in nodes if n.op == "placeholder"]
    for node in nodes:
        if node.op == "placeholder":
            continue
        source = node.meta.get("source")
        where = (source.file, source.line) if source is not None else None
        if where is not None and where != shown:
            body.append((f"    {_source_comment(source)}", None))
            shown = where
        if node.op == "output":
            body.append((f"    return {printer.value(node.args[0])}", node))
            continue
        free = [d.name for d in dead.get(node, ()) if d is not node]
        statement = None if node.users else printer.statement(node)
        text = statement or printer.call(node)
        if statement:
            line = f"    {text}"
        elif node in dead.get(node, ()):
            line = f"    {text}" if node.is_impure() else f"    {node.name} = {text}"
        else:
            line = f"    {node.name} = {text}"
        symbol = _symbol(node.meta.get("val"))
        if symbol is not None and symbol != node.name:
            line += f"; {symbol} = {node.name}"
        if free:
            line += f"; del {', '.join(free)}"
        note = describe(node.meta.get("val"))
        body.append((f"{line}  # {note}" if note else line, node))
    lines = [f"def {name}({', '.join(['self', *[p.name for p in parameters]])}):"]
    for p in parameters:
        note = describe(p.meta.get("val"))
        if note:
            lines.append(f"    # {p.name}: {note}")
    lines += [f"    {text}" for text in _bindings(printer.symbols, nodes)]
    table: dict[int, Node] = {}
    for text, node in body:
        lines.append(text)
        if node is not None:
            table[len(lines)] = node
    if not any(n.op == "output" for n in nodes):
        lines.append("    return None")
    return PythonCode("\n".join(lines) + "\n", printer.globals, table, name)


def _bindings(symbols: dict[str, None], nodes: list[Node]) -> list[str]:
    """Lines that read symbolic sizes off the parameters, for those that no node of that name gives."""
    names = {n.name for n in nodes} | {_symbol(n.meta.get("val")) for n in nodes if n.op != "placeholder"}
    missing = [s for s in symbols if s not in names]
    found: dict[str, str] = {}
    for n in nodes:
        if n.op != "placeholder":
            continue
        val = n.meta.get("val")
        if isinstance(val, TensorSpec):
            for i, size in enumerate(val.shape):
                symbol = _symbol(size)
                if symbol is not None:
                    found.setdefault(symbol, f"{n.name}.shape[{i}]")
        else:
            symbol = _symbol(val)
            if symbol is not None:
                found.setdefault(symbol, n.name)
    unknown = [s for s in missing if s not in found]
    if unknown:
        raise RuntimeError(f"the size {unknown[0]} is that of no parameter of the graph")
    return [f"{s} = {found[s]}" for s in missing]


def _symbol(size: Any) -> str | None:
    """The name of a size that is one symbol."""
    name = getattr(size, "symbol_name", None)
    return name() if name is not None else None


def _source_comment(source: Any) -> str:
    text = linecache.getline(source.file, source.line).strip()
    short = source.file.rsplit("/", 1)[-1]
    return f"# {short}:{source.line}" + (f"  {text}" if text else "")


__all__ = ["PythonCode", "describe", "print_graph", "target_text"]
