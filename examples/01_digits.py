# %% [markdown]
# # Reading handwritten digits
#
# This notebook trains a small neural network to tell the digits 0 to 9 apart, and lets you watch what the machine
# does while it learns. It is ordinary PyTorch code: every line also runs under PyTorch itself.
#
# Run the cells one after the other with **Shift+Enter** (or Ctrl+J, Alt+Enter, F5 where the terminal swallows that
# key). Two things move while you do:
#
# * under the cells, what they print and the curve of the loss;
# * beside them, the **Tape**: every operator that ran and that `backward()` will have to walk back through.

# %%
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

device = torch.get_default_device()
print(f"computing on {device}")

# %% [markdown]
# ## The pictures
#
# 1,797 digits, each written by a person and shrunk to 8x8 pixels with values from 0 to 16. We divide by 16, so that
# every pixel lies between 0 and 1.
#
# One fifth of the pictures is set aside for the test at the end. Which ones is drawn by chance, but the seed makes
# the draw the same on every machine; and because it is drawn on the CPU, it is also the same on every device.

# %%
torch.manual_seed(0)

digits = np.load("data/digits.npz")
pictures = torch.from_numpy(digits["images"].astype(np.float32))
pictures = pictures.flatten(start_dim=1) / 16
labels = torch.from_numpy(digits["labels"].astype(np.int64))

order = torch.randperm(len(pictures), device="cpu")
train, test = order[:1437], order[1437:]

x_train, y_train = pictures[train].to(device), labels[train].to(device)
x_test, y_test = pictures[test].to(device), labels[test].to(device)

print("train", tuple(x_train.shape), "test", tuple(x_test.shape))
for row in digits["images"][0]:
    print("".join(" .:-=+*#%@"[pixel * 9 // 16] * 2 for pixel in row))
print("is a", digits["labels"][0])

# %% [markdown]
# ## The model
#
# Two linear layers with a ReLU between them. The first turns 64 pixels into 64 features, the second turns the
# features into ten scores, one a digit; the highest score wins.
#
# The first weights are drawn on the CPU and moved to the device afterwards, for the same reason as above.


# %%
class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 64)
        self.scores = nn.Linear(64, 10)

    def forward(self, x):
        return self.scores(F.relu(self.hidden(x)))


with torch.device("cpu"):
    model = DigitNet()
model = model.to(device)
model

# %% [markdown]
# ## One step, slowly
#
# Run the next cell, then look at the **Tape**. Read it from the top: each line is one operator, with the shape of
# what it made, the module it ran in (`hidden`, `scores`) and the line of code that asked for it. Select a line of the
# tape and the cursor goes to the code; put the cursor on a line of code and its operators light up.
#
# The tape is how `loss.backward()` knows what to do: it starts at the loss and walks the same lines from the last to
# the first, and at each one asks *how much would the loss change if this changed a little?* What arrives at the
# weights is their gradient.
#
# An untrained network guesses, so the loss should be near `ln(10)`, which is 2.303.

# %%
scores = model(x_train[:64])
loss = F.cross_entropy(scores, y_train[:64])
loss.backward()

print("loss", round(loss.item(), 4))
for name, parameter in model.named_parameters():
    largest = parameter.grad.abs().max().item()
    print(f"{name:14} {tuple(parameter.shape)!s:9} largest gradient {largest:.4f}")

# %% [markdown]
# ## The loop
#
# Learning is that step, many times: take 64 pictures, compute the loss, walk the tape back, move every weight a
# little against its gradient. One pass over all the pictures is an *epoch*.
#
# The curve is drawn anew after each epoch, and the tape is that of the latest step: it is recorded afresh every
# time. Interrupt the loop when you like (I I in command mode) and run the cell again: it goes on from where it was.

# %%
import plotly.graph_objects as go
from IPython.display import display

optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
batch = 64
losses = []


def loss_curve():
    steps = list(range(1, len(losses) + 1))
    figure = go.Figure(go.Scatter(x=steps, y=losses, mode="lines", name="loss"))
    figure.update_layout(title="Loss", xaxis_title="step", yaxis_title="cross entropy")
    return figure


plot = display(loss_curve(), display_id=True)
for epoch in range(1, 26):
    order = torch.randperm(len(x_train), device="cpu").to(device)
    for start in range(0, len(order), batch):
        chosen = order[start : start + batch]
        loss = F.cross_entropy(model(x_train[chosen]), y_train[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    plot.update(loss_curve())
    if epoch % 5 == 0:
        print(f"epoch {epoch:2}  loss {losses[-1]:.4f}")

# %% [markdown]
# ## The test
#
# Now the pictures that the network has never seen. Nothing is to be learned from them, so `torch.no_grad()` says that
# no tape is needed.

# %%
with torch.no_grad():
    guesses = model(x_test).argmax(dim=1)

accuracy = (guesses == y_test).float().mean().item()
print(f"test accuracy {accuracy:.3f}")

for index in (guesses != y_test).nonzero().flatten().tolist()[:5]:
    print(f"  took a {y_test[index].item()} for a {guesses[index].item()}")

# %% [markdown]
# ## Try
#
# * Give `hidden` 8 features instead of 64. How far does the accuracy fall?
# * Leave out `optimizer.zero_grad()`. What happens to the curve, and why?
# * Put a second `nn.Linear` and `F.relu` into `forward`, and look for its lines on the tape.
# * Replace `SGD` by `torch.optim.Adam(model.parameters(), lr=0.003)`.
