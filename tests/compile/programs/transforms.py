"""Functions of functions: derivatives, vmap, custom functions, checkpoints, autocast."""

# ruff: noqa (the programs are odd on purpose)
# pyright: basic

from tapescope import engine as torch

from .harness import program

nn, F = torch.nn, torch.nn.functional


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x * 10


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(x, k):
        return x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k * 100, None


class Printing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print("forward")
        return x * 2

    @staticmethod
    def backward(ctx, g):
        print("backward")
        return g * 2


@program(graphs=1)
def custom_function():
    def f(x):
        y = Square.apply(x + 1)
        return y.sum() + Scaled.apply(x, 3).sum()

    return f, [(torch.ones(3, requires_grad=True),)] * 2


@program(graphs=1)
def custom_function_with_backward():
    def f(x):
        Square.apply(x).sum().backward()
        return x.grad * 1

    return f, [(torch.ones(3, requires_grad=True),)]


@program("transform")
def custom_function_that_prints():
    def f(x):
        y = Printing.apply(x + 1)
        return y * 3

    return f, [(torch.ones(3, requires_grad=True),)] * 2


@program(graphs=1)
def func_grad():
    def loss(w, x):
        return ((w * x) ** 2).sum()

    def f(w, x):
        g = torch.func.grad(loss)(w, x)
        g2, value = torch.func.grad_and_value(loss, argnums=1)(w, x)
        return g, g2, value

    return f, [(torch.ones(3), torch.arange(3.0))] * 2


@program()
def func_jacobian():
    def f(x):
        return torch.func.jacrev(lambda y: y**2)(x), torch.func.vjp(torch.sin, x)[0]

    return f, [(torch.ones(3),)] * 2


@program(graphs=1)
def vmap():
    def f(xs, y):
        return torch.vmap(lambda x: (x * y).sum())(xs), torch.vmap(torch.dot, in_dims=(0, None))(xs, y)

    return f, [(torch.randn(4, 3), torch.randn(3))] * 2


@program("transform")
def vmap_with_effect():
    seen = []

    def g(x):
        seen.append(1)
        return x * 2

    return lambda xs: torch.vmap(g)(xs), [(torch.ones(4, 3),)] * 2, seen


@program(graphs=1)
def functional_call():
    m = nn.Linear(3, 2)

    def f(params, x):
        return torch.func.functional_call(m, params, (x,))

    p = {k: v.detach() * 2 for k, v in m.named_parameters()}
    return f, [(p, torch.ones(1, 3))] * 2


@program(graphs=1)
def checkpoint():
    m = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))

    def f(x):
        y = torch.utils.checkpoint.checkpoint(m, x, use_reentrant=False)
        y.sum().backward()
        return y

    return f, [(torch.ones(2, 3),)], m


@program()
def autocast_inside():
    m = nn.Linear(3, 2)

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = m(x)
        return y, y.dtype, m(x)

    return f, [(torch.ones(2, 3),)] * 2


@program()
def autocast_outside():
    m = nn.Linear(3, 2)

    def calls():
        yield (torch.ones(2, 3),)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            yield (torch.ones(2, 3),)
        yield (torch.ones(2, 3),)

    return m, calls()


@program()
def inference_mode():
    def f(x):
        with torch.inference_mode():
            y = x * 2
        return y, y.requires_grad, torch.is_inference_mode_enabled()

    return f, [(torch.ones(2, requires_grad=True),)] * 2


@program(graphs=1)
def allowed_in_graph():
    def g(x, n):
        return x * n + n

    torch.compiler.allow_in_graph(g)
    return lambda x: g(x, 3) + 1, [(torch.ones(2),)] * 2


@program(graphs=1)
def compiled_inside_compiled():
    @torch.compile
    def g(x):
        return x * 2

    return lambda x: g(x) + g(x + 1), [(torch.ones(2),)] * 2


@program()
def retain_and_double_backward():
    def f(x):
        y = (x**3).sum()
        y.backward(create_graph=True)
        g = x.grad
        x.grad = None
        g.sum().backward()
        return x.grad

    return f, [(torch.ones(2, requires_grad=True),)] * 2


@program(graphs=1)
def retain_grad():
    def f(x):
        y = x * 2
        y.retain_grad()
        y.sum().backward()
        return y.grad, x.grad

    return f, [(torch.ones(2, requires_grad=True),)]


@program(graphs=1)
def detach_and_data():
    def f(x):
        y = x * 2
        a = y.detach() * 3
        y.data.mul_(2)
        return a, y

    return f, [(torch.ones(2, requires_grad=True),)] * 2


@program(graphs=1)
def gradient_assigned():
    def f(x):
        x.grad = torch.ones(2) * 5
        y = x.grad + 1
        x.grad = None
        return y, x.grad

    return f, [(torch.ones(2, requires_grad=True),)]
