# %% [markdown]
# # Convolutions
#
# A convolution slides one small window of weights over a picture and says at each place how well it fits. You will
# build one, see what it does to digits, train a small network of them, look at the filters it has learned, and then
# break it: with a bad initialisation the gradients die or explode, and batch norm brings them back.
#
# About 35 minutes.

# %%
import numpy as np
import plotly.graph_objects as go
import torch
from torch import nn
from torch.nn import functional as F

device = torch.get_default_device()
print(f"computing on {device}")
torch.manual_seed(0)

digits = np.load("data/digits.npz")
pictures = torch.from_numpy(digits["images"].astype(np.float32)).unsqueeze(1) / 16
labels = torch.from_numpy(digits["labels"].astype(np.int64))
order = torch.randperm(len(pictures), device="cpu")
x_train, y_train = pictures[order[:1437]].to(device), labels[order[:1437]].to(device)
x_test, y_test = pictures[order[1437:]].to(device), labels[order[1437:]].to(device)


def show(picture, title=""):
    values = picture.detach().cpu().tolist()
    figure = go.Figure(go.Heatmap(z=values[::-1], showscale=False))
    figure.update_layout(title=title)
    return figure


print("pictures", tuple(x_train.shape), "are (number, channels, rows, columns)")

# %% [markdown]
# ## One filter
#
# Nine weights. At each place: multiply the nine pixels under the window by them and add. This window has minus ones
# on its left and ones on its right.
#
# *Predict:* where is the result large for the digit 0? Where is it negative?

# %%
edge = torch.tensor([[-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]])
zero = x_train[(y_train == 0).nonzero()[0, 0]]
response = F.conv2d(zero.unsqueeze(0), edge.view(1, 1, 3, 3), padding=1)[0, 0]
for row_in, row_out in zip(zero[0].tolist(), response.tolist()):
    left = "".join(" .:-=+*#%@"[min(9, int(v * 9.99))] * 2 for v in row_in)
    right = "".join("#" * 2 if v > 1 else "-" * 2 if v < -1 else "  " for v in row_out)
    print(left, "|", right)

# %% [markdown]
# It answers where the picture gets brighter from left to right (`#`) or darker (`-`): an edge detector. Nobody has to
# design such filters; they are weights, and weights are learned.
#
# Written out, a convolution is a loop over places. *Predict:* why is `padding=1` needed to get 8 rows out of 8?


# %%
def convolve(picture, weights):
    rows, columns = picture.shape
    padded = F.pad(picture, (1, 1, 1, 1))
    out = torch.zeros(rows, columns)
    for i in range(rows):
        for j in range(columns):
            out[i, j] = (padded[i : i + 3, j : j + 3] * weights).sum()
    return out


print("largest difference", f"{(convolve(zero[0], edge) - response).abs().max().item():.1e}")

# %% [markdown]
# ## What a place can see
#
# Each layer looks one pixel further. The **receptive field** of an output is all input pixels that can change it, and
# the tape knows it: backward from one output, and look where the gradient is not zero.
#
# *Predict:* three 3x3 convolutions one after the other. How wide is the field?

# %%
with torch.device("cpu"):  # what is drawn on the CPU is the same for every device
    tall = nn.Sequential(*[nn.Conv2d(1, 1, 3, padding=1, bias=False) for _ in range(3)])
tall = tall.to(device)
with torch.no_grad():
    for layer in tall:
        layer.weight.fill_(1.0)
probe = torch.zeros(1, 1, 15, 15, requires_grad=True)
for depth in (1, 2, 3):
    probe.grad = None
    tall[:depth](probe)[0, 0, 7, 7].backward()
    seen = (probe.grad[0, 0] != 0).any(dim=0).sum().item()
    print(f"after {depth} layers a place sees {seen} x {seen} pixels")

# %% [markdown]
# ## A network
#
# Two convolutions, each followed by ReLU and by pooling (the largest of four neighbours, so that the picture halves),
# then one linear layer. The shapes, layer by layer:


# %%
class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 16, 3, padding=1)
        self.scores = nn.Linear(16 * 2 * 2, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.first(x)), 2)
        x = F.max_pool2d(F.relu(self.second(x)), 2)
        return self.scores(x.flatten(1))


with torch.device("cpu"):
    model = ConvNet()
model = model.to(device)
x = x_train[:1]
for name in ("first", "second"):
    x = F.max_pool2d(F.relu(getattr(model, name)(x)), 2)
    print(f"after {name:6} {tuple(x.shape)}")
print("weights in all:", sum(p.numel() for p in model.parameters()))


# %%
def train(model, epochs=6, lr=0.05):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    losses = []
    for _ in range(epochs):
        order = torch.randperm(len(x_train), device="cpu").to(device)
        for start in range(0, len(order), 64):
            chosen = order[start : start + 64]
            loss = F.cross_entropy(model(x_train[chosen]), y_train[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
    model.train()
    return losses, accuracy


losses, accuracy = train(model)
print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}, test accuracy {accuracy:.3f}")
figure = go.Figure(go.Scatter(y=losses, mode="lines"))
figure.update_layout(title="loss", xaxis_title="step")
figure

# %% [markdown]
# Look at the Tape of the last step: each convolution is one node that has kept its input, because the gradient of its
# weights needs it. That is where the memory of a convolutional network goes.
#
# ## What it has learned
#
# The eight filters of the first layer, side by side. Bright is a positive weight.

# %%
filters = model.first.weight.detach()[:, 0].cpu()
board = torch.zeros(2 * 4 + 1, 4 * 4 + 1)
for k in range(8):
    i, j = divmod(k, 4)
    board[4 * i + 1 : 4 * i + 4, 4 * j + 1 : 4 * j + 4] = filters[k]
show(board, "the filters of the first layer")

# %% [markdown]
# ## How a network starts
#
# A deep network multiplies many matrices. If each makes its input a little smaller, nothing is left at the end; a
# little larger, and it explodes. Here are ten layers without training; the only difference is how large the first
# weights are.
#
# *Predict:* which factor keeps the size? (ReLU throws half of it away.)


# %%
def depths(scale):
    generator = torch.Generator().manual_seed(5)
    with torch.device("cpu"):
        x = torch.randn(64, 128, generator=generator)
        weights = [torch.randn(128, 128, generator=generator) * scale / 128**0.5 for _ in range(10)]
    x = x.to(device)
    weights = [w.to(device).requires_grad_() for w in weights]
    sizes = []
    for w in weights:
        x = F.relu(x @ w)
        sizes.append(x.detach().pow(2).mean().sqrt().item())
    x.pow(2).sum().backward()
    return sizes, weights[0].grad.abs().mean().item()


for scale in (0.5, 2**0.5, 3.0):
    sizes, gradient = depths(scale)
    print(
        f"scale {scale:.3f}   activations {sizes[0]:.3f} -> {sizes[-1]:10.3e}   gradient of the first layer {gradient:.1e}"
    )

# %% [markdown]
# `sqrt(2 / inputs)` is what Kaiming He worked out for ReLU, and what `nn.init.kaiming_normal_` does.
#
# ## Histograms, layer by layer
#
# The same as pictures: how the activations of each layer are spread, badly started and well.


# %%
class Deep(nn.Module):
    def __init__(self, norm, scale):
        super().__init__()
        layers, channels = [], 1
        for _ in range(5):
            layers.append(nn.Conv2d(channels, 16, 3, padding=1, bias=not norm))
            if norm:
                layers.append(nn.BatchNorm2d(16))
            layers.append(nn.ReLU())
            channels = 16
        self.body = nn.Sequential(*layers)
        self.scores = nn.Linear(16, 10)
        for layer in self.body:
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=scale / layer.weight[0].numel() ** 0.5)

    def forward(self, x):
        return self.scores(self.body(x).mean(dim=(2, 3)))


def spread(model):
    rows, x = [], x_train[:32]
    with torch.no_grad():
        for layer in model.body:
            x = layer(x)
            if isinstance(layer, nn.ReLU):
                alive = x.cpu()[x.cpu() > 0]
                rows.append(torch.histc(alive, bins=20, min=0.0, max=2.0).tolist())
    return rows


torch.manual_seed(2)
with torch.device("cpu"):
    bad, good = Deep(False, 0.5), Deep(True, 0.5)
bad, good = bad.to(device), good.to(device)
for name, net in {"bad start": bad, "the same with batch norm": good}.items():
    rows = spread(net)
    print(name)
    for i, row in enumerate(rows, 1):
        top = max(row)
        print(f"  layer {i} ", "".join(" ▁▂▃▄▅▆▇█"[int(8 * v / top)] for v in row))

# %% [markdown]
# Each line is a histogram of what is above zero, from 0 to 2. Without batch norm everything gathers at zero, a layer later more than before.
# Batch norm measures the mean and the spread of each channel over the batch and brings them to 0 and 1.
#
# *Predict:* both are trained for four epochs. What happens to the bad one?

# %%
for name, net in {"bad start": bad, "with batch norm": good}.items():
    net_losses, net_accuracy = train(net, epochs=4, lr=0.02)
    print(f"{name:16} loss {net_losses[0]:.3f} to {net_losses[-1]:.3f}, test accuracy {net_accuracy:.3f}")

# %% [markdown]
# ## Exercise 1: how large is the result?
#
# A picture of `size` pixels, a window of `window`, with `padding` pixels added at each side, moved by `stride`. How
# many places are there along one side?
#
# <details><summary>Solution</summary>
#
# ```python
# def places(size, window, padding, stride):
#     return (size + 2 * padding - window) // stride + 1
# ```
#
# </details>


# %%
def places(size, window, padding, stride):
    return None  # your turn


# %%
if places(8, 3, 1, 1) is None:
    print("Exercise 1 waits for you.")
else:
    for case in ((8, 3, 1, 1), (8, 3, 0, 1), (28, 5, 2, 2), (7, 2, 0, 2)):
        size, window, padding, stride = case
        real = F.conv2d(
            torch.zeros(1, 1, size, size), torch.zeros(1, 1, window, window), padding=padding, stride=stride
        ).shape[-1]
        assert places(*case) == real, (
            f"for size, window, padding, stride = {case} there are {real} places, not {places(*case)}"
        )
    print("Exercise 1: right.")

# %% [markdown]
# ## Exercise 2: blur
#
# Write the 3x3 weights that replace each pixel by the mean of itself and its eight neighbours.
#
# <details><summary>Solution</summary>
#
# ```python
# blur = torch.full((3, 3), 1 / 9)
# ```
#
# </details>

# %%
blur = None  # your turn

# %%
if blur is None:
    print("Exercise 2 waits for you.")
else:
    assert tuple(blur.shape) == (3, 3), f"blur should be 3x3, but is {tuple(blur.shape)}"
    flat = F.conv2d(torch.ones(1, 1, 5, 5), blur.view(1, 1, 3, 3))
    assert abs(flat.mean().item() - 1) < 1e-5, (
        f"a blurred white picture should stay white (1), but becomes {flat.mean().item():.3f}"
    )
    dot = torch.zeros(1, 1, 5, 5)
    dot[0, 0, 2, 2] = 9.0
    assert (F.conv2d(dot, blur.view(1, 1, 3, 3)) - 1).abs().max().item() < 1e-5, "all nine pixels should count the same"
    print("Exercise 2: right.")

# %% [markdown]
# ## What to take along
#
# * A convolution is the same few weights at every place; depth widens what a place can see.
# * Its tape keeps every layer's input.
# * How large the first weights are decides whether a deep network learns at all; normalisation makes that forgiving.
#
# Next: a model of text, in `06_transformer.py`.
