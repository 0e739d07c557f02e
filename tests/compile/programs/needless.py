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


@program(graphs=1)
def what_a_tensor_is_a_view_of():
    """A twin does not know the base of its tensor, nor does it know that it is a view."""

    def f(x):
        v = x[1:]
        w = v.view(-1)
        return v, v._base is x, w._base is v._base, x._base is None, x.detach()._base, x._is_view(), v._is_view()

    return f, [(torch.ones(3, 2).t(),)] * 2


@program(backend="eager")
def versions_of_tensors():
    """How often something was written to, before the graph and in it, through other tensors, too."""

    def f(x, y):
        before = x._version
        x.add_(1)
        y.mul_(2)
        z = x * 2
        z.add_(1)
        return before, x._version, z._version, y._version, (x * 1)._version

    x, y, z = torch.ones(3), torch.ones(3), torch.ones(4)
    return f, [(x, y)] * 3 + [(z[:3], z[1:])]
