"""Running all cells without a front end."""

from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

from tapescope.app.kernel.messages import Error, Execute, Executed, Message, Stream
from tapescope.app.kernel.runner import run_notebook


@pytest.fixture(params=[True, False], ids=["in process", "process"])
def run(request):
    """Runs codes as cells a, b, ...; returns the result and what was heard."""

    def run(*codes: str, **options):
        heard: list[Message] = []

        def listen(event: Message) -> None:
            heard.append(event)
            print("the listener prints")

        cells = [Execute(name, 1, code) for name, code in zip("abcdef", codes)]
        return run_notebook(cells, listen, in_process=request.param, **options), heard

    return run


def text(heard: list[Message]) -> str:
    return "".join(e.text for e in heard if isinstance(e, Stream))


def test_all_cells_run_in_order(run, capsys):
    result, heard = run("x = 20", "print(x)", "x + 1")
    assert (result.status, result.cell, result.ran, result.exit_code) == ("ok", None, 3, 0)
    assert text(heard) == "20\n", "what the listener prints is no output of a cell"
    assert capsys.readouterr().out.count("the listener prints") == len(heard)


def test_a_notebook_without_cells_is_fine(run):
    assert run()[0].status == "ok"


def test_the_first_error_ends_the_run(run):
    result, heard = run("print('a')", "1/0", "print('c')")
    assert (result.status, result.cell, result.ran, result.exit_code) == ("error", "b", 1, 1)
    assert text(heard) == "a\n"
    assert [e.status for e in heard if isinstance(e, Executed)] == ["ok", "error", "aborted"]


def test_an_unknown_device_ends_it_before_the_first_cell(run):
    result, heard = run("print('a')", device="abacus")
    assert (result.status, result.cell, result.ran) == ("error", None, 0) and text(heard) == ""
    (error,) = [e for e in heard if isinstance(e, Error)]
    assert "abacus" in error.evalue


def test_input_is_answered_or_ends(run):
    result, heard = run("print(input('? '))", ask=lambda request: "to " + request.prompt)
    assert result.status == "ok" and "to ? \n" in text(heard)
    result, heard = run("input()")
    assert result.status == "error" and [e.ename for e in heard if isinstance(e, Error)] == ["EOFError"]


def test_cells_work_in_the_notebooks_folder(run, tmp_path):
    (tmp_path / f"helper_{id(run)}.py").write_text("value = 3")
    before = os.getcwd(), list(sys.path)
    _, heard = run(f"import os, helper_{id(run)} as h\nprint(os.path.basename(os.getcwd()), h.value)", cwd=tmp_path)
    assert text(heard) == f"{tmp_path.name} 3\n" and (os.getcwd(), sys.path) == before


def test_a_cell_that_ends_the_process_ends_the_run():
    result = run_notebook([Execute("a", 1, "import os\nos._exit(3)"), Execute("b", 1, "1")], lambda event: None)
    assert (result.status, result.cell, result.ran) == ("died", "a", 0)


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT to itself")
@pytest.mark.parametrize("in_process", [True, False])
def test_ctrl_c_interrupts_the_cell(in_process):
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals reach the main thread only")
    started = threading.Event()

    def press() -> None:
        started.wait(60)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def listen(event: Message) -> None:
        if isinstance(event, Stream):
            started.set()

    thread = threading.Thread(target=press)
    thread.start()
    code = "import time\nprint('started')\nfor _ in range(10_000): time.sleep(0.01)"
    result = run_notebook([Execute("a", 1, code), Execute("b", 1, "1")], listen, in_process=in_process)
    thread.join()
    assert (result.status, result.cell, result.exit_code) == ("interrupted", "a", 130)
