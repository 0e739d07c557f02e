"""The recorded tapes, captures and kernels as outline, terminal cells, DOT and SVG, letter by letter.

After a wanted change: `python tests/views/recorded.py --golden`, then look at the pictures and at the difference.
"""

import pytest
from views.recorded import GOLDEN, PICTURES, SHOWN, graphs, renders


@pytest.mark.parametrize("name", graphs())
def test_renders(name):
    for ending, text in renders(graphs()[name]()).items():
        assert text == (GOLDEN / f"{name}.{ending}").read_text(encoding="utf-8"), f"{name}.{ending} differs"


@pytest.mark.parametrize("name", SHOWN)
def test_the_pictures_of_the_documentation_are_these(name):
    shown = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
    assert shown == (GOLDEN / f"{name}.svg").read_text(encoding="utf-8")
    assert f"images/views/{name}.svg" in (PICTURES.parent.parent / "views.md").read_text(encoding="utf-8")
