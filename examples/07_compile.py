# %% [markdown]
# # `compile`: what the machine can see at once
#
# Running operator by operator, the machine never knows what comes next. `torch.compile` reads your Python first: it
# follows the code with tensors that have shapes but no values, and collects the operators in a **graph**. Where it
# cannot know how things go on, the graph **breaks**, and nothing is wrong with that: the program still does the same.
# But a graph in one piece is faster, so it pays to know where it breaks, and why.
#
# You will find breaks and mend them one by one, see what a graph *assumes* (guards), and why it was captured again.
# About 35 minutes. Keep the **Breaks** and **Graph** panels open.

# %%
import torch
from torch import nn
from torch.nn import functional as F

device = torch.get_default_device()
print(f"computing on {device}")

# %% [markdown]
# ## A graph
#
# `explain(f)(arguments)` captures, runs, and tells. *Predict:* how many operators are in this one?


# %%
def smooth(x):
    left = torch.roll(x, 1)
    right = torch.roll(x, -1)
    return (left + 2 * x + right) / 4


x = torch.tensor([0.0, 0.0, 4.0, 0.0])
story = torch.compiler.explain(smooth)(x)
print("graphs", story.graph_count, " breaks", story.graph_break_count, " operators", story.op_count)
print("it computed", story.result.tolist())

# %% [markdown]
# The captured graph is ordinary Python again: one line for each operator, with the shape of its result.

# %%
for line in story.graphs[0].code.splitlines():
    if line.strip() and not line.strip().startswith("#"):
        print(line.replace("    ", "  ", 1))

# %% [markdown]
# ## Python is still Python
#
# Lists, loops, functions, classes: all that is followed while capturing, and leaves only its operators behind.
#
# *Predict:* what is left of the loop over `layers`?


# %%
class Layer:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return torch.tanh(x * self.factor)


layers = [Layer(f) for f in (1.0, 2.0, 3.0)]


def stack(x):
    seen = []
    for layer in layers:
        x = layer(x)
        seen.append(x.mean())
    return x, sum(seen)


story = torch.compiler.explain(stack)(x)
print("graphs", story.graph_count, " breaks", story.graph_break_count, " operators", story.op_count)

# %% [markdown]
# Three times `mul`, `tanh` and `mean`, and the additions. No loop, no list, no class.
#
# ## Finding breaks
#
# Here is a loss as one writes it on the first day. Four places in it reach outside of the graph: one prints, and three
# want the *value* of a tensor now. *Predict:* which?


# %%
def first_day(weights, x, y, log):
    error = x @ weights - y
    loss = (error**2).mean()
    print("loss is a", type(loss).__name__)
    if loss > 100:
        loss = loss * 0.1
    log.append(loss.item())
    largest = error.abs().max().item()
    return loss / (largest + 1)


torch.manual_seed(0)
with torch.device("cpu"):
    weights, xs, ys = torch.randn(3), torch.randn(8, 3), torch.randn(8)
weights, xs, ys = weights.to(device), xs.to(device), ys.to(device)
log = []
story = torch.compiler.explain(first_day)(weights, xs, ys, log)
print("graphs", story.graph_count, " breaks", story.graph_break_count)
for found in story.breaks:
    print(f"  [{found['id']}] {found['reason']}")

# %% [markdown]
# In the **Breaks** panel each of them is an item of a to-do list: the line, the cause in plain words, and what to write
# instead. Enter goes to the line.
#
# ## Mending them, one by one
#
# * The `print` needs nothing of the graph: move it out, or drop it.
# * `if loss > 100` chooses between two values: `torch.where` computes both and picks one.
# * `.item()` fetches a number; tensors of zero dimensions take part in arithmetic as they are.


# %%
def second_day(weights, x, y):
    error = x @ weights - y
    loss = (error**2).mean()
    loss = torch.where(loss > 100, loss * 0.1, loss)
    return loss / (error.abs().max() + 1), loss


story = torch.compiler.explain(second_day)(weights, xs, ys)
print("graphs", story.graph_count, " breaks", story.graph_break_count)
print("same value:", torch.allclose(story.result[0], first_day(weights, xs, ys, [])))

# %% [markdown]
# `fullgraph=True` says: I want one graph, and an error if there is none. The error names the line.

# %%
try:
    torch.compile(first_day, fullgraph=True)(weights, xs, ys, [])
except Exception as error:
    print(str(error).splitlines()[0].split(" (")[0])

# %% [markdown]
# ## Breaks that are fine
#
# Not every break is worth mending. A branch on data captures *both* ways as they are met, and both go on in graphs of
# their own.
#
# *Predict:* how many graphs has `signs` after both calls?


# %%
@torch.compile
def signs(x):
    y = torch.sin(x)
    if y.sum() > 0:
        y = y * 2
    else:
        y = -y
    return y + 1


for sign in (1.0, -1.0):
    print("result", [round(v, 3) for v in signs(torch.tensor([sign, sign])).tolist()])
story = torch.compiler.explain(signs)(torch.ones(2))
print("breaks", story.graph_break_count, "of the kind", [b["id"] for b in story.breaks])

# %% [markdown]
# ## Guards: what a graph assumes
#
# A graph is right only as long as what it assumed still holds: the dtype, the sizes, the value of a plain number that
# was read. Each of these is a *guard*, checked before every run. What was not read is not guarded.


# %%
scale = 2.0
unused = "anything"


def scaled(x, power=2):
    return (x * scale) ** power


compiled = torch.compile(scaled)
compiled(x)
story = torch.compiler.explain(compiled)(x)
for guards in story.guards.values():
    print([g for g in guards if "scale" in g or "power" in g or "float32" in g])

# %% [markdown]
# *Predict:* change `unused`, then `scale`. Which one causes a new capture?

# %%
unused = "something else"
compiled(x)
print("after unused:", len(torch.compiler.explain(compiled)(x).recompiles), "recompiles")
scale = 3.0
print("the new scale counts:", compiled(x).tolist())
for again in torch.compiler.explain(compiled)(x).recompiles:
    if "scale" in again["guard"]:
        print("captured again because", again["guard"], "did not hold:", again["old"], "became", again["new"])

# %% [markdown]
# ## Sizes that change
#
# The first capture takes sizes as they are. When one changes, the second capture makes it a *symbol*, and then all
# sizes will do.
#
# *Predict:* five different batch sizes, how many captures?


# %%
@torch.compile
def normalise(x):
    return (x - x.mean(0)) / (x.std(0) + 1e-5)


for rows in (4, 6, 8, 10, 12):
    normalise(torch.ones(rows, 2).cumsum(0))
story = torch.compiler.explain(normalise)(torch.ones(20, 2).cumsum(0))
print(
    "captures:",
    len(story.segments),
    " of them with a symbol for a size:",
    sum("s0" in str(s["inputs"]) for s in story.segments),
)

# %% [markdown]
# ## A whole training step
#
# Forward, loss, `backward()`, the optimizer and `zero_grad()` in **one** graph. The optimizer's state is made in the
# first call, so the second call, which finds it there, is captured once more; from then on it runs.

# %%
torch.manual_seed(1)
with torch.device("cpu"):
    net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
net = net.to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)


def train_step(x, y):
    optimizer.zero_grad()
    loss = F.mse_loss(net(x).squeeze(-1), y)
    loss.backward()
    optimizer.step()
    return loss


fast = torch.compile(train_step)
losses = [fast(xs, ys).item() for _ in range(60)]
print(f"loss {losses[0]:.4f} to {losses[-1]:.4f}")
story = torch.compiler.explain(fast)(xs, ys)
print("breaks", story.graph_break_count, " operators in the last graph", len(story.graphs[-1].graph.nodes) > 20)

# %% [markdown]
# Is it still right? The same sixty steps without `compile`, from the same start:

# %%
torch.manual_seed(1)
with torch.device("cpu"):
    net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
net = net.to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
plain = [train_step(xs, ys).item() for _ in range(60)]
print(
    "largest difference in 60 losses:",
    "below 1e-4" if max(abs(a - b) for a, b in zip(losses, plain)) < 1e-4 else "large",
)

# %% [markdown]
# ## Exercise 1: without a break
#
# `clip` shall limit a vector to the length 1, but its `if` breaks the graph. Write it without one. (`torch.clamp` and
# `torch.where` are your friends.)
#
# <details><summary>Solution</summary>
#
# ```python
# def clip_whole(v):
#     return v / torch.clamp(v.norm(), min=1.0)
# ```
#
# </details>


# %%
def clip(v):
    if v.norm() > 1:
        v = v / v.norm()
    return v


def clip_whole(v):
    return None  # your turn


# %%
if clip_whole(torch.ones(2)) is None:
    print("Exercise 1 waits for you.")
else:
    for v in (torch.tensor([3.0, 4.0]), torch.tensor([0.3, 0.4])):
        assert torch.allclose(clip_whole(v), clip(v)), (
            f"for {v.tolist()} it should be {clip(v).tolist()}, not {clip_whole(v).tolist()}"
        )
    breaks = torch.compiler.explain(clip_whole)(torch.ones(2)).breaks
    assert not breaks, f"there is still a break: {breaks[0]['reason']}"
    print("Exercise 1: right.")

# %% [markdown]
# ## Exercise 2: one capture
#
# `repeat` is captured anew for every `n`. Give it the number as a tensor instead: write `repeat_once(x, n)` for a
# zero-dimensional tensor `n`, so that one graph serves all.
#
# <details><summary>Solution</summary>
#
# ```python
# def repeat_once(x, n):
#     return x * n
# ```
#
# </details>


# %%
def repeat(x, n):
    return sum(x for _ in range(n))


def repeat_once(x, n):
    return None  # your turn


# %%
if repeat_once(torch.ones(2), torch.tensor(2)) is None:
    print("Exercise 2 waits for you.")
else:
    once = torch.compile(repeat_once)
    for n in (1, 2, 5, 7):
        assert once(torch.ones(2), torch.tensor(n)).tolist() == [float(n)] * 2, f"adding 1 up {n} times is {n}"
    captures = len(torch.compiler.explain(once)(torch.ones(2), torch.tensor(3)).segments)
    assert captures == 1, f"it was captured {captures} times"
    print("Exercise 2: right.")

# %% [markdown]
# ## What to take along
#
# * A graph breaks where Python needs a value. The program stays right; the panel says what to write instead.
# * A graph runs only where its guards hold; the one that failed is shown with both values.
# * A training step without breaks is one graph, and lesson 8 shows what becomes of it: `08_kernels.py`.
