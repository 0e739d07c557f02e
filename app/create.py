"""`tapescope new` and `tapescope tutorial`: notebooks that begin somewhere.

Neither ever replaces a file that is there.  What a template contains is the subject of the notebook room.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from .command_error import FAILED, USAGE, CommandError

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
"""The teaching notebooks: beside `app` in a checkout, and beside `tapescope/app` in an installed wheel."""

SUFFIXES = (".py", ".ipynb")


def new(path: Path, template: str) -> Path:
    """Write a new notebook at `path` and return where it is; CommandError if that is not possible."""
    from .notebook.files import new_notebook, save

    if path.suffix not in SUFFIXES:
        if path.suffix:
            raise CommandError(f"{path} ends in {path.suffix}; a notebook ends in .py or .ipynb.", USAGE)
        path = path.with_suffix(".py")
    if path.exists():
        raise CommandError(f"{path} is there already and is left as it is. To open it: tapescope {path}", FAILED)
    if not path.parent.is_dir():
        raise CommandError(f"There is no folder {path.parent}. Make it first: mkdir -p {path.parent}", FAILED)
    try:
        notebook = new_notebook(template)
    except ValueError as error:
        raise CommandError(f"--template {template}: {error}", USAGE) from error
    return save(notebook, path)


def tutorial(folder: Path) -> Path:
    """Copy the teaching notebooks and their data into `folder` and return the first of them.

    Files that are there stay as they are, so that calling it again opens what the learner has made of them.
    """
    notebooks = sorted(p.name for p in EXAMPLES.glob("[0-9]*") if p.suffix in SUFFIXES)
    if not notebooks:
        raise CommandError(f"The teaching notebooks are missing from {EXAMPLES}; install tapescope anew.", FAILED)
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"{folder} is a file; name a folder for your copy of the notebooks.", USAGE)
    for source in sorted(EXAMPLES.rglob("*")):
        part = source.relative_to(EXAMPLES)
        if source.is_dir() or "__pycache__" in part.parts or any(name.startswith(".") for name in part.parts):
            continue
        target = folder / part
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            # Without the modes: an installed package may be read-only.
            shutil.copyfile(source, target)
    return folder / notebooks[0]
