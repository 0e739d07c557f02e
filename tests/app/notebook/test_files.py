"""Documents on disk: loading, saving, what is kept, and every fault that must not cost a file."""

from __future__ import annotations

import datetime
import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tapescope.app.notebook import files, journal, percent, sidecar, state
from tapescope.app.notebook.document import Cell, Notebook
from tapescope.app.notebook.errors import NotebookError
from tapescope.app.notebook.files import changed_on_disk, generations, load, new_notebook, restore, save
from tapescope.app.notebook.outputs import append_output, append_stream

TEXT = "# %%\nx = 1\n\n# %%\ny = 2\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "doc.py"
    path.write_text(TEXT)
    return path


def edited(path: Path, text: str = "edited") -> Notebook:
    document = load(path)
    document.set_source(document.cells[0].id, text)
    return document


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


# -- loading ----------------------------------------------------------------------------------------------


def test_load_says_what_it_read(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(path.parent)
    document = load("doc.py")
    assert document.path == path and document.format == "py" and not document.dirty
    assert [cell.source for cell in document] == ["x = 1", "y = 2"]


@pytest.mark.parametrize(
    "name, data, words",
    [
        ("latin.py", b"# %%\nx = '\xe9'\n",
         r"not UTF-8: byte 0xe9 at position 10 \(line 2, column 6\)\. .*iconv -f latin1 -t utf-8 latin\.py > NEW"),
        ("wide.ipynb", "{}".encode("utf-16"), "is UTF-16, not UTF-8.*iconv -f utf-16 -t utf-8 wide.ipynb > NEW.ipynb"),
        ("broken.ipynb", b'{"cells": [\n1,,', "broken.ipynb: This is no JSON.* line 2, column 3"),
        ("list.ipynb", b"[]", "list.ipynb: This is JSON but no notebook"),
        ("doc.txt", b"x", r"doc.txt ends in .txt, which is no kind of notebook; use .py or .ipynb"),
        ("doc", b"x", r"doc has no suffix; a notebook is a .py or .ipynb file"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_with_a_sentence(tmp_path: Path, name: str, data: bytes, words: str):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(NotebookError, match=words):
        load(tmp_path / name)
    assert (tmp_path / name).read_bytes() == data


def test_a_missing_file_and_a_folder(tmp_path: Path):
    with pytest.raises(NotebookError, match=r"There is no file .*nope\.py\. `tapescope new nope\.py` makes one"):
        load(tmp_path / "nope.py")
    with pytest.raises(NotebookError, match=r"the folder .*away does not exist"):
        load(tmp_path / "away" / "nope.py")
    with pytest.raises(NotebookError, match="is a folder; name a notebook in it"):
        load(tmp_path)
    (tmp_path / "folder.ipynb").mkdir()
    with pytest.raises(NotebookError, match="is a folder"):
        load(tmp_path / "folder.ipynb")


def test_no_permission(path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_args: object, **_options: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)  # the superuser, as whom tests may run, is never refused
    with pytest.raises(NotebookError, match="cannot be read: permission denied"):
        load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_does_not_make_it_wait(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(NotebookError, match="no regular file"):
        load(tmp_path / "pipe.py")


@pytest.mark.parametrize("suffix", ["py", "ipynb"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_endings_and_byte_order_mark_are_kept(tmp_path: Path, suffix: str, mark: bytes, newline: str):
    path = tmp_path / f"doc.{suffix}"
    save(percent.reads(TEXT), path)
    data = mark + path.read_bytes().replace(b"\n", newline.encode())
    path.write_bytes(data)
    document = load(path)
    assert [cell.source for cell in document] == ["x = 1", "y = 2"] and document.warnings == []
    save(document)
    assert path.read_bytes() == data
    document.set_source(document.cells[0].id, "a\nb")
    save(document)
    assert path.read_bytes().count(b"\r\n") == (path.read_bytes().count(b"\n") if newline == "\r\n" else 0)


def test_mixed_line_endings_are_told(tmp_path: Path):
    path = tmp_path / "doc.py"
    path.write_bytes(b"# %%\r\nx\r\ny\n")
    document = load(path)
    assert "mixes line endings; saving it will write all of them as CR LF" in document.warnings[0]
    save(document)
    assert path.read_bytes() == b"# %%\r\nx\r\ny\r\n"


# -- saving -----------------------------------------------------------------------------------------------


def test_save_and_load_again(path: Path):
    document = edited(path)
    assert save(document) == path
    assert path.read_text() == "# %%\nedited\n\n# %%\ny = 2\n" and not document.dirty
    assert names(path.parent) == ["doc.py"], "no temporary file and no needless sidecar stays"


def test_the_suffix_decides_the_format(path: Path):
    document = load(path)
    target = path.with_name("doc.ipynb")
    assert save(document, target) == target
    assert document.path == target and document.format == "ipynb"
    content = json.loads(target.read_text())
    assert content["nbformat"] == 4 and content["metadata"]["kernelspec"]["language"] == "python"
    assert path.read_text() == TEXT


@pytest.mark.parametrize(
    "name, words",
    [("x.txt", "no kind of notebook"), ("away/x.py", "the folder .* does not exist"), ("folder.py", "is a folder")],
)
def test_targets_that_cannot_be(path: Path, name: str, words: str):
    (path.parent / "folder.py").mkdir()
    document = edited(path)
    with pytest.raises(NotebookError, match=words):
        save(document, path.parent / name)
    assert document.dirty and document.path == path and document.format == "py"
    with pytest.raises(NotebookError, match="has no name yet"):
        save(new_notebook())


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_permissions_are_kept(path: Path):
    path.chmod(0o640)
    save(edited(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    previous = os.umask(0o027)
    try:
        save(load(path), path.with_name("new.py"))
    finally:
        os.umask(previous)
    assert stat.S_IMODE(path.with_name("new.py").stat().st_mode) == 0o640


def test_symbolic_links_are_followed(path: Path):
    (path.parent / "real").mkdir()
    real = path.rename(path.parent / "real" / "real.py")
    path.symlink_to(real)
    document = edited(path)
    save(document)
    assert path.is_symlink() and real.read_text().startswith("# %%\nedited")
    assert document.path == path and not changed_on_disk(document)
    assert len(generations(path)) == len(generations(real)) == 1


@pytest.mark.parametrize("function", ["replace", "fsync", "write", "open", "chmod"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS])
def test_a_save_that_fails_leaves_the_old_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, function: str, code: int, state: Path
):
    document = edited(path)
    real_open, real_fdopen = os.open, os.fdopen

    def fail(*_args: object, **_options: object) -> None:
        raise OSError(code, os.strerror(code))

    def open_for_reading(name: str, flags: int, *rest: int) -> int:
        return real_open(name, flags, *rest) if not flags & os.O_CREAT else fail()  # type: ignore[return-value]

    def open_that_cannot_write(*args: object, **options: object):
        file = real_fdopen(*args, **options)  # type: ignore[call-overload]
        if "w" in file.mode:
            file.close()
            fail()
        return file

    with monkeypatch.context() as patch:
        if function == "open":
            patch.setattr(os, "open", open_for_reading)
        elif function == "write":
            patch.setattr(os, "fdopen", open_that_cannot_write)
        else:
            patch.setattr(os, function, fail)
        with pytest.raises(NotebookError, match=r"doc\.py was not saved: .*") as caught:
            save(document)
    expected = {errno.ENOSPC: "no space left on the disk", errno.EROFS: "file system is read-only",
                errno.EACCES: "allows no new file", errno.EIO: "Input/output error"}  # fmt: skip
    assert expected[code] in str(caught.value)
    assert path.read_text() == TEXT and names(path.parent) == ["doc.py"]
    assert document.dirty and document.cells[0].source == "edited"
    save(document)
    assert path.read_text().startswith("# %%\nedited")


def test_an_interrupt_while_saving_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_args: object) -> None:
        raise KeyboardInterrupt

    document = edited(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            save(document, path.with_suffix(".ipynb"))
    assert path.read_text() == TEXT and names(path.parent) == ["doc.py"]
    assert document.dirty and document.format == "py" and document.metadata == {}


@pytest.mark.parametrize("suffix", ["py", "ipynb"])
def test_a_writer_that_loses_text_is_caught_before_it_replaces_anything(
    path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
):
    target = path.with_suffix(f".{suffix}")
    save(load(path), target)
    before = target.read_bytes()
    document = edited(target, "precious")
    module = files.FORMATS[document.format]
    real = module.writes
    with monkeypatch.context() as patch:
        patch.setattr(module, "writes", lambda notebook: real(notebook).replace("precious", "lost"))
        with pytest.raises(NotebookError, match="would not read back"):
            save(document)
    assert target.read_bytes() == before and document.dirty


def test_a_disk_that_writes_something_else_is_caught(path: Path, monkeypatch: pytest.MonkeyPatch):
    document = edited(path)
    real = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: real(self)[:9] if self.suffix == ".tmp" else real(self))
    with pytest.raises(NotebookError, match=r"would not read back|would read back as"):
        save(document)
    assert path.read_text() == TEXT


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_read_only_file_is_not_replaced(path: Path, monkeypatch: pytest.MonkeyPatch):
    path.chmod(0o444)
    document = edited(path)
    real = os.access
    monkeypatch.setattr(os, "access", lambda p, mode: Path(p) != path and real(p, mode))  # for the superuser
    with pytest.raises(NotebookError, match=r"doc.py is read-only \(what was on the disk is as it was\)"):
        save(document)
    assert path.read_text() == TEXT


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="a read-only folder does not stop the superuser")
def test_a_read_only_folder(path: Path):
    document = edited(path)
    path.parent.chmod(0o555)
    try:
        with pytest.raises(NotebookError, match="allows no new file"):
            save(document)
    finally:
        path.parent.chmod(0o755)
    assert path.read_text() == TEXT


def test_half_a_character_is_a_sentence(path: Path):
    document = edited(path, "ok\nx = '\ud83d'")
    with pytest.raises(NotebookError, match=r"U\+D83D in line 3 is half of a surrogate pair"):
        save(document)
    save(document, path.with_suffix(".ipynb"))
    assert load(path.with_suffix(".ipynb")).cells[0].source == "ok\nx = '\ud83d'"


def test_temporary_files_of_killed_processes_are_swept_when_they_are_old(path: Path):
    old, new = path.with_name(".tapescope-aa.tmp"), path.with_name(".tapescope-bb.tmp")
    old.touch()
    new.touch()
    os.utime(old, (1, 1))
    save(edited(path))
    assert names(path.parent) == [".tapescope-bb.tmp", "doc.py"]


KILLED_WHILE_SAVING = """
import os, signal, sys
from tapescope.app.notebook import files
document = files.load(sys.argv[1])
document.set_source(document.cells[0].id, "new text " * 1000)
count = 0
def tracing(frame, event, argument):
    global count
    if not frame.f_code.co_filename.endswith("state.py"):
        return None
    count += 1
    if count == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return tracing
sys.settrace(tracing)
files.save(document)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("at", [*range(20, 80, 5), 10**9])
def test_a_kill_at_any_line_leaves_the_old_or_the_new_file(path: Path, at: int):
    done = subprocess.run([sys.executable, "-c", KILLED_WHILE_SAVING, str(path), str(at)], timeout=120)
    assert done.returncode in (0, -9)
    text = path.read_text()
    assert text in (TEXT, TEXT.replace("x = 1", ("new text " * 1000)))
    if done.returncode == 0:
        assert text != TEXT
    save(edited(path))


# -- generations ------------------------------------------------------------------------------------------


def test_what_was_there_before_can_be_had_again(path: Path):
    document = load(path)
    for number in range(3):
        document.set_source(document.cells[0].id, f"version {number}")
        save(document)
    found = generations(path)
    assert [g.path.read_text().splitlines()[1] for g in found] == ["version 1", "version 0", "x = 1"]
    assert found == sorted(found, key=lambda g: g.time, reverse=True)
    assert found[0].time.tzinfo is not None and found[0].size == len(found[0].path.read_bytes())
    old = restore(path, found[-1])
    assert old.cells[0].source == "x = 1" and old.path == path and old.dirty and not changed_on_disk(old)
    save(old)
    assert path.read_text() == TEXT


def test_the_ring_holds_twenty(path: Path):
    document = load(path)
    for number in range(25):
        document.set_source(document.cells[0].id, f"version {number}")
        save(document)
    found = generations(path)
    assert len(found) == files.KEPT_GENERATIONS == 20
    assert found[0].path.read_text().splitlines()[1] == "version 23"


def test_saving_the_same_adds_no_generation(path: Path):
    document = load(path)
    save(document)
    save(document)
    assert generations(path) == []


def test_what_another_program_wrote_is_kept_too(path: Path):
    document = edited(path)
    path.write_text("# %%\nfrom elsewhere\n")
    save(document)
    assert "from elsewhere" in generations(path)[0].path.read_text()


def test_a_clock_that_was_set_back_does_not_mix_the_order(path: Path, monkeypatch: pytest.MonkeyPatch):
    class Clock(datetime.datetime):
        year_now = 2030

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None):
            return datetime.datetime(cls.year_now, 1, 1, tzinfo=tz)

    document = load(path)
    monkeypatch.setattr(files.datetime, "datetime", Clock)
    for year in (2030, 2020):
        Clock.year_now = year
        document.set_source(document.cells[0].id, f"year {year}")
        save(document)
    assert [g.path.read_text().splitlines()[1] for g in generations(path)] == ["year 2030", "x = 1"]


def test_documents_of_one_name_do_not_share_generations(tmp_path: Path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "doc.py").write_text(TEXT)
    save(edited(tmp_path / "a" / "doc.py"))
    assert generations(tmp_path / "a" / "doc.py") and not generations(tmp_path / "b" / "doc.py")


def test_a_state_folder_that_cannot_be_written_does_not_stop_a_save(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setenv(state.STATE_VARIABLE, str(blocked))
    document = edited(path)
    save(document)
    assert path.read_text().startswith("# %%\nedited")
    assert "could not be kept as an earlier generation" in document.warnings[0]
    with pytest.raises(NotebookError, match=r"recovery journal .* cannot be written: Not a directory"):
        journal.record(edited(path, "more"))


# -- changed on disk --------------------------------------------------------------------------------------


def test_changes_by_others_are_seen(path: Path):
    document = load(path)
    assert not changed_on_disk(document)
    os.utime(path, ns=(1, 1))
    assert not changed_on_disk(document), "touched, but the same"
    path.write_text(TEXT.replace("1", "2"))
    os.utime(path, ns=(2, 2))
    assert changed_on_disk(document)
    save(document)
    assert not changed_on_disk(document)
    path.write_text("longer" * 99)
    assert changed_on_disk(document)
    save(document)
    path.unlink()
    assert changed_on_disk(document)
    assert not changed_on_disk(new_notebook())


# -- outputs beside a .py ---------------------------------------------------------------------------------


def with_outputs(path: Path) -> Notebook:
    document = load(path)
    append_stream(document.cells[0], "stdout", "one\ntwo\n")
    append_output(document.cells[1], {
        "output_type": "execute_result", "execution_count": 2, "metadata": {},
        "data": {"text/plain": "2\n3", "image/png": "AA"},
    }, "d")  # fmt: skip
    save(document)
    return document


def test_outputs_of_a_percent_file_lie_beside_it(path: Path):
    document = with_outputs(path)
    assert names(path.parent) == [".tapescope", "doc.py"]
    assert names(path.parent / ".tapescope") == ["doc.py.outputs.json"]
    again = load(path)
    assert [c.id for c in again] == [c.id for c in document]
    assert again.cells[0].outputs == document.cells[0].outputs
    assert again.cells[1].outputs[0]["data"] == {"text/plain": "2\n3", "image/png": "AA"}
    assert again.cells[1].execution_count == 2 and "transient" not in again.cells[1].outputs[0]
    assert path.read_text() == TEXT
    again.clear_outputs()
    save(again)
    assert names(path.parent / ".tapescope") == []


def test_outputs_stay_with_the_cells_that_another_editor_left_alone(path: Path):
    ids = [cell.id for cell in with_outputs(path)]
    path.write_text("# %%\nnew\n\n# %%\ny = 2\n\n# %%\nx = 1 + 1\n")
    document = load(path)
    assert [bool(cell.outputs) for cell in document] == [False, True, False]
    assert document.cells[1].id == ids[1]
    path.write_text("# %%\nx = 100\n\n# %%\ny = 2\n")
    document = load(path)
    assert [cell.id for cell in document] == ids, "an edited cell keeps its id"
    assert [bool(cell.outputs) for cell in document] == [False, True]


@pytest.mark.parametrize(
    "damage",
    [lambda t: t[:40], lambda t: "", lambda t: "[]", lambda t: t.replace('"version": 1', '"version": 9'),
     lambda t: t.replace('"output_type"', '"nonsense"'), lambda t: '{"version": 1}', lambda t: "\udcff" + t,
     lambda t: t.replace('"cells": [', '"cells": [3, ')],
)  # fmt: skip
def test_a_damaged_sidecar_is_a_warning(path: Path, damage):
    with_outputs(path)
    beside = sidecar.path_for(path)
    beside.write_bytes(damage(beside.read_text()).encode(errors="surrogateescape"))
    document = load(path)
    assert [cell.source for cell in document] == ["x = 1", "y = 2"]
    assert not any(cell.outputs for cell in document)
    assert "could not be read" in document.warnings[0] and "run the cells again" in document.warnings[0]


def test_outputs_that_cannot_be_kept_are_a_warning(path: Path):
    (path.parent / ".tapescope").write_text("a file in the way")
    document = with_outputs(path)
    assert path.read_text() == TEXT and not document.dirty
    assert "doc.py is saved, but its outputs could not be kept" in document.warnings[0]


# -- new notebooks ----------------------------------------------------------------------------------------


def test_templates(tmp_path: Path):
    empty, model = new_notebook(), new_notebook("model")
    assert [cell.source for cell in empty] == [""] and empty.path is None and not empty.dirty
    assert "import torch" in model.cells[1].source
    save(model, tmp_path / "model.py")
    assert load(tmp_path / "model.py").cells[0].source.startswith("# A small model")
    with pytest.raises(NotebookError, match="no template 'huge'; use 'empty' or 'model'"):
        new_notebook("huge")


def test_the_model_template_runs_on_the_engine():
    from tapescope import engine

    source = "\n".join(cell.source for cell in new_notebook("model") if cell.cell_type == "code")
    source = source.replace("import torch\nfrom torch import nn", "nn = torch.nn")
    namespace: dict = {"torch": engine, "__name__": "cells"}
    exec(compile(source, "model", "exec"), namespace)
    assert namespace["loss"].item() < 0.5


def test_three_hundred_cells(tmp_path: Path):
    document = Notebook([Cell(source=f"x = {n}\n!echo {n}", outputs=[]) for n in range(300)])
    for cell in document:
        append_stream(cell, "stdout", "line\n" * 50)
    for name in ("many.py", "many.ipynb"):
        save(document, tmp_path / name)
        again = load(tmp_path / name)
        assert [(c.id, c.source, c.outputs) for c in again] == [(c.id, c.source, c.outputs) for c in document]
