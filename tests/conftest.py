"""What every test may ask for: programs and drivers of the system, and a place of its own for user files.

A test that needs something from outside Python says so::

    def test_dot(need):
        need("dot")

    def test_on_the_gpu(need_vulkan):
        need_vulkan()

Where it is missing the test is skipped with the reason, but with CI=true it fails: there a missing tool is a mistake
in the setup.  The same functions can be imported (`from conftest import need`).
"""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent
"""The checkout."""

PACKAGES = {
    "dot": "graphviz", "cc": "gcc libc6-dev", "node": "nodejs", "vulkan": "libvulkan1 mesa-vulkan-drivers",
}  # fmt: skip
"""Debian's package of a program, where it has another name."""

_ADAPTERS = """
import wgpu
print(*[a.info["device"] for a in wgpu.gpu.enumerate_adapters_sync() if a.info["backend_type"] in ("Vulkan", "Metal", "D3D12")])
"""


def pytest_configure() -> None:
    """Let Ctrl+C be heard: a shell starts what runs in the background with SIGINT ignored, and children inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def missing(reason: str) -> NoReturn:
    """Skip the running test with `reason`; with CI=true fail it."""
    if os.environ.get("CI", "").lower() in ("true", "1", "yes"):
        pytest.fail(f"{reason} (with CI=true nothing may be missing)", pytrace=False)
    pytest.skip(reason)


def need(program: str) -> str:
    """The path of a program; skips (or fails, see `missing`) without it."""
    found = shutil.which(program)
    if found is None:
        missing(f"needs the program {program}: apt-get install {PACKAGES.get(program, program)}")
    return found


def need_vulkan() -> str:
    """The names of the adapters that WebGPU can open; skips (or fails, see `missing`) where there is none."""
    names = _adapters()
    if not names:
        missing(f"needs a Vulkan adapter, software will do: apt-get install {PACKAGES['vulkan']}")
    return names


@functools.cache
def _adapters() -> str:
    # In a process of its own: opening wgpu here would settle its options before the engine does.
    found = subprocess.run([sys.executable, "-c", _ADAPTERS], capture_output=True, text=True, timeout=120)
    return found.stdout.strip() if found.returncode == 0 else ""


@pytest.fixture(scope="session", name="need")
def _need() -> Callable[[str], str]:
    return need


@pytest.fixture(scope="session", name="need_vulkan")
def _need_vulkan() -> Callable[[], str]:
    return need_vulkan


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the checkout."""
    return ROOT


@pytest.fixture(scope="session", autouse=True)
def _own_user_folders() -> Iterator[None]:
    """Settings, journals and caches of the tests go to a folder that is thrown away, also in the processes they start."""
    with tempfile.TemporaryDirectory(prefix="tapescope-tests-", ignore_cleanup_errors=True) as folder:
        names = {
            "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache",
            "IPYTHONDIR": "ipython",
        }  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            for name, part in names.items():
                patch.setenv(name, str(Path(folder, part)))
            yield
