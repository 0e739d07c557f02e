"""Stories of running cells: outputs, errors, stopping, restarting, a kernel that dies. Some with the real kernel."""

from __future__ import annotations

import os
import signal

from tapescope.app.kernel import messages as m

TWO = "# %%\nprint('hello', 6 * 7)\n\n# %%\n1 / 0\n\n# %%\nprint('never')\n"


async def test_a_person_opens_edits_runs_and_sees_the_output(open_app):
    """The whole round with a real kernel: type, Ctrl+J, read."""
    async with open_app("# %%\n\n", real=True) as user:
        await user.press("enter")
        await user.type("x = 6\nprint('answer', x * 7)\nx")
        await user.press("ctrl+j")
        await user.sees("answer 42")
        await user.ready()
        assert "[1]" in user.text
        assert "│ 6" in user.text
        assert user.screen.mode == "edit", "running a cell does not take a person out of its text"


async def test_every_run_key_that_terminals_send_runs(open_app):
    """Ctrl+Enter, Ctrl+J, Shift+Enter, F5 and Alt+Enter send the cell, from both modes."""
    for key in ("ctrl+enter", "ctrl+j", "shift+enter", "f5", "alt+enter", "ctrl+\r"):
        for before in ((), ("enter",)):
            async with open_app() as user:
                await user.press(*before, key)
                assert [c.code for c in user.kernel.executed] == ["x = 1"], (key, before)


async def test_run_and_advance_goes_on_and_makes_room_at_the_end(open_app):
    """F5 selects the next cell; on the last one it makes a new one to write in."""
    async with open_app("# %%\na\n\n# %%\nb\n") as user:
        await user.press("f5")
        assert user.screen.cells.index == 1
        await user.press("f5")
        assert user.sources == ["a", "b", ""] and user.screen.mode == "edit"


async def test_an_error_stops_the_cells_that_wait_and_points_at_its_line(open_app):
    """Run all: what stands before the error ran, what stands after it did not, and says so."""
    async with open_app(TWO, real=True) as user:
        await user.press("ctrl+f5")
        await user.sees("ZeroDivisionError")
        await user.ready()
        assert "hello 42" in user.text
        assert "not run" in user.text
        row = next(line for line in user.text.split("\n") if "1 / 0" in line)
        assert "▸" in row


async def test_a_failure_out_of_sight_is_said_and_reached(open_app):
    """A far cell fails: a notice says where and why, the status line keeps it, E goes to the line."""
    text = "# %%\nx = 1\n" + "\n# %%\ny = 2\n" * 40 + "\n# %%\nz = 3\n1 / 0\n"
    async with open_app(text, real=True) as user:
        await user.ready()
        last = user.screen.notebook.cells[-1]
        user.screen.run_cells([last])
        await user.sees("idle, cell 42 failed (E)")
        assert "ZeroDivisionError: division by zero" in user.toasts() and "1 / 0" not in user.text
        await user.press("e")
        assert user.screen.cells.index == 41 and user.screen.pane.editor.cursor_location[0] == 1
        await user.press("escape", "k", "ctrl+j")
        await user.until(lambda: user.screen.session.runs[user.cell(40)].state == "ok")
        await user.sees("○ idle ")


async def test_what_an_error_says_is_taken_as_it_is(open_app):
    """A message that looks like markup is shown, not interpreted."""
    text = "# %%\nx = 1\n" + "\n# %%\ny = 2\n" * 40 + "\n# %%\nraise ValueError('[/b] [red]')\n"
    async with open_app(text, real=True) as user:
        await user.ready()
        user.screen.run_cells([user.screen.notebook.cells[-1]])
        await user.until(lambda: "ValueError: [/b] [red]" in user.toasts())
        assert not any(note.markup for note in user.app._notifications)


async def test_going_elsewhere_ends_the_following_of_a_cell_that_runs(open_app):
    """A cell is run, the person goes to the first one: what is printed does not pull the view back."""
    async with open_app("# %%\nx = 1\n" + "\n# %%\ny = 2\n" * 40) as user:
        await user.press("G", "ctrl+j")
        cell = user.cell(40)
        user.kernel.emit(m.Status("busy", cell), m.Stream(cell, "stdout", "one\n"))
        await user.sees("one")
        await user.press("g", "g")
        user.kernel.emit(m.Stream(cell, "stdout", "two\n" * 20))
        await user.settle(0.2)
        assert user.screen.pane.view.scroll_offset.y == 0


async def test_run_above_and_below(open_app):
    """The palette's commands run the cells above, or this one and those below."""
    async with open_app("# %%\na\n\n# %%\nb\n\n# %%\nc\n") as user:
        await user.press("j")
        user.screen.act("run_above")
        assert [c.code for c in user.kernel.executed] == ["a"]
        user.screen.act("run_below")
        assert [c.code for c in user.kernel.executed] == ["a", "b", "c"]


async def test_output_arrives_while_the_cell_runs(open_app):
    """What a cell prints is on the screen before the cell is done, and the status line counts the time."""
    async with open_app() as user:
        await user.press("ctrl+j")
        cell = user.cell(0)
        user.kernel.emit(m.Status("busy", cell), m.Stream(cell, "stdout", "step 1\n"))
        await user.sees("step 1")
        assert "[*]" in user.text and "running cell 1" in user.text
        user.kernel.emit(m.Stream(cell, "stdout", "step 2\n"), m.Executed(cell, "ok", 3, 1.5), m.Status("idle"))
        await user.sees("step 2")
        assert "[3]" in user.text and "1.5 s" in user.text and "idle" in user.text


async def test_a_progress_bar_rewrites_its_line(open_app):
    """Carriage returns overwrite, as on a terminal."""
    async with open_app() as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.run(cell, m.Stream(cell, "stderr", " 10%|#   |\r"), m.Stream(cell, "stderr", " 50%|##  |\r"))
        await user.sees(" 50%|##  |")
        assert "10%" not in user.text


async def test_a_display_is_updated_in_place(open_app):
    """A loss that is displayed again under its id moves where it stands, even after another cell was added above."""
    async with open_app() as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.emit(m.Status("busy", cell), m.DisplayData(cell, {"text/plain": "loss 2.30"}, {}, "d1"))
        await user.sees("loss 2.30")
        await user.press("a")
        user.kernel.emit(m.DisplayData(cell, {"text/plain": "loss 0.07"}, {}, "d1", update=True))
        await user.sees("loss 0.07")
        assert "2.30" not in user.text


async def test_stopping_has_three_steps_and_shows_them(open_app):
    """Interrupt; when that does nothing the line offers a forced restart, and when that does nothing, to kill."""
    now = [100.0]
    async with open_app() as user:
        session = user.screen.session
        session._clock = lambda: now[0]
        await user.press("ctrl+j")
        user.kernel.emit(m.Status("busy", user.cell(0)))
        await user.sees("running cell 1")
        await user.press("i", "i")
        assert user.kernel.calls[-1] == "interrupt"
        assert "interrupting" in user.text
        now[0] += 2.5
        await user.sees("forces a restart")
        await user.press("i", "i")
        assert user.kernel.calls[-1] == "force"
        now[0] += 2.5
        await user.sees("I I kills it")
        await user.press("i", "i")
        assert user.kernel.calls[-1] == "kill"
        user.kernel.emit(m.Died(None, -9, "The kernel was killed.", "Press 0 0 to restart it."))
        await user.sees("The kernel was killed.")
        await user.press("0", "0")
        assert user.kernel.calls[-1] == "start"
        await user.sees("idle")
        assert user.sources == ["x = 1"]


async def test_a_loop_without_end_is_interrupted(open_app):
    """I I stops a busy loop of a real kernel, and the next cell runs."""
    async with open_app("# %%\nprint('began')\nwhile True: pass\n\n# %%\nprint('still', 'here')\n", real=True) as user:
        await user.press("f5")
        await user.sees("running cell 1")
        await user.until(lambda: "│ began" in user.text)
        await user.press("i", "i")
        await user.sees("KeyboardInterrupt")
        await user.press("ctrl+j")
        await user.sees("still here")


async def test_a_kernel_killed_in_a_cell_leaves_the_document_as_it_was(open_app):
    """kill -9 in the middle of a cell: a sentence says so, nothing typed is lost, 0 0 gives a new kernel."""
    async with open_app(
        "# %%\nimport time; print('began'); time.sleep(600)\n\n# %%\nprint(40 + 2)\n", real=True
    ) as user:
        await user.press("j", "enter", "end")
        await user.type(" # typed before")
        await user.press("escape", "k", "ctrl+j")
        await user.until(lambda: "│ began" in user.text)
        before = user.sources
        os.kill(user.screen.session.kernel.process, signal.SIGKILL)
        await user.until(lambda: user.screen.session.info.state == "dead", "the death noticed")
        await user.sees("0 0")
        assert user.sources == before and before[1].endswith("# typed before")
        await user.press("ctrl+j")
        assert "not running" in user.toasts()
        await user.press("0", "0")
        await user.ready()
        await user.press("j", "ctrl+j")
        await user.sees("│ 42")


async def test_restart_forgets_the_variables_and_keeps_the_cells(open_app):
    """After 0 0 a name is unknown; restart and run all defines it again."""
    async with open_app("# %%\nvalue = 5\n\n# %%\nprint('value', value)\n", real=True) as user:
        await user.press("ctrl+f5")
        await user.sees("value 5")
        await user.press("0", "0", "j", "ctrl+j")
        await user.sees("NameError")
        user.screen.act("restart_run_all")
        await user.until(lambda: "│ value 5" in user.text and "NameError" not in user.text)


async def test_a_cell_may_ask_for_input(open_app):
    """`input()` opens a line to answer in; the cell gets the answer."""
    async with open_app("# %%\nprint('hello', input('Your name? '))\n", real=True) as user:
        await user.press("ctrl+j")
        await user.sees("asks for input")
        await user.type("Ada\n")
        await user.sees("hello Ada")
        assert "Your name? Ada" in user.text  # as a terminal would show it


async def test_names_are_completed_from_the_kernel(open_app):
    """Tab after a dot offers names; typing narrows them, Enter takes one."""
    async with open_app("# %%\nword = 'abc'\n\n# %%\n\n", real=True) as user:
        await user.press("f5", "enter")
        await user.type("word.is")
        await user.press("tab")
        await user.sees("isalpha")
        await user.type("d")
        await user.until(lambda: "isalpha" not in user.text)
        await user.press("down", "enter")
        assert user.sources[1] in ("word.isdecimal", "word.isdigit")


async def test_tab_at_the_start_of_a_line_indents(open_app):
    """Tab completes only where there is a name to complete."""
    async with open_app("# %%\n\n") as user:
        await user.press("enter", "tab")
        assert user.sources == ["    "]


async def test_documentation_of_the_name_at_the_cursor(open_app):
    """Shift+Tab shows what a function is for; Esc goes back to the text."""
    async with open_app("# %%\nsorted\n", real=True) as user:
        await user.ready()
        await user.press("enter", "end", "shift+tab")
        await user.sees("ascending")
        await user.press("escape")
        await user.until(lambda: user.screen.mode == "edit" and user.app.screen is user.screen)


async def test_variables_are_listed_after_a_cell(open_app):
    """The panel's second tab names what the cells defined."""
    async with open_app("# %%\nanswer = 42\nword = 'tape'\n", real=True) as user:
        await user.press("ctrl+j")
        await user.ready()
        await user.press("n")
        await user.sees("answer")
        assert "word" in user.text and "'tape'" in user.text and "2 variables" in user.text


async def test_a_cell_deleted_while_it_waits_harms_nothing(open_app):
    """Events that name a cell which is gone are let go."""
    async with open_app("# %%\na\n\n# %%\nb\n") as user:
        gone = user.cell(0)
        await user.press("ctrl+j", "d", "d")
        user.kernel.run(gone, m.Stream(gone, "stdout", "late\n"), m.ExecuteResult(gone, 1, {"text/plain": "late"}))
        await user.settle()
        assert "late" not in user.text and user.screen.session.idle
