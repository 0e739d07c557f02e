"""The session and the selection of cells, without a screen: what kernel events do to a document."""

from __future__ import annotations

import random

from tapescope.app.kernel import messages as m
from tapescope.app.notebook.document import Cell, Notebook
from tapescope.app.tui.cells import Cells
from tapescope.app.tui.session import PATIENCE, Session


class Kernel:
    """Records what it is asked."""

    def __init__(self) -> None:
        self.sent: list[m.Message] = []
        self.calls: list[str] = []

    def start(self) -> None:
        self.calls.append("start")

    def send(self, *commands: m.Message) -> None:
        self.sent.extend(commands)

    def interrupt(self) -> None:
        self.calls.append("interrupt")

    def restart(self, *, force: bool = False) -> None:
        self.calls.append("force" if force else "restart")

    def kill(self) -> None:
        self.calls.append("kill")

    def close(self) -> None:
        self.calls.append("close")


def make(*sources: str) -> tuple[Session, Kernel, list[float]]:
    kernel, now = Kernel(), [0.0]
    session = Session(
        Notebook([Cell(id=f"c{n}", source=s) for n, s in enumerate(sources)]), lambda: kernel, lambda: now[0]
    )
    session.apply([m.Ready("3.11", "tapescope", "cpu", 1)])
    return session, kernel, now


def test_cells_run_with_the_text_they_had_when_they_were_sent():
    """Typing on while a cell waits does not change what runs."""
    session, kernel, _ = make("a = 1", "b = 2")
    session.run(session.notebook.cells)
    session.notebook.set_source("c1", "b = 3")
    assert [(c.cell, c.code) for c in kernel.sent] == [("c0", "a = 1"), ("c1", "b = 2")]
    assert session.waiting == 2 and session.text_that_ran("c1", 0) == "b = 2"


def test_a_cell_starts_with_no_outputs_when_its_turn_comes():
    """The outputs of the last run stay until the new run begins."""
    session, _, _ = make("a")
    session.run(session.notebook.cells)
    session.apply([m.Status("busy", "c0"), m.Stream("c0", "stdout", "1"), m.Executed("c0", "ok", 1, 0.1)])
    session.run(session.notebook.cells)
    assert session.notebook.cells[0].outputs[0]["text"] == "1"
    session.apply([m.Status("busy", "c0")])
    assert session.notebook.cells[0].outputs == []


def test_a_batch_announces_a_cell_once():
    """A thousand prints in one batch are one change of the document."""
    session, _, _ = make("a")
    told = []
    session.notebook.subscribe(lambda change: told.append(change.kind))
    session.apply([m.Status("busy", "c0"), *(m.Stream("c0", "stdout", f"{n}\n") for n in range(1000))])
    assert told.count("outputs") == 1


def test_pressing_run_twice_queues_once():
    """The same text is not run again while it waits; a changed one is."""
    session, kernel, _ = make("a")
    session.run(session.notebook.cells)
    session.run(session.notebook.cells)
    assert len(kernel.sent) == 1
    session.notebook.set_source("c0", "b")
    session.run(session.notebook.cells)
    assert [c.code for c in kernel.sent] == ["a", "b"]


def test_aborted_cells_keep_their_count_and_outputs():
    """What did not run is as it was, and is marked so."""
    session, _, _ = make("a", "b")
    session.notebook.cells[1].execution_count = 5
    session.run(session.notebook.cells)
    session.apply([m.Status("busy", "c0"), m.Executed("c0", "error", 1, 0.1), m.Executed("c1", "aborted", 0, 0.0)])
    assert session.runs["c1"].state == "aborted" and session.notebook.cells[1].execution_count == 5
    assert session.idle is False or session.waiting == 0


def test_the_steps_of_stopping_need_patience():
    """The harder step comes only after the softer one had its time."""
    session, kernel, now = make("a")
    session.run(session.notebook.cells)
    session.apply([m.Status("busy", "c0")])
    session.interrupt()
    session.interrupt()
    assert kernel.calls == ["interrupt", "interrupt"]
    now[0] = PATIENCE
    assert session.impatient()
    session.interrupt()
    assert kernel.calls[-1] == "force"
    session.interrupt()
    assert kernel.calls[-1] == "force", "not yet"
    now[0] = 2 * PATIENCE
    session.interrupt()
    assert kernel.calls[-1] == "kill"


def test_last_words_of_a_given_up_process_are_not_heard():
    """After a restart, output and ends of the old process do not disturb the new runs."""
    session, _, _ = make("a")
    session.run(session.notebook.cells)
    session.apply([m.Status("busy", "c0")])
    session.restart()
    session.run(session.notebook.cells)
    session.apply([m.Stream("c0", "stdout", "ghost"), m.Executed("c0", "died", 0, 0.0), m.Status("idle")])
    assert session.notebook.cells[0].outputs == [] and session.runs["c0"].state == "waiting"
    session.apply([m.Ready("3.11", "tapescope", "cpu", 2), m.Status("busy", "c0"), m.Executed("c0", "ok", 1, 0.2)])
    assert session.runs["c0"].state == "ok"


def test_a_death_marks_its_cell_and_empties_the_queue():
    """The running cell died, the waiting ones did not run, and a new run is refused with a sentence."""
    session, _, _ = make("a", "b")
    session.run(session.notebook.cells)
    session.apply([m.Status("busy", "c0")])
    update = session.apply([m.Died("c0", -9, "Killed.", "Restart."), m.Executed("c0", "died", 0, 0.0)])
    assert update.died is not None and session.runs["c0"].state == "died" and session.runs["c1"].state == "aborted"
    assert "not running" in session.run(session.notebook.cells)


def test_empty_cells_and_text_are_not_sent():
    """There is nothing to run in them."""
    session, kernel, _ = make("", "  \n")
    session.run(session.notebook.cells)
    assert kernel.sent == [] and session.waiting == 0


def test_the_selection_follows_its_cell_through_everything():
    """Whatever is inserted, deleted, moved, merged, split, undone: the current cell is one of the document's."""
    randomly = random.Random(0)
    notebook = Notebook([Cell(source=f"{n}") for n in range(6)])
    cells = Cells(notebook)
    steps = (
        lambda: cells.insert(below=bool(randomly.getrandbits(1))),
        cells.delete,
        cells.copy,
        cells.cut,
        lambda: cells.paste(below=bool(randomly.getrandbits(1))),
        lambda: cells.move(randomly.choice((-1, 1))),
        cells.merge,
        lambda: cells.split(0),
        cells.undo,
        cells.redo,
        lambda: cells.select(randomly.randrange(8), extend=bool(randomly.getrandbits(1))),
        lambda: notebook.insert(0),
    )
    for _ in range(600):
        randomly.choice(steps)()
        assert len(notebook) >= 1
        assert 0 <= cells.index < len(notebook)
        assert cells.range.start >= 0 and cells.range.stop <= len(notebook)
        assert cells.current is notebook.cells[cells.index]


def test_a_cell_inserted_above_does_not_change_what_is_selected():
    """The selection belongs to the cell, not to its number."""
    notebook = Notebook([Cell(source="a"), Cell(source="b")])
    cells = Cells(notebook)
    cells.select(1)
    notebook.insert(0)
    assert cells.current is not None and cells.current.source == "b"
    notebook.delete(0)
    assert cells.current.source == "b"
    notebook.move(1, 0)
    assert cells.current.source == "b" and cells.index == 0
