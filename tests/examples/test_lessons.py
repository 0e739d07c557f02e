"""Every lesson runs on each device with the same numbers, and its exercises accept their folded solutions and nothing empty.

The lessons are run in a process each, as `tapescope run` does it. Slow ones are shortened by a table of replacements that only
make loops shorter; everything else is the text that users see. `make lessons` runs them in full, there and in the page
(tests/web/test_examples.py).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LESSONS = sorted(p.stem for p in (ROOT / "examples").glob("[0-9]*.py"))
PORTS = sorted(p.stem for p in (ROOT / "examples" / "torch_ports").glob("*.py"))

WHOLE = os.environ.get("TAPESCOPE_EXAMPLES") == "all"
"""Whether lessons run in their full length: `make lessons`."""

SHORTER: dict[str, list[tuple[str, str]]] = {
    "01_digits": [("range(1, 26)", "range(1, 4)")],
    "03_define_by_run": [("range(600)", "range(60)"), ("range(700)", "range(50)")],
    "05_convolutions": [("epochs=6", "epochs=2"), ("epochs=4", "epochs=1")],
    "06_transformer": [
        ("STEPS = 800", "STEPS = 40"),
        ('write(";", 600', 'write(";", 60'),
        ("range(10) for b", "range(3) for b"),
    ],
    "11_generative": [("range(1, 61)", "range(1, 5)"), ("range(150)", "range(40)")],
    "12_policy_gradient": [("range(1, 41)", "range(1, 5)")],
    "13_higher_derivatives": [("range(900)", "range(60)"), ("range(400)", "range(30)")],
}
"""Replacements that shorten training, where lessons do not run in their full length."""

ROUGH: dict[str, float] = {"05_convolutions": 0.15}
"""Lessons whose training amplifies the last digit: how far printed numbers may be apart, relative to their size."""

if WHOLE:
    ROUGH |= {"06_transformer": 0.15, "11_generative": 0.15}


DEVICE_LINES = {
    "08_kernels": r"(?m)^\d+\. kernel: .*$|^entries: \d+",
    "09_numerics": r"(?m)^.*ulp off$|^torch.sum.*$",
}
"""Lines that tell of the device itself: the bytes that its kernels move, how exact its functions are, what it fuses with products."""

if WHOLE:  # a text drawn letter by letter is another one after the first letter that a last digit decides
    DEVICE_LINES["06_transformer"] = r"(?m)^;.*$|^some that do not: .*$|^block \d: .*$"


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Runs a lesson's text on a device; what it printed, once for each text and device."""
    known: dict[tuple[str, str], str] = {}

    def on(name: str, text: str, device: str) -> str:
        if (text, device) not in known:
            folder = tmp_path_factory.mktemp(name) / "examples"
            shutil.copytree(ROOT / "examples", folder)
            (folder / "lesson.py").write_text(text)
            done = subprocess.run(
                [sys.executable, "-m", "tapescope.app", "run", folder / "lesson.py", "--device", device, "--torch", "tapescope"],
                capture_output=True, text=True, timeout=600 if WHOLE else 170, stdin=subprocess.DEVNULL, env={**os.environ, "COLUMNS": "100"},
            )  # fmt: skip
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
            assert done.stderr == ""
            known[text, device] = done.stdout
        return known[text, device]

    return on


def text_of(name: str) -> str:
    text = (ROOT / "examples" / f"{name}.py").read_text()
    for old, new in () if WHOLE else SHORTER.get(name, []):
        assert old in text, f"{name} no longer has {old!r}: bring SHORTER up to date"
        text = text.replace(old, new)
    return text


def solved(text: str) -> tuple[str, int]:
    """The lesson with each exercise's stub replaced by the solution folded away above it, and how many there are."""
    cells = re.split(r"(?m)^(?=# %%)", text)
    count = 0
    for i, cell in enumerate(cells):
        found = re.search(r"(?s)<details><summary>Solution</summary>\n#\n# ```python\n(.*?)# ```", cell)
        if found:
            code = "".join(line.removeprefix("# ").removeprefix("#") for line in found[1].splitlines(keepends=True))
            names = re.findall(r"(?m)^(?:def|class) (\w+)|^(\w+) =", code)
            stub = cells[i + 1]
            assert "your turn" in stub, f"the cell after a solution is its stub:\n{stub}"
            assert all((a or b) in stub for a, b in names), "the solution defines what the stub does"
            name = "".join(names[0])
            first = re.search(rf"(?ms)^(?:(?:def|class) {name}\b|{name} =).*?your turn\n", stub)
            assert first, stub
            cells[i + 1] = stub.replace(first[0], code + "\n", 1)
            count += 1
    return "".join(cells), count


def words_and_numbers(output: str) -> tuple[list[str], list[float]]:
    """What was printed outside of figures, as text with the numbers taken out, and the numbers."""
    lines = [line for line in output.splitlines() if not re.search(r"[│┤┴▀━•]|^\s*[-\d.\s]*$", line)]
    lines = [line for line in lines if not re.match(r"^[ .:\-=+*#%@|]+$", line)]  # pictures made of characters
    text = (
        "\n".join(line.strip() for line in lines)
        .replace(", device='webgpu:0'", "")
        .replace("computing on webgpu", "computing on cpu")
        .replace("] webgpu", "]")
    )
    number = r"-?\d+\.?\d*(?:e[-+]?\d+)?"
    return re.split(number, text), [float(n) for n in re.findall(number, text)]


@pytest.mark.parametrize("name", LESSONS)
def test_exercises_wait_and_accept_their_solutions(name: str, run: Callable[..., str]):
    text = text_of(name)
    with_answers, count = solved(text)
    assert count >= 2, f"{name} should have at least two exercises"
    assert "your turn" in text and "your turn" not in with_answers
    plain, answered = run(name, text, "cpu"), run(name, with_answers, "cpu")
    for n in range(1, count + 1):
        assert f"Exercise {n} waits for you." in plain
        assert f"Exercise {n}: right" in answered and f"Exercise {n} waits" not in answered


SAYS = {
    "07_compile": [
        "graphs 4  breaks 4",
        "captured again because scale == 2.0 did not hold: 2.0 became 3.0",
        "captures: 2",
    ],
    "08_kernels": ["eager moved 7.0 times as much", "breaks: False"],
    "09_numerics": ["the forward line was: return difference.pow(2).sum(-1).sqrt()"],
    "10_reference": ["kept tensors of the size of x: 3", "bit for bit: True"],
}
"""What the text of a lesson explains and would say nothing without."""


@pytest.mark.parametrize("name", SAYS)
def test_a_lesson_shows_what_it_explains(name: str, run: Callable[..., str]):
    output = run(name, text_of(name), "cpu")
    assert [line for line in SAYS[name] if line not in output] == []


@pytest.mark.parametrize("name", LESSONS)
def test_the_numbers_are_the_same_on_webgpu(name: str, run: Callable[..., str], need_vulkan: Callable[[], str]):
    need_vulkan()
    text = text_of(name)
    cpu, gpu = (words_and_numbers(run(name, text, device)) for device in ("cpu", "webgpu"))
    if name in DEVICE_LINES:
        cpu, gpu = (words_and_numbers(re.sub(DEVICE_LINES[name], "", run(name, text, d))) for d in ("cpu", "webgpu"))
    assert cpu[0] == gpu[0]
    rough = ROUGH.get(name, 0.02)
    far = [(a, b) for a, b in zip(cpu[1], gpu[1]) if abs(a - b) > rough * max(1.0, abs(a))]
    assert not far, f"numbers differ between cpu and webgpu: {far[:5]}"


@pytest.mark.parametrize("name", PORTS)
@pytest.mark.parametrize("device", ["cpu", "webgpu"])
def test_programs_of_pytorch_introductions_print_the_same(
    name: str, device: str, run: Callable[..., str], need_vulkan: Callable[[], str]
):
    if device == "webgpu":
        need_vulkan()
    output = run(name, (ROOT / "examples" / "torch_ports" / f"{name}.py").read_text(), device)
    plain = output.replace(", device='webgpu:0'", "")
    assert plain == PRINTED[name]


# What PyTorch 2.13.0 prints for them.
PRINTED = {
    "01_derivative": "tensor(7.)\n",
    "02_conditional": "tensor([2., 2.])\ntensor([-3., -3.])\n",
    "03_module": """Net(
  (fc1): Linear(in_features=4, out_features=8, bias=True)
  (fc2): Linear(in_features=8, out_features=2, bias=True)
)
tensor([[-0.1394, -0.1776],
        [-0.1394, -0.1776],
        [-0.1394, -0.1776]], grad_fn=<AddmmBackward0>)
""",
}


def test_wrong_answers_get_a_message(run: Callable[..., str], tmp_path: Path):
    text = text_of("02_backward").replace("return None  # your turn", "return torch.cos(x**2)", 1)
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", folder)
    (folder / "lesson.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "tapescope.app", "run", folder / "lesson.py", "--torch", "tapescope"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0 and "is the inner derivative in it?" in done.stdout + done.stderr
