"""Small programs that run eagerly and ahead of time: each is a function and the tensors it is called with."""

from __future__ import annotations

from tapescope import engine as torch

nn, F = torch.nn, torch.nn.functional


def t(*shape, grad=False, seed=0, dtype=None):
    generator = torch.Generator().manual_seed(seed + 17)
    out = torch.randn(*shape, generator=generator, dtype=dtype)
    return out.requires_grad_() if grad else out


def index(high, *shape, seed=0):
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


PROGRAMS = {}


def program(*inputs):
    """Decorator: a program with functions that make its inputs."""

    def put(function):
        PROGRAMS[function.__name__] = (function, inputs)
        return function

    return put


def g(*shape, seed=0, **kw):
    return lambda: t(*shape, grad=True, seed=seed, **kw)


def c(*shape, seed=0, **kw):
    return lambda: t(*shape, seed=seed, **kw)


# -- values and gradients ---------------------------------------------------------------------------


@program(g(4, 3), g(5, 3, seed=1), g(5, seed=2))
def linear_relu(x, w, b):
    return F.linear(x, w, b).relu()


@program(g(4, 3), g(3, 5, seed=1))
def several_results(x, w):
    y = x @ w
    return y, y.sum(1), [y.exp(), {"mean": y.mean()}], 7


@program(g(2, 3, 4))
def softmaxes(x):
    return x.softmax(-1) + x.log_softmax(1) - x.logsumexp(0)


@program(g(4, 5), lambda: index(5, 4))
def cross_entropy(x, target):
    return F.cross_entropy(x, target, label_smoothing=0.1)


@program(g(4, 6), g(6, seed=1), g(6, seed=2))
def layer_norm(x, w, b):
    return F.gelu(F.layer_norm(x, (6,), w, b))


@program(g(2, 4, 3, 3), g(4, seed=1), g(4, seed=2))
def group_norm(x, w, b):
    return F.silu(F.group_norm(x, 2, w, b))


@program(g(2, 1, 6, 6), g(3, 1, 3, 3, seed=1), g(3, seed=2))
def convolution(x, w, b):
    return F.max_pool2d(F.conv2d(x, w, b, padding=1).relu(), 2).flatten(1)


@program(g(2, 2, 4, 3), g(2, 2, 4, 3, seed=1), g(2, 2, 4, 3, seed=2))
def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@program(g(2, 4, 6), g(18, 6, seed=1), g(6, 6, seed=2))
def attention_by_hand(x, w, p):
    q, k, v = (x @ w.t()).view(2, 4, 3, 2, 3).permute(2, 0, 3, 1, 4).unbind(0)
    a = (q @ k.transpose(-2, -1)) / 3**0.5
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    a = a.masked_fill(~mask, float("-inf")).softmax(-1)
    return (a @ v).transpose(1, 2).reshape(2, 4, 6) @ p


@program(g(7, 3), lambda: index(7, 2, 4))
def embedding(weight, places):
    return F.embedding(places, weight).sum(1)


@program(g(3, 4), lambda: index(3, 2), lambda: index(4, 2, seed=1))
def indexing(x, i, j):
    return x[i], x[:, j], x[i, j], x[1:, ::2], x[..., None, -1]


@program(g(3, 4), lambda: index(4, 3, 2))
def gather(x, i):
    return x.gather(1, i), torch.zeros(3, 4).scatter_add(1, i, x.gather(1, i))


@program(g(3, 4), g(2, 4, seed=1))
def joining(x, y):
    return torch.cat([x, y, x]), torch.stack([x[:2], y]), torch.chunk(x, 2, 1)


@program(g(3, 4))
def broadcasting(x):
    return x * x.sum(0) + x.mean(1, keepdim=True) - x.var(0)


@program(g(3, 3), c(3, 3, seed=1))
def partly_without_gradient(x, y):
    z = (x * y).tanh()
    return z.detach() * x, y * 2, z


@program(g(4, 4))
def no_grad_inside(x):
    with torch.no_grad():
        scale = x.abs().max()
    return x / scale


@program(c(3, 3, dtype=torch.float64), lambda: index(5, 3, 3))
def promotion(x, i):
    return x + i, i / 2, i * 1.5, i > x, (i + True).sum(), i.float().mean(), i.sin()


@program(g(3), g(3, seed=1))
def same_gradient(x, y):
    return x + y


@program(g(3, 4))
def unused_result(x):
    return x.exp(), x.sin()


@program(g(2, 3), g(2, 3, seed=1))
def inner_gradient(x, y):
    z = (x**3 * y).sum()
    (first,) = torch.autograd.grad(z, x, create_graph=True)
    return first.square().sum() + z


@program(g(2, 3))
def higher_function(x):
    return torch.func.vmap(lambda row: row.softmax(0) * row.sum())(x)


@program(g(2, 3), c(3, seed=1))
def function_gradient(x, w):
    return torch.func.grad(lambda v: (x @ v).square().sum())(w)


@program(g(3, 4), g(5, 4, seed=1))
def autocast(x, w):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return F.linear(x, w)


@program(g(4, 3))
def cumulative(x):
    values, where = x.cummax(0)
    top, places = x.topk(2, 1)
    return x.cumsum(0), values, where, top, places, x.sort(1)[0]


# -- writing ----------------------------------------------------------------------------------------


@program(g(3, 4))
def write_to_result(x):
    y = x * 2
    y.add_(1).mul_(x)
    y[0] = 0
    return y


@program(g(3, 4))
def write_through_views(x):
    y = x.clone()
    y[:, 1].mul_(3)
    y.t()[2].add_(y[0].sum())
    y.view(2, 6)[1].zero_()
    y.diagonal().add_(1)
    return y, y[:, 1] * 2


@program(g(3, 4))
def view_then_write(x):
    y = x * 1
    v = y[1]
    y.mul_(2)
    return v + 1


@program(c(3, 4))
def write_to_input(x):
    x.mul_(2)
    x[0] = 5.0
    return x.sum()


@program(c(3, 4))
def write_to_view_of_input(x):
    x[:, 1:3].t().add_(1)
    return x * 2


@program(c(3, 4), c(4, seed=1))
def return_input(x, y):
    x.add_(y)
    return x, y, x[1]


@program(c(3, 4))
def return_views(x):
    y = x + 1
    return y, y[0], y.t(), x.t()


@program(c(3, 4))
def return_two_views(x):
    y = x + 1
    return y[0], y[1]


@program(c(3, 4))
def return_twice(x):
    y = x + 1
    return y, y


@program(c(3), c(3, seed=1))
def out_argument(x, y):
    out = torch.empty(3)
    torch.add(x, y, out=out)
    torch.mul(out, 2, out=y)
    return out


@program(c(4, 4))
def masked_writes(x):
    x.masked_fill_(x > 0, 1.0)
    return x.clamp_(max=0.5).index_fill_(0, torch.tensor([1]), 3.0)


@program(g(4, 4))
def write_where_a_mask_is(x):
    y = x * 2
    y[y > 1] = 0.5
    y[x.sum(1) > 0] = x[0, 0]
    return y


@program(g(4, 4), g(4, seed=1))
def write_gradient_through(x, b):
    y = torch.zeros(4, 4)
    y += x
    y[1] = b
    y[2:].copy_(x[:2] * b)
    return y.square()


@program(c(5))
def counters(x):
    n = torch.zeros((), dtype=torch.int64)
    for _ in range(3):
        n += 1
        x.add_(n)
    return n, x


@program(g(3, 4))
def strided_windows(x):
    y = x * 2
    row = y[1]
    whole = row.as_strided((2, 2), (4, 1), 1)
    whole.mul_(3)
    return y, row + 1, whole, y.unfold(1, 2, 1)


@program(c(3, 4))
def strided_input(x):
    return x[1].as_strided((2, 2), (4, 1), 1), x.t().as_strided((3,), (1,), 2)


@program(c(3, 4))
def write_view_into_itself(x):
    y = x.clone()
    y[0] = 5
    y[:, 1] += 2
    y[1:] = y[:-1]
    return y


@program(c(3, 4))
def detached_write(x):
    y = x.detach()
    y.add_(1)
    return x * 2


# -- random -----------------------------------------------------------------------------------------


@program(g(8, 8))
def dropout(x):
    return F.dropout(x, 0.4) * F.dropout(x.t(), 0.2).t()


@program(g(2, 3, 4))
def random_mixture(x):
    noise = torch.randn_like(x)
    keep = torch.bernoulli(torch.full((2, 3, 4), 0.5))
    x = F.dropout1d(x + noise, 0.5) * keep
    return x + torch.rand(4) + torch.randint(3, (2, 1, 1)), torch.randperm(5), torch.empty(3).normal_(1, 2)


@program(g(4, 5))
def random_nonlinear(x):
    return F.rrelu(x, training=True) + F.gumbel_softmax(x)


@program(c(4, 5))
def sampled(x):
    return torch.multinomial(x.softmax(-1), 3), torch.poisson(x.exp()), torch.normal(x, 0.5)


# -- whole modules ----------------------------------------------------------------------------------


def flat_call(module):
    """A function of the input and the module's parameters and buffers."""
    names = [n for n, _ in module.named_parameters()] + [n for n, _ in module.named_buffers()]

    def call(x, *state):
        return torch.func.functional_call(module, dict(zip(names, state, strict=True)), (x,))

    return call


def module_program(name, make, *inputs):
    def states():
        torch.manual_seed(3)
        module = make()
        return [*module.parameters(), *module.buffers()]

    def build():
        torch.manual_seed(3)
        return flat_call(make())

    PROGRAMS[name] = (build, inputs, states)


module_program("mlp", lambda: nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2)), g(4, 3))
module_program(
    "cnn",
    lambda: nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 4, 2, groups=1), nn.BatchNorm2d(4),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2),
    ),
    c(3, 1, 8, 8),
)  # fmt: skip
module_program("batch_norm_eval", lambda: nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2)).eval(), g(4, 3))
module_program("encoder", lambda: nn.TransformerEncoderLayer(6, 2, 8, dropout=0.1, batch_first=True), g(2, 4, 6))
module_program("lstm", lambda: nn.LSTM(3, 4), g(5, 2, 3))
module_program("gru_cell", lambda: nn.GRUCell(3, 4), g(2, 3))
module_program("convolution_transpose", lambda: nn.ConvTranspose2d(2, 3, 3, stride=2), g(1, 2, 4, 4))
