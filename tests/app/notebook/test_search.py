"""Find and replace, mathematics as text, going over to another state of the document, recent notebooks."""

from __future__ import annotations

import pytest

from tapescope.app.notebook import recent
from tapescope.app.notebook.adopt import adopt, difference
from tapescope.app.notebook.document import Cell, Notebook
from tapescope.app.notebook.errors import NotebookError
from tapescope.app.notebook.mathematics import readable, replace_in_markdown
from tapescope.app.notebook.search import Query, find, replace, replace_all


@pytest.fixture
def notebook() -> Notebook:
    return Notebook([Cell("a", "code", "x = 1\nxx = X"), Cell("b", "markdown", "About x."), Cell("c", "code", "y")])


def found(notebook, *args, **options):
    return [(f.cell, f.start, f.end) for f in find(notebook, Query(*args, **options))]


def test_plain_text_is_found_in_all_cells_in_order(notebook):
    assert found(notebook, "x") == [("a", 0, 1), ("a", 6, 7), ("a", 7, 8), ("a", 11, 12), ("b", 6, 7)]
    assert found(notebook, "X", case=True) == [("a", 11, 12)]
    assert found(notebook, "x", word=True, case=True) == [("a", 0, 1), ("b", 6, 7)]
    assert found(notebook, ".") == [("b", 7, 8)], "a dot is a dot unless regular expressions are on"
    assert found(notebook, "") == []


def test_a_regular_expression_that_is_none_is_told_in_a_sentence(notebook):
    with pytest.raises(NotebookError, match="no regular expression: .* at character"):
        found(notebook, "x(", regex=True)
    assert found(notebook, "^xx", regex=True) == [("a", 6, 8)]
    assert found(notebook, "z*", regex=True) == [], "what matches nothing is no find"


def test_places_are_lines_and_characters(notebook):
    place = find(notebook, Query("1\nxx"))[0]
    assert place.lines_of(notebook.cells[0].source) == [(0, 4, 5), (1, 0, 2)]
    assert place.place_in(notebook.cells[0].source) == (0, 4)


def test_replacing_all_is_one_step_of_undo(notebook):
    assert replace_all(notebook, Query("x", case=True), "abc") == (4, 2)
    assert [c.source for c in notebook.cells] == ["abc = 1\nabcabc = X", "About abc.", "y"]
    notebook.undo_operation()
    assert [c.source for c in notebook.cells] == ["x = 1\nxx = X", "About x.", "y"]


def test_groups_are_put_in_and_a_backslash_of_plain_text_is_itself(notebook):
    replace_all(notebook, Query(r"(\w) = (\w)", regex=True), r"\2 = \1")
    assert notebook.cells[0].source == "1 = x\nxX = x"
    replace_all(notebook, Query("y"), r"\1")
    assert notebook.cells[2].source == r"\1"
    with pytest.raises(NotebookError, match="replacement"):
        replace_all(notebook, Query("x", regex=True), r"\9")


def test_one_find_is_replaced_only_while_it_is_still_there(notebook):
    place = find(notebook, Query("1"))[0]
    assert replace(notebook, Query("1"), place, "22") == 6
    assert notebook.cells[0].source == "x = 22\nxx = X"
    assert replace(notebook, Query("1"), place, "3") == -1


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"\frac{1}{n}\sum_{i=1}^n x_i^2", "1/n ∑ᵢ₌₁ⁿ xᵢ²"),
        (r"\hat{y} = \sigma(W x + b)", "ŷ = σ(W x + b)"),
        (r"\mathrm{softmax}(z)_i = \frac{e^{z_i}}{\sum_j e^{z_j}}", "softmax(z)ᵢ = (e^(zᵢ))/(∑ⱼ e^(zⱼ))"),
        (r"x \in \mathbb{R}^n", "x ∈ ℝⁿ"),
        (r"\theta_{t+1}", "θₜ₊₁"),
        (r"\unknown{x}", "unknownx"),
        ("}{", "}{"),
        (r"\frac{1}", r"\frac{1}"),
    ],
)
def test_formulas_read_as_a_line_of_text(tex, text):
    assert readable(tex) == text


def test_only_mathematics_in_markdown_is_touched():
    assert replace_in_markdown("it costs $5 and $6, `$x$`, and $x_1$") == "it costs $5 and $6, `$x$`, and x₁"
    assert replace_in_markdown("$$a \\\\ b$$").split() == [">", "a", ">", "b"]
    deep = "{" * 5000
    assert readable(deep) == deep.strip() or readable(deep) == ""


def test_a_document_takes_over_another_one_and_undo_leads_back(notebook):
    other = Notebook([Cell("n", "code", "new"), Cell("a", "code", "x = 1\nxx = X"), Cell("c", "code", "z")])
    kept = notebook.cells[0]
    assert difference(notebook, notebook) == []
    assert any(line == "+new" for line in difference(notebook, other))
    assert adopt(notebook, other) > 0
    assert [c.source for c in notebook.cells] == ["new", "x = 1\nxx = X", "z"]
    assert kept in notebook.cells, "what is the same stays the same cell"
    notebook.undo_operation()
    assert [c.source for c in notebook.cells] == ["x = 1\nxx = X", "About x.", "y"]


def test_recent_notebooks_are_those_that_are_still_there(tmp_path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    for path in (one, two):
        path.write_text("")
        recent.note_opened(path)
    recent.note_opened(one)
    assert recent.recent() == [one, two]
    two.unlink()
    assert recent.recent() == [one]
