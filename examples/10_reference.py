# %% [markdown]
# # Reference and implementation
#
# How do people who write kernels know that they are right? They keep two versions: a *reference*, slow and obviously
# right, and an *implementation*, fast and clever, and they compare them until they trust it. You will write the
# backward pass of layer norm by hand and judge it in three ways: by finite differences, against the tape, and bit for
# bit. About 30 minutes.

# %%
import torch
from torch.nn import functional as F

device = torch.get_default_device()
print(f"computing on {device}")

# %% [markdown]
# ## The reference
#
# Layer norm brings every row to mean 0 and variance 1, then stretches and shifts it. In four lines, whose gradient the
# tape finds by itself:


# %%
def reference(x, weight, bias, eps=1e-5):
    mean = x.mean(-1, keepdim=True)
    variance = (x - mean).pow(2).mean(-1, keepdim=True)
    normal = (x - mean) / (variance + eps).sqrt()
    return normal * weight + bias


with torch.device("cpu"):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(6, 8, generator=generator, dtype=torch.float64)
    weight = torch.randn(8, generator=generator, dtype=torch.float64)
    bias = torch.randn(8, generator=generator, dtype=torch.float64)
    difference = (reference(x, weight, bias) - F.layer_norm(x, (8,), weight, bias)).abs().max().item()
print("reference against the library, float64:", "below 1e-12" if difference < 1e-12 else difference)

# %% [markdown]
# Look at its tape. *Predict:* how many tensors of the size of `x` must be kept for backward?
# (`saved_tensors_hooks` are called for everything that is.)

# %%
kept = []
leaves = [t.clone().requires_grad_() for t in (x, weight, bias)]
with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
    out = reference(*leaves)
seen, waiting = set(), [out.grad_fn]
while waiting:
    node = waiting.pop()
    if node is None or node in seen:
        continue
    seen.add(node)
    waiting += [n for n, _ in node.next_functions]
names = sorted(n.name().split("::")[-1] for n in seen)
print(len(names), "nodes:", ", ".join(n.replace("Backward0", "") for n in names))
print("kept tensors of the size of x:", sum(n == x.numel() for n in kept))

# %% [markdown]
# The square and the division both need `x - mean`, and the product with `weight` needs the normalised rows.
#
# ## By hand
#
# Let `n` be the normalised row, `r = 1 / sqrt(variance + eps)`, and `h = g * weight` the gradient that arrives at `n`.
# Working through the chain rule for one row of `N` numbers gives a short result:
#
# `dx = r * (h - mean(h) - n * mean(h * n))`
#
# In words: take the gradient, remove its mean (shifting a row changes nothing), remove its part along `n` (stretching a
# row changes nothing), and scale. Everything else in the long tape cancels.


# %%
class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        mean = x.mean(-1, keepdim=True)
        r = ((x - mean).pow(2).mean(-1, keepdim=True) + eps).rsqrt()
        n = (x - mean) * r
        ctx.save_for_backward(n, r, weight)
        return n * weight + bias

    @staticmethod
    def backward(ctx, g):
        n, r, weight = ctx.saved_tensors
        h = g * weight
        dx = r * (h - h.mean(-1, keepdim=True) - n * (h * n).mean(-1, keepdim=True))
        rows = tuple(range(g.dim() - 1))
        return dx, (g * n).sum(rows), g.sum(rows), None


def implementation(x, weight, bias, eps=1e-5):
    return LayerNorm.apply(x, weight, bias, eps)


# %% [markdown]
# ## First judge: finite differences
#
# They know nothing of formulas. In float64 they are good to about seven digits, which is enough to find a wrong sign or
# a forgotten term, in every single input.

# %%
inputs = [t.clone().requires_grad_() for t in (x, weight, bias)]
print("gradcheck", torch.autograd.gradcheck(implementation, inputs))

# %% [markdown]
# What does it say when something *is* wrong? Here the last term is missing:


# %%
class Forgetful(LayerNorm):
    @staticmethod
    def backward(ctx, g):
        n, r, weight = ctx.saved_tensors
        h = g * weight
        return r * (h - h.mean(-1, keepdim=True)), (g * n).sum(0), g.sum(0), None


try:
    torch.autograd.gradcheck(lambda *i: Forgetful.apply(*i, 1e-5), inputs)
except RuntimeError as error:
    print(str(error).splitlines()[0][:90])

# %% [markdown]
# ## Second judge: the tape
#
# Same inputs, same gradient arriving, two ways. In float64 they must agree to nearly all digits.


# %%
def gradients(function, dtype):
    leaves = [t.detach().to(dtype).requires_grad_() for t in (x, weight, bias)]
    generator = torch.Generator().manual_seed(9)
    with torch.device("cpu"):
        g = torch.randn(6, 8, generator=generator, dtype=torch.float64).to(dtype)
    function(*leaves).backward(g)
    return [leaf.grad for leaf in leaves]


for dtype in (torch.float64, torch.float32):
    pairs = zip(gradients(reference, dtype), gradients(implementation, dtype))
    worst = max((a - b).abs().max().item() for a, b in pairs)
    print(
        f"{dtype!s:14} largest difference {'below 1e-12' if worst < 1e-12 else 'below 1e-5' if worst < 1e-5 else worst}"
    )

# %% [markdown]
# *Predict:* in float32 they differ a little. Which of the two is nearer to the truth?

# %%
truth = gradients(reference, torch.float64)
for name, function in (("reference", reference), ("implementation", implementation)):
    error = max((a.double() - t).abs().max().item() for a, t in zip(gradients(function, torch.float32), truth))
    print(f"{name:15} error in float32: {'below 5e-6' if error < 5e-6 else error}")

# %% [markdown]
# Neither, as far as it matters: both are a few units in the last place off, each in other places. So the tape in float32 is
# a poor judge of float32; the truth is what float64 says.
#
# ## Third judge: bit for bit
#
# Two float32 results that differ in the last digit are usually both fine. But when an implementation claims to do *the
# same steps*, equality is the sharpest test there is: it finds a swapped order, a wrong rounding, a stray cast. The
# forward passes of `LayerNorm` and of this version promise to be the same steps:


# %%
def same_steps(x, weight, bias, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    r = (centred.pow(2).mean(-1, keepdim=True) + eps).rsqrt()
    return centred * r * weight + bias


a = implementation(x.float(), weight.float(), bias.float())
b = same_steps(x.float(), weight.float(), bias.float())
print("bit for bit:", torch.equal(a, b))

# %% [markdown]
# ## What it costs
#
# The reference keeps several tensors of the size of its input; the implementation keeps `n` and `r`. In bytes:


# %%
def bytes_saved(function):
    total = []

    def pack(t):
        total.append(t.numel() * t.element_size())
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        function(*[t.clone().requires_grad_() for t in (x, weight, bias)])
    return sum(total)


print(
    "kept for backward: reference",
    bytes_saved(reference),
    "bytes, implementation",
    bytes_saved(implementation),
    "bytes",
)

# %% [markdown]
# ## Exercise 1: RMS norm
#
# Like layer norm without the mean: `n = x * r` with `r = 1 / sqrt(mean(x**2) + eps)`. Write its `dx`: which of the two
# terms that were removed above stays?
#
# <details><summary>Solution</summary>
#
# ```python
# def rms_backward(g, n, r):
#     return r * (g - n * (g * n).mean(-1, keepdim=True))
# ```
#
# </details>


# %%
def rms_backward(g, n, r):
    return None  # your turn


class RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        r = (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()
        ctx.save_for_backward(x * r, r)
        return x * r

    @staticmethod
    def backward(ctx, g):
        return rms_backward(g, *ctx.saved_tensors)


# %%
probe = x.clone().requires_grad_()
if rms_backward(torch.ones(1), torch.ones(1), torch.ones(1)) is None:
    print("Exercise 1 waits for you.")
else:
    ok = torch.autograd.gradcheck(RMSNorm.apply, (probe,), raise_exception=False)
    assert ok, (
        "finite differences disagree: a shift now does change the result, so its mean must not be removed; stretching still changes nothing"
    )
    print("Exercise 1: right.")

# %% [markdown]
# ## Exercise 2: a judge of your own
#
# Write `quotient(f, x, i, eps)`: the symmetric difference quotient of the number `f(x)` for element `i` of the vector
# `x`, without changing `x`.
#
# <details><summary>Solution</summary>
#
# ```python
# def quotient(f, x, i, eps):
#     up, down = x.clone(), x.clone()
#     up[i] += eps
#     down[i] -= eps
#     return (f(up) - f(down)).item() / (2 * eps)
# ```
#
# </details>


# %%
def quotient(f, x, i, eps):
    return None  # your turn


# %%
v = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, device="cpu")
if quotient(lambda t: t.pow(3).sum(), v, 1, 1e-6) is None:
    print("Exercise 2 waits for you.")
else:
    for i in range(3):
        found = quotient(lambda t: t.pow(3).sum(), v, i, 1e-6)
        assert abs(found - 3 * v[i].item() ** 2) < 1e-6, (
            f"the slope of x**3 at {v[i].item()} is {3 * v[i].item() ** 2}, not {found}"
        )
    assert v.tolist() == [1.0, 2.0, 3.0], "x was changed: work on a clone"
    print("Exercise 2: right.")

# %% [markdown]
# ## What to take along
#
# * Write the obvious version first and never throw it away.
# * Differences find wrong formulas, the tape finds wrong digits, equality finds wrong steps.
# * A backward by hand is often shorter than the tape, and keeps less.
#
# Next: a network that makes pictures, in `11_generative.py`.
