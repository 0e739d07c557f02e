"""Stories of looking: long and hostile outputs, figures, small and changing screens, themes."""

from __future__ import annotations

import base64
import json
import struct

import pytest
from textual import events

from tapescope.app.kernel import messages as m
from tapescope.app.tui.external import write_output
from tapescope.app.tui.output_view import FIGURE

FIG = {
    "data": [
        {"type": "scatter", "mode": "lines", "name": "loss", "y": [2.3, 1.1, 0.7, 0.4, 0.2], "x": [0, 1, 2, 3, 4]}
    ],
    "layout": {"title": {"text": "Loss"}, "xaxis": {"title": {"text": "step"}}},
}


def braille(text: str) -> int:
    return sum("⠀" < character <= "⣿" for character in text)


async def test_a_figure_is_drawn_as_text(open_app):
    """A plotly figure appears with its title, its axes and its curve."""
    async with open_app() as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.run(cell, m.DisplayData(cell, {FIGURE: FIG, "text/plain": "Figure()"}))
        await user.sees("Loss")
        assert "step" in user.text and "┤" in user.text
        assert braille(user.text) > 20
        assert "Figure()" not in user.text


async def test_a_real_figure_of_a_real_kernel_moves_while_the_loop_runs(open_app):
    """The plotted loss is on the screen, at its last value, after a loop that updated it."""
    code = """# %%
import plotly.graph_objects as go
from IPython.display import display
handle = display(go.Figure(go.Scatter(y=[1, 2])).update_layout(title="turn 0"), display_id=True)
for turn in range(1, 4):
    handle.update(go.Figure(go.Scatter(y=[1, 2, turn])).update_layout(title=f"turn {turn}"))
"""
    async with open_app(code, real=True) as user:
        await user.press("ctrl+j")
        await user.sees("turn 3")
        await user.ready()
        user.screen.pane.view.scroll_end(animate=False)
        await user.settle()
        assert braille(user.text) > 10 and "turn 0" not in user.text.replace('title="turn 0"', "")


async def test_a_long_output_scrolls_in_place(open_app):
    """Of 500 lines both ends are drawn; Shift+O opens a window of the same height on them, again shows all, o hides them."""
    async with open_app() as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.run(cell, m.Stream(cell, "stdout", "".join(f"line {n}\n" for n in range(500))))
        await user.sees("lines not shown")
        assert "line 0" in user.text and "line 250" not in user.text
        view = user.screen.pane.view
        few = view.virtual_size.height
        await user.press("O")
        assert user.screen.mode == "output" and "lines 1 to 30 of 500" in user.text and "line 29" in user.text
        assert view.virtual_size.height == few
        await user.press("down", "down", "pagedown")
        assert "lines 32 to 61 of 500" in user.text
        await user.press("end")
        assert "line 499" in user.text and "line 469" not in user.text
        user.kernel.emit(m.Stream(cell, "stdout", "one more\n"))
        await user.sees("one more")  # at its end the window follows
        await user.press("home")
        assert "lines 1 to 30 of 501" in user.text and view.virtual_size.height == few
        await user.press("escape")
        assert user.screen.mode == "command" and "lines 1 to 30" in user.text
        await user.press("O")
        assert view.virtual_size.height > few + 400 and "of 501" not in user.text
        await user.press("O")
        assert "lines not shown" in user.text
        await user.press("o")
        assert "hidden" in user.text and view.virtual_size.height < 12
        await user.press("o")
        assert "line 0" in user.text


async def test_the_wheel_scrolls_an_output_that_was_clicked(open_app):
    """A click on the row of the missing lines opens the window; at its end the wheel moves the notebook again."""
    async with open_app("# %%\nx = 1\n" + "\n# %%\ny = 2\n" * 40) as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.run(cell, m.Stream(cell, "stdout", "".join(f"line {n}\n" for n in range(33))))
        await user.sees("lines not shown")
        view = user.screen.pane.view
        row = next(n for n, text in enumerate(user.text.split("\n")) if "lines not shown" in text)
        await user.pilot.click(view, offset=(20, row))
        assert "lines 1 to 30 of 33" in user.text
        await user.pilot._post_mouse_events([events.MouseScrollDown], view, (20, row), button=0)
        await user.pilot.pause()
        assert "lines 4 to 33 of 33" in user.text and view.scroll_offset.y == 0
        await user.pilot._post_mouse_events([events.MouseScrollDown], view, (20, row), button=0)
        await user.pilot.pause()
        assert view.scroll_offset.y > 0


async def test_long_words_of_output_are_broken_behind_words(open_app):
    """Prose that is wider than the cells goes on with a whole word; what has no spaces is broken where the width ends."""
    async with open_app(size=(60, 20)) as user:
        cell = user.cell(0)
        await user.press("ctrl+j", "f2")
        user.kernel.run(cell, m.Stream(cell, "stdout", "several " * 8 + "\n" + "x" * 70 + "\n"))
        await user.sees("several")
        rows = [row[8:].rstrip("▁▂▃▄▅▆▇█ ") for row in user.text.split("\n")]
        assert "several several several several several several" in rows and "x" * 50 in rows


async def test_a_flood_of_output_does_not_stop_the_keys(open_app):
    """200,000 printed lines: the document stays bounded, and keys are answered while they come."""
    async with open_app("# %%\nfor n in range(200_000): print(n)\n\n# %%\nb\n", real=True) as user:
        await user.press("ctrl+j", "j", "enter", "end")
        await user.type("ig")
        assert user.sources[1] == "big"
        await user.press("escape", "k")
        await user.ready()
        assert len(user.screen.notebook.cells[0].outputs[0]["text"]) < 100_000
        assert "199999" in user.text


async def test_hostile_output_stays_inert(open_app):
    """Colours are drawn; titles, clipboards, cursor movements and text direction are not obeyed."""
    evil = (
        "\x1b[31mred\x1b[0m \x1b]0;owned\x07\x1b]52;c;aGk=\x07\x1b[2J\x1b[H\x1b]8;;http://evil\x07link\x1b]8;;\x07 "
        "a\u202eb\x9b2J end\n"
    )
    async with open_app() as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.run(cell, m.Stream(cell, "stdout", evil), m.Error(cell, "E\x1b[2J", "v", [evil]))
        await user.sees("red")
        shown = user.text
        assert not any(sign in shown for sign in ("\x1b", "\x07", "\x9b", "\u202e", "owned"))
        assert "end" in shown


async def test_escape_sequences_in_source_are_not_sent_to_the_terminal(open_app):
    """A notebook from somewhere may have control characters in its cells and texts."""
    async with open_app("# %%\nx = '\x1b]0;owned\x07'\n\n# %% [markdown]\n# a \x1b[2J b\n") as user:
        assert "\x1b" not in user.text and "\x07" not in user.text
        await user.press("enter")
        assert "\x1b" not in user.text and "\x07" not in user.text


async def test_tables_images_and_markdown_results(open_app):
    """HTML tables fall back to their text, images say what they are, Markdown is laid out."""
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", 640, 480)).decode()
    async with open_app() as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.run(
            cell,
            m.ExecuteResult(cell, 1, {"text/html": "<table></table>", "text/plain": "   a  b\n0  1  2"}),
            m.DisplayData(cell, {"image/png": png, "text/plain": "<Figure>"}),
            m.DisplayData(cell, {"text/markdown": "**strong** words", "text/plain": "<Markdown>"}),
        )
        await user.sees("0  1  2")
        assert "640 × 480" in user.text
        assert "strong words" in user.text and "**" not in user.text


@pytest.mark.parametrize("size", [(80, 24), (60, 15), (20, 5)])
async def test_small_screens_are_usable(open_app, size):
    """Open, write and run where there is little room."""
    async with open_app("# %%\nx = 1\n", size=size) as user:
        await user.press("enter", "end")
        await user.type("2")
        await user.press("ctrl+j")
        assert [c.code for c in user.kernel.executed] == ["x = 12"]
        assert "x = 12" in user.text
        if size[1] >= 15:
            assert "Tape" in user.text and "EDIT" in user.text


async def test_the_terminal_is_resized_and_back(open_app):
    """A resize to almost nothing and back leaves text, cursor and layout as they were."""
    text = "# %%\nfirst = 1\n\n# %% [markdown]\n# Some words that will have to be broken into several lines.\n"
    async with open_app(text) as user:
        await user.press("enter", "end")
        before = user.text
        for size in ((20, 5), (200, 50), (120, 40)):
            await user.pilot.resize_terminal(*size)
            await user.settle()
        assert user.text == before
        await user.type("0")
        assert user.sources[0] == "first = 10"


async def test_long_lines_are_broken_alike_when_edited_and_when_not(open_app):
    """Opening a cell moves nothing: the editor breaks lines where the drawing did."""
    line = "value = some_function(" + ", ".join(f"argument_{n}" for n in range(30)) + ")  # " + "wörter " * 9
    async with open_app(f"# %%\n{line}\nb = 2\n\n# %%\nlast\n") as user:
        rows = [row[8:60] for row in user.text.split("\n")[:-2]]
        await user.press("enter")
        assert [row[8:60] for row in user.text.split("\n")[:-2]] == rows


async def test_line_numbers_are_the_same_in_and_out_of_the_editor(open_app):
    """L numbers the lines; opening the cell does not move them."""
    async with open_app("# %%\nfirst\nsecond\n") as user:
        await user.press("l")
        row = next(row for row in user.text.split("\n") if "second" in row)
        assert "2  second" in row
        await user.press("enter")
        assert row[8:30] in user.text


async def test_themes_switch_at_once(open_app):
    """The palette's command turns dark to light, drawn cells and editor included."""
    async with open_app() as user:
        await user.press("enter")
        dark = user.screen.look()
        user.screen.act("theme")
        await user.settle()
        light = user.screen.look()
        assert dark.dark and not light.dark
        row = next(s for s in user.app.screen._compositor.render_strips() if "x = 1" in s.text)
        grounds = {segment.style.bgcolor.name for segment in row if segment.style and segment.style.bgcolor}
        assert light.background in grounds and dark.background not in grounds and dark.surface not in grounds


async def test_any_theme_of_the_library_can_be_used(open_app):
    """The styles are derived from a theme's roles, so every theme draws."""
    async with open_app() as user:
        for name in user.app.available_themes:
            user.app.theme = name
            await user.pilot.pause()
            assert user.screen.look().name == name
        assert "x = 1" in user.text


async def test_the_view_stays_where_it_is_read_while_a_cell_above_prints(open_app):
    """Output that grows above the upper edge does not push the text away."""
    text = "".join(f"# %%\nx{n} = 1\n\n" for n in range(60))
    async with open_app(text) as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.emit(m.Status("busy", cell))
        await user.press("G")
        shown = [row[:60] for row in user.text.split("\n") if "x5" in row]
        user.kernel.emit(m.Stream(cell, "stdout", "printed\n" * 20))
        await user.settle(0.2)
        assert [row[:60] for row in user.text.split("\n") if "x5" in row] == shown


async def test_output_below_the_edge_comes_into_view(open_app):
    """A cell that is run at the foot of the screen scrolls so that its output can be read, unless a person scrolls."""
    text = "".join(f"# %%\nx{n} = 1\n\n" for n in range(60))
    async with open_app(text) as user:
        await user.press("G", "ctrl+j")
        cell = user.cell(59)
        user.kernel.emit(m.Status("busy", cell), m.Stream(cell, "stdout", "".join(f"line {n}\n" for n in range(8))))
        await user.sees("line 7")
        await user.press("pageup", "pageup")
        top = user.screen.pane.view.scroll_offset.y
        user.kernel.emit(m.Stream(cell, "stdout", "more\n" * 5))
        await user.settle(0.2)
        assert user.screen.pane.view.scroll_offset.y == top


async def test_a_plot_is_watched_while_its_cell_is_longer_than_the_screen(open_app):
    """Running a long cell shows the end of its output; while writing in it, the cursor stays on the screen."""
    text = "# %%\n" + "".join(f"x{n} = 1\n" for n in range(50))
    async with open_app(text) as user:
        cell = user.cell(0)
        for keys in (("ctrl+j",), ("enter", "ctrl+j")):
            await user.press(*keys)
            user.kernel.run(cell, m.Stream(cell, "stdout", "first\n" + "more\n" * 5 + "last line\n"))
            if "enter" in keys:
                await user.settle(0.2)
                assert "x0 = 1" in user.text and "last line" not in user.text
            else:
                await user.sees("last line")


async def test_a_huge_single_line_is_no_trap(open_app):
    """A million characters without a newline are drawn broken, and the keys work."""
    async with open_app() as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.run(cell, m.Stream(cell, "stdout", "x" * 1_000_000))
        await user.sees("xxxx")
        await user.press("b")
        assert len(user.sources) == 2


async def test_the_pictures_of_the_screen_can_be_saved(open_app, tmp_path, monkeypatch):
    """The palette's screenshot is an SVG file with what is on the screen."""
    monkeypatch.chdir(tmp_path)
    async with open_app("# %%\nfind_me = 1\n") as user:
        user.screen.act("screenshot")
        await user.settle()
        (picture,) = tmp_path.glob("*.svg")
        assert "find_me" in picture.read_text(encoding="utf-8")


@pytest.mark.parametrize("mime", ["text/html", "image/svg+xml"])
def test_an_output_in_the_browser_runs_nothing(mime):
    """HTML is in a sandboxed frame, a drawing in an image, and the page may load nothing."""
    path = write_output({mime: "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"}, mime)
    page = path.read_text(encoding="utf-8")
    assert "<script>" not in page and "default-src 'none'" in page and "script-src" not in page
    assert "<iframe sandbox srcdoc=" in page if mime == "text/html" else "src='data:image/svg+xml;base64," in page


async def test_a_figure_opens_in_the_browser(open_app, monkeypatch):
    """W writes one page with everything in it and hands it to the system's browser."""
    opened = []
    monkeypatch.setattr("tapescope.app.tui.external.open_in_browser", lambda path: opened.append(path) or True)
    async with open_app() as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.run(cell, m.DisplayData(cell, {FIGURE: FIG}))
        await user.sees("Loss")
        await user.press("w")
        await user.until(lambda: opened, "a page handed to the browser")
        page = opened[0].read_text(encoding="utf-8")
        assert json.dumps(FIG["data"][0]["y"]) in page.replace(",", ", ").replace(",  ", ", ")
        assert 'src="http' not in page
