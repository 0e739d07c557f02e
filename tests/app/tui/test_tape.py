"""Stories of the panel: the tape appears row by row and is linked with the cells both ways."""

from __future__ import annotations

from typing import Any

from tapescope.app.kernel import messages as m

MODEL = """# %%
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
x = torch.ones(2, 4)

# %%
y = net(x)
loss = y.sum()
loss.backward()
"""

CELL = "# %%\na = f(x)\nb = g(a)\nc = h(b)\n"


def node(
    number: int, op: str, cell: str, line: int, *, module: str = "", inputs: tuple[int, ...] = (), revision: int = 0
):
    """One node of a snapshot, as the kernel sends it."""
    return {
        "id": number, "kind": "op", "op": op, "name": op.title() + "Backward0", "label": "", "inputs": list(inputs),
        "outputs": [{"shape": [2, number % 7 + 1], "dtype": "float32", "device": "cpu"}], "module": module,
        "source": {"file": f"<cell {cell}:{revision}>", "line": line, "end_line": line, "column": 4, "end_column": 8,
                   "function": "", "cell": cell, "revision": revision},
        "saved": [], "grad": None,
    }  # fmt: skip


def snapshot(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    return {"version": 1, "roots": [nodes[-1]["id"]], "nodes": nodes, "dropped": 0}


def turn(cell: str, first: int) -> dict[str, Any]:
    """The tape of one turn of a loop: the same three operators with new numbers."""
    return snapshot(
        [
            node(first, "sin", cell, 1),
            node(first + 1, "mul", cell, 2, module="net.fc", inputs=(first,)),
            node(first + 2, "sum", cell, 3, inputs=(first + 1,)),
        ]
    )


def row_of(text: str, word: str) -> str:
    return next(line for line in text.split("\n") if word in line)


async def test_the_tape_of_a_model_appears_beside_the_cells(open_app):
    """With the real kernel: operators, shapes, modules and lines of a small network."""
    async with open_app(MODEL, real=True) as user:
        await user.press("ctrl+f5")
        await user.sees("relu")
        await user.ready()
        row = row_of(user.text, "relu")
        assert "[2, 3]" in row and "[2]:1" in row
        assert "sum" in user.text and "operations" in user.text
        await user.press("t")
        tape = user.screen.inspector.tape
        await user.press(*["down"] * (tape.count - 1))
        assert row_of(user.text, "loss = y.sum()").lstrip("▌ ").startswith("▸")


async def test_rows_have_operator_shape_module_and_line(open_app):
    """Every fact of a node stands in its row."""
    async with open_app(CELL) as user:
        user.kernel.emit(m.Tape(user.cell(0), turn(user.cell(0), 1)))
        await user.sees("mul")
        row = row_of(user.text, "mul")
        assert "[2, 3]" in row and "net.fc" in row and ":2" in row


async def test_selecting_a_node_moves_to_its_line(open_app):
    """Down in the tape highlights the line that recorded the node; Enter puts the cursor there."""
    async with open_app(CELL + "\n# %%\nother\n") as user:
        user.kernel.emit(m.Tape(user.cell(0), turn(user.cell(0), 1)))
        await user.press("G", "t")
        await user.sees("sum")
        await user.press("end")
        assert user.screen.cells.index == 0
        assert "▸" in row_of(user.text, "c = h(b)") and "▸" not in row_of(user.text, "a = f(x)").split("│")[0]
        await user.press("enter")
        assert user.screen.mode == "edit"
        assert user.screen.pane.editor.cursor_location == (2, 4)


async def test_a_line_of_code_marks_its_nodes(open_app):
    """Moving the cursor in the text marks the nodes that its line recorded."""
    async with open_app(CELL) as user:
        user.kernel.emit(m.Tape(user.cell(0), turn(user.cell(0), 1)))
        await user.press("enter", "down")
        await user.until(lambda: "▸" in row_of(user.text, "mul"))
        assert "▸" not in row_of(user.text, "sin") and "▸" not in row_of(user.text, " sum")
        await user.press("down")
        assert "▸" in row_of(user.text, " sum") and "▸" not in row_of(user.text, "mul")


async def test_links_follow_an_edit(open_app):
    """A line added above moves the link along; a line that was changed has none."""
    async with open_app(CELL) as user:
        cell = user.cell(0)
        await user.press("ctrl+j")
        user.kernel.run(cell, m.Tape(cell, turn(cell, 1)))
        await user.sees("mul")
        await user.press("enter")
        await user.type("# new\n")
        assert user.sources[0].startswith("# new\na = f(x)")
        await user.press("down")
        assert "▸" in row_of(user.text, "mul"), "line 3 now is line 2 of what ran"
        await user.press("escape", "t", "end")
        assert row_of(user.text, "c = h(b)").lstrip("▌ ").startswith("▸")
        await user.press("enter", "end")
        await user.type("+1")
        await user.press("escape", "t", "end")
        assert not row_of(user.text, "c = h(b)+1").lstrip("▌ ").startswith("▸")
        assert "edited" in user.toasts()


async def test_a_live_tape_keeps_the_place_of_the_reader(open_app):
    """While a loop runs the numbers of the nodes change, the chosen row and the scrolling do not."""
    async with open_app(CELL, size=(120, 20)) as user:
        cell = user.cell(0)
        many = [node(n, f"op{n}", cell, 1, inputs=(n - 1,) if n > 1 else ()) for n in range(1, 60)]
        user.kernel.emit(m.Status("busy", cell), m.Tape(cell, snapshot(many), live=True))
        await user.sees("op5")
        await user.press("t", *["down"] * 30)
        tape = user.screen.inspector.tape
        chosen, top = tape.row_at(tape.cursor).operator, tape.scroll_offset.y
        assert top > 0
        for round_ in range(1, 4):
            shift = 100 * round_
            many = [node(n + shift, f"op{n}", cell, 1, inputs=(n + shift - 1,) if n > 1 else ()) for n in range(1, 60)]
            user.kernel.emit(m.Tape(cell, snapshot(many), live=True))
            await user.until(lambda: tape.row_at(0).node_id == 1 + shift or tape.catch_up())  # noqa: B023
        assert tape.row_at(tape.cursor).operator == chosen
        assert tape.scroll_offset.y == top
        assert "live" in user.text
        user.kernel.emit(m.Tape(cell, snapshot(many)), m.Executed(cell, "ok", 1, 1.0), m.Status("idle"))
        await user.until(lambda: "live" not in user.text)


async def test_modules_fold_and_stay_folded(open_app):
    """Left closes a module of the tape; the next tape comes with it closed."""
    async with open_app(CELL) as user:
        cell = user.cell(0)

        def tape(first: int) -> m.Tape:
            names = ("lin", "act", "out")
            nodes = [
                node(first + n, op, cell, 1, module="net", inputs=(first + n - 1,) if n else ())
                for n, op in enumerate(names)
            ]
            return m.Tape(cell, snapshot([*nodes, node(first + 3, "loss", cell, 3, inputs=(first + 2,))]))

        user.kernel.emit(tape(1))
        await user.sees("act")
        await user.press("t", "home", "left")
        assert "act" not in user.text and "3 nodes" in user.text
        user.kernel.emit(tape(11))
        await user.settle()
        assert "act" not in user.text and "loss" in user.text
        await user.press("home", "right")
        assert "act" in user.text


async def test_a_node_of_a_deleted_cell_is_no_trap(open_app):
    """Its row stays readable and choosing it changes nothing."""
    async with open_app(CELL + "\n# %%\nother\n") as user:
        user.kernel.emit(m.Tape(user.cell(0), turn(user.cell(0), 1)))
        await user.sees("mul")
        await user.press("d", "d", "t", "down", "enter")
        assert user.sources == ["other"] and "deleted" in user.text


async def test_a_broken_tape_says_what_is_wrong_with_it(open_app):
    """Nonsense from a kernel is named in the panel, and the app lives."""
    async with open_app(CELL) as user:
        user.kernel.emit(m.Tape(user.cell(0), {"version": 999, "nodes": "nonsense"}))
        await user.settle()
        await user.press("t", "down")
        assert user.app.is_running


async def test_ten_thousand_nodes_open_and_scroll(open_app):
    """A large tape is painted only where it is seen."""
    async with open_app(CELL) as user:
        cell = user.cell(0)
        many = [node(n, f"op{n % 97}", cell, n % 3 + 1, inputs=(n - 1,) if n > 1 else ()) for n in range(1, 10_001)]
        user.kernel.emit(m.Tape(cell, snapshot(many)))
        await user.sees("op1")
        painted = []
        tape = user.screen.inspector.tape
        original = tape.row
        tape.row = lambda *args: (painted.append(args[0]), original(*args))[1]
        await user.press("t", "end")
        assert 0 < len(set(painted)) < 300


async def test_the_panel_hides_grows_and_goes_below(open_app):
    """F2 hides it, < and > resize it, a narrow screen has it under the cells."""
    async with open_app(size=(120, 30)) as user:
        panel, pane = user.screen.inspector, user.screen.pane
        assert panel.region.x > pane.region.x and panel.region.y == pane.region.y
        wide = panel.region.width
        await user.press("<")
        assert panel.region.width > wide
        await user.press("f2")
        assert not panel.display and pane.region.width == 120
        await user.press("f2")
        await user.pilot.resize_terminal(80, 24)
        await user.settle()
        assert panel.region.y > pane.region.y and panel.region.width == 80


async def test_the_divider_is_dragged_with_the_mouse(open_app):
    """The line between cells and panel follows the mouse."""
    async with open_app() as user:
        divider = user.screen.divider
        x, width = divider.region.x, user.screen.inspector.region.width
        await user.pilot.mouse_down("#divider", offset=(0, 5))
        await user.pilot.hover(None, offset=(x - 15, 5))
        await user.pilot.mouse_up(None, offset=(x - 15, 5))
        await user.settle()
        assert user.screen.inspector.region.width > width + 10
