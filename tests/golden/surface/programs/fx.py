# torch.fx: what a trace looks like, editing it, and what cannot be traced.
fx = torch.fx


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 5)
        self.w = torch.nn.Parameter(torch.ones(5))
        self.seq = torch.nn.Sequential(torch.nn.Linear(5, 5), torch.nn.ReLU())
        self.register_buffer("shift", torch.zeros(5))

    def forward(self, x, y=2, *, flag=True):
        a = self.lin(x + self.w[:4])
        b = torch.relu(a).view(x.shape[0], -1)
        c = self.seq(b).clamp(min=0.0, max=1.0) - self.shift
        for i in range(2):
            c = c + i
        left, right = torch.cat([c, a], dim=1).chunk(2, dim=1)
        return left**2, {"k": -right @ self.w, "s": torch.softmax(b, dim=-1)}


model = Model()
traced = fx.symbolic_trace(model)
print(traced.code)
print(traced.graph)
print(traced)
for n in traced.graph.nodes:
    print(n.op, n.name, n.target if isinstance(n.target, str) else n.target.__name__, n.args, n.kwargs, list(n.users))
x = torch.randn(2, 4)
print([torch.equal(a, b) for a, b in zip(traced(x)[1].values(), model(x)[1].values())], sorted(traced.state_dict()))


def f(x):
    return torch.sin(x).cos() * 2


g = fx.symbolic_trace(f)
print(g.code, g(torch.ones(2)))
for n in g.graph.nodes:
    if n.op == "call_function" and n.target is torch.sin:
        n.target = torch.cos
g.recompile()
print(g.code, g(torch.ones(2)))
sin = list(g.graph.nodes)[1]
with g.graph.inserting_after(sin):
    fresh = g.graph.call_function(torch.neg, (sin,))
sin.replace_all_uses_with(fresh, lambda user: user is not fresh)
g.graph.lint()
g.recompile()
print(g.code, g(torch.ones(2)))
fresh.replace_all_uses_with(sin)
g.graph.erase_node(fresh)
g.recompile()
print(g.graph)


class Noisy(fx.Interpreter):
    def run_node(self, n):
        out = super().run_node(n)
        print(n.op, n.name)
        return out


class Sigmoid(fx.Transformer):
    def call_function(self, target, args, kwargs):
        return super().call_function(torch.sigmoid if target is torch.cos else target, args, kwargs)


print(Noisy(g).run(torch.ones(2)))
print(Sigmoid(g).transform().code)
print([n.name for n in traced.graph.find_nodes(op="call_module")])
fx.replace_pattern(g, lambda x: x.cos(), lambda x: torch.tanh(x) + 1)
print(g.code)


def loop(x):
    for a in x:
        print(a)


def length(x):
    return len(x)


for bad in (loop, length, lambda x: bool(x), lambda x: x if x else 1, lambda x: [*x]):
    try:
        print(fx.symbolic_trace(bad).code)
    except Exception as error:
        print(type(error).__name__, str(error)[:60])
print(fx.symbolic_trace(lambda x, y: x[0, :, 1:3] + y.T.shape[0]).code)
print(fx.symbolic_trace(lambda x, flag: x + 1 if flag else x, concrete_args={"flag": True}).code.count("add"))
print(fx.symbolic_trace(lambda input, sum: input.sum() + sum.mean(dim=0, keepdim=True) + 1j).code)
