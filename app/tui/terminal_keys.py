"""Keys that terminals send and Textual's table does not have: Alt with Enter and with punctuation.

Textual reads an unknown sequence that begins with Escape as the key without Alt.  The table is private to it; its
version is pinned, and a test holds that the entries work.
"""

from __future__ import annotations

from enum import StrEnum

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS

__all__ = ["install"]


class _Keys(StrEnum):
    """Named as Textual names keys."""

    ALT_ENTER = "alt+enter"
    ALT_SLASH = "alt+slash"


_SEQUENCES = {"\x1b\r": (_Keys.ALT_ENTER,), "\x1b\n": (_Keys.ALT_ENTER,), "\x1b/": (_Keys.ALT_SLASH,)}


def install() -> None:
    """Add the keys to Textual's table; what it knows itself stays as it is."""
    for sequence, keys in _SEQUENCES.items():
        ANSI_SEQUENCES_KEYS.setdefault(sequence, keys)  # type: ignore[arg-type]
