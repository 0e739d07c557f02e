"""Everything a person can do, in one table: name, label, keys for each mode, help, and what it calls.

Key bindings, the help screen, the command palette and the line of hints are all made from `ACTIONS`; to add a command,
add a method to `Commands` and one entry here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from .commands import Commands
from .keymap import KeyMap, shown

__all__ = ["ACTIONS", "GROUPS", "MODES", "Action", "by_name", "hints", "key_text", "make_keymap"]

MODES = ("command", "edit", "inspector", "search", "steps", "output")
"""Where the keyboard is: on the cells, in the text of one cell, in the panel beside them, in the bar that finds and
replaces, on the steps of a run, or on a long output that scrolls."""


@dataclass(frozen=True)
class Action:
    """One command. `keys` work everywhere, `command`, `edit`, `inspector` and `output` in that mode only.

    `hint` is the short name in the line of hints ("" to leave it out there); `hint_modes` says where it is shown.
    """

    name: str
    label: str
    group: str
    help: str
    handler: Callable[[Commands], Awaitable[None] | None]
    keys: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    edit: tuple[str, ...] = ()
    inspector: tuple[str, ...] = ()
    output: tuple[str, ...] = ()
    hint: str = ""
    hint_modes: tuple[str, ...] = ("command", "edit")

    def keys_in(self, mode: str) -> tuple[str, ...]:
        """The keys of the action in a mode, those that work everywhere first."""
        own = {"command": self.command, "edit": self.edit, "inspector": self.inspector, "output": self.output}
        return self.keys + own.get(mode, ())


def _make() -> tuple[Action, ...]:
    C = Commands
    A = Action
    both, command, edit = ("command", "edit"), ("command",), ("edit",)
    anywhere = MODES
    moving, editing, running = "Moving", "Cells", "Running"
    return (
        # Moving between cells and modes.
        A("edit", "Edit the cell", moving, "Put the cursor into the text of the cell.", C.edit,
          command=("enter",), hint="Edit", hint_modes=command),
        A("leave", "Leave the text", moving, "Back from the text of a cell, or from the panel, to the cells.", C.leave,
          edit=("escape", "ctrl+m"), inspector=("escape",), output=("escape", "enter"), hint="Cells",
          hint_modes=("edit", "inspector", "output")),
        A("next", "Next cell", moving, "Select the cell below.", C.next_cell, command=("j", "down")),
        A("previous", "Previous cell", moving, "Select the cell above.", C.previous_cell, command=("k", "up")),
        A("first", "First cell", moving, "Select the first cell.", C.first_cell, command=("g g", "ctrl+home", "home")),
        A("last", "Last cell", moving, "Select the last cell.", C.last_cell, command=("G", "ctrl+end", "end")),
        A("extend_down", "Select also the cell below", moving, "Extend the selection downwards.", C.extend_down,
          command=("J", "shift+down")),
        A("extend_up", "Select also the cell above", moving, "Extend the selection upwards.", C.extend_up,
          command=("K", "shift+up")),
        A("page_down", "A page down", moving, "Scroll down without changing the selection.", C.page_down,
          command=("pagedown", "space")),
        A("page_up", "A page up", moving, "Scroll up without changing the selection.", C.page_up,
          command=("pageup", "shift+space")),
        A("focus_next", "Go to the next part of the screen", moving, "Cells, then the panel's table, then its tabs.",
          C.focus_next, keys=("f6",), command=("tab",)),
        # Running.
        A("run", "Run the cell", running, "Run the selected cells and stay on them.", C.run,
          keys=("ctrl+j", "ctrl+enter"), hint="Run", hint_modes=both),
        A("run_advance", "Run and go on", running, "Run the cell and select the next one.", C.run_advance,
          keys=("f5", "shift+enter"), hint="Run, next", hint_modes=both),
        A("run_insert", "Run and insert below", running, "Run the cell and edit a new one below it.", C.run_insert,
          keys=("alt+enter", "f9")),
        A("run_all", "Run all cells", running, "Run every code cell, from the top.", C.run_all,
          keys=("ctrl+f5", "f8"), hint="Run all", hint_modes=("command",)),
        A("cancel_queued", "Cancel the waiting cells", running, "What waits will not run; what runs goes on.",
          C.cancel_queued, command=("i q",)),
        A("unqueue", "Take the cell out of the queue", running, "The selected cells, if they wait, will not run.",
          C.unqueue, command=("i x",)),
        A("go_to_error", "Go to the error", running, "Put the cursor on the line that failed; again, on the line that "
          "called it.", C.go_to_error, command=("e",)),
        A("run_above", "Run all cells above", running, "Run every code cell above the selected one.", C.run_above),
        A("run_below", "Run this cell and all below", running, "Run from the selected cell to the end.", C.run_below),
        A("interrupt", "Interrupt", running, "Stop what runs. While it does not stop, the same keys go further: "
          "force a restart, then kill.", C.interrupt, command=("i i", "ctrl+c"), output=("i i", "ctrl+c"), hint="Interrupt", hint_modes=()),
        A("restart", "Restart the kernel", running, "A fresh Python; the document stays as it is.", C.restart,
          command=("0 0",)),
        A("restart_run_all", "Restart and run all", running, "A fresh Python, then every code cell.",
          C.restart_run_all, command=("0 r",)),
        A("kill", "Kill the kernel", running, "End the Python process at once, whatever it does.", C.kill),
        # Cells.
        A("insert_above", "Insert a cell above", editing, "A new code cell above.", C.insert_above, command=("a",)),
        A("insert_below", "Insert a cell below", editing, "A new code cell below.", C.insert_below, command=("b",),
          hint="Insert", hint_modes=command),
        A("delete", "Delete the cell", editing, "Delete the selected cells; Z brings them back.", C.delete,
          command=("d d",), hint="Delete", hint_modes=command),
        A("undo", "Undo", editing, "Undo the last change of the document: of cells or of their text.", C.undo,
          command=("z", "ctrl+z"), hint="Undo", hint_modes=command),
        A("redo", "Redo", editing, "Do again what was undone.", C.redo, command=("Z", "ctrl+y", "ctrl+shift+z")),
        A("cut", "Cut cells", editing, "Put the selected cells on the clipboard and delete them.", C.cut,
          command=("x",)),
        A("copy", "Copy cells", editing, "Put the selected cells on the clipboard.", C.copy, command=("c",)),
        A("paste", "Paste cells below", editing, "Insert the cells of the clipboard below.", C.paste, command=("v",)),
        A("paste_above", "Paste cells above", editing, "Insert the cells of the clipboard above.", C.paste_above,
          command=("V",)),
        A("move_up", "Move the cell up", editing, "Move the selected cells up.", C.move_up,
          command=("alt+up", "ctrl+shift+up")),
        A("move_down", "Move the cell down", editing, "Move the selected cells down.", C.move_down,
          command=("alt+down", "ctrl+shift+down")),
        A("merge", "Merge cells", editing, "Join the selected cells, or the cell with the one below.", C.merge,
          command=("M",)),
        A("split", "Split the cell", editing, "Split the cell at the cursor.", C.split, edit=("alt+s", "ctrl+shift+-")),
        A("to_code", "Make it a code cell", editing, "Turn the selected cells into code.", C.to_code, command=("y",)),
        A("to_markdown", "Make it a text cell", editing, "Turn the selected cells into Markdown text.", C.to_markdown,
          command=("m",)),
        A("to_raw", "Make it a raw cell", editing, "Turn the selected cells into raw text, which is never run.",
          C.to_raw, command=("r",)),
        # Writing.
        A("complete", "Complete the name", "Writing", "Offer names that fit at the cursor (Tab indents at the start "
          "of a line).", C.complete, edit=("ctrl+space",), hint="Complete", hint_modes=()),
        A("documentation", "Show documentation", "Writing", "What the name at the cursor is.", C.documentation,
          edit=("shift+tab", "f3"), hint="Docs", hint_modes=edit),
        A("comment", "Comment lines in or out", "Writing", "Toggle # before the selected lines.", C.comment,
          edit=("ctrl+/", "f4", "alt+/")),
        A("find", "Find", "Writing", "Find text, or a regular expression, in all cells.", C.find, keys=("ctrl+f",),
          command=("f", "/"), hint="Find", hint_modes=command),
        A("replace", "Find and replace", "Writing", "Replace text in all cells, one by one or all at once.", C.replace,
          command=("F",)),
        A("go_to_line", "Go to line", "Writing", "Put the cursor on a line of the cell.", C.go_to_line,
          keys=("ctrl+g",)),
        # Outputs.
        A("toggle_output", "Hide or show the output", "Outputs", "Fold the outputs of the selected cells.",
          C.toggle_output, command=("o",), output=("o",)),
        A("full_output", "Scroll a long output; show all of it", "Outputs", "A long output becomes a window that arrow keys "
          "and the wheel scroll; again: every line; again: its ends.", C.full_output, command=("O",), output=("O",),
          hint="All lines", hint_modes=("output",)),
        A("output_down", "Scroll the output down", "Outputs", "One line.", C.output_down, output=("down", "j"),
          hint="Down", hint_modes=("output",)),
        A("output_up", "Scroll the output up", "Outputs", "One line.", C.output_up, output=("up", "k"), hint="Up",
          hint_modes=("output",)),
        A("output_page_down", "Scroll the output a page down", "Outputs", "As many lines as the window shows.",
          C.output_page_down, output=("pagedown", "space"), hint="Page", hint_modes=("output",)),
        A("output_page_up", "Scroll the output a page up", "Outputs", "As many lines as the window shows.",
          C.output_page_up, output=("pageup", "shift+space", "b")),
        A("output_start", "To the output's beginning", "Outputs", "Its first line.", C.output_start,
          output=("home", "g", "ctrl+home"), hint="Start", hint_modes=("output",)),
        A("output_end", "To the output's end", "Outputs", "Its last line; there the window follows what is still printed.",
          C.output_end, output=("end", "G", "ctrl+end"), hint="End", hint_modes=("output",)),
        A("open_output", "Open the output in the browser", "Outputs", "Write the cell's figure, image or page to a "
          "file and open it.", C.open_output, command=("w",)),
        A("copy_output", "Copy the output", "Outputs", "Put the cell's output on the clipboard as text.",
          C.copy_output),
        A("clear_output", "Clear the output", "Outputs", "Remove the outputs of the selected cells.", C.clear_output),
        A("clear_all", "Clear all outputs", "Outputs", "Remove the outputs of every cell.", C.clear_all),
        # View.
        A("cost_gutter", "Costs beside the code", "View", "What each line cost in its last run: time, backward, calls. From "
          "then on every operator is measured.", C.cost_gutter, keys=("f10",), command=("$",), inspector=("$",)),
        A("scrub", "Step through the last run", "View", "One operator after the other, forward and backward, with its "
          "line and its place on the tape.", C.scrub, keys=("f12",), command=("s",), inspector=("s",)),
        A("hints", "Show or hide hints", "View", "What the app says under a cell that probably does not do what was "
          "meant.", C.toggle_hints, command=("i h",)),
        A("inspector", "Show or hide the panel", "View", "The panel with tape, graph, breaks, kernels, variables, device.", C.toggle_inspector,
          keys=("f2",), hint="Panel", hint_modes=both),
        A("tape", "Go to the tape", "View", "What the machine recorded, operator by operator.", C.show_tape,
          command=("t",), inspector=("t", "1"), hint="Tape", hint_modes=command),
        A("graph", "Go to the graph", "View", "The tape, or what was compiled, as boxes and lines.", C.show_graph,
          command=("p g",), inspector=("2", "p g")),
        A("breaks", "Go to the breaks", "View", "Where graphs of compiled functions stop, why, and what to write instead.",
          C.show_breaks, command=("p b",), inspector=("3", "p b")),
        A("kernels", "Go to the kernels", "View", "What compiled functions launch, with source and time.",
          C.show_kernels, command=("p k",), inspector=("4", "p k")),
        A("device", "Go to the device", "View", "Adapter, memory, time of each operator.", C.show_device,
          command=("p d",), inspector=("6", "p d")),
        A("variables", "Go to the variables", "View", "What the cells defined.", C.show_variables, command=("n",),
          inspector=("n", "5")),
        A("switch_device", "Switch the device", "View", "Where new tensors are made from now on.", C.switch_device),
        A("kernel_source", "Show the kernel's source", "View", "The source of the chosen kernel, and what each line "
          "computes.", C.kernel_source),
        A("copy_row", "Copy from the panel", "View", "The chosen kernel's source, or the details of the chosen row.",
          C.copy_row, inspector=("y",), hint="Copy", hint_modes=("inspector",)),
        A("details", "Details of the row", "View", "Everything the panel knows of the chosen row, where it has no room for "
          "it.", C.details, inspector=("d",), hint="Details", hint_modes=("inspector",)),
        A("mark_dynamic", "Mark the dimension dynamic", "View", "For the chosen recompilation: one graph for all sizes.",
          C.mark_dynamic, inspector=("m",)),
        A("next_tab", "Next tab of the panel", "View", "Tape, Graph, Breaks, Kernels, Variables, Device.", C.next_tab, inspector=("tab", "]"),
          hint="Next tab", hint_modes=("inspector",)),
        A("wider", "Make the panel larger", "View", "Give the panel more room.", C.inspector_wider,
          command=("<",), inspector=("<",)),
        A("narrower", "Make the panel smaller", "View", "Give the cells more room.", C.inspector_narrower,
          command=(">",), inspector=(">",)),
        A("fold_all", "Fold or unfold the whole tape", "View", "Close every module of the tape, or open all.",
          C.fold_tape, inspector=("z",)),
        A("line_numbers", "Line numbers", "View", "Show or hide line numbers.", C.toggle_numbers, command=("l",)),
        A("theme", "Switch between dark and light", "View", "The other theme.", C.toggle_theme),
        A("pick_theme", "Choose a theme", "View", "Dark, light, high contrast, the terminal's own colours, and more.",
          C.pick_theme),
        A("key_tester", "Test keys", "View", "What a key is called here, and what it means.", C.key_tester),
        A("key_file", "Keys of my own", "View", "Where the file with your own keys is; it is made if it is not there.",
          C.key_file),
        A("screenshot", "Save a picture of the screen", "View", "Write the screen as an SVG file.", C.screenshot),
        # Document.
        A("save", "Save", "Document", "Write the document to its file.", C.save, keys=("ctrl+s",), hint="Save",
          hint_modes=edit),
        A("save_as", "Save as", "Document", "Write the document to another file.", C.save_as),
        A("autosave", "Save by itself, or not", "Document", "Save half a minute after each change, or only when asked.",
          C.toggle_autosave),
        A("open", "Open", "Document", "Choose a notebook from the tree of a folder.", C.open_document, keys=("ctrl+o",)),
        A("recent", "Open recent", "Document", "A notebook that was opened before.", C.open_recent),
        A("new", "New notebook", "Document", "From a template.", C.new_document, keys=("ctrl+n",)),
        A("reload", "Load the file again", "Document", "Take over what is on the disk; the difference is shown first.",
          C.reload, keys=("ctrl+r",)),
        A("generations", "Earlier generations", "Document", "What the file held before earlier saves, and back to it.",
          C.generations),
        A("export", "Export", "Document", "As one HTML page with outputs and views, or as .md, .ipynb, .py.", C.export),
        A("tour", "Take the tour", "Document", "What there is, in a minute.", C.tour),
        A("palette", "All commands", "Document", "Find any command by its name.", C.palette, keys=("ctrl+p",),
          command=("ctrl+shift+p",), hint="Commands", hint_modes=anywhere),
        A("help", "Help", "Document", "Every command with its keys.", C.help, keys=("f1",),
          command=("?", "h"), inspector=("?",), output=("?",), hint="Help", hint_modes=anywhere),
        A("quit", "Quit", "Document", "Leave; unsaved changes are asked about.", C.quit, keys=("ctrl+q",), hint="Quit",
          hint_modes=("command", "inspector", "output")),
    )  # fmt: skip


ACTIONS: tuple[Action, ...] = _make()
"""All actions, in the order of the help screen."""

GROUPS = tuple(dict.fromkeys(action.group for action in ACTIONS))
"""The headings of the help screen, in order."""

by_name: dict[str, Action] = {action.name: action for action in ACTIONS}
"""The actions by name."""


def make_keymap(actions: Iterable[Action] = ACTIONS) -> KeyMap:
    """The key map of all modes. Raises ValueError where two actions claim the same keys."""
    return KeyMap({mode: [(keys, a.name) for a in actions for keys in a.keys_in(mode)] for mode in MODES})


def key_text(action: Action, mode: str, keymap: KeyMap | None = None) -> str:
    """The keys of an action in a mode (those of `keymap`, else the usual ones), as people write them; "" for none."""
    return ", ".join(shown(keys) for keys in _keys(action, mode, keymap))


def _keys(action: Action, mode: str, keymap: KeyMap | None) -> Sequence[str]:
    return action.keys_in(mode) if keymap is None else keymap.keys(mode, action.name)


def hints(mode: str, actions: Iterable[Action] = ACTIONS, keymap: KeyMap | None = None) -> list[tuple[str, str, str]]:
    """The line of hints of a mode: (keys, label, action name)."""
    return [
        (shown(keys[0]), action.hint, action.name)
        for action in actions
        if action.hint and mode in action.hint_modes and (keys := _keys(action, mode, keymap))
    ]
