"""Sizes and numbers that change between calls."""

# ruff: noqa (the programs are odd on purpose)
# pyright: basic

import math

from tapescope import engine as torch

from .harness import program

nn, F = torch.nn, torch.nn.functional


def batches(*sizes, width=3):
    return [(torch.randn(n, width),) for n in sizes]


@program(graphs=2)
def batch_size():
    m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    return m, batches(2, 3, 5, 7, 4)


@program(graphs=2)
def reshape_by_size():
    def f(x):
        n = x.shape[0]
        return x.view(n * 3).reshape(3, n) + n, x.new_zeros(n, 2), torch.arange(n)

    return f, batches(2, 3, 5, 7)


@program(graphs=2)
def size_arithmetic():
    def f(x):
        n = x.size(0)
        half = n // 2
        return x[:half] * 2, x[half:], n % 2 + 1, half * 2.0, x.numel(), n / 2

    return f, batches(4, 6, 8, 10)


@program()
def size_decides():
    def f(x):
        if x.shape[0] > 4:
            return x * 2
        return x.sum(0)

    return f, batches(2, 3, 5, 7, 4, 6)


@program()
def size_as_loop_count():
    def f(x):
        out = 0
        for i in range(x.shape[0]):
            out = out + x[i] * i
        return out

    return f, batches(2, 3, 4, 3)


@program()
def sizes_one_and_zero():
    return lambda x: x.sum(0) + x.shape[0], batches(2, 3, 1, 0, 5)


@program(graphs=1, dynamic=True)
def dynamic_from_the_start():
    return lambda x: (x * 2).reshape(-1), batches(2, 3, 5)


@program(graphs=3, dynamic=False)
def never_dynamic():
    return lambda x: (x * 2).reshape(-1), batches(2, 3, 5)


@program(graphs=1)
def marked():
    def calls():
        for n in (2, 3, 5):
            x = torch.randn(n, 3)
            torch._dynamo.mark_dynamic(x, 0)
            yield (x,)

    return lambda x: x.softmax(0) * x.shape[0], calls()


@program(graphs=2)
def two_sizes_that_are_equal():
    def f(x, y):
        return x + y, x.shape[0] == y.shape[0]

    return f, [(torch.ones(n, 2), torch.ones(n, 2)) for n in (2, 3, 4)]


@program()
def two_sizes_that_differ():
    def f(x, y):
        return torch.cat([x, y]), x.shape[0] + y.shape[0]

    return f, [(torch.ones(n, 2), torch.ones(m, 2)) for n, m in ((2, 2), (3, 4), (4, 3), (5, 5))]


@program(graphs=2)
def integer_argument():
    def f(x, n):
        return x * n + n, x.repeat(n, 1), [n] * 2, n + 1, str(type(n))

    return f, [(torch.ones(2), n) for n in (2, 3, 5, 7)]


@program()
def integer_used_as_text_and_key():
    def f(x, n):
        d = {n: x}
        return f"{n}!", d[n], [1, 2, 3, 4, 5, 6, 7, 8][n], n in (3, 5), hash(n) == n

    return f, [(torch.ones(2), n) for n in (2, 3, 5)]


@program(graphs=2)
def float_argument():
    def f(x, a):
        return x * a + a**2, math.sqrt(a) * x, a > 0, max(a, 0.1)

    return f, [(torch.ones(2), a) for a in (0.5, 1.5, 2.5)]


@program()
def step_counter():
    class Counter:
        n = 0

    c = Counter()

    def f(x):
        c.n += 1
        if c.n % 2:
            return x * c.n
        return x / c.n

    return f, [(torch.ones(2),)] * 6, c


@program()
def learning_rate_moves():
    w = torch.ones(2, requires_grad=True)
    opt = torch.optim.SGD([w], lr=1.0)

    def f(x):
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        return w.detach().clone()

    def calls():
        for lr in (1.0, 0.5, 0.25, 0.125):
            opt.param_groups[0]["lr"] = lr
            yield (torch.ones(2),)

    return f, calls(), w


@program(graphs=2)
def attention_length():
    m = nn.MultiheadAttention(4, 2, batch_first=True)

    def f(x):
        return m(x, x, x, need_weights=False)[0]

    return f, [(torch.randn(2, n, 4),) for n in (3, 4, 5, 6)]


@program(graphs=2)
def convolution_size():
    m = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.MaxPool2d(2), nn.Flatten(1))
    return m, [(torch.randn(n, 1, 8, 8),) for n in (2, 3, 4)]


@program(graphs=2)
def training_batches():
    m = nn.Linear(3, 1)

    def f(x):
        loss = F.mse_loss(m(x), x.sum(1, keepdim=True))
        g = torch.autograd.grad(loss, list(m.parameters()))
        return loss, g

    return f, batches(4, 6, 8)


@program()
def list_length_changes():
    def f(xs):
        total = 0
        for x in xs:
            total = total + x
        return total / len(xs)

    return f, [([torch.ones(2)] * n,) for n in (1, 2, 3)]
