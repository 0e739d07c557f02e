# %% [markdown]
# # Learning from rewards
#
# Nobody tells this network what to do. It acts, and sometimes something good happens; a *policy gradient* makes what was
# done before good things more likely. The world is a small one: a cart with a pole on it that wants to fall. About 30
# minutes; it trains on the CPU in under a minute.

# %%
import math
import random

import plotly.graph_objects as go
import torch
from torch import nn
from torch.distributions import Categorical

print("computing on cpu: the network is tiny, and it acts one step at a time")

# %% [markdown]
# ## The world
#
# A cart on a rail carries a pole. Each step we push it to the left or to the right. The state is four numbers: where the
# cart is, how fast, the pole's angle, and how fast that changes. It is over when the pole leans more than 12 degrees or
# the cart leaves the rail; every step before that is worth 1.


# %%
class Pole:
    """Cart and pole by Newton's laws, in steps of 0.02 s (Barto, Sutton and Anderson, 1983)."""

    gravity, cart, pole, half_length, force, dt = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self, seed):
        self.source = random.Random(seed)

    def reset(self):
        self.state = [self.source.uniform(-0.05, 0.05) for _ in range(4)]
        self.steps = 0
        return self.state

    def step(self, action):
        x, v, angle, spin = self.state
        push = self.force if action == 1 else -self.force
        total = self.cart + self.pole
        sine, cosine = math.sin(angle), math.cos(angle)
        drive = (push + self.pole * self.half_length * spin**2 * sine) / total
        turn = (self.gravity * sine - cosine * drive) / (self.half_length * (4 / 3 - self.pole * cosine**2 / total))
        accelerate = drive - self.pole * self.half_length * turn * cosine / total
        self.state = [x + self.dt * v, v + self.dt * accelerate, angle + self.dt * spin, spin + self.dt * turn]
        self.steps += 1
        over = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 12 * math.pi / 180
        return self.state, 1.0, over or self.steps >= 200


def play(choose, seed):
    world = Pole(seed)
    state, total, over = world.reset(), 0.0, False
    while not over:
        state, reward, over = world.step(choose(state))
        total += reward
    return total


dice = random.Random(1)
print(
    "pushing by chance keeps it up for", sum(play(lambda s: dice.randint(0, 1), i) for i in range(100)) / 100, "steps"
)
print("always pushing right:            ", sum(play(lambda s: 1, i) for i in range(100)) / 100)

# %% [markdown]
# ## The policy
#
# The network gives a probability for each of the two pushes, and we **draw** one. The drawing matters: only who tries
# something sometimes can find out that it is better.
#
# ## The gradient of something that has no gradient
#
# How many steps the pole stays up is no smooth function of the weights. But the *expected* reward is, and its gradient
# can be estimated from what happened:
#
# `gradient = sum over the steps of (gradient of log p(action)) * (rewards that came afterwards)`
#
# So we write a loss whose gradient is that: `-log p(action) * return`. The return is a plain number; the tape runs only
# through the log of the probability.
#
# *Predict:* all rewards are +1. Why does that not simply make every action more likely?


# %%
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, states):
        return Categorical(logits=self.layers(states))


def returns_of(rewards, discount=0.98):
    """What was still to come at each step; later rewards count less."""
    out, running = [], 0.0
    for reward in reversed(rewards):
        running = reward + discount * running
        out.append(running)
    return out[::-1]


print("returns of four steps:", [round(r, 2) for r in returns_of([1, 1, 1, 1])])

# %% [markdown]
# Because the numbers are compared: we subtract their mean (the *baseline*). What went better than usual is made more
# likely, what went worse less likely.


# %%
def episode(policy, world):
    states, actions, rewards = [], [], []
    state, over = world.reset(), False
    while not over:
        with torch.no_grad():
            action = policy(torch.tensor(state, device="cpu")).sample().item()
        states.append(state)
        actions.append(action)
        state, reward, over = world.step(action)
        rewards.append(reward)
    return states, actions, rewards


torch.manual_seed(3)
with torch.device("cpu"):
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
    world = Pole(0)
    lengths = []
    for update in range(1, 41):
        states, actions, targets = [], [], []
        for _ in range(6):
            s, a, r = episode(policy, world)
            states += s
            actions += a
            targets += returns_of(r)
            lengths.append(len(r))
        advantage = torch.tensor(targets)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        chosen = policy(torch.tensor(states))
        loss = -(chosen.log_prob(torch.tensor(actions)) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if update % 10 == 0:
            print(f"update {update:2}  the last 30 episodes lasted {sum(lengths[-30:]) / 30:5.1f} steps")
figure = go.Figure(go.Scatter(y=lengths, mode="lines"))
figure.update_layout(title="steps until it fell", xaxis_title="episode")
figure

# %% [markdown]
# Look at the tape of the last update: hundreds of steps of many episodes, and yet it is short. Playing ran under
# `no_grad`; the states were stacked, and one pass through the network gave all the log probabilities.
#
# ## What has it learned?
#
# Without drawing, always the likelier push:


# %%
def likelier(state):
    with torch.no_grad():
        return policy(torch.tensor(state, device="cpu")).logits.argmax().item()


print("it keeps the pole up for", sum(play(likelier, 500 + i) for i in range(20)) / 20, "steps of 200")
for label, state in (
    ("leaning right", [0, 0, 0.08, 0.0]),
    ("leaning left", [0, 0, -0.08, 0.0]),
    ("upright, falling right", [0, 0, 0.0, 0.6]),
):
    with torch.no_grad():
        p = policy(torch.tensor([float(v) for v in state], device="cpu")).probs[1].item()
    print(f"{label:23} pushes right with probability {p:.2f}")

# %% [markdown]
# It pushes to the side to which the pole falls: under it, as you do with a broom on your hand.
#
# ## Exercise 1: returns
#
# Write `returns(rewards, discount)` without a list that is turned around: for step `t`, the sum of
# `discount**k * rewards[t + k]`.
#
# <details><summary>Solution</summary>
#
# ```python
# def returns(rewards, discount):
#     return [sum(discount**k * r for k, r in enumerate(rewards[t:])) for t in range(len(rewards))]
# ```
#
# </details>


# %%
def returns(rewards, discount):
    return None  # your turn


# %%
if returns([1.0], 0.5) is None:
    print("Exercise 1 waits for you.")
else:
    found, right = returns([1.0, 0.0, 2.0], 0.5), returns_of([1.0, 0.0, 2.0], 0.5)
    assert len(found) == 3, f"three steps have three returns, not {len(found)}"
    assert all(abs(f - r) < 1e-9 for f, r in zip(found, right)), (
        f"for the rewards 1, 0, 2 and 0.5 it should be {right}, not {found}"
    )
    print("Exercise 1: right.")

# %% [markdown]
# ## Exercise 2: the gradient by hand
#
# One state, two actions with logits `z`. The gradient of `log p(action)` for the logits has a famous short form. Write
# it: `slope(z, action)`, a tensor of two numbers. (It is 1 at the action, minus the probabilities.)
#
# <details><summary>Solution</summary>
#
# ```python
# def slope(z, action):
#     out = -z.softmax(-1)
#     out[action] += 1
#     return out
# ```
#
# </details>


# %%
def slope(z, action):
    return None  # your turn


# %%
z = torch.tensor([0.3, -1.2], device="cpu", requires_grad=True)
Categorical(logits=z).log_prob(torch.tensor(1, device="cpu")).backward()
mine = slope(z.detach(), 1)
if mine is None:
    print("Exercise 2 waits for you.")
else:
    assert (mine - z.grad).abs().max().item() < 1e-5, f"the tape says {z.grad.tolist()}, you say {mine.tolist()}"
    print("Exercise 2: right.")

# %% [markdown]
# ## What to take along
#
# * What cannot be differentiated can still be drawn from something that can.
# * Rewards teach only by comparison; a baseline makes the comparison sharp.
# * Play under `no_grad`, learn in one batch.
#
# Next: derivatives of derivatives, in `13_higher_derivatives.py`.
