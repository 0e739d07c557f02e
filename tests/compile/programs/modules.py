"""Modules, optimizers and whole training steps."""

# ruff: noqa (the programs are odd on purpose)
# pyright: basic

from tapescope import engine as torch

from .harness import program

nn, F = torch.nn, torch.nn.functional


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


@program(graphs=1)
def linear():
    return nn.Linear(3, 2), [(torch.randn(4, 3),)] * 2


@program(graphs=1)
def sequential():
    return mlp(3, 5, 2), [(torch.randn(4, 3),)] * 3


@program(graphs=1)
def module_in_a_function():
    m = mlp(3, 5, 2)
    return lambda x: m(x).softmax(-1), [(torch.randn(4, 3),)] * 2


@program(graphs=1)
def module_as_argument():
    return lambda m, x: m(x) * 2, [(mlp(3, 5, 2), torch.randn(4, 3))] * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 2), "b": nn.Linear(8, 3)})
        self.norm = nn.LayerNorm(8)
        self.drop = nn.Dropout(0.5)
        self.scale = nn.Parameter(torch.ones(8))
        self.register_buffer("steps", torch.zeros(1))
        self.calls = 0
        self.k = 2.0

    def forward(self, x, which="a"):
        x = self.fc1(x)
        for block in self.blocks:
            x = x + block(x).relu()
        x = self.drop(self.norm(x)) * self.scale * self.k
        return self.heads[which](x)


@program(graphs=1)
def net():
    return Net(), [(torch.randn(2, 4),)] * 3


@program(graphs=2)
def net_other_argument():
    return Net(), [(torch.randn(2, 4),), (torch.randn(2, 4), "b"), (torch.randn(2, 4), "a")]


@program(graphs=2)
def train_and_eval():
    m = Net()

    def call(x, training):
        return f(x)

    class W(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = m

        def forward(self, x, training):
            return self.m(x)

    w = W()

    def calls():
        for training in (True, False, True):
            w.train(training)
            yield (torch.ones(2, 4), 0)

    return w, calls()


@program(graphs=2)
def attribute_changes():
    m = Net().eval()

    def calls():
        for k in (2.0, 3.0, 4.0, 5.0):
            m.k = k
            yield (torch.ones(2, 4),)

    return m, calls()


@program(graphs=1)
def parameter_values_change():
    m = Net().eval()

    def calls():
        for k in range(3):
            with torch.no_grad():
                m.fc1.weight.fill_(k)
            yield (torch.ones(2, 4),)

    return m, calls()


@program(graphs=2)
def submodule_replaced():
    m = Net().eval()

    def calls():
        yield (torch.ones(2, 4),)
        m.fc1 = nn.Linear(4, 8, bias=False)
        yield (torch.ones(2, 4),)

    return m, calls()


@program(graphs=2)
def frozen_parameters():
    m = Net().eval()

    def calls():
        yield (torch.ones(2, 4),)
        m.fc1.weight.requires_grad_(False)
        yield (torch.ones(2, 4),)

    return m, calls()


@program(graphs=2)
def under_no_grad():
    m = mlp(3, 4, 2)

    def calls():
        yield (torch.ones(2, 3),)
        torch.set_grad_enabled(False)
        yield (torch.ones(2, 3),)
        torch.set_grad_enabled(True)
        yield (torch.ones(2, 3),)

    return m, calls()


@program(graphs=1)
def batch_norm():
    m = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 2))
    return m, [(torch.randn(3, 1, 6, 6),)] * 3, m


@program()
def counter_in_a_module():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, x):
            self.n += 1
            return x * self.n

    m = M()
    return m, [(torch.ones(2),)] * 5, m


@program()
def buffer_updated():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(2))
            self.register_buffer("count", torch.tensor(0))

        def forward(self, x):
            self.mean.lerp_(x.mean(0), 0.5)
            self.count += 1
            self.last = x
            self.mean2 = self.mean * 2
            return x - self.mean

    m = M()
    return m, [(torch.ones(3, 2),)] * 3, m


@program(graphs=1)
def forward_hooks():
    m = nn.Linear(2, 2)
    seen = []
    m.register_forward_hook(lambda mod, args, out: out * 2)
    m.register_forward_pre_hook(lambda mod, args: (args[0] + 1,))
    m.register_forward_hook(lambda mod, args, out: seen.append(tuple(out.shape)))
    return m, [(torch.ones(1, 2),)] * 3, seen


@program()
def hook_added_later():
    m = mlp(2, 3, 1)

    def calls():
        yield (torch.ones(1, 2),)
        handle = m[0].register_forward_hook(lambda mod, args, out: out + 10)
        yield (torch.ones(1, 2),)
        handle.remove()
        yield (torch.ones(1, 2),)

    return m, calls()


@program(graphs=1)
def tied_weights():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(5, 3)
            self.out = nn.Linear(3, 5, bias=False)
            self.out.weight = self.emb.weight

        def forward(self, ids):
            return self.out(self.emb(ids).sum(1))

    return M(), [(torch.tensor([[1, 2], [0, 4]]),)] * 2


@program(graphs=1)
def attention():
    m = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return m, [(torch.randn(2, 3, 8),)] * 2


@program(graphs=1)
def lstm():
    m = nn.LSTM(3, 4, batch_first=True)
    return m, [(torch.randn(2, 5, 3),)] * 2


@program(graphs=1)
def forward_and_backward():
    m = mlp(3, 5, 1)

    def f(x, y):
        loss = F.mse_loss(m(x), y)
        loss.backward()
        return loss

    return f, [(torch.randn(4, 3), torch.randn(4, 1))], m


@program()
def gradients_accumulate():
    m = mlp(3, 5, 1)

    def f(x, y):
        loss = F.mse_loss(m(x), y)
        loss.backward()
        return loss.detach()

    return f, [(torch.randn(4, 3), torch.randn(4, 1))] * 3, m


@program(graphs=1)
def gradient_of_argument():
    def f(x):
        y = (x * x).sum()
        y.backward()
        return x.grad * 2

    return f, [(torch.ones(3, requires_grad=True),)]


@program(graphs=1)
def autograd_grad():
    def f(x):
        y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        return g, h

    return f, [(torch.ones(3, requires_grad=True),)] * 2


def training(make, steps=5, **more):
    def build():
        m = mlp(3, 6, 1)
        opt = make(m.parameters())

        def step(x, y):
            opt.zero_grad()
            loss = F.mse_loss(m(x), y)
            loss.backward()
            opt.step()
            return loss.detach()

        x, y = torch.randn(4, 3), torch.randn(4, 1)
        return step, [(x, y)] * steps, m, opt

    return build


for _name, _make in {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, amsgrad=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01),
}.items():
    _build = training(_make)
    _build.__name__ = f"training_{_name}"
    _build.__module__ = __name__
    program()(_build)


@program()
def training_with_scheduler():
    m = mlp(3, 6, 1)
    opt = torch.optim.SGD(m.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 2, gamma=0.5)

    def step(x, y):
        loss = F.mse_loss(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        schedule.step()
        return loss.detach(), opt.param_groups[0]["lr"]

    return step, [(torch.randn(4, 3), torch.randn(4, 1))] * 6, m


@program()
def training_with_clipping():
    m = mlp(3, 6, 1)
    opt = torch.optim.Adam(m.parameters(), lr=0.1)

    def step(x, y):
        loss = F.cross_entropy(m(x).expand(4, 2), y)
        opt.zero_grad(set_to_none=False)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        return loss.detach(), norm

    return step, [(torch.randn(4, 3), torch.tensor([0, 1, 1, 0]))] * 4, m


@program()
def optimizer_step_alone():
    m = mlp(3, 6, 1)
    opt = torch.optim.Adam(m.parameters(), lr=0.1)

    def calls():
        for _ in range(3):
            m(torch.ones(2, 3)).sum().backward()
            yield ()

    return opt.step, calls(), m
