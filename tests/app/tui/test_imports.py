"""What the app's process imports, and does not: the first paint waits for nothing that only a kernel needs."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import asyncio, sys
from tapescope.app.tui.app import TapescopeApp

class Kernel:
    def __init__(self, on_event, folder): pass
    def start(self): pass
    def send(self, *commands): pass
    def interrupt(self): pass
    def restart(self, *, force=False): pass
    def kill(self): pass
    def close(self): pass

async def main():
    app = TapescopeApp(None, make_kernel=Kernel)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("enter", "x", "escape")
        app.notebook_screen.keeper.discard()
        app.notebook_screen.keeper.unsaved = False

asyncio.run(main())
print(*sorted(name.partition(".")[0] for name in sys.modules))
print(*sorted(name for name in sys.modules if name.startswith("tapescope.")))
"""


def test_the_app_opens_without_what_only_kernels_need():
    """No IPython, plotly, numpy, wgpu or engine in the app's process until a person asks for something that needs it."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    packages, own = done.stdout.strip().split("\n")[-2:]
    for name in ("IPython", "plotly", "numpy", "wgpu", "jedi", "pandas", "tree_sitter"):
        assert name not in packages.split(), name
    assert "tapescope.engine" not in own.split() and "tapescope.app.tui.screen" in own.split()
