"""The notebooks that were opened last, newest first, remembered in the state folder. Nothing depends on the list."""

from __future__ import annotations

import json
import os
from pathlib import Path

from .state import state_dir, write_atomically

__all__ = ["KEPT", "note_opened", "recent"]

KEPT = 30


def _place() -> Path:
    return state_dir() / "recent.json"


def recent() -> list[Path]:
    """The paths that are still there, the one opened last first."""
    try:
        found = json.loads(_place().read_bytes())
    except (OSError, ValueError, RecursionError):
        return []
    paths = [Path(p) for p in found if isinstance(p, str)] if isinstance(found, list) else []
    return [p for p in paths if p.is_file()]


def note_opened(path: str | os.PathLike[str]) -> None:
    """Put a document at the head of the list. What cannot be written is not remembered."""
    path = Path(os.path.abspath(path))
    paths = [str(path), *(str(p) for p in recent() if p != path)][:KEPT]
    try:
        _place().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(_place(), json.dumps(paths, indent=1).encode(), mode=0o600)
    except OSError:
        pass
