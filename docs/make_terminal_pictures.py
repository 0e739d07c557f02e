"""Makes the pictures of docs/terminal-app.md: the app at work on small notebooks, as SVG.

python docs/make_terminal_pictures.py [NAME ...]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

from tapescope.app.tui.screenshot import take

DOCS = Path(__file__).resolve().parent
DIGITS = DOCS.parent / "examples" / "01_digits.py"

LEARN = """# %%
import torch
from torch import nn
torch.manual_seed(0)
x, y = torch.randn(64, 3), torch.randn(64)
net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)

# %%
for step in range(40):
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
print("loss", loss.item())

# %%
before = net(x)
weights = torch.softmax(torch.randn(500), 0)
broken = torch.tensor([0.0, float("nan"), 1.0])
"""

COMPILED = """# %%
import torch

@torch.compile
def step(x, w):
    h = torch.relu(x @ w)
    if h.sum() > 0:
        h = h * 2
    return (h - h.mean()).pow(2).sum()

# %%
w = torch.randn(4, 3, requires_grad=True)
for size in (8, 9, 10):
    step(torch.randn(size, 4), w)
"""

PICTURES: dict[str, tuple[str | Path, dict[str, Any]]] = {
    "tape": (DIGITS, {"select": 9, "size": (150, 58)}),
    "graph": (LEARN, {"do": ["graph"], "size": (130, 38)}),
    "costs": (LEARN, {"do": ["cost_gutter", "restart_run_all"], "size": (150, 34)}),
    "steps": (LEARN, {"select": 1, "do": ["scrub"], "keys": ["b"], "size": (130, 34)}),
    "breaks": (COMPILED, {"do": ["breaks"], "size": (130, 34)}),
    "variables": (LEARN, {"do": ["variables"], "keys": ["home"], "size": (130, 34), "theme": "tapescope-light"}),
    "search": (LEARN, {"do": ["find"], "keys": list("loss"), "size": (100, 30)}),
    "small": (DIGITS, {"select": 11, "size": (80, 24), "theme": "tapescope-contrast"}),
}
"""Name of each picture: its notebook (a path, or its text) and how it is taken."""


def main(names: list[str]) -> int:
    """Make the named pictures, or all."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names or PICTURES:
            source, options = PICTURES[name]
            path = source if isinstance(source, Path) else Path(folder, "lesson.py")
            if isinstance(source, str):
                path.write_text(source, encoding="utf-8")
            target = DOCS / "images" / f"terminal-{name}.svg"
            target.write_text(asyncio.run(take(path, **options)), encoding="utf-8")
            print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
