"""The recorded tapes, captures and kernels as outline, terminal cells, DOT and SVG, letter by letter.

After a wanted change: `python tests/views/recorded.py --golden`, then look at the pictures and at the difference.
"""

import pytest
from views.recorded import GOLDEN, graphs, renders


@pytest.mark.parametrize("name", graphs())
def test_renders(name):
    for ending, text in renders(graphs()[name]()).items():
        assert text == (GOLDEN / f"{name}.{ending}").read_text(encoding="utf-8"), f"{name}.{ending} differs"
