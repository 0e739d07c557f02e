# %% [markdown]
# # A module of two layers
#
# The usual class with two linear layers, run once on a batch.

# %%
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.fc2 = nn.Linear(8, 2)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return self.fc2(x)


torch.manual_seed(0)
with torch.device("cpu"):
    model = Net()
    output = model(torch.ones(3, 4))
print(model)
print(output)

# %%
assert output.shape == (3, 2)
assert torch.allclose(output[0], output[2])
