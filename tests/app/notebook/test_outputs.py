"""Outputs as they come from a kernel: streams folded and bounded, displays updated, clearing now or later."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapescope.app.notebook import outputs
from tapescope.app.notebook.document import Cell, Notebook
from tapescope.app.notebook.outputs import append_output, append_stream, begin_execution, clear_output, update_display
from tapescope.app.notebook.screen import MAX_COLUMNS, Screen


def shown(*chunks: str, max_lines: int = 1000) -> str:
    screen = Screen(max_lines)
    for chunk in chunks:
        screen.feed(chunk)
    return screen.text


def test_consecutive_streams_of_one_name_are_one_output():
    cell = Cell()
    for name, text in [("stdout", "a"), ("stdout", "b\n"), ("stderr", "!"), ("stdout", "c")]:
        append_stream(cell, name, text)
    assert cell.outputs == [
        {"output_type": "stream", "name": "stdout", "text": "ab\n"},
        {"output_type": "stream", "name": "stderr", "text": "!"},
        {"output_type": "stream", "name": "stdout", "text": "c"},
    ]


@pytest.mark.parametrize(
    "text, left",
    [
        ("10%\r20%\r100%\n", "100%\n"),
        ("long line\rshort", "shortline"),
        ("abc\r\n", "abc\n"),
        ("abc\rX\n", "Xbc\n"),
        ("abc\b\bX", "aXc"),
        ("\b\rx", "x"),
        ("abc\r\x1b[Kx", "x"),
        ("abc\x1b[2K\rx", "x"),
        ("abcdef\x1b[3G\x1b[1K", "   def"),
        ("one\ntwo\x1b[1A\rONE\n", "ONE\ntwo"),
        ("one\ntwo\x1b[A\r\x1b[J!", "!"),
        ("one\n\x1b[2J\x1b[Hnew", "new"),
        ("a\x1b[5Cb", "a     b"),
        ("abc\x1b[2Dx", "axc"),
        ("\x1b]0;title\x07text\x07", "text"),
        ("\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("e\u0301tude\re\u0301", "e\u0301tude"),
        ("tab\tstays", "tab\tstays"),
        ("\x1b[?25lhidden\x1b[?25h", "hidden"),
    ],
)
def test_a_line_is_rewritten_as_a_terminal_does(text: str, left: str):
    assert shown(text) == left
    assert shown(*text) == left, "fed one character at a time"


def test_colours_survive_and_every_line_has_its_own():
    text = "\x1b[31mred\nstill \x1b[1mbold\x1b[0m plain"
    assert shown(text) == shown(*text) == "\x1b[31mred\x1b[0m\n\x1b[31mstill \x1b[0m\x1b[31;1mbold\x1b[0m plain"


def test_overwriting_part_of_a_coloured_line_keeps_the_colour_of_the_rest():
    assert shown("\x1b[31mred\x1b[0m", "\rX") == "X\x1b[31med\x1b[0m"


@pytest.mark.parametrize(
    "codes, sequence",
    [("1;31", "\x1b[1;31m"), ("31;0", ""), ("31;32", "\x1b[32m"), ("38;5;9", "\x1b[38;5;9m"),
     ("38;2;1;2;3;1", "\x1b[38;2;1;2;3;1m"), ("1;22", ""), ("31;39", ""), ("38:5:9", "\x1b[38:5:9m"),
     ("1;;4", "\x1b[4m")],
)  # fmt: skip
def test_colour_codes(codes: str, sequence: str):
    assert shown(f"\x1b[{codes}mx") == (f"{sequence}x\x1b[0m" if sequence else "x")


def test_many_colour_changes_do_not_pile_up():
    text = "".join(f"\x1b[{31 + n % 6}m" for n in range(5000)) + "x"
    assert len(shown(text)) < 20


PIECES = ["a", "bc", "\n", "\r", "\b", "\x1b[K", "\x1b[A", "\x1b[2B", "\x1b[31m", "\x1b[0m", "e\u0301"]


@given(st.lists(st.sampled_from(PIECES)), st.randoms())
def test_chunks_do_not_matter(parts: list[str], rng: random.Random):
    text = "".join(parts)
    chunks, place = [], 0
    while place < len(text):
        end = place + rng.randint(1, 4)
        chunks.append(text[place:end])
        place = end
    assert shown(*chunks, max_lines=100_000) == shown(text, max_lines=100_000)


def test_the_head_and_the_tail_of_many_lines_are_kept():
    cell = Cell()
    for number in range(25):
        append_stream(cell, "stdout", f"line {number}\n", max_lines=10)
    lines = cell.outputs[0]["text"].splitlines()
    assert lines[:5] == [f"line {n}" for n in range(5)]
    assert lines[5] == "[... 15 lines dropped ...]"
    assert lines[6:] == [f"line {n}" for n in range(20, 25)]
    append_stream(cell, "stdout", "last", max_lines=10)
    assert cell.outputs[0]["text"].endswith("line 24\nlast")
    assert "16 lines dropped" in cell.outputs[0]["text"]


def test_a_cap_that_is_just_reached_drops_nothing():
    assert "dropped" not in shown(*(f"{n}\n" for n in range(10)), max_lines=10)
    assert "[... 1 line dropped ...]" in shown(*(f"{n}\n" for n in range(11)), max_lines=10)


def test_a_progress_bar_goes_on_after_lines_were_dropped():
    text = shown(*(f"{n}\n" for n in range(50)), *(f"\r{n}%" for n in range(101)), max_lines=10)
    assert text.endswith("\n49\n100%") and text.count("%") == 1


def test_a_cursor_cannot_climb_over_what_was_dropped():
    text = shown(*(f"{n}\n" for n in range(50)), "\x1b[99A\rTOP", max_lines=10)
    assert text.splitlines()[:5] == ["0", "1", "2", "3", "4"]
    assert text.splitlines()[6].startswith("TOP")


def test_an_endless_line_is_cut():
    text = shown(*["x" * 1000] * 150, "\nnext")
    first, second = text.split("\n")
    assert len(first) < MAX_COLUMNS + 100 and first.endswith("[... 50,000 characters dropped]") and second == "next"
    assert shown("\r" + "x" * (MAX_COLUMNS + 7)).endswith("[... 7 characters dropped]")


def test_alternating_streams_stay_bounded():
    cell = Cell()
    for number in range(3000):
        append_stream(cell, "stdout" if number % 2 else "stderr", f"{number}\n", max_lines=50)
    assert len(cell.outputs) <= 200
    assert any("2999\n" in output["text"] for output in cell.outputs)


def test_text_joins_a_stream_that_came_from_a_file():
    cell = Cell(outputs=[{"output_type": "stream", "name": "stdout", "text": "50%"}])
    append_stream(cell, "stdout", "\r60%")
    assert cell.outputs[0]["text"] == "60%"


def test_append_output_copies_and_takes_the_count():
    cell = Cell()
    output = {"output_type": "execute_result", "execution_count": 7, "data": {"text/plain": "1"}, "metadata": {}}
    append_output(cell, output)
    output["data"]["text/plain"] = "changed"
    assert cell.outputs[0]["data"] == {"text/plain": "1"} and cell.execution_count == 7
    append_output(cell, {"output_type": "stream", "name": "stdout", "text": "a\rb"})
    assert cell.outputs[1]["text"] == "b"
    with pytest.raises(ValueError, match="output_type"):
        append_output(cell, {"data": {}})


def test_update_display_reaches_every_output_of_that_id():
    document = Notebook([Cell(), Cell()])
    for cell in document:
        append_output(cell, {"output_type": "display_data", "data": {"text/plain": "old"}, "metadata": {}}, "d1")
    append_output(
        document.cells[1], {"output_type": "display_data", "data": {"text/plain": "other"}, "metadata": {}}, "d2"
    )
    assert update_display(document, "d1", {"text/plain": "new"}) == [cell.id for cell in document]
    assert [o["data"]["text/plain"] for cell in document for o in cell.outputs] == ["new", "new", "other"]
    assert update_display(document, "unknown", {}) == []


def test_clear_output_now_and_later():
    cell = Cell()
    append_stream(cell, "stdout", "a")
    clear_output(cell, wait=True)
    assert cell.outputs
    append_stream(cell, "stdout", "b")
    assert [o["text"] for o in cell.outputs] == ["b"]
    clear_output(cell, wait=True)
    append_output(cell, {"output_type": "error", "ename": "E", "evalue": "", "traceback": []})
    assert [o["output_type"] for o in cell.outputs] == ["error"]
    clear_output(cell)
    assert cell.outputs == []


def test_a_new_run_forgets_a_clearing_that_waited():
    cell = Cell(execution_count=4)
    clear_output(cell, wait=True)
    begin_execution(cell)
    append_stream(cell, "stdout", "a")
    append_stream(cell, "stderr", "b")
    assert len(cell.outputs) == 2 and cell.execution_count is None


def test_the_default_cap_is_used():
    cell = Cell()
    append_stream(cell, "stdout", "x\n" * (outputs.MAX_LINES + 5))
    assert "[... 5 lines dropped ...]" in cell.outputs[0]["text"]
