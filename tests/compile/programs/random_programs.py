"""Random small programs: arithmetic, control flow, containers, closures, exceptions and tensors, written as source text.

`source(rng)` gives the text of a function `f(x, y, n, xs, d, o)`; `world(rng)` the arguments of its calls.
"""

from __future__ import annotations

import random
from typing import Any

from tapescope import engine as torch

HEAD = """
class Obj:
    k = 2
    def __init__(self, v):
        self.v = v
        self.n = 0
    def bump(self, by=1):
        self.n += by
        return self.n
    @property
    def twice(self):
        return self.v * 2
    def __add__(self, other):
        return self.v + other

    @classmethod
    def make(cls, v):
        return cls(v)
    def loud(self, x):
        print("loud", self.n)
        self.n += 1
        return x + self.n
    def __enter__(self):
        self.n += 10
        return self
    def __exit__(self, kind, error, trace):
        self.n -= 9
        return kind is ValueError
    def __call__(self, x):
        return x * self.k
    def __iter__(self):
        yield self.n
        yield self.k
    def __len__(self):
        return 2
    def __contains__(self, q):
        return q == self.n
    def __eq__(self, other):
        return isinstance(other, Obj) and self.n == other.n
    __hash__ = object.__hash__

class Sub(Obj):
    k = 3
    def __init__(self, v, w=1):
        super().__init__(v)
        self.w = w
    def bump(self, by=1):
        return super().bump(by) + self.w

def loud(q):
    print("q", q)
    return q

def maybe(q):
    if isinstance(q, int) and q % 3 == 0:
        raise KeyError(q)
    return q

def rec(q, m):
    return q if m <= 0 else rec(q * 2, m - 1) + m

def noisy(m):
    for i in range(m):
        print("n", i)
        yield i

def closing():
    try:
        yield 1
        yield 2
    finally:
        counter[0] += 5

def helper(a, b=1, *rest, **more):
    if isinstance(a, int) and a > 3:
        return a - b
    return a + b * (len(rest) + 1)

def gen(n):
    for i in range(n):
        got = yield i * 2
        if got:
            yield got

counter = [0]

"""


KINDS = """
int int tensor tensor tensor inplace append setattr setitem if if for while try func print item gen
global aug del comp with data match loud loud loops loops cls ctx tup sort str star rec grad close
kwargs bool
""".split()  # noqa: SIM905
"""Kinds of statements; some stand twice, since they are more frequent."""


class Writer:
    """Writes one function."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.depth = 1
        self.ints = ["n"]
        self.tensors = ["x", "y"]
        self.fresh = 0
        self.loops = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def name(self, kind: str) -> str:
        self.fresh += 1
        return f"{kind}{self.fresh}"

    def int(self, deep: int = 0) -> str:
        r = self.rng
        if deep > 2 or r.random() < 0.4:
            return r.choice([*self.ints, str(r.randint(-2, 5))])
        a, b = self.int(deep + 1), self.int(deep + 1)
        return r.choice(
            [
                f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} % 7)", f"abs({a})", f"min({a}, {b})", f"max({a}, 2)", "len(xs)", "o.n",
                "o.k", "x.shape[0]", "x.dim()", f"helper({a})", f"helper({a}, {b})", "counter[0]", f"({a} if {self.test(deep + 1)} else {b})",
                f"sum(v for v in [{a}, {b}])", f"int({a} > {b})", f"d.get('k', {a})", f"len(str({a}))", "(xs[-1] if xs else 0)",
            ]
        )  # fmt: skip

    def test(self, deep: int = 0) -> str:
        r = self.rng
        a, b = self.int(deep + 1), self.int(deep + 1)
        return r.choice(
            [
                f"({a} > {b})",
                f"({a} == {b})",
                f"({a} % 2)",
                "('k' in d)",
                "xs",
                f"(not {a})",
                f"({a} < 3 and {b} > 0)",
                "(o is not None)",
                f"({a} in (1, 2))",
            ]
        )

    def tensor(self, deep: int = 0) -> str:
        r = self.rng
        if deep > 2 or r.random() < 0.35:
            return r.choice(self.tensors)
        a, b = self.tensor(deep + 1), self.tensor(deep + 1)
        return r.choice(
            [
                f"({a} + {b})", f"({a} * {b})", f"({a} - {self.int(deep + 1)})", f"{a}.relu()", f"({a} * 0.5)", f"torch.sin({a})", f"({a} / 2)",
                f"helper({a}, {b})", f"(-{a})", f"{a}.clamp(-3, 3)", f"torch.where({a} > 0, {a}, {b})", f"({a} + o.v)", "o.twice", f"(o + {a})",
                f"torch.stack([{a}, {b}]).sum(0)", f"({a} if {self.test(deep + 1)} else {b})", f"{a}.detach()",
            ]
        )  # fmt: skip

    def block(self, count: int) -> None:
        self.depth += 1
        ints, tensors = list(self.ints), list(self.tensors)
        for _ in range(count):
            self.statement()
        self.ints, self.tensors = ints, tensors
        self.depth -= 1

    def statement(self) -> None:
        r = self.rng
        kind = r.choice(KINDS)
        if self.depth > 4 and kind in ("if", "for", "while", "try", "with", "match", "data"):
            kind = "tensor"
        if kind == "int":
            v = self.name("i")
            self.line(f"{v} = {self.int()}")
            self.ints.append(v)
        elif kind == "tensor":
            if r.random() < 0.5:
                self.line(f"{r.choice(self.tensors)} = {self.tensor()}")
            else:
                v = self.name("t")
                self.line(f"{v} = {self.tensor()}")
                self.tensors.append(v)
        elif kind == "inplace":
            v = self.name("t")
            self.line(f"{v} = {self.tensor()}.clone()")
            self.line(
                r.choice(
                    [
                        f"{v} += {self.tensor()}",
                        f"{v}.mul_(2)",
                        f"{v}[0] = {self.int()}",
                        f"{v}.add_({r.choice(self.tensors)})",
                    ]
                )
            )
            self.tensors.append(v)
        elif kind == "append":
            self.line(
                r.choice(
                    [
                        f"xs.append({self.int()})",
                        f"xs.insert(0, {self.int()})",
                        "xs.pop() if xs else None",
                        "xs.reverse()",
                        "xs.sort()",
                        f"xs += [{self.int()}]",
                    ]
                )
            )
        elif kind == "setattr":
            self.line(
                r.choice(
                    [
                        f"o.v = {self.tensor()}",
                        f"o.bump({self.int()})",
                        f"o.n = {self.int()}",
                        "o.n += 1",
                        f"o.extra = {self.int()}",
                    ]
                )
            )
        elif kind == "setitem":
            self.line(
                r.choice(
                    [
                        f"d['k'] = {self.int()}",
                        f"d['t'] = {self.tensor()}",
                        "d.pop('k', None)",
                        f"d.setdefault('q', {self.int()})",
                        f"d[{self.int()}] = 1",
                    ]
                )
            )
        elif kind == "if":
            self.line(f"if {self.test()}:")
            self.block(r.randint(1, 2))
            if r.random() < 0.5:
                self.line("else:")
                self.block(1)
        elif kind == "for":
            v = self.name("i")
            self.line(
                r.choice(
                    [
                        f"for {v} in range({r.randint(1, 3)}):",
                        f"for {v} in list(xs)[:3]:",
                        f"for {v} in gen(2):",
                        f"for {v}, _ in enumerate(d):",
                    ]
                )
            )
            ints = list(self.ints)
            self.ints.append(v)
            self.block(r.randint(1, 2))
            if r.random() < 0.3:
                self.depth += 1
                self.line(r.choice(["break", "continue", f"if {self.test()}: break"]))
                self.depth -= 1
            self.ints = ints
        elif kind == "while":
            v = self.name("w")
            self.line(f"{v} = 0")
            self.line(f"while {v} < {r.randint(1, 3)}:")
            self.depth += 1
            self.line(f"{v} += 1")
            self.depth -= 1
            self.block(1)
        elif kind == "try":
            self.line("try:")
            self.block(1)
            self.depth += 1
            self.line(
                r.choice(
                    [
                        "raise ValueError(n)",
                        "{}['zz']",
                        f"1 // ({self.int()})",
                        "x.view(7, 7)",
                        f"xs[{self.int()}]",
                        "pass",
                        f"assert {self.test()}",
                    ]
                )
            )
            self.depth -= 1
            self.line(
                r.choice(["except (ValueError, KeyError) as e:", "except Exception as e:", "except RuntimeError as e:"])
            )
            self.depth += 1
            self.line(r.choice(["x = x + 1", "o.n -= 1", "xs.append(7)", "d['e'] = type(e).__name__"]))
            self.depth -= 1
            if r.random() < 0.4:
                self.line("finally:")
                self.block(1)
        elif kind == "func":
            g, v = self.name("g"), self.name("t")
            self.line(f"def {g}(a, b={self.int()}):")
            self.depth += 1
            if r.random() < 0.3 and self.depth == 2:
                self.line("nonlocal n")
                self.line("n += 1")
            self.line(f"return a * b + {r.choice(self.tensors)}")
            self.depth -= 1
            self.line(f"{v} = {g}({self.tensor()})")
            self.tensors.append(v)
        elif kind == "print" and r.random() < 0.4:
            self.line(f"print({self.int()})")
        elif kind == "item" and r.random() < 0.4:
            v = self.name("i")
            self.line(f"{v} = int({self.tensor()}.sum().item()) % 5")
            self.ints.append(v)
        elif kind == "data" and r.random() < 0.5:
            self.line(f"if ({self.tensor()}).sum() > 0:")
            self.block(1)
            if r.random() < 0.5:
                self.line("else:")
                self.block(1)
        elif kind == "gen":
            v = self.name("i")
            self.line(f"{v} = sum(gen(3)) + len([q for q in gen(2)])")
            self.ints.append(v)
        elif kind == "global":
            self.line("counter[0] += 1")
        elif kind == "aug":
            self.line(f"n {r.choice(['+=', '-=', '*='])} {self.int()}")
        elif kind == "comp":
            v = self.name("i")
            self.line(f"{v} = sum([q * 2 for q in xs if q != {self.int()}][:3])")
            self.ints.append(v)
        elif kind == "with":
            self.line("with torch.no_grad():")
            self.block(1)
        elif kind == "match":
            self.line(f"match {self.int()}:")
            self.depth += 1
            self.line("case 0 | 1:")
            self.block(1)
            self.line("case k if k > 3:")
            self.block(1)
            self.line("case _:")
            self.block(1)
            self.depth -= 1
        elif kind == "loud" and r.random() < 0.6:
            v = self.name("i")
            w = self.name("t")
            self.line(
                r.choice(
                    [
                        f"{v} = loud({self.int()})",
                        f"{v} = sum(loud(q) for q in range(2))",
                        f"{v} = [loud(q) for q in (1, 2)][-1]",
                        f"{v} = max(noisy(2))",
                    ]
                )
            )
            self.ints.append(v)
            if r.random() < 0.5:
                self.line(f"{w} = o.loud({self.tensor()})")
                self.tensors.append(w)
        elif kind == "loops":
            v, w = self.name("i"), self.name("i")
            self.line(
                r.choice(
                    [
                        f"for {v}, {w} in zip(list(xs), range(3)):",
                        f"for {v}, {w} in enumerate(reversed(xs[:2])):",
                        f"for {w}, {v} in list(d.items())[:0] + [(1, 2)]:",
                        f"for {v} in (lambda: (yield 1))():" if False else f"for {v} in noisy(2):",
                        f"for {v} in iter(o):",
                        f"for {v} in map(abs, [-1, 2]):",
                        f"for {v} in sorted({{3, 1}}):",
                    ]
                )
            )
            ints = list(self.ints)
            self.line(f"    {w} = {v}")
            self.ints += [v] if r.random() < 0.8 else []
            self.block(r.randint(1, 2))
            self.ints = ints
            if r.random() < 0.3:
                self.line("else:")
                self.block(1)
        elif kind == "cls":
            v = self.name("o")
            w = self.name("t")
            self.line(f"{v} = {r.choice(['Obj', 'Sub', 'Sub.make', 'Obj.make'])}({self.tensor()})")
            self.line(
                r.choice(
                    [
                        f"{v}.bump({self.int()})",
                        f"{v}.n = {self.int()}",
                        f"xs.append(len({v}))",
                        f"{v}.v = {v}({v}.v)",
                        f"{v}.loud(x)",
                    ]
                )
            )
            self.line(f"{w} = {r.choice([f'{v}.twice', f'({v} + x)', f'{v}({v}.v)', f'{v}.v + sum({v})'])}")
            if r.random() < 0.3:
                self.line(f"d['o'] = {v}")
            if r.random() < 0.2:
                self.line(f"print({v} == o, {v} is o, 3 in {v})")
            self.tensors.append(w)
        elif kind == "ctx":
            self.line(r.choice(["with o:", "with o as oo:", "with Sub(x) as ctx, torch.no_grad():"]))
            self.block(1)
            self.depth += 1
            self.line(r.choice(["pass", "raise ValueError('in')", "print('in with')"]))
            self.depth -= 1
        elif kind == "tup":
            self.line(
                r.choice(
                    [
                        "x, y = y, x",
                        f"(n, _), x = ({self.int()}, 0), x * 1",
                        f"n, *rest = [{self.int()}, 2, 3]",
                        f"x, n = ({self.tensor()}, {self.int()})",
                    ]
                )
            )
        elif kind == "sort":
            v = self.name("i")
            self.line(
                f"{v} = "
                + r.choice(
                    [
                        "sorted(xs, key=lambda q: -q)[0] if xs else 0",
                        "max(xs, default=1)",
                        "min([3, n], key=lambda q: (q - 2) ** 2)",
                        "sum(map(lambda q: q + 1, xs[:3]))",
                        "len(list(filter(None, xs)))",
                    ]
                )
            )
            self.ints.append(v)
        elif kind == "str":
            v = self.name("i")
            self.line(f"{v} = {self.int()}")
            self.line(f"{v} = len(f'{{{v}}}|{{x.shape[0]:>3}}' + ','.join(str(q) for q in xs[:3]))")
            self.ints.append(v)
        elif kind == "star":
            v = self.name("t")
            self.line(f"{v} = helper(*[{self.tensor()}, {self.int()}], **{{}})")
            self.tensors.append(v)
        elif kind == "rec":
            v = self.name("t")
            self.line(f"{v} = rec({self.tensor()}, {r.randint(0, 3)})")
            self.tensors.append(v)
        elif kind == "grad" and self.depth < 3:
            v, w = self.name("t"), self.name("t")
            self.line(f"{v} = {self.tensor()}.detach().clone().requires_grad_()")
            self.line(f"({v} * {r.choice(self.tensors)}.detach() + {v}.sin()).sum().backward()")
            self.line(f"{w} = {v}.grad")
            self.tensors.append(w)
        elif kind == "close":
            v = self.name("c")
            self.line(f"{v} = closing()")
            self.line(f"next({v})")
            self.line(r.choice([f"{v}.close()", f"print(list({v}))", f"print(next({v}), list({v}))"]))
        elif kind == "kwargs":
            v = self.name("i")
            self.line(f"{v} = (lambda *a, p=1, **k: p + len(a) + len(k))({self.int()}, p={self.int()}, z=1)")
            self.ints.append(v)
        elif kind == "bool":
            v = self.name("i")
            self.line("try:")
            self.line(f"    {v} = maybe({self.int()})")
            self.line("except KeyError as e:")
            self.line(f"    {v} = e.args[0]" if r.random() < 0.5 else f"    {v} = 0")
            if r.random() < 0.4:
                self.line("finally:")
                self.line(f"    print('fin', {self.int()})")
            self.ints.append(v)
        else:
            self.line(f"x = {self.tensor()}")


def source(rng: random.Random) -> str:
    """The text of a module with a function `f`."""
    w = Writer(rng)
    for _ in range(rng.randint(3, 9)):
        w.statement()
    w.line(f"return x, {w.tensor()}, n, [{w.int()}, xs], d, o.n")
    return HEAD + "def f(x, y, n, xs, d, o):\n" + "\n".join(w.lines) + "\n"


def make(seed: int) -> Any:
    """A program for the harness."""
    rng = random.Random(seed)
    text = source(rng)
    calls = [(rng.randint(0, 4), rng.randint(1, 3), rng.random() < 0.5) for _ in range(4)]

    def build() -> Any:
        import linecache

        filename = f"<random {seed}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        space: dict[str, Any] = {"torch": torch, "__name__": "random_program"}
        exec(compile(text, filename, "exec"), space)
        o, d, xs = space["Obj"](torch.ones(2)), {"k": 1}, [1, 2]
        made = []
        for n, size, same in calls:
            x = torch.randn(2)
            made.append(
                (x, x if same else torch.randn(2), n, xs if size == 1 else list(range(size)), d if size != 2 else {}, o)
            )
        return space["f"], made, space["counter"], o

    build.__module__, build.__name__ = "random", str(seed)
    return build, text
