# %% [markdown]
# # Going downhill: optimizers
#
# A gradient says which way is up. This lesson builds, from three lines upwards, what `torch.optim` does with it:
# plain descent, momentum, Adam, and schedules for the learning rate. Each one is checked against the library's, number
# for number. About 30 minutes.

# %%
import math

import plotly.graph_objects as go
import torch

device = torch.get_default_device()
print(f"computing on {device}")

# %% [markdown]
# ## A landscape
#
# Two parameters, so that we can see everything: a long narrow valley. Its floor runs to the minimum at (1, 1), and its
# walls are 20 times as steep as its floor. Real losses look like that in thousands of directions at once.


# %%
def valley(p):
    x, y = p[0] - 1, p[1] - 1
    return 0.5 * (x**2 + 20 * y**2)


START = [-2.0, 0.4]


def landscape(paths, title):
    xs = [-2.5 + 0.1 * i for i in range(46)]
    ys = [-0.2 + 0.05 * i for i in range(49)]
    heights = [[math.log1p(0.5 * ((x - 1) ** 2 + 20 * (y - 1) ** 2)) for x in xs] for y in ys]
    figure = go.Figure(go.Heatmap(z=heights, x=xs, y=ys, showscale=False))
    for name, path in paths.items():
        figure.add_trace(go.Scatter(x=[p[0] for p in path], y=[p[1] for p in path], mode="lines+markers", name=name))
    figure.update_layout(title=title)
    return figure


# %% [markdown]
# ## Descent in three lines
#
# `p -= lr * p.grad`, within `no_grad` because the step itself is nothing to be differentiated.
#
# *Predict:* the walls have curvature 20. A step overshoots when `lr * curvature` is above 2. So which of the learning
# rates below go wrong?


# %%
def descend(lr, steps=40):
    p = torch.tensor(START, requires_grad=True)
    path = [p.tolist()]
    for _ in range(steps):
        loss = valley(p)
        loss.backward()
        with torch.no_grad():
            p -= lr * p.grad
        p.grad = None
        path.append(p.tolist())
    return path, valley(p).item()


paths = {}
for lr in (0.01, 0.09, 0.105):
    path, end = descend(lr)
    paths[f"lr {lr}"] = path
    print(f"lr {lr:5}  loss after 40 steps {end:9.4f}")
landscape({k: v for k, v in paths.items() if k != "lr 0.105"}, "descent in a valley")

# %% [markdown]
# Small steps crawl along the floor, large ones jump from wall to wall, larger ones fly out. One number has to serve
# both directions; everything that follows is about that.
#
# ## Momentum: a ball with mass
#
# Keep a *velocity*: what was going on in all steps so far, fading by the factor 0.9. Along the floor the steps agree
# and add up; between the walls they cancel.
#
# *Predict:* how does the library's version call the velocity? (Look for it in the output.)


# %%
def with_momentum(lr, momentum=0.9, steps=40):
    p = torch.tensor(START, requires_grad=True)
    velocity = torch.zeros(2)
    path = [p.tolist()]
    for _ in range(steps):
        valley(p).backward()
        with torch.no_grad():
            velocity = momentum * velocity + p.grad
            p -= lr * velocity
        p.grad = None
        path.append(p.tolist())
    return path, p.detach()


def library(make, steps=40):
    p = torch.tensor(START, requires_grad=True)
    optimizer = make([p])
    path = [p.tolist()]
    for _ in range(steps):
        optimizer.zero_grad()
        valley(p).backward()
        optimizer.step()
        path.append(p.tolist())
    return path, p.detach(), optimizer


path, mine = with_momentum(0.02)
_, theirs, optimizer = library(lambda ps: torch.optim.SGD(ps, lr=0.02, momentum=0.9))
print(
    "loss", round(valley(mine).item(), 4), " difference to torch.optim.SGD", f"{(mine - theirs).abs().max().item():.1e}"
)
print("what the optimizer remembers:", list(next(iter(optimizer.state.values()))))
landscape({"descent, lr 0.01": paths["lr 0.01"], "momentum": path}, "a ball with mass")

# %% [markdown]
# ## Adam: a learning rate for each parameter
#
# Adam remembers two averages for each parameter: of the gradient (`m`, as momentum does) and of its square (`v`, how
# large it usually is). The step is `m / sqrt(v)`: where gradients are always large, steps are small, and the other way
# round. Both averages start at zero, so in the beginning they are too small; dividing by `1 - beta**t` mends that.


# %%
def adam(lr, steps=40, betas=(0.9, 0.999), eps=1e-8):
    p = torch.tensor(START, requires_grad=True)
    m, v = torch.zeros(2), torch.zeros(2)
    path = [p.tolist()]
    for t in range(1, steps + 1):
        valley(p).backward()
        with torch.no_grad():
            m = betas[0] * m + (1 - betas[0]) * p.grad
            v = betas[1] * v + (1 - betas[1]) * p.grad**2
            m_hat = m / (1 - betas[0] ** t)
            v_hat = v / (1 - betas[1] ** t)
            p -= lr * m_hat / (v_hat.sqrt() + eps)
        p.grad = None
        path.append(p.tolist())
    return path, p.detach()


path, mine = adam(0.25)
_, theirs, _ = library(lambda ps: torch.optim.Adam(ps, lr=0.25))
print(
    "loss",
    round(valley(mine).item(), 4),
    " difference to torch.optim.Adam",
    f"{(mine - theirs).abs().max().item():.1e}",
)
landscape({"Adam": path}, "a step size for each parameter")

# %% [markdown]
# The first step of Adam is a curious one. *Predict:* `m_hat / sqrt(v_hat)` at `t = 1` is?

# %%
print("the first step went by", [round(b - a, 3) for a, b in zip(path[0], path[1])], "with lr 0.25")

# %% [markdown]
# It is the sign of the gradient: plus or minus `lr`, whatever the slope. So with Adam the learning rate is a *distance*,
# and that is why 0.001 is a good guess for so many networks.
#
# ## Schedules
#
# Large steps find the valley, small ones find its bottom. With a noisy gradient (as from batches) no fixed rate does
# both. Here the gradient gets noise, and the rate is constant, falls along half a cosine wave, or falls in steps.
#
# *Predict:* can the constant rate ever come to rest at the bottom?


# %%
def noisy(schedule, steps=150):
    generator = torch.Generator().manual_seed(3)
    p = torch.tensor(START, requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=0.08)
    plan = schedule(optimizer)
    rates, losses = [], []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = valley(p)
        loss.backward()
        p.grad += torch.randn(2, generator=generator, device="cpu").to(p.device)
        optimizer.step()
        rates.append(optimizer.param_groups[0]["lr"])
        losses.append(loss.item())
        if plan is not None:
            plan.step()
    return rates, losses


results = {}
for name, schedule in {
    "constant": lambda o: None,
    "cosine": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=150),
    "steps": lambda o: torch.optim.lr_scheduler.StepLR(o, step_size=50, gamma=0.2),
}.items():
    rates, losses = noisy(schedule)
    results[name] = losses
    print(f"{name:9} rate at the end {rates[-1]:.5f}   mean loss of the last 20 steps {sum(losses[-20:]) / 20:.3f}")
figure = go.Figure([go.Scatter(y=[math.log10(v + 1e-3) for v in l], mode="lines", name=n) for n, l in results.items()])
figure.update_layout(title="log10 of the loss", xaxis_title="step")
figure

# %% [markdown]
# It cannot: every step carries it `lr` times the noise away again. A smaller rate is jostled less, but would have taken
# longer to get there; so first large, then small.
#
# ## A landscape that is not a bowl
#
# Rosenbrock's function: a curved valley whose floor is nearly flat. Which optimizer you take matters here.
#
# *Predict:* from (-1.2, 1) the way leads down into the valley and then along it, to (1, 1). Who is there after 300 steps?


# %%
def banana(p):
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


for name, make in {
    "SGD": lambda ps: torch.optim.SGD(ps, lr=0.001),
    "SGD with momentum": lambda ps: torch.optim.SGD(ps, lr=0.001, momentum=0.9),
    "Adam": lambda ps: torch.optim.Adam(ps, lr=0.05),
    "RMSprop": lambda ps: torch.optim.RMSprop(ps, lr=0.01),
}.items():
    p = torch.tensor([-1.2, 1.0], requires_grad=True)
    optimizer = make([p])
    for _ in range(300):
        optimizer.zero_grad()
        banana(p).backward()
        optimizer.step()
    print(f"{name:18} {banana(p).item():8.4f} at ({p[0].item():6.3f}, {p[1].item():6.3f})")

# %% [markdown]
# All are in the valley at once; along its floor the slope is tiny. Momentum gathers speed there. Adam divides by the slopes
# that it has seen, among them the steep ones of the walls, and remembers those for a thousand steps (`beta` 0.999). Change
# the learning rates and see how quickly the order turns: no optimizer is best, and a fair comparison tunes each.
#
# ## Exercise 1: Nesterov
#
# Momentum with a look ahead: the step is `grad + momentum * velocity`, with the velocity already updated. Fill in the
# step; it must agree with `torch.optim.SGD(..., nesterov=True)`.
#
# <details><summary>Solution</summary>
#
# ```python
# def nesterov_step(p, grad, velocity, lr, momentum):
#     velocity = momentum * velocity + grad
#     return p - lr * (grad + momentum * velocity), velocity
# ```
#
# </details>


# %%
def nesterov_step(p, grad, velocity, lr, momentum):
    """Returns the new p and the new velocity."""
    return None, None  # your turn


# %%
p, velocity = torch.tensor(START), torch.zeros(2)
waiting = False
for _ in range(10):
    q = p.detach().clone().requires_grad_()
    valley(q).backward()
    p, velocity = nesterov_step(q.detach(), q.grad, velocity, 0.02, 0.9)
    if p is None:
        waiting = True
        break
if waiting:
    print("Exercise 1 waits for you.")
else:
    _, theirs, _ = library(lambda ps: torch.optim.SGD(ps, lr=0.02, momentum=0.9, nesterov=True), steps=10)
    assert (p - theirs).abs().max().item() < 1e-4, (
        f"after 10 steps you are at {p.tolist()}, torch.optim at {theirs.tolist()}"
    )
    print("Exercise 1: right.")

# %% [markdown]
# ## Exercise 2: warm-up
#
# Adam's first steps rest on few gradients, so large models start gently. Write the factor for `LambdaLR`: from 0.1 up
# to 1 in equal parts over the first 10 steps (step 0 has 0.1, step 9 has 1.0), then 1.
#
# <details><summary>Solution</summary>
#
# ```python
# def warm_up(step):
#     return min(1.0, (step + 1) / 10)
# ```
#
# </details>


# %%
def warm_up(step):
    return None  # your turn


# %%
if warm_up(0) is None:
    print("Exercise 2 waits for you.")
else:
    factors = [warm_up(s) for s in range(15)]
    assert abs(factors[0] - 0.1) < 1e-9, f"the first step should have a factor of 0.1, not {factors[0]}"
    assert abs(factors[9] - 1.0) < 1e-9, f"step 9 should have reached 1.0, but has {factors[9]}"
    assert max(factors) <= 1.0 + 1e-9, f"the factor should stay at 1, but rises to {max(factors)}"
    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    plan = torch.optim.lr_scheduler.LambdaLR(optimizer, warm_up)
    assert abs(optimizer.param_groups[0]["lr"] - 0.05) < 1e-9
    print("Exercise 2: right.")

# %% [markdown]
# ## What to take along
#
# * One learning rate has to serve the steepest direction; momentum and Adam are two ways around that.
# * An optimizer is a few lines and a memory for each parameter (`optimizer.state`).
# * Noise sets a floor under the loss, and a falling rate lowers it.
#
# Next: networks that look at pictures, in `05_convolutions.py`.
