# %% [markdown]
# # Derivatives of derivatives
#
# `backward()` is made of operators, so it can be recorded and differentiated again. That opens three doors: curvature,
# networks that obey a law of physics, and learning how to learn. And `torch.func` says all of it in the language of
# functions. About 35 minutes.

# %%
import math

import plotly.graph_objects as go
import torch
from torch import nn
from torch.func import functional_call, grad, hessian, jacrev, jvp, vmap

device = torch.get_default_device()
print(f"computing on {device}")

# %% [markdown]
# ## The tape of a backward
#
# `create_graph=True` says: record what backward does, too.
#
# *Predict:* the first three derivatives of `x**4` at 2 are 32, 48 and 48. Does the tape get longer each time?


# %%
def length(tensor):
    """How many nodes the tape of a tensor has."""
    seen, waiting = set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [n for n, _ in node.next_functions]
    return len(seen)


x = torch.tensor(2.0, requires_grad=True)
y = x**4
print(f"x**4 itself: {y.item():g}, {length(y)} nodes")
for order in (1, 2, 3):
    (y,) = torch.autograd.grad(y, x, create_graph=True)
    print(f"derivative {order}: {y.item():g}, {length(y)} nodes, the last is {y.grad_fn.name()}")

# %% [markdown]
# It does not: what hangs on `x` is the formula that a derivative has, `4 * x**3`, and not the way on which it was found.
#
# ## The same with functions
#
# `grad(f)` is a function: the derivative of `f`. So `grad(grad(f))` is the second.

# %%
f = torch.sin
for name, g in {"f": f, "f'": grad(f), "f''": grad(grad(f)), "f'''": grad(grad(grad(f)))}.items():
    print(f"{name:5} at 1: {g(torch.tensor(1.0)).item():8.5f}")

# %% [markdown]
# ## One function, many inputs: `vmap`
#
# Write the function for one point; `vmap` makes one for a batch, without a loop, and it composes with `grad`.
#
# *Predict:* without `vmap`, how would you get the gradient of the loss of **each** example, and not of their sum?


# %%
def error(weights, point, target):
    return (weights @ point - target) ** 2


with torch.device("cpu"):
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(3, generator=generator).to(device)
    points = torch.randn(5, 3, generator=generator).to(device)
    targets = torch.randn(5, generator=generator).to(device)
per_example = vmap(grad(error), in_dims=(None, 0, 0))(weights, points, targets)
one_by_one = torch.stack([grad(error)(weights, p, t) for p, t in zip(points, targets)])
print(
    "gradients of five examples",
    tuple(per_example.shape),
    " difference to a loop",
    "below 1e-6" if (per_example - one_by_one).abs().max().item() < 1e-6 else "large",
)

# %% [markdown]
# ## Jacobians and curvature
#
# `jacrev` gives all derivatives of all outputs, `hessian` all second derivatives. The Hessian of a loss tells where it
# is steep and where it is flat: its eigenvalues are the curvatures that decided over learning rates in lesson 4.


# %%
def rosenbrock(p):
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


at = torch.tensor([1.0, 1.0])
H = hessian(rosenbrock)(at)
print("Hessian at the minimum", [[round(v, 2) for v in row] for row in H.tolist()])
curvatures = torch.linalg.eigvalsh(H.cpu().double())
print(
    "curvatures",
    [round(v, 3) for v in curvatures.tolist()],
    " so steps above",
    round(2 / curvatures.max().item(), 5),
    "diverge",
)
polar = jacrev(lambda p: torch.stack([p[0] * torch.cos(p[1]), p[0] * torch.sin(p[1])]))(torch.tensor([2.0, 0.5]))
print(
    "how areas stretch in polar coordinates (the radius, 2):",
    round((polar[0, 0] * polar[1, 1] - polar[0, 1] * polar[1, 0]).item(), 4),
)

# %% [markdown]
# Newton's method uses it: jump to where the parabola through here has its minimum.

# %%
p = torch.tensor([-1.2, 1.0])
for step in range(7):
    if step % 2 == 0:
        print(f"step {step}: value {rosenbrock(p).item():.2e}")
    p = p - torch.linalg.solve(hessian(rosenbrock)(p).cpu(), grad(rosenbrock)(p).cpu()).to(device)

# %% [markdown]
# Seven steps, and in lesson 4 no optimizer had arrived after 300. (Why does nobody train networks like that? Count the
# entries of a Hessian of a million weights.)
#
# ## Physics: a network that obeys an equation
#
# An oscillator with friction: `u'' + 2 d u' + w**2 u = 0`, with `u(0) = 1`, `u'(0) = 0`. We know nothing of its
# solution but the equation. The network is `u(t)`; its loss asks how badly the equation is violated at some points, so
# it contains the network's own second derivative, and *training* differentiates that once more.

# %%
damping, frequency = 0.5, 4.0


def truth(t):
    w = math.sqrt(frequency**2 - damping**2)
    return math.exp(-damping * t) * (math.cos(w * t) + damping / w * math.sin(w * t))


torch.manual_seed(1)
with torch.device("cpu"):
    net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    parameters = {k: v.detach().clone().requires_grad_() for k, v in net.named_parameters()}

    def u(weights, t):
        """Starts at 1 with slope 0 by construction; the network says how it goes on."""
        return 1 + t**2 * functional_call(net, weights, (t.reshape(1, 1),)).squeeze()

    def violation(weights, t):
        first = grad(u, argnums=1)
        second = grad(first, argnums=1)
        return second(weights, t) + 2 * damping * first(weights, t) + frequency**2 * u(weights, t)

    moments = torch.linspace(0.0, 2.0, 48)
    optimizer = torch.optim.Adam(parameters.values(), lr=0.01)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=900, eta_min=2e-4)
    for step in range(900):
        loss = vmap(violation, in_dims=(None, 0))(parameters, moments).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        plan.step()
        if step % 300 == 0 or step == 899:
            print(f"step {step:3}  violation {loss.item():.4f}")
    with torch.no_grad():
        found = [u(parameters, t).item() for t in moments]
worst = max(abs(a - truth(t)) for a, t in zip(found, moments.tolist()))
print(f"largest error of u: {worst:.2f}")
figure = go.Figure(
    [
        go.Scatter(x=moments.tolist(), y=found, mode="lines", name="network"),
        go.Scatter(x=moments.tolist(), y=[truth(t) for t in moments.tolist()], mode="markers", name="truth"),
    ]
)
figure.update_layout(title="an oscillator from its equation")
figure

# %% [markdown]
# ## Learning to learn
#
# MAML (Finn and others, 2017): find weights from which **one** step of gradient descent solves any of many tasks. The
# inner step is part of the computation, so the outer gradient runs through a gradient.
#
# The tasks: sine waves of random height and shift, ten points each.

# %%
with torch.device("cpu"):
    torch.manual_seed(2)
    learner = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    start = {k: v.detach().clone().requires_grad_() for k, v in learner.named_parameters()}
    generator = torch.Generator().manual_seed(5)

    def tasks(count):
        height = 0.5 + 2 * torch.rand(count, 1, 1, generator=generator)
        shift = math.pi * torch.rand(count, 1, 1, generator=generator)
        x = 6 * torch.rand(count, 20, 1, generator=generator) - 3
        return x, height * torch.sin(x + shift)

    def squared(weights, x, y):
        return (functional_call(learner, weights, (x,)) - y).pow(2).mean()

    def after_one_step(weights, x, y):
        """The loss on the last ten points of a task, after one step on the first ten."""
        slopes = grad(squared)(weights, x[:10], y[:10])
        moved = {k: w - 0.05 * slopes[k] for k, w in weights.items()}
        return squared(moved, x[10:], y[10:])

    outer = torch.optim.Adam(start.values(), lr=0.005)
    meta_losses = []
    for _ in range(400):
        x, y = tasks(16)
        loss = vmap(after_one_step, in_dims=(None, 0, 0))(start, x, y).mean()
        outer.zero_grad()
        loss.backward()
        outer.step()
        meta_losses.append(loss.item())
    x, y = tasks(200)
    with torch.no_grad():
        before = vmap(lambda w, x, y: squared(w, x[10:], y[10:]), in_dims=(None, 0, 0))(start, x, y).mean().item()
    after = vmap(after_one_step, in_dims=(None, 0, 0))(start, x, y).mean().item()
print(f"error on new tasks: {before:.2f} before the one step, {after:.2f} after it")

# %% [markdown]
# ## Forward mode
#
# `jvp` goes the other way: it carries a direction *along* the computation, and needs no tape. One number in, many out:
# forward is cheap. Many in, one out (a loss): backward is.

# %%
circle = lambda t: torch.stack([torch.cos(t), torch.sin(t)])  # noqa: E731
position, velocity = jvp(circle, (torch.tensor(0.3),), (torch.tensor(1.0),))
print(
    "on the circle at",
    [round(v, 3) for v in position.tolist()],
    "moving with",
    [round(v, 3) for v in velocity.tolist()],
)

# %% [markdown]
# ## Exercise 1: curvature of a curve
#
# The curvature of the graph of `f` at `x` is `|f''| / (1 + f'**2) ** 1.5`. Write it with `grad`.
#
# <details><summary>Solution</summary>
#
# ```python
# def curvature(f, x):
#     return grad(grad(f))(x).abs() / (1 + grad(f)(x) ** 2) ** 1.5
# ```
#
# </details>


# %%
def curvature(f, x):
    return None  # your turn


# %%
half_circle = lambda x: (4 - x**2).sqrt()  # noqa: E731  (a circle of radius 2)
found = curvature(half_circle, torch.tensor(0.5))
if found is None:
    print("Exercise 1 waits for you.")
else:
    assert abs(found.item() - 0.5) < 1e-4, (
        f"a circle of radius 2 has the curvature 1/2 everywhere, but you get {found.item():.4f}"
    )
    print("Exercise 1: right.")

# %% [markdown]
# ## Exercise 2: gradients of each example
#
# For the linear model `prediction = weights @ point`, write `norms(weights, points, targets)`: the norm of the gradient
# of `error` for each example, by `vmap`.
#
# <details><summary>Solution</summary>
#
# ```python
# def norms(weights, points, targets):
#     return vmap(grad(error), in_dims=(None, 0, 0))(weights, points, targets).norm(dim=1)
# ```
#
# </details>


# %%
def norms(weights, points, targets):
    return None  # your turn


# %%
found = norms(weights, points, targets)
if found is None:
    print("Exercise 2 waits for you.")
else:
    assert tuple(found.shape) == (5,), f"five examples have five norms; yours have the shape {tuple(found.shape)}"
    assert (found - per_example.norm(dim=1)).abs().max().item() < 1e-5, "these are not the norms of the gradients above"
    print("Exercise 2: right.")

# %% [markdown]
# ## What to take along
#
# * A backward that is recorded can be differentiated; so losses may contain derivatives.
# * `grad`, `vmap`, `jacrev` and `jvp` are functions of functions, and compose.
# * Forward mode for few inputs, backward for few outputs.
#
# This was the last lesson. What now? Take a notebook of your own (`tapescope new mine.py --template model`), with your own
# data, and keep the Tape open.
