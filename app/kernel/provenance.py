"""Which run made each variable, and whether something it was computed from has changed since.

It compares the namespace before and after a cell, and reads from the cell's text which names it binds and uses.  It
runs none of the user's code: of a tensor the version counter is asked, of a network those of its parameters.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from .torch_name import ENGINE

__all__ = ["Maker", "Provenance"]

_MOST_PARAMETERS = 500


@dataclass(slots=True)
class Maker:
    """The run that bound a name last, and the state of each name it used, as it was when the run was over."""

    cell: str
    revision: int
    used: dict[str, int] = field(default_factory=dict)


class Provenance:
    """Follows one namespace. `begin` and `end` enclose each run."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._makers: dict[str, Maker] = {}
        self._changes: dict[str, int] = {}  # how often a name was bound anew or its value changed in place
        self._seen: dict[str, tuple[int, int]] = {}
        self._run: tuple[str, int, str] | None = None

    def begin(self, cell: str, revision: int, code: str) -> None:
        """A cell is about to run."""
        self._run = (cell, revision, code)

    def end(self) -> None:
        """The cell is over, well or not."""
        run, self._run = self._run, None
        if run is None:
            return
        cell, revision, code = run
        flow = names_of(code)
        now = self._states()
        changed = {name for name, state in now.items() if self._seen.get(name) != state}
        made = {name for name in now if name in flow or name not in self._seen or now[name][0] != self._seen[name][0]}
        same = {name for name in made - changed if _imported(self._namespace.get(name))}
        for name in (changed | made) - same:
            self._changes[name] = self._changes.get(name, 0) + 1
        for name in self._seen.keys() - now.keys():
            self._changes[name] = self._changes.get(name, 0) + 1
            self._makers.pop(name, None)
        self._seen = now
        for name in made:
            used = {n: self._changes.get(n, 0) for n in _outside(name, flow) if n in now}
            self._makers[name] = Maker(cell, revision, used)

    def maker(self, name: str) -> Maker | None:
        """The run that bound a name last, None where it was before all runs."""
        return self._makers.get(name)

    def stale(self, name: str) -> str:
        """A sentence where something that a variable was computed from has changed since, else ""."""
        maker = self._makers.get(name)
        if maker is None:
            return ""
        others = [n for n, count in maker.used.items() if self._changes.get(n, 0) != count]
        if not others:
            return ""
        shown = ", ".join(others[:3]) + (" and others" if others[3:] else "")
        return f"{shown} changed since it was computed."

    def _states(self) -> dict[str, tuple[int, int]]:
        found = {}
        for name, value in dict(self._namespace).items():
            if isinstance(name, str) and not name.startswith("_"):
                try:
                    found[name] = (id(value), _version(value))
                except Exception:
                    found[name] = (id(value), 0)
        return found


def _imported(value: Any) -> bool:
    """Whether a name is bound to a module, or to a function or class out of one: bound again, it is what it was."""
    if isinstance(value, ModuleType):
        return True
    return isinstance(value, (type, FunctionType, BuiltinFunctionType)) and value.__module__ != "__main__"


def _version(value: Any) -> int:
    kind = type(value)
    engine = sys.modules.get(ENGINE)
    if engine is None:
        return 0
    if issubclass(kind, engine.Tensor):
        return int(value._storage.version)
    module = getattr(sys.modules.get(f"{ENGINE}.nn"), "Module", None)
    if module is not None and issubclass(kind, module):
        total = 0
        for number, parameter in enumerate(module.parameters(value)):
            if number == _MOST_PARAMETERS:
                break
            total += parameter._storage.version
        return total
    return 0


def _outside(name: str, flow: Mapping[str, set[str]]) -> set[str]:
    """The names from outside of the cell that the value of `name` was computed from."""
    found: set[str] = set()
    seen = {name}
    ahead = list(flow.get(name, ()))
    while ahead:
        used = ahead.pop()
        if used in seen:
            continue
        seen.add(used)
        if used in flow:
            ahead.extend(flow[used])
        else:
            found.add(used)
    return found


def names_of(code: str) -> dict[str, set[str]]:
    """Each name that the top level of a cell binds, with the names its value uses; empty for what cannot be read."""
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in code.split("\n")]
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    flow: dict[str, set[str]] = {}
    for node in tree.body:
        _follow(node, flow)
    return flow


def _follow(node: ast.stmt, flow: dict[str, set[str]]) -> None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        flow.setdefault(node.name, set()).update(_loads(node) - _bound_inside(node) - {node.name})
        return
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            flow.setdefault((alias.asname or alias.name).partition(".")[0], set())
        return
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        value = node.iter if isinstance(node, (ast.For, ast.AsyncFor)) else node.value
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        used = _loads(value) if value is not None else set()
        for target in targets:
            for name in (n for n in ast.walk(target) if isinstance(n, ast.Name)):
                known = flow.setdefault(name.id, set()) if isinstance(name.ctx, ast.Store) else None
                if known is not None:
                    known |= used
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if isinstance(item.optional_vars, ast.Name):
                flow.setdefault(item.optional_vars.id, set()).update(_loads(item.context_expr))
    for walrus in (n for n in ast.walk(node) if isinstance(n, ast.NamedExpr)):
        flow.setdefault(walrus.target.id, set()).update(_loads(walrus.value))
    for name in ("body", "orelse", "finalbody"):
        for inner in getattr(node, name, ()):
            _follow(inner, flow)
    for handler in getattr(node, "handlers", ()):
        for inner in handler.body:
            _follow(inner, flow)


def _loads(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _bound_inside(node: ast.AST) -> set[str]:
    stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
