"""Programs that once broke, or lost something, for no reason of their own: run with every backend."""

# ruff: noqa (the programs are odd on purpose)
# pyright: basic

import collections
import contextlib
import copy

from tapescope import engine as torch

from .harness import program

nn, F = torch.nn, torch.nn.functional


def _one():
    return torch.ones(1)


@program(graphs=1)
def ensemble_by_vmap_of_functional_call():
    """What `functional_call` exchanges it puts back: no effect."""
    models = [nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)) for _ in range(3)]
    params, buffers = torch.func.stack_module_state(models)
    base = copy.deepcopy(models[0])

    def call(p, b, x):
        return torch.func.functional_call(base, (p, b), (x,))

    return lambda x: torch.func.vmap(call, in_dims=(0, 0, None))(params, buffers, x), [(torch.randn(4, 3),)] * 2, base


@program("transform")
def vmap_of_a_function_that_leaves_something():
    """What is not put back is an effect."""
    box = {"n": 0, "k": 1}

    def call(x):
        box["n"] += 1
        before, box["k"] = box["k"], 5
        box["k"] = before
        return x * 2

    return lambda x: torch.func.vmap(call)(x), [(torch.ones(4, 3),)] * 2, box


@program()
def written_and_put_back():
    """An item and an attribute that have their values again are no effects; one deleted and put back comes last."""

    class C:
        pass

    c, d, order = C(), {"a": [1], "b": [2]}, {"a": [1], "b": [2]}
    c.x = [3]

    def f(t):
        x, a, o = c.x, d["a"], order["a"]
        c.x = d["a"] = 7
        t = t * c.x * d["a"]
        c.x, d["a"] = x, a
        del order["a"]
        order["a"] = o
        return t

    return f, [(_one(),)] * 2, c, d, order


@program(graphs=1)
def hessian_is_off_the_tape():
    """Within the batch of a Jacobian the alias that is differentiated stands outside of the batch."""

    def g(x):
        return (x**3).sum()

    def f(x):
        again = torch.func.jacrev(torch.func.jacrev(g))(x)
        return torch.func.hessian(g)(x), again, torch.func.jacfwd(torch.func.grad(g))(x)

    return f, [(torch.randn(3),)] * 2
