# %% [markdown]
# # What `backward()` does
#
# You will differentiate by hand, then watch the machine do the same: first with two numbers, then with matrices. By
# the end you can read a **Tape** from the loss back to the weights, hook into it, put an operator of your own on it,
# and check any gradient without believing anybody.
#
# It takes about 25 minutes. Before each cell there is a question: answer it for yourself, then run the cell.

# %%
import torch

device = torch.get_default_device()
print(f"computing on {device}")

# %% [markdown]
# ## Two numbers
#
# `y = a * b + a` with `a = 2` and `b = 3`. How much does `y` change when `a` grows a little? And when `b` does?
#
# By hand: `dy/da = b + 1 = 4`, because `a` stands in two places, and `dy/db = a = 2`.
#
# *Predict:* how many lines will the tape have?

# %%
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
product = a * b
y = product + a
y.backward()
print("y", y.item(), " dy/da", a.grad.item(), " dy/db", b.grad.item())

# %% [markdown]
# Look at the Tape: two operators, `mul` and `add`, and two leaves, `a` and `b`. That is the whole story of `y`.
#
# `backward()` starts at the end with the number 1 ("`y` changes as fast as `y` does") and walks the lines upwards. At
# each operator it asks one local question: *if my result changes by g, by how much must I say that my inputs matter?*
#
# * `add` passes its g on to both inputs unchanged;
# * `mul` gives each input g times **the other** input, which is why the tape had to keep both (look for *saved*).
#
# `a` was reached on two ways, so it gets two contributions, 3 and 1, and they are **added**. That is the chain rule:
# multiply along a way, add over the ways.
#
# The links that `backward` walks are ordinary attributes. Here they are, followed by hand:

# %%
print("y came from", y.grad_fn.name())
for node, _ in y.grad_fn.next_functions:
    print("   which had an input from", node.name().split("::")[-1])
    for inner, _ in node.next_functions:
        print("      which had an input from", inner.name().split("::")[-1])

# %% [markdown]
# ## The same by your own hands
#
# Here is the walk again, one line for each step of `backward`. `g_...` is how fast `y` changes with that value.

# %%
g_y = 1.0
g_product, g_a = g_y, g_y  # add: pass it on to both
g_a, g_b = g_a + g_product * b.item(), g_product * a.item()  # mul: times the other one
print("by hand   ", g_a, g_b)
print("by machine", a.grad.item(), b.grad.item())

# %% [markdown]
# ## Gradients are added up
#
# *Predict:* `backward()` on a fresh `y` once more, and `a.grad` is 4, or 8?

# %%
(a * b + a).backward()
print("a.grad is now", a.grad.item())
a.grad = None
b.grad = None

# %% [markdown]
# It is 8: `backward` **adds** to `.grad`. That is useful (a large batch in several parts) and a trap: forget
# `optimizer.zero_grad()` in a loop and every step also makes all earlier steps again.
#
# ## Vectors and matrices
#
# Nothing new happens with more numbers, only bookkeeping. `y = W x`, then one number out of it: `L = sum(y**2)`.
#
# *Predict:* the gradient of `L` for `W` has which shape?

# %%
torch.manual_seed(1)
W = torch.randn(3, 2, device="cpu").to(device).requires_grad_()
x = torch.tensor([1.0, -2.0])
out = W @ x
L = (out**2).sum()
L.backward()
print("W", tuple(W.shape), " gradient", tuple(W.grad.shape))
print(W.grad)

# %% [markdown]
# The gradient always has the shape of the thing itself: one number for each weight, *how much would L change if this one
# changed a little?*
#
# By the chain rule: `dL/dout = 2 * out`, and weight `W[i, j]` touches only `out[i]`, through `x[j]`. So
# `dL/dW[i, j] = 2 * out[i] * x[j]`: an outer product.

# %%
by_hand = torch.outer(2 * out, x).detach()
print("largest difference", (W.grad - by_hand).abs().max().item())

# %% [markdown]
# ## Believe nobody: finite differences
#
# The definition of a derivative needs no tape: change one weight by a little, and see what happens.
#
# *Predict:* `eps = 1e-3` works well in float32. What about `1e-7`?


# %%
def loss_of(weights):
    return ((weights @ x) ** 2).sum()


def difference_quotient(eps):
    estimate = torch.zeros_like(W)
    for i in range(3):
        for j in range(2):
            up, down = W.detach().clone(), W.detach().clone()
            up[i, j] += eps
            down[i, j] -= eps
            estimate[i, j] = (loss_of(up) - loss_of(down)) / (2 * eps)
    return estimate


for eps in (1e-1, 1e-2, 1e-3, 1e-7):
    wrong = (difference_quotient(eps) - W.grad).abs().max().item()
    print(f"eps {eps:7.0e}   largest error {'below 0.01' if wrong < 0.01 else 'above 0.01'}")

# %% [markdown]
# With `1e-7` the two losses agree in all of their seven digits, and the difference is noise. `torch.autograd.gradcheck`
# does this test properly: in float64, for every input, and it says where it fails.

# %%
inputs = (torch.randn(3, 2, dtype=torch.float64, device="cpu", requires_grad=True),)
print("gradcheck", torch.autograd.gradcheck(lambda w: ((w @ x.cpu().double()) ** 2).sum(), inputs))

# %% [markdown]
# ## Listening: hooks
#
# A hook is called when a gradient passes. With one on a tensor in the middle you see what `backward` carries there.
#
# *Predict:* in which order do the three lines come?

# %%
hidden = (W @ x).tanh()
total = (hidden * 2).sum()
total.register_hook(lambda g: print("total ", g.tolist()))
hidden.register_hook(lambda g: print("hidden", g.tolist()))
W.register_hook(lambda g: print("W     ", tuple(g.shape)))
total.backward()

# %% [markdown]
# From the end to the beginning. In the terminal app, the **scrubber** shows the same for every operator at once: step
# through the run and watch each line of the tape light up with its gradient.
#
# ## An operator of your own
#
# An operator is two functions: what it computes, and what it says to the gradient that comes back. Here is one that
# rounds, and lets gradients through as if it had not (the *straight-through estimator*; the true derivative of
# rounding is 0 nearly everywhere, and nothing could be learned through it).


# %%
class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value.round()

    @staticmethod
    def backward(ctx, g):
        return g


weights = torch.tensor([0.2, 1.7, -0.6], requires_grad=True)
rounded = Round.apply(weights)
(rounded * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
print("rounded ", rounded.tolist())
print("gradient", weights.grad.tolist())

# %% [markdown]
# ## When the tape is gone
#
# After `backward()` the saved values are freed, so a second walk over the same tape is refused; and a value that was
# overwritten after it had been saved is noticed. Both errors say what to do:

# %%
t = torch.ones(2, requires_grad=True)
square = t * t
square.sum().backward()
try:
    square.sum().backward()
except RuntimeError as error:
    print("1:", str(error).split(".")[0])

u = torch.ones(2, requires_grad=True)
e = u.exp()
e.mul_(2)
try:
    e.sum().backward()
except RuntimeError as error:
    print("2:", str(error).split(":")[0])

# %% [markdown]
# ## Exercise 1: a gradient by hand
#
# `f(x) = sin(x**2)`. Write its derivative with `torch` functions, by the chain rule.
#
# <details><summary>Solution</summary>
#
# ```python
# def derivative(x):
#     return torch.cos(x**2) * 2 * x
# ```
#
# </details>


# %%
def derivative(x):
    return None  # your turn


# %%
point = torch.tensor(0.7, requires_grad=True)
torch.sin(point**2).backward()
answer = derivative(point.detach())
if answer is None:
    print("Exercise 1 waits for you.")
else:
    assert torch.is_tensor(answer), "derivative(x) should return a tensor: use torch.cos and arithmetic on x"
    assert abs(answer.item() - point.grad.item()) < 1e-5, (
        f"at 0.7 the tape says {point.grad.item():.4f} and you say {answer.item():.4f}: is the inner derivative in it?"
    )
    print("Exercise 1: right.")

# %% [markdown]
# ## Exercise 2: an operator with two inputs
#
# Write the backward of `Hypotenuse`: `h = sqrt(a**2 + b**2)`. `backward` must return one gradient for each input of
# `forward`, in that order. `ctx.saved_tensors` are what `forward` has kept.
#
# <details><summary>Solution</summary>
#
# ```python
# class Hypotenuse(torch.autograd.Function):
#     @staticmethod
#     def forward(ctx, a, b):
#         h = (a**2 + b**2).sqrt()
#         ctx.save_for_backward(a, b, h)
#         return h
#
#     @staticmethod
#     def backward(ctx, g):
#         a, b, h = ctx.saved_tensors
#         return g * a / h, g * b / h
# ```
#
# </details>


# %%
class Hypotenuse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        h = (a**2 + b**2).sqrt()
        ctx.save_for_backward(a, b, h)
        return h

    @staticmethod
    def backward(ctx, g):
        return None, None  # your turn


# %%
p = torch.tensor([3.0, 1.0], requires_grad=True)
q = torch.tensor([4.0, 1.0], requires_grad=True)
Hypotenuse.apply(p, q).sum().backward()
if p.grad is None:
    print("Exercise 2 waits for you.")
else:
    expected = (p / (p**2 + q**2).sqrt()).detach()
    assert p.grad.shape == p.shape, f"the gradient of a has shape {tuple(p.grad.shape)}, but a has {tuple(p.shape)}"
    assert (p.grad - expected).abs().max().item() < 1e-5, (
        f"dh/da should be a / h = {expected.tolist()}, not {p.grad.tolist()}"
    )
    assert q.grad is not None, "backward returned a gradient for a, but none for b"
    print("Exercise 2: right.")

# %% [markdown]
# ## What to take along
#
# * The tape is a record of what ran; `backward` walks it from the end, multiplying along ways and adding over them.
# * A gradient has the shape of its tensor, and is added to `.grad`.
# * Finite differences decide who is right.
#
# Next: programs whose tape is different every time (`03_define_by_run.py`).
