"""The document that the page of a native kernel has open: its copy on this side, and its file.

The page owns what is typed.  It hands a copy over a moment after each change, so that a tab that is closed or crashes loses
nothing, and work on a file that was not saved goes to the recovery journal as in the terminal app.  Reading, writing,
earlier generations and the journal are the notebook room's; connections and the kernel are native_session.py's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..notebook import files, ipynb, journal, recent
from ..notebook.adopt import adopt, difference
from ..notebook.document import Cell, Notebook
from ..notebook.errors import NotebookError
from ..notebook.loading import FORMATS

Json = dict[str, Any]

_SHOWN = 400
"""Lines of a difference that are shown."""


_AS_IT_WAS: Json = {"changed": False, "gone": False}


class Document:
    """One document. `folder` is where its kernel works; `content` is the latest copy, as an `.ipynb` dictionary.

    Attributes beside them:
        seq: the number of the last event of the kernel that is in the copy.
        page: what the page wants to find again beside the cells (its id, title, and the example it came from).
        notebook: the document as the file has it, where there is a file.
        unsaved: a save would write something new.
    """

    def __init__(self, folder: Path, path: Path | None = None) -> None:
        self.folder = folder
        self.content: Json | None = None
        self.seq = 0
        self.page: Json = {}
        self.notebook: Notebook | None = None
        self.unsaved = False
        self._saved = ""
        self._recovery: journal.Recovery | None = None
        self._seen = _AS_IT_WAS
        if path is not None:
            self.notebook = files.load(path)
            if not self.notebook.cells:
                self.notebook.cells.append(Cell())
            self._saved = _written(self.notebook)
            self.content = _content(self.notebook)
            found = journal.pending(path)
            self._recovery = found if found is not None and found.differs else None
            recent.note_opened(path)

    @property
    def path(self) -> Path | None:
        """The file, None for a document that lives in the browser."""
        return self.notebook.path if self.notebook is not None else None

    def describe(self) -> Json | None:
        """What a page needs to show the document; None where it is to open its own."""
        if self.content is None:
            return None
        return {"notebook": self.content, "seq": self.seq, "page": self.page, "file": self.facts()}

    def facts(self) -> Json | None:
        """What the page shows about the file; None where there is none."""
        if self.notebook is None or self.notebook.path is None:
            return None
        return {
            "name": self.notebook.path.name, "path": str(self.notebook.path), "unsaved": self.unsaved,
            "warnings": list(self.notebook.warnings), "recovery": self._recovery_facts(),
        }  # fmt: skip

    def keep(self, content: Json, seq: int, page: Json) -> Json:
        """Take over the copy that the page hands in. Raises NotebookError where it is no notebook."""
        merged = self._merged(content) if self.notebook is not None else None
        # Before the journal: where that cannot be written, a page that is loaded anew still finds this copy.
        self.content, self.seq, self.page = content, seq, page
        if merged is not None:
            self.unsaved = merged.dirty = _written(merged) != self._saved
            journal.record(merged)
        return {"unsaved": self.unsaved}

    def save(self, content: Json, seq: int, page: Json, *, over: bool = False, path: str | None = None) -> Json:
        """Write the document: to its file, or to `path`, below the folder, where it lives from then on.

        Where another program has changed the file, or `path` names one that is there, nothing is written unless `over` is
        set, and the answer has `conflict`: what the page asks its reader. Raises NotebookError with a sentence. The copy
        is kept also where nothing was written, since a page that asked for a save does not hand it in again.
        """
        try:
            answer = self._write(content, seq, page, over=over, path=path)
        except NotebookError as error:
            self._keep_unwritten(content, seq, page, str(error))
            raise
        if "conflict" in answer:
            self._keep_unwritten(content, seq, page, "Nothing was saved yet.")
        return answer

    def _keep_unwritten(self, content: Json, seq: int, page: Json, sentence: str) -> None:
        if self.notebook is None:
            return
        try:
            self.keep(content, seq, page)
        except NotebookError as error:
            if str(error) != sentence:
                raise NotebookError(f"{sentence} {error}") from error

    def _write(self, content: Json, seq: int, page: Json, *, over: bool, path: str | None) -> Json:
        target = None if path is None else below(self.folder, path)
        merged = self._merged(content)
        if target is not None and target != self.path:
            if target.exists() and not over:
                return {"conflict": {"name": target.name, "gone": False, "lines": [], "other": True}}
            merged.disk = None
        elif self.notebook is None:
            raise NotebookError("This document has no file yet; say where to save it.")
        elif not over and files.changed_on_disk(merged):
            return {"conflict": self._conflict(merged)}
        files.save(merged, target)
        self.notebook = merged
        self._saved = _written(merged)
        self.unsaved, self._seen = False, _AS_IT_WAS
        self.content, self.seq, self.page = content, seq, page
        recent.note_opened(merged.path or target or Path())
        return {"unsaved": False, "file": self.facts(), "warnings": list(merged.warnings)}

    def compare(self, content: Json) -> Json:
        """What the file on the disk changes, as the `conflict` of `save`; without it where the file is as it was."""
        merged = self._merged(content)
        return {"conflict": self._conflict(merged)} if files.changed_on_disk(merged) else {}

    def look(self) -> Json | None:
        """What to tell the page about the file on the disk where that has changed since the last look, else None."""
        if self.notebook is None:
            return None
        changed, path = files.changed_on_disk(self.notebook), self.path
        seen = {"changed": changed, "gone": changed and path is not None and not path.exists()}
        if seen == self._seen:
            return None
        self._seen = seen
        return dict(seen)

    def reload(self, content: Json) -> Json:
        """The cells of the file, as an `.ipynb` dictionary in which cells that stay the same keep their ids and outputs."""
        if self.notebook is None or self.notebook.path is None:
            raise NotebookError("This document has no file yet.")
        other = files.load(self.notebook.path)
        merged = self._merged(content)
        adopt(merged, other)
        self._saved = _written(other)
        merged.disk = other.disk
        self.notebook, self._seen = merged, _AS_IT_WAS
        return {"notebook": _content(merged)}

    def recover(self, content: Json, keep: bool) -> Json:
        """Answer for the unsaved work that was found: the cells with it, or forget it."""
        found = self._recovery
        if found is None:
            raise NotebookError("There is no unsaved work any more.")
        merged = self._merged(content)
        if keep:
            adopt(merged, journal.recover(found))
            recovered = _content(merged)
            self.keep(recovered, self.seq, self.page)  # under this session, before the found one goes
        else:
            recovered = _content(merged)
        journal.discard(found)
        self._recovery = None
        return {"notebook": recovered}

    def generations(self) -> Json:
        """Earlier contents of the file, the newest first."""
        kept = files.generations(self.path) if self.path is not None else []
        return {"generations": [{"name": g.path.name, "time": g.time.timestamp() * 1000, "size": g.size} for g in kept]}

    def generation(self, content: Json, name: str) -> Json:
        """The cells as an earlier content of the file had them."""
        path = self.path
        for kept in files.generations(path) if path is not None else []:
            if kept.path.name == name and path is not None:
                merged = self._merged(content)
                adopt(merged, files.restore(path, kept))
                return {"notebook": _content(merged)}
        raise NotebookError("This earlier content is not there any more.")

    def write_journal(self) -> None:
        """What is unsaved goes to the journal now."""
        if self.notebook is not None and self.content is not None and self.unsaved:
            merged = self._merged(self.content)
            merged.dirty = True
            journal.record(merged)

    # -- inside -------------------------------------------------------------------------------------

    def _merged(self, content: Json) -> Notebook:
        """The page's cells with everything of the file that a page does not carry.

        JavaScript has one kind of number, so what it brings back equal is taken from the copy on this side: a file does not
        change where nobody changed it.
        """
        try:
            made = ipynb.reads(json.dumps(content))
        except (TypeError, ValueError) as error:
            if isinstance(error, NotebookError):
                raise
            raise NotebookError(f"What the page sent is no notebook ({error}).") from error
        known = self.notebook
        if known is None:
            made.metadata = {}  # what every page says of its kernel is said of no file
            return made
        merged = Notebook((), known.metadata, known.path, known.format)
        merged.header, merged.newline, merged.byte_order_mark = known.header, known.newline, known.byte_order_mark
        merged.extra, merged.session, merged.disk = known.extra, known.session, known.disk
        before = {cell.id: cell for cell in known.cells}
        for cell in made.cells:
            old = before.get(cell.id)
            if old is not None:
                cell.origin = old.origin
                for name in ("outputs", "metadata", "extra"):
                    if getattr(old, name) == getattr(cell, name):
                        setattr(cell, name, getattr(old, name))
            merged.cells.append(cell)
        return merged

    def _conflict(self, merged: Notebook) -> Json:
        path = merged.path
        assert path is not None
        if not path.exists():
            return {"name": path.name, "gone": True, "lines": [], "other": False}
        try:
            lines = _shown(difference(merged, files.load(path)))
        except NotebookError as error:
            lines = [str(error)]
        return {"name": path.name, "gone": False, "lines": lines, "other": False}

    def _recovery_facts(self) -> Json | None:
        found = self._recovery
        if found is None or self.notebook is None:
            return None
        try:
            lines = _shown(difference(self.notebook, journal.recover(found)))
        except NotebookError as error:
            lines = [str(error)]
        return {"time": found.time.timestamp() * 1000, "lines": lines}


def below(folder: Path, name: str) -> Path:
    """The path that `name` means inside of `folder`. Raises NotebookError where it leads out of it."""
    if not name or "\0" in name:
        raise NotebookError("This is no name of a file.")
    root = folder.resolve()
    path = (root / name).resolve()
    if path == root or not path.is_relative_to(root):
        raise NotebookError(f"{name[:200]} is outside of the notebook's folder {root}; name a file inside of it.")
    return path


def notebooks(folder: Path, limit: int = 500) -> list[Json]:
    """The notebooks in a folder and two levels below it, by name; those of hidden and of large library folders left out."""
    found: list[Json] = []

    def walk(place: Path, depth: int, wanted: Callable[[Path], bool]) -> None:
        try:
            inside = sorted(place.iterdir(), key=lambda p: (p.is_dir(), p.name.lower()))
        except OSError:
            return
        for path in inside:
            if len(found) >= limit or path.name.startswith(".") or path.name in ("node_modules", "__pycache__"):
                continue
            if path.is_dir():
                if depth and not path.is_symlink() and not (path / "pyvenv.cfg").exists():
                    walk(path, depth - 1, wanted)
            elif wanted(path):
                found.append({"path": path.relative_to(folder).as_posix(), "time": path.stat().st_mtime * 1000})

    walk(folder, 2, _is_notebook)
    return found


def _is_notebook(path: Path) -> bool:
    if path.suffix == ".ipynb":
        return True
    if path.suffix != ".py":
        return False
    try:
        with open(path, encoding="utf-8") as file:
            return any(line.startswith("# %%") for line in file.read(64_000).splitlines())
    except (OSError, UnicodeDecodeError):
        return False


def _written(notebook: Notebook) -> str:
    return FORMATS[notebook.format].writes(notebook)


def _content(notebook: Notebook) -> Json:
    return json.loads(ipynb.writes(notebook))


def _shown(lines: list[str]) -> list[str]:
    return [*lines[:_SHOWN], *([f"and {len(lines) - _SHOWN:,} lines more"] if len(lines) > _SHOWN else [])]
