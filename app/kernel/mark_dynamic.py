"""Writes `mark_dynamic` before the calls whose sizes change: a text of a cell in, the changed text out.

The line goes before the statement that calls; an argument that is an expression gets a name first, so that there is
something to mark.  Where evaluation would change, it writes nothing and says why.  It knows no widgets and no documents.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Any

from .messages import MarkDynamic
from .messages import Marked as Answer

__all__ = ["Call", "CannotWrite", "Marked", "argument_of", "mark_calls", "marked"]


class CannotWrite(Exception):
    """The mark cannot be written there; the text is a sentence."""


@dataclass(frozen=True)
class Call:
    """A call in the text of now: its line (from 1), its column (in bytes, from 0), and the text of the argument."""

    line: int
    column: int
    argument: str
    torch: str = "torch"


@dataclass(frozen=True)
class Marked:
    """The new text, and the lines that came or changed, numbered from 1."""

    text: str
    lines: list[tuple[int, str]]


def argument_of(arguments: dict[str, Any], label: str) -> str | None:
    """The expression that stands for a value of the called function (`x`, `x[0]`, `self.cache`) at the place of the call."""
    root = label[: next((n for n, sign in enumerate(label) if sign in ".["), len(label))]
    given = arguments.get(root)
    if not given:
        return None
    rest = label[len(root) :]
    return given + rest if not rest or _plain(given) else None


def mark_calls(text: str, calls: Iterable[Call], dimension: int, taken: Container[str] = ()) -> Marked:
    """Mark a dimension of the argument of each call, before the call. `taken` are names that must not be used anew.

    Raises CannotWrite.
    """
    before = text.split("\n")
    for call in sorted(set(calls), key=lambda c: (c.line, c.column), reverse=True):
        text = _mark(text, call, dimension, taken)
    after = text.split("\n")
    try:
        ast.parse(text)
    except SyntaxError:
        raise CannotWrite("The cell holds more than Python there (a % or ! line, for one).") from None
    return Marked(text, _changed(before, after))


def marked(command: MarkDynamic, taken: Container[str] = ()) -> Answer:
    """The answer to the command: the changed texts of all its cells, or why none can be written."""
    found = []
    try:
        for cell in command.cells:
            calls = []
            for place in cell["calls"]:
                argument = argument_of(place["arguments"], command.label)
                if argument is not None:
                    calls.append(Call(place["line"], place["column"], argument, place.get("torch", "torch")))
            if calls:
                changed = mark_calls(cell["text"], calls, command.dimension, taken)
                found.append(
                    {"cell": cell["cell"], "text": changed.text, "lines": [list(line) for line in changed.lines]}
                )
        if not found:
            raise CannotWrite(f"Which expression stands for {command.label} at the call cannot be read.")
    except CannotWrite as error:
        return Answer(command.request, [], str(error))
    return Answer(command.request, found)


def _mark(text: str, call: Call, dimension: int, taken: Container[str]) -> str:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        raise CannotWrite("The cell holds a mistake, or more than Python (a % or ! line, for one).") from None
    chain = _chain(tree, call)
    if chain is None:
        raise CannotWrite("The line of the call was edited since it ran.")
    statement = next(node for node in reversed(chain) if isinstance(node, ast.stmt))
    within = chain[chain.index(statement) + 1 : -1]
    if any(
        isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)) for node in within
    ):
        raise CannotWrite("The call stands in a comprehension or a lambda, where no statement can be written.")
    if hasattr(statement, "body"):
        if isinstance(statement, ast.While) or _is_elif(text, statement):
            raise CannotWrite("The call stands in a condition that is asked again and again.")
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            raise CannotWrite("The call stands in the head of a definition.")
    node = chain[-1]
    assert isinstance(node, ast.Call)
    argument = next((a for a in _given(node) if ast.get_source_segment(text, a) == call.argument), None)
    if argument is None and not _plain(call.argument):
        raise CannotWrite("The argument of the call was edited since it ran.")
    torch = call.torch or "torch"
    lines = [] if call.torch else ["import torch"]
    name = call.argument
    if not _plain(name):
        assert argument is not None
        if any(isinstance(n, (ast.BoolOp, ast.IfExp, ast.NamedExpr)) for n in within) or not _first(
            node, argument, within
        ):
            raise CannotWrite(
                f"Give {call.argument} a name before the call: what stands before it must be computed first."
            )
        name = _free_name(text, node, argument, taken)
        lines.append(f"{name} = {call.argument}")
        text = _spliced(text, argument, name)
    lines.append(f"{torch}._dynamo.mark_dynamic({name}, {dimension})")
    return _inserted(text, statement, lines)


def _chain(tree: ast.AST, call: Call) -> list[ast.AST] | None:
    """The nodes from the module down to the call at a place."""
    stack: list[list[ast.AST]] = [[tree]]
    while stack:
        chain = stack.pop()
        node = chain[-1]
        if isinstance(node, ast.Call) and (node.lineno, node.col_offset) == (call.line, call.column):
            if any(_given(node)):
                return chain
        stack.extend([*chain, child] for child in ast.iter_child_nodes(node))
    return None


def _given(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(keyword.value for keyword in node.keywords)]


def _plain(expression: str) -> bool:
    """A name, or attributes and constant items of one: writing it twice means the same thing."""
    try:
        node: ast.AST = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return False
    return _is_plain(node)


def _is_plain(node: ast.AST) -> bool:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            return False
        node = node.value
    return isinstance(node, ast.Name)


def _first(node: ast.Call, argument: ast.expr, within: list[ast.AST]) -> bool:
    """Whether nothing but names is evaluated before the argument, so that it may be computed a line earlier."""
    for other in _given(node):
        if other is argument:
            break
        if not _is_plain(other) and not isinstance(other, ast.Constant):
            return False
    if not _is_plain(node.func):
        return False
    place = (argument.lineno, argument.col_offset)
    for outer in within:
        for child in ast.walk(outer):
            if isinstance(child, (ast.Call, ast.Await, ast.Yield)) and child is not node:
                ends = (child.end_lineno or 0, child.end_col_offset or 0)
                if ends <= place:
                    return False
    return True


def _free_name(text: str, node: ast.Call, argument: ast.expr, taken: Container[str]) -> str:
    used = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
    keyword = next((k.arg for k in node.keywords if k.value is argument), None)
    stem = keyword or "resized"
    number, name = 1, stem
    while name in used or name in taken:
        number += 1
        name = f"{stem}_{number}"
    return name


def _is_elif(text: str, statement: ast.AST) -> bool:
    return isinstance(statement, ast.If) and text.split("\n")[statement.lineno - 1].lstrip().startswith("elif")


def _spliced(text: str, node: ast.expr, new: str) -> str:
    rows = [row.encode() for row in text.split("\n")]
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    joined = rows[first][: node.col_offset] + new.encode() + rows[last][node.end_col_offset or 0 :]
    rows[first : last + 1] = [joined]
    return "\n".join(row.decode() for row in rows)


def _inserted(text: str, statement: ast.stmt, lines: list[str]) -> str:
    rows = text.split("\n")
    number = statement.lineno - 1
    row = rows[number].encode()
    before = row[: statement.col_offset].decode()
    if not before.strip():
        rows[number:number] = [before + line for line in lines]
    elif hasattr(statement, "body"):
        raise CannotWrite("Put the statement on a line of its own first.")
    else:  # behind a colon or a semicolon
        rows[number] = before + "; ".join(lines) + "; " + row[statement.col_offset :].decode()
    return "\n".join(rows)


def _changed(before: list[str], after: list[str]) -> list[tuple[int, str]]:
    from difflib import SequenceMatcher

    found = []
    for kind, _, _, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            found += [(n + 1, after[n]) for n in range(start, end)]
    return found
