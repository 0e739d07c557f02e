"""Where graphs must end: prints, values of tensors, branches on data, opaque calls; and that nothing else changes."""

# ruff: noqa (the programs are odd on purpose)
# pyright: basic

import logging
import os
import random
import time

import numpy as np

from tapescope import engine as torch

from .harness import program


@program("print", graphs=2)
def print_in_the_middle():
    def f(x):
        x = x + 1
        print("hi")
        return x * 2

    return f, [(torch.ones(1),)] * 3


@program("print", graphs=2)
def print_a_tensor():
    def f(x):
        y = x + 1
        print("y is", y, end="!\n")
        return y * 2

    return f, [(torch.ones(1),), (torch.zeros(1),)]


@program("item", graphs=2)
def item_used():
    return lambda x: x * x.sum().item(), [(torch.tensor([v]),) for v in (2.0, 3.0, 4.0)]


@program(["branch"], graphs=3)
def branch_on_data():
    def f(x):
        y = x * 2
        if y.sum() > 0:
            return y + 1
        return y - 1

    return f, [(torch.ones(2),), (-torch.ones(2),), (torch.ones(2),)]


@program(["branch"])
def branches_converge():
    def f(x):
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        else:
            y = y - 1
        return y.relu() * 3

    return f, [(torch.ones(2),), (-torch.ones(2),), (torch.ones(2),), (-torch.ones(2),)]


@program("print")
def print_in_a_loop():
    def f(x):
        for i in range(4):
            x = x + i
            print(i)
        return x * 2

    return f, [(torch.ones(2),)] * 2


@program("print")
def print_in_a_while_loop():
    def f(x):
        i = 0
        while i < 5:
            x = x * 2
            print("turn", i)
            i += 1
        return x

    return f, [(torch.ones(2),)] * 2


@program("print", graphs=2)
def print_inside_a_callee():
    def g(x):
        y = x + 1
        print("in g")
        return y * 2

    def f(x):
        z = g(x * 3)
        return z - 1

    return f, [(torch.ones(2),)] * 2


@program("print")
def print_deep_in_callees():
    def h(x):
        print("h")
        return x * 2

    def g(x, n):
        if n == 0:
            return h(x)
        return g(x + n, n - 1) + 1

    return lambda x: g(x, 3) * 2, [(torch.ones(2),)] * 2


@program(["to-python", "numpy", "numpy"])
def numpy_in_the_middle():
    def f(x):
        a = (x * 2).numpy()
        return torch.from_numpy(a + 1) * 2

    return f, [(torch.ones(2),)] * 2


@program("to-python")
def tolist():
    return lambda x: sum((x + 1).tolist()), [(torch.ones(3),)] * 2


@program(["item", "item"])
def int_and_float():
    return lambda x: x[: int(x.sum())] * float(x.mean()), [(torch.ones(3),), (torch.full((3,), 0.5),)]


@program(["time"])
def clock():
    def f(x):
        t = time.time()
        return x + 1, t > 0

    return f, [(torch.ones(1),)] * 2


@program(["random"])
def python_random():
    def f(x):
        return x * random.randint(3, 3)

    return f, [(torch.ones(1),)] * 2


@program(["logging"])
def log():
    logger = logging.getLogger("tests.compile")
    logger.setLevel(logging.CRITICAL)

    def f(x):
        y = x + 1
        logger.info("hello %s", y)
        return y * 2

    return f, [(torch.ones(1),)] * 2


@program(["io"])
def environment():
    return lambda x: x * len(os.getcwd()[:1]), [(torch.ones(1),)] * 2


@program(["dynamic-shape"])
def nonzero():
    return lambda x: (x * 2).nonzero().sum() + 1, [(torch.tensor([0.0, 1.0]),)] * 2


@program(["dynamic-shape"])
def boolean_mask():
    return lambda x: x[x > 0] * 2, [(torch.tensor([-1.0, 1.0]),), (torch.tensor([2.0, 1.0]),)]


@program(["disabled"])
def disabled_function():
    @torch.compiler.disable
    def g(x):
        return x * 3

    return lambda x: g(x + 1) - 1, [(torch.ones(2),)] * 2


@program(["graph-break"], graphs=2)
def asked_for():
    def f(x):
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2

    return f, [(torch.ones(2),)] * 2


@program(["print", "print"])
def break_in_both_arms():
    def f(x, flag):
        if flag:
            print("a")
        else:
            print("b")
        return x * 2

    return f, [(torch.ones(1), True), (torch.ones(1), False), (torch.ones(1), True)]


@program(["print"])
def mutation_across_a_break():
    def f(xs):
        xs.append(1)
        print(len(xs))
        xs.append(2)
        return len(xs)

    return f, [([0],), ([5, 6],)]


@program(["print"])
def print_in_comprehension():
    def g(x):
        print("g")
        return x * 2

    return lambda xs: [g(x) for x in xs], [([torch.ones(1), torch.zeros(1)],)] * 2


@program(["print"])
def print_between_with():
    def f(x):
        with torch.no_grad():
            y = x * 2
            print("inside", torch.is_grad_enabled())
            z = y + 1
        return z * x, torch.is_grad_enabled()

    return f, [(torch.ones(2, requires_grad=True),)] * 2


@program(["print"])
def print_in_try():
    def f(x):
        try:
            print("trying")
            raise ValueError("x")
        except ValueError as e:
            x = x + 1
        finally:
            x = x * 2
        return x

    return f, [(torch.ones(2),)] * 2


@program(["branch"])
def while_on_data():
    def f(x):
        n = 0
        while x.sum() < 20:
            x = x * 2
            n += 1
        return x, n

    return f, [(torch.ones(2),), (torch.full((2,), 3.0),)]


@program(["branch"])
def assert_on_data():
    def f(x):
        assert (x > 0).all(), "negative"
        return x * 2

    return f, [(torch.ones(2),), (-torch.ones(2),)]


@program(["numpy", "numpy"])
def numpy_function():
    return lambda x, a: x + float(np.sum(a)), [(torch.ones(2), np.ones(3))] * 2


@program(["item"])
def item_in_f_string():
    return lambda x: (f"{x.sum().item():.2f}", x * 2), [(torch.ones(2),), (torch.zeros(2),)]


@program(["print"])
def generator_across_a_break():
    def numbers():
        for i in range(4):
            yield i * 2

    def f(x):
        for n in numbers():
            x = x + n
            print(n)
        return x

    return f, [(torch.ones(1),)] * 2


@program(["print"])
def zip_across_a_break():
    def f(xs):
        out = []
        for i, (a, b) in enumerate(zip(xs, xs[1:])):
            out.append(a + b)
            print(i)
        return out

    return f, [([torch.ones(1), torch.zeros(1), torch.ones(1)],)] * 2


@program(["print", "print"])
def closures_across_a_break():
    def f(x):
        n = 1

        def g(y):
            nonlocal n
            n += 1
            return y * n

        a = g(x)
        print(n)
        b = g(a)
        print(n)
        return a, b, n

    return f, [(torch.ones(1),)] * 2


@program(["print"])
def objects_across_a_break():
    class P:
        def __init__(self, x):
            self.x = x
            self.other = self

    def f(x):
        p = P(x + 1)
        q = [p, p]
        print("p")
        return q[0] is q[1], p.other is p, p.x * 2

    return f, [(torch.ones(1),)] * 2


@program(["print"])
def init_that_prints():
    class P:
        def __init__(self, x):
            self.x = x + 1
            print("made")
            self.y = self.x * 2

    def f(x):
        p = P(x)
        return p.x + p.y

    return f, [(torch.ones(1),)] * 2


@program(["print"])
def break_in_a_property():
    class P:
        def __init__(self, x):
            self.x = x

        @property
        def twice(self):
            print("twice")
            return self.x * 2

    return lambda p: p.twice + 1, [(P(torch.ones(1)),)] * 2


@program(["print"])
def break_in_a_dunder():
    class P:
        def __init__(self, x):
            self.x = x

        def __add__(self, other):
            print("add")
            return self.x + other

    return lambda p, x: (p + x) * 2, [(P(torch.ones(1)), torch.ones(1))] * 2


@program(["print"])
def break_in_a_sort_key():
    def key(i):
        print("key", i)
        return -i

    def f(x):
        return x * sorted([1, 3, 2], key=key)[0]

    return f, [(torch.ones(1),)] * 2


@program(["print"])
def dictionary_across_a_break():
    def f(d, x):
        d["a"] = x + 1
        print(sorted(d))
        d["b"] = d["a"] * 2
        del d["z"]
        return d

    return f, [({"z": 1}, torch.ones(1)), ({"z": 2}, torch.ones(1))]
