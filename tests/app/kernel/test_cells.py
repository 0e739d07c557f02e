"""What a cell can do and what is heard of it: the same on every transport."""

from __future__ import annotations

import base64
import linecache

import pytest

from tapescope.app.kernel.messages import (
    ClearOutput,
    Complete,
    Completions,
    DisplayData,
    Documentation,
    Error,
    Execute,
    Executed,
    ExecuteResult,
    InputRequest,
    Inspect,
    ListVariables,
    Status,
    Stream,
    Variables,
)


def test_a_warning_names_its_place_as_tracebacks_do(talk):
    heard = talk("process").run("1", "import warnings\nwarnings.warn('careful')")
    said = "Cell In[2], line 2: UserWarning: careful\n  warnings.warn('careful')\n"
    assert heard.text("stderr") == said


def test_prints_and_results_come_in_order_between_busy_and_idle(kernel):
    heard = kernel.run("print('one')\nimport sys\nprint('two', file=sys.stderr)\n6 * 7")
    assert heard.text() == "one\n" and heard.text("stderr") == "two\n"
    result = heard.one(ExecuteResult)
    assert result.data["text/plain"] == "42" and result.execution_count == 1
    executed = heard.one(Executed)
    assert (executed.status, executed.execution_count) == ("ok", 1) and executed.seconds >= 0
    kinds = [e.kind for e in heard]
    assert kinds[0] == "status" and kinds.index("stream") < kinds.index("execute_result") < kinds.index("executed")
    kernel.wait_for(lambda events: isinstance(events[-1], Status))
    assert kernel.events[-1] == Status("idle")


def test_cells_share_their_names_and_count_up(kernel):
    heard = kernel.run("x = 1", "x + 1", "_")
    assert [e.data["text/plain"] for e in heard.all(ExecuteResult)] == ["2", "2"]
    assert [e.execution_count for e in heard.all(Executed)] == [1, 2, 3]


def test_a_cell_that_is_not_stored_does_not_count(kernel):
    kernel.kernel.send(Execute("a", 1, "1", store=False))
    kernel.wait_for_one(Executed)
    assert kernel.run("2").one(Executed).execution_count == 1


def test_a_semicolon_keeps_the_result_silent(kernel):
    assert kernel.run("3;").all(ExecuteResult) == []


def test_an_empty_cell_ends_well(kernel):
    assert kernel.run("", "  \n").statuses() == [("c0", "ok"), ("c1", "ok")]


def test_an_error_names_the_line_of_the_cell(kernel):
    heard = kernel.run("x = 1\n\ndef f():\n    return x / 0\n\nf()")
    error = heard.error
    assert (error.cell, error.ename, error.evalue, error.line) == ("c0", "ZeroDivisionError", "division by zero", 4)
    assert heard.statuses() == [("c0", "error")]
    assert any("\x1b[" in line for line in error.traceback), "tracebacks are coloured"


def test_an_error_in_another_cells_function_names_the_line_of_this_cell(kernel):
    heard = kernel.run("def g():\n    raise ValueError('no')", "1\n2\ng()")
    assert heard.error.cell == "c1" and heard.error.line == 3
    assert "raise ValueError('no')" in heard.traceback and "Cell In[1], line 2" in heard.traceback


def test_leading_empty_lines_count(kernel):
    assert kernel.run("\n\n\n1/0").error.line == 4
    assert kernel.run("\n\nf(").error.line == 3


@pytest.mark.parametrize("code, line", [("x = = 1", 1), ("a = 1\nif a\n    b", 2), ("a\n  b", 2), ("return 3", 1)])
def test_a_syntax_error_points_at_its_line(kernel, code, line):
    heard = kernel.run(code)
    assert heard.error.ename in ("SyntaxError", "IndentationError") and heard.error.line == line
    assert heard.statuses() == [("c0", "error")]


def test_an_error_takes_the_waiting_cells_with_it_and_nothing_after(kernel):
    heard = kernel.run("1", "1/0", "print('never')", "2")
    assert heard.statuses() == [("c0", "ok"), ("c1", "error"), ("c2", "aborted"), ("c3", "aborted")]
    assert heard.text() == ""
    assert kernel.run("print('again')").text() == "again\n"


def test_an_exception_that_cannot_be_printed_is_an_error_all_the_same(kernel):
    heard = kernel.run("class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E")
    assert heard.error.ename == "E" and heard.error.line == 3


def test_groups_and_recursion_and_assertions_are_errors(kernel):
    heard = kernel.run("raise ExceptionGroup('two', [ValueError(1), TypeError(2)])")
    assert heard.error.ename == "ExceptionGroup" and "TypeError" in heard.traceback
    assert kernel.run("def f(): f()\nf()").error.ename == "RecursionError"
    assert kernel.run("assert 1 == 2, 'differ'").error.evalue == "differ"


@pytest.mark.parametrize("code", ["import sys; sys.exit(3)", "exit()", "quit", "raise SystemExit"])
def test_exit_gives_a_sentence_and_the_kernel_lives(kernel, code):
    heard = kernel.run("kept = 1", code)
    assert heard.error.ename == "SystemExit"
    assert "The kernel keeps running" in heard.traceback
    assert kernel.run("kept").one(ExecuteResult).data["text/plain"] == "1"


# -- IPython ------------------------------------------------------------------------------------------


def test_magics_shell_commands_and_help(kernel):
    heard = kernel.run("%time y = 3", "!echo from the shell", "out = !echo assigned", "out[0]", "len?")
    assert "Wall time" in heard.text(cell="c0")
    assert "from the shell" in heard.text(cell="c1").replace("\r", "")
    assert heard.one(ExecuteResult).data["text/plain"] == "'assigned'"
    assert "number of items" in heard.one(DisplayData).data["text/plain"]


def test_an_unknown_magic_is_an_error(kernel):
    heard = kernel.run("%no_such_magic")
    assert heard.error.ename == "UsageError" and heard.statuses() == [("c0", "error")]


def test_a_cell_magic_keeps_the_lines_of_its_body(kernel):
    assert kernel.run("%%time\na = 1\n1/0").error.line == 3
    heard = kernel.run("%%time\na = 1\nb = 2\na + b")
    assert heard.one(ExecuteResult).data["text/plain"] == "3"
    heard = kernel.run("%%capture kept\nprint('hidden')\ndef later():\n    1/0")
    assert heard.text() == ""
    assert kernel.run("later()").error.line == 1
    assert kernel.run("kept.stdout").one(ExecuteResult).data["text/plain"] == r"'hidden\n'"


def test_a_continued_magic_does_not_shift_the_lines_below(kernel):
    assert kernel.run("!echo a \\\n  b\n\n1/0").error.line == 4


def test_await_at_top_level(kernel):
    heard = kernel.run(
        "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 5\nawait f()", "await f() + 1"
    )
    assert [e.data["text/plain"] for e in heard.all(ExecuteResult)] == ["5", "6"]
    assert kernel.run("await f()\n1/0").error.line == 2


def test_functions_of_cells_have_a_source(kernel):
    heard = kernel.run("def f():\n    return 'here'", "import inspect\nprint(inspect.getsource(f))")
    assert "return 'here'" in heard.text()


def test_the_text_of_a_cell_survives_checkcache(talk):
    kernel = talk("local")
    kernel.run("import linecache\nlinecache.checkcache()\nx = 1")
    linecache.checkcache()
    assert linecache.getline("<cell c0:1>", 3) == "x = 1\n"


# -- displays -----------------------------------------------------------------------------------------


def test_displays_with_an_id_are_updated(kernel):
    heard = kernel.run("h = display('first', display_id='d')\nh.update('second')\nh2 = display(1, display_id=True)")
    first, second, third = heard.all(DisplayData)
    assert (first.display_id, first.update, first.data["text/plain"]) == ("d", False, "'first'")
    assert (second.display_id, second.update, second.data["text/plain"]) == ("d", True, "'second'")
    assert third.display_id and not third.update
    heard = kernel.run("from IPython.display import update_display\nupdate_display('third', display_id='d')")
    assert heard.one(DisplayData).update


def test_clear_output_and_rich_objects(kernel):
    code = """
from IPython.display import HTML, clear_output
class Both:
    def __repr__(self): return 'plain'
    def _repr_html_(self): return '<b>rich</b>'
    def _repr_png_(self): return b'\\x89PNG'
clear_output(wait=True)
display(HTML('<i>x</i>'))
Both()
"""
    heard = kernel.run(code)
    assert heard.one(ClearOutput).wait
    assert heard.one(DisplayData).data["text/html"] == "<i>x</i>"
    data = heard.one(ExecuteResult).data
    assert data["text/plain"] == "plain" and data["text/html"] == "<b>rich</b>"
    assert base64.b64decode(data["image/png"]) == b"\x89PNG"


def test_displays_are_capped_and_updates_are_not(kernel):
    heard = kernel.run(
        "for i in range(2500): display(i)\nh = display('x', display_id='d')\nfor i in range(100): h.update(i)"
    )
    shown = heard.all(DisplayData)
    assert len([e for e in shown if not e.update]) == 2000 and len([e for e in shown if e.update]) == 100
    assert "2,000 outputs" in heard.text("stderr")
    assert kernel.run("display(1)").one(DisplayData).data["text/plain"] == "1"


def test_output_is_sent_before_what_comes_after_it(kernel):
    heard = kernel.run("print('before')\ndisplay(1)\nprint('between')\ndisplay(2)\nprint('after', end='')")
    shown = [
        e.text if isinstance(e, Stream) else e.data["text/plain"] for e in heard if isinstance(e, Stream | DisplayData)
    ]
    assert shown == ["before\n", "1", "between\n", "2", "after"]


def test_plotly_figures_come_through_as_bundles(kernel):
    heard = kernel.run(
        "import plotly.graph_objects as go\nfig = go.Figure(go.Scatter(y=[1, 2]), layout=dict(title='Loss'))\nfig.show()",
        "fig",
        "h = display(fig, display_id='live')\nh.update(fig)",
    )
    shown, first, second = heard.all(DisplayData)
    result = heard.one(ExecuteResult)
    for event in (shown, result, first, second):
        figure = event.data["application/vnd.plotly.v1+json"]
        assert figure["data"][0]["type"] == "scatter" and figure["layout"]["title"]["text"] == "Loss"
        assert event.data["text/plain"] == "Figure with 1 trace (scatter): Loss"
    assert (first.display_id, first.update) == ("live", False) and (second.display_id, second.update) == ("live", True)


def test_values_that_are_no_json_do_not_break_the_line(kernel):
    code = """
circle = []
circle.append(circle)
class Bad:
    def __str__(self): raise RuntimeError
display({'text/plain': 'kept', 'application/json': {'a': Bad(), (1, 2): circle}}, raw=True)
print('\\ud800 half a character')
"""
    heard = kernel.run(code)
    assert heard.statuses() == [("c0", "ok")]
    assert heard.one(DisplayData).data["text/plain"].startswith("kept")
    assert "half a character" in heard.text()


def test_a_huge_result_is_shortened_in_the_middle(kernel):
    text = (
        kernel.run("class Big:\n    def __repr__(self): return 'a' * 5_000_000\nBig()")
        .one(ExecuteResult)
        .data["text/plain"]
    )
    assert len(text) < 1_100_000 and "4,000,000 characters left out" in text


# -- input --------------------------------------------------------------------------------------------


def test_input_and_getpass_ask_the_front_end(kernel):
    kernel.answers = ["Ada", "secret", "a line"]
    heard = kernel.run(
        "name = input('Who? ')\nimport getpass, sys\np = getpass.getpass('Key: ')\nl = sys.stdin.readline()\n(name, p, l)"
    )
    assert [(r.prompt, r.password, r.cell) for r in heard.all(InputRequest)] == [
        ("Who? ", False, "c0"),
        ("Key: ", True, "c0"),
        ("", False, "c0"),
    ]
    assert heard.one(ExecuteResult).data["text/plain"] == r"('Ada', 'secret', 'a line\n')"


# -- interrupts ---------------------------------------------------------------------------------------

LOOPS = {
    "busy": "print('started')\nwhile True: pass",
    "sleep": "import time\nprint('started')\ntime.sleep(600)",
    "except Exception": "import time\nprint('started')\nwhile True:\n    try: time.sleep(0.001); 1/0\n    except Exception: pass",
    "printing": "print('started')\nwhile True: print('x')",
    "await": "import asyncio\nprint('started')\nawait asyncio.sleep(600)",
    "input": "print('started', flush=True)\nimport threading\nthreading.Event().wait(600)",
    "subprocess": "import subprocess\nprint('started')\nsubprocess.run(['sleep', '600'])",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_is_interrupted_and_the_waiting_cells_with_it(kernel, loop):
    heard = kernel.run_and_interrupt(LOOPS[loop], "print('never')")
    assert sorted(heard.statuses()) == [("c0", "interrupted"), ("c1", "aborted")]
    error = heard.error
    assert error.ename == "KeyboardInterrupt" and error.line is not None
    assert len(heard.traceback.splitlines()) < 30, "the traceback is short"
    assert kernel.run("'alive'").one(ExecuteResult).data["text/plain"] == "'alive'"


def test_an_interrupt_that_a_finaliser_swallowed_comes_again(kernel):
    heard = kernel.run_and_interrupt(
        "import time\n\nclass A:\n    def __del__(self):\n        print('started', flush=True)\n        time.sleep(0.5)\n\n"
        "a = A()\ndel a\nwhile True:\n    pass"
    )
    assert heard.statuses() == [("c0", "interrupted")] and "ignored" not in heard.text()


def test_an_interrupted_await_does_not_go_on_in_the_next_cell(kernel):
    kernel.run_and_interrupt("import asyncio\nprint('started')\nawait asyncio.sleep(600)\nprint('woke up')")
    heard = kernel.run("await asyncio.sleep(0.01)\nprint('mine')")
    assert heard.text() == "mine\n"


def test_an_interrupt_while_nothing_runs_hits_no_later_cell(kernel):
    kernel.run("1")
    kernel.kernel.interrupt()
    assert kernel.run("import time\ntime.sleep(0.05)", "2").statuses() == [("c0", "ok"), ("c1", "ok")]


def test_many_interrupts_end_one_cell_only(kernel):
    import threading

    stop = threading.Event()

    def hammer() -> None:
        while not stop.wait(0.002):
            kernel.kernel.interrupt()

    thread = threading.Thread(target=hammer)
    thread.start()
    try:
        for _ in range(20):
            heard = kernel.run("while True: print('x' * 100)")
            assert heard.statuses() == [("c0", "interrupted")] and heard.error.ename == "KeyboardInterrupt"
    finally:
        stop.set()
        thread.join()
    assert kernel.run("'alive'").one(ExecuteResult).data["text/plain"] == "'alive'"


# -- questions ----------------------------------------------------------------------------------------


def test_completions_replace_a_range(kernel):
    kernel.run("some_list = [1]")
    kernel.kernel.send(Complete(5, "x = some_list.appe", 18))
    answer = kernel.wait_for_one(Completions)
    assert answer.request == 5 and "append" in [m.rpartition(".")[2] for m in answer.matches]
    assert "x = some_list.appe"[answer.start : answer.end] in ("appe", "some_list.appe", ".appe")


def test_completions_survive_hostile_objects(kernel):
    kernel.run(
        "class H:\n    def __dir__(self): raise SystemExit\n    def __getattr__(self, n): raise RuntimeError\nh = H()"
    )
    kernel.kernel.send(Complete(1, "h.", 2))
    assert kernel.wait_for_one(Completions).request == 1
    assert kernel.run("1").statuses() == [("c0", "ok")]


def test_documentation_is_plain_text(kernel):
    kernel.kernel.send(Inspect(3, "sorted(", 3))
    answer = kernel.wait_for_one(Documentation)
    assert answer.request == 3 and "ascending order" in answer.text and "\x1b" not in answer.text
    begin = len(kernel.events)
    kernel.kernel.send(Inspect(4, "nothing_of_this_name", 3))
    assert kernel.wait_for_one(Documentation, begin).text == ""


def test_variables_come_after_every_cell_and_when_asked(kernel):
    heard = kernel.run("import math\nx = [1, 2]\n_hidden = 3")
    assert [v["name"] for v in heard.one(Variables).variables] == ["x"]
    begin = len(kernel.events)
    kernel.kernel.send(ListVariables())
    assert kernel.wait_for_one(Variables, begin).variables == [
        {"name": "x", "type": "list", "value": "[1, 2]", "cell": "c0", "revision": 1}
    ]


def test_hostile_objects_do_not_run_in_the_variables_list(kernel):
    code = """
class Hostile:
    def __repr__(self): raise SystemExit
    def __len__(self): 1/0
    def __getattribute__(self, name): raise MemoryError
    __class__ = property(lambda self: 1/0)
h = Hostile()
inside = [h]
"""
    values = {v["name"]: v["value"] for v in kernel.run(code).one(Variables).variables}
    assert values == {"Hostile": "class Hostile", "h": "<Hostile>", "inside": "[<Hostile>]"}


# -- output -------------------------------------------------------------------------------------------


def test_two_hundred_thousand_lines_are_capped_with_both_ends_kept(kernel):
    heard = kernel.run("for i in range(200_000): print(i)")
    text = heard.text()
    assert text.startswith("0\n1\n2\n") and text.endswith("199998\n199999\n")
    assert text.count("\n") < 100_100 and "100,000 lines" in text and "left out" in text
    assert len(heard.all(Stream)) < 1_000
    assert kernel.run("print('next cell')").text() == "next cell\n"


def test_progress_bars_are_folded(kernel):
    heard = kernel.run("for i in range(1000): print(f'\\r{i:4}', end='')\nprint()")
    text = heard.text()
    assert text.endswith(" 999\n") and text.count("\r") <= len(heard.all(Stream))


def test_a_cell_that_replaces_or_closes_its_streams_does_not_silence_the_next(kernel):
    kernel.run("import sys\nsys.stdout.close()\nsys.stderr.close()\nsys.stdin.close()")
    assert kernel.run("print('still here')").text() == "still here\n"


def test_bytes_and_threads_are_heard(kernel):
    heard = kernel.run(
        "import sys, threading\nsys.stdout.buffer.write('ä'.encode())\n"
        "t = threading.Thread(target=lambda: print('from a thread')); t.start(); t.join()"
    )
    assert heard.text() == "äfrom a thread\n"


def test_an_error_in_a_thread_is_written_to_stderr(talk):
    kernel = talk("process")  # in this process pytest has the hook
    heard = kernel.run("import threading\nt = threading.Thread(target=lambda: 1/0); t.start(); t.join()")
    assert "ZeroDivisionError" in heard.text("stderr") and heard.all(Error) == []
