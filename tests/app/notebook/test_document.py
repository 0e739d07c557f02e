"""The operations on the document, their undo, and what listeners hear."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapescope.app.notebook.document import CELL_TYPES, Cell, Change, Notebook
from tapescope.app.notebook.outputs import append_stream


def notebook(*sources: str) -> Notebook:
    return Notebook([Cell(source=source) for source in sources])


def sources(document: Notebook) -> list[str]:
    return [cell.source for cell in document]


def heard(document: Notebook) -> list[Change]:
    changes: list[Change] = []
    document.subscribe(changes.append)
    return changes


def test_insert_and_delete():
    document = notebook("a", "b")
    changes = heard(document)
    cell = document.insert(1, "markdown", "new")
    assert sources(document) == ["a", "new", "b"]
    assert document.dirty
    assert document.index_of(cell.id) == 1 and document.cell(cell.id) is cell
    assert document.delete(0).source == "a"
    assert [(c.kind, c.index) for c in changes] == [("state", -1), ("insert", 1), ("delete", 0)]


@pytest.mark.parametrize("index, to, after", [(0, 2, "bca"), (2, 0, "cab"), (1, 2, "acb"), (0, 1, "bac")])
def test_move_ends_at_the_index_asked_for(index: int, to: int, after: str):
    document = notebook("a", "b", "c")
    changes = heard(document)
    document.move(index, to)
    assert "".join(sources(document)) == after
    assert changes[-1] == Change("move", document.cells[to].id, to, index)


@pytest.mark.parametrize(
    "text, offset, parts",
    [("ab", 1, ["a", "b"]), ("a\nb", 1, ["a", "b"]), ("a\nb", 2, ["a", "b"]), ("ab", 0, ["", "ab"]),
     ("ab", 2, ["ab", ""]), ("a\n\nb", 2, ["a\n", "b"])],
)  # fmt: skip
def test_split(text: str, offset: int, parts: list[str]):
    document = notebook(text)
    upper = document.cells[0]
    lower = document.split(0, offset)
    assert sources(document) == parts
    assert document.cells == [upper, lower] and lower.id != upper.id


def test_merge_undoes_a_split_at_a_line():
    document = notebook("first\nsecond")
    document.split(0, 6)
    assert document.merge(0) is document.cells[0]
    assert sources(document) == ["first\nsecond"]


def test_merge_keeps_the_outputs_above_and_the_attachments_of_both():
    document = Notebook([
        Cell(cell_type="markdown", source="a", extra={"attachments": {"x.png": {"image/png": "AA"}}}),
        Cell(cell_type="markdown", source="b", extra={"attachments": {"y.png": {"image/png": "BB"}}}),
    ])  # fmt: skip
    document.merge(0)
    assert set(document.cells[0].extra["attachments"]) == {"x.png", "y.png"}
    document.undo_operation()
    assert set(document.cells[0].extra["attachments"]) == {"x.png"}


def test_changing_the_type_takes_outputs_away_and_undo_brings_them_back():
    document = notebook("x")
    append_stream(document.cells[0], "stdout", "hello")
    document.cells[0].execution_count = 3
    document.change_type(0, "markdown")
    assert document.cells[0].outputs == [] and document.cells[0].execution_count is None
    document.undo_operation()
    assert document.cells[0].outputs[0]["text"] == "hello" and document.cells[0].execution_count == 3
    with pytest.raises(ValueError, match="no type of cell; use one of code, markdown, raw"):
        document.change_type(0, "heading")  # type: ignore[arg-type]


def test_revision_counts_every_edit_also_by_undo():
    document = notebook("a")
    cell = document.cells[0]
    document.set_source(cell.id, "ab")
    document.set_source(cell.id, "ab")
    assert cell.revision == 1
    document.undo_operation()
    assert (cell.source, cell.revision) == ("a", 2)


def test_typing_in_one_cell_is_one_step_until_the_editor_leaves():
    document = notebook("", "")
    first, second = document.cells
    for text in ("h", "he", "hey"):
        document.set_source(first.id, text)
    document.checkpoint()
    document.set_source(first.id, "hey you")
    document.set_source(second.id, "x")
    steps = []
    while document.undo_operation():
        steps.append(sources(document))
    assert steps == [["hey you", ""], ["hey", ""], ["", ""]]
    while document.redo_operation():
        pass
    assert sources(document) == ["hey you", "x"]


def test_pasted_line_endings_become_newlines():
    document = notebook("")
    document.set_source(document.cells[0].id, "a\r\nb\rc")
    assert document.cells[0].source == "a\nb\nc"


def test_paste_copies_under_new_ids_in_one_step():
    document = notebook("a", "b")
    append_stream(document.cells[0], "stdout", "out")
    copies = document.paste(2, document.cells[:2])
    assert sources(document) == ["a", "b", "a", "b"]
    assert len({cell.id for cell in document}) == 4
    copies[0].outputs[0]["text"] = "changed"
    assert document.cells[0].outputs[0]["text"] == "out"
    document.undo_operation()
    assert len(document) == 2


def test_one_step_groups_operations():
    document = notebook("a", "b", "c")
    with document.one_step():
        document.delete(0)
        document.delete(0)
    assert sources(document) == ["c"]
    document.undo_operation()
    assert sources(document) == ["a", "b", "c"]


def test_undo_of_a_deletion_brings_the_same_cell_back():
    document = notebook("a")
    cell = document.cells[0]
    append_stream(cell, "stdout", "precious")
    document.delete(0)
    document.undo_operation()
    assert document.cells[0] is cell and cell.outputs[0]["text"] == "precious"


def test_undo_of_clearing_does_not_replace_newer_outputs():
    document = notebook("a", "b")
    for cell in document:
        append_stream(cell, "stdout", "old")
    document.clear_outputs()
    assert not any(cell.outputs for cell in document)
    append_stream(document.cells[0], "stdout", "new")
    document.undo_operation()
    assert [cell.outputs[0]["text"] for cell in document] == ["new", "old"]
    document.redo_operation()
    document.undo_operation()
    assert [cell.outputs[0]["text"] for cell in document] == ["new", "old"]


def test_a_new_operation_ends_redo():
    document = notebook("a")
    document.insert(1)
    document.undo_operation()
    document.insert(0)
    assert not document.redo_operation()


def test_bad_indices_are_sentences():
    document = notebook("a")
    for act in (lambda: document.delete(1), lambda: document.insert(3), lambda: document.move(0, 1)):
        with pytest.raises(IndexError, match="the notebook has 1 cells"):
            act()
    with pytest.raises(IndexError, match="no cell below"):
        document.merge(0)
    with pytest.raises(IndexError, match="the cell has 1 characters"):
        document.split(0, 2)
    with pytest.raises(KeyError, match="nope"):
        document.cell("nope")
    assert document.find("nope") is None
    assert not document.dirty and not document.undo_operation()


def test_unsubscribe():
    document = notebook("a")
    changes: list[Change] = []
    stop = document.subscribe(changes.append)
    stop()
    stop()
    document.insert(0)
    assert changes == []


operations = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "move", "split", "merge", "type", "source", "clear", "metadata", "paste"]),
        st.integers(0, 30),
        st.integers(0, 30),
    ),
    max_size=25,
)


def act(document: Notebook, what: str, a: int, b: int) -> None:
    count = len(document)
    if what == "insert":
        document.insert(a % (count + 1), CELL_TYPES[b % 3], f"new {b}\nline")
    elif what == "paste":
        document.paste(a % (count + 1), document.cells[:2])
    elif not count:
        return
    elif what == "delete":
        document.delete(a % count)
    elif what == "move":
        document.move(a % count, b % count)
    elif what == "split":
        document.split(a % count, b % (len(document.cells[a % count].source) + 1))
    elif what == "merge" and count > 1:
        document.merge(a % (count - 1))
    elif what == "type":
        document.change_type(a % count, CELL_TYPES[b % 3])
    elif what == "source":
        document.set_source(document.cells[a % count].id, f"text {b}")
    elif what == "metadata":
        document.set_metadata({"b": b}, document.cells[a % count].id)
    elif what == "clear":
        document.clear_outputs()


def content(document: Notebook) -> list[tuple]:
    return [
        (c.id, c.cell_type, c.source, c.metadata, c.outputs, c.execution_count, c.extra)
        for c in deepcopy(document.cells)
    ]


@given(operations)
def test_everything_can_be_undone_and_redone(steps: list[tuple[str, int, int]]):
    document = notebook("a\nb", "c", "d")
    for cell in document:
        append_stream(cell, "stdout", cell.source)
    mirror = [cell.id for cell in document]

    def follow(change: Change) -> None:
        if change.kind in ("insert", "delete", "move"):
            if change.kind != "insert":
                assert mirror.pop(change.previous if change.kind == "move" else change.index) == change.cell_id
            if change.kind != "delete":
                mirror.insert(change.index, change.cell_id or "")

    document.subscribe(follow)
    states = [content(document)]
    for step in steps:
        act(document, *step)
        document.checkpoint()
        assert mirror == [cell.id for cell in document]
        assert len(set(mirror)) == len(mirror)
        if content(document) != states[-1]:
            states.append(content(document))
    final = states[-1]
    for state in reversed(states[:-1]):
        # An operation that changed nothing visible may still be a step of its own.
        while content(document) != state:
            assert document.undo_operation()
    assert mirror == [cell.id for cell in document]
    while document.redo_operation():
        assert mirror == [cell.id for cell in document]
    assert content(document) == final
