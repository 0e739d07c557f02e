# %% [markdown]
# # Numbers that are not quite numbers
#
# A float32 has 24 significant bits. Most of the time nobody notices. This lesson is about the other times: sums that
# lose their small parts, softmax that overflows, a NaN and how to find where it was born, and what half precision
# gives and takes. About 30 minutes.

# %%
import math

import torch
from torch import nn
from torch.nn import functional as F

device = torch.get_default_device()
print(f"computing on {device}")

# %% [markdown]
# ## The gap between neighbours
#
# Floats lie close together near zero and further apart the larger they are. The gap at 1.0 is called `eps`; one gap is
# a *unit in the last place*, ulp.
#
# *Predict:* what is `16777216 + 1` in float32?


# %%
def gap(x):
    """The distance from a float32 to the next larger one."""
    bits = torch.tensor(x, device="cpu").view(torch.int32)
    return ((bits + 1).view(torch.float32) - bits.view(torch.float32)).item()


for x in (0.001, 1.0, 1000.0, 16777216.0):
    print(f"after {x:12} the next float32 is {gap(x):.3e} further")
print("16777216 + 1 is", (torch.tensor(16777216.0) + 1).item())
print(
    "0.1 + 0.2 == 0.3?",
    bool(torch.tensor(0.1) + torch.tensor(0.2) == torch.tensor(0.3)),
    "in float32, and",
    0.1 + 0.2 == 0.3,
    "in Python's float64",
)

# %% [markdown]
# ## Adding many
#
# Add 0.1 a hundred thousand times, one after the other: as soon as the sum is large, each 0.1 loses its last digits. The
# library's `sum` adds in pairs, pairs of pairs, and so on: everything that is added is about the same size.
#
# *Predict:* how far off is the loop?

# %%
tenths = torch.full((100_000,), 0.1)
one_by_one = torch.tensor(0.0, device="cpu")
tenth = torch.tensor(0.1, device="cpu")
for _ in range(100_000):
    one_by_one = one_by_one + tenth
print("exact                  ", 0.1 * 100_000)
print("one after the other    ", round(one_by_one.item(), 3))
print("torch.sum              ", round(tenths.sum().item(), 3))

# %% [markdown]
# ## Softmax overflows
#
# `exp(89)` is more than a float32 can hold. The formula from the book, `exp(x) / sum(exp(x))`, gives `inf / inf`.
#
# *Predict:* subtracting the largest value from all of them changes nothing in mathematics. What does it change here?


# %%
def softmax_of_the_book(x):
    return x.exp() / x.exp().sum()


def softmax_with_shift(x):
    shifted = (x - x.max()).exp()
    return shifted / shifted.sum()


for scores in ([1.0, 2.0, 3.0], [100.0, 101.0, 102.0]):
    x = torch.tensor(scores)
    print(
        scores,
        " book",
        [round(v, 4) for v in softmax_of_the_book(x).tolist()],
        " shifted",
        [round(v, 4) for v in softmax_with_shift(x).tolist()],
    )

# %% [markdown]
# The same with `log(softmax(x))`: small probabilities become 0 and their logarithm minus infinity, long before the true
# logarithm is extreme. That is why losses take *scores* and not probabilities (`F.cross_entropy`, not
# `-log(softmax)`), and why the notebook gives a hint when it sees a softmax before a cross entropy.

# %%
x = torch.tensor([0.0, -200.0])
print("log of softmax", x.softmax(0).log().tolist(), " log_softmax", x.log_softmax(0).tolist())

# %% [markdown]
# ## Where did the NaN come from?
#
# A loss that is NaN says nothing about its cause: NaN spreads through everything that it touches. Here is a model with
# a mistake in it.
#
# *Predict:* which line makes the first NaN, and is it in the forward or in the backward pass?


# %%
class Distance(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(2, 2)

    def forward(self, a, b):
        difference = self.embed(a) - self.embed(b)
        return difference.pow(2).sum(-1).sqrt()


torch.manual_seed(0)
with torch.device("cpu"):
    model = Distance()
model = model.to(device)
a = torch.tensor([[1.0, 2.0], [3.0, 3.0]])
b = torch.tensor([[0.0, 1.0], [3.0, 3.0]])
loss = model(a, b).mean()
loss.backward()
print("loss", round(loss.item(), 4), " gradient", model.embed.weight.grad.tolist())

# %% [markdown]
# The loss is fine, the gradient is not. The second pair is equal, so its distance is `sqrt(0)`, whose slope is infinite;
# infinity times the slope of `0**2`, which is 0, is NaN.
#
# **Anomaly mode** finds such things: it stops at the first operator whose gradient is NaN, and names the line of the
# forward pass.

# %%
import warnings

model.zero_grad()
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    try:
        with torch.autograd.detect_anomaly():
            model(a, b).mean().backward()
    except RuntimeError as error:
        print(error)
print("the forward line was:", str(said[-1].message).strip().splitlines()[-1].strip())

# %% [markdown]
# The cure is a small number under the root. Is it a hack? It says: *I do not care about distances below a millionth*,
# which is true, and now it is written down.

# %%
model.zero_grad()
difference = model.embed(a) - model.embed(b)
(difference.pow(2).sum(-1) + 1e-12).sqrt().mean().backward()
print("gradient is finite:", bool(model.embed.weight.grad.isfinite().all()))

# %% [markdown]
# ## Half precision
#
# float16 has 11 significant bits and ends at 65504. bfloat16 has 8 bits, and float32's range.
#
# *Predict:* which of them loses small gradients, and which loses digits?

# %%
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    info = torch.finfo(dtype)
    with torch.device("cpu"):
        tiny = torch.tensor(1e-8).to(dtype).item()
        third = (torch.tensor(1.0) / 3).to(dtype).item()
        large = torch.tensor(70000.0).to(dtype).item()
    print(
        f"{dtype!s:15} eps {info.eps:.1e}  largest {info.max:.2e}  1e-8 is {tiny:.1e}  1/3 is {third:.6f}  70000 is {large}"
    )

# %% [markdown]
# Gradients are often below `6e-8`, where float16 ends at the lower side. **Loss scaling** multiplies the loss by a
# large number before `backward` and divides the gradients afterwards. `torch.amp` does both, and chooses for each
# operator whether half precision is good enough (matmul) or not (a mean of squares).

# %%
with torch.device("cpu"):
    g = torch.Generator().manual_seed(1)
    weight = torch.randn(8, 8, generator=g).requires_grad_()
    inputs = torch.randn(4, 8, generator=g)
    for scale in (1.0, 2.0**16):
        weight.grad = None
        half = inputs.half() @ weight.half()
        (half.float().mean() * 2e-7 * scale).backward()
        grad = weight.grad / scale
        print(f"loss times {scale:7.0f}: {int((grad == 0).sum())} of {grad.numel()} gradients are zero")

# %% [markdown]
# And autocast, in the words of the library:

# %%
with torch.device("cpu"):
    layer = nn.Linear(16, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = layer(torch.randn(2, 16))
        loss = F.mse_loss(out, torch.zeros(2, 4))
    print("linear gave", out.dtype, " mse_loss gave", loss.dtype, " the weights stay", layer.weight.dtype)

# %% [markdown]
# ## How exact are the functions?
#
# Even `exp` is an approximation. The error in ulp: how many neighbours away is the result from the right one?

# %%
with torch.device("cpu"):
    points = torch.linspace(-10, 10, 2001)
for name in ("exp", "sin", "tanh", "log1p", "erf"):
    x = points.abs() if name == "log1p" else points
    ours = getattr(torch, name)(x.to(device)).cpu()
    right = getattr(torch, name)(x.double())
    step = torch.tensor([gap(abs(v)) for v in right.float().tolist()], device="cpu").clamp(min=1e-45)
    error = ((ours.double() - right).abs() / step.double()).max().item()
    print(f"{name:6} at most {next(n for n in (1, 2, 4, 8, 1000) if error <= n)} ulp off")

# %% [markdown]
# ## Exercise 1: log-sum-exp
#
# `log(sum(exp(x)))` without overflow, for a vector. (Shift, then undo the shift.)
#
# <details><summary>Solution</summary>
#
# ```python
# def log_sum_exp(x):
#     top = x.max()
#     return top + (x - top).exp().sum().log()
# ```
#
# </details>


# %%
def log_sum_exp(x):
    return None  # your turn


# %%
if log_sum_exp(torch.tensor([0.0])) is None:
    print("Exercise 1 waits for you.")
else:
    for scores in ([0.0, 0.0], [1000.0, 1000.0], [-1000.0, -1001.0]):
        x = torch.tensor(scores)
        mine, right = log_sum_exp(x).item(), torch.logsumexp(x, 0).item()
        assert math.isfinite(mine), f"for {scores} you get {mine}: subtract the largest first"
        assert abs(mine - right) < 1e-3, f"for {scores} it should be {right:.4f}, not {mine:.4f}"
    print("Exercise 1: right.")

# %% [markdown]
# ## Exercise 2: a variance that survives
#
# `mean(x**2) - mean(x)**2` is the variance in mathematics. For numbers near 10,000 it subtracts two large numbers that
# agree in nearly all their digits. Write one that is right.
#
# <details><summary>Solution</summary>
#
# ```python
# def variance(x):
#     return (x - x.mean()).pow(2).mean()
# ```
#
# </details>


# %%
def variance(x):
    return None  # your turn


# %%
x = torch.tensor([10000.0, 10001.0, 10002.0])
print("the formula from the book says", ((x**2).mean() - x.mean() ** 2).item())
if variance(x) is None:
    print("Exercise 2 waits for you.")
else:
    assert abs(variance(x).item() - 2 / 3) < 1e-3, (
        f"the variance is 2/3, but you get {variance(x).item()}: subtract the mean first"
    )
    print("Exercise 2: right.")

# %% [markdown]
# ## What to take along
#
# * Add things of like size; subtract before you square; take losses that take scores.
# * A NaN has one birthplace: anomaly mode, or the hint under the cell, names the line.
# * Half precision is a trade of digits (bfloat16) or range (float16).
#
# Next: prove that a backward is right, in `10_reference.py`.
