"""Traps that captures of Python fall into; each docstring names one."""

# ruff: noqa (the programs are odd on purpose)
# pyright: basic

import gc
import threading
import weakref

from tapescope import engine as torch

from .harness import program

nn = torch.nn
LEVEL = 1
SEEN = []


@program()
def class_level_list():
    """A list on the class is shared by all instances; a replay that keeps the traced one grows the wrong list."""

    class C:
        log = []

        def hit(self, x):
            self.log.append(len(self.log))
            return x + len(self.log)

    return lambda x: C().hit(x), [(torch.ones(1),)] * 4, C.log


@program()
def constant_frozen_by_replay():
    """A Python number that the traced call saw must not be the number of all later calls."""
    box = {"n": 1}

    def f(x):
        return x * box["n"]

    def calls():
        for n in (1, 2, 5, 2):
            box["n"] = n
            yield (torch.ones(1),)

    return f, calls()


@program()
def branch_frozen_by_replay():
    """The arm that the traced call took must not be taken for ever."""

    def f(x, n):
        return x + 1 if n % 2 == 0 else x - 1

    return f, [(torch.ones(1), n) for n in (0, 1, 2, 3)]


@program()
def stale_module_attribute():
    """A plain attribute of a module is read at every call."""

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.mode = "add"

        def forward(self, x):
            return x + 1 if self.mode == "add" else x * 3

    m = M()

    def calls():
        for mode in ("add", "mul", "add"):
            m.mode = mode
            yield (torch.ones(1),)

    return m, calls()


@program()
def length_of_an_external_list():
    """`n = len(xs)` of a list that grows outside."""
    xs = [1]

    def f(x):
        n = len(xs)
        return x * n

    def calls():
        for _ in range(4):
            yield (torch.ones(1),)
            xs.append(1)

    return f, calls()


@program()
def identity_decides():
    """Control flow on `is`: equal but different objects are different."""
    a, b = torch.ones(1), torch.ones(1)

    def f(x, y):
        if x is y:
            return x + 1
        return x + y * 10

    return f, [(a, a), (a, b), (b, b), (b, a)]


@program()
def list_identity_decides():
    """The same list twice is not two equal lists."""

    def f(p, q, x):
        p.append(1)
        return x * (len(q) if p is q else -len(q))

    one = []
    return f, [([], [], torch.ones(1)), (one, one, torch.ones(1)), ([], [], torch.ones(1))]


@program()
def globals_in_nested_functions():
    """A global written in an inner function, read in another."""

    def bump():
        global LEVEL
        LEVEL += 1

    def level():
        return LEVEL

    def f(x):
        bump()
        a = level()
        bump()
        return x * a + level()

    global LEVEL
    LEVEL = 1
    return f, [(torch.ones(1),)] * 3, [lambda: LEVEL]


@program("print")
def mutation_on_both_sides_of_a_break():
    """What was written before a break must be there at the break, and not be written again after it."""

    def f(d, x):
        d["n"] = d.get("n", 0) + 1
        print(d["n"])
        d["n"] += 1
        return x * d["n"]

    return f, [({}, torch.ones(1))] * 3


@program()
def function_replaced():
    """A global function that is exchanged between calls."""
    space = {"torch": torch}
    exec("def g(x):\n    return x + 1\ndef f(x):\n    return g(x) * 2\n", space)

    def calls():
        yield (torch.ones(1),)
        exec("def g(x):\n    return x - 1\n", space)
        yield (torch.ones(1),)

    return space["f"], calls()


@program()
def method_patched():
    """A method of a class that is exchanged between calls, and one on the instance."""

    class C:
        def g(self, x):
            return x + 1

    c = C()

    def calls():
        yield (c, torch.ones(1))
        C.g = lambda self, x: x + 2
        yield (c, torch.ones(1))
        c.g = lambda x: x + 3
        yield (c, torch.ones(1))

    return lambda c, x: c.g(x), calls()


@program()
def default_argument_mutated():
    """The famous default list."""

    def f(x, acc=[]):
        acc.append(1)
        return x * len(acc)

    return f, [(torch.ones(1),)] * 4


@program()
def global_shadows_builtin():
    """A built-in name that becomes a global one between calls."""
    space = {"torch": torch}
    exec("def f(x):\n    return x * len([1, 2])\n", space)

    def calls():
        yield (torch.ones(1),)
        space["len"] = lambda xs: 100
        yield (torch.ones(1),)

    return space["f"], calls()


@program()
def attribute_appears_on_instance():
    """A class attribute that an instance attribute hides later."""

    class C:
        k = 2

    c = C()

    def calls():
        yield (c, torch.ones(1))
        c.k = 3
        yield (c, torch.ones(1))
        del c.k
        C.k = 7
        yield (c, torch.ones(1))

    return lambda c, x: x * c.k, calls()


@program()
def key_appears_in_dictionary():
    """`"k" in d` is as much a read as `d["k"]`."""

    def f(d, x):
        return x * 2 if "k" in d else x * 3

    return f, [({}, torch.ones(1)), ({"k": 1}, torch.ones(1)), ({"j": 1}, torch.ones(1))]


@program()
def zero_and_negative_zero():
    """0.0 == -0.0, and 1 == True == 1.0, but they are not the same."""

    def f(x, v):
        return x / v if isinstance(v, float) else x * v, type(v).__name__

    return f, [(torch.ones(1), v) for v in (0.0, -0.0, 1, True, 1.0)]


@program()
def nan_constant():
    """NaN is not equal to itself: a guard by == would fail for ever."""

    def f(x, v):
        return x + (1 if v != v else 2)

    return f, [(torch.ones(1), float("nan"))] * 3


@program()
def recursion_through_the_compiled_name():
    """The compiled function calls itself by its name."""
    space = {"torch": torch}

    def f(x, n):
        return x if n == 0 else space["f"](x + n, n - 1)

    space["f"] = f
    return f, [(torch.ones(1), 4), (torch.ones(1), 2)]


@program()
def late_binding():
    """Lambdas made in a loop see the last value of its variable."""

    def f(x):
        fs = []
        for i in range(3):
            fs.append(lambda y: y * i)
        i = 10
        return [g(x) for g in fs]

    return f, [(torch.ones(1),)] * 2


@program()
def two_closures_share_a_cell():
    """Two functions made outside share one variable."""

    def make():
        n = 0

        def inc():
            nonlocal n
            n += 1

        def get():
            return n

        return inc, get

    inc, get = make()

    def f(x):
        inc()
        a = get()
        inc()
        return x * a + get()

    return f, [(torch.ones(1),)] * 3, [get]


@program("print")
def exception_inside_a_break():
    """The instruction of a break raises, and the function catches it."""

    class Bad:
        def __str__(self):
            raise ValueError("no text")

    def f(x):
        y = x + 1
        try:
            print(Bad())
        except ValueError as e:
            y = y * 2
        return y

    return f, [(torch.ones(1),)] * 2


@program("exception")
def inplace_after_saved():
    """Backward needs a value that was overwritten: the error must come, not a wrong gradient."""

    def f(x):
        y = x.exp()
        z = (y * y).sum()
        y.add_(1)
        z.backward()
        return x.grad

    return f, [(torch.ones(2, requires_grad=True),)] * 2


@program(graphs=1)
def identity_return_mutated():
    """An operator that gives its input back: writing to the result writes to the argument."""

    def f(x):
        y = torch.nn.functional.dropout(x, 0.5, False)
        y += y
        return y

    return f, [(torch.ones(2),)] * 2


@program(graphs=1)
def view_written_base_read():
    """A write through a view is seen through the base, and through other views."""

    def f(x):
        a, b = x[0], x.t()
        a.add_(1)
        b[1, 1] = 9
        return x * 1, a * 1, b * 1

    return f, [(torch.zeros(2, 2),)] * 2


@program()
def object_made_inside_dies():
    """What is made inside and dropped must not be kept alive."""

    class Token:
        pass

    refs = []

    def f(x):
        t = Token()
        refs.append(1)
        t.x = x
        return t

    def g(x):
        return f(x).x + 1

    return g, [(torch.ones(1),)] * 2, refs


@program("escape")
def dictionary_changes_while_iterated():
    """Python's own error must come out."""

    def f(x):
        d = {"a": 1}
        for k in d:
            d[k + "b"] = 2
        return x

    return f, [(torch.ones(1),)] * 2


@program()
def unbound_local():
    """A name that is not bound on the path taken."""

    def f(x, flag):
        if flag:
            y = x + 1
        return y

    return f, [(torch.ones(1), True), (torch.ones(1), False)]


@program()
def seeds_and_draws():
    """Random numbers are drawn in the same order, also by two functions in turn."""

    def f(x):
        a = torch.rand(2)
        b = torch.nn.functional.dropout(x, 0.3)
        return a, b, torch.randperm(4)

    return f, [(torch.ones(8),)] * 3


@program()
def training_flag_of_child():
    """`child.eval()` is not `parent.eval()`."""
    m = nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.5))

    def calls():
        yield (torch.ones(8),)
        m[0].eval()
        yield (torch.ones(8),)
        m.eval()
        yield (torch.ones(8),)

    return m, calls()


@program()
def module_list_grows():
    """A layer is appended between calls."""

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2)])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x, len(self.layers)

    m = M()

    def calls():
        yield (torch.ones(1, 2),)
        m.layers.append(nn.Linear(2, 2))
        yield (torch.ones(1, 2),)

    return m, calls()


@program()
def python_list_of_modules():
    """Modules in a plain list are no submodules, but they are called all the same."""

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    m = M()

    def calls():
        yield (torch.ones(1, 2),)
        m.layers.append(nn.Linear(2, 2))
        yield (torch.ones(1, 2),)
        m.layers[0] = nn.Identity()
        yield (torch.ones(1, 2),)

    return m, calls()


@program()
def parameter_data_exchanged():
    """`p.data = ...` and `p.data.fill_`: no other identity, other values, even another dtype."""
    m = nn.Linear(2, 2)

    def calls():
        yield (torch.ones(1, 2),)
        m.weight.data.fill_(3.0)
        yield (torch.ones(1, 2),)
        m.double()
        yield (torch.ones(1, 2, dtype=torch.float64),)

    return m, calls()


@program()
def default_dtype_changes():
    """`torch.zeros(2)` depends on a global switch."""

    def f(x):
        return x + torch.zeros(2)

    def calls():
        yield (torch.ones(2),)
        torch.set_default_dtype(torch.float64)
        yield (torch.ones(2),)
        torch.set_default_dtype(torch.float32)

    return f, calls()


@program(["hook", "hook"])
def hook_on_a_tensor():
    """A gradient hook runs during backward."""

    def f(x):
        y = x * 2
        y.register_hook(lambda g: g * 10)
        y.sum().backward()
        return x.grad

    return f, [(torch.ones(2, requires_grad=True),)] * 2


@program()
def is_compiling():
    """Code may ask."""

    def f(x):
        return x + 1 if torch.compiler.is_compiling() or True else x

    return f, [(torch.ones(2),)]


_ = (gc, threading, weakref)


@program(["finalizer", "finalizer"])
def finalizer_runs():
    """An object with __del__ that is made and dropped inside."""
    gone = []

    class Token:
        def __init__(self, n):
            self.n = n

        def __del__(self):
            gone.append(self.n)

    def f(x):
        t = Token(1)
        y = x + t.n
        del t
        return y, len(gone)

    return f, [(torch.ones(1),)] * 3, gone


@program()
def error_only_at_a_later_call():
    """The graph was captured with good values; a later call has bad ones: effects before it happen, `except` sees it."""
    emb = nn.Embedding(4, 2)

    def f(log, idx):
        log.append("before")
        try:
            y = emb(idx)
        except IndexError as e:
            log.append("caught")
            return log[-1], "index" in str(e)
        log.append("after")
        return y

    return f, [([], torch.tensor([i])) for i in (1, 2, 9, 3, 9)]


@program()
def error_that_comes_out_later():
    """The same without `except`: the error comes out, the effects before it stay."""
    emb = nn.Embedding(4, 2)

    def f(log, idx):
        log.append("before")
        noise = torch.rand(1)
        y = emb(idx) + noise
        log.append("after")
        return y

    return f, [([], torch.tensor([i])) for i in (1, 9, 3, 9, 2)]


@program()
def threads():
    """Several threads call one compiled function at once."""

    def g(x, n):
        return x * n + x.shape[0]

    def f(n):
        out = [None] * n
        compiled = torch.compile(g)

        def work(i):
            out[i] = [compiled(torch.ones(1 + i % 3), k).sum().item() for k in range(4)]

        ts = [threading.Thread(target=work, args=(i,)) for i in range(n)]
        for t in ts:
            t.start()
        for t in ts:
            t.join()
        return out

    return torch.compiler.disable(f, recursive=False), [(6,)]


@program()
def reentrant():
    """A compiled function is called while another one is being captured or run."""
    inner = torch.compile(lambda x: x * 2)

    def hook(x):
        return inner(x) + 1

    plain = torch.compiler.disable(hook, recursive=False)

    def f(x):
        return inner(x) + hook(x)

    return f, [(torch.ones(1),)] * 2


@program()
def error_after_something_was_written():
    """A later call fails behind an in-place write: the write and the effects before it happened once, `except` sees the error."""
    m = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 3))

    def f(log, x, y):
        log.append("before")
        x.add_(1)
        try:
            loss = torch.nn.functional.cross_entropy(m(x), y)
        except IndexError as e:
            log.append(type(e).__name__)
            return x * 2
        log.append("after")
        return loss

    return f, [([], torch.ones(2, 2), torch.tensor([0, i])) for i in (1, 2, 9, 0, 9)], m


@program()
def error_comes_out_after_something_was_written():
    """The same without `except`."""

    def f(log, x, i):
        log.append(1)
        x.mul_(2)
        y = x.index_select(0, i)
        log.append(2)
        return y

    return f, [([], torch.ones(3), torch.tensor([i])) for i in (1, 2, 9, 0, 9)]
