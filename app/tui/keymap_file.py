"""The key map file: a person's own keys, put over those of the table of actions.

A TOML file with a table for each mode; a key or a sequence is given an action's name, or "" to take it away::

    [command]
    "ctrl+r" = "run_all"
    "d d" = ""

    [edit]
    "ctrl+d" = "documentation"

The key tester says how a key is written.  What is wrong with the file is told in sentences, and the
rest of it still counts.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from pathlib import Path

from .actions import ACTIONS, MODES, by_name
from .keymap import KeyMap, normal, shown
from .settings import config_dir

__all__ = ["TEMPLATE", "keymap_path", "load_keymap", "make_keymap"]

TEMPLATE = """\
# Keys of your own. Under the name of a mode, give a key (or a sequence of keys) the name of an action, or "" to take
# the key away. The help screen (F1) shows the names of actions; the key tester (in the list of commands) shows what a
# key is called here.
#
# [command]
# "ctrl+r" = "run_all"
# "d d" = ""
#
# [edit]
# "ctrl+d" = "documentation"
"""


def keymap_path() -> Path:
    """Where the file is, or would be."""
    return config_dir() / "keys.toml"


def load_keymap(path: Path | None = None) -> tuple[KeyMap, list[str]]:
    """The key map with a person's own keys, and sentences about what in their file cannot be used."""
    path = path or keymap_path()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return make_keymap({}), []
    except (OSError, UnicodeDecodeError) as error:
        return make_keymap({}), [f"The key map file {path} cannot be read ({error})."]
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return make_keymap({}), [f"The key map file {path} is no TOML: {error}. The usual keys are used."]
    own: dict[str, dict[str, str]] = {}
    said: list[str] = []
    for mode, table in found.items():
        if mode not in MODES or not isinstance(table, dict):
            said.append(f"{path.name}: [{mode}] is no mode; the modes are {', '.join(MODES)}.")
            continue
        for keys, action in table.items():
            if action != "" and action not in by_name:
                near = difflib.get_close_matches(str(action), by_name, 1)
                hint = f" Did you mean {near[0]}?" if near else ""
                said.append(f"{path.name}: there is no action {action!r} for {keys!r}.{hint}")
            else:
                own.setdefault(mode, {})[" ".join(normal(key) for key in keys.split())] = action
    try:
        return make_keymap(own), said
    except ValueError as error:
        return make_keymap({}), [*said, f"{path.name}: {error}. The usual keys are used."]


def make_keymap(own: dict[str, dict[str, str]]) -> KeyMap:
    """The table's keys with `own` ones (mode to keys to action) over them. ValueError where sequences clash."""
    bindings: dict[str, Iterable[tuple[str, str]]] = {}
    for mode in MODES:
        mine = own.get(mode, {})
        kept = [
            (keys, a.name)
            for a in ACTIONS
            for keys in a.keys_in(mode)
            if not any(keys == k or k.startswith(f"{keys} ") or keys.startswith(f"{k} ") for k in mine)
        ]
        bindings[mode] = [*((keys, action) for keys, action in mine.items() if action), *kept]
    return KeyMap(bindings)


def describe(key: str, keymap: KeyMap) -> list[tuple[str, str]]:
    """What a key means in each mode, for the key tester: (mode, sentence)."""
    name = normal(key)
    found = []
    for mode in MODES:
        action = keymap.action(mode, name)
        if action is not None:
            found.append((mode, by_name[action].label))
        elif keymap.begins(mode, name):
            found.append((mode, f"begins {', '.join(shown(k) for k in keymap.sequences(mode, name))}"))
    return found
