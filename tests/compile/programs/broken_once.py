"""Programs that once came out wrong when they were compiled; each docstring names the trap."""

# ruff: noqa (the programs are odd on purpose)
# pyright: basic

import collections
import enum
import functools
import types

from tapescope import engine as torch

from .harness import program

nn = torch.nn
P = collections.namedtuple("P", "a b")


def _one():
    return torch.ones(1)


def _then(*changes):
    """Calls with one tensor, each change before the call."""
    yield (_one(),)
    for change in changes:
        change()
        yield (_one(),)


def _effect():
    log, count = [], 0

    def effect():
        nonlocal count
        count += 1
        log.append(count)
        return count

    return effect, log


@program()
def closure_of_a_property():
    """A getter is found through the type; an effect on its closure must happen at every call, not while capturing."""
    effect, log = _effect()

    class C:
        @property
        def p(self):
            return effect()

        @p.setter
        def p(self, v):
            effect()

        @functools.cached_property
        def cached(self):
            return effect()

    c = C()

    def f(x):
        c.p = 3
        return x * c.p + C().cached

    return f, [(_one(),)] * 4, log


@program()
def closure_of_a_descriptor():
    """The same of `__get__` and `__set__`."""
    effect, log = _effect()

    class D:
        def __get__(self, o, t=None):
            return effect()

        def __set__(self, o, v):
            effect()

    class C:
        d = D()

    c = C()

    def f(x):
        c.d = 2
        return x * c.d

    return f, [(_one(),)] * 4, log


@program()
def closure_of_hooks_of_attributes():
    """The same of `__getattr__`, `__setattr__` and `__delattr__`."""
    effect, log = _effect()

    class C:
        def __getattr__(self, name):
            return effect()

        def __setattr__(self, name, value):
            effect()

        def __delattr__(self, name):
            effect()

    c = C()

    def f(x):
        c.a = 1
        del c.a
        return x * c.b

    return f, [(_one(),)] * 4, log


@program()
def closure_of_new_missing_and_class_item():
    """The same of `__new__`, `__missing__` and `__class_getitem__`."""
    effect, log = _effect()

    class New:
        def __new__(cls):
            effect()
            return super().__new__(cls)

    class Missing(dict):
        def __missing__(self, k):
            return effect()

    class Item:
        def __class_getitem__(cls, i):
            return effect()

    def f(x):
        New()
        return x * Missing()["q"] + Item[0]

    return f, [(_one(),)] * 4, log


@program()
def closure_of_a_metaclass():
    """The same of a metaclass's `__call__`, `__instancecheck__` and properties."""
    effect, log = _effect()

    class Meta(type):
        def __call__(cls):
            return effect()

        def __instancecheck__(cls, o):
            return bool(effect())

        @property
        def p(cls):
            return effect()

    class C(metaclass=Meta):
        pass

    return lambda x: x * C() + C.p + isinstance(3, C), [(_one(),)] * 4, log


@program()
def closure_of_a_module_property():
    """The same of a property and of `__getattr__` of a module."""
    effect, log = _effect()

    class M(nn.Module):
        def forward(self, x):
            return x * self.p + self.q

        @property
        def p(self):
            return effect()

        def __getattr__(self, name):
            return effect() if name == "q" else super().__getattr__(name)

    m = M()
    return lambda x: m(x), [(_one(),)] * 4, log


@program()
def one_object_twice():
    """Two arguments that were one object at first are two objects later, equal or not."""
    t, u, p = (1, 2), (_one(), 2), P(1, 2)
    pairs = [
        (t, t), (tuple([1, 2]), tuple([1, 2])), ((1, 3), (1, 2)), (u, u), (u, (u[0], 2)), (p, p), (p, P(1, 2)),
    ]  # fmt: skip
    return lambda x, a, b: (a is b, a == b, (a, b)), [(_one(), *p) for p in pairs]


@program()
def one_method_twice():
    """The same of bound methods, which are equal where their objects are the same."""

    class A:
        def m(self):
            return 1

    a, b = A(), A()
    m = a.m
    return lambda x, a, b: (a is b, a == b, (a, b)), [(_one(), *p) for p in ((m, m), (a.m, b.m), (a.m, a.m))]


@program()
def one_text_twice():
    """The same of strings, floats and large numbers."""
    pairs = [
        ("ab", "ab"), ("".join("ab"), "".join("ab")), (2.5, 2.5), (float("2.5"), float("2.5")), (10**10, int("1" + "0" * 10)),
    ]  # fmt: skip
    return lambda x, a, b: (a is b, a == b), [(_one(), *p) for p in pairs]


@program()
def id_as_key():
    """`d[id(x)]` must ask for the number of this call's object."""
    d, seen = {}, set()
    a, b = torch.ones(1), torch.ones(1)

    def f(x):
        d[id(x)] = d.get(id(x), 0) + 1
        new = id(x) not in seen
        seen.add(id(x))
        return new, d[id(x)], len(d), id(x) == id(a)

    return f, [(t,) for t in (a, a, b, a, b)]


@program()
def class_attribute_shadowed_later():
    """A class that stands nearer in the order of resolution gets the name later."""

    class Base:
        k = 1

    class A(Base):
        @property
        def p(self):
            return self.k

    class B(A):
        def m(self):
            return super().k

    a, b = A(), B()
    return lambda x: (x * a.k, x * a.p, x * b.k, x * b.m(), A.k), _then(
        lambda: setattr(A, "k", 7), lambda: setattr(B, "k", 9), lambda: delattr(A, "k")
    )


@program()
def special_methods_added_later():
    """Hooks and special methods put on a class after it was captured."""

    class A:
        pass

    class D(dict):
        def __missing__(self, k):
            return 5

    class L(list):
        pass

    a, d, l, log = A(), D(), L([1, 2]), []

    def f(x):
        a.q = 1
        return x * getattr(a, "z", 1), d["q"], len(l), l[0], sum([v for v in l])

    return f, _then(
        lambda: setattr(A, "__getattr__", lambda s, n: 7), lambda: setattr(A, "__setattr__", lambda s, n, v: log.append(n)),
        lambda: setattr(D, "__missing__", lambda s, k: 9), lambda: setattr(L, "__len__", lambda s: 10),
        lambda: setattr(L, "__getitem__", lambda s, i: 7), lambda: setattr(L, "__iter__", lambda s: iter([9])),
    ), log  # fmt: skip


@program("mutation")
def members_of_an_enumeration_change():
    """What a member of an enumeration holds can change, too."""

    class E(enum.Enum):
        A = 1

        def __init__(self, v):
            self.seen = 0

    def f(x):
        E.A.seen += 1
        return x * E.A.value, E.A.seen

    return f, _then(lambda: setattr(E.A, "_value_", 7), lambda: None)


@program()
def absent_name_of_a_module():
    """A Python module gets a name that was asked for before."""
    mod = types.ModuleType("mod")
    return lambda x: (x * mod.k if hasattr(mod, "k") else x, x * getattr(mod, "k", 1)), _then(
        lambda: setattr(mod, "k", 5)
    )


@program()
def dictionaries_of_modules_written():
    """`_parameters` and `_modules` are written directly, as pruning does."""
    m = nn.Sequential(nn.Linear(1, 1), nn.Sigmoid())

    def parameter(v):
        m[0]._parameters["weight"] = nn.Parameter(torch.ones(1, 1) * v)

    return lambda x: m(x), (
        (torch.ones(1, 1),)
        for change in (
            lambda: None, lambda: None, lambda: parameter(7), lambda: m[0]._parameters.update(bias=None), lambda: m._modules.pop("1"),
            lambda: m._modules.__setitem__("1", nn.Tanh()), lambda: setattr(m, "_modules", {"0": nn.ReLU()}),
        )
        if change() is not m
    )  # fmt: skip


@program()
def float_of_a_changing_int():
    """`float(n)` of a number that became an input stays a float."""
    f = lambda x, n: (x * n, float(n), str(float(n)), float(n) * 0.5, float(x.shape[0]))
    return f, [(torch.ones(n), n) for n in (2, 3, 4)]


@program()
def text_of_changing_floats():
    """The zeros, infinities and nan have texts of their own."""
    values = (1.5, 2.5, 0.0, -0.0, float("nan"), float("inf"), -float("inf"))
    return lambda x, n: (str(n), f"{n:.2f}", -n), [(_one(), n) for n in values]


@program()
def factory_of_a_defaultdict():
    """The factory's effect happens once."""
    effect, log = _effect()
    d = collections.defaultdict(effect)
    return lambda x: x * d[len(log)], [(_one(),)] * 3, log, d


@program()
def global_written_and_deleted():
    """A global that is written and deleted inside is not there afterwards, and need not have been before."""

    def f(x):
        global _gone
        _gone = x
        del _gone
        return x + 1

    return f, [(_one(),)] * 2


@program()
def equal_keys_of_other_types():
    """1, True and 1.0 are equal, and not the same key."""
    f = lambda x, d: (x, [type(k).__name__ for k in d], [str(k) for k in d])
    return f, [(_one(), k) for k in ({1: 0}, {True: 0}, {1.0: 0}, {1}, {True}, frozenset({1}), frozenset({True}))]


@program("exception", fullgraph=True)
def operator_error_under_fullgraph():
    """An operator's own error comes out as it is under fullgraph=True."""
    return lambda x: x.view(9), [(torch.ones(2),)] * 2
