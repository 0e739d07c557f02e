"""Side effects: exactly as often and in the same order as in eager, on objects that existed before and on those made inside."""

# ruff: noqa (the programs are odd on purpose)
# pyright: basic

from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tapescope import engine as torch

from .harness import program


@program()
def append_to_argument():
    def f(xs, x):
        xs.append(x * 2)
        return x + 1

    log = []
    return f, [(log, torch.ones(1))] * 4


@program(graphs=1)
def append_never_reads_the_length():
    def f(xs, x):
        xs.append(1)
        return x + 1

    log = []
    return f, [(log, torch.ones(1))] * 4


@program()
def list_methods():
    def f(xs, x):
        xs.extend([4, 5])
        xs.insert(0, 9)
        last = xs.pop()
        xs.remove(2)
        xs.reverse()
        xs[1] = "one"
        del xs[0]
        return last, x * 2, xs.index(5), xs.count(1), len(xs), 4 in xs, xs[-1], xs[1:]

    return f, [([1, 2, 3], torch.ones(1))] * 2


@program()
def list_sort():
    def f(xs, x):
        xs.sort(key=lambda v: -v)
        return sorted(xs), xs, max(xs), min(xs, key=lambda v: v % 3), x + 1

    return f, [([3, 1, 2], torch.ones(1)), ([3, 1, 2], torch.ones(1))]


@program()
def dict_methods():
    def f(d, x):
        d["new"] = x
        d.setdefault("a", 5)
        d.setdefault("b", [x])
        d.update(c=3)
        gone = d.pop("z", None)
        return gone, d.get("q", 7), list(d), list(d.values())[:1], "a" in d, len(d), {**d, "e": 1}

    return f, [({"a": 1, "z": 2}, torch.ones(1)), ({"a": 1, "z": 2}, torch.ones(1))]


@program()
def dict_order():
    def f(d, x):
        v = d.pop("a")
        d["a"] = v
        d.move_to_end("c", last=False)
        return list(d.items()), x + 1

    return f, [(OrderedDict(a=1, b=2, c=3), torch.ones(1))] * 2


@program()
def default_dict():
    def f(d, x):
        d["a"].append(x)
        d["b"].append(1)
        return x * 2

    return f, [(defaultdict(list), torch.ones(1))] * 3


@program()
def set_methods():
    def f(s, x):
        s.add(5)
        s.discard(1)
        return 2 in s, len(s), s | {9}, x + 1

    return f, [({1, 2}, torch.ones(1)), ({1, 2}, torch.ones(1))]


@program()
def deque_methods():
    def f(q, x):
        q.append(x)
        first = q.popleft()
        return first, len(q), x + 1

    return f, [(deque([1, 2], maxlen=3), torch.ones(1))]


class Box:
    count = 0
    things: list = []

    def __init__(self):
        self.n = 0
        self.history = []
        self.value = None


@program()
def attribute_written():
    def f(b, x):
        b.value = x * 2
        b.n += 1
        b.history.append(b.n)
        return b.value + 1

    b = Box()
    return f, [(b, torch.ones(1))] * 5, b


@program(graphs=1)
def attribute_added_and_deleted():
    def f(b, x):
        b.extra = x
        y = b.extra * 2
        del b.extra
        return y, hasattr(b, "extra"), getattr(b, "nothing", 3)

    return f, [(Box(), torch.ones(1))] * 2


@program()
def class_attribute_written():
    class C:
        total = 0
        shared = []

    def f(x):
        C.total += 1
        C.shared.append(C.total)
        return x * C.total

    return f, [(torch.ones(1),)] * 4, C.shared, [lambda: C.total]


@program(graphs=1)
def order_of_effects():
    class Log:
        def __init__(self):
            self.lines = []

        def __setattr__(self, name, value):
            if name != "lines":
                self.lines.append(name)
            object.__setattr__(self, name, value)

    def f(log, x):
        log.a = 1
        log.b = x
        log.a = 2
        return x + 1

    return f, [(Log(), torch.ones(1))] * 2


@program(graphs=1)
def same_list_twice():
    def f(a, b, x):
        a.append(1)
        b.append(2)
        return a is b, x + 1

    shared = []
    return f, [(shared, shared, torch.ones(1))] * 2


@program()
def aliased_lists_later():
    def f(a, b, x):
        a.append(x)
        return len(b), x + 1

    shared = []
    return f, [([], [], torch.ones(1)), (shared, shared, torch.ones(1)), ([], [], torch.ones(1))]


@program(graphs=0)
def nested_containers():
    def f(d, x):
        d["xs"][0]["y"].append(x)
        d["xs"].append({"y": []})
        return d["xs"][-1]

    d = {"xs": [{"y": []}]}
    return f, [(d, torch.ones(1))]


@program(graphs=0)
def result_holds_argument():
    def f(xs, x):
        out = {"xs": xs, "again": xs}
        out["xs"].append(x)
        return out

    return f, [([], torch.ones(1))] * 2


@program(graphs=0)
def cycle_returned():
    def f(x):
        a = [x]
        a.append(a)
        d = {"a": a}
        d["d"] = d
        return a, d

    return f, [(torch.ones(1),)]


@dataclass
class Point:
    x: Any
    y: Any = 2
    tags: list = field(default_factory=list)

    def scaled(self, k):
        return Point(self.x * k, self.y * k)


class Pair(NamedTuple):
    a: Any
    b: Any = 1

    def both(self):
        return self.a + self.b


@program(graphs=1)
def dataclass_made():
    def f(x):
        p = Point(x)
        q = p.scaled(3)
        p.tags.append("t")
        return p, q, p.y, q.x

    return f, [(torch.ones(1),)] * 2


@program(graphs=1)
def dataclass_argument():
    def f(p):
        p.x = p.x + 1
        return p.scaled(2).x

    return f, [(Point(torch.ones(1)),)] * 2


@program(graphs=1)
def named_tuples():
    def f(p):
        q = Pair(p.a * 2, b=p.b)
        return q, q.both(), q._replace(b=5), p._fields, q[0], p == p

    return f, [(Pair(torch.ones(1), 3),)] * 2


@program(graphs=1)
def object_made_and_returned():
    def f(x):
        b = Box()
        b.value = x + 1
        b.history.append(b.value)
        return b

    return f, [(torch.ones(1),)] * 2


@program(graphs=1)
def unused_object_leaves_no_trace():
    def f(x):
        tmp = []
        tmp.append(x)
        b = Box()
        b.n = 5
        return tmp[0] * b.n

    return f, [(torch.ones(1),)] * 2


@program()
def counter_in_closure_dictionary():
    def make():
        seen = {}

        class Local:
            def hit(self, k):
                seen[k] = seen.get(k, 0) + 1
                return seen[k]

        return Local(), seen

    local, seen = make()
    return lambda x: x * local.hit("a"), [(torch.ones(1),)] * 4, seen


@program()
def gradient_mode_effect():
    def f(x):
        torch.set_grad_enabled(False)
        y = x * 2
        return y

    def g(x):
        try:
            return f(x)
        finally:
            torch.set_grad_enabled(True)

    return g, [(torch.ones(1, requires_grad=True),)] * 2


@program()
def requires_grad_effect():
    def f(x):
        x.requires_grad_(True)
        return x * 2

    return f, [(torch.ones(1),)] * 2


@program()
def counter_object():
    def f(c, x):
        c["a"] += 1
        return x * c["a"]

    return f, [(Counter(), torch.ones(1))] * 3


@program(graphs=1)
def slots():
    class S:
        __slots__ = ("a", "b")

        def __init__(self, a):
            self.a = a

    def f(s, x):
        s.b = s.a + x
        t = S(x)
        t.b = 3
        return s.b, t

    return f, [(S(torch.ones(1)), torch.ones(1))] * 2
