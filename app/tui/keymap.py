"""Keys and key sequences, resolved to action names.

A key is written as Textual names it ("ctrl+j", "f5", "J"); a sequence is keys with a space between ("d d").
The map is filled from the table of actions; it knows no widgets and no time but what it is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

__all__ = ["PENDING", "SEQUENCE_SECONDS", "KeyMap", "normal", "shown"]

PENDING: Final = "\0pending"
"""Returned by `KeyMap.feed` while a sequence has begun and may still be completed."""

SEQUENCE_SECONDS = 1.0
"""How long the second key of a sequence may take."""

_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "minus": "-",
    "underscore": "_",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "exclamation_mark": "!",
    "percent_sign": "%",
    "full_stop": ".",
    "comma": ",",
    "dollar_sign": "$",
    "colon": ":",
    "semicolon": ";",
    "number_sign": "#",
    "ampersand": "&",
    "asterisk": "*",
    "at": "@",
    "apostrophe": "'",
    "quotation_mark": '"',
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "plus": "+",
    "equals_sign": "=",
    "ctrl+\r": "ctrl+enter",
    "shift+\r": "shift+enter",
    "ctrl+shift+\r": "ctrl+shift+enter",
    "alt+\r": "alt+enter",
    # Without a modern protocol Ctrl+/ and Ctrl+Shift+- are one and the same character; it is taken for the
    # harmless one.
    "ctrl+underscore": "ctrl+/",
    "ctrl+slash": "ctrl+/",
    "alt+slash": "alt+/",
    "ctrl+shift+minus": "ctrl+shift+-",
    "ctrl+shift+underscore": "ctrl+shift+-",
    "ctrl+@": "ctrl+space",
}

_SHOWN = {
    "ctrl": "Ctrl",
    "shift": "Shift",
    "alt": "Alt",
    "enter": "Enter",
    "escape": "Esc",
    "tab": "Tab",
    "space": "Space",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "home": "Home",
    "end": "End",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "delete": "Del",
    "backspace": "Bksp",
}


def normal(key: str) -> str:
    """One spelling for a key, whatever protocol the terminal sent it in."""
    if key.startswith("upper_") and len(key) == 7:
        return key[-1].upper()
    return _NAMES.get(key, key)


def shown(keys: str) -> str:
    """A key or a sequence as people write it: "Ctrl+J", "D D", "Shift+M"."""
    return " ".join(_shown_key(key) for key in keys.split(" "))


def _shown_key(key: str) -> str:
    if len(key) == 1:
        return f"Shift+{key}" if key.isupper() else key.upper()
    *modifiers, last = key.split("+") if key != "+" else [key]
    if len(last) == 1 or (last.startswith("f") and last[1:].isdigit()):
        last = last.upper()
    return "+".join([_SHOWN.get(m, m.title()) for m in modifiers] + [_SHOWN.get(last, last)])


class KeyMap:
    """Which action a key means in each mode. `bindings` maps a mode to (keys, action name) pairs.

    Raises ValueError where two actions of a mode claim the same keys, or one's keys begin another's sequence.
    """

    def __init__(self, bindings: Mapping[str, Iterable[tuple[str, str]]]) -> None:
        self._actions: dict[tuple[str, str], str] = {}
        self._prefixes: set[tuple[str, str]] = set()
        self._mode = ""
        self._begun = ""
        self._until = 0.0
        for mode, pairs in bindings.items():
            for keys, action in pairs:
                if (other := self._actions.get((mode, keys))) is not None:
                    raise ValueError(f"in {mode} mode {shown(keys)} means both {other!r} and {action!r}")
                self._actions[mode, keys] = action
                parts = keys.split(" ")
                self._prefixes.update((mode, " ".join(parts[:n])) for n in range(1, len(parts)))
        for mode, keys in self._prefixes:
            if (mode, keys) in self._actions:
                raise ValueError(f"in {mode} mode {shown(keys)} is an action and begins a sequence")

    @property
    def begun(self) -> str:
        """The keys of the sequence that has begun, or ""."""
        return self._begun

    def feed(self, mode: str, key: str, now: float) -> str | None:
        """The action that `key` means at second `now`, PENDING inside a sequence, or None."""
        key = normal(key)
        begun = self._begun if self._mode == mode and now <= self._until else ""
        self._begun = ""
        for keys in ([f"{begun} {key}"] if begun else []) + [key]:
            if (mode, keys) in self._actions:
                return self._actions[mode, keys]
            if (mode, keys) in self._prefixes:
                self._mode, self._begun, self._until = mode, keys, now + SEQUENCE_SECONDS
                return PENDING
        return None

    def action(self, mode: str, keys: str) -> str | None:
        """The action of a key or a whole sequence, None where it has none."""
        return self._actions.get((mode, keys))

    def begins(self, mode: str, keys: str) -> bool:
        """Whether keys are the beginning of a sequence."""
        return (mode, keys) in self._prefixes

    def sequences(self, mode: str, begun: str) -> list[str]:
        """The sequences that begin with some keys."""
        return [keys for m, keys in self._actions if m == mode and keys.startswith(f"{begun} ")]

    def keys(self, mode: str, action: str) -> list[str]:
        """The keys of an action in a mode, first the one to show."""
        return [keys for (m, keys), name in self._actions.items() if m == mode and name == action]
