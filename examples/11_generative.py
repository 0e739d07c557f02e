# %% [markdown]
# # Making new digits
#
# So far networks judged pictures. Here one makes them: a *variational autoencoder*. It learns to squeeze a digit into
# four numbers and to unfold it again; then we choose four numbers ourselves. About 30 minutes.

# %%
import numpy as np
import plotly.graph_objects as go
import torch
from torch import nn
from torch.nn import functional as F

device = torch.get_default_device()
print(f"computing on {device}")

digits = np.load("data/digits.npz")
pictures = (torch.from_numpy(digits["images"].astype(np.float32)).flatten(1) / 16).to(device)
labels = torch.from_numpy(digits["labels"].astype(np.int64)).to(device)


def draw(*rows):
    """Pictures (64 values each) side by side."""
    grids = [row.detach().cpu().view(8, 8).tolist() for row in rows]
    for y in range(8):
        print("  ".join("".join(" .:-=+*#%@"[min(9, max(0, int(v * 9.99)))] * 2 for v in g[y]) for g in grids))


draw(*pictures[:4])

# %% [markdown]
# ## Squeeze and unfold
#
# An **encoder** turns 64 pixels into a mean and a spread for each of four numbers, the *code*; a **decoder** turns a code
# into 64 pixels. In between, the code is drawn at random around the mean.
#
# Drawing has no gradient. The trick: draw `noise` from a fixed distribution and compute `mean + spread * noise`. Now the
# randomness is an input like any other, and gradients pass through the rest.


# %%
class VAE(nn.Module):
    def __init__(self, code=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 2 * code))
        self.decoder = nn.Sequential(nn.Linear(code, 96), nn.ReLU(), nn.Linear(96, 64))
        self.code = code

    def encode(self, x):
        mean, log_variance = self.encoder(x).chunk(2, dim=-1)
        return mean, log_variance

    def forward(self, x, noise):
        mean, log_variance = self.encode(x)
        code = mean + (0.5 * log_variance).exp() * noise
        return self.decoder(code), mean, log_variance


torch.manual_seed(0)
with torch.device("cpu"):
    model = VAE()
model = model.to(device)

# %% [markdown]
# ## Two wishes
#
# * *The picture shall come back*: binary cross entropy between what went in and what came out.
# * *Codes shall lie near zero, close together*: otherwise every picture would get a corner of its own, and the space
#   between would be empty. The price for leaving is the KL divergence to a standard normal distribution.
#
# *Predict:* which of the two is larger at the start? Which one rises during training?


# %%
def wishes(x, noise):
    scores, mean, log_variance = model(x, noise)
    picture = F.binary_cross_entropy_with_logits(scores, x, reduction="none").sum(-1).mean()
    near = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(-1).mean()
    return picture, near


generator = torch.Generator().manual_seed(1)


def noise_for(count):
    return torch.randn(count, model.code, generator=generator, device="cpu").to(device)


optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
history = []
for epoch in range(1, 61):
    order = torch.randperm(len(pictures), generator=generator, device="cpu").to(device)
    for start in range(0, len(order), 128):
        x = pictures[order[start : start + 128]]
        picture, near = wishes(x, noise_for(len(x)))
        loss = picture + near
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    history.append((picture.item(), near.item()))
    if epoch in (1, 20, 40, 60):
        print(f"epoch {epoch:2}  picture {history[-1][0]:6.2f}  near {history[-1][1]:5.2f}")
figure = go.Figure(
    [go.Scatter(y=[h[i] for h in history], mode="lines", name=n) for i, n in enumerate(("picture", "near"))]
)
figure.update_layout(title="the two wishes", xaxis_title="epoch")
figure

# %% [markdown]
# ## Does it come back?
#
# Above what went in, below what came out of four numbers:

# %%
with torch.no_grad():
    mean, _ = model.encode(pictures[:4])
    back = model.decoder(mean).sigmoid()
draw(*pictures[:4])
print()
draw(*back)
print("codes", [[round(v, 1) for v in row] for row in mean[:2].tolist()])

# %% [markdown]
# ## The map of the codes
#
# Two of the four numbers as a map. Nobody told the model which digit is which.

# %%
with torch.no_grad():
    mean, _ = model.encode(pictures)
centres = torch.stack([mean[labels == d].mean(0) for d in range(10)])
apart = torch.cdist(centres.cpu(), centres.cpu())
figure = go.Figure(
    [
        go.Scatter(
            x=mean[labels == d][:60, 0].tolist(), y=mean[labels == d][:60, 1].tolist(), mode="markers", name=str(d)
        )
        for d in range(10)
    ]
)
figure.update_layout(title="codes by digit")
print("mean distance between the centres of two digits:", round(apart.sum().item() / 90, 1))
figure

# %% [markdown]
# ## New ones
#
# Draw codes from a standard normal distribution, and unfold. And walk in a straight line from the code of one digit to
# another's: all the way there should be something like a digit, because codes were made to lie close together.
#
# *Predict:* what stands in the middle between a 0 and a 1?

# %%
with torch.no_grad():
    fresh = model.decoder(noise_for(4)).sigmoid()
    print("drawn by chance")
    draw(*fresh)
    a, b = centres[0], centres[1]
    walk = torch.stack([a + (b - a) * t for t in (0.0, 0.33, 0.67, 1.0)])
    print("\nfrom 0 to 1")
    draw(*model.decoder(walk).sigmoid())

# %% [markdown]
# ## How good are they?
#
# One honest measure: a classifier trained on real digits judges the invented ones. How sure is it?

# %%
torch.manual_seed(3)
with torch.device("cpu"):
    judge = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
judge = judge.to(device)
judge_optimizer = torch.optim.Adam(judge.parameters(), lr=5e-3)
for _ in range(150):
    loss = F.cross_entropy(judge(pictures), labels)
    judge_optimizer.zero_grad()
    loss.backward()
    judge_optimizer.step()
with torch.no_grad():
    invented = model.decoder(noise_for(300)).sigmoid()
    sure = judge(invented).softmax(-1).amax(-1)
    kinds = judge(invented).argmax(-1).unique().numel()
print(
    f"the judge is quite sure of {(sure > 0.8).float().mean().item():.2f} of the invented digits; it sees {kinds} different ones"
)

# %% [markdown]
# ## Exercise 1: the price of leaving
#
# `kl(mean, log_variance)` for one code (a vector each): `-0.5 * sum(1 + log_variance - mean**2 - exp(log_variance))`.
#
# <details><summary>Solution</summary>
#
# ```python
# def kl(mean, log_variance):
#     return -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum()
# ```
#
# </details>


# %%
def kl(mean, log_variance):
    return None  # your turn


# %%
from torch.distributions import Normal, kl_divergence

m, lv = torch.tensor([0.5, -1.0]), torch.tensor([0.2, -0.7])
if kl(m, lv) is None:
    print("Exercise 1 waits for you.")
else:
    zero = kl(torch.zeros(2), torch.zeros(2)).item()
    assert abs(zero) < 1e-6, f"a code that is standard normal already costs nothing, but you say {zero}"
    standard = Normal(torch.zeros(2, device="cpu"), torch.ones(2, device="cpu"))
    right = kl_divergence(Normal(m.cpu(), (0.5 * lv.cpu()).exp()), standard).sum().item()
    assert abs(kl(m, lv).item() - right) < 1e-4, f"torch.distributions says {right:.4f}, you say {kl(m, lv).item():.4f}"
    print("Exercise 1: right.")

# %% [markdown]
# ## Exercise 2: half way
#
# Write `between(a, b, steps)`: a tensor of `steps` codes that go from `a` to `b` in equal steps, both ends included.
#
# <details><summary>Solution</summary>
#
# ```python
# def between(a, b, steps):
#     t = torch.linspace(0, 1, steps).unsqueeze(1)
#     return a + (b - a) * t
# ```
#
# </details>


# %%
def between(a, b, steps):
    return None  # your turn


# %%
path = between(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 2.0]), 5)
if path is None:
    print("Exercise 2 waits for you.")
else:
    assert tuple(path.shape) == (5, 2), f"5 codes of 2 numbers should have the shape (5, 2), not {tuple(path.shape)}"
    assert path[0].tolist() == [0.0, 0.0] and path[-1].tolist() == [1.0, 2.0], "both ends belong to it"
    assert (path[2] - torch.tensor([0.5, 1.0])).abs().max().item() < 1e-6, (
        f"half way should be (0.5, 1), not {path[2].tolist()}"
    )
    print("Exercise 2: right.")

# %% [markdown]
# ## What to take along
#
# * To make things, learn a small space in which everything is something.
# * Randomness that must be differentiated is moved to the inputs.
# * Judge what was made by something that did not make it.
#
# Next: learning without examples, from rewards alone, in `12_policy_gradient.py`.
