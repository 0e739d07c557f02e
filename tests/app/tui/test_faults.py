"""What goes wrong around the app: files that vanish, disks that are full, terminals that shrink, huge and hostile input.

After each the text is there, and a sentence says what happened.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tapescope.app.kernel import messages as m
from tapescope.app.notebook import journal
from tapescope.app.notebook.errors import NotebookError
from tapescope.app.tui.app import TapescopeApp


async def test_a_file_deleted_underneath_is_noticed_and_written_again(open_app):
    """The notice says so; saving asks once and makes the file anew."""
    async with open_app() as user:
        path = user.screen.notebook.path
        path.unlink()
        user.screen.documents._next_look = 0
        user.screen._tick()
        await user.until(lambda: "deleted or moved" in user.toasts())
        await user.press("enter", "end")
        await user.type("2")
        await user.press("ctrl+s")
        await user.pilot.pause()
        if user.app.screen is not user.screen:
            await user.press("s")
        await user.until(path.exists)
        assert "x = 12" in path.read_text()


async def test_a_read_only_file_is_a_sentence_and_the_text_stays(open_app, monkeypatch):
    """Saving says that the file is read-only; the text is unsaved still, and in the journal."""
    async with open_app() as user:
        path = user.screen.notebook.path
        path.chmod(0o444)
        real = os.access
        monkeypatch.setattr(
            os, "access", lambda p, mode, **o: False if Path(p) == path and mode == os.W_OK else real(p, mode, **o)
        )
        await user.press("enter", "end")
        await user.type("3")
        await user.press("ctrl+s")
        await user.until(lambda: "read-only" in user.toasts())
        assert user.screen.keeper.unsaved and path.read_text() == "# %%\nx = 1\n" and user.sources == ["x = 13"]


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of 1 MB; skips where this process may not mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True)
    if done.returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], capture_output=True)


async def test_a_full_disk_leaves_the_old_file_whole(open_app, small_disk: Path):
    """A real file system of 1 MB: the save fails with a sentence, and what was there is there."""
    path = small_disk / "full.py"
    path.write_text("# %%\nx = 1\n")
    (small_disk / "ballast").write_bytes(b"0" * 900_000)
    async with open_app(path=path) as user:
        user.screen.notebook.set_source(user.cell(0), "y = 2  # " + "z" * 400_000)
        await user.press("ctrl+s")
        await user.until(lambda: "no space left" in user.toasts())
        assert path.read_text() == "# %%\nx = 1\n" and user.screen.keeper.unsaved
        (small_disk / "ballast").unlink()
        await user.press("ctrl+s")
        await user.until(lambda: not user.screen.keeper.unsaved)
        assert path.read_text().startswith("# %%\ny = 2")


async def test_a_notebook_of_fifty_megabytes_opens_and_is_written_in(open_app, tmp_path: Path):
    """Outputs of 50 MB are loaded, drawn capped, and kept by a save."""
    path = tmp_path / "large.ipynb"
    text = "".join(f"line {n} {'.' * 90}\n" for n in range(10_000))
    cells = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "source": f"x = {n}", "execution_count": n,
         "outputs": [{"output_type": "stream", "name": "stdout", "text": text}]}
        for n in range(50)
    ]  # fmt: skip
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    assert path.stat().st_size > 50_000_000
    async with open_app(path=path) as user:
        await user.sees("lines not shown")
        await user.press("enter", "end")
        await user.type("7")
        await user.press("ctrl+s")
        await user.until(lambda: not user.screen.keeper.unsaved)
        assert '"x = 07"' in path.read_text() and path.stat().st_size > 50_000_000


def test_a_file_that_is_no_text_is_a_sentence(tmp_path: Path):
    """Bytes that are not UTF-8 are refused with what to do, before anything is drawn."""
    path = tmp_path / "latin.py"
    path.write_bytes("# %%\nname = 'Jürgen'\n".encode("latin-1"))
    with pytest.raises(NotebookError, match="UTF-8"):
        TapescopeApp(path)


async def test_the_terminal_shrinks_to_nothing_while_things_are_open(open_app):
    """20x5 and back with the panel, the search bar, a dialog and the list of completions: nothing is lost."""
    async with open_app("# %%\nfirst = 1\n\n# %%\nsecond = 2\n") as user:
        for keys in ((), ("ctrl+f",), ("p", "g"), ("p", "b"), ("ctrl+n",), ("f1",), ("$",)):
            await user.press("escape", "escape", *keys)
            for size in ((20, 5), (3, 1), (120, 40)):
                await user.pilot.resize_terminal(*size)
                await user.pilot.pause()
        await user.press("escape", "escape")
        assert "second = 2" in user.text and user.sources == ["first = 1", "second = 2"]


async def test_hostile_outputs_of_every_kind_are_inert(open_app):
    """Tables, images, tracebacks, hints and names with escape sequences and bidi controls act on nothing."""
    evil = "\x1b]0;title\x07\x1b[2J\u202eevil\x9b31m"
    async with open_app() as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.run(
            cell,
            m.DisplayData(cell, {"text/html": f"<table><tr><th>{evil}</th></tr><tr><td>{evil}</td></tr></table>"}),
            m.DisplayData(cell, {"image/png": "iVBORw0KGgo="}),
            m.DisplayData(cell, {"text/latex": f"$${evil}$$"}),
            m.DisplayData(cell, {"text/markdown": f"$x${evil}"}),
            m.Variables([{"name": evil, "type": evil, "value": evil}]),
            m.Hints(cell, [{"id": "x", "text": evil, "advice": evil, "cell": cell, "revision": 0, "line": 1}]),
            m.Captures(
                cell, [], [{"function": evil, "reason": evil, "hint": evil, "break_id": evil, "source": None}], []
            ),
        )
        for keys in (("n",), ("escape", "p", "b"), ("escape", "p", "k")):
            await user.press(*keys)
            await user.settle()
            acting = [c for c in user.text if (ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0 or c == "\u202e"]
            assert not acting


SAVING = """
import sys
from pathlib import Path
from tapescope.app.notebook import files, state
path = Path(sys.argv[1])
document = files.load(path)
document.set_source(document.cells[0].id, "new = " + repr("n" * 200_000))
from tapescope.app.notebook import journal
journal.record(document)
real = state.os.replace
def slow(*names):
    print("saving", flush=True)
    __import__("time").sleep(60)
    real(*names)
state.os.replace = slow
files.save(document)
"""


def test_a_kill_in_the_middle_of_a_save_leaves_the_file_whole_and_the_work_in_the_journal(tmp_path: Path, monkeypatch):
    """kill -9 just before the file takes its name."""
    monkeypatch.setenv("TAPESCOPE_STATE_DIR", str(tmp_path / "state"))
    path = tmp_path / "mine.py"
    path.write_text("# %%\nold = 1\n")
    process = subprocess.Popen([sys.executable, "-c", SAVING, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "saving"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert path.read_text() == "# %%\nold = 1\n"
    found = journal.pending(path)
    assert found is not None and found.differs and "nnnn" in found.text


BARS = r"""# %%
import sys
for n in range(5):
    sys.stderr.write(f"\r{n * 25:3d}%|" + "█" * n + "|")
    sys.stderr.flush()
sys.stderr.write("\n")
"""


async def test_a_progress_bar_of_another_library_draws_in_place(open_app):
    """What tqdm writes, a carriage return and blocks, ends as one line."""
    async with open_app(BARS, real=True) as user:
        await user.press("ctrl+j")
        await user.sees("100%|████|")
        assert " 75%|" not in user.text


async def test_a_password_is_asked_for_without_being_shown(open_app):
    """`getpass` in a cell: what is typed stands nowhere on the screen, and the cell has it."""
    async with open_app("# %%\nimport getpass\nprint(len(getpass.getpass('Secret: ')))\n", real=True) as user:
        await user.press("ctrl+j")
        await user.sees("asks for input")
        await user.type("hush")
        assert "hush" not in user.text
        await user.press("enter")
        await user.until(lambda: "│ 4" in user.text)


async def test_a_kernel_that_asks_for_too_much_memory_says_so(open_app, monkeypatch):
    """With a cap on its memory, a cell fails with MemoryError; the kernel and its variables live on."""
    if not sys.platform.startswith("linux"):
        pytest.skip("other systems cannot cap a process's memory")
    monkeypatch.setenv("TAPESCOPE_MEMORY", str(700 << 20))
    async with open_app(
        "# %%\nkept = 6\n\n# %%\nimport numpy\nnumpy.ones(1 << 30)\n\n# %%\nprint(kept * 7)\n", real=True
    ) as user:
        await user.press("f5", "f5")
        await user.until(lambda: "MemoryError" in user.text)
        await user.ready()
        await user.press("escape", "G", "ctrl+j")
        await user.until(lambda: "│ 42" in user.text)
