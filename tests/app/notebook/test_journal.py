"""The recovery journal: what a crash leaves behind, and that nothing but its owner removes it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tapescope.app.notebook import journal
from tapescope.app.notebook.document import Notebook
from tapescope.app.notebook.errors import NotebookError
from tapescope.app.notebook.files import changed_on_disk, load, new_notebook, save
from tapescope.app.notebook.outputs import append_stream

TEXT = "# %%\nx = 1\n\n# %%\n'kept'   # as   written\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "doc.py"
    path.write_text(TEXT)
    return path


def typed(path: Path, text: str) -> Notebook:
    """A session that typed `text` into the first cell of the document, and then crashed."""
    document = load(path)
    document.set_source(document.cells[0].id, text)
    journal.record(document)
    return document


def files_in(state: Path) -> list[str]:
    folder = state / "journal"
    return sorted(p.name for p in folder.iterdir()) if folder.exists() else []


def test_what_was_typed_is_found_again(path: Path):
    typed(path, "precious")
    work = journal.pending(path)
    assert work is not None
    assert work.path == path and work.differs and not work.disk_changed and work.time.tzinfo is not None
    assert work.text == "# %%\nprecious\n\n# %%\n'kept'   # as   written\n"
    document = journal.recover(path)
    assert [cell.source for cell in document] == ["precious", "'kept'   # as   written"]
    assert document.dirty and document.path == path and document.format == "py" and not changed_on_disk(document)
    assert path.read_text() == TEXT


def test_a_save_removes_it(path: Path, state: Path):
    document = typed(path, "precious")
    assert len(files_in(state)) == 1
    save(document)
    assert journal.pending(path) is None and files_in(state) == []


def test_saving_the_recovered_document_removes_it(path: Path, state: Path):
    typed(path, "precious")
    document = journal.recover(path)
    journal.record(document)
    assert len(files_in(state)) == 1
    save(document)
    assert files_in(state) == [] and "precious" in path.read_text()


def test_a_failed_save_keeps_it(path: Path, monkeypatch: pytest.MonkeyPatch):
    document = typed(path, "precious")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(NotebookError):
            save(document)
    assert journal.pending(path) is not None


def test_another_session_does_not_remove_it(path: Path):
    typed(path, "precious")
    later = typed(path, "something else")
    save(later)
    work = journal.pending(path)
    assert work is not None and "precious" in work.text and work.disk_changed
    recovered = journal.recover(work)
    assert changed_on_disk(recovered)


def test_the_newest_of_several_comes_first(path: Path):
    for text in ("first", "second"):
        typed(path, text)
    assert [work.text.splitlines()[1] for work in journal.all_pending()] == ["second", "first"]
    work = journal.pending(path)
    assert work is not None and "second" in work.text
    journal.discard(work)
    work = journal.pending(path)
    assert work is not None and "first" in work.text


def test_a_notebook_without_changes_has_none(path: Path, state: Path):
    journal.record(load(path))
    assert files_in(state) == []
    document = typed(path, "x")
    document.mark_saved()
    journal.record(document)
    assert files_in(state) == []


def test_work_that_is_already_on_disk_does_not_differ(path: Path):
    typed(path, "precious")
    path.write_text(TEXT.replace("x = 1", "precious"))
    work = journal.pending(path)
    assert work is not None and not work.differs and work.disk_changed


def test_untitled_documents(path: Path, tmp_path: Path, state: Path):
    document = new_notebook()
    document.set_source(document.cells[0].id, "untitled work")
    journal.record(document)
    assert journal.pending(path) is None
    work = journal.pending()
    assert work is not None and work.path is None and work.differs and "untitled work" in work.text
    recovered = journal.recover(work)
    assert recovered.path is None and recovered.cells[0].source == "untitled work"
    save(recovered, tmp_path / "named.py")
    assert journal.pending() is None and files_in(state) == []


def test_saving_under_a_name_moves_the_journal_along(path: Path, state: Path):
    document = new_notebook()
    document.set_source(document.cells[0].id, "a")
    journal.record(document)
    document.path = path
    journal.record(document)
    assert len(files_in(state)) == 1 and journal.pending() is None


def test_a_notebook_with_outputs_gets_them_back_from_disk(path: Path):
    target = path.with_suffix(".ipynb")
    document = load(path)
    append_stream(document.cells[1], "stdout", "output")
    document.cells[1].metadata["k"] = "v"
    save(document, target)
    document.set_source(document.cells[0].id, "precious")
    document.insert(0, "markdown", "# new")
    journal.record(document)
    work = journal.pending(target)
    assert work is not None and "output" not in work.text.replace("outputs", "")
    recovered = journal.recover(work)
    assert [(c.cell_type, c.source, c.metadata) for c in recovered] == [
        (c.cell_type, c.source, c.metadata) for c in document
    ]
    assert recovered.cells[2].outputs[0]["text"] == "output"
    assert [c.id for c in recovered] == [c.id for c in document]


def test_the_document_may_be_gone(path: Path):
    typed(path, "precious")
    path.unlink()
    work = journal.pending(path)
    assert work is not None and work.differs and work.disk_changed
    document = journal.recover(path)
    assert changed_on_disk(document)
    save(document)
    assert "precious" in path.read_text()


@pytest.mark.parametrize(
    "damage",
    [lambda t: t[:-20], lambda t: "", lambda t: "[]", lambda t: "{}", lambda t: t.replace("precious", "changed"),
     lambda t: t.replace('"py"', '"rb"'), lambda t: "\0" * len(t), lambda t: "[" * 99_999],
)  # fmt: skip
def test_a_torn_journal_is_ignored_and_left_where_it_is(path: Path, state: Path, damage):
    typed(path, "precious")
    place = state / "journal" / files_in(state)[0]
    place.write_text(damage(place.read_text()))
    assert journal.pending(path) is None and journal.all_pending() == []
    with pytest.raises(NotebookError, match=r"There is no unsaved work for .*doc\.py"):
        journal.recover(path)
    typed(path, "newer")
    assert len(files_in(state)) == 2, "somebody may still want to look at it"


def test_work_that_vanished_is_a_sentence(path: Path):
    document = typed(path, "precious")
    work = journal.pending(path)
    assert work is not None
    journal.discard(document)
    with pytest.raises(NotebookError, match="not there any more"):
        journal.recover(work)


def test_a_full_disk_is_a_sentence_and_keeps_the_last_journal(path: Path, monkeypatch: pytest.MonkeyPatch):
    document = typed(path, "precious")

    def full(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    document.set_source(document.cells[0].id, "more")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(NotebookError, match=r"journal .* cannot be written: No space left on device"):
            journal.record(document)
    work = journal.pending(path)
    assert work is not None and "precious" in work.text


def test_line_endings_header_and_odd_characters_survive(path: Path):
    path.write_bytes(b"# ---\r\n# a: 1\r\n# ---\r\n\r\n# %%\r\nx\r\n")
    typed(path, "\u2028 \ud83d \x00 \U0001f600")
    document = journal.recover(path)
    assert document.cells[0].source == "\u2028 \ud83d \x00 \U0001f600"
    assert document.newline == "\r\n" and document.header.startswith("# ---")


TYPING = """
import sys
from tapescope.app.notebook import journal
from tapescope.app.notebook.files import load
document = load(sys.argv[1])
print("ready", flush=True)
for n in range(10**9):
    document.set_source(document.cells[0].id, "typed " * (n % 50) + str(n))
    journal.record(document)
    print(n, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_kill_at_any_moment_loses_at_most_what_was_being_written(path: Path):
    rng = random.Random(0)
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", TYPING, str(path)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            first = process.stdout.readline()
            time.sleep(rng.random() / 20)
            process.send_signal(signal.SIGKILL)
            recorded = int((first + process.stdout.read()).split()[-1])
        work = journal.pending(path)
        assert work is not None
        number = int(work.text.splitlines()[1].split()[-1])
        assert number >= recorded
        journal.discard(work)
        assert journal.pending(path) is None
