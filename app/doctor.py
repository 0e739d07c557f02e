"""`tapescope doctor`: what this machine offers, a line each, with advice where something is missing or slow.

It looks and reports; it changes nothing and installs nothing.  Graphics drivers are asked in a process of their own,
because a broken one may take its process down.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from .terminal_abilities import Abilities, abilities

OLDEST, NEWEST = (3, 11), (3, 14)
"""The Python versions that the package is made for, as pyproject.toml says."""

ADAPTER_SECONDS = 60
"""How long the drivers may take to answer; a software driver compiles its first shader meanwhile."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: `state` is "ok", "note" (works, but read the advice) or "bad" (does not work)."""

    state: Literal["ok", "note", "bad"]
    name: str
    text: str
    advice: str = ""


def python() -> Iterator[Finding]:
    """The interpreter."""
    version = sys.version_info[:2]
    text = f"{sys.version.split()[0]} ({sys.executable})"
    if OLDEST <= version <= NEWEST:
        yield Finding("ok", "Python", text)
    else:
        yield Finding("bad", "Python", text, f"Tapescope is made for Python {_dotted(OLDEST)} to {_dotted(NEWEST)}.")


def libraries() -> Iterator[Finding]:
    """The packages without which a command does not work, and the one it can do without."""
    for package, module, purpose in (
        ("numpy", "numpy", "the engine on the CPU"),
        ("ipython", "IPython", "running cells"),
        ("textual", "textual", "the terminal app"),
        ("plotly", "plotly", "figures"),
        ("websockets", "websockets", "tapescope serve"),
    ):
        yield _library(package, module, "bad", f"It is needed for {purpose}: pip install --force-reinstall tapescope")
    yield _library("wgpu", "wgpu", "note", "Without it there is no WebGPU device, only the CPU: pip install wgpu")


def _library(package: str, module: str, state: Literal["note", "bad"], advice: str) -> Finding:
    try:
        if importlib.util.find_spec(module) is None:
            return Finding(state, package, "is not installed", advice)
        return Finding("ok", package, importlib.metadata.version(package))
    except (ImportError, importlib.metadata.PackageNotFoundError) as error:
        return Finding(state, package, f"cannot be found ({error})", advice)


# Prints one JSON list; everything else that drivers say goes to stderr.
_ASK_ADAPTERS = """
import json, wgpu
print(json.dumps([
    {name: adapter.info[name] for name in ("device", "description", "adapter_type", "backend_type")}
    for adapter in wgpu.gpu.enumerate_adapters_sync()
]))
"""

_ASK_DEVICE = """
import {engine} as torch
print((torch.ones(3, device="webgpu") * 2).sum().item())
"""

_EXCEPTION = r"^[\w.]+: "
"""How Python begins the last line of a traceback: the name of a class, which is nothing to a person."""


def adapters() -> Iterator[Finding]:
    """The graphics adapters, whether they are software, and whether the engine computes on one."""
    if importlib.util.find_spec("wgpu") is None:
        return
    install = (
        "apt-get install libvulkan1 mesa-vulkan-drivers (Debian; a software driver, good enough to learn and test)"
    )
    answer = _ask(_ASK_ADAPTERS)
    try:
        found = [a for a in json.loads(answer.stdout) if a["backend_type"] != "OpenGL"]
    except ValueError:
        yield Finding(
            "note", "adapters", f"the graphics drivers did not answer: {_last_line(answer)}",
            f"The CPU works without them. Install a Vulkan driver: {install}",
        )  # fmt: skip
        return
    if not found:
        yield Finding("note", "adapters", "none found", f"The CPU works without one. To have one: {install}")
        return
    for adapter in found:
        software = adapter["adapter_type"] == "CPU"
        text = f"{adapter['device']}, {adapter['backend_type']}, {adapter['description']}"
        yield Finding(
            "note" if software else "ok", "adapter", f"{text}, {'software' if software else adapter['adapter_type']}",
            "It computes on the CPU: right, but slower than --device cpu, which is therefore the default."
            if software else "",
        )  # fmt: skip
    engine = __name__.replace(".app.doctor", ".engine")
    opened = _ask(_ASK_DEVICE.format(engine=engine))
    if opened.returncode == 0 and opened.stdout.strip() == "6.0":
        yield Finding("ok", "webgpu", "a device opens and computes")
    else:
        named = os.environ.get("TAPESCOPE_ADAPTER")
        yield Finding(
            "note", "webgpu", f"a device does not open: {re.sub(_EXCEPTION, '', _last_line(opened))}",
            f"The variable TAPESCOPE_ADAPTER asks for {named!r}: unset it, or name an adapter from above." if named
            else "Use --device cpu, or update the graphics driver.",
        )  # fmt: skip


def _ask(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program]
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=ADAPTER_SECONDS, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"no answer in {ADAPTER_SECONDS} seconds")


def _last_line(answer: subprocess.CompletedProcess[str]) -> str:
    lines = answer.stderr.strip().splitlines()
    if answer.returncode < 0:
        return f"the process was killed by signal {-answer.returncode}"
    return lines[-1] if lines else f"exit code {answer.returncode}"


def meaning_of_torch() -> Iterator[Finding]:
    """What `import torch` gets in a cell."""
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        yield Finding("ok", "import torch", "means Tapescope's engine (PyTorch is not installed)")
        return
    yield Finding(
        "note", "import torch", f"means PyTorch {version}, which is installed; the Tape panel then stays empty",
        "`tapescope run FILE --torch tapescope` or `--torch pytorch` says which; the status line shows it.",
    )  # fmt: skip


def graphviz() -> Iterator[Finding]:
    """The program that beautifies graphs."""
    dot = shutil.which("dot")
    if dot is None:
        yield Finding(
            "note", "Graphviz", "the program dot is not installed",
            "Graphs are laid out by Tapescope itself; dot makes small ones prettier: apt-get install graphviz",
        )  # fmt: skip
        return
    # `dot -V` answers on stderr.
    answer = subprocess.run([dot, "-V"], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
    yield Finding("ok", "Graphviz", f"{(answer.stderr or answer.stdout).strip()} ({dot})")


def compiler() -> Iterator[Finding]:
    """The C compiler that compiled functions use on the CPU."""
    named = os.environ.get("CC")
    for name in [named] if named else ["cc", "gcc", "clang"]:
        if path := shutil.which(name):
            yield Finding("ok", "C compiler", path)
            return
    yield Finding(
        "note", "C compiler", f"CC names {named}, which is not there" if named else "none found",
        "Compiled functions run as numpy calls without one, correct but slower: apt-get install gcc libc6-dev",
    )  # fmt: skip


def terminal() -> Iterator[Finding]:
    """What the terminal can show and which keys it can send."""
    yield from _terminal(abilities())


def _terminal(seen: Abilities) -> Iterator[Finding]:
    if not seen.terminal:
        yield Finding(
            "note", "terminal", "the output does not go to a terminal",
            "Run `tapescope doctor` in the terminal where the app is to open.",
        )  # fmt: skip
        return
    small = seen.columns < 80 or seen.rows < 24
    yield Finding(
        "note" if small else "ok", "terminal", f"{seen.name}, {seen.columns} columns x {seen.rows} rows",
        "The app works best from 80 columns x 24 rows on (from 100 columns on the panel stands beside the cells): "
        "enlarge the window." if small else "",
    )  # fmt: skip
    true = seen.colours > 256
    yield Finding(
        "ok" if true else "note", "colours", "16 million (truecolor)" if true else str(seen.colours),
        "" if true else "Themes are approximated. Where the terminal does have truecolor: export COLORTERM=truecolor",
    )  # fmt: skip
    yield Finding(
        "ok" if seen.unicode else "note", "unicode", "yes" if seen.unicode else "no",
        "" if seen.unicode else "Boxes and plots need it; use a UTF-8 locale: export LC_ALL=C.UTF-8",
    )  # fmt: skip
    tmux = " In tmux: set -s extended-keys on" if os.environ.get("TMUX") else ""
    yield Finding(
        "ok" if seen.kitty_keyboard else "note", "keys",
        "Shift+Enter and Ctrl+Enter arrive (kitty keyboard protocol)" if seen.kitty_keyboard
        else "Shift+Enter and Ctrl+Enter may arrive as plain Enter",
        "" if seen.kitty_keyboard else f"Run cells with Ctrl+J, Alt+Enter or F5.{tmux}",
    )  # fmt: skip


CHECKS: list[Callable[[], Iterator[Finding]]] = [
    python, libraries, adapters, meaning_of_torch, graphviz, compiler, terminal,
]  # fmt: skip
"""The report, in its order. A check is added here and nowhere else."""


def report() -> Iterator[Finding]:
    """All findings. A check that fails by itself is a finding, too."""
    for check in CHECKS:
        try:
            yield from check()
        except Exception as error:
            name = check.__name__.replace("_", " ")
            yield Finding("note", name, f"could not be looked at: {type(error).__name__}: {error}")


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def kernels() -> int:
    """Print which kernels the WebGPU adapter was found to want, measuring it where that has not been done; 1 where none opens."""
    from ..engine.backends.webgpu import DeviceError, NoAdapter, kernel_choices

    try:
        lines = kernel_choices()
    except (NoAdapter, DeviceError) as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


def main() -> int:
    """Print the report; 1 when something that is needed does not work."""
    works = True
    for finding in report():
        works = works and finding.state != "bad"
        print(f"{finding.state:4}  {finding.name:12}  {finding.text}", flush=True)
        if finding.advice:
            print(f"      {'':12}  {finding.advice}", flush=True)
    return 0 if works else 1
