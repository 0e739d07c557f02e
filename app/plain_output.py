"""A cell's outputs as plain text, for `tapescope run`: what each MIME bundle looks like without a screen.

It only chooses and formats; writing is headless.py's subject.
"""

from __future__ import annotations

import re
from typing import Any

PLOTLY = "application/vnd.plotly.v1+json"
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def without_colours(text: str) -> str:
    """`text` without terminal escape sequences."""
    return _ANSI.sub("", text)


def bundle_text(data: dict[str, Any], width: int) -> str:
    """The best plain text for a MIME bundle, ending in a newline; figures are drawn in `width` columns."""
    if PLOTLY in data:
        return _figure(data[PLOTLY], width)
    for kind in ("text/plain", "text/markdown", "text/latex"):
        if kind in data:
            text = data[kind]
            text = "".join(text) if isinstance(text, list) else str(text)
            return text if text.endswith("\n") else text + "\n"
    return f"[{', '.join(sorted(data)) or 'nothing'}: open the notebook in the app to see it]\n"


def _figure(figure: Any, width: int) -> str:
    from .tui.plot_draw import draw
    from .tui.themes import DARK, look_of

    return "".join(f"{line.plain.rstrip()}\n" for line in draw(figure, width, look_of(DARK, {})))
