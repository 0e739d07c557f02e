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


FACTOR = 2.0


def _helper(x):
    return x * FACTOR


class Settings:
    power = 1.0


class _Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return _helper(x) + Settings.power

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * FACTOR * Settings.power


@program(everywhere=True)
def globals_of_custom_functions():
    """The methods of a custom function run inside of one node; what they look at must be looked at again."""
    global FACTOR
    FACTOR, Settings.power = 2.0, 1.0
    before = _Scale.forward, _helper

    def f(x):
        y = _Scale.apply(x).sum()
        y.backward()
        return y.detach(), x.grad

    def x():
        return (torch.ones(2, requires_grad=True),)

    def calls():
        global FACTOR, _helper
        yield x()
        FACTOR = 3.0
        yield x()
        Settings.power = 5.0
        yield x()
        _helper = lambda x: x * 100
        yield x()
        _Scale.forward = staticmethod(lambda ctx, x: (ctx.save_for_backward(x), x * 7)[1])
        yield x()
        _Scale.forward, _helper = staticmethod(before[0]), before[1]
        yield x()

    return f, calls()


@program(everywhere=True)
def closure_of_custom_functions():
    """The same of what they find in cells."""

    def make(k):
        class Times(torch.autograd.Function):
            scale = 1.0

            @staticmethod
            def forward(ctx, x):
                return x * k * Times.scale

            @staticmethod
            def backward(ctx, g):
                return g * k

        def change(v, s):
            nonlocal k
            k, Times.scale = v, s

        return Times, change

    Times, change = make(2)

    def f(x):
        y = Times.apply(x).sum()
        y.backward()
        return y.detach(), x.grad

    def calls():
        for v, s in ((2, 1.0), (3, 1.0), (3, 2.0)):
            change(v, s)
            yield (torch.ones(2, requires_grad=True),)

    return f, calls()


@program(everywhere=True)
def gradients_added_up_and_read():
    """The gradient that was there before is an input, and what the backward pass adds to."""
    w = torch.ones(2, requires_grad=True)

    def f(x):
        (w * x).sum().backward()
        return w.grad.clone(), w.grad * 2

    return f, [(torch.ones(2),)] * 3, w


@program()
def default_dtype_without_an_operator():
    """The default dtype that only a question looks at, and that of operators whose results nobody uses."""

    def f(x):
        return torch.get_default_dtype(), torch.finfo().bits, torch.zeros(1).dtype, torch.result_type(x, 1.5)

    x = torch.ones(1, dtype=torch.int64)

    def calls():
        yield (x,)
        torch.set_default_dtype(torch.float64)
        try:
            yield (x,)
        finally:
            torch.set_default_dtype(torch.float32)
        yield (x,)

    return f, calls()
