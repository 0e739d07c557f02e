"""Stories of writing: cells and their text, as a person with a keyboard meets them. The kernel is scripted."""

from __future__ import annotations

from textual import events
from textual.widgets import TextArea

THREE = "# %%\na = 1\n\n# %%\nb = 2\n\n# %%\nc = 3\n"


async def test_a_person_opens_a_notebook_and_reads_it(open_app):
    """Text cells appear as they read, code cells as code, and the status line names the file."""
    async with open_app("# %% [markdown]\n# # Digits\n#\n# See **this**.\n\n# %%\nprint(1)\n") as user:
        await user.sees("print(1)")
        assert "Digits" in user.text and "# Digits" not in user.text
        assert "See this." in user.text
        assert "lesson.py" in user.text and "1/2" in user.text


async def test_a_person_types_into_a_cell(open_app):
    """Enter opens the cell, what is typed is in the document at once, Esc leaves it."""
    async with open_app() as user:
        await user.press("enter", "end")
        await user.type(" + 41")
        assert user.sources == ["x = 1 + 41"]
        assert "EDIT" in user.text
        await user.press("escape")
        assert "COMMAND" in user.text and "x = 1 + 41" in user.text


async def test_a_text_cell_shows_its_source_while_it_is_edited(open_app):
    """Markdown is source text under the cursor and reads as text again afterwards."""
    async with open_app("# %% [markdown]\n# Some *words*\n") as user:
        assert "Some words" in user.text
        await user.press("enter")
        assert "Some *words*" in user.text
        await user.press("escape")
        assert "Some words" in user.text and "*" not in user.text


async def test_indentation_follows(open_app):
    """A colon indents the next line, `return` ends the block."""
    async with open_app("# %%\n\n") as user:
        await user.press("enter")
        await user.type("def f(x):\nreturn x\ny = 1")
        assert user.sources == ["def f(x):\n    return x\ny = 1"]


async def test_brackets_come_in_pairs_and_can_be_typed_over(open_app):
    """Typing a call leaves no bracket too many, and Backspace takes an empty pair away."""
    async with open_app("# %%\n\n") as user:
        await user.press("enter")
        await user.type('print(f"it\'s {x}", [1])')
        assert user.sources == ['print(f"it\'s {x}", [1])']
        await user.type("(")
        await user.press("backspace")
        assert user.sources == ['print(f"it\'s {x}", [1])']


async def test_several_lines_are_pasted_as_they_are(open_app):
    """Pasted code keeps its own indentation."""
    pasted = "for i in range(3):\n    if i:\n        print(i)\n"
    async with open_app("# %%\n\n") as user:
        await user.press("enter")
        user.app.post_message(events.Paste(pasted))
        await user.settle()
        assert user.sources == [pasted]


async def test_text_pasted_in_command_mode_becomes_a_cell(open_app):
    """Nothing of a paste is lost for the mode: it fills an empty cell, or makes one below, and can be undone."""
    pasted = "for i in range(3):\r\n    print('日本 🎉', i)\r\n" * 250
    text = pasted.replace("\r\n", "\n").strip("\n")
    async with open_app("# %%\nx = 1\n") as user:
        user.app.post_message(events.Paste(pasted))
        await user.settle()
        assert user.sources == ["x = 1", text]
        await user.press("b")
        user.app.post_message(events.Paste("y"))
        await user.settle()
        assert user.sources == ["x = 1", text, "y"]
        user.app.post_message(events.Paste("  \n"))
        await user.settle()
        assert user.sources == ["x = 1", text, "y"]
        await user.press("z", "z", "z")
        assert user.sources == ["x = 1"]


async def test_lines_are_commented_out_and_in(open_app):
    """Ctrl+/ (in an old terminal the same character as Ctrl+_) puts # before the selected lines and takes it away."""
    async with open_app("# %%\nif a:\n    b()\n") as user:
        await user.press("enter", "f7", "ctrl+underscore")
        assert user.sources == ["# if a:\n#     b()"]
        await user.press("f4")
        assert user.sources == ["if a:\n    b()"]


async def test_undo_inside_a_cell_survives_leaving_it(open_app):
    """Ctrl+Z in the text undoes what was typed, also after the cell was left and opened again."""
    async with open_app() as user:
        await user.press("enter", "end")
        await user.type("23")
        await user.press("escape", "enter", "ctrl+z")
        assert user.sources == ["x = 1"]
        await user.press("ctrl+y")
        assert user.sources == ["x = 123"]


async def test_a_deleted_cell_comes_back(open_app):
    """D D deletes, Z brings the same cell back with its output."""
    async with open_app(THREE) as user:
        user.kernel.run(user.cell(0), *[], count=7)
        await user.settle()
        await user.press("d", "d")
        assert user.sources == ["b = 2", "c = 3"]
        await user.press("z")
        assert user.sources == ["a = 1", "b = 2", "c = 3"]
        assert user.screen.notebook.cells[0].execution_count == 7
        assert user.screen.cells.index == 0


async def test_the_last_cell_can_be_deleted_and_leaves_an_empty_one(open_app):
    """There is always a cell to write in, and one undo brings the old one back."""
    async with open_app() as user:
        await user.press("d", "d")
        assert user.sources == [""]
        await user.press("z")
        assert user.sources == ["x = 1"]


async def test_cells_are_inserted_cut_copied_and_pasted(open_app):
    """A and B insert, X, C and V move cells about."""
    async with open_app(THREE) as user:
        await user.press("b")
        assert user.sources == ["a = 1", "", "b = 2", "c = 3"]
        await user.press("x")
        await user.press("k", "x")
        assert user.sources == ["b = 2", "c = 3"]
        await user.press("j", "v")
        assert user.sources == ["b = 2", "c = 3", "a = 1"]
        await user.press("c", "V")
        assert user.sources == ["b = 2", "c = 3", "a = 1", "a = 1"]
        assert len({cell.id for cell in user.screen.notebook.cells}) == 4


async def test_a_range_of_cells_is_selected_moved_and_merged(open_app):
    """Shift+J extends the selection; moving and merging take all of it."""
    async with open_app(THREE) as user:
        await user.press("J", "alt+down")
        assert user.sources == ["c = 3", "a = 1", "b = 2"]
        await user.press("M")
        assert user.sources == ["c = 3", "a = 1\nb = 2"]
        await user.press("z")
        assert user.sources == ["c = 3", "a = 1", "b = 2"]


async def test_a_cell_is_split_at_the_cursor(open_app):
    """Ctrl+Shift+- cuts the cell in two, and Alt+S where a terminal cannot send that."""
    async with open_app("# %%\na = 1\nb = 2\nc = 3\n") as user:
        await user.press("enter", "down", "ctrl+shift+minus")
        assert user.sources == ["a = 1", "b = 2\nc = 3"]
        await user.press("down", "home", "alt+s")
        assert user.sources == ["a = 1", "b = 2", "c = 3"]


async def test_the_type_of_a_cell_changes(open_app):
    """M makes text, Y makes code."""
    async with open_app("# %%\n# Title\n") as user:
        await user.press("m")
        assert user.screen.notebook.cells[0].cell_type == "markdown"
        await user.press("y")
        assert user.screen.notebook.cells[0].cell_type == "code"


async def test_a_command_right_after_a_letter_sees_that_letter(open_app):
    """Fast hands: a key that acts on the cell comes before the editor has told of the last letters."""
    async with open_app("# %%\n\n") as user:
        await user.press("enter")
        for character in "abcdef":
            user.app.post_message(events.Key(character, character))
        user.app.post_message(events.Key("alt+s", None))
        await user.settle()
        assert user.sources == ["abcdef", ""]
        user.app.post_message(events.Key("x", "x"))
        user.app.post_message(events.Key("ctrl+j", None))
        await user.settle()
        assert [c.code for c in user.kernel.executed] == ["x"]


async def test_a_burst_of_keys_is_taken_in_order(open_app):
    """A macro or a slow line sends many keys at once: each has its effect before the next one is looked at."""
    burst = ["enter", *"ab", "home", "c", "right", "d", "end", "e", "escape", "b", "enter", *"xy", "escape", "d", "d"]
    async with open_app("# %%\n\n") as user:
        for key in burst:
            user.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await user.settle(0.3)
        assert user.sources == ["cadbe"]


async def test_arrows_walk_from_cell_to_cell_while_writing(open_app):
    """Down on the last line goes to the next cell, and stays in the text."""
    async with open_app(THREE) as user:
        await user.press("enter", "down")
        assert user.screen.cells.index == 1 and user.screen.mode == "edit"
        await user.type("z")
        assert user.sources[1] == "zb = 2"
        await user.press("up")
        assert user.screen.cells.index == 0


async def test_go_to_line(open_app):
    """Ctrl+G asks for a line and puts the cursor there."""
    async with open_app("# %%\na\nb\nc\n") as user:
        await user.press("ctrl+g")
        await user.type("3\n")
        await user.settle()
        assert user.screen.pane.editor.cursor_location == (2, 0)


async def test_leaving_the_terminal_window_does_not_leave_the_text(open_app):
    """Coming back from another window, keys are still text and not commands on cells."""
    async with open_app() as user:
        await user.press("enter", "end")
        user.app.post_message(events.AppBlur())
        await user.settle()
        user.app.post_message(events.AppFocus())
        await user.settle()
        await user.type("dd")
        assert user.sources == ["x = 1dd"]


async def test_a_click_puts_the_cursor_into_the_text(open_app):
    """A click on a character opens the cell with the cursor before it."""
    async with open_app("# %%\nfirst = 1\nsecond = 2\n") as user:
        row = next(n for n, line in enumerate(user.text.split("\n")) if "second" in line)
        column = user.text.split("\n")[row].index("second")
        await user.pilot.click("#cells", offset=(column + 3, row))
        assert user.screen.pane.editor.cursor_location == (1, 3)
        await user.type("_")
        assert user.sources == ["first = 1\nsec_ond = 2"]


async def test_wide_characters_keep_the_cursor_right(open_app):
    """The terminal's own cursor, where input methods draw, stands behind wide characters."""
    async with open_app("# %%\ns = 1\n") as user:
        await user.press("enter", "end")
        before = user.app.cursor_position
        user.screen.pane.editor.insert("値段")
        await user.settle()
        assert user.sources == ["s = 1値段"]
        assert user.app.cursor_position.x == before.x + 4
        assert user.app.cursor_position.y == before.y


async def test_there_is_one_editor_however_many_cells(open_app):
    """300 cells open, scroll and take text with the same widgets as one cell has."""
    async with open_app() as user:
        few = len(user.screen.query("*"))
    text = "".join(f"# %%\nx{n} = {n}\nprint(x{n})\n\n" for n in range(300))
    async with open_app(text) as user:
        assert len(user.screen.notebook) == 300
        assert len(user.screen.query("*")) == few
        assert len(user.screen.query(TextArea)) == 1
        await user.press("G")
        assert "x299" in user.text
        await user.press("enter", "end")
        await user.type("0")
        assert user.sources[299].startswith("x299 = 2990\n")
        await user.press("escape", "g", "g", "enter")
        await user.type("y = 1\n")
        assert user.sources[0].startswith("y = 1\nx0 = 0")
