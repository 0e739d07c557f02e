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


@program()
def names_and_docstrings():
    """What a function, a class and a class in a tuple are called, their docstrings, and the bases of a class."""

    def g(x: int) -> int:
        "doc"
        return x

    class A:
        "a"

    class B:
        pass

    class C(A):
        pass

    def f(x):
        return (
            x * len(g.__doc__) + len(g.__name__),
            A.__name__,
            A.__doc__,
            type(C()).__qualname__,
            C.__bases__[0].__name__,
        )

    def change(o, n, v):
        return lambda: setattr(o, n, v)

    class D(A):
        "d"

    changes = (
        change(g, "__doc__", "longer"),
        change(g, "__name__", "gg"),
        change(A, "__name__", "AA"),
        change(A, "__doc__", "b"),
    )
    return f, _then(*changes, change(C, "__qualname__", "CCC"), change(C, "__bases__", (D,)))


@program()
def class_of_a_child_module():
    """A child that becomes a module of another class."""

    class M(nn.Module):
        def forward(self, x):
            return x * 2

    class N(nn.Module):
        def forward(self, x):
            return x * 3

    m = nn.Sequential(M())
    return lambda x: m(x), _then(lambda: setattr(m[0], "__class__", N), lambda: setattr(m[0], "__class__", M))


@program()
def classes_registered_later():
    """`ABC.register` makes instances of what is there already."""
    import abc

    class Base(abc.ABC):
        pass

    class A:
        pass

    a = A()
    return lambda x: x * 2 if isinstance(a, Base) else x, _then(lambda: Base.register(A))


@program()
def shapes_as_keys():
    """A dictionary from outside whose keys are shapes; one more for every shape."""

    class M(nn.Module):
        def forward(self, x):
            if not hasattr(self, "cache"):
                self.cache = {}
            k = x.shape
            if k not in self.cache:
                self.cache[k] = torch.ones(k) * len(self.cache)
            return x + self.cache[k]

    m = M()
    return m, [(torch.ones(n),) for n in (1, 2, 1, 2, 3)], m


@program()
def objects_as_indices():
    """An object with `__index__` from outside, whose number changes."""

    class I:
        n = 1

        def __index__(self):
            return self.n

    i = I()
    return lambda x: x * [1, 2, 3][i] + (4, 5, 6)[i], _then(
        lambda: setattr(i, "n", 2), lambda: setattr(I, "__index__", lambda s: 0)
    )
