"""A folder of recordings of the teaching notebooks: made once (`tapescope playground record`), used by every build of the site.

Each recording is kept as NAME.json with a fingerprint of the notebook and its data, so that one that is out of date is known.
Running a notebook is recording.py's subject, and what a site does with a recording is site.py's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..command_error import FAILED, USAGE, CommandError
from ..notebook.state import write_atomically
from . import recording

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FINGERPRINT = "source"
"""The key of a kept recording that names what was run."""


def lessons(names: Iterable[str] = ()) -> list[Path]:
    """The teaching notebooks in their order, or those of these names. Raises CommandError for a name that none has."""
    found = {p.stem: p for p in sorted(EXAMPLES.glob("[0-9]*")) if p.suffix in (".py", ".ipynb")}
    wanted = list(names) or list(found)
    for name in wanted:
        if name not in found:
            raise CommandError(f"There is no lesson {name!r}; there are {', '.join(found)}.", USAGE)
    return [found[name] for name in wanted]


def fingerprint(path: Path) -> str:
    """What a recording of the notebook at `path` depends on: its text and the data files beside it."""
    digest = hashlib.sha256(path.read_bytes())
    for file in sorted((path.parent / "data").rglob("*")):
        if file.is_file():
            digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def kept(folder: Path | None, path: Path) -> dict[str, Any] | None:
    """The recording of the notebook at `path` in `folder`, None where there is none or the notebook has changed since."""
    file = folder / f"{path.stem}.json" if folder is not None else None
    if file is None or not file.is_file():
        return None
    try:
        taken = json.loads(file.read_text(encoding="utf-8"))
        fits = taken["format"] == recording.FORMAT and taken["version"] == recording.VERSION
        if not fits or taken.pop(FINGERPRINT) != fingerprint(path):
            return None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return taken


def take(path: Path) -> dict[str, Any]:
    """Run the notebook at `path` on the CPU and return its recording. Raises CommandError naming the error where it fails."""
    taken, result = recording.record(path, device="cpu")
    if result.status != "ok":
        raise CommandError(f"{path.name} does not run to its end: {_why(taken)}", FAILED)
    return taken


def make(folder: Path, names: Iterable[str] = (), say: Callable[[str], None] = lambda line: None) -> list[Path]:
    """Run the teaching notebooks, or those of these names, and keep their recordings in `folder`; returns the files.

    Raises CommandError with a sentence where a notebook fails; those made before it are kept.
    """
    made = []
    for path in lessons(names):
        file = folder / f"{path.stem}.json"
        say(f"recording {path.name}")
        taken = {FINGERPRINT: fingerprint(path), **take(path)}
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(taken, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        write_atomically(file, text.encode())
        made.append(file)
    return made


def _why(taken: dict[str, Any]) -> str:
    """The error in a recording, in a line."""
    for cell in taken["notebook"]["cells"]:
        for output in cell.get("outputs", ()):
            if output["output_type"] == "error":
                return f"{output['ename']}: {output['evalue']}"
    return "no error was told"
