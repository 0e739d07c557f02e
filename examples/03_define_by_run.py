# %% [markdown]
# # Define by run
#
# In some systems you first describe a network and then run it. Here there is no description: the tape is whatever
# your Python did. An `if` that was taken is on it, the branch that was not is nowhere; a `for` leaves one copy of its
# body a turn; a recursion leaves a tree.
#
# This lesson runs four programs whose tape is different every time, and trains the last two of them. About 25
# minutes. Keep the **Tape** open.

# %%
import torch
from torch import nn
from torch.nn import functional as F

device = torch.get_default_device()
print(f"computing on {device}")


def operators(tensor):
    """The names of the operators that a tensor came from, each counted."""
    counts, waiting, seen = {}, [tensor.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        name = node.name().split("::")[-1].removesuffix("0").removesuffix("Backward")
        counts[name] = counts.get(name, 0) + 1
        waiting += [n for n, _ in node.next_functions]
    return dict(sorted(counts.items()))


# %% [markdown]
# ## `if`
#
# *Predict:* which operators are on the tape of `bend(2.0)`, and which on that of `bend(-2.0)`?


# %%
def bend(x):
    if x > 0:
        return x.square()
    return x.exp() * 3


for value in (2.0, -2.0):
    x = torch.tensor(value, requires_grad=True)
    y = bend(x)
    y.backward()
    print(f"bend({value:4}) = {y.item():.4f}, slope {x.grad.item():.4f}, tape {operators(y)}")

# %% [markdown]
# The comparison `x > 0` is on neither tape: it gave a yes or no, and Python went one way. Gradients belong to the
# way that was taken, and nobody ever differentiates the choice itself.
#
# (When you come to `compile` in lesson 7, this `if` will be a *graph break*: the compiler cannot know the answer in
# advance either.)
#
# ## `for`
#
# A loop as long as the data says. `root` finds a square root by Newton's method and stops when it is good enough.
#
# *Predict:* does `root(2)` leave as many lines as `root(1000000)`?


# %%
def root(x):
    guess, turns = x / 2, 0
    while abs(guess * guess - x).item() > 1e-3 * x.item():
        guess = (guess + x / guess) / 2
        turns += 1
    return guess, turns


for value in (2.0, 50.0, 1_000_000.0):
    x = torch.tensor(value, requires_grad=True)
    y, turns = root(x)
    y.backward()
    print(f"root({value:9}) = {y.item():8.3f} after {turns:2} turns, {sum(operators(y).values()):3} nodes; ", end="")
    print(f"slope {x.grad.item():.5f}, and 1 / (2 sqrt(x)) is {0.5 * value**-0.5:.5f}")

# %% [markdown]
# The slope comes out of a loop that nobody differentiated: the tape remembers every turn, and `backward` walks them
# all. It agrees with the formula from school as far as the guess was good.
#
# ## Recursion: a network shaped like its input
#
# Sentences, formulas and molecules are trees. A *recursive network* has one small layer that makes one vector out of
# two, and applies it wherever the tree branches. Every tree has its own network; the weights are always the same.
#
# Our trees are formulas over 0 and 1 with `and`, `or` and `xor`, as nested tuples. The network shall say what comes
# out.

# %%
import random


def formula(depth, source):
    if depth == 0 or source.random() < 0.2:
        return source.randint(0, 1)
    kind = source.choice(["and", "or", "xor"])
    return (kind, formula(depth - 1, source), formula(depth - 1, source))


def value_of(tree):
    if isinstance(tree, int):
        return tree
    kind, left, right = tree
    a, b = value_of(left), value_of(right)
    return {"and": a & b, "or": a | b, "xor": a ^ b}[kind]


source = random.Random(0)
for _ in range(3):
    tree = formula(2, source)
    print(tree, "is", value_of(tree))


# %%
class TreeNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.leaf = nn.Embedding(2, width)
        self.join = nn.ModuleDict({k: nn.Linear(2 * width, width) for k in ("and", "or", "xor")})
        self.answer = nn.Linear(width, 2)

    def vector(self, tree):
        if isinstance(tree, int):
            return self.leaf(torch.tensor(tree))
        kind, left, right = tree
        both = torch.cat([self.vector(left), self.vector(right)])
        return torch.tanh(self.join[kind](both))

    def forward(self, tree):
        return self.answer(self.vector(tree))


torch.manual_seed(0)
with torch.device("cpu"):
    trees = TreeNet()
trees = trees.to(device)
for tree in (1, ("and", 0, 1), ("xor", ("or", 0, 1), ("and", 1, 1))):
    print(sum(operators(trees(tree)[0]).values()), "nodes for", tree)

# %% [markdown]
# Open the Tape of the largest: it *is* the formula, upside down. Modules of the same name fold into one box; unfold
# them and you find `join.and`, `join.or` and `join.xor` where the formula has them.
#
# Now train it. Every step is another tree, so every step is another tape. On a device that is far away each small
# operator costs its travel, so this part stays on the CPU; lesson 8 explains.

# %%
trees = trees.to("cpu")
with torch.device("cpu"):
    source = random.Random(1)
    optimizer = torch.optim.Adam(trees.parameters(), lr=0.01)
    tree_losses = []
    for _ in range(600):
        batch = [formula(3, source) for _ in range(4)]
        scores = torch.stack([trees(tree) for tree in batch])
        loss = F.cross_entropy(scores, torch.tensor([value_of(tree) for tree in batch]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tree_losses.append(loss.item())
    exam = [formula(4, random.Random(1000 + i)) for i in range(200)]
    with torch.no_grad():
        right = sum(int(trees(tree).argmax()) == value_of(tree) for tree in exam)
print(f"loss {sum(tree_losses[:50]) / 50:.3f} at first, {sum(tree_losses[-50:]) / 50:.3f} at last")
print(f"{right} of 200 deeper formulas right")

# %% [markdown]
# The exam has deeper formulas than training had. The network never saw them, but it has learned the three rules, and
# the recursion does the rest.
#
# ## Sequences of different length
#
# A recurrent network reads one thing after the other and keeps a state. `nn.RNN` does the loop for us; a few lines of
# our own show that there is nothing in it. The task: read a word of brackets such as `(()())`, and say whether every
# bracket is closed.


# %%
def word(source):
    if source.random() < 0.5:  # a right one
        text, depth = "", 0
        for _ in range(2 * source.randint(1, 6)):
            opens = depth == 0 or source.random() < 0.5
            text += "(" if opens else ")"
            depth += 1 if opens else -1
        text += ")" * depth
    else:
        text = "".join(source.choice("()") for _ in range(source.randint(1, 14)))
    return text


def closed(text):
    depth = 0
    for c in text:
        depth += 1 if c == "(" else -1
        if depth < 0:
            return 0
    return int(depth == 0)


class Reader(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.letters = nn.Embedding(2, width)
        self.cell = nn.Linear(2 * width, width)
        self.answer = nn.Linear(width, 2)
        self.width = width

    def forward(self, text):
        state = torch.zeros(self.width)
        for letter in self.letters(torch.tensor([int(c == ")") for c in text])):
            state = torch.tanh(self.cell(torch.cat([letter, state])))
        return self.answer(state)


torch.manual_seed(0)
with torch.device("cpu"):
    reader = Reader()
    for text in ("()", "((()))"):
        print(f"{text:8} {sum(operators(reader(text)[0]).values())} nodes")

# %% [markdown]
# *Predict:* the words have different lengths. Must they be padded to train on them?
#
# No. Each one gets the tape it needs. (Padding is for speed: then a whole batch shares one large operator a turn.)

# %%
with torch.device("cpu"):
    source = random.Random(2)
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.003)
    word_losses = []
    for _ in range(700):
        batch = [word(source) for _ in range(6)]
        scores = torch.stack([reader(text) for text in batch])
        loss = F.cross_entropy(scores, torch.tensor([closed(text) for text in batch]))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        word_losses.append(loss.item())
    exam = [word(random.Random(5000 + i)) for i in range(300)]
    with torch.no_grad():
        read = sum(int(reader(text).argmax()) == closed(text) for text in exam)
print(
    f"loss {sum(word_losses[:50]) / 50:.3f} at first, {sum(word_losses[-50:]) / 50:.3f} at last; {read} of 300 words right"
)

# %% [markdown]
# ## Exercise 1: how many nodes?
#
# `depth_of(tree)` below is 0 for a leaf. Write `leaves(tree)`, the number of leaves of a formula; the tape of
# `trees.vector(tree)` has one `Embedding` node for each.
#
# <details><summary>Solution</summary>
#
# ```python
# def leaves(tree):
#     return 1 if isinstance(tree, int) else leaves(tree[1]) + leaves(tree[2])
# ```
#
# </details>


# %%
def leaves(tree):
    return None  # your turn


# %%
tree = formula(4, random.Random(7))
with torch.device("cpu"):
    on_tape = operators(trees.vector(tree)[0]).get("Embedding")
if leaves(tree) is None:
    print("Exercise 1 waits for you.")
else:
    assert leaves(1) == 1, "a formula that is only a number has one leaf"
    assert leaves(tree) == on_tape, f"the tape has {on_tape} Embedding nodes, you count {leaves(tree)} leaves"
    print("Exercise 1: right.")

# %% [markdown]
# ## Exercise 2: a loop with a gradient
#
# `power(x, n)` shall multiply `x` by itself in a loop, so that its tape has `n - 1` multiplications. (`x ** n` has one
# node; this is about the loop.)
#
# <details><summary>Solution</summary>
#
# ```python
# def power(x, n):
#     result = x
#     for _ in range(n - 1):
#         result = result * x
#     return result
# ```
#
# </details>


# %%
def power(x, n):
    return None  # your turn


# %%
x = torch.tensor(1.5, requires_grad=True)
y = power(x, 5)
if y is None:
    print("Exercise 2 waits for you.")
else:
    assert abs(y.item() - 1.5**5) < 1e-4, f"1.5 to the 5th is {1.5**5}, not {y.item()}"
    assert operators(y).get("Mul") == 4, f"the tape should have 4 multiplications, but has {operators(y)}"
    y.backward()
    assert abs(x.grad.item() - 5 * 1.5**4) < 1e-3
    print("Exercise 2: right, and its slope is", round(x.grad.item(), 4))

# %% [markdown]
# ## What to take along
#
# * The tape is made by running. Only what ran is on it.
# * Choices are not differentiated; what was chosen is.
# * Loops and recursion cost nothing to write, and one node for each operator that ran.
#
# Next: what happens with the gradients, in `04_optimizers.py`.
