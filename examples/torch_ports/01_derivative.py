# %% [markdown]
# # A derivative
#
# The first program of many introductions: the slope of `x**2 + 3*x + 1` at 2, which is `2*2 + 3`.

# %%
import torch

x = torch.tensor(2.0, requires_grad=True)
y = x**2 + 3 * x + 1
y.backward()
print(x.grad)

# %%
assert x.grad.item() == 7.0
