# %% [markdown]
# # A graph that depends on the data
#
# Which operators run, and so which gradients come out, is decided by an `if` on the values.

# %%
import torch


def f(x):
    if x.sum() > 0:
        return (x * 2).sum()
    else:
        return (x * -3).sum()


a = torch.tensor([1.0, 2.0], requires_grad=True)
f(a).backward()
print(a.grad)

b = torch.tensor([-1.0, -2.0], requires_grad=True)
f(b).backward()
print(b.grad)

# %%
assert a.grad.tolist() == [2.0, 2.0]
assert b.grad.tolist() == [-3.0, -3.0]
