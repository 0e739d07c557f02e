"""Outputs that a terminal cannot show, written to a file and opened in the browser.

Nothing in an output runs by being opened: HTML stands in a sandboxed frame, a drawing in an image, and a policy in the
page keeps it from loading anything.  Only plotly's own program runs.

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
    "image/svg+xml": ".html",
    "text/html": ".html",
}

_STILL = "default-src 'none'; img-src data:; media-src data:; font-src data:; style-src 'unsafe-inline'"
"""Content security policy of a page in which nothing runs and that loads nothing."""

_FIGURE = (
    "default-src 'none'; img-src data: blob:; font-src data:; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline' 'unsafe-eval'; worker-src blob:"
)
"""Of one in which plotly draws."""


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
        path.write_text(page.replace("<head>", f"<head>{_policy(_FIGURE)}", 1), encoding="utf-8")
        return path
    path = folder / f"output{_SUFFIXES[mime]}"
    if mime == "text/html":
        text = joined(value)
        note = "<p>Programs in this output do not run here.</p>" if "<script" in text.lower() else ""
        path.write_text(_page(f"{note}<iframe sandbox srcdoc='{html.escape(text)}'></iframe>"), encoding="utf-8")
    elif mime == "image/svg+xml":
        drawing = base64.b64encode(joined(value).encode()).decode()
        path.write_text(_page(f"<img alt='' src='data:image/svg+xml;base64,{drawing}'>"), encoding="utf-8")
    else:
        path.write_bytes(base64.b64decode(joined(value)))
    return path


def _policy(text: str) -> str:
    return f'<meta http-equiv="Content-Security-Policy" content="{text}">'


def _page(body: str) -> str:
    style = "body { margin: 1em; font-family: sans-serif } iframe { border: 0; width: 100%; height: 92vh } img { max-width: 100% }"
    return (
        f"<!doctype html><html><head><meta charset='utf-8'>{_policy(_STILL)}<title>Output</title>"
        f"<style>{style}</style></head><body>{body}</body></html>\n"
    )


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
