"""Recordings: a notebook that has run, as one JSON document the page can show without a kernel.

A recording holds the notebook with its outputs, the tape and the time of each cell, and the variables at the end.  It is
what the playground paints first, what a replay capsule carries, and what a shared document is opened as.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ..kernel import messages as m
from ..kernel.runner import RunResult, run_notebook
from ..notebook import ipynb, outputs
from ..notebook.document import Notebook
from ..notebook.files import load

FORMAT = "tapescope-recording"
VERSION = 1


class Recorder:
    """Takes a kernel's events and puts them into a notebook and a recording."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook = notebook
        self.tapes: dict[str, dict[str, Any]] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.variables: list[dict[str, Any]] = []
        self.kernel: dict[str, str] = {}
        self.costs: dict[str, dict[str, Any]] = {}
        self.hints: dict[str, list[dict[str, Any]]] = {}
        self.captured: dict[str, list[dict[str, Any]]] = {"captures": [], "breaks": [], "guards": []}
        self._cells = {cell.id: cell for cell in notebook.cells}

    def take(self, event: m.Message) -> None:
        """One event of the kernel."""
        cell = self._cells.get(getattr(event, "cell", None) or "")
        if isinstance(event, m.Ready):
            self.kernel = {"python": event.python, "torch": event.torch, "device": event.device}
        elif isinstance(event, m.Variables):
            self.variables = event.variables
        elif isinstance(event, m.DisplayData) and event.update and event.display_id is not None:
            outputs.update_display(self.notebook, event.display_id, event.data, event.metadata)
        elif isinstance(event, m.Captures):
            self.captured = {"captures": event.captures, "breaks": event.breaks, "guards": event.guards}
        elif cell is None:
            return
        elif isinstance(event, m.Status) and event.state == "busy":
            outputs.begin_execution(cell)
        elif isinstance(event, m.Stream):
            outputs.append_stream(cell, event.name, event.text)
        elif isinstance(event, m.DisplayData):
            shown = {"output_type": "display_data", "data": event.data, "metadata": event.metadata}
            outputs.append_output(cell, shown, event.display_id)
        elif isinstance(event, m.ExecuteResult):
            outputs.append_output(
                cell,
                {
                    "output_type": "execute_result", "execution_count": event.execution_count,
                    "data": event.data, "metadata": event.metadata,
                },
            )  # fmt: skip
        elif isinstance(event, m.ClearOutput):
            outputs.clear_output(cell, event.wait)
        elif isinstance(event, m.Error):
            failed = {
                "output_type": "error", "ename": event.ename, "evalue": event.evalue, "traceback": event.traceback,
            }  # fmt: skip
            outputs.append_output(cell, failed)
            self.runs.setdefault(cell.id, {})["line"] = event.line
        elif isinstance(event, m.Tape):
            if not event.live:
                self.tapes[cell.id] = event.tape
        elif isinstance(event, m.Executed):
            cell.execution_count = event.execution_count
            self.runs.setdefault(cell.id, {}).update(status=event.status, seconds=round(event.seconds, 4))
        elif isinstance(event, m.Costs):
            self.costs[cell.id] = event.costs
        elif isinstance(event, m.Hints):
            self.hints[cell.id] = event.hints

    def recording(self, title: str) -> dict[str, Any]:
        """The recording so far, as JSON values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "title": title,
            "notebook": json.loads(ipynb.writes(self.notebook)),
            "runs": self.runs,
            "tapes": self.tapes,
            "costs": self.costs,
            "hints": self.hints,
            **self.captured,
            "variables": self.variables,
            "kernel": self.kernel,
        }


def record(path: Path, *, device: str | None = None, torch: str = "tapescope") -> tuple[dict[str, Any], RunResult]:
    """Run the notebook at `path` in a kernel process of its own, and return its recording and how the run ended.

    The file is only read. Raises NotebookError for a file that is no notebook.
    """
    notebook = load(path)
    recorder = Recorder(notebook)
    cells = [
        m.Execute(c.id, c.revision, c.source) for c in notebook.cells if c.cell_type == "code" and c.source.strip()
    ]
    result = run_notebook(cells, recorder.take, device=device, torch=torch, cwd=path.resolve().parent)
    return recorder.recording(title_of(notebook, path.stem)), result


def still(path: Path) -> dict[str, Any]:
    """The notebook at `path` with the outputs it has, as a recording of no run."""
    notebook = load(path)
    return Recorder(notebook).recording(title_of(notebook, path.stem))


def title_of(notebook: Notebook, otherwise: str) -> str:
    """The first heading of the notebook, else `otherwise`."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if line.startswith("# "):
                    return _plain(line[2:])
    return otherwise


def summary_of(notebook: dict[str, Any]) -> str:
    """The first paragraph of text of an `.ipynb` dictionary, in one line."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            for paragraph in "".join(cell["source"]).split("\n\n"):
                if paragraph.strip() and not paragraph.lstrip().startswith("#"):
                    text = _plain(paragraph)
                    return text if len(text) <= 170 else f"{text[:170].rpartition(' ')[0]} …"
    return ""


def _plain(text: str) -> str:
    """Markdown's marks taken away, in one line."""
    return " ".join(re.sub(r"[`*_]{1,3}(\S(?:.*?\S)?)[`*_]{1,3}|\[([^\]]*)\]\([^)]*\)", r"\1\2", text).split())
