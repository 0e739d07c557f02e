# %% [markdown]
# # Kernels: what the machine runs in the end
#
# Lesson 7 turned Python into graphs. This one goes on to the end: a graph becomes **kernels**, small programs that run
# for all elements of a tensor at once. You will see why putting operators together makes them faster, work out how fast
# a kernel can be at best, read generated code line by line, and change your Python to see the kernels change.
#
# About 30 minutes. Keep the **Kernels** panel open: everything printed here stands there, too.

# %%
import plotly.graph_objects as go
import torch
from torch import nn
from torch.nn import functional as F

device = torch.get_default_device()
print(f"computing on {device}")

# %% [markdown]
# ## What a GPU does
#
# A GPU has thousands of small processors that all run *the same* function, each for another element. The function is
# called a kernel; running it is a **launch**. Here is a launch in Python, one element after the other:


# %%
def double_plus_one(i, source, target):
    target[i] = source[i] * 2 + 1


def launch(kernel, count, *arrays):
    for i in range(count):  # a GPU has a thread for each i, and no loop
        kernel(i, *arrays)


source, target = [1.0, 2.0, 3.0, 4.0], [0.0] * 4
launch(double_plus_one, 4, source, target)
print(target)

# %% [markdown]
# A thread knows only its own number `i`. It may read where it likes, but no thread waits for another's result: that is
# what makes thousands of them possible. On a CPU the same kernel is a loop, shared among its cores, several elements a
# step.
#
# ## Bytes are dear, operations are cheap
#
# Eagerly, every operator is a launch of its own: it reads its inputs from memory and writes its result back.
#
# *Predict:* `x` has a million elements of 4 bytes. How many megabytes does `torch.relu(x * 2 + 1).sum()` move?


# %%
def moved(*tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


with torch.device("cpu"):
    torch.manual_seed(0)
    x = torch.randn(1000, 1000)
x = x.to(device)

steps = []
a = x * 2
steps.append(("x * 2", moved(x, a)))
b = a + 1
steps.append(("... + 1", moved(a, b)))
c = torch.relu(b)
steps.append(("relu", moved(b, c)))
d = c.sum(1)
steps.append(("sum", moved(c, d)))
eager_bytes = sum(size for _, size in steps)
for name, size in steps:
    print(f"{name:10}{size / 1e6:6.1f} MB")
print(f"{'all':10}{eager_bytes / 1e6:6.1f} MB, in 4 launches")

# %% [markdown]
# Three of the four results are only there to be read once by the next operator. A thread could keep its element in a
# register all the way through.
#
# ## Fusion
#
# That is what `torch.compile` does with a graph: operators that can follow each other element by element become one
# kernel. `explain` tells which.


# %%
def kernels_of(f, *args):
    """What was generated for `f`: the kernels of all its graphs."""
    story = torch.compiler.explain(torch.compile(f))(*args)
    return [kernel for segment in story.segments for kernel in segment["kernels"]["kernels"]]


def show(kernels):
    for number, kernel in enumerate(kernels, 1):
        kind = "library" if kernel["language"] == "library" else "kernel"
        nodes = kernel["nodes"]
        names = ", ".join(nodes[:5]) + (f" and {len(nodes) - 5} more" if len(nodes) > 5 else "")
        print(
            f"{number}. {kind}: {names}  {kernel['bytes'] / 1e6:.1f} MB, {kernel['operations'] / 1e6:.1f} M operations"
        )


def chain(x):
    return torch.relu(x * 2 + 1).sum(1)


fused = kernels_of(chain, x)
show(fused)
print(f"eager moved {eager_bytes / fused[0]['bytes']:.1f} times as much")

# %% [markdown]
# One kernel, which reads `x` once and writes a thousand sums. None of the tensors `a`, `b`, `c` ever exists.
#
# ## Read it
#
# The generated source, with a bar in front of each line. What it is written in depends on where you run it:
# C on a computer with a compiler, WGSL on a GPU, NumPy calls elsewhere. Whichever you see, look for these:
#
# * an outer loop over the rows, or (on a GPU) a thread for each row;
# * an inner loop along a row, with a running sum that begins at 0;
# * one read of `x` per element, then `* 2`, `+ 1`, and the comparison that is `relu`;
# * a comment with **your line**;
# * one store at the end.


# %%
def read(kernel):
    marks = {line: nodes for line, nodes in kernel["lines"]}
    for number, line in enumerate(kernel["text"].splitlines(), 1):
        what = "  <- " + ", ".join(marks[number]) if number in marks else ""
        print(f"│ {number:3} {line}{what}")


read(fused[0])

# %% [markdown]
# `t2 != t2` looks odd, and so does `max_nan` on a GPU: that is the question whether a number is NaN, the only number
# that is not equal to itself. `relu` of NaN is NaN, also when compiled.
#
# In the **Kernels** panel `Enter` shows the same source, and a line of it lights up the lines of your cell.
#
# ## Change the Python, see the kernels change
#
# *Predict* for each of these: how many kernels, and does it move more or fewer bytes than `chain`?


# %%
def keep_both(x):
    y = torch.relu(x * 2 + 1)
    return y, y.sum(1)


def longer(x):
    y = x * 2 + 1
    for _ in range(10):
        y = torch.tanh(y) * 0.5 + x
    return y.sum(1)


show(kernels_of(keep_both, x))
show(kernels_of(longer, x))

# %% [markdown]
# `keep_both` has to write `y`, since you asked for it: twice the bytes, still one kernel. `longer` has thirty operators
# more and moves *nothing* more. Elementwise work between a read and a write is nearly free.
#
# Now softmax, written out by hand. A row is needed three times: for its maximum, for the sum, and for the result.


# %%
def softmax_by_hand(x):
    e = torch.exp(x - x.amax(1, keepdim=True))
    return e / e.sum(1, keepdim=True)


by_hand = kernels_of(softmax_by_hand, x)
show(by_hand)
print("same as torch.softmax:", torch.allclose(torch.compile(softmax_by_hand)(x), torch.softmax(x, 1), atol=1e-6))

# %% [markdown]
# One kernel again: it walks each row several times while the row is near (in the cache), and memory sees one read and
# one write.
#
# ## What does not fuse
#
# A product of matrices is a different matter: every result needs a whole row and a whole column. On the CPU there are
# libraries for that which people have tuned for decades; the compiler calls them and fuses around them. *Predict:* how many
# entries for this layer?

# %%
with torch.device("cpu"):
    weight, bias = torch.randn(1000, 64) * 0.03, torch.randn(64)
weight, bias = weight.to(device), bias.to(device)


def layer(x, weight, bias):
    scaled = x * 0.5 - 0.1
    return torch.tanh(scaled @ weight + bias)


parts = kernels_of(layer, x, weight, bias)
print("entries:", len(parts), " products among them:", sum("mm" in "".join(k["nodes"]) for k in parts))

# %% [markdown]
# What comes before the product must be in memory when it starts. What comes after needs it done: the library gives its
# result through memory, so three entries on the CPU. Where the compiler writes the product itself, as on some WebGPU devices, it
# computes `tanh` of each result on the way out, and there are two. Where neighbours were not put together, the panel says why.
#
# A graph break cuts kernels as well:


# %%
def interrupted(x):
    y = x * 2 + 1
    if y.sum() > 0:  # needs a value now
        y = -y
    return torch.relu(y).sum(1)


print("kernels without a branch:", len(kernels_of(chain, x)))
print("more with one:", len(kernels_of(interrupted, x)) > 1)

# %% [markdown]
# ## The roofline: how fast can it be?
#
# A kernel must move its bytes and do its operations. Whichever takes longer is the least time:
#
# > least time = max(bytes / bandwidth, operations / arithmetic)
#
# The number that decides is **operations per byte**. Take a machine that moves 20 GB/s and computes 100 GFLOP/s: it can
# do 5 operations in the time in which one byte arrives. A kernel with fewer waits for memory.

# %%
BANDWIDTH, ARITHMETIC = 20e9, 100e9


def least_time(kernel):
    return max(kernel["bytes"] / BANDWIDTH, kernel["operations"] / ARITHMETIC)


def intensity(kernel):
    return kernel["operations"] / kernel["bytes"]


n = 1000
product = {"bytes": 3 * n * n * 4, "operations": 2 * n**3}
add = {"bytes": 3 * n * n * 4, "operations": n * n}
points = {"add": add, "chain": fused[0], "product 1000x1000": product}
for name, kernel in points.items():
    waits = "memory" if intensity(kernel) < ARITHMETIC / BANDWIDTH else "arithmetic"
    print(f"{name:18}{intensity(kernel):8.2f} operations a byte, {least_time(kernel) * 1e3:6.2f} ms, waits for {waits}")

xs = [2 ** (i / 4) for i in range(-20, 40)]
roof = [min(v * BANDWIDTH, ARITHMETIC) / 1e9 for v in xs]
figure = go.Figure(go.Scatter(x=xs, y=roof, mode="lines", name="roof"))
figure.add_scatter(
    x=[intensity(k) for k in points.values()],
    y=[min(intensity(k) * BANDWIDTH, ARITHMETIC) / 1e9 for k in points.values()],
    mode="markers",
    name="kernels at best",
)
figure.update_layout(title="The roofline", xaxis_title="operations a byte", yaxis_title="GFLOP/s")
figure.update_xaxes(type="log")
figure.update_yaxes(type="log")
figure

# %% [markdown]
# The slope on the left is memory, the flat part arithmetic. Nearly all of deep learning that is not a product lives on
# the slope. There are two ways to go up: move fewer bytes (fusion), or use smaller numbers (float16: half the bytes).
#
# The four eager launches of `chain` do about a tenth of an operation for each byte; fused it is seven times as many, and
# on a tensor that does not fit into the cache it is nearly that much faster.
#
# ## A whole training step
#
# Forward, backward and the optimizer in one graph. The gradients of elementwise operators are elementwise, too, so they
# fuse with one another and with the update.

# %%
torch.manual_seed(1)
with torch.device("cpu"):
    net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    inputs, targets = torch.randn(64, 8), torch.randn(64, 1)
net, inputs, targets = net.to(device), inputs.to(device), targets.to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)


def train_step(x, y):
    optimizer.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


fast = torch.compile(train_step)
losses = [fast(inputs, targets).item() for _ in range(50)]
print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}")
last = torch.compiler.explain(fast)(inputs, targets).segments[-1]
elementwise = [k for k in last["kernels"]["kernels"] if k["language"] != "library"]
print("breaks:", last["exit"]["kind"] == "break")
print("operators put together in kernels:", sum(len(k["nodes"]) for k in elementwise) > len(elementwise))

# %% [markdown]
# ## Exercise 1: one kernel
#
# `normalise` scales each row to a largest magnitude of 1, but somebody wrote it with a loop and `.item()`: it breaks,
# and there are many kernels. Write `normalise_once` so that it is **one** kernel without a break.
#
# <details><summary>Solution</summary>
#
# ```python
# def normalise_once(x):
#     return x / x.abs().amax(1, keepdim=True)
# ```
#
# </details>


# %%
def normalise(x):
    rows = []
    for row in x:
        rows.append(row / row.abs().max().item())
    return torch.stack(rows)


def normalise_once(x):
    return None  # your turn


# %%
small = x[:8].contiguous()
if normalise_once(small) is None:
    print("Exercise 1 waits for you.")
else:
    assert torch.allclose(normalise_once(small), normalise(small), atol=1e-6), (
        "the rows should be divided by their largest magnitude: abs(), then amax along dimension 1 with keepdim=True"
    )
    story = torch.compiler.explain(torch.compile(normalise_once))(small)
    assert story.graph_break_count == 0, f"there is a break: {story.breaks[0]['reason']}"
    count = len(kernels_of(normalise_once, small))
    assert count == 1, f"there are {count} kernels; what keeps them apart?"
    print("Exercise 1: right.")

# %% [markdown]
# ## Exercise 2: how much would fusion save?
#
# `y = torch.sigmoid(a * b + c)` on tensors of `n` float32 elements each, first operator by operator, then fused. Write
# `savings(n)`: how many times as many bytes move eagerly? (Count reads and writes of each of the three operators; the
# fused kernel reads `a`, `b`, `c` and writes `y`.)
#
# <details><summary>Solution</summary>
#
# ```python
# def savings(n):
#     eager = (3 + 3 + 2) * n * 4
#     fused = 4 * n * 4
#     return eager / fused
# ```
#
# </details>


# %%
def savings(n):
    return None  # your turn


# %%
if savings(1000) is None:
    print("Exercise 2 waits for you.")
else:
    a, b, c = (torch.ones(1000) for _ in range(3))
    (kernel,) = kernels_of(lambda a, b, c: torch.sigmoid(a * b + c), a, b, c)
    eager = sum((moved(a, b, a), moved(a, c, a), moved(a, a)))
    expected = eager / kernel["bytes"]
    assert abs(savings(1000) - expected) < 1e-6, (
        f"the kernel moves {kernel['bytes']} bytes, the three operators {eager}: that is {expected:g} times, not {savings(1000):g}"
    )
    print("Exercise 2: right.")

# %% [markdown]
# ## What to take along
#
# * A kernel is one function for all elements; a launch runs it.
# * Memory is what most kernels wait for. Fusion keeps numbers in registers and moves fewer bytes.
# * Operations a byte decide which roof a kernel hits; products hit the flat one, nearly all else the slope.
# * What you write decides what fuses: results that you keep are written, values that you read break the graph.
#
# Next: how exact the numbers are that come out, `09_numerics.py`.
