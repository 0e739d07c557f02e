"""Exports: the four forms, what each keeps, and that a page made from a hostile notebook runs nothing of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tapescope.app.notebook import files
from tapescope.app.notebook.document import Cell, Notebook
from tapescope.app.notebook.errors import NotebookError
from tapescope.app.notebook.export import EXPORTS, export, markdown

FIGURE = {"data": [{"type": "scatter", "y": [1, 3, 2]}], "layout": {"title": {"text": "</script><script>alert(1)"}}}


def stream(text):
    return {"output_type": "stream", "name": "stdout", "text": text}


def display(**data):
    return {"output_type": "display_data", "data": {k.replace("__", "/"): v for k, v in data.items()}, "metadata": {}}


@pytest.fixture
def notebook() -> Notebook:
    return Notebook(
        [
            Cell("a1", "markdown", "# A title\n\nThe loss $\\frac{1}{n}$ of `x`."),
            Cell("b2", "code", "print('hello')", outputs=[stream("\x1b[31mhello\x1b[0m\n")], execution_count=3),
            Cell("c3", "code", "fence = '```'"),
            Cell("d4", "raw", "raw <b>"),
        ]
    )


def test_markdown_keeps_text_and_puts_code_and_output_in_fences(notebook):
    text = markdown(notebook)
    assert text.startswith("# A title\n\nThe loss $\\frac{1}{n}$")
    assert "```python\nprint('hello')\n```\n\n```text\nhello\n```" in text
    assert "````python\nfence = '```'\n````" in text, "a fence is longer than any in the code"


@pytest.mark.parametrize("suffix", EXPORTS)
def test_every_form_is_written_and_the_document_stays_as_it_is(notebook, tmp_path, suffix):
    notebook.dirty = True
    written = export(notebook, tmp_path / f"out{suffix}")
    assert "hello" in written.read_text()
    assert notebook.dirty and notebook.path is None and notebook.format == "py"
    with pytest.raises(NotebookError, match="there already"):
        export(notebook, written)
    export(notebook, written, overwrite=True)


def test_what_jupyter_gets_is_the_same_notebook(notebook, tmp_path):
    again = files.load(export(notebook, tmp_path / "out.ipynb"))
    assert [(c.cell_type, c.source) for c in again.cells] == [(c.cell_type, c.source) for c in notebook.cells]
    assert again.cells[1].outputs[0]["text"] == "\x1b[31mhello\x1b[0m\n"


def test_a_suffix_that_is_no_form_is_refused_with_those_that_are(notebook, tmp_path):
    with pytest.raises(NotebookError, match=r"\.html"):
        export(notebook, tmp_path / "out.docx")
    path = tmp_path / "mine.py"
    files.save(notebook, path)
    with pytest.raises(NotebookError, match="is the notebook itself"):
        export(notebook, path, overwrite=True)


def page(*outputs, source="1") -> str:
    from tapescope.app.notebook.export_html import html_page

    return html_page(Notebook([Cell("x1", "code", source, outputs=list(outputs), execution_count=1)]))


def test_the_page_shows_text_code_and_mathematics(notebook):
    from tapescope.app.notebook.export_html import html_page

    text = html_page(notebook)
    assert "<h1>A title</h1>" in text and "1/n" in text and "<code>x</code>" in text
    assert "[3]" in text and ">hello</pre>" in text and "raw &lt;b&gt;" in text
    assert "http" not in text.replace("http-equiv", ""), "the page fetches nothing"


def test_nothing_of_an_output_runs_in_the_page():
    text = page(
        display(text__html="<script>alert(1)</script><b>bold</b>"),
        {"output_type": "display_data", "data": {"image/svg+xml": "<svg onload='alert(2)'/>"}, "metadata": {}},
        stream("<script>alert(3)</script>"),
        source="'<script>alert(4)</script>'",
    )
    assert "<script>alert" not in text and "onload=" not in text
    assert "<iframe sandbox srcdoc=" in text


def test_a_figure_brings_its_library_and_cannot_end_its_script():
    text = page({"output_type": "display_data", "data": {"application/vnd.plotly.v1+json": FIGURE}, "metadata": {}})
    assert "Plotly.newPlot" in text and len(text) > 1_000_000
    assert "</script><script>alert(1)" not in text
    assert "Plotly" not in page(stream("no figure"))


def test_pictures_stand_in_the_page_and_in_markdown(tmp_path):
    output = {
        "output_type": "display_data",
        "data": {"image/png": "aGVsbG8=\n", "text/plain": "<Figure>"},
        "metadata": {},
    }
    assert "<img alt='output' src='data:image/png;base64,aGVsbG8='>" in page(output)
    assert "![output](data:image/png;base64,aGVsbG8=)" in markdown(Notebook([Cell("p", "code", "1", outputs=[output])]))


def test_the_command_line_exports(tmp_path: Path, capsys):
    from tapescope.app.cli import main

    path = tmp_path / "lesson.ipynb"
    cells = [{"cell_type": "markdown", "metadata": {}, "source": "# Lesson", "id": "a"}]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    assert main(["export", str(path), "--static"]) == 0
    assert capsys.readouterr().out.strip().endswith("lesson.html")
    assert "<h1>Lesson</h1>" in (tmp_path / "lesson.html").read_text()
    assert main(["export", str(path), "--static"]) == 1
    assert "is there already" in capsys.readouterr().err
    assert main(["export", str(path), str(tmp_path / "lesson.md"), "--force"]) == 0
    assert (tmp_path / "lesson.md").read_text() == "# Lesson\n"
