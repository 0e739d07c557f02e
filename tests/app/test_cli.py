"""The command line as a person uses it: every mistake gets a sentence and an exit code, and nothing is lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tapescope.app import cli

Done = subprocess.CompletedProcess[str]


def tapescope(*words: str | Path, cwd: Path | None = None, **environment: str) -> Done:
    """Run the command in a process of its own, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "tapescope.app", *map(str, words)],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=150,
    )


def percent(*cells: str) -> str:
    return "".join(f"# %%\n{cell}\n\n" for cell in cells)


@pytest.fixture
def notebook(tmp_path: Path) -> Callable[..., Path]:
    """Makes a percent notebook of code cells; its content is checked to be untouched when the test ends."""
    made: dict[Path, str] = {}

    def make(*cells: str, name: str = "lesson.py") -> Path:
        path = tmp_path / name
        made[path] = percent(*cells)
        path.write_text(made[path])
        return path

    yield make
    for path, text in made.items():
        assert path.read_text() == text, "running a notebook changed its file"


# -- help and mistakes --------------------------------------------------------------------------------


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        cli.main(["--help"])
    assert left.value.code == 0
    shown = capsys.readouterr().out
    for word, command in cli.COMMANDS.items():
        assert word in shown and command.summary in shown


@pytest.mark.parametrize("word", cli.COMMANDS)
def test_every_command_has_help(word: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        cli.main([word, "--help"])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: tapescope {word}")


def test_version(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out.split()[0] == "tapescope"


MISTAKES = [
    (["run", "lesson.py", "--device", "webgp"], 2, ["webgp", "cpu or webgpu", "Did you mean webgpu?"]),
    (["run", "lesson.py", "--device", "cuda"], 2, ["cuda", "cpu or webgpu"]),
    (["lesson.py", "--device", "webgpu:x"], 2, ["webgpu:x", "cpu or webgpu"]),
    (["trace", "lesson.py", "--device", "tpu"], 2, ["tpu", "cpu or webgpu"]),
    (["run", "lesson.py", "--torch", "jax"], 2, ["jax", "auto, tapescope or pytorch"]),
    (["trace", "lesson.py", "--kinds", "ops"], 2, ["'ops'", "the kinds are", "op"]),
    (["run", "lessen.py"], 2, ["no file lessen.py", "Did you mean lesson.py?"]),
    (["lessen.py"], 2, ["no file lessen.py", "Did you mean lesson.py?"]),
    (["trace", "lessen.py"], 2, ["no file lessen.py"]),
    (["rum"], 2, ["no file rum", "`tapescope run`"]),
    (["run", "nowhere/lesson.py"], 2, ["no file nowhere/lesson.py", "folder nowhere"]),
    (["run", "."], 2, ["folder", "It holds", "lesson.py"]),
    (["lesson.py"], 2, ["needs a terminal", "tapescope run lesson.py"]),
    (["run"], 2, ["FILE"]),
    (["run", "lesson.py", "--fast"], 2, ["--fast"]),
    (["run", "torn.ipynb"], 1, ["torn.ipynb"]),
    (["run", "list.ipynb"], 1, ["list.ipynb"]),
    (["run", "bytes.py"], 1, ["bytes.py", "no text"]),
    (["trace", "torn.ipynb"], 1, ["torn.ipynb"]),
    (["run", "picture.png"], 1, ["picture.png"]),
    (["convert", "torn.ipynb", "out.py"], 1, ["torn.ipynb"]),
    (["convert", "lesson.py", "other.py"], 1, ["other.py"]),
    (["new", "lesson.py"], 1, ["lesson.py is there already", "left as it is"]),
    (["new", "lesson.txt"], 2, [".txt", ".py or .ipynb"]),
    (["new", "nowhere/a.py"], 1, ["no folder nowhere"]),
    (["new", "a.py", "--template", "resnet"], 2, ["resnet"]),
    (["tutorial", "lesson.py", "--no-open"], 2, ["lesson.py is a file"]),
    (["recover", "lesson.py"], 1, ["no unsaved work for lesson.py"]),
]


@pytest.mark.parametrize(("words", "code", "said"), MISTAKES, ids=[" ".join(m[0]) for m in MISTAKES])
def test_mistake(
    words: list[str], code: int, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
):  # fmt: skip
    files = {
        "lesson.py": percent("print(1)").encode(),
        "other.py": percent("print(2)").encode(),
        "torn.ipynb": b'{"cells": [{"cell_type": "code", "sou',
        "list.ipynb": b"[1, 2, 3]",
        "bytes.py": b"# %%\n\xff\xfe\x00broken",
        "picture.png": b"\x89PNG\r\n\x1a\n\x00\x00",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115  (closed with the interpreter)
    try:
        got = cli.main(words)
    except SystemExit as left:  # argparse's own mistakes
        got = left.code
    out, err = capfd.readouterr()
    assert got == code, err
    assert out == ""
    assert "Traceback" not in err
    for part in said:
        assert part in err
    assert len(err.strip().splitlines()) == 1 or err.startswith("usage:")
    for name, content in files.items():
        assert (tmp_path / name).read_bytes() == content


def test_an_empty_notebook_runs(notebook: Callable[..., Path]):
    done = tapescope("run", notebook(name="empty.py"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# -- run ----------------------------------------------------------------------------------------------


def test_run_prints_what_cells_print_and_show(notebook: Callable[..., Path]):
    path = notebook(
        "import sys\nprint('printed')\nprint('warned', file=sys.stderr)",
        "x = 20\nx + 1",
        "from IPython.display import display\nh = display('first', display_id=True)\nh.update('last')",
        "print('open end', end='')",
    )
    done = tapescope("run", path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "printed\n21\n'last'\nopen end\n"
    assert done.stderr == "warned\n", "no progress line where stderr is no terminal"


def test_run_works_in_the_folder_of_the_notebook(notebook: Callable[..., Path], tmp_path: Path):
    (tmp_path / "word.txt").write_text("found")
    done = tapescope("run", notebook("print(open('word.txt').read())"), cwd=Path("/"))
    assert done.stdout == "found\n", done.stderr


FIRST_PROGRAMS = {
    "gradient": (
        [
            "import torch",
            "x = torch.tensor(2.0, requires_grad=True)\ny = x**2 + 3*x + 1\ny.backward()\nprint(x.grad)",
            "x.grad",
        ],
        "tensor(7.)\ntensor(7.)\n",
    ),
    "branch on a sum": (
        [
            "import torch\nfrom torch import nn",
            "class Net(nn.Module):\n"
            "    def forward(self, x):\n"
            "        if x.sum() > 0:\n"
            "            return x * 2\n"
            "        return -x",
            "net = Net()\nprint(net(torch.ones(2)), net(-torch.ones(2)))",
        ],
        "tensor([2., 2.]) tensor([1., 1.])\n",
    ),
    "shapes": (
        ["import torch\nx = torch.arange(6).reshape(2, 3)\nprint(x.shape, x.dtype)", "x @ x.T"],
        "torch.Size([2, 3]) torch.int64\ntensor([[ 5, 14],\n        [14, 50]])\n",
    ),
    "seed": (
        ["import torch\ntorch.manual_seed(0)\nprint(torch.rand(3))"],
        "tensor([0.4963, 0.7682, 0.0885])\n",
    ),
    "grad accumulates": (
        [
            "import torch\nw = torch.ones(2, requires_grad=True)",
            "for _ in range(2):\n    (w * 3).sum().backward()\nprint(w.grad)",
            "w.grad.zero_()\nw.grad",
        ],
        "tensor([6., 6.])\ntensor([0., 0.])\n",
    ),
    "a step by hand": (
        [
            "import torch\nfrom torch import nn\nlayer = nn.Linear(1, 1, bias=False)\n"
            "with torch.no_grad():\n    layer.weight.fill_(1.0)",
            "optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)\n"
            "loss = (layer(torch.tensor([[2.0]])) - 3).pow(2).sum()\nloss.backward()\noptimizer.step()\n"
            "print(round(loss.item(), 4), layer.weight.item())",
        ],
        "1.0 3.0\n",
    ),
}


@pytest.mark.parametrize("name", FIRST_PROGRAMS)
def test_first_programs_of_an_introduction(name: str, notebook: Callable[..., Path]):
    cells, printed = FIRST_PROGRAMS[name]
    done = tapescope("run", notebook(*cells), "--torch", "tapescope")
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed


FAILURES = {
    "syntax error": (
        ["print('before')", "x = (1,\nprint(x", "print('after')"],
        ["cell 2", "SyntaxError: '(' was never closed"],
    ),
    "exception": (["print('before')", "a = 1\n\na / 0", "print('after')"], ["cell 2, line 3", "ZeroDivisionError"]),
    "os._exit": (["print('before')", "import os\nos._exit(3)", "print('after')"], ["cell 2", "3"]),
    "killed": (
        ["print('before')", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "print('after')"],
        ["cell 2"],
    ),
    "exit": (
        ["print('before')", "import sys\nsys.exit(3)", "print('after')"],
        ["cell 2, line 2", "sys.exit(3)", "did not run"],
    ),
    "bare exit": (["print('before')", "raise SystemExit", "print('after')"], ["cell 2, line 1", "sys.exit()"]),
    "input": (
        ["print('before')", "name = input()", "print('after')"],
        ["cell 2, line 1", "EOFError: nobody answers", "stdin"],
    ),
    "name of torch": (
        ["print('before')\nimport torch", "torch.no_such_operator(1)", "print('after')"],
        ["cell 2", "no_such_operator"],
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_run_says_which_cell_failed_and_stops_there(name: str, notebook: Callable[..., Path]):
    cells, said = FAILURES[name]
    path = notebook(*cells)
    done = tapescope("run", path, "--torch", "tapescope")
    assert done.returncode == 1
    assert done.stdout == "before\n"
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("tapescope: ")
    for part in [str(path), *said]:
        assert part in last, done.stderr
    for part in ["<cell", "Restart the kernel", "keeps running", "app/kernel"]:
        assert part not in done.stderr, "of the kernel's inside, or true only with the app"


def test_pytorch_that_is_not_there(notebook: Callable[..., Path]):
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        done = tapescope("run", notebook("import torch"), "--torch", "pytorch")
        assert done.returncode == 1
        assert "not installed" in done.stderr
    else:
        pytest.skip("PyTorch is installed here, so it cannot be missing")


def test_a_device_that_cannot_be_opened(notebook: Callable[..., Path], tmp_path: Path):
    """No driver can be found: the loader is pointed at none."""
    nothing = str(tmp_path / "none.json")
    path = notebook("import torch\nprint(torch.ones(2).sum().item())")
    done = tapescope(
        "run", path, "--device", "webgpu", "--torch", "tapescope", VK_ICD_FILENAMES=nothing, VK_DRIVER_FILES=nothing
    )
    assert done.returncode == 1, done.stdout
    assert done.stdout == ""
    assert "cpu" in done.stderr, done.stderr
    assert "adapter" in done.stderr.lower()


def started(*words: str | Path, marker: Path) -> subprocess.Popen[str]:
    """The command, once its cell has made the file `marker`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tapescope.app", *map(str, words)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    end = time.monotonic() + 100
    while not marker.exists():
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.02)
    return process


LOOP = "import pathlib, time\npathlib.Path('begun').touch()\nwhile True:\n    time.sleep(0.01)"


@pytest.mark.parametrize("command", ["run", "trace"])
@pytest.mark.parametrize("to_group", [True, False], ids=["as a terminal does", "to the command alone"])
def test_ctrl_c_in_a_loop(command: str, to_group: bool, notebook: Callable[..., Path], tmp_path: Path):
    path = notebook("print('before')", LOOP, "print('after')")
    process = started(command, path, marker=tmp_path / "begun")
    (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "after" not in out + err
    last = err.strip().splitlines()[-1]
    assert "Interrupted" in last and "cell 2" in last, err


def test_a_cell_that_ignores_interrupts_is_ended_by_a_second_one(notebook: Callable[..., Path], tmp_path: Path):
    deaf = (
        "import pathlib, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "pathlib.Path('begun').touch()\nwhile True:\n    time.sleep(0.01)"
    )
    process = started("run", notebook(deaf), marker=tmp_path / "begun")
    os.kill(process.pid, signal.SIGINT)
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Interrupted" in err


def test_a_reader_that_leaves(notebook: Callable[..., Path]):
    path = notebook("for i in range(20000):\n    print('line', i)")
    for command in ("run", "trace"):
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {sys.executable} -m tapescope.app {command} {path} 2>errors | head -n 1"],
            cwd=path.parent, capture_output=True, text=True, timeout=150, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert "Traceback" not in (path.parent / "errors").read_text()
        assert "Broken" not in (path.parent / "errors").read_text()
        assert done.returncode == 0


# -- trace --------------------------------------------------------------------------------------------

TRACED = [
    "import torch\nfrom torch import nn",
    "class Net(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.first = nn.Linear(3, 2)\n"
    "    def forward(self, x):\n"
    "        return self.first(x).relu()",
    "net = Net()\nprint('on the way')",
    "x = torch.ones(4, 3)\ny = net(x)\nloss = y.sum()\nloss.backward()",
]


def records(done: Done) -> list[dict]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_trace_prints_json_lines_that_lead_to_the_source(notebook: Callable[..., Path]):
    done = tapescope("trace", notebook(*TRACED))
    lines = records(done)
    assert "on the way" in done.stderr
    ops = [r for r in lines if r["kind"] == "op"]
    (relu,) = (r for r in ops if r["op"] == "relu")
    assert relu["outputs"] == [{"shape": [4, 2], "dtype": "float32", "device": "cpu"}]
    assert (relu["cell"], relu["line"]) == (2, 6)
    total = next(r for r in ops if r["op"] == "sum")
    assert (total["cell"], total["line"], total["module"]) == (4, 3, "")
    assert total["outputs"][0]["shape"] == []
    assert any("first" in r["module"] for r in ops), "no record names the module it ran in"
    assert {"backward", "node"} <= {r["kind"] for r in lines}


def test_trace_of_chosen_kinds(notebook: Callable[..., Path]):
    lines = records(tapescope("trace", notebook(*TRACED), "--kinds", "node,backward"))
    assert {r["kind"] for r in lines} == {"node", "backward"}


def test_trace_keeps_what_was_recorded_before_the_process_ended(notebook: Callable[..., Path]):
    path = notebook("import torch\nx = torch.ones(2) + 1", "import os\nos._exit(7)")
    done = tapescope("trace", path)
    assert done.returncode == 1
    assert any(json.loads(line)["kind"] == "op" for line in done.stdout.splitlines())
    assert "cell 2" in done.stderr and "exit code 7" in done.stderr


def test_trace_of_a_failing_cell(notebook: Callable[..., Path]):
    done = tapescope("trace", notebook("import torch", "\n1 / 0"))
    assert done.returncode == 1
    assert "cell 2, line" in done.stderr and "ZeroDivisionError" in done.stderr


# -- new, tutorial, convert, recover, doctor ----------------------------------------------------------


@pytest.mark.parametrize("template", ["empty", "model"])
@pytest.mark.parametrize("suffix", ["", ".py", ".ipynb"])
def test_new_makes_a_notebook_that_runs(template: str, suffix: str, tmp_path: Path):
    made = tapescope("new", tmp_path / f"idea{suffix}", "--template", template)
    assert made.returncode == 0, made.stderr
    path = Path(made.stdout.strip())
    assert path == tmp_path / f"idea{suffix or '.py'}"
    done = tapescope("run", path, "--torch", "tapescope")
    assert done.returncode == 0, done.stderr


def test_tutorial_copies_and_keeps_what_was_changed(tmp_path: Path, root: Path):
    first = tapescope("tutorial", "mine", "--no-open", cwd=tmp_path)
    path = tmp_path / first.stdout.strip()
    assert path.read_text() == (root / "examples" / "01_digits.py").read_text()
    path.write_text("# %%\nmine = 1\n")
    (tmp_path / "mine" / "data" / "digits.npz").unlink()
    again = tapescope("tutorial", "mine", "--no-open", cwd=tmp_path)
    assert again.stdout == first.stdout
    assert path.read_text() == "# %%\nmine = 1\n"
    assert (tmp_path / "mine" / "data" / "digits.npz").exists()


def test_convert_there_and_back(notebook: Callable[..., Path], tmp_path: Path):
    path = notebook("a = 1", "a + 1")
    there = tapescope("convert", path, tmp_path / "there.ipynb")
    assert there.returncode == 0, there.stderr
    assert [c["cell_type"] for c in json.loads((tmp_path / "there.ipynb").read_text())["cells"]] == ["code", "code"]
    back = tapescope("convert", tmp_path / "there.ipynb", tmp_path / "back.py")
    assert back.returncode == 0, back.stderr
    done = tapescope("run", tmp_path / "back.py")
    assert done.stdout == "2\n"
    refused = tapescope("convert", path, tmp_path / "there.ipynb")
    assert refused.returncode == 1 and "there.ipynb" in refused.stderr


def test_recover_writes_unsaved_work_beside_the_notebook(notebook: Callable[..., Path], tmp_path: Path):
    from tapescope.app.notebook import files, journal

    path = notebook("saved = 1")
    book = files.load(path)
    book.set_source(book.cells[0].id, "typed = 'but not saved'")
    journal.record(book)
    listed = tapescope("recover")
    assert str(path) in listed.stdout
    done = tapescope("recover", path)
    assert done.returncode == 0, done.stderr
    assert "typed = 'but not saved'" in Path(done.stdout.strip()).read_text()
    assert Path(done.stdout.strip()) != path
    assert str(path) not in tapescope("recover").stdout


def test_doctor_reports_and_succeeds():
    done = tapescope("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("Python", "numpy", "wgpu", "Graphviz", "C compiler", "terminal"):
        assert name in done.stdout
    assert {line[:4].strip() for line in done.stdout.splitlines()} <= {"ok", "note", ""}


def test_doctor_tells_which_kernels_the_adapter_wants(need_vulkan: Callable[[], str], tmp_path, monkeypatch):
    need_vulkan()
    monkeypatch.setenv("TAPESCOPE_CACHE", str(tmp_path))
    done = tapescope("doctor", "--kernels")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^adapter .*\nprofile  measured: .*\nproducts: tiles \d", done.stdout)
    assert (tmp_path / "kernels.json").exists() and str(tmp_path) in done.stdout
    assert tapescope("doctor", "--kernels").stdout == done.stdout  # kept, not measured again
    monkeypatch.setenv("TAPESCOPE_ADAPTER", "no such card")
    done = tapescope("doctor", "--kernels")
    assert done.returncode == 1 and "TAPESCOPE_ADAPTER asks for it" in done.stderr


def test_doctor_knows_a_software_adapter(need_vulkan: Callable[[], str]):
    software = "llvmpipe" in need_vulkan()
    done = tapescope("doctor")
    assert ("software" in done.stdout) == software
    assert "a device opens and computes" in done.stdout


def test_doctor_with_an_adapter_that_is_not_there(need_vulkan: Callable[[], str]):
    need_vulkan()
    done = tapescope("doctor", TAPESCOPE_ADAPTER="nonsense")
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.search(r"^note  webgpu .*\n.*", done.stdout, re.MULTILINE)[0]
    assert "No WebGPU adapter has 'nonsense'" in said and "NoAdapter" not in said
    assert "TAPESCOPE_ADAPTER" in said and "unset it" in said


def test_doctor_without_graphics_drivers(tmp_path: Path):
    nothing = str(tmp_path / "none.json")
    done = tapescope("doctor", VK_ICD_FILENAMES=nothing, VK_DRIVER_FILES=nothing)
    assert done.returncode == 0, "the CPU works without them"
    assert "adapters" in done.stdout and "apt-get install" in done.stdout
