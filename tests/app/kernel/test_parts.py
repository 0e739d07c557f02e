"""The small parts of the kernel's transport: frames, marks, the queue, exit codes, names of cells, interrupts."""

from __future__ import annotations

import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapescope.app.kernel.cellnames import cell_filename, parse_cell_filename
from tapescope.app.kernel.cellqueue import CellQueue
from tapescope.app.kernel.exits import explain_exit
from tapescope.app.kernel.frames import Unpacker, pack
from tapescope.app.kernel.interrupts import Interrupts
from tapescope.app.kernel.messages import (
    BadMessage,
    DisplayData,
    Execute,
    Executed,
    InputReply,
    Stream,
    Variables,
    answer,
    decode,
    encode,
)
from tapescope.app.kernel.rawoutput import MarkScanner


@given(st.text(min_size=1), st.integers(0, 10**9))
def test_a_cells_name_leads_back_to_it(cell, revision):
    assert parse_cell_filename(cell_filename(cell, revision)) == (cell, revision)


@pytest.mark.parametrize("name", ["<string>", "/tmp/cell.py", "<cell a>", "<cell :x>", "<ipython-input-1-abc>", ""])
def test_other_names_are_no_cells(name):
    assert parse_cell_filename(name) is None


@given(st.lists(st.text(), max_size=5), st.integers(1, 50))
def test_frames_survive_any_cut(texts, step):
    messages = [Stream("c", "stdout", text.encode("utf-8", "replace").decode()) for text in texts]
    data = b"".join(map(pack, messages))
    unpacker = Unpacker()
    found = []
    for start in range(0, len(data), step):
        found += unpacker.feed(data[start : start + step])
    assert found == messages


def test_a_frame_that_is_no_message_is_refused():
    with pytest.raises(BadMessage, match="not a kernel message"):
        Unpacker().feed(b"\0\0\0\2{}")
    assert decode(encode(Execute("a", 1, "x"))) == Execute("a", 1, "x")


def test_what_is_no_json_is_packed_without_it():
    circle: list[object] = []
    circle.append(circle)
    (shown,) = Unpacker().feed(pack(DisplayData("c", {"text/plain": "kept", "application/json": circle})))
    assert isinstance(shown, DisplayData) and shown.data["text/plain"].startswith("kept\n[parts of this output")
    (empty,) = Unpacker().feed(pack(Variables([{"a": circle}])))
    assert empty == Variables([])


@given(
    st.lists(st.sampled_from([b"text", b"\0", b"\0to", b"\0token\0", b"\0token", b"token\0"]), max_size=12),
    st.integers(1, 9),
)
def test_marks_are_found_wherever_reads_end(pieces, step):
    data = b"".join(pieces) + b"\0token\0"
    scanner = MarkScanner("token")
    out, marks = b"", 0
    for start in range(0, len(data), step):
        more, found = scanner.feed(data[start : start + step])
        out += more
        marks += found
    out += scanner.close()
    parts = data.split(b"\0token\0")
    assert (out, marks) == (b"".join(parts), len(parts) - 1)


def test_the_queue_hands_out_one_cell_at_a_time():
    queue = CellQueue()
    for name in "abc":
        queue.add(Execute(name, 1, ""))
    first = queue.take()
    assert first is not None and first.cell == "a" and queue.take() is None and queue.waiting == ["b", "c"]
    assert queue.ended(Executed("a", "ok", 1, 0.0)) == []
    assert queue.take() is not None
    assert [(e.cell, e.status) for e in queue.ended(Executed("b", "interrupted", 2, 0.0))] == [("c", "aborted")]
    queue.add(Execute("d", 1, ""))
    queue.add(Execute("e", 1, ""))
    queue.take()
    assert [(e.cell, e.status) for e in queue.died()] == [("d", "died"), ("e", "died")] and queue.running is None


@pytest.mark.parametrize(
    "code, options, words",
    [
        (3, {}, "exit code 3, as os._exit(3)"),
        (0, {}, "exit code 0"),
        (1, {"in_cell": False}, "while no cell was running"),
        (-signal.SIGSEGV, {}, "segmentation fault"),
        (-signal.SIGABRT, {"last_words": 'File "<cell a:b:12>", line 4 in f'}, "(abort) in line 4 of the cell"),
        (-9, {}, "most often because memory ran out"),
        (-9, {"out_of_memory": True}, "Memory ran out"),
        (-9, {"asked": True}, "as you asked"),
        (-63, {}, "signal"),
        (0xC0000005, {}, "segmentation fault"),
        (2, {"started": False, "last_words": "no module"}, "could not start (exit code 2)"),
        (None, {"started": False}, "could not start."),
    ],
)
def test_every_exit_has_a_sentence_and_advice(code, options, words):
    reason, advice = explain_exit(code, **options)
    assert words in reason and reason.endswith(".") and advice and "{" not in reason + advice


def test_an_end_of_input_is_an_eof_error():
    assert answer(InputReply("x")) == "x"
    with pytest.raises(EOFError):
        answer(InputReply("", end=True))


def test_an_interrupt_is_held_back_until_the_users_code_runs():
    interrupts = Interrupts()
    interrupts.begin_cell()
    interrupts.request(1)
    interrupts.wake()  # the kernel's own code runs: nothing happens
    with pytest.raises(KeyboardInterrupt):
        interrupts.arm()
    assert interrupts.delivered and not interrupts.outstanding
    interrupts.wake()  # once is enough
    interrupts.end_cell()


def test_an_interrupt_does_not_tear_a_section():
    interrupts = Interrupts()
    interrupts.begin_cell()
    interrupts.arm()
    steps = []
    with pytest.raises(KeyboardInterrupt):
        with interrupts:
            with interrupts:
                interrupts.handle_signal()
                steps.append("inner")
            steps.append("outer")
    assert steps == ["inner", "outer"]
    interrupts.disarm()
    interrupts.handle_signal()


def test_a_late_or_early_interrupt_hits_the_cell_it_was_meant_for():
    interrupts = Interrupts()
    interrupts.begin_cell()
    interrupts.end_cell()
    interrupts.request(1)  # too late
    assert not interrupts.outstanding
    interrupts.begin_cell()
    interrupts.arm()
    interrupts.end_cell()
    interrupts.request(3)  # before it begins
    assert interrupts.outstanding
    interrupts.handle_signal()  # nothing runs: nothing happens
    interrupts.begin_cell()
    with pytest.raises(KeyboardInterrupt):
        interrupts.arm()


def test_insisting_ends_with_the_cell():
    interrupts = Interrupts()
    interrupts.begin_cell()
    interrupts.request(1)
    calls = []

    def wake() -> None:
        calls.append(1)
        if len(calls) == 3:
            interrupts.end_cell()

    interrupts.insist(wake, 0)
    assert len(calls) == 3
