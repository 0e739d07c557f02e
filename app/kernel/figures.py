"""Plotly figures: shown, displayed or the last value of a cell, they become one plotly MIME bundle with a line of text.

Plotly is told once, when a cell first imports it, to hand figures to the notebook.  Its own MIME renderer would do,
but refuses to work without nbformat, which nothing else needs here; and its figures display themselves behind
IPython's back, so that `display(figure, display_id=...)` could never be updated.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .import_hooks import when_imported

PLOTLY_MIME = "application/vnd.plotly.v1+json"
_RENDERER = "tapescope"


def install(publish: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
    """Let `figure.show()` hand its bundle to `publish`; returns what takes that back before plotly is imported."""

    def configure(module: ModuleType) -> None:
        class NotebookRenderer(module.ExternalRenderer):
            """Hands a figure to the notebook it is shown in."""

            def render(self, fig: dict[str, Any]) -> None:
                publish(_bundle(fig))

        module.renderers[_RENDERER] = NotebookRenderer()
        if "PLOTLY_RENDERER" not in os.environ:
            module.renderers.default = _RENDERER

    return when_imported("plotly.io._renderers", configure)


def figure_bundle(value: Any) -> dict[str, Any] | None:
    """The bundle of a plotly figure; None for anything else, and where the user chose another renderer."""
    if not any(c.__name__ == "BaseFigure" and c.__module__ == "plotly.basedatatypes" for c in type(value).__mro__):
        return None
    import plotly.io

    return _bundle(value.to_dict()) if plotly.io.renderers.default == _RENDERER else None


def _bundle(figure: dict[str, Any]) -> dict[str, Any]:
    return {
        PLOTLY_MIME: json.loads(sys.modules["plotly.io"].to_json(figure, validate=False)),
        "text/plain": describe(figure),
    }


def describe(figure: dict[str, Any]) -> str:
    """One line for a front end without pictures: "Figure with 2 traces (scatter, bar): Loss"."""
    kinds = [str(trace.get("type", "scatter")) for trace in figure.get("data", [])]
    title = figure.get("layout", {}).get("title", "")
    title = str((title.get("text") or "") if isinstance(title, dict) else title)
    count = "1 trace" if len(kinds) == 1 else f"{len(kinds)} traces"
    shown = f" ({', '.join(dict.fromkeys(kinds))})" if kinds else ""
    return f"Figure with {count}{shown}{': ' + title if title else ''}"
