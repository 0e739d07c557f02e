"""The language: classes, special methods, generators, context managers, exceptions, decorators."""

# ruff: noqa (the programs are odd on purpose)
# pyright: basic

import contextlib
import functools
import itertools
import operator
from abc import ABC, abstractmethod
from collections import namedtuple
from dataclasses import dataclass, replace
from enum import Enum

from tapescope import engine as torch

from .harness import program


class Base:
    unit = 2

    def __init__(self, x):
        self.x = x

    def value(self):
        return self.x * self.unit

    @classmethod
    def make(cls, x):
        return cls(x)

    @staticmethod
    def twice(x):
        return x * 2

    @property
    def half(self):
        return self.x / 2

    @half.setter
    def half(self, v):
        self.x = v * 2


class Child(Base):
    unit = 3

    def __init__(self, x, y=1):
        super().__init__(x)
        self.y = y

    def value(self):
        return super().value() + self.y

    def __call__(self, z):
        return self.x + z

    def __repr__(self):
        return f"Child(y={self.y})"

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return self.x * i

    def __eq__(self, other):
        return isinstance(other, Child) and self.y == other.y

    __hash__ = None


@program(graphs=1)
def classes():
    def f(x):
        c = Child(x, 5)
        c.half = x
        return (
            c.value(),
            c.half,
            c(x),
            len(c),
            c[3],
            repr(c),
            Child.make(x).y,
            c.twice(x),
            Base.make(x).value(),
            bool(c),
        )

    return f, [(torch.ones(2),)] * 2


@program(graphs=1)
def class_argument():
    def f(c, x):
        return c.value() + c(x), c == Child(x, 1), c != 3, isinstance(c, Base), issubclass(type(c), Child)

    return f, [(Child(torch.ones(2)), torch.ones(2))] * 2


@program(graphs=1)
def operators_of_a_class():
    class V:
        def __init__(self, x):
            self.x = x

        def __add__(self, o):
            return V(self.x + (o.x if isinstance(o, V) else o))

        def __radd__(self, o):
            return V(self.x + o * 10)

        def __mul__(self, o):
            return NotImplemented

        def __rmul__(self, o):
            return V(self.x * o)

        def __neg__(self):
            return V(-self.x)

        def __iadd__(self, o):
            self.x = self.x + o
            return self

        def __lt__(self, o):
            return True

        def __contains__(self, k):
            return k == 3

        def __iter__(self):
            yield self.x
            yield self.x * 2

        def __bool__(self):
            return False

        def __getattr__(self, name):
            if name.startswith("get_"):
                return lambda: name
            raise AttributeError(name)

    def f(x):
        a, b = V(x), V(x * 2)
        a += 1
        c = sum([a, b])
        return (
            (a + b).x,
            (1 + a).x,
            (3 * a).x,
            (-a).x,
            a < b,
            3 in a,
            4 not in a,
            list(a),
            not a,
            a.get_it(),
            hasattr(a, "zz"),
            c.x,
        )

    return f, [(torch.ones(2),)] * 2


@program(graphs=1)
def generators():
    def count(n):
        got = 0
        for i in range(n):
            got = yield i + (got or 0)

    def both(n):
        r = yield from count(n)
        yield "end"
        return r

    def f(x):
        g = count(4)
        a = next(g)
        b = g.send(10)
        c = list(g)
        d = list(both(2))
        e = sum(i * i for i in range(4))
        g2 = count(3)
        next(g2)
        g2.close()
        return x * e, a, b, c, d, next(g2, "done")

    return f, [(torch.ones(2),)] * 2


@program(graphs=1)
def generator_with_tensors():
    def scan(xs):
        total = 0
        for x in xs:
            total = total + x
            yield total

    def f(xs):
        return list(scan(xs)), [a * b for a, b in zip(scan(xs), xs)], dict(enumerate(scan(xs)))

    return f, [([torch.ones(1), torch.ones(1) * 2],)] * 2


@program(graphs=1)
def generator_throw():
    def g():
        try:
            yield 1
        except ValueError as e:
            yield str(e)
        finally:
            yield "finally"

    def f(x):
        it = g()
        a = next(it)
        b = it.throw(ValueError("thrown"))
        return x + 1, a, b, next(it)

    return f, [(torch.ones(2),)]


@program(graphs=1)
def list_grows_while_iterated():
    def f(x):
        xs = [1]
        out = []
        for i in xs:
            if len(xs) < 4:
                xs.append(i + 1)
            out.append(x * i)
        return out, xs

    return f, [(torch.ones(1),)]


@program(graphs=1)
def exceptions():
    class MyError(Exception):
        pass

    def g(n):
        if n == 1:
            raise ValueError("one", n)
        if n == 2:
            raise MyError
        if n == 3:
            return {}["x"]
        if n == 4:
            return [][0]
        if n == 5:
            return 1 // 0
        return n

    def f(x):
        out = []
        for n in range(7):
            try:
                out.append(g(n))
            except ValueError as e:
                out.append((type(e).__name__, e.args))
            except (MyError, KeyError) as e:
                out.append(type(e).__name__)
            except LookupError:
                out.append("lookup")
            except Exception as e:
                out.append(str(e))
            else:
                out.append("else")
            finally:
                out.append("f")
        return x * 2, out

    return f, [(torch.ones(1),)] * 2


@program(graphs=1)
def finally_and_return():
    def g(x):
        try:
            return x + 1
        finally:
            x = x * 100

    def h(x):
        for i in range(3):
            try:
                if i == 1:
                    break
                continue
            finally:
                x = x + 10
        return x

    def k(x):
        try:
            raise KeyError("a") from ValueError("b")
        except KeyError as e:
            return x, type(e.__cause__).__name__, str(e)

    return lambda x: (g(x), h(x), k(x)), [(torch.ones(1),)]


@program()
def user_error_comes_out():
    def f(xs, x):
        xs.append(1)
        y = x * 2
        if y.shape[0] == 2:
            raise ValueError(f"bad {x.shape[0]}")
        return y

    return f, [([], torch.ones(2)), ([], torch.ones(3)), ([], torch.ones(2))]


@program()
def error_through_finally():
    def f(xs, x):
        try:
            try:
                xs.append("try")
                raise KeyError("gone")
            finally:
                xs.append("finally")
        except ZeroDivisionError:
            xs.append("no")
        return x

    return f, [([], torch.ones(2))] * 2


@program("exception")
def operator_error_caught():
    def f(x):
        try:
            return x.view(7)
        except RuntimeError:
            return x * 0

    return f, [(torch.ones(2, 2),)] * 2


@program("exception")
def operator_error_comes_out():
    def f(log, x):
        log.append("before")
        y = x + 1
        z = y @ torch.ones(3, 3)
        log.append("after")
        return z

    return f, [([], torch.ones(2, 2))] * 2


@program("exception")
def operator_error_in_a_callee():
    def g(x):
        return x.reshape(7)

    def f(x):
        try:
            return g(x)
        except RuntimeError as e:
            return x * 2, "shape" in str(e)

    return f, [(torch.ones(2, 2),)] * 2


@program(graphs=1)
def context_managers():
    class Log:
        def __init__(self, out, swallow=False):
            self.out, self.swallow = out, swallow

        def __enter__(self):
            self.out.append("enter")
            return self

        def __exit__(self, kind, error, trace):
            self.out.append(kind.__name__ if kind else None)
            return self.swallow

    @contextlib.contextmanager
    def managed(out):
        out.append("in")
        try:
            yield 5
        finally:
            out.append("out")

    def f(x):
        out = []
        with Log(out) as a, managed(out) as n:
            x = x * n
        with Log(out, True):
            raise ValueError("swallowed")
        with contextlib.suppress(KeyError):
            {}["a"]
        with contextlib.nullcontext(3) as k:
            x = x + k
        return x, out

    return f, [(torch.ones(1),)] * 2


@program(graphs=1)
def no_grad_forms():
    @torch.no_grad()
    def g(x):
        return x * 2

    def f(x):
        a = g(x)
        with torch.no_grad():
            b = x * 3
            with torch.enable_grad():
                c = x * 4
        with torch.set_grad_enabled(False):
            d = x * 5
        return a, b, c, d, x * 6, torch.is_grad_enabled()

    return f, [(torch.ones(1, requires_grad=True),)] * 2


@program(graphs=1)
def decorators():
    def twice(f):
        @functools.wraps(f)
        def g(*args, **kwargs):
            return f(*args, **kwargs) * 2

        return g

    def times(n):
        def outer(f):
            return lambda *a: f(*a) * n

        return outer

    @twice
    @times(3)
    def h(x):
        return x + 1

    def f(x):
        @twice
        def inner(y):
            return y - 1

        return h(x), inner(x), inner.__name__

    return f, [(torch.ones(1),)] * 2


@program(graphs=1)
def functools_and_itertools():
    def f(x, y):
        p = functools.partial(torch.add, x, alpha=2)
        q = functools.partial(lambda a, b, c=1: a + b * c, c=3)
        r = functools.reduce(lambda a, b: a * b, [x, y, x])
        chained = list(itertools.chain([x], (y,)))
        pairs = list(itertools.product([1, 2], "ab"))
        acc = list(itertools.accumulate([1, 2, 3]))
        sl = list(itertools.islice(itertools.count(), 2, 5))
        m = list(map(lambda a, b: a + b, [x, y], [y, y]))
        fl = list(filter(lambda n: n % 2, range(5)))
        z = list(zip([x, y], range(5)))
        return (
            p(y),
            q(x, y),
            r,
            chained,
            pairs,
            acc,
            sl,
            m,
            fl,
            z,
            operator.add(x, y),
            list(reversed([1, x])),
            any([0, 1]),
            all([]),
        )

    return f, [(torch.ones(1), torch.full((1,), 2.0))] * 2


class Color(Enum):
    RED = 1
    BLUE = 2


@program(graphs=2)
def enums():
    def f(x, c):
        if c is Color.RED:
            return x + c.value, c.name
        return x - c.value, c == Color.BLUE

    return f, [(torch.ones(1), Color.RED), (torch.ones(1), Color.BLUE), (torch.ones(1), Color.RED)]


@dataclass(frozen=True)
class Config:
    width: int = 2
    act: str = "relu"


@program(graphs=1)
def frozen_dataclass():
    def f(x, c):
        d = replace(c, act="gelu")
        return getattr(torch.nn.functional, c.act)(x) * c.width, d.act, d == c

    return f, [(torch.ones(1), Config())] * 2


class Shape(ABC):
    @abstractmethod
    def area(self): ...

    def double(self):
        return self.area() * 2


class Square(Shape):
    def __init__(self, s):
        self.s = s

    def area(self):
        return self.s * self.s


@program(graphs=1)
def abstract_classes():
    return lambda x: (Square(x).double(), isinstance(Square(x), Shape)), [(torch.ones(1),)] * 2


@program(graphs=1)
def class_made_inside():
    def f(x):
        class Local(Base):
            k = 3

            def value(self):
                return super().value() * self.k

        return Local(x).value(), Local.__name__

    return f, [(torch.ones(1),)] * 2


@program(graphs=1)
def named_tuple_made_inside():
    def f(x):
        P = namedtuple("P", "a b")
        p = P(x, b=2)
        return p.a * p.b, p._fields

    return f, [(torch.ones(1),)] * 2


@program(graphs=1)
def star_expressions():
    def g(a, b, *c, d=0, **e):
        return a + b + sum(c) + d + sum(e.values())

    def f(x):
        xs = [x, 2]
        kw = {"d": 3}
        return g(*xs, *[4, 5], **kw, z=6), [*xs, 1], {**kw, "e": 2}, (*xs,)

    return f, [(torch.ones(1),)]


@program(graphs=1)
def lambdas_and_defaults():
    def f(x, k=[2], *, g=lambda a: a * 3):
        return g(x) * k[0]

    return f, [(torch.ones(1),)] * 2


@program(graphs=1)
def fresh_lambda_each_call():
    def f(x, g):
        return g(x) * 2

    def calls():
        for _ in range(4):
            yield torch.ones(1), lambda a: a + 1

    return f, calls()


@program()
def lambda_with_closure_changes():
    def f(x, g):
        return g(x) * 2

    def calls():
        for k in range(5):
            yield torch.ones(1), lambda a, k=k: a + k

    return f, calls()


@program(graphs=1)
def cached_property_and_getattr():
    class M:
        def __init__(self, x):
            self.x = x

        @functools.cached_property
        def twice(self):
            return self.x * 2

    def f(m):
        return m.twice + m.twice, "twice" in m.__dict__, getattr(m, "no", None)

    return f, [(M(torch.ones(1)),)]


@program(graphs=1)
def sets_and_sorting():
    def f(x):
        s = {3, 1, 2}
        t = frozenset([1, 2])
        words = sorted(["bb", "a", "ccc"], key=len, reverse=True)
        return (
            x + len(s & t),
            s - t,
            t <= s,
            words,
            min(s),
            divmod(7, 2),
            round(2.567, 1),
            abs(-3),
            pow(2, 3),
            [3, 1][::-1],
        )

    return f, [(torch.ones(1),)]


@program(graphs=1)
def string_building():
    def f(x):
        parts = ["a", "b"]
        parts.append(f"{x.shape[0]!r:>4}|{3.14159:.2f}|{True}")
        return ",".join(parts), "{:>5}".format("x"), "abc".replace("b", "-"), str(x.dtype), repr([1, "a"]), x + 1

    return f, [(torch.ones(1),)]


@program(graphs=1)
def imports_inside():
    def f(x):
        import math
        from math import sqrt

        return x * sqrt(4) + math.floor(2.5)

    return f, [(torch.ones(1),)]


@program(graphs=1)
def assertion():
    def f(x, n):
        assert n > 0, f"n is {n}"
        return x * n

    return f, [(torch.ones(1), 2)]


@program()
def assertion_fails():
    def f(x, n):
        assert n > 0, f"n is {n}"
        return x * n

    return f, [(torch.ones(1), 2), (torch.ones(1), -1)]


@program(graphs=1)
def type_tests():
    def f(x, v):
        kinds = [
            isinstance(x, torch.Tensor),
            isinstance(v, (list, tuple)),
            type(v) is list,
            callable(f),
            torch.is_tensor(x),
        ]
        return x + len(v), kinds, type(x).__name__, isinstance(3, int), issubclass(bool, int)

    return f, [(torch.ones(1), [1])]


@program()
def generator_function():
    def f(x, n):
        for i in range(n):
            got = yield x * i
            if got:
                yield got

    return f, [(torch.ones(1), 2), (torch.ones(1), 3)]


@program(graphs=1)
def mask_filled():
    def f(x):
        y = x.clone()
        y[y > 0] = -1.0
        y[x[:, 0] < 0] = 7
        return y

    return f, [(torch.randn(3, 2),)] * 2
