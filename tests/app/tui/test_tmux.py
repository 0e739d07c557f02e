"""The app in a real terminal: started as a person starts it, driven by keys, read from the screen."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest


class Terminal:
    """A tmux session of its own server, `width` by `height`."""

    def __init__(self, tmux: str, width: int, height: int) -> None:
        self._command = [tmux, "-L", f"tapescope-test-{uuid.uuid4().hex[:8]}", "-f", "/dev/null"]
        self._tmux("new-session", "-d", "-x", str(width), "-y", str(height), "sh")
        self._tmux("set-option", "-g", "remain-on-exit", "on")

    def _tmux(self, *arguments: str) -> str:
        # The environment is given: readline, which pytest loads, writes LINES and COLUMNS into the process's own.
        environment = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS")}
        done = subprocess.run([*self._command, *arguments], capture_output=True, text=True, timeout=30, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def keys(self, *keys: str) -> None:
        """Press keys, named as tmux names them."""
        for key in keys:
            self._tmux("send-keys", key)

    def type(self, text: str) -> None:
        """Type text, letter for letter."""
        self._tmux("send-keys", "-l", text)

    @property
    def text(self) -> str:
        return self._tmux("capture-pane", "-p")

    def sees(self, *texts: str, seconds: float = 90) -> str:
        """Wait until all texts stand on the screen together; gives what it shows."""
        end = time.monotonic() + seconds
        while True:
            shown = self.text
            if all(text in shown for text in texts):
                return shown
            if time.monotonic() > end:
                pytest.fail(f"never on the screen: {[t for t in texts if t not in shown]}\n{shown}")
            time.sleep(0.1)

    def close(self) -> None:
        subprocess.run([*self._command, "kill-server"], capture_output=True, timeout=30)


@pytest.fixture
def terminal(need, monkeypatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm-256color")
    made = Terminal(need("tmux"), 120, 40)
    try:
        yield made
    finally:
        made.close()


def start(terminal: Terminal, path: Path, expects: str = "idle") -> None:
    """Open a notebook from the shell, which says afterwards how that ended."""
    program = Path(sys.executable).with_name("tapescope")
    terminal.type(f"clear; '{program}' '{path}'; echo left with $?")
    terminal.keys("Enter")
    terminal.sees("COMMAND", expects)


def go_to(terminal: Terminal, text: str) -> None:
    """Find a text and select its cell."""
    terminal.keys("C-f")
    terminal.sees("FIND")
    terminal.type(text)
    terminal.sees("1 of")
    terminal.keys("Escape")
    terminal.sees("COMMAND")


def test_the_example_trains_and_shows_its_tape_in_a_terminal(terminal, root):
    """Open the first lesson, run all, read accuracy and tape, quit."""
    start(terminal, root / "examples" / "01_digits.py")
    terminal.keys("C-F5")
    terminal.sees("waits for you", "idle")  # the view has followed the cells down to the last one that says something
    go_to(terminal, 'print(f"test accuracy')
    terminal.sees("test accuracy 0.9")
    terminal.keys("k", "k")
    shown = terminal.sees("Loss")
    assert any("⠀" < character <= "⣿" for character in shown), "the curve of the loss"
    go_to(terminal, "loss = F.cross_entropy(model(")
    terminal.keys("C-j")
    shown = terminal.sees("linear", "relu", "idle")
    assert "operations" in shown and "DigitNet" in shown
    terminal.keys("C-q")
    terminal.sees("left with 0")


def test_a_person_writes_a_notebook_in_a_terminal(terminal, tmp_path):
    """Type a cell, run it with Alt+Enter, save, quit; the file has what was typed and the terminal is left clean."""
    path = tmp_path / "mine.py"
    path.write_text("# %%\n\n")
    start(terminal, path)
    terminal.keys("Enter")
    terminal.type("def double(x):")
    terminal.keys("Enter")
    terminal.type("return 2 * x")
    terminal.keys("Enter")
    terminal.type("print('twice', double(21))")
    terminal.sees("double(21)")
    terminal.keys("M-Enter")
    terminal.sees("twice 42")
    terminal.keys("C-s")
    terminal.sees("Saved mine.py")
    terminal.keys("C-q")
    terminal.sees("left with 0")
    assert "def double(x):\n    return 2 * x\nprint('twice', double(21))\n" in path.read_text()


def test_search_steps_costs_and_tabs_in_a_small_terminal(need, monkeypatch, tmp_path):
    """80x24: find a word, step through the run, show the costs, visit the graph, leave."""
    monkeypatch.setenv("TERM", "xterm-256color")
    path = tmp_path / "mine.py"
    path.write_text(
        "# %%\nimport torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * 2).sum()\nloss.backward()\n"
    )
    terminal = Terminal(need("tmux"), 80, 24)
    try:
        start(terminal, path)
        terminal.keys("C-j")
        terminal.sees("operations", "idle")
        terminal.keys("C-f")
        terminal.type("lo.s")
        terminal.sees("not found")
        terminal.keys("M-r")
        terminal.sees("1 of 2", "■ Regex")
        terminal.keys("Escape")
        terminal.sees("COMMAND")
        terminal.keys("s")
        terminal.sees("forward", "STEPS")
        terminal.keys("End")
        terminal.sees("backward")
        terminal.keys("Escape")
        terminal.sees("COMMAND")
        terminal.keys("$", "p", "g")
        terminal.sees("╭", "PANEL")
        terminal.keys("Escape", "C-q")
        terminal.sees("left with 0")
    finally:
        terminal.close()


def test_work_survives_a_killed_app(terminal, tmp_path):
    """kill -9 of the app itself two seconds after typing: the next start offers the work."""
    path = tmp_path / "mine.py"
    path.write_text("# %%\nx = 1\n")
    start(terminal, path)
    terminal.keys("Enter", "End")
    terminal.type("  # precious")
    terminal.sees("# precious")
    time.sleep(2)
    listed = subprocess.run(["ps", "-ww", "-eo", "pid,args"], capture_output=True, text=True).stdout.split("\n")
    (process,) = [int(row.split()[0]) for row in listed if str(path) in row and "python" in row and "tapescope" in row]
    os.kill(process, 9)
    terminal.sees("left with 137")
    terminal._tmux("new-window", "sh")  # the killed app could not put its terminal in order
    start(terminal, path, expects="Unsaved work found")
    terminal.sees("Unsaved work found", "# precious")
    terminal.keys("k")
    terminal.sees("x = 1  # precious", "COMMAND")
