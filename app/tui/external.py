"""Outputs that a terminal cannot show, written to a file and opened in the browser.

Writing and opening take a moment (plotly is imported here, and only here): call from a worker thread.
"""

from __future__ import annotations

import base64
import html
import os
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

from .output_view import FIGURE, joined

__all__ = ["open_in_browser", "openable", "write_output"]

_SUFFIXES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/svg+xml": ".svg",
    "text/html": ".html",
}


def openable(output: dict[str, Any]) -> str | None:
    """The MIME type under which an output can be opened in a browser, or None."""
    data = output.get("data")
    if not isinstance(data, dict):
        return None
    return next((mime for mime in (FIGURE, *_SUFFIXES) if mime in data), None)


def write_output(data: dict[str, Any], mime: str) -> Path:
    """Write one representation of a MIME bundle to a temporary file that a browser can open; returns its path.

    A figure becomes one HTML page that needs no network. Raises OSError where the file cannot be written.
    """
    folder = Path(tempfile.mkdtemp(prefix="tapescope-"))
    value = data[mime]
    if mime == FIGURE:
        import plotly.io

        path = folder / "figure.html"
        # `validate=False`: the figure may have been made by another version of plotly.
        page = plotly.io.to_html(value, include_plotlyjs=True, full_html=True, validate=False)
        path.write_text(page, encoding="utf-8")
        return path
    path = folder / f"output{_SUFFIXES[mime]}"
    if mime in ("text/html", "image/svg+xml"):
        text = joined(value)
        if mime == "text/html" and "<html" not in text.lower():
            text = f"<!doctype html><meta charset='utf-8'><title>{html.escape('Output')}</title>\n{text}"
        path.write_text(text, encoding="utf-8")
    else:
        path.write_bytes(base64.b64decode(joined(value)))
    return path


def open_in_browser(path: Path) -> bool:
    """Ask the system to show a file in a browser; False where there is none (over SSH, for one)."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        # Without a display webbrowser would start a text browser inside this very terminal.
        if not os.environ.get("BROWSER"):
            return False
    try:
        return webbrowser.open(path.as_uri())
    except (webbrowser.Error, OSError):
        return False
