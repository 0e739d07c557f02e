"""The main screens, as pictures: a change of what is drawn shows as a difference of an SVG file in `snapshots/`.

With a scripted kernel, fixed times and no blinking cursor the same text gives the same file. After a wanted change run
`UPDATE_SNAPSHOTS=1 pytest tests/app/tui/test_snapshots.py`, look at the files in a browser, and commit them.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tapescope.app.kernel import messages as m
from tapescope.app.tui.screenshot import _own_fonts

FOLDER = Path(__file__).parent / "snapshots"

LESSON = """# %% [markdown]
# # A lesson
#
# The loss is $L = \\frac{1}{n}\\sum_i (y_i - f(x_i))^2$.

# %%
for step in range(3):
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()

# %%
print("done")
"""


def tape(cell):
    """A small tape of the second cell."""
    place = {
        "file": "<cell>",
        "line": 2,
        "end_line": 2,
        "column": 12,
        "end_column": 18,
        "function": "",
        "cell": cell,
        "revision": 0,
    }

    def node(number, op, shape, inputs, module=""):
        return {
            "id": number, "kind": "op", "op": op, "name": op, "label": "", "inputs": inputs, "module": module, "source": place,
            "outputs": [{"shape": shape, "dtype": "float32", "device": "cpu"}], "saved": [], "grad": None,
        }  # fmt: skip

    nodes = [
        node(1, "addmm", [8, 1], [], "net"),
        node(2, "sub", [8, 1], [1]),
        node(3, "pow", [8, 1], [2]),
        node(4, "mean", [], [3]),
    ]
    return {"version": 1, "roots": [4], "nodes": nodes, "dropped": 0}


def costs(cell):
    line = {"calls": 12, "seconds": 0.0021, "bytes": 4096, "launches": 0, "backward_calls": 9, "backward_seconds": 0.0034,
            "fallbacks": 0, "last_line": 2}  # fmt: skip
    return {
        "lines": [{"cell": cell, "revision": 0, "line": 2, **line}], "ops": [{"op": "addmm", **line}],
        "seconds": 0.0055, "complete": True,
    }  # fmt: skip


async def ran(user):
    """The second cell has run, with everything that a kernel tells of it."""
    cell = user.cell(1)
    await user.press("j", "ctrl+j")
    user.kernel.run(
        cell,
        m.Stream(cell, "stdout", "loss 0.25\n"),
        m.Tape(cell, tape(cell), False),
        m.Costs(cell, costs(cell)),
        m.Hints(cell, [{"id": "zero_grad", "text": "Gradients pile up.", "advice": "Call optimizer.zero_grad().",
                        "cell": cell, "revision": 0, "line": 3}]),
        m.Variables([{"name": "loss", "type": "Tensor", "value": "", "shape": [], "dtype": "float32", "device": "cpu",
                      "bytes": 4, "requires_grad": True, "cell": cell, "revision": 0},
                     {"name": "x", "type": "Tensor", "value": "", "shape": [8, 3], "dtype": "float32", "device": "cpu",
                      "bytes": 96, "requires_grad": False, "histogram": [1, 3, 8, 3, 1], "low": -1.0, "high": 1.0, "mean": 0.0,
                      "nan": 0, "inf": 0}]),
        count=1,
    )  # fmt: skip
    await user.sees("[1]")
    await user.sees("loss 0.25")


async def command(user):
    await ran(user)


async def editing(user):
    await ran(user)
    user.screen.pane.editor.cursor_blink = False
    await user.press("enter", "down", "end")


async def breaks(user):
    await ran(user)
    place = {
        "file": "",
        "line": 2,
        "end_line": 2,
        "column": 4,
        "end_column": 8,
        "function": "",
        "cell": user.cell(1),
        "revision": 0,
    }
    found = {"function": "step", "segment": "0", "break_id": "branch", "category": "data-dependent", "values": [], "count": 3,
             "reason": "The branch depends on the value of a tensor.", "hint": "Use torch.where.", "source": place}  # fmt: skip
    guard = {"function": "step", "segment": "1", "guard": "x: float32 (8, 4)", "old": "size 8", "new": "size 9",
             "source": place, "dimension": ["x", 0]}  # fmt: skip
    user.kernel.emit(m.Captures(user.cell(1), [], [found], [guard]))
    await user.settle()
    await user.press("p", "b")
    await user.sees("Use torch.where.")


async def variables(user):
    await ran(user)
    await user.press("$", "n", "down")


async def searching(user):
    await ran(user)
    await user.press("ctrl+f")
    user.app.screen.query_one("#find").cursor_blink = False
    await user.type("loss")
    await user.sees("2 of 3")


async def light(user):
    await ran(user)
    user.app.theme = "tapescope-light"


async def helping(user):
    await user.press("f1")
    await user.sees("Moving")


SCREENS: dict[str, tuple[Callable[..., Awaitable[None]], tuple[int, int]]] = {
    "command": (command, (120, 36)),
    "editing": (editing, (120, 36)),
    "breaks": (breaks, (140, 36)),
    "variables": (variables, (140, 36)),
    "search": (searching, (100, 30)),
    "light": (light, (100, 30)),
    "help": (helping, (100, 30)),
    "small": (command, (80, 24)),
}


@pytest.mark.parametrize("name", SCREENS)
async def test_the_screen_is_drawn_as_before(open_app, name):
    """One of the main screens."""
    arrive, size = SCREENS[name]
    async with open_app(LESSON, size=size) as user:
        await user.ready()
        await arrive(user)
        await user.settle(0.3)
        user.app.clear_notifications()
        await user.settle(0.3)
        picture = _own_fonts(user.app.export_screenshot(title=name, simplify=True)) + "\n"
    path = FOLDER / f"{name}.svg"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(picture, encoding="utf-8")
    assert picture == path.read_text(encoding="utf-8"), f"{path} is drawn differently; see the top of this file"
