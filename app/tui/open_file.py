"""The dialog that opens a notebook: the tree of a folder, with a line for a path. Only notebooks and folders are shown."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import DirectoryTree, Input, Static

__all__ = ["OpenFile"]

_HIDDEN = {"__pycache__", "node_modules"}


class _Notebooks(DirectoryTree):
    """Folders, percent files and .ipynb files."""

    ICON_NODE = "▸ "
    ICON_NODE_EXPANDED = "▾ "
    ICON_FILE = ""

    def filter_paths(self, paths: Iterable[Path]) -> Iterable[Path]:
        found = []
        for path in paths:
            try:
                folder = path.is_dir()
            except OSError:
                continue
            if path.name.startswith(".") or path.name in _HIDDEN:
                continue
            if folder or path.suffix in (".py", ".ipynb"):
                found.append(path)
        return found


class OpenFile(ModalScreen[Path | None]):
    """Gives back the chosen path, or None."""

    DEFAULT_CSS = """
    OpenFile { align: center middle; }
    OpenFile > Vertical { width: 90; max-width: 96%; height: 84%; border: round $primary; background: $surface; }
    OpenFile Input { border: none; height: 1; margin: 0 1; padding: 0 1; background: $panel; }
    OpenFile Input:focus { border: none; }
    OpenFile .said { height: 1; padding: 0 2; color: $text-error; }
    OpenFile DirectoryTree { height: 1fr; background: $surface; padding: 0 1; scrollbar-size-vertical: 1; }
    """

    BINDINGS: list[BindingType] = [
        Binding("escape", "cancel", show=False),
        Binding("alt+up", "parent", show=False, priority=True),
    ]

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            frame.border_title = f"Open a notebook in {self._folder}"
            frame.border_subtitle = "Enter opens, Tab to the tree, Alt+↑ parent folder, Esc closes"
            yield Input(placeholder="a path, or choose below", compact=True)
            yield Static(classes="said")
            yield _Notebooks(self._folder)

    def on_mount(self) -> None:
        self.app.clear_notifications()
        self.query_one(DirectoryTree).focus()

    def action_parent(self) -> None:
        """Show the folder above."""
        if self._folder.parent != self._folder:
            self._folder = self._folder.parent
            self.query_one(DirectoryTree).path = self._folder
            self.query_one(Vertical).border_title = f"Open a notebook in {self._folder}"

    def on_directory_tree_file_selected(self, event: DirectoryTree.FileSelected) -> None:
        event.stop()
        self.dismiss(event.path)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        path = Path(event.value.strip()).expanduser()
        path = path if path.is_absolute() else self._folder / path
        if path.is_dir():
            self._folder = path
            self.query_one(DirectoryTree).path = path
        elif path.is_file():
            self.dismiss(path)
        else:
            self.query_one(".said", Static).update(f"There is no file {path}")

    def on_key(self, event: events.Key) -> None:
        if event.key == "down" and self.query_one(Input).has_focus:
            event.stop()
            self.query_one(DirectoryTree).focus()

    def action_cancel(self) -> None:
        self.dismiss(None)
