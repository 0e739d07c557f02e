"""What is kept of a kernel's events for a page that is away, and a document that goes to the page and comes back."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from tapescope.app.kernel import messages as m
from tapescope.app.notebook import files, ipynb, journal
from tapescope.app.notebook.errors import NotebookError
from tapescope.app.notebook.files import load
from tapescope.app.web.native_access import Keys, refuse_host, refuse_origin
from tapescope.app.web.native_document import Document, below, notebooks
from tapescope.app.web.native_log import EventLog, sendable
from tapescope.app.web.native_session import Session
from tapescope.app.web.static_files import find_file


def kept(log: EventLog, seq: int = 0) -> list[dict[str, Any]]:
    found = []
    while (entry := log.after(seq)) is not None:
        found.append(json.loads(entry.text))
        seq = entry.seq
    return found


def kept_text(log: EventLog) -> str:
    entry = log.after(0)
    assert entry is not None
    return entry.text


def test_events_are_numbered_and_given_again_from_any_place():
    log = EventLog()
    for n in range(4):
        log.add(m.Stream("a", "stdout", str(n)))
    assert [(e["seq"], e["text"]) for e in kept(log, 2)] == [(3, "2"), (4, "3")]
    log.forget(3)
    assert [e["seq"] for e in kept(log)] == [4]


def test_hours_of_updates_are_one_each():
    log = EventLog()
    log.add(m.DisplayData("a", {"text/plain": "0"}, display_id="d"))
    for n in range(1000):
        log.add(m.Tape("a", {"nodes": [n]}, live=True))
        log.add(m.DisplayData("a", {"text/plain": str(n)}, display_id="d", update=True))
        log.add(m.Variables([{"name": "n", "value": str(n)}]))
    assert [e["kind"] for e in kept(log)] == ["display_data", "tape", "display_data", "variables"]
    assert kept(log)[2]["data"] == {"text/plain": "999"}
    log.add(m.Tape("a", {"nodes": ["whole"]}))
    assert [e["tape"] for e in kept(log) if e["kind"] == "tape"] == [{"nodes": ["whole"]}]


def test_what_was_cleared_is_dropped_once_something_stands_in_its_place():
    log = EventLog()
    for n in range(100):
        log.add(m.ClearOutput("a", wait=True))
        log.add(m.Stream("a", "stdout", str(n)))
    log.add(m.ClearOutput("a", wait=True))
    assert [e.get("text") for e in kept(log)] == [None, "99", None]  # still to be seen until the next output comes
    log.add(m.Stream("b", "stdout", "another cell"))
    log.add(m.ClearOutput("a"))
    assert [e["kind"] for e in kept(log)] == ["stream", "clear_output"]


def test_a_page_that_comes_anew_gets_the_state_up_to_its_document():
    log = EventLog()
    log.add(m.Ready("3.12", "tapescope", "cpu", 1))
    log.add(m.Variables([{"name": "x"}]))
    log.add(m.Costs("a", {"lines": []}))
    seq = log.seq
    log.forget(seq)
    log.add(m.Variables([{"name": "y"}]))
    assert [json.loads(text)["kind"] for text in log.state(seq)] == ["ready", "costs"]
    assert [e["variables"] for e in kept(log, seq)] == [[{"name": "y"}]]
    log.add(m.Ready("3.12", "tapescope", "cpu", 2))
    assert [json.loads(text)["kind"] for text in log.state(log.seq)] == ["ready"]


def test_numbers_that_json_does_not_know_become_null():
    log = EventLog()
    log.add(m.DisplayData("a", {"application/json": {"nan": float("nan"), "word": "NaN", "more": [float("inf"), 1.5]}}))
    assert kept(log)[0]["data"]["application/json"] == {"nan": None, "word": "NaN", "more": [None, 1.5]}


def test_half_a_character_can_be_sent():
    log = EventLog()
    log.add(m.Stream("a", "stdout", "ä\ud83d|\U0001f600"))
    text = sendable(kept_text(log))
    assert text.encode() and json.loads(text)["text"] == "ä\ud83d|\U0001f600"


class Silent:
    """A kernel that does nothing, and a page that reads nothing."""

    name, state, running, queued = "p", "idle", None, []

    def __init__(self) -> None:
        self.replies: deque[Any] = deque()
        self.sent: list[m.Message] = []

    def send(self, *commands: m.Message) -> None:
        self.sent += commands

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **more: None


def test_what_no_page_sends_goes_no_further(tmp_path: Path):
    kernel: Any = Silent()
    page: Any = Silent()
    session = Session(Document(tmp_path), lambda on_event, folder: kernel)
    session.join(page, {})
    run = {"kind": "execute", "cell": "a", "revision": 1, "code": "1"}
    marks = {"kind": "mark_dynamic", "request": 1, "label": "x", "dimension": 0, "cells": [1]}
    for wrong in (
        {"kind": "shutdown"}, {"kind": "interrupt"}, {"kind": ["a"]}, {}, {**run, "cell": ["a"]}, {**run, "code": None},
        {**run, "revision": "1"}, {**run, "store": 1}, {**run, "more": 1}, marks, {"kind": "input_reply", "text": 5},
    ):  # fmt: skip
        with pytest.raises(m.BadMessage):
            session.receive(page, dict(wrong))
    assert kernel.sent == []
    session.receive(page, dict(run))
    session.receive(page, {"kind": "ask_device", "switch": None})
    session.receive(page, {**marks, "cells": [{"cell": "a"}]})
    assert [c.kind for c in kernel.sent] == ["execute", "ask_device", "mark_dynamic"]


TEXT = "#!/usr/bin/env python\n# %% [markdown]\n# Words\n\n\n# %%   title  \nx   = 1\n# %%\ny=2"


def through_a_browser(content: Any) -> Any:
    """What JavaScript makes of it: whole floats become integers."""
    return json.loads(json.dumps(content), parse_float=lambda t: int(float(t)) if float(t).is_integer() else float(t))


def test_what_was_not_edited_is_written_byte_for_byte(tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_text(TEXT)
    document = Document(tmp_path, path)
    shown = document.describe()
    assert shown is not None
    content = through_a_browser(shown["notebook"])
    assert document.keep(content, 0, {}) == {"unsaved": False}
    content["cells"][-1]["source"] = "y=3"
    assert document.keep(content, 0, {}) == {"unsaved": True}
    assert document.save(content, 0, {})["unsaved"] is False
    assert path.read_text() == TEXT.replace("y=2", "y=3")


def test_outputs_of_an_ipynb_keep_their_numbers(tmp_path: Path):
    path = tmp_path / "a.ipynb"
    notebook = ipynb.reads(json.dumps({"cells": [{
        "cell_type": "code", "id": "one", "metadata": {"scale": 2.0}, "source": "1", "execution_count": 1,
        "outputs": [{"output_type": "display_data", "metadata": {}, "data": {"application/json": {"y": [1.0, 2.0]}}}],
    }], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))  # fmt: skip
    path.write_text(ipynb.writes(notebook))
    before = path.read_text()
    document = Document(tmp_path, path)
    assert document.content is not None
    document.save(through_a_browser(document.content), 0, {})
    assert path.read_text() == before and "2.0" in before


def test_work_that_was_not_saved_is_offered_again(tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_text(TEXT)
    first = Document(tmp_path, path)
    assert first.content is not None
    first.content["cells"][-1]["source"] = "y = 'typed'"
    first.keep(first.content, 0, {})
    again = Document(tmp_path, path)
    facts = again.facts()
    assert facts is not None and again.content is not None and "+y = 'typed'" in facts["recovery"]["lines"]
    taken = again.recover(again.content, keep=True)
    assert "".join(taken["notebook"]["cells"][-1]["source"]) == "y = 'typed'"
    # The server may be killed before the page hands the work in: it is lost by nothing but an answer or a save.
    third = Document(tmp_path, path)
    assert third.facts()["recovery"]["lines"] == facts["recovery"]["lines"]  # type: ignore[index]
    again.save(taken["notebook"], 0, {})
    assert Document(tmp_path, path).facts()["recovery"] is None  # type: ignore[index]
    assert "y = 'typed'" in path.read_text()


def test_what_a_save_does_not_write_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.py"
    path.write_text(TEXT)
    document = Document(tmp_path, path)
    content = json.loads(json.dumps(document.content))
    content["cells"][-1]["source"] = "y = 'typed'"
    path.write_text("# %%\nanother = 1\n")
    assert "conflict" in document.save(content, 0, {})
    assert document.unsaved and "+y = 'typed'" in Document(tmp_path, path).facts()["recovery"]["lines"]  # type: ignore[index]
    content["cells"][-1]["source"] = "y = 'more'"

    def full(*given: Any, **more: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "write_atomically", full)
        with pytest.raises(NotebookError, match="no space left on the disk"):
            document.save(content, 0, {}, over=True)
    assert path.read_text() == "# %%\nanother = 1\n"
    assert "+y = 'more'" in Document(tmp_path, path).facts()["recovery"]["lines"]  # type: ignore[index]


def test_a_file_that_changed_and_then_went_is_told_both_times(tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_text(TEXT)
    document = Document(tmp_path, path)
    assert document.look() is None
    path.write_text("# %%\nanother = 1\n")
    assert document.look() == {"changed": True, "gone": False} and document.look() is None
    path.unlink()
    assert document.look() == {"changed": True, "gone": True} and document.look() is None
    path.write_text(TEXT)
    assert document.look() == {"changed": False, "gone": False}


def test_a_copy_is_kept_where_the_journal_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.py"
    path.write_text(TEXT)
    document = Document(tmp_path, path)
    content = json.loads(json.dumps(document.content))
    content["cells"][-1]["source"] = "y = 'typed'"

    def full(*given: Any, **more: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal, "write_atomically", full)
    with pytest.raises(NotebookError, match="No space left on device"):
        document.keep(content, 0, {})
    assert document.unsaved and document.describe()["notebook"] == content  # type: ignore[index]
    kernel: Any = Silent()
    session = Session(document, lambda on_event, folder: kernel)
    session.close()
    assert "No space left on device" in session.not_kept


def test_a_document_of_the_browser_becomes_a_file(tmp_path: Path):
    document = Document(tmp_path)
    assert document.describe() is None
    content = {"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "source": "1", "outputs": [], "execution_count": None}],
               "metadata": {"kernelspec": {"name": "python3"}}, "nbformat": 4, "nbformat_minor": 5}  # fmt: skip
    with pytest.raises(NotebookError, match="has no file yet"):
        document.save(content, 0, {})
    assert document.save(content, 0, {}, path="new.py")["file"]["name"] == "new.py"
    assert load(tmp_path / "new.py").cells[0].source == "1"
    other = Document(tmp_path)
    assert other.save(content, 0, {}, path="new.py")["conflict"]["other"] is True


@pytest.mark.parametrize("name", ["../a.py", "/etc/passwd", "", ".", "a/../../b", "a\0b"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str):
    with pytest.raises(NotebookError):
        below(tmp_path, name)
    (tmp_path / "out").symlink_to("/etc")
    with pytest.raises(NotebookError, match="outside of the notebook's folder"):
        below(tmp_path, "out/passwd")


def test_the_notebooks_of_a_folder(tmp_path: Path):
    for name, text in (("b.ipynb", "{}"), ("a.py", "# %%\n1"), ("tool.py", "import os"), (".hidden.py", "# %%")):
        (tmp_path / name).write_text(text)
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "pyvenv.cfg").touch()
    (tmp_path / "env" / "c.ipynb").write_text("{}")
    assert [n["path"] for n in notebooks(tmp_path)] == ["a.py", "b.ipynb"]


def test_an_address_that_is_none_names_no_file(tmp_path: Path):
    for target in ("//[", "http://[", "/%00", "*"):
        assert find_file(tmp_path, target) is None


def test_who_may_come():
    for host in ("localhost:8766", "127.0.0.1:1", "[::1]:9", "LOCALHOST"):
        assert refuse_host(host) == ""
    others = ["evil.example", "localhost.evil.example:8766", "127.0.0.1.nip.io", "[", "10.0.0.1", "x@127.0.0.1"]
    for host in (None, "", *others, "127.0.0.1:1; script-src *", "127.0.0.1/a", "localhost\n"):
        assert "localhost" in refuse_host(host)
    assert refuse_origin("http://localhost:8766", "localhost:8766") == ""
    for origin in (None, "null", "http://localhost:1", "https://localhost:8766", "http://127.0.0.1:8766"):
        assert refuse_origin(origin, "localhost:8766")
    keys = Keys()
    assert keys.refuse(keys.token) == "" and keys.refuse(keys.token) == ""
    ticket = keys.ticket()
    assert keys.refuse(ticket) == "" and keys.refuse(ticket) != ""
    for key in (None, "", "ä", "\ud800", 3, keys.token[:-1]):
        assert 0 < len(keys.refuse(key).encode()) <= 123  # what a socket can say as it closes
