"""The recorded tapes as outline, DOT and SVG, letter by letter.

After a wanted change: `python tests/views/recorded.py --golden`, then look at the pictures and at the difference.
"""

import pytest
from views.recorded import GOLDEN, every, load, renders


@pytest.mark.parametrize("name", every())
def test_renders(name):
    for ending, text in renders(load(name)).items():
        assert text == (GOLDEN / f"{name}.{ending}").read_text(encoding="utf-8"), f"{name}.{ending} differs"
