"""Arithmetic, names, control flow: what every function does."""

# ruff: noqa (the programs are odd on purpose)
# pyright: basic

import math

from tapescope import engine as torch

from .harness import program

SCALE = 3.0
TABLE = {"a": 2.0, "b": [1, 2, 3]}
COUNT = 0


@program(graphs=1)
def straight():
    return lambda x: (x * 2 + 1).relu() - x.mean(), [(torch.randn(3, 4),), (torch.randn(3, 4),)]


@program(graphs=1)
def several_results():
    def f(x, y):
        a = x + y
        return {"sum": a, "parts": [x, y, (a * 2, a)], "n": 3}

    return f, [(torch.ones(2), torch.zeros(2)), (torch.randn(2), torch.randn(2))]


@program(graphs=2)
def argument_int_changes():
    return lambda x, n: x * n, [(torch.ones(2), 2), (torch.ones(2), 3), (torch.ones(2), 7), (torch.ones(2), 9)]


@program(graphs=2)
def argument_float_changes():
    return lambda x, n: x * n + n, [(torch.ones(2), 0.5), (torch.ones(2), 0.25), (torch.ones(2), 7.0)]


@program(graphs=1)
def unread_argument_changes():
    return lambda x, n: (x + 1, n), [(torch.ones(2), n) for n in (1, "a", None, 2.5, [3])]


@program(graphs=2)
def branch_on_flag():
    def f(x, flag):
        if flag:
            return x.sin()
        return x.cos()

    return f, [(torch.ones(2), True), (torch.ones(2), False), (torch.ones(2), True)]


@program(graphs=1)
def loop_over_range():
    def f(x):
        for i in range(4):
            x = x * i + 1
        return x

    return f, [(torch.ones(3),)] * 2


@program(graphs=1)
def while_loop():
    def f(x):
        n = 0
        while n < 3:
            x = x + n
            n += 1
        else:
            x = x * 2
        return x, n

    return f, [(torch.ones(3),)] * 2


@program(graphs=1)
def break_continue():
    def f(x):
        out = []
        for i in range(10):
            if i % 2:
                continue
            if i > 6:
                break
            out.append(x * i)
        return out

    return f, [(torch.ones(3),)]


@program(graphs=1)
def globals_read():
    return lambda x: x * SCALE + TABLE["a"] + len(TABLE["b"]), [(torch.ones(2),)] * 2


@program(graphs=1)
def global_written():
    def f(x):
        global COUNT
        COUNT += 1
        return x + 1

    global COUNT
    COUNT = 0
    return f, [(torch.ones(2),)], [lambda: COUNT]


@program(graphs=1)
def shapes_in_python():
    def f(x):
        n, m = x.shape
        k = x.size(0) * x.dim() + x.numel()
        return x.reshape(m, n) * k, x.shape, x.dtype, x.ndim, x.device

    return f, [(torch.ones(2, 3),)]


@program(graphs=1)
def math_functions():
    return lambda x: x * math.sqrt(2) + math.pi - math.floor(2.7), [(torch.ones(2),)]


@program(graphs=1)
def keyword_arguments():
    def f(x, *, scale=2, shift=1, **rest):
        return x * scale + shift, rest

    return f, [{"x": torch.ones(2)}, {"x": torch.ones(2), "scale": 2, "other": 5}]


@program(graphs=1)
def star_arguments():
    def f(*xs, k=1):
        total = xs[0]
        for x in xs[1:]:
            total = total + x * k
        return total, len(xs)

    return f, [(torch.ones(2), torch.ones(2), torch.ones(2))]


@program(graphs=1)
def unpacking():
    def f(pair, rest):
        a, (b, c) = pair
        first, *middle, last = rest
        return a + b * c, first, middle, last

    return f, [((torch.ones(2), (torch.ones(2), 3)), [1, 2, 3, 4])]


@program(graphs=1)
def comprehension():
    def f(xs):
        ys = [x * i for i, x in enumerate(xs) if i != 1]
        d = {i: y.sum() for i, y in enumerate(ys)}
        s = {i % 2 for i in range(5)}
        return ys, d, s, sum(y.sum() for y in ys)

    return f, [([torch.ones(2), torch.ones(3), torch.ones(4)],)]


@program(graphs=1)
def strings():
    def f(x, name):
        label = f"{name}:{x.shape[0]:>3}" + "-".join(str(i) for i in range(3))
        return x + len(label), label.upper(), "%s=%d" % (name, 3), name.split("e")

    return f, [(torch.ones(2), "hello")]


@program(graphs=1)
def slicing():
    def f(x):
        return x[0], x[:, 1:], x[..., None], x[1, 2], x[::2], x[None]

    return f, [(torch.arange(12.0).reshape(3, 4),)]


@program(graphs=1)
def index_assignment():
    def f(x):
        y = x.clone()
        y[0] = 5
        y[:, 1] += 2
        return y

    return f, [(torch.zeros(2, 3),)] * 2


@program(graphs=1)
def inplace_on_argument():
    def f(x):
        x += 1
        x.mul_(2)
        return x

    return f, [(torch.ones(2),)] * 3


@program(graphs=1)
def view_of_argument_written():
    def f(x):
        v = x.view(-1)
        v[0] = 7
        return v.sum()

    return f, [(torch.zeros(2, 2),)]


@program(graphs=0)
def same_tensor_returned():
    return lambda x: (x, x, [x]), [(torch.ones(2),)]


@program()
def aliasing_arguments():
    def f(a, b):
        a.add_(1)
        return a is b, b * 1

    x = torch.ones(2)
    return f, [(torch.ones(2), torch.ones(2)), (x, x), (torch.ones(2), torch.ones(2))]


@program(graphs=1)
def nested_calls():
    def g(x, n=2):
        return x * n

    def f(x):
        return g(g(x), n=3) + g(x, 1)

    return f, [(torch.ones(2),)]


@program(graphs=1)
def closure_read():
    k = 3
    return lambda x: x * k, [(torch.ones(2),)]


@program()
def closure_changes():
    k = 3

    def f(x):
        return x * k

    def change(x):
        nonlocal k
        k += 1
        return f(x)

    return change, [(torch.ones(2),)] * 4


@program(graphs=1)
def nonlocal_written():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x + 1

    return f, [(torch.ones(2),)], [lambda: n]


@program(graphs=1)
def closures_made_inside():
    def f(x):
        fs = [lambda y, i=i: y * i for i in range(3)]
        late = [lambda y: y * i for i in range(3)]
        return [g(x) for g in fs], [g(x) for g in late]

    return f, [(torch.ones(2),)]


@program(graphs=1)
def closure_returned():
    def f(x):
        y = x * 2

        def g(z):
            return z + y

        return g

    return f, [(torch.ones(2),)]


@program(graphs=1)
def recursion():
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    return lambda x: power(x, 5), [(torch.full((2,), 2.0),)]


@program(graphs=1)
def conditional_expressions():
    def f(x, n):
        a = x if n > 1 else -x
        b = n and x
        c = None or x * 2
        return a, b, c, not n, n == 2 != 3, 1 < n <= 2

    return f, [(torch.ones(2), 2)]


@program(graphs=1)
def walrus_and_chained():
    def f(x):
        if (n := x.shape[0]) > 1:
            x = x * n
        a = b = x + 1
        return a, b, n

    return f, [(torch.ones(2),)]


@program(graphs=1)
def delete_names():
    def f(x):
        y = x + 1
        del x
        try:
            return x
        except UnboundLocalError:
            return y

    return f, [(torch.ones(2),)]


@program(graphs=1)
def match_statement():
    def f(x, what):
        match what:
            case {"op": "add", "n": n}:
                return x + n
            case [a, b, *_]:
                return x * a + b
            case int(k) if k > 3:
                return x - k
            case None:
                return x
            case _:
                return -x

    return f, [(torch.ones(2), {"op": "add", "n": 2})]


@program()
def match_statement_several():
    def f(x, what):
        match what:
            case {"op": "add", "n": n}:
                return x + n
            case [a, b, *_]:
                return x * a + b
            case int(k) if k > 3:
                return x - k
            case None:
                return x
            case _:
                return -x

    return f, [(torch.ones(2), w) for w in ({"op": "add", "n": 2}, [1, 2, 3], 5, 1, None, "z")]


@program(graphs=1)
def creation_inside():
    def f(x):
        a = torch.zeros(2, 3) + torch.ones_like(x)
        return a + torch.arange(3.0), torch.tensor([1.0, 2.0, 3.0]) * x, torch.full((2,), 7)

    return f, [(torch.ones(2, 3),)]


@program(graphs=1)
def random_same_as_eager():
    def f(x):
        return x + torch.randn(3), torch.nn.functional.dropout(x, 0.5), torch.rand_like(x)

    return f, [(torch.ones(3),)] * 3


@program()
def shape_changes():
    return lambda x: (x * 2).sum(), [(torch.ones(n),) for n in (3, 4, 5, 9, 1)]


@program()
def dtype_changes():
    return lambda x: x * 2, [
        (torch.ones(2),),
        (torch.ones(2, dtype=torch.int64),),
        (torch.ones(2, dtype=torch.float64),),
    ]


@program()
def requires_grad_changes():
    return lambda x: x * 2, [(torch.ones(2),), (torch.ones(2, requires_grad=True),)]


@program()
def none_or_tensor():
    def f(x, mask=None):
        if mask is not None:
            x = x * mask
        return x + 1

    return f, [(torch.ones(2),), (torch.ones(2), torch.zeros(2)), (torch.ones(2), None)]


@program(graphs=0)
def no_tensors():
    return lambda a, b: a * 2 + b, [(1, 2), (3, 4), (5, 6)]


@program(graphs=1)
def cat_and_stack():
    def f(xs):
        return torch.cat(xs), torch.stack([x * 2 for x in xs], dim=1), torch.cat([xs[0], xs[1] * 2])

    return f, [([torch.ones(2), torch.zeros(2)],)]


@program(graphs=1)
def tuple_results_of_operators():
    def f(x):
        values, where = x.max(dim=1)
        a, b = x.chunk(2)
        top = torch.topk(x, 1)
        return values, where, a, b, top.values, top.indices

    return f, [(torch.randn(2, 3),)]
