"""What a person has chosen for good: theme, panel, hints; and what they have seen (the tour).

A small file in the user's configuration folder. A damaged one counts as empty, and one that cannot be written is no
reason to stop.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import platformdirs

from ..notebook.state import STATE_VARIABLE, write_atomically

__all__ = ["CONFIG_VARIABLE", "Settings", "config_dir"]

CONFIG_VARIABLE = "TAPESCOPE_CONFIG_DIR"
"""The environment variable that names another configuration folder."""


def config_dir() -> Path:
    """The folder of settings and of the key map file; it need not exist."""
    if chosen := os.environ.get(CONFIG_VARIABLE):
        return Path(chosen)
    if state := os.environ.get(STATE_VARIABLE):  # whoever moved the one does not want the other in their home
        return Path(state) / "config"
    return platformdirs.user_config_path("tapescope", appauthor=False)


@dataclass
class Settings:
    """The choices. A new one is a field here with its default."""

    theme: str = "tapescope-dark"
    hints: bool = True
    line_numbers: bool = False
    share: int = 38
    autosave: bool = False
    toured: bool = False

    @classmethod
    def load(cls) -> Settings:
        """The saved choices; the defaults for what is missing or of another type."""
        made = cls()
        try:
            found = json.loads((config_dir() / "settings.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            return made
        if isinstance(found, dict):
            for field in fields(cls):
                value = found.get(field.name)
                if type(value) is type(getattr(made, field.name)):
                    setattr(made, field.name, value)
        return made

    def save(self) -> None:
        """Keep the choices, where that is possible."""
        try:
            config_dir().mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(config_dir() / "settings.json", json.dumps(asdict(self), indent=1).encode(), mode=0o600)
        except OSError:
            pass
