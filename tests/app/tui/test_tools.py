"""Stories of what stands beside the cells: search, the six tabs, costs, steps, hints, themes, keys, documents."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tapescope.app.kernel import messages as m
from tapescope.app.tui.keymap_file import describe, load_keymap

TRAIN = """# %%
import torch
from torch import nn
torch.manual_seed(0)
x, y = torch.randn(8, 3), torch.randn(8)
net = nn.Linear(3, 1)

# %%
loss = ((net(x) - y) ** 2).mean()
loss.backward()
"""

BREAK = {
    "function": "step", "segment": "0", "break_id": "data_dependent_branch", "category": "branch",
    "reason": "a branch depends on the value of a tensor", "hint": "Use torch.where.", "values": [],
    "source": {"file": "<cell x>", "line": 2, "end_line": 2, "column": 0, "end_column": 4, "function": "step"},
}  # fmt: skip
GUARD = {
    "function": "step", "segment": "1", "guard": "x.shape[0] == 8", "old": "8", "new": "9", "source": None,
    "dimension": ["x", 0],
}  # fmt: skip
KERNEL = {
    "id": "0", "name": "k0_add_mul", "language": "wgsl", "text": "@compute fn main() { let a = 1.0; }", "nodes": ["add", "mul"],
    "segment": "0", "tape": [], "sources": [], "lines": [[1, ["add"]]], "launch": {"grid": [1, 1, 1], "block": [64, 1, 1]},
    "inputs": [{"name": "x", "shape": [8], "dtype": "float32"}], "outputs": [], "bytes": 64, "operations": 8,
    "seconds": 1e-5, "ceiling": 5e-6, "launches": 3,
    "tuned": {"chosen": "tiling 2", "tried": [{"choice": "usual", "seconds": 2e-5}, {"choice": "tiling 2", "seconds": 1e-5}]},
}  # fmt: skip


def captures(cell):
    """What a kernel tells of one compiled function with a break, a recompilation and a kernel in that cell."""
    place = {**BREAK["source"], "cell": cell, "revision": 0}
    node = {"name": "add", "source": {**place, "line": 3, "end_line": 3}}
    segment = {
        "id": "0", "entry": {"function": "step", "source": place}, "backend": "default", "inputs": [], "nodes": [node],
        "outputs": [], "guards": [], "effects": [], "exit": {"kind": "break", "break": None, "next": []}, "code": "",
        "seconds": 0.1, "calls": 1,
        "kernels": {"version": 1, "device": "webgpu", "kernels": [{**KERNEL, "sources": [place]}], "refused": []},
    }  # fmt: skip
    other = {**segment, "id": "1", "kernels": None}
    capture = {"version": 1, "function": "step", "source": place, "segments": [segment, other], "recompiles": []}
    return m.Captures(cell, [capture], [{**BREAK, "source": place, "count": 2}], [GUARD])


async def test_after_a_search_enter_writes_at_the_find(open_app):
    """Ctrl+F, a word, Esc, Enter: the cursor stands at the find, and comes back there when the cell is opened again."""
    async with open_app("# %%\nalpha = 1\nbeta = 2\ngamma = beta\n\n# %%\nx\n") as user:
        await user.press("ctrl+f")
        await user.type("gamma = b")
        await user.sees("1 of 1")
        await user.press("escape", "enter")
        assert user.screen.mode == "edit" and user.screen.pane.editor.cursor_location == (2, 0)
        await user.press("right", "escape", "j", "k", "enter")
        assert user.screen.pane.editor.cursor_location == (2, 1)


async def test_text_is_found_and_replaced_in_all_cells(open_app):
    """Ctrl+F, a word, Enter goes from find to find; Tab, a new word, Alt+A replaces all; Z undoes it."""
    async with open_app("# %%\nalpha = 1\n\n# %%\nbeta = alpha\n") as user:
        await user.press("ctrl+f")
        await user.type("alpha")
        await user.sees("1 of 2")
        await user.press("enter")
        await user.sees("2 of 2")
        assert user.screen.cells.index == 1
        await user.press("tab")
        await user.type("gamma")
        await user.press("alt+a")
        await user.sees("2 replaced in 2 cells")
        assert user.sources == ["gamma = 1", "beta = gamma"]
        await user.press("escape", "z")
        assert user.sources == ["alpha = 1", "beta = alpha"] and user.screen.mode == "command"


async def test_finds_are_replaced_one_by_one(open_app):
    """Enter in the second line replaces this find and goes on; what was put in is not found again."""
    async with open_app("# %%\na a a\n") as user:
        await user.press("F")
        await user.type("a")
        await user.press("tab")
        await user.type("aa")
        await user.press("enter", "enter")
        assert user.sources == ["aa aa a"]


async def test_a_wrong_expression_is_told_while_it_is_typed(open_app):
    """Alt+R turns regular expressions on; half of one is no accident."""
    async with open_app("# %%\nx1 = x2\n") as user:
        await user.press("ctrl+f", "alt+r")
        await user.type("x(")
        await user.sees("no regular expression")
        await user.press("backspace")
        await user.type(r"\d")
        await user.sees("1 of 2")


async def test_search_from_the_text_goes_back_into_the_text(open_app):
    """Ctrl+F while writing, Esc: the cursor is at the find."""
    async with open_app("# %%\none\ntwo\nthree\n") as user:
        await user.press("enter", "ctrl+f")
        await user.type("three")
        await user.press("escape")
        assert user.screen.mode == "edit" and user.screen.pane.editor.cursor_location == (2, 0)


async def test_run_all_follows_the_running_cell(open_app):
    """The cell that runs is on the screen, until a person goes somewhere else."""
    text = "\n".join(f"# %%\nstep_{n}\n" + "\n" * 8 for n in range(12))
    async with open_app(text) as user:
        await user.press("ctrl+f5")
        for n in range(8):
            cell = user.cell(n)
            user.kernel.run(cell, m.Stream(cell, "stdout", f"output {n}\n"), count=n + 1)
        await user.sees("output 7")
        await user.press("g", "g")
        cell = user.cell(8)
        user.kernel.run(cell, m.Stream(cell, "stdout", "output 8\n"), count=9)
        await user.settle()
        assert "step_0" in user.text and "output 8" not in user.text


async def test_waiting_cells_show_their_place_and_can_be_cancelled(open_app):
    """The queue is seen in the cells; I X takes one out, I Q all."""
    async with open_app("# %%\na\n\n# %%\nb\n\n# %%\nc\n") as user:
        await user.press("ctrl+f5")
        user.kernel.emit(m.Status("busy", user.cell(0)))
        await user.sees("number 2 in line")
        await user.press("j", "i", "x")
        await user.settle()
        assert user.screen.session.waiting == 1 and "not run" in user.text
        await user.press("i", "q")
        await user.settle()
        assert user.screen.session.waiting == 0 and user.screen.session.running is not None


async def test_the_reason_of_a_death_stays_in_the_cell(open_app):
    """Long after the notice is gone, the cell says why the kernel died."""
    async with open_app() as user:
        await user.press("ctrl+j")
        user.kernel.emit(m.Status("busy", user.cell(0)))
        user.kernel.emit(m.Died(user.cell(0), -9, "Memory ran out.", "Use smaller batches."))
        await user.until(lambda: "Memory ran out." in user.text and "Use smaller batches." in user.text)
        assert user.screen.notebook.cells[0].outputs[0]["ename"] == "KernelDied"


async def test_a_traceback_leads_to_its_lines(open_app):
    """E goes to the line that failed, E again to the line that called it; a click on a frame does the same."""
    async with open_app("# %%\ndef f(x):\n    return 1 / x\n\n# %%\n\nf(0)\n", real=True) as user:
        await user.press("f5", "f5")
        await user.sees("ZeroDivisionError")
        await user.ready()
        await user.press("escape", "k", "e")
        assert (user.screen.cells.index, user.screen.pane.editor.cursor_location[0]) == (0, 1)
        await user.press("escape", "e")
        assert user.screen.cells.index == 1
        await user.press("escape")
        row = next(n for n, line in enumerate(user.text.split("\n")) if "In[1], line 2" in line)
        await user.pilot.click(offset=(14, row))
        await user.pilot.pause()
        assert user.screen.mode == "edit" and user.screen.cells.index == 0


async def test_hints_stand_under_the_cell_and_lead_to_the_line(open_app):
    """A forgotten squeeze is told after the run; I H hides such hints."""
    async with open_app(TRAIN, real=True) as user:
        await user.press("ctrl+f5")
        await user.sees("[8, 1] with [8] makes [8, 8]")
        await user.ready()
        await user.press("i", "h")
        await user.until(lambda: "makes [8, 8]" not in user.text)


async def test_costs_stand_beside_the_code(open_app):
    """$ shows what each line took, backward charged to the forward line, and measures everything from then on."""
    async with open_app(TRAIN, real=True, size=(160, 40)) as user:
        await user.press("ctrl+f5")
        await user.ready()
        await user.press("$")
        await user.until(lambda: "↩" in next(row for row in user.text.split("\n") if "** 2" in row))
        assert user.screen.session.last_costs["complete"]
        await user.press("$")
        await user.until(lambda: "↩" not in user.text)


async def test_a_run_can_be_stepped_through(open_app):
    """S opens the steps; the arrows go forward and back and light up the line, B goes to backward, Esc ends."""
    async with open_app(TRAIN, real=True, size=(160, 40)) as user:
        await user.press("ctrl+f5")
        await user.ready()
        await user.press("s")
        await user.sees("→ forward")
        assert user.screen.mode == "steps"
        await user.press("end", "home", "right", "b")
        await user.sees("↩ backward")
        assert user.screen.pane.view._linked, "the line is lit"
        await user.press("escape")
        await user.until(lambda: user.screen.mode == "command")


async def test_the_graph_is_drawn_and_linked(open_app):
    """P G shows boxes; Enter on one goes to its line."""
    async with open_app(TRAIN, real=True, size=(160, 50)) as user:
        await user.press("ctrl+f5")
        await user.ready()
        await user.press("p", "g")
        await user.sees("╭")
        await user.until(lambda: user.screen.inspector.graph.browsed is not None)
        await user.press("end", "enter")
        await user.until(lambda: user.screen.mode == "edit")
        assert user.screen.cells.index == 1


async def test_breaks_are_a_list_of_things_to_do(open_app):
    """Each break once with its line, cause and rewrite; a recompilation with the two sizes."""
    async with open_app("# %%\ndef step(x):\n    if x: pass\n", size=(200, 40)) as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.run(cell, captures(cell))
        await user.press("p", "b")
        await user.sees("a branch depends on the value of a tensor")
        assert "2 to do" in user.text and "2×" in user.text and "Use torch.where." in user.text
        assert "capturing them took 200 ms" in user.screen.inspector.breaks.fixes[0]["cost"]
        await user.press("down")
        await user.sees("it was 8 when captured, and is 9 now")
        await user.press("m")  # no call is known to which a line could be written
        await user.until(lambda: "mark_dynamic(x, 0) is on the clipboard" in user.toasts())
        await user.press("up", "enter")
        assert user.screen.mode == "edit" and user.screen.pane.editor.cursor_location[0] == 1


async def test_kernels_are_listed_with_time_and_source(open_app):
    """P K lists launches; Enter opens the source, whose lines are linked to the cell's, too; Y copies it."""
    async with open_app("# %%\ndef step(x):\n    if x: pass\n    return x + 1\n", size=(160, 40)) as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.run(cell, captures(cell))
        await user.press("p", "k")
        await user.sees("k0_add_mul")
        assert "50% of what the device can" in user.text and "30.0 µs" in user.text
        assert "tiling 2; tried: usual 20.0 µs, tiling 2 10.0 µs" in user.text
        assert user.screen.pane.view._linked == {cell: range(1, 2)}
        await user.press("y")
        assert user.app.clipboard.startswith("@compute")
        await user.press("enter")
        await user.sees("◂ add")
        await user.press("down")
        assert user.screen.pane.view._linked == {cell: range(2, 3)}, (
            "the line of the source leads to the line of its node"
        )
        await user.press("escape", "enter", "down", "down")
        await user.until(lambda: user.screen.inspector.kernels._marked == {1})


async def test_variables_show_histograms_nan_and_what_is_stale(open_app):
    """A tensor with NaN is marked; what was computed before an edit or a change is stale."""
    async with open_app("# %%\na = 1\n") as user:
        cell = user.cell(0)
        facts = {"shape": [3], "dtype": "float32", "device": "cpu", "bytes": 12, "requires_grad": False}
        await user.press("ctrl+j")
        user.kernel.run(cell, m.Variables([
            {"name": "bad", "type": "Tensor", "value": "", **facts, "nan": 2, "low": 0.0, "high": 1.0, "histogram": [1, 0, 8]},
            {"name": "old", "type": "int", "value": "1", "cell": cell, "revision": 0, "stale": "bad changed since."},
            {"name": "new", "type": "int", "value": "2", "cell": cell, "revision": 0},
        ]))  # fmt: skip
        await user.press("n")
        await user.sees("2 NaN")
        rows = {
            name: next(r for r in user.text.split("\n") if f" {name} " in r or f"{name} " in r)
            for name in ("bad", "old")
        }
        assert "!bad" in rows["bad"].replace("│", "") and "█" in rows["bad"] and "◦old" in rows["old"]
        await user.press("escape", "enter", "end")
        await user.type("0")
        await user.press("escape", "n", "end")
        await user.sees("edited since it ran")


async def test_the_device_tab_switches_the_device(open_app):
    """P D lists the devices with memory and time; Enter on one switches to it."""
    async with open_app() as user:
        await user.press("p", "d")
        assert any(isinstance(c, m.AskDevice) and c.switch is None for c in user.kernel.sent)
        user.kernel.emit(
            m.DeviceInfo({"device": "cpu", "devices": ["cpu", "webgpu"], "facts": [["pool", "3 MiB"]], "error": ""})
        )
        await user.sees("webgpu")
        assert "3 MiB" in user.text
        await user.press("down", "down", "enter")
        assert user.kernel.sent[-1] == m.AskDevice("webgpu")
        await user.press("escape", "0", "0")
        assert user.kernel.sent[-2:] == [m.AskDevice("webgpu")] * 2, "a new kernel is told, too"
        user.kernel.emit(m.Ready("3.11", "tapescope", "cpu", 2))
        user.kernel.emit(m.DeviceInfo({"device": "cpu", "devices": [], "facts": [], "error": "No adapter was found."}))
        await user.until(lambda: "No adapter was found." in user.toasts())


async def test_a_theme_is_seen_while_it_is_chosen_and_kept(open_app):
    """Moving in the list shows each theme; Esc goes back, Enter keeps it for the next start."""
    async with open_app() as user:
        user.screen.act("pick_theme")
        await user.pilot.pause()
        await user.press("down")
        assert user.app.theme != "tapescope-dark"
        await user.press("escape")
        assert user.app.theme == "tapescope-dark"
        user.screen.act("pick_theme")
        await user.pilot.pause()
        await user.type("contrast")
        await user.press("enter")
    async with open_app() as user:
        assert user.app.theme == "tapescope-contrast"


async def test_keys_of_ones_own_take_the_place_of_the_usual_ones(open_app, tmp_path: Path):
    """The file gives a key to an action and takes one away; what is wrong in it is told and the rest counts."""
    folder = tmp_path / "config"
    folder.mkdir(exist_ok=True)
    (folder / "keys.toml").write_text(
        '[command]\n"ctrl+t" = "insert_below"\n"b" = ""\n"q" = "no_such"\n[nowhere]\n"x" = "run"\n'
    )
    async with open_app() as user:
        assert "no action 'no_such'" in user.toasts() and "[nowhere] is no mode" in user.toasts()
        await user.press("b")
        assert len(user.sources) == 1
        assert "Ctrl+T Insert" in user.text, "the line of hints knows"
        await user.press("ctrl+t")
        assert len(user.sources) == 2
        await user.press("f1")
        await user.sees("Ctrl+T")


def test_a_damaged_key_file_leaves_the_usual_keys(tmp_path: Path):
    path = tmp_path / "keys.toml"
    path.write_text("[command\n")
    keymap, said = load_keymap(path)
    assert "no TOML" in said[0] and keymap.action("command", "b") == "insert_below"
    path.write_text('[command]\n"d" = "delete"\n"d x" = "cut"\n')
    assert "begins a sequence" in load_keymap(path)[1][0]
    assert ("command", "begins D D") in describe("d", keymap)


async def test_the_key_tester_says_what_a_key_means(open_app):
    """What was pressed is named, with its meaning in each mode; nothing is carried out."""
    async with open_app() as user:
        user.screen.act("key_tester")
        await user.press("b", "ctrl+s")
        await user.sees("Insert a cell below")
        assert len(user.sources) == 1
        await user.press("escape", "escape")
        assert user.app.screen is user.screen


async def test_another_notebook_is_opened_and_found_again(open_app, tmp_path: Path):
    """Ctrl+O chooses from the folder; unsaved work is asked about; “Open recent” leads back."""
    (tmp_path / "other.py").write_text("# %%\nother = 1\n")
    async with open_app() as user:
        first = user.screen
        await user.press("enter")
        await user.type("z")
        await user.press("escape", "ctrl+o")
        await user.sees("other.py")
        await user.press("tab")
        user.app.screen.query_one("Input").focus()
        await user.type("other.py\n")
        await user.sees("Unsaved changes")
        await user.press("s")
        await user.sees("other = 1")
        assert user.screen is not first and "close" in first.session.kernel.calls
        assert (tmp_path / "lesson.py").read_text().startswith("# %%\nzx = 1")
        user.screen.act("recent")
        await user.sees("lesson.py")
        await user.press("enter")
        await user.sees("zx = 1")


async def test_a_new_notebook_comes_from_a_template(open_app):
    """Ctrl+N lists the templates with a look at each."""
    async with open_app() as user:
        await user.press("ctrl+n")
        await user.sees("Model")
        await user.press("down")
        await user.sees("class Model")
        await user.press("enter")
        await user.until(lambda: user.screen.notebook.path is None and len(user.sources) > 3)


async def test_a_file_that_changes_on_disk_is_noticed_and_can_be_taken_over(open_app, tmp_path: Path):
    """The notice comes by itself; Ctrl+R shows the difference, and Z brings back what was there."""
    async with open_app("# %%\nx = 1\n\n# %%\ny = 2\n") as user:
        path = user.screen.notebook.path
        path.write_text("# %%\nx = 100\n\n# %%\ny = 2\n")
        os.utime(path, (1, 1))
        user.screen.documents._next_look = 0
        user.screen._tick()
        await user.sees("changed on disk")
        await user.press("ctrl+r")
        await user.sees("+x = 100")
        await user.press("l")
        await user.until(lambda: user.sources == ["x = 100", "y = 2"])
        assert not user.screen.keeper.unsaved
        await user.press("z")
        assert user.sources == ["x = 1", "y = 2"] and user.screen.keeper.unsaved


async def test_an_earlier_generation_comes_back_as_a_step_of_undo(open_app):
    """What the file held before a save is listed with what it would change."""
    async with open_app() as user:
        await user.press("enter", "end")
        await user.type("23")
        await user.press("ctrl+s", "escape")
        user.screen.act("generations")
        await user.sees("+x = 1")
        await user.press("enter")
        await user.until(lambda: user.sources == ["x = 1"])
        await user.press("z")
        assert user.sources == ["x = 123"]


async def test_the_notebook_is_exported(open_app, tmp_path: Path):
    """“Export” asks for a file and writes it in the form its suffix says."""
    async with open_app() as user:
        user.screen.act("export")
        await user.pilot.pause()
        field = user.app.screen.query_one("Input")
        field.value = str(tmp_path / "out.md")
        await user.press("enter")
        await user.until(lambda: (tmp_path / "out.md").exists())
        assert "```python\nx = 1\n```" in (tmp_path / "out.md").read_text()


async def test_the_tour_names_keys_that_exist(open_app):
    """Each page turns with Enter and the last one closes."""
    async with open_app() as user:
        user.screen.act("tour")
        await user.sees("Welcome to Tapescope")
        assert "Enter" in user.text and "D D" in user.text
        for title in ("Running cells", "Seeing what happens", "Finding things", "Keeping your work"):
            await user.press("enter")
            await user.sees(title)
        await user.press("enter")
        assert user.app.screen is user.screen


@pytest.mark.parametrize("size", [(80, 24), (60, 18)])
async def test_everything_fits_on_a_small_terminal(open_app, size):
    """80x24: search, steps, tabs and pickers leave something of the notebook on the screen."""
    async with open_app(TRAIN, size=size, real=True) as user:
        await user.press("ctrl+f5")
        await user.ready()
        await user.press("s")
        await user.sees("forward")
        await user.press("escape", "ctrl+f")
        await user.type("net")
        await user.sees("2 of 2")
        assert "COMMAND" in user.text or "FIND" in user.text
        await user.press("escape", "p", "g")
        await user.settle()
        assert "Graph" in user.text
        await user.press("escape", "$")
        await user.settle()
        assert "loss" in user.text


async def test_a_panel_that_cannot_be_drawn_leaves_the_notebook(open_app, monkeypatch):
    """A mistake in a table is said once; cells run on."""
    async with open_app() as user:
        cell = user.cell(0)
        monkeypatch.setattr(user.screen.inspector.breaks, "take", lambda *facts: 1 / 0)
        await user.press("ctrl+j")
        user.kernel.run(cell, m.Stream(cell, "stdout", "printed\n"), captures(cell), count=4)
        await user.sees("printed")
        await user.until(lambda: "ZeroDivisionError" in user.toasts())
        assert "[4]" in user.text


async def test_measuring_goes_on_in_a_new_kernel(open_app):
    """A restart does not turn the costs off."""
    async with open_app() as user:
        await user.press("$")
        assert user.kernel.sent[-1] == m.Observe(costs=True)
        user.kernel.sent.clear()
        await user.press("0", "0")
        assert user.kernel.sent == [m.Observe(costs=True)]


async def test_an_opening_bracket_shows_what_the_call_takes(open_app):
    """The line of hints shows the signature while it is written, and the hints again when the bracket closes."""
    async with open_app("# %%\n\n", real=True) as user:
        await user.ready()
        await user.press("enter")
        await user.type("sorted")
        await user.press("left_parenthesis")
        await user.sees("sorted(iterable, /, *, key=None, reverse=False)")
        await user.press("right_parenthesis")
        await user.until(lambda: "reverse=False" not in user.text)
        assert user.sources == ["sorted()"]


async def test_a_notebook_that_saves_itself(open_app):
    """Half a minute after a change, and never over what another program wrote."""
    now = [100.0]
    async with open_app() as user:
        user.screen._clock = lambda: now[0]
        user.screen.act("autosave")
        await user.press("enter")
        await user.type("y")
        user.screen._tick()
        now[0] += 31
        user.screen._tick()
        path = user.screen.notebook.path
        assert "yx = 1" in path.read_text() and not user.screen.keeper.unsaved
        await user.type("z")
        path.write_text("# %%\ntheirs\n")
        for _ in range(3):
            now[0] += 31
            user.screen._tick()
        assert "theirs" in path.read_text() and user.screen.keeper.unsaved


async def test_details_of_a_row_can_be_read_on_a_small_screen(open_app):
    """80x24: the panel has no room below its rows; D shows what it would say there, P K goes on to another tab."""
    async with open_app("# %%\ndef step(x):\n    if x: pass\n", size=(80, 24)) as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.run(cell, captures(cell))
        await user.press("p", "b")
        await user.sees("2 to do")
        assert "Use torch.where." not in user.text
        await user.press("d")
        await user.sees("Use torch.where.")
        await user.press("escape", "p", "k")
        assert user.screen.inspector.tab == "kernels" and user.screen.mode == "inspector"
