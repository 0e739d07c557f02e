"""The help screen's text: every action of the table with its keys, under headings. It is made, never written."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .actions import ACTIONS, GROUPS, Action, make_keymap
from .keymap import KeyMap, shown
from .themes import Look

__all__ = ["help_text"]

_INTRODUCTION = (
    "Two modes, as in Jupyter: in command mode single keys act on cells, in edit mode you write. Enter begins to "
    "write, Esc ends it. Terminals cannot send every key: where Ctrl+Enter or Shift+Enter do nothing, use Ctrl+J "
    "or F5. Everything is also in the list of commands, Ctrl+P, and answers to the mouse."
)


def help_text(look: Look, keymap: KeyMap | None = None) -> RenderableType:
    """All actions, grouped, each with its name and the keys it has in `keymap` (the usual ones without)."""
    keymap = keymap or make_keymap()
    parts: list[RenderableType] = [Text(_INTRODUCTION, look.soft)]
    for group in GROUPS:
        parts.append(Text(f"\n{group}", look.strong + look.primary))
        table = Table.grid(padding=(0, 2, 0, 0), expand=True)
        table.add_column(width=25)
        table.add_column(ratio=1)
        for action in ACTIONS:
            if action.group == group:
                what = Text.assemble(
                    (action.label, look.strong),
                    ("  ", ""),
                    (action.help, look.muted),
                    (f" [{action.name}]", look.faint),
                )
                table.add_row(Text(_keys(action, keymap), look.accent), what)
        parts.append(table)
    return Group(*parts)


def _keys(action: Action, keymap: KeyMap) -> str:
    """The keys of an action; those that are only meant in one mode say so where it is not command mode."""
    command, edit, panel, output = (
        keymap.keys(mode, action.name) for mode in ("command", "edit", "inspector", "output")
    )
    parts = [shown(keys) for keys in command]
    parts += [f"{shown(keys)} (text)" for keys in edit if keys not in command]
    parts += [f"{shown(keys)} (panel)" for keys in panel if keys not in (*command, *edit)]
    if not parts:
        parts = [f"{shown(keys)} (output)" for keys in output]
    return ", ".join(parts[:3]) or "Ctrl+P"
