"""Putting outputs into cells as they come from a kernel. It knows no kernel: callers translate events to these calls.

After a call, say `notebook.outputs_changed(cell.id)` so that listeners hear of it. Outputs are nbformat dictionaries.
A display id is kept under "transient", as in Jupyter's messages; writers leave that key out of files.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from .document import Cell, Notebook, Output
from .screen import Screen

MAX_LINES = 1000
_MAX_STREAMS = 200  # from here on text joins an earlier stream of its name: alternating streams must not grow for ever


class _State:
    """What a cell's outputs need to know beside themselves: a clearing that waits, and the screens of its streams."""

    def __init__(self) -> None:
        self.clear_on_next = False
        self.streams: list[tuple[Output, Screen]] = []


def append_stream(cell: Cell, name: str, text: str, max_lines: int = MAX_LINES) -> None:
    """Append `text` to the cell's stream `name` ("stdout" or "stderr").

    Text joins the last output where that is a stream of the same name. Carriage returns and cursor movements are folded
    across calls the way a terminal does. Of more than `max_lines` lines the first and the last are kept, and a line
    between them says how many were dropped.
    """
    if not text:
        return
    state = _ready(cell)
    output = _stream_to_join(cell, state, name)
    if output is None:
        output = {"output_type": "stream", "name": name, "text": ""}
        cell.outputs.append(output)
    screen = next((screen for known, screen in state.streams if known is output), None)
    if screen is None:
        screen = Screen(max_lines)
        screen.feed(output["text"])
        state.streams.append((output, screen))
        if len(cell.outputs) < _MAX_STREAMS:
            del state.streams[:-2]
    screen.feed(text)
    output["text"] = screen.text


def append_output(cell: Cell, output: Output, display_id: str | None = None) -> None:
    """Append an nbformat output dictionary (display_data, execute_result, error, stream); it is copied.

    `display_id` makes it reachable for `update_display`. The count of an execute_result becomes the cell's.
    ValueError where it has no "output_type".
    """
    if not isinstance(output.get("output_type"), str):
        raise ValueError('an output needs an "output_type": display_data, execute_result, error or stream')
    if output["output_type"] == "stream":
        append_stream(cell, output.get("name", "stdout"), output.get("text", ""))
        return
    _ready(cell)
    output = deepcopy(output)
    if display_id is not None:
        output["transient"] = {**output.get("transient", {}), "display_id": display_id}
    if isinstance(count := output.get("execution_count"), int):
        cell.execution_count = count
    cell.outputs.append(output)


def update_display(
    notebook: Notebook, display_id: str, data: dict[str, Any], metadata: dict[str, Any] | None = None
) -> list[str]:
    """Replace data and metadata of every output with that display id; returns the ids of the cells that changed."""
    changed: list[str] = []
    for cell in notebook.cells:
        for output in cell.outputs:
            if output.get("transient", {}).get("display_id") == display_id:
                output["data"], output["metadata"] = deepcopy(data), deepcopy(metadata or {})
                if cell.id not in changed:
                    changed.append(cell.id)
    return changed


def clear_output(cell: Cell, wait: bool = False) -> None:
    """Drop the cell's outputs now, or (`wait`) when the next output comes."""
    if wait:
        _state(cell).clear_on_next = True
    else:
        cell.outputs = []
        cell.output_state = None


def begin_execution(cell: Cell) -> None:
    """Forget outputs and count of the last run: call when the cell is sent to the kernel."""
    clear_output(cell)
    cell.execution_count = None


def _state(cell: Cell) -> _State:
    if not isinstance(cell.output_state, _State):
        cell.output_state = _State()
    return cell.output_state


def _ready(cell: Cell) -> _State:
    """The cell's state, with a clearing that waited done."""
    if _state(cell).clear_on_next:
        clear_output(cell)
    return _state(cell)


def _stream_to_join(cell: Cell, state: _State, name: str) -> Output | None:
    candidates = cell.outputs[-1:] if len(cell.outputs) < _MAX_STREAMS else reversed(cell.outputs)
    for output in candidates:
        if output.get("output_type") == "stream" and output.get("name") == name:
            return output
    return None
