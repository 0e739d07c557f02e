"""Programs that look at plain values which change between calls; each docstring names what was not looked at again."""

# ruff: noqa (the programs are odd on purpose)
# pyright: basic

import weakref

from tapescope import engine as torch

from .harness import program

nn, F = torch.nn, torch.nn.functional


def _one():
    return torch.ones(1)


def _then(*changes):
    """Calls with one tensor, each change before the call."""
    yield (_one(),)
    for change in changes:
        change()
        yield (_one(),)


@program()
def attributes_as_a_dictionary():
    """An object and its `vars()` as two arguments, in both orders, after a call with an unrelated dictionary."""

    class A:
        v = 0

    def f(x, a, d):
        if type(d) is A:
            a, d = d, a
        a.v = a.v + 1
        d["v"] = d.get("v", 0) + 10
        return x * a.v + len(d)

    a, b, c, d = A(), A(), A(), A()
    return f, [(_one(), a, {}), (_one(), b, vars(b)), (_one(), vars(c), c), (_one(), d, {"v": 2}), (_one(), vars(d), d)]


@program(("opaque-call", "opaque-call"))
def let_go_after_a_break():
    """What the program deletes behind a break is gone."""

    class A:
        pass

    def f(x):
        a = A()
        r = weakref.ref(a)
        x = x + 1
        del a
        return x, r() is None

    return f, [(_one(),)] * 2


@program()
def in_front_of_a_parameter():
    """A name that is put straight into the `__dict__` of a module hides its parameter, buffer or child."""
    m = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1).eval())
    for p in m.parameters():
        p.data.fill_(1.0)

    def f(x):
        return m(x.reshape(1, 1)).round()

    def calls():
        yield (_one(),)
        m[0].__dict__["weight"] = torch.full((1, 1), 5.0)
        yield (_one(),)
        m[0].__dict__.pop("weight")
        yield (_one(),)
        m[1].__dict__["running_mean"] = torch.full((1,), 7.0)
        yield (_one(),)
        m[0].__dict__["unrelated"] = 1
        yield (_one(),)

    return f, calls()
