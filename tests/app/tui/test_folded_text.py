"""What a text cell folds away is a line with its summary, and its text appears where the cell is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapescope.app.notebook.files import load
from tapescope.app.tui import markdown_view
from tapescope.app.tui.themes import DARK, look_of

ROOT = Path(__file__).parents[3]
SOLUTION = "Write it.\n\n<details><summary>Solution</summary>\n\n```python\nanswer = 42  # </details>\n```\n\n</details>\n\nThen run."


def shown(source: str) -> str:
    lines = markdown_view.render(source, 60, look_of(DARK, {}))
    return "\n".join("".join(s.text for s in line) for line in lines)


def test_a_solution_is_folded_away():
    text = shown(SOLUTION)
    assert "▸ Solution" in text and "Enter" in text
    assert "42" not in text and "Write it." in text and "Then run." in text


@pytest.mark.parametrize(
    "source", ["```html\n<details><summary>a</summary>b</details>\n```", "<details> never closed\n\nb"]
)
def test_code_and_what_is_not_closed_stay(source):
    assert markdown_view.folded(source) == source


def test_no_lesson_shows_its_solutions():
    for path in sorted((ROOT / "examples").glob("[0-9]*.py")):
        cells = [c.source for c in load(path).cells if c.cell_type == "markdown" and "<details>" in c.source]
        assert len(cells) >= 2, path
        for source in cells:
            folded = markdown_view.folded(source)
            assert "▸ **Solution**" in folded and "```" not in folded, path
