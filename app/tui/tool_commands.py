"""Commands beside the cells: search, panel, costs, steps, themes, keys, documents.

A part of `Commands` (commands.py), which the table of actions names; each method is short and hands on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from .dialogs import Reader
from .pickers import Item, KeyTester, Pages, Picker

if TYPE_CHECKING:
    from .screen import NotebookScreen

__all__ = ["ToolCommands"]


class ToolCommands:
    """See the module."""

    screen: NotebookScreen

    # -- searching ----------------------------------------------------------------------------------

    def find(self) -> None:
        self.screen.finder.open()

    def replace(self) -> None:
        self.screen.finder.open(replace=True)

    # -- running ------------------------------------------------------------------------------------

    def cancel_queued(self) -> None:
        count = self.screen.session.cancel()
        self.screen.notify(
            f"{count} waiting cell{'s' if count != 1 else ''} cancelled." if count else "No cell waits.", timeout=3
        )

    def unqueue(self) -> None:
        count = self.screen.session.cancel(self.screen.cells.selected())
        if not count:
            self.screen.notify("The selected cells do not wait.", timeout=3)

    def go_to_error(self) -> None:
        self.screen.go_to_error()

    # -- the panel ----------------------------------------------------------------------------------

    def show_graph(self) -> None:
        self.screen.go_to_tab("graph")

    def show_breaks(self) -> None:
        self.screen.go_to_tab("breaks")

    def show_kernels(self) -> None:
        self.screen.go_to_tab("kernels")

    def show_device(self) -> None:
        self.screen.go_to_tab("device")

    def turn_graph(self) -> None:
        self.screen.inspector.graph.action_turn()

    def kernel_source(self) -> None:
        from .kernels_view import source_text

        kernels = self.screen.inspector.kernels
        kernel = kernels.kernel_at(kernels.cursor)
        if kernel is None:
            self.screen.notify("No kernel is chosen.", timeout=3)
            return
        title = f"{kernel.get('name')} · {kernel.get('language')} · {kernel.get('device')}"
        self.screen.app.push_screen(Reader(title, source_text(kernel, self.screen.look(), self.screen.cell_name)))

    def copy_row(self) -> None:
        screen = self.screen
        panel = screen.inspector
        kernel = panel.kernels.kernel_at(panel.kernels.cursor) if panel.tab == "kernels" else None
        if kernel is not None:
            screen.app.copy_to_clipboard(str(kernel.get("text") or ""))
            screen.notify(f"The source of {kernel.get('name')} is on the clipboard.", timeout=3)
            return
        pairs = panel.table.detail(panel.table.cursor)
        if pairs:
            screen.app.copy_to_clipboard("\n".join(f"{name}: {text}" if name else text for name, text in pairs))
            screen.notify("The details of this row are on the clipboard.", timeout=3)

    def details(self) -> None:
        screen, look = self.screen, self.screen.look()
        pairs = screen.inspector.table.detail(screen.inspector.table.cursor)
        if not pairs:
            screen.notify("There is nothing to say of this row.", timeout=3)
            return
        text = Text()
        for name, said in pairs:
            text.append(f"{name}\n" if name else "", look.muted)
            text.append(f"{said}\n\n", look.text if name else look.strong)
        screen.app.push_screen(Reader("Details", text))

    def mark_dynamic(self) -> None:
        self.screen.mark_dynamic()

    def switch_device(self) -> None:
        known = self.screen.session.device.get("devices") or ("cpu", "webgpu")
        now = self.screen.session.info.device
        items = [Item(name, name, "where new tensors are made now" if name == now else "") for name in known]
        self.screen.app.push_screen(
            Picker("Make new tensors on", items), lambda name: self.screen.switch_device(name) if name else None
        )

    def cost_gutter(self) -> None:
        screen = self.screen
        on = screen.pane.view.toggle_gutter()
        screen.session.measure(on)
        screen.take_costs()
        if not on:
            return
        last = screen.session.last_costs
        if last is None:
            screen.notify("Run a cell: what its lines cost appears beside them.", timeout=4)
        elif not last["complete"]:
            screen.notify(
                "These are the first operators of the last run. From now on every one is measured.", timeout=5
            )

    def scrub(self) -> None:
        if self.screen.scrubber.display:
            self.screen.scrubber.close()
        else:
            self.screen.scrubber.ask()

    def toggle_hints(self) -> None:
        view = self.screen.pane.view
        view.show_hints = not view.show_hints
        view.hints_changed(list(self.screen.session.hints))
        self.screen.settings.hints = view.show_hints
        self.screen.settings.save()
        self.screen.notify(f"Hints are {'shown' if view.show_hints else 'hidden'}.", timeout=2)

    # -- looks and keys -----------------------------------------------------------------------------

    def pick_theme(self) -> None:
        screen = self.screen
        before = screen.app.theme
        names = sorted(screen.app.available_themes, key=lambda name: (not name.startswith("tapescope"), name))

        def show(name: str) -> None:
            screen.app.theme = name

        def chosen(name: str | None) -> None:
            screen.app.theme = name or before
            if name:
                screen.settings.theme = name
                screen.settings.save()

        items = [Item(name, name, "dark" if screen.app.available_themes[name].dark else "light") for name in names]
        screen.app.push_screen(Picker("Theme", items, on_move=show, chosen=names.index(before)), chosen)

    def toggle_theme(self) -> None:
        self.screen.app.theme = "tapescope-light" if self.screen.app.current_theme.dark else "tapescope-dark"
        self.screen.settings.theme = self.screen.app.theme
        self.screen.settings.save()

    def key_tester(self) -> None:
        from .keymap_file import describe, keymap_path

        self.screen.app.push_screen(KeyTester(lambda key: describe(key, self.screen.keymap), str(keymap_path())))

    def key_file(self) -> None:
        from .keymap_file import TEMPLATE, keymap_path

        path = keymap_path()
        try:
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(TEMPLATE, encoding="utf-8")
        except OSError as error:
            self.screen.notify(f"The key map file cannot be written ({error}).", severity="error")
            return
        self.screen.app.copy_to_clipboard(str(path))
        self.screen.notify(
            f"Your keys go into {path} (its path is on the clipboard); they count at the next start.", timeout=10
        )

    def tour(self) -> None:
        from .actions import by_name, key_text
        from .tour import tour_pages

        def key(name: str) -> str:
            texts = (key_text(by_name[name], mode, self.screen.keymap) for mode in ("command", "edit", "inspector"))
            return next((text.split(",")[0] for text in texts if text), "Ctrl+P")

        self.screen.settings.toured = True
        self.screen.settings.save()
        self.screen.app.push_screen(Pages(tour_pages(self.screen.look(), key)))

    # -- documents ----------------------------------------------------------------------------------

    def open_document(self) -> None:
        self.screen.documents.open()

    def open_recent(self) -> None:
        self.screen.documents.recent()

    def new_document(self) -> None:
        self.screen.documents.new()

    def generations(self) -> None:
        self.screen.documents.generations()

    def reload(self) -> None:
        self.screen.documents.reload()

    def toggle_autosave(self) -> None:
        settings = self.screen.settings
        settings.autosave = not settings.autosave
        settings.save()
        said = "saves itself half a minute after a change" if settings.autosave else "is saved by Ctrl+S only"
        self.screen.notify(f"The notebook {said}. Either way what you type is in the recovery journal.", timeout=5)

    def export(self) -> None:
        self.screen.documents.export()

    def about_warnings(self) -> None:
        warnings = self.screen.notebook.warnings
        self.screen.app.push_screen(Reader("What was said of this file", Text("\n\n".join(warnings) or "Nothing.")))
