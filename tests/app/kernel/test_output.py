"""Batching, folding and capping of what a cell writes, without a kernel and without a clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapescope.app.kernel.messages import Stream
from tapescope.app.kernel.output import OutputBuffer, OutputStream, fold_carriage_returns


class Bench:
    """A buffer with a clock that stands still until it is told to move."""

    def __init__(self, **options):
        self.sent: list[Stream] = []
        self.wishes = 0
        self.now = 100.0
        self.buffer = OutputBuffer(self.sent.append, on_pending=self._wish, clock=lambda: self.now, **options)
        self.buffer.begin("c")

    def _wish(self):
        self.wishes += 1

    def text(self, name="stdout"):
        return "".join(e.text for e in self.sent if e.name == name)


def test_many_small_writes_become_few_events():
    bench = Bench()
    for i in range(1000):
        bench.buffer.write("stdout", f"{i}\n")
    assert len(bench.sent) == 1 and bench.wishes == 1, "the first line goes at once, the rest waits"
    bench.buffer.flush_due()
    assert len(bench.sent) == 1 and bench.wishes == 2, "too early: announced again"
    bench.now += 0.011
    bench.buffer.flush_due()
    assert len(bench.sent) == 2 and bench.text() == "".join(f"{i}\n" for i in range(1000))


def test_no_event_is_longer_than_the_size():
    bench = Bench(size=100)
    bench.buffer.write("stdout", "x" * 1050)
    assert [len(e.text) for e in bench.sent] == [100] * 10 + [50]


def test_both_streams_keep_their_order_and_many_alternations_are_put_together():
    bench = Bench()
    bench.buffer.write("stdout", "a")
    bench.buffer.write("stderr", "b")
    bench.buffer.write("stdout", "c")
    bench.buffer.flush()
    assert [(e.name, e.text) for e in bench.sent] == [("stdout", "a"), ("stderr", "b"), ("stdout", "c")]
    bench.sent.clear()
    for _ in range(100):
        bench.buffer.write("stdout", "o")
        bench.buffer.write("stderr", "e")
    bench.buffer.flush()
    assert [(e.name, e.text) for e in bench.sent] == [("stdout", "o" * 100), ("stderr", "e" * 100)]


def test_text_belongs_to_the_cell_in_which_it_was_written():
    bench = Bench()
    bench.buffer.write("stdout", "one")
    bench.buffer.begin("d")
    bench.buffer.write("stdout", "two")
    bench.buffer.end()
    bench.buffer.write("stdout", "later, from a thread")
    bench.buffer.flush()
    assert [(e.cell, e.text) for e in bench.sent] == [("c", "one"), ("d", "two"), ("d", "later, from a thread")]


def test_head_and_tail_are_kept_by_lines():
    bench = Bench(max_lines=100, size=64)
    for i in range(1000):
        bench.buffer.write("stdout", f"{i}\n")
    bench.buffer.end()
    head, _, rest = bench.text().partition("\n[...")
    sentence, _, tail = rest.partition("...]\n")
    assert head.split() == [str(i) for i in range(50)]
    assert tail.split() == [str(i) for i in range(950, 1000)]
    assert "900 lines" in sentence
    bench.sent.clear()
    bench.buffer.begin("d")
    bench.buffer.write("stdout", "fresh\n")
    bench.buffer.flush()
    assert bench.text() == "fresh\n", "the next cell has its whole allowance"


def test_head_and_tail_are_kept_by_characters_and_one_endless_line_too():
    bench = Bench(max_characters=100)
    bench.buffer.write("stdout", "a" * 500 + "b" * 500)
    bench.buffer.end()
    text = bench.text()
    assert text.startswith("a" * 50 + "\n[... 0 lines (900 characters)") and text.endswith("\n" + "b" * 50)


def test_exactly_the_allowance_is_shown_whole():
    bench = Bench(max_lines=100)
    for i in range(100):
        bench.buffer.write("stdout", f"{i}\n")
        bench.buffer.flush()
    bench.buffer.end()
    assert bench.text() == "".join(f"{i}\n" for i in range(100))


@given(st.lists(st.text("ab\n", max_size=30), max_size=40), st.integers(2, 60), st.integers(2, 20), st.integers(4, 50))
def test_what_is_left_out_is_counted_to_the_character(texts, characters, lines, size):
    bench = Bench(max_characters=characters, max_lines=lines, size=size)
    for text in texts:
        bench.buffer.write("stdout", text)
    bench.buffer.end()
    whole, shown = "".join(texts), bench.text()
    if "[..." not in shown:
        assert shown == whole
        return
    head, _, rest = shown.partition("\n[... ")
    sentence, _, tail = rest.partition(" ...]\n")
    left_lines, left_characters = int(sentence.split(" ")[0]), int(sentence.split("(")[1].split(" ")[0])
    assert whole.startswith(head) and whole.endswith(tail)
    middle = whole[len(head) : len(whole) - len(tail)]
    assert (len(middle), middle.count("\n")) == (left_characters, left_lines)
    assert len(head) + len(tail) <= characters and head.count("\n") + tail.count("\n") <= lines


@pytest.mark.parametrize(
    "text, whole, shown",
    [
        ("plain\n", True, "plain\n"),
        ("10%\r50%\r100%\n", True, "100%\n"),
        ("longer\rab\n", True, "abnger\n"),
        ("windows\r\nlines\r\n", True, "windows\nlines\n"),
        ("terminal\r\r\n", True, "terminal\n"),
        ("50%\r", True, "50%\r"),
        ("50%\r60%\r", True, "60%\r"),
        ("tail\r10%\r20%", False, "tail\r20%"),
        ("\r10%\r20%", False, "\r20%"),
        ("\r", False, "\r"),
        ("\x1b[31mred\x1b[0m\rblue", True, "blue"),
        ("a\rb\nc\rd", False, "a\rb\nd"),
    ],
)
def test_carriage_returns_are_folded(text, whole, shown):
    assert fold_carriage_returns(text, whole) == shown


def test_a_line_that_goes_on_in_the_next_batch_is_overwritten_there():
    bench = Bench()
    for percent in range(0, 101, 10):
        bench.buffer.write("stdout", f"\r{percent}%")
        bench.buffer.flush()
    assert [e.text for e in bench.sent][:3] == ["0%", "\r10%", "\r20%"]


def test_the_stream_is_a_text_file():
    bench = Bench()
    stream = OutputStream("stdout", bench.buffer)
    assert print("ä", file=stream) is None and stream.writable() and not stream.isatty() and stream.encoding == "utf-8"
    stream.writelines(["b", "c"])
    stream.buffer.write("ä".encode()[:1])
    stream.buffer.write("ä".encode()[1:])
    stream.close()
    stream.write("!")
    bench.buffer.flush()
    assert bench.text() == "ä\nbcä!"
    with pytest.raises(TypeError, match="must be str, not bytes"):
        stream.write(b"bytes")
    with pytest.raises(OSError, match="no file descriptor"):
        stream.fileno()


def test_a_destructor_that_prints_in_the_middle_of_a_write_does_not_deadlock():
    sent: list[Stream] = []

    def send(event: Stream) -> None:
        sent.append(event)
        if len(sent) == 1:
            buffer.write("stdout", "from the destructor\n")

    buffer = OutputBuffer(send)
    buffer.write("stdout", "outer\n")
    buffer.end()
    assert [e.text for e in sent] == ["outer\n", "from the destructor\n"]
