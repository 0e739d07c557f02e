"""Text without widgets: escape sequences, highlighting, lines through edits, outputs, pictures of cells."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapescope.app.notebook.document import Cell
from tapescope.app.tui import ansi
from tapescope.app.tui.highlight import PARTS, spans
from tapescope.app.tui.linemap import line_after, line_before
from tapescope.app.tui.markdown_view import render
from tapescope.app.tui.output_view import HEAD, TAIL, draw_output
from tapescope.app.tui.pictures import Frame, Picture, source_height
from tapescope.app.tui.themes import DARK, LIGHT, look_of

LOOK = look_of(DARK, {})
CONTROLS = st.text(alphabet=st.sampled_from("ab \x1b[]0;31m\x07\r\b\x9b\u202eK2J\\PX^_\x9c?>8"), max_size=60)


@given(CONTROLS)
def test_nothing_that_acts_on_a_terminal_comes_through(text):
    """Whatever the bytes, the drawn text holds no control character and no change of direction."""
    for drawn in [ansi.plain(text), ansi.inert(text), *(line.plain for line in ansi.parse(text))]:
        assert not any((ord(c) < 32 and c not in "\t\n") or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2066" for c in drawn)


def test_inert_text_keeps_its_length():
    """Signs replace characters one for one, so that cursor positions stay right."""
    assert len(ansi.inert("a\x1b\u202eb\x07")) == 5


def test_colours_carry_over_lines_and_end():
    """A colour lasts until it is changed, over the end of a line."""
    first, second = ansi.parse("\x1b[1;31mred\nstill\x1b[0m plain")
    assert first.spans[0].style.color.name == "red" and first.spans[0].style.bold
    assert second.plain == "still plain" and second.spans[0].end == 5 and len(second.spans) == 1


def test_extended_colours():
    """256 colours and true colours, foreground and background."""
    (line,) = ansi.parse("\x1b[38;5;208mA\x1b[48;2;1;2;3mB")
    assert line.spans[0].style.color.number == 208
    assert tuple(line.spans[1].style.bgcolor.triplet) == (1, 2, 3)


def test_carriage_returns_overwrite():
    """What is drawn is what a terminal would show."""
    assert [line.plain for line in ansi.parse("100%\r 50%\nabc\b\bX\r\nlong line\rshort\x1b[K\n")] == [
        " 50%", "aXc", "short",
    ]  # fmt: skip


def test_parts_of_python_lie_where_they_are():
    """Spans name parts of the line they are in, also in strings over several lines."""
    source = 'def f(x):\n    """Doc\n    more"""\n    return x + 1  # why\n'
    lines = spans(source, "python")
    assert len(lines) == source.count("\n") + 1
    for line, parts in zip(source.split("\n"), lines, strict=True):
        for start, end, part in parts:
            assert 0 <= start < end <= len(line) and part in PARTS
    assert (0, 3, "keyword") in lines[0] and (4, 5, "function") in lines[0]
    assert any(part == "docstring" for *_, part in lines[2])
    assert lines[3][-1][2] == "comment"


@given(st.text(max_size=200))
def test_highlighting_takes_any_text(source):
    """There is a row of spans for every line, whatever the text."""
    for language in ("python", "markdown", ""):
        assert len(spans(source, language)) == source.count("\n") + 1


def test_lines_are_found_again_after_an_edit():
    """Lines above and below an edit are found, the edited one is not."""
    old, new = "a\nb\nc", "# new\na\nB\nc"
    assert [line_after(old, new, n) for n in range(3)] == [1, None, 3]
    assert [line_before(old, new, n) for n in range(4)] == [None, 0, None, 2]


def test_markdown_is_laid_out_in_the_width():
    """Headings, lists, code and links read as text; no line is wider than asked."""
    lines = render("# Title\n\n* item with [a link](https://example.org)\n\n```python\nx = 1\n```\n", 40, LOOK)
    text = "\n".join("".join(segment.text for segment in line).rstrip() for line in lines)
    assert "Title" in text and "• item" in text and "https://example.org" in text and "x = 1" in text
    assert all(sum(len(s.text) for s in line) <= 40 for line in lines)
    assert not any(s.style and s.style.link for line in lines for s in line), "links must not be live"


def test_long_output_is_capped_and_cheap():
    """Only what is drawn is parsed: a huge stream costs about what a short one does."""
    text = "x" * 20 + "\n"
    long = {"output_type": "stream", "name": "stdout", "text": text * 300_000}
    drawn = draw_output(long, 80, LOOK)
    assert len(drawn.lines) == HEAD + TAIL + 1 and drawn.hidden == 300_000 - HEAD - TAIL
    began = time.process_time()
    for _ in range(3):
        draw_output(long, 80, LOOK)
    assert time.process_time() - began < 30


def test_an_output_that_cannot_be_drawn_says_so():
    """A strange bundle is a sentence, not a crash."""
    for data in ({"application/vnd.plotly.v1+json": 5}, {"image/png": 7}, {"text/markdown": None}, {}, 3):
        drawn = draw_output({"output_type": "display_data", "data": data}, 60, LOOK)
        assert drawn.kind == "display"


def test_wide_characters_and_tabs_never_leave_the_width():
    """Every drawn row fits its column."""
    cell = Cell(source="s = '値段' * 40 + '\t' # ü\n" + "値" * 100, outputs=[
        {"output_type": "stream", "name": "stdout", "text": "値段\t" * 50 + "\n"},
    ])  # fmt: skip
    picture = Picture(cell, Frame(30, LOOK))
    for row in range(picture.height):
        assert picture.strip(row).cell_length <= 30, picture.rows[row]
    assert picture.source_rows == source_height(cell.source, 30)


def test_a_picture_knows_which_row_shows_which_line():
    """Rows of broken lines belong to their line; clicks find their character."""
    cell = Cell(source="first = 1\nsecond = " + "word " * 20 + "\nthird")
    picture = Picture(cell, Frame(40, LOOK))
    assert picture.rows_of_line(0) == range(0, 1)
    rows = picture.rows_of_line(1)
    assert len(rows) > 1 and picture.rows_of_line(2) == range(rows.stop, rows.stop + 1)
    assert picture.place_in_source(0, 3) == (0, 3)
    line, character = picture.place_in_source(rows.start + 1, 0)
    assert line == 1 and 20 < character < 40
    assert picture.place_in_source(99, 0) == (2, 5)


def test_only_what_changed_is_drawn_again():
    """A new picture of a cell takes over the outputs that are the same."""
    shared = {"output_type": "display_data", "data": {"text/plain": "same"}}
    stream = {"output_type": "stream", "name": "stdout", "text": "one\n"}
    cell = Cell(source="x", outputs=[shared, stream])
    first = Picture(cell, Frame(40, LOOK))
    stream["text"] = "one\ntwo\n"
    second = Picture(cell, Frame(40, LOOK), old=first)
    assert second.drawn[0] is first.drawn[0]
    assert [line.plain for line in second.drawn[1].lines] == ["one", "two"]
    third = Picture(cell, Frame(50, LOOK), old=second)
    assert third.drawn[0] is not second.drawn[0]


def test_looks_of_one_theme_are_equal_and_of_two_are_not():
    """Looks are parts of cache keys."""
    assert look_of(DARK, {}) == look_of(DARK, {}) and hash(look_of(DARK, {})) == hash(look_of(DARK, {}))
    assert look_of(DARK, {}) != look_of(LIGHT, {})


def _contrast(first: str, second: str) -> float:
    """WCAG 2's contrast ratio of two colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_our_themes_can_be_read():
    """Text and code have the contrast that WCAG 2 asks of text (4.5 to 1), on both grounds."""
    for theme in (DARK, LIGHT):
        look = look_of(theme, {})
        for style in (look.text, look.soft, look.muted, look.accent, look.primary, look.success, look.error):
            assert _contrast(style.color.name, look.background) >= 4.5, (theme.name, style)
        for part, style in look.syntax.items():
            assert _contrast(style.color.name, look.surface) >= 4.4, (theme.name, part)


def png(width, height, kind, rows, depth=8, extra=b""):
    """A PNG of raw filtered rows."""
    import struct
    import zlib

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )


def test_every_filter_of_png_is_undone():
    """The same four pixels a row, written with each of the five filters."""
    from tapescope.app.tui.image_view import decode_png

    a, b = bytes(range(10, 22)), bytes(range(200, 212))
    sub = bytes([b[i] if i < 3 else (b[i] - b[i - 3]) & 255 for i in range(12)])
    up = bytes([(b[i] - a[i]) & 255 for i in range(12)])
    average = bytes([(b[i] - ((b[i - 3] if i > 2 else 0) + a[i]) // 2) & 255 for i in range(12)])

    def paeth(i):
        left, above, corner = (b[i - 3], a[i], a[i - 3]) if i > 2 else (0, a[i], 0)
        p = left + above - corner
        return min((abs(p - left), 0, left), (abs(p - above), 1, above), (abs(p - corner), 2, corner))[2]

    fourth = bytes([(b[i] - paeth(i)) & 255 for i in range(12)])
    for kind, row in ((0, b), (1, sub), (2, up), (3, average), (4, fourth)):
        pixels = decode_png(png(4, 2, 2, b"\0" + a + bytes([kind]) + row))
        assert pixels.tobytes() == a + b, kind


def test_palettes_grey_and_small_depths_are_read():
    """One bit a pixel, a palette with transparency, grey with alpha."""
    import struct
    import zlib

    from tapescope.app.tui.image_view import CannotDecode, decode_png

    bits = decode_png(png(8, 1, 0, b"\0\xa0", depth=1))
    assert bits[0, :3, 0].tolist() == [255, 0, 255]
    table = b"PLTE" + bytes([1, 2, 3, 4, 5, 6])
    extra = struct.pack(">I", 6) + table + struct.pack(">I", zlib.crc32(table))
    clear = b"tRNS" + b"\x80"
    extra += struct.pack(">I", 1) + clear + struct.pack(">I", zlib.crc32(clear))
    colours = decode_png(png(2, 1, 3, b"\0\x00\x01", extra=extra))
    assert colours.tolist() == [[[1, 2, 3, 128], [4, 5, 6, 255]]]
    assert decode_png(png(1, 1, 4, b"\0\x07\x09")).tolist() == [[[7, 7, 7, 9]]]
    for broken in (b"", b"\x89PNG\r\n\x1a\n", png(4, 2, 2, b"\0"), png(4, 2, 2, b"\x09" * 26)):
        with pytest.raises(CannotDecode):
            decode_png(broken)


def test_an_image_is_drawn_in_half_blocks_no_wider_than_asked():
    """Two pixels a character; a large image is averaged down."""
    from tapescope.app.tui.image_view import draw_image

    red, blue = bytes([255, 0, 0]), bytes([0, 0, 255])
    lines = draw_image(png(40, 2, 2, b"\0" + red * 40 + b"\0" + blue * 40), 80, "#000000")
    assert [line.plain for line in lines] == ["▀" * 40]
    style = lines[0].spans[0].style
    assert style.color.triplet == (255, 0, 0) and style.bgcolor.triplet == (0, 0, 255)
    large = draw_image(png(300, 100, 0, (b"\0" + bytes(300)) * 100), 50, "#000000")
    assert len(large[0].plain) == 50 and len(large) == 8


def test_html_tables_become_grids():
    """Headings, numbers at the right, columns that do not fit are counted."""
    from tapescope.app.tui.html_view import draw_table, read_tables

    look = look_of(DARK, {})
    page = (
        "<style>x</style><table><caption>Runs</caption><tr><th></th><th>loss</th></tr>"
        "<tr><th>a</th><td>1.5</td></tr><tr><th>b</th><td>10.25</td></tr></table>"
    )
    (table,) = read_tables(page)
    lines = [line.plain.rstrip() for line in draw_table(table, 40, look)]
    assert lines == ["Runs", "     loss", "─────────", "a     1.5", "b   10.25"]
    wide = "<table><tr>" + "".join(f"<td>column{n}</td>" for n in range(30)) + "</tr></table>"
    lines = draw_table(read_tables(wide)[0], 60, look)
    assert all(line.cell_len <= 60 for line in lines) and "columns more" in lines[-1].plain
