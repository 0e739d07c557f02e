# %% [markdown]
# # Reading handwritten digits
#
# This notebook trains a small neural network to tell the digits 0 to 9 apart, and lets you watch what the machine
# does while it learns. It is ordinary PyTorch code: every line also runs under PyTorch itself. It takes about 20
# minutes, and before some cells stands a question: answer it for yourself, then run the cell.
#
# Run the cells one after the other with **Shift+Enter** (in a terminal that swallows this key: Ctrl+J, Alt+Enter or F5).
# Two things move while you do:
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
#
# *Predict:* how many numbers are there to learn? (Each of the 64 features has a weight for every pixel and one number,
# the bias, that is added.)


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
print("numbers to learn:", sum(p.numel() for p in model.parameters()))
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
# *Predict:* an untrained network guesses among ten digits, and this loss is minus the logarithm of the probability that
# the right digit got. Near which number will it be?

# %%
scores = model(x_train[:64])
loss = F.cross_entropy(scores, y_train[:64])
loss.backward()

print("loss", round(loss.item(), 4))
for name, parameter in model.named_parameters():
    largest = parameter.grad.abs().max().item()
    print(f"{name:14} {tuple(parameter.shape)!s:9} largest gradient {largest:.4f}")

# %% [markdown]
# A tenth for each digit: `-ln(1/10)` is 2.303, and the loss is near it. The gradients are small numbers with the shape of
# the weights they belong to: where one is positive, more of that weight would make the loss larger.
#
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
#
# *Predict:* a guess would be right once in ten. How often is the network? And which digits will it take for each other?

# %%
with torch.no_grad():
    guesses = model(x_test).argmax(dim=1)

accuracy = (guesses == y_test).float().mean().item()
print(f"test accuracy {accuracy:.3f}")

for index in (guesses != y_test).nonzero().flatten().tolist()[:5]:
    print(f"  took a {y_test[index].item()} for a {guesses[index].item()}")

# %% [markdown]
# ## Exercise 1: one step by hand
#
# `optimizer.step()` is no magic. Write `step(parameters, lr)`: move each parameter against its gradient, by `lr` times the
# gradient. Do it under `torch.no_grad()`, because the step itself does not belong on the tape, and in place (`-=`), so
# that the model sees it. Return the parameters.
#
# <details><summary>Solution</summary>
#
# ```python
# def step(parameters, lr):
#     with torch.no_grad():
#         for p in parameters:
#             p -= lr * p.grad
#     return parameters
# ```
#
# </details>


# %%
def step(parameters, lr):
    return None  # your turn


# %%
if step([], 0.1) is None:
    print("Exercise 1 waits for you.")
else:
    with torch.device("cpu"):
        mine, library = (torch.tensor([1.0, -2.0], requires_grad=True) for _ in range(2))
    for p in (mine, library):
        (p**2).sum().backward()
    step([mine], 0.1)
    torch.optim.SGD([library], lr=0.1).step()
    assert mine.is_leaf, "the parameter is the same tensor as before: change it in place, with -="
    assert not torch.equal(mine, torch.tensor([1.0, -2.0], device="cpu")), "nothing has moved: is it p -= lr * p.grad?"
    assert torch.allclose(mine, library), (
        f"from [1, -2] with the gradient [2, -4] and lr 0.1 a step leads to {library.tolist()}, not to {mine.tolist()}"
    )
    print("Exercise 1: right.")

# %% [markdown]
# ## Exercise 2: which digit is the hardest?
#
# Write `accuracy_of(digit, guesses, truth)`: how large a part of the pictures of `digit` got the right guess, as a number
# from 0 to 1. (`truth == digit` is a mask: True where the picture shows that digit. `guesses[mask]` are the guesses for
# those.)
#
# <details><summary>Solution</summary>
#
# ```python
# def accuracy_of(digit, guesses, truth):
#     mask = truth == digit
#     return (guesses[mask] == digit).float().mean().item()
# ```
#
# </details>


# %%
def accuracy_of(digit, guesses, truth):
    return None  # your turn


# %%
shown, said = torch.tensor([3, 3, 5, 3, 5]), torch.tensor([3, 5, 5, 3, 5])
if accuracy_of(3, said, shown) is None:
    print("Exercise 2 waits for you.")
else:
    found = accuracy_of(3, said, shown)
    assert abs(found - 2 / 3) < 1e-6, f"of three pictures of a 3 two were read as a 3: that is 0.667, not {found:.3f}"
    assert accuracy_of(5, said, shown) == 1.0, "both pictures of a 5 were read as a 5; only pictures of the digit count"
    hardest = min(range(10), key=lambda d: accuracy_of(d, guesses, y_test))
    print(f"Exercise 2: right. The hardest digit is {hardest}.")

# %% [markdown]
# ## What to take along
#
# * A model is numbers; a loss says how wrong they are; the tape says which way each should move.
# * Every step records a tape of its own, and `backward()` walks it once.
# * What was learned is judged on pictures that were not learned from.
#
# To try: give `hidden` 8 features instead of 64. Leave out `optimizer.zero_grad()`; what happens to the curve, and why?
# Put a second `nn.Linear` and `F.relu` into `forward`, and look for its lines on the tape. Replace `SGD` by
# `torch.optim.Adam(model.parameters(), lr=0.003)`.
#
# Next: what `backward()` does, step by step, in `02_backward.py`.
