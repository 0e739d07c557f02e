"""Putting outputs into cells as they come from a kernel. It knows no kernel: callers translate events to these calls.

After a call, say `notebook.outputs_changed(cell.id)` so that listeners hear of it.
"""

from __future__ import annotations

from typing import Any

from .document import Cell, Notebook, Output

MAX_LINES = 1000


def append_stream(cell: Cell, name: str, text: str, max_lines: int = MAX_LINES) -> None:
    """Append `text` to the cell's stream `name` ("stdout" or "stderr")."""
    raise NotImplementedError


def append_output(cell: Cell, output: Output, display_id: str | None = None) -> None:
    """Append an nbformat output dictionary (display_data, execute_result, error, stream)."""
    raise NotImplementedError


def update_display(
    notebook: Notebook,
    display_id: str,
    data: dict[str, Any],
    metadata: dict[str, Any] | None = None,
) -> list[str]:
    """Replace data and metadata of every output with that display id; returns the ids of the cells that changed."""
    raise NotImplementedError


def clear_output(cell: Cell, wait: bool = False) -> None:
    """Drop the cell's outputs now, or (`wait`) when the next output comes."""
    raise NotImplementedError


def begin_execution(cell: Cell) -> None:
    """Forget outputs and count of the last run: call when the cell is sent to the kernel."""
    raise NotImplementedError
