"""What a new notebook starts with, as text of the percent format. One entry in `TEMPLATES` is one kind."""

from __future__ import annotations

EMPTY = """\
# %%
"""

MODEL = """\
# %% [markdown]
# # A small model
#
# A network of two layers learns the squared distance of points from the origin. Run the cells from the top; the panel
# beside them shows what the machine does.

# %%
import torch
from torch import nn

torch.manual_seed(0)

# %%
x = torch.randn(256, 2)
y = (x * x).sum(1, keepdim=True)

# %%
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(2, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

# %%
for step in range(200):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step:3d}  loss {loss.item():.4f}")

# %%
with torch.no_grad():
    print(model(torch.tensor([[1.0, 1.0], [0.0, 2.0]])))
"""

TEMPLATES = {"empty": EMPTY, "model": MODEL}
