"""Documents as a person deals with them: open, recent, new, earlier generations, reload, export.

It asks the questions and calls the notebook room; which document the app shows is the app's business (app.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from ..notebook import files, recent
from ..notebook.adopt import adopt, difference
from ..notebook.document import Notebook
from ..notebook.errors import NotebookError
from ..notebook.templates import TEMPLATES
from .ansi import inert
from .dialogs import Ask, Choice, Prompt
from .open_file import OpenFile
from .pickers import Item, Picker

if TYPE_CHECKING:
    from .app import TapescopeApp
    from .screen import NotebookScreen

__all__ = ["Documents"]

LOOK_SECONDS = 2.0
"""How often the file on disk is looked at."""

AUTOSAVE_SECONDS = 30.0
"""How long changes wait before they are saved, where a person wants that."""


class Documents:
    """What one notebook screen does with files."""

    def __init__(self, screen: NotebookScreen) -> None:
        self.screen = screen
        self._next_look = 0.0
        self._save_at: float | None = None
        self.changed = False
        """The file on disk is not the one that was opened or saved here."""

    @property
    def app(self) -> TapescopeApp:
        return self.screen.app  # type: ignore[return-value]

    # -- other documents ----------------------------------------------------------------------------

    def open(self) -> None:
        """Choose a notebook from the folder's tree and open it."""
        path = self.screen.notebook.path
        folder = path.parent if path is not None else Path.cwd()
        self.app.push_screen(OpenFile(folder), lambda chosen: self._open(chosen) if chosen else None)

    def recent(self) -> None:
        """Choose one of the notebooks that were opened last."""
        items = [
            Item(path, path.name, str(path.parent)) for path in recent.recent() if path != self.screen.notebook.path
        ]
        self.app.push_screen(
            Picker("Open again", items, empty="No other notebook was opened yet."),
            lambda chosen: self._open(chosen) if chosen else None,
        )

    def _open(self, path: Path) -> None:
        try:
            document = files.load(path)
        except NotebookError as error:
            self.screen.notify(str(error), severity="error", timeout=10)
            return
        self.app.change_document(document)

    def new(self) -> None:
        """A new notebook from a template."""
        said = {"empty": "One empty cell", "model": "A small network and its training loop"}
        items = [Item(kind, kind.title(), said.get(kind, "")) for kind in TEMPLATES]

        def preview(kind: str) -> Text:
            return Text("\n".join(cell.source + "\n" for cell in files.new_notebook(kind).cells))

        self.app.push_screen(
            Picker("New notebook", items, preview=preview),
            lambda kind: self.app.change_document(files.new_notebook(kind)) if kind else None,
        )

    # -- other states of this document --------------------------------------------------------------

    def generations(self) -> None:
        """Go back to an earlier content of the file; the list shows what each would change."""
        path = self.screen.notebook.path
        if path is None:
            self.screen.notify("A notebook that was never saved has no earlier generations.", timeout=4)
            return
        kept = files.generations(path)
        items = [Item(g, g.time.astimezone().strftime("%d %B %Y, %H:%M:%S"), f"{g.size:,} bytes") for g in kept]

        def preview(generation: files.Generation) -> Text:
            try:
                return diff_text(difference(self.screen.notebook, files.restore(path, generation)))
            except NotebookError as error:
                return Text(str(error))

        def restore(generation: files.Generation | None) -> None:
            if generation is None:
                return
            try:
                other = files.restore(path, generation)
            except NotebookError as error:
                self.screen.notify(str(error), severity="error", timeout=10)
                return
            changed = self._adopt(other)
            self.screen.notify(f"{changed} cells are as they were then. Z undoes it; save to keep it.", timeout=6)

        self.app.push_screen(
            Picker("Earlier generations", items, preview=preview, empty="No save has replaced anything yet."), restore
        )

    def _adopt(self, other: Notebook) -> int:
        self.screen.pane.stop_editing()
        changed = adopt(self.screen.notebook, other)
        self.screen.select(min(self.screen.cells.index, len(self.screen.notebook) - 1))
        return changed

    def autosave(self, now: float) -> None:
        """Save by itself, where that is wanted: `AUTOSAVE_SECONDS` after the first change, never over another's."""
        screen = self.screen
        if not screen.settings.autosave or not screen.keeper.unsaved or screen.notebook.path is None or self.changed:
            self._save_at = None
        elif self._save_at is None:
            self._save_at = now + AUTOSAVE_SECONDS
        elif now >= self._save_at:
            self._save_at = None
            screen.pane.flush()
            try:
                if screen.keeper.changed_on_disk():
                    return
                screen.keeper.save()
            except (NotebookError, OSError) as error:
                screen.settings.autosave = False  # said once, not every half minute
                screen.notify(f"{error} Saving by itself is off until the next start.", severity="error", timeout=12)
            screen.refresh_status()

    def look(self, now: float) -> None:
        """Say once when the file on disk is another one. Called often; looks every `LOOK_SECONDS`."""
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        changed = self.screen.keeper.changed_on_disk()
        if changed and not self.changed:
            path = self.screen.notebook.path
            gone = path is not None and not path.exists()
            self.screen.notify(
                f"{self.screen.document_name} was deleted or moved; your text is here, and saving writes it again."
                if gone
                else f"{self.screen.document_name} was changed on disk by another program. Ctrl+R shows the difference.",
                title="The file changed",
                severity="warning",
                timeout=10,
            )
        if changed != self.changed:
            self.changed = changed
            self.screen.refresh_status()

    def reload(self) -> None:
        """Take over what is on the disk; where that changes something it is shown and asked first."""
        path = self.screen.notebook.path
        if path is None:
            self.screen.notify("This notebook has no file yet.", timeout=3)
            return
        try:
            other = files.load(path)
        except NotebookError as error:
            self.screen.notify(str(error), severity="error", timeout=10)
            return
        lines = difference(self.screen.notebook, other)
        if not lines:
            self.screen.notebook.disk = other.disk
            self.changed = False
            self.screen.notify("The file on disk has the same cells.", timeout=3)
            return

        def answered(said: str | None) -> None:
            if said == "reload":
                self._adopt(other)
                self.screen.notebook.disk = other.disk
                self.screen.keeper.saved()
                self.changed = False
                self.screen.notify("This is what is on the disk now. Z brings yours back.", timeout=5)
                self.screen.refresh_status()

        self.app.push_screen(
            Ask(
                "Load the file again",
                f"What {path.name} has on the disk changes this (minus is yours, plus is the file's):",
                [Choice("reload", "Load the file", "l", "primary"), Choice("keep", "Keep mine", "k")],
                cancel="keep",
                body=diff_text(lines),
            ),
            answered,
        )

    # -- export -------------------------------------------------------------------------------------

    def export(self) -> None:
        """Write the notebook in another form; the suffix says which."""
        from ..notebook.export import EXPORTS

        path = self.screen.notebook.path or Path.cwd() / "notebook.py"
        suggestion = str(path.with_suffix(".html"))

        def write(answer: str | None) -> None:
            if not answer or not answer.strip():
                return
            target = Path(answer.strip()).expanduser()
            if target.exists():
                self.app.push_screen(
                    Ask(
                        "The file is there",
                        f"{target.name} is there already.",
                        [Choice("replace", "Replace it", "r", "warning"), Choice("cancel", "Leave it", "l")],
                        cancel="cancel",
                    ),
                    lambda said: self._export(target) if said == "replace" else None,
                )
            else:
                self._export(target)

        kinds = ", ".join(f"{suffix} ({kind.summary})" for suffix, kind in EXPORTS.items())
        self.app.push_screen(Prompt("Export", f"The file to write: {kinds}", value=suggestion), write)

    def _export(self, target: Path) -> None:
        from ..notebook.export import export

        self.screen.pane.flush()
        try:
            written = export(self.screen.notebook, target, overwrite=True)
        except (NotebookError, OSError) as error:
            self.screen.notify(str(error), title="Not exported", severity="error", timeout=10)
            return
        self.screen.notify(f"Exported {written}", timeout=5)


def diff_text(lines: list[str]) -> Text:
    """A unified diff in colours."""
    if not lines:
        return Text("Nothing: the texts of the cells are the same.", "dim")
    out = Text()
    for line in lines[:400]:
        style = {"+": "green", "-": "red", "@": "dim"}.get(line[:1], "")
        out.append(inert(line) + "\n", style)
    if len(lines) > 400:
        out.append(f"and {len(lines) - 400:,} lines more\n", "dim")
    return out
