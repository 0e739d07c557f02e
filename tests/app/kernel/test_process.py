"""The kernel in a process of its own: how it starts, dies, restarts, and what it writes past Python."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from tapescope.app.kernel.messages import (
    Complete,
    Completions,
    Died,
    Documentation,
    Error,
    Execute,
    Executed,
    ExecuteResult,
    Inspect,
    Ready,
    Status,
    Stream,
)
from tapescope.app.kernel.process import EventQueue, KernelProcess

from .conftest import PATIENCE, Talk

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups of POSIX")


def gone(pid: int) -> bool:
    """Whether a process has ended (a zombie that nobody has waited for has)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        pass
    try:
        os.kill(pid, 0)
    except OSError:
        return True
    return False


def wait_until_gone(pid: int) -> None:
    end = time.monotonic() + PATIENCE
    while not gone(pid):
        assert time.monotonic() < end, f"process {pid} still lives"
        time.sleep(0.02)


# -- starting -----------------------------------------------------------------------------------------


def test_ready_tells_what_the_kernel_is(talk):
    kernel = talk(torch="tapescope")
    ready = kernel.wait_for_one(Ready)
    assert ready.python == ".".join(map(str, sys.version_info[:3])) and ready.process == kernel.kernel.process
    assert (ready.torch, ready.device) == ("tapescope", "cpu") and kernel.kernel.state == "idle"


def test_commands_sent_before_the_kernel_is_ready_are_kept():
    talk = Talk("process")
    talk.kernel.send(Execute("a", 1, "print('first')"))
    assert talk.kernel.state == "new" and talk.kernel.queued == ["a"]
    talk.kernel.start()
    talk.kernel.send(Execute("b", 1, "2"))
    talk.wait_for(lambda events: sum(isinstance(e, Executed) for e in events) == 2)
    talk.kernel.close()


@pytest.mark.parametrize("options", [{"python": "/no/such/python"}, {"cwd": "/no/such/folder"}])
def test_a_kernel_that_cannot_be_started_says_so(options):
    talk = Talk("process", **options)
    talk.kernel.send(Execute("a", 1, "1"))
    talk.kernel.start()
    died = talk.wait_for_one(Died)
    assert "could not start" in died.reason and "/no/such" in died.reason and died.advice
    assert talk.wait_for_one(Executed).status == "died" and talk.kernel.state == "dead"
    talk.kernel.close()


def test_a_kernel_that_ends_while_it_starts_repeats_what_it_said(tmp_path):
    talk = Talk("process", env={**os.environ, "PYTHONHOME": str(tmp_path)})
    talk.kernel.start()
    died = talk.wait_for_one(Died)
    assert "could not start" in died.reason and "It said:" in died.advice
    talk.kernel.close()


def test_an_unknown_device_is_an_error_of_no_cell(talk):
    kernel = talk(device="abacus")
    error = kernel.wait_for_one(Error)
    assert error.cell is None and "abacus" in error.evalue and "CPU takes its place" in error.evalue
    assert kernel.wait_for_one(Ready).device == "cpu"


def test_files_beside_the_notebook_can_be_imported_but_do_not_stop_the_kernel(talk, tmp_path):
    (tmp_path / "random.py").write_text("raise RuntimeError('not the one you want')")
    (tmp_path / "mine.py").write_text("value = 5")
    kernel = talk(cwd=tmp_path)
    assert kernel.run("import mine\nmine.value").one(ExecuteResult).data["text/plain"] == "5"
    assert os.path.samefile(kernel.run("import os\nprint(os.getcwd())").text().strip(), tmp_path)


# -- dying --------------------------------------------------------------------------------------------


def test_a_cell_that_ends_the_process_is_told_and_the_kernel_starts_again(talk):
    kernel = talk()
    heard = kernel.run("x = 1", "import os\nprint('before')\nos._exit(7)", "print('never')")
    died = heard.one(Died)
    assert (died.cell, died.exit_code) == ("c1", 7)
    assert "exit code 7" in died.reason and "Restart" in died.advice
    assert heard.statuses() == [("c0", "ok"), ("c1", "died"), ("c2", "died")]
    assert heard.text() == "before\n", "what was printed before is not lost"
    assert kernel.kernel.state == "dead"
    assert kernel.run("1").statuses() == [("c0", "died")], "a dead kernel answers"
    begin = len(kernel.events)
    kernel.kernel.start()
    kernel.wait_for_one(Ready, begin)
    assert kernel.run("'x' in globals()").one(ExecuteResult).data["text/plain"] == "False"


@posix
def test_a_killed_process_is_told(talk):
    kernel = talk()
    ready = kernel.wait_for_one(Ready)

    def kill() -> None:
        kernel.wait_for(lambda events: any(isinstance(e, Stream) for e in events))
        os.kill(ready.process, signal.SIGKILL)

    threading.Thread(target=kill).start()
    heard = kernel.run("print('started')\nwhile True: pass")
    died = heard.one(Died)
    assert died.exit_code == -signal.SIGKILL and "memory" in died.reason
    assert heard.statuses() == [("c0", "died")]


@posix
def test_a_crash_in_native_code_names_the_line(talk):
    died = talk().run("import ctypes\n\nctypes.string_at(0)").one(Died)
    assert "segmentation fault" in died.reason and "line 3 of the cell" in died.reason


@posix
def test_a_process_that_dies_while_nothing_runs_is_told(talk):
    kernel = talk()
    os.kill(kernel.kernel.process, signal.SIGTERM)
    died = kernel.wait_for_one(Died)
    assert died.cell is None and "SIGTERM" in died.reason


def test_kill_is_the_last_step(talk):
    kernel = talk()
    pid = kernel.kernel.process
    kernel.kernel.send(
        Execute("a", 1, "while True:\n    try:\n        while True: pass\n    except BaseException: pass")
    )
    kernel.wait_for_one(Status)
    kernel.kernel.kill()
    died = kernel.wait_for_one(Died)
    assert "as you asked" in died.reason and kernel.wait_for_one(Executed).status == "died"
    assert gone(pid)


@pytest.mark.parametrize("force", [False, True])
def test_restart_gives_a_fresh_process_also_to_a_cell_that_does_not_stop(talk, force):
    kernel = talk()
    pid = kernel.kernel.process
    kernel.run("x = 1")
    begin = len(kernel.events)
    kernel.kernel.send(
        Execute(
            "a",
            1,
            "while True:\n    try:\n        print('started')\n        while True: pass\n    except BaseException: pass",
        ),
        Execute("b", 1, "1"),
    )
    kernel.wait_for_one(Stream, begin)
    kernel.kernel.restart(force=force)
    kernel.kernel.send(Execute("c", 1, "'x' in globals()"))
    kernel.wait_for_one(Ready, begin)
    kernel.wait_for_one(ExecuteResult, begin)
    heard = kernel.events[begin:]
    assert [(e.cell, e.status) for e in heard if isinstance(e, Executed)][:2] == [("a", "died"), ("b", "aborted")]
    assert not any(isinstance(e, Died) for e in heard)
    assert kernel.wait_for_one(ExecuteResult, begin).data["text/plain"] == "False"
    assert kernel.kernel.process != pid
    wait_until_gone(pid)


def test_close_ends_the_process_and_says_nothing_more(talk):
    kernel = talk()
    pid = kernel.kernel.process
    kernel.kernel.send(Execute("a", 1, "while True: print('x')"))
    kernel.wait_for_one(Stream)
    kernel.kernel.close()
    count = len(kernel.events)
    wait_until_gone(pid)
    assert len(kernel.events) == count and kernel.kernel.state == "closed"
    kernel.kernel.send(Execute("b", 1, "1"))
    kernel.kernel.interrupt()
    kernel.kernel.restart()
    kernel.kernel.close()
    assert len(kernel.events) == count


PARENT = """
import sys, time
from tapescope.app.kernel.messages import Execute, Ready, Status
from tapescope.app.kernel.process import KernelProcess
def listen(event):
    if isinstance(event, Ready):
        print(event.process, flush=True)
        kernel.send(Execute("a", 1, sys.argv[1]))
    elif isinstance(event, Status):
        print("runs", flush=True)
kernel = KernelProcess(listen)
kernel.start()
time.sleep(600)
"""


@posix
@pytest.mark.parametrize("code", ["", "import time\ntime.sleep(600)", "sum(range(10**13))"])
def test_the_kernel_does_not_outlive_its_parent(code):
    if "sum" in code and sys.platform != "linux":
        pytest.skip("only Linux can end a process whose threads do not run")
    with subprocess.Popen([sys.executable, "-c", PARENT, code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert parent.stdout.readline() == "runs\n"
        time.sleep(0.2)  # into the long call
        assert not gone(pid)
        parent.kill()
    wait_until_gone(pid)


# -- past Python --------------------------------------------------------------------------------------


@posix
def test_what_programs_and_c_code_write_belongs_to_the_cell(talk):
    kernel = talk()
    heard = kernel.run(
        "import os, subprocess\nos.write(1, b'descriptor\\n'); os.write(2, b'error\\n')\n"
        "subprocess.run(['echo', 'program'])\nimport ctypes\nctypes.CDLL(None).printf(b'c code\\n')\nos.system('echo system')",
        "print('next')",
    )
    assert {"descriptor", "program", "c code", "system"} <= set(heard.text(cell="c0").split("\n"))
    assert "error\n" in heard.text("stderr", cell="c0")
    assert heard.text(cell="c1") == "next\n"
    executed = heard.index(heard.all(Executed)[0])
    assert all(heard.index(e) < executed for e in heard.all(Stream) if e.cell == "c0")


@posix
def test_print_and_programs_keep_their_order(talk):
    code = "import os\nprint('one')\nos.system('echo two; sleep 0.05')\nprint('three')"
    assert talk().run(code).text() == "one\ntwo\nthree\n"


@posix
def test_a_flood_from_a_program_is_capped(talk):
    text = talk().run("import subprocess\nsubprocess.run('seq 1 300000', shell=True);").text()
    assert text.startswith("1\n2\n") and text.endswith("299999\n300000\n") and "left out" in text
    assert text.count("\n") < 100_100


@posix
def test_a_cell_that_points_its_descriptors_elsewhere_loses_nothing(talk, tmp_path):
    kernel = talk()
    target = tmp_path / "out.txt"
    kernel.run(
        f"import os\nkept = os.dup(1)\nfd = os.open({str(target)!r}, os.O_CREAT | os.O_WRONLY)\n"
        "os.dup2(fd, 1)\nos.write(1, b'into the file')",
        "print('from Python')",
        "os.dup2(kept, 1)\nos.write(1, b'back')",
    )
    assert target.read_bytes() == b"into the file"


@posix
def test_forked_processes_do_not_disturb_the_line(talk):
    kernel = talk()
    heard = kernel.run(
        "import multiprocessing as mp, os, sys\n"
        "def work(n):\n    print('worker', n, flush=True)\n    return n * n\n"
        "with mp.get_context('fork').Pool(2) as pool:\n    print(pool.map(work, range(20)))",
        "pid = os.fork()\nif pid == 0:\n    print('child', flush=True)\n    os._exit(0)\nos.waitpid(pid, 0)[1]",
        "'alive'",
    )
    assert heard.statuses() == [("c0", "ok"), ("c1", "ok"), ("c2", "ok")]
    assert "[0, 1, 4, 9" in heard.text() and heard.text().count("worker") == 20 and "child\n" in heard.text()


@posix
def test_an_interrupt_also_reaches_the_programs_of_the_cell(talk):
    kernel = talk()
    heard = kernel.run_and_interrupt(
        "import subprocess\np = subprocess.Popen(['sleep', '600'])\nprint('started', p.pid)\np.wait()"
    )
    wait_until_gone(int(heard.text().split()[1]))


# -- the listener -------------------------------------------------------------------------------------


def test_a_listener_that_fails_does_not_stop_the_kernel(capsys, monkeypatch):
    told: list[object] = []
    heard: list[object] = []
    monkeypatch.setattr(sys, "excepthook", lambda *parts: told.append(parts[1]))
    done = threading.Event()

    def listen(message: object) -> None:
        heard.append(message)
        if isinstance(message, Executed):
            done.set()
        raise ValueError("the listener's own mistake")

    kernel = KernelProcess(listen)
    kernel.start()
    kernel.send(Execute("a", 1, "1"))
    assert done.wait(PATIENCE)
    kernel.close()
    assert told and all(isinstance(e, ValueError) for e in told)


def test_all_events_come_from_one_thread(talk):
    kernel = talk()
    threads = set()
    original = kernel.kernel._on_event

    def listen(message: object) -> None:
        threads.add(threading.get_ident())
        original(message)

    kernel.kernel._on_event = listen
    kernel.run("import os\nos.system('echo a')\nprint('b')", "1/0", "2")
    kernel.kernel.interrupt()
    kernel.kernel.kill()
    kernel.wait_for_one(Died)
    assert len(threads) == 1


async def test_events_can_be_read_in_a_loop():
    events = EventQueue()
    kernel = KernelProcess(events)
    kernel.start()
    kernel.send(Execute("a", 1, "print('hello')"))

    async def read() -> list[object]:
        heard = []
        async for event in events:
            heard.append(event)
            if isinstance(event, Executed):
                break
        return heard

    heard = await asyncio.wait_for(read(), PATIENCE)
    assert isinstance(heard[0], Ready) and any(isinstance(e, Stream) for e in heard)
    kernel.close()


def test_questions_are_answered_while_a_cell_runs_or_no_kernel_lives(talk):
    kernel = talk()
    kernel.kernel.send(Execute("a", 1, "print('started')\nwhile True: pass"))
    kernel.wait_for_one(Stream)
    kernel.kernel.send(Complete(1, "pri", 3))
    assert kernel.wait_for_one(Completions).matches == []
    kernel.kernel.kill()
    kernel.wait_for_one(Died)
    begin = len(kernel.events)
    kernel.kernel.send(Complete(2, "pri", 3), Inspect(3, "print", 3))
    assert kernel.wait_for_one(Completions, begin).request == 2 and kernel.wait_for_one(Documentation, begin).text == ""
