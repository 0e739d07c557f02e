"""Stories of keeping: saving, leaving, recovering. Nothing that was typed is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tapescope.app.kernel import messages as m
from tapescope.app.notebook import files, journal
from tapescope.app.notebook.errors import NotebookError
from tapescope.app.tui.app import TapescopeApp, run_app


async def test_ctrl_s_saves_from_both_modes(open_app, tmp_path):
    """The dot of unsaved changes appears with the first letter and goes with Ctrl+S."""
    async with open_app() as user:
        assert "●" not in user.text.split("lesson.py")[1].split("\n")[0]
        await user.press("enter", "end")
        await user.type("0")
        assert "lesson.py ●" in user.text
        await user.press("ctrl+s")
        await user.settle()
        assert "lesson.py ●" not in user.text
        assert (tmp_path / "lesson.py").read_text() == "# %%\nx = 10\n"
        await user.press("escape", "b", "ctrl+s")
        await user.settle()
        assert (tmp_path / "lesson.py").read_text().count("# %%") == 2


async def test_running_a_percent_notebook_leaves_nothing_to_save(open_app):
    """Outputs are not part of a `.py` file, so quitting after a run asks nothing."""
    async with open_app() as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.run(cell, m.Stream(cell, "stdout", "out\n"))
        await user.sees("out")
        assert "lesson.py ●" not in user.text
        await user.press("ctrl+q")
        await user.until(lambda: not user.app.is_running or user.app._exit)


async def test_an_untitled_notebook_asks_for_a_name(open_app, tmp_path):
    """Ctrl+S on a new notebook asks where, and writes there."""
    async with open_app(None) as user:
        await user.press("enter")
        await user.type("x = 5")
        await user.press("ctrl+s")
        await user.sees("Save as")
        target = tmp_path / "fresh.ipynb"
        await user.press("ctrl+u")
        await user.type(f"{target}\n")
        await user.until(target.exists)
        assert files.load(target).cells[0].source == "x = 5"
        assert "fresh.ipynb" in user.text


async def test_quitting_with_unsaved_changes_asks(open_app, tmp_path):
    """Staying keeps everything; saving writes and leaves."""
    async with open_app() as user:
        await user.press("enter")
        await user.type("y")
        await user.press("ctrl+q")
        await user.sees("not saved")
        await user.press("escape")
        assert user.app.screen is user.screen and user.sources == ["yx = 1"]
        await user.press("ctrl+q")
        await user.sees("not saved")
        await user.press("s")
        await user.until(lambda: user.app._exit)
        assert (tmp_path / "lesson.py").read_text() == "# %%\nyx = 1\n"
        assert "close" in user.kernel.calls


async def test_discarding_leaves_file_and_journal_clean(open_app, tmp_path):
    """What was thrown away on purpose is not offered again."""
    async with open_app(crash=True) as user:
        await user.press("enter")
        await user.type("y")
        await user.press("ctrl+q")
        await user.sees("not saved")
        await user.press("d")
        await user.until(lambda: user.app._exit)
    assert (tmp_path / "lesson.py").read_text() == "# %%\nx = 1\n"
    assert journal.pending(tmp_path / "lesson.py") is None


async def test_the_journal_is_written_soon_after_typing(open_app, tmp_path):
    """Without a save, what was typed is in the recovery journal within two seconds (of the app's clock)."""
    now = [0.0]
    async with open_app() as user:
        user.screen.keeper._clock = lambda: now[0]
        await user.press("enter", "end")
        await user.type("77")
        assert journal.pending(tmp_path / "lesson.py") is None
        now[0] = 2.0
        await user.until(lambda: journal.pending(tmp_path / "lesson.py"), "a journal")
        assert "x = 177" in journal.pending(tmp_path / "lesson.py").text


async def test_work_of_a_crashed_session_is_offered_and_kept(open_app, tmp_path):
    """The next start shows what would come back; keeping it opens that text, still unsaved."""
    async with open_app(crash=True) as user:
        await user.press("enter", "end")
        await user.type("0  # precious")
        user.screen.keeper.write_journal()
    async with open_app(path=tmp_path / "lesson.py") as user:
        await user.sees("Unsaved work found")
        assert "+x = 10  # precious" in user.text and "-x = 1" in user.text
        await user.press("k")
        await user.until(lambda: user.sources == ["x = 10  # precious"])
        assert "lesson.py ●" in user.text
        await user.press("ctrl+s")
        await user.settle()
        assert (tmp_path / "lesson.py").read_text() == "# %%\nx = 10  # precious\n"


async def test_offered_work_can_be_discarded(open_app, tmp_path):
    """Discarding shows the file as it is and does not ask again."""
    async with open_app(crash=True) as user:
        await user.press("enter")
        await user.type("y")
        user.screen.keeper.write_journal()
    async with open_app(path=tmp_path / "lesson.py", crash=True) as user:
        await user.sees("Unsaved work found")
        await user.press("d")
        await user.settle()
        assert user.sources == ["x = 1"]
    async with open_app(path=tmp_path / "lesson.py") as user:
        await user.settle()
        assert "Unsaved work" not in user.text


async def test_leaving_the_offer_keeps_the_work_for_later(open_app, tmp_path):
    """Esc decides nothing: the work is offered at the next start too."""
    async with open_app(crash=True) as user:
        await user.press("enter")
        await user.type("y")
        user.screen.keeper.write_journal()
    for _ in range(2):
        async with open_app(path=tmp_path / "lesson.py", crash=True) as user:
            await user.sees("Unsaved work found")
            await user.press("escape")


async def test_a_file_changed_by_somebody_else_is_not_overwritten_unasked(open_app, tmp_path):
    """Saving over a file that changed on disk asks first."""
    path = tmp_path / "lesson.py"
    async with open_app() as user:
        await user.press("enter")
        await user.type("y")
        path.write_text("# %%\ntheirs = 1\n")
        os.utime(path, (1, 1))
        await user.press("ctrl+s")
        await user.sees("changed on disk")
        await user.press("escape")
        assert path.read_text() == "# %%\ntheirs = 1\n"
        await user.press("ctrl+s")
        await user.sees("changed on disk")
        await user.press("s")
        await user.until(lambda: path.read_text() == "# %%\nyx = 1\n")


async def test_a_save_that_fails_says_so_and_loses_nothing(open_app, tmp_path, monkeypatch):
    """A full disk is a sentence; the text stays, and so does the mark of unsaved changes."""

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    async with open_app() as user:
        await user.press("enter")
        await user.type("y")
        monkeypatch.setattr(files, "save", full)
        await user.press("ctrl+s")
        await user.settle()
        assert "No space left" in user.toasts()
        assert user.sources == ["yx = 1"] and "lesson.py ●" in user.text


async def test_a_message_does_not_lie_over_a_question(open_app, monkeypatch):
    """On a small screen the sentence of the failed save would hide the buttons."""

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    async with open_app(size=(80, 24)) as user:
        await user.press("enter")
        await user.type("y")
        monkeypatch.setattr(files, "save", full)
        await user.press("ctrl+s")
        await user.until(lambda: "No space left" in user.toasts())
        await user.press("ctrl+q")
        await user.settle()
        assert all(words in user.text for words in ("Unsaved changes", "Save and quit", "Discard them", "Stay"))
        assert user.toasts() == ""


async def test_a_journal_that_cannot_be_written_is_told_once(open_app, monkeypatch):
    """Without a journal a person should know, but not be told with every letter."""

    def refused(*args, **kwargs):
        raise OSError(13, "Permission denied")

    monkeypatch.setattr(journal, "record", refused)
    async with open_app() as user:
        keeper = user.screen.keeper
        await user.press("enter")
        await user.type("y")
        assert "Permission denied" in keeper.write_journal()
        assert keeper.write_journal() == ""


async def test_a_crash_of_the_app_itself_keeps_what_was_typed(open_app, tmp_path):
    """A mistake in the app ends it; the letters typed just before are in the journal."""
    with pytest.raises(ZeroDivisionError):
        async with open_app(crash=True) as user:
            await user.press("enter", "end")
            await user.type("99")
            user.app.call_later(lambda: 1 / 0)
            await user.settle(0.3)
    assert "x = 199" in journal.pending(tmp_path / "lesson.py").text


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", b"{ not json"])
def test_a_bad_document_is_a_sentence_before_anything_is_drawn(tmp_path: Path, content: bytes | None):
    """Missing, not text, or not a notebook: NotebookError, which the command line prints."""
    path = tmp_path / "bad.ipynb"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(NotebookError, match="bad.ipynb"):
        run_app(path)


def test_the_app_takes_device_and_torch(tmp_path: Path):
    """What the command line was told reaches the kernel."""
    app = TapescopeApp(None, "webgpu", "tapescope")
    kernel = app._process(lambda event: None, tmp_path)
    assert kernel._env["TAPESCOPE_DEVICE"] == "webgpu" and kernel._env["TAPESCOPE_TORCH"] == "tapescope"
