"""The views stand alone: they load neither the engine nor numpy, and the versions they read are those that it writes."""

import pkgutil
import subprocess
import sys
from pathlib import Path

from tapescope import graphviz_views
from tapescope.engine import display as engine_display
from tapescope.engine import observe
from tapescope.graphviz_views import display, modules, tape


def test_the_views_load_neither_the_engine_nor_numpy():
    names = [m.name for m in pkgutil.iter_modules(graphviz_views.__path__)]
    assert len(names) > 20
    code = f"import sys\nfrom tapescope.graphviz_views import {', '.join(names)}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "tapescope.graphviz_views.browse" in loaded
    assert not [
        m for m in loaded if m.startswith("tapescope.engine") or m.partition(".")[0] in ("numpy", "wgpu", "textual")
    ]


def test_the_versions_and_types_are_the_engine_s():
    assert tape.TAPE_VERSION == observe.TAPE_VERSION
    assert modules.MODULE_VERSION == engine_display.MODULE_VERSION
    assert (display.TAPE_MIME, display.CAPTURE_MIME, display.KERNELS_MIME) == (
        observe.TAPE_MIME, observe.CAPTURE_MIME, observe.KERNELS_MIME,
    )  # fmt: skip


def test_they_import_nothing_of_the_project_but_themselves():
    for file in Path(graphviz_views.__path__[0]).glob("*.py"):
        assert "from ..." not in file.read_text() and "from .." not in file.read_text(), file
