"""Tracebacks of cells: the user's own frames, and the engine's only when they are asked for."""

from __future__ import annotations

PROGRAM = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x)

Net()(torch.ones(5, 3))
"""


def test_a_mistake_in_a_cell_shows_the_cells_lines_only(kernel):
    heard = kernel.run(PROGRAM)
    text = heard.traceback
    assert "mat1 and mat2 shapes cannot be multiplied (5x3 and 4x2)" in text
    assert "return self.layer(x)" in text and "Net()(torch.ones(5, 3))" in text
    assert "engine" not in text and "matmul.py" not in text
    assert heard.error.line == 11


def test_the_engines_frames_on_request(kernel):
    heard = kernel.run("%xmode Verbose", PROGRAM)
    assert "matmul.py" in heard.traceback and heard.error.line == 11


def test_errors_of_numpy_under_the_engine(kernel):
    heard = kernel.run("import torch\ntorch.linalg.inv(torch.zeros(2, 2))")
    assert "numpy" not in heard.traceback and "torch.linalg.inv" in heard.traceback
