"""Names, order and sharing in the walks over a tree; train, eval, apply, conversion, zero_grad; repr."""

nn = torch.nn


class Block(nn.Module):
    def __init__(self, shared):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.shared = shared
        self.again = shared
        self.nothing = None
        self.register_buffer("running", torch.ones(1))
        self.register_parameter("absent", None)

    def forward(self, x):
        return self.shared(self.lin(x))


shared = nn.Linear(2, 2, bias=False)
net = nn.Sequential(Block(shared), nn.Dropout(0.1), Block(shared))
print(net)
print([n for n, _ in net.named_modules()])
print([n for n, _ in net.named_modules(prefix="p", remove_duplicate=False)])
print([n for n, _ in net.named_parameters()])
print(
    [n for n, _ in net.named_parameters(prefix="p", recurse=False)],
    [n for n, _ in net[0].named_parameters(recurse=False)],
)
print([n for n, _ in net.named_buffers()], [n for n, _ in net[0].named_children()], len(list(net.modules())))
print(len(list(net.parameters())), len(list(net.buffers())), [type(c).__name__ for c in net[0].children()])
net.eval()
print([m.training for m in net.modules()])
net[0].train()
print([m.training for m in net.modules()])
order = []
net.apply(lambda m: order.append(type(m).__name__))
print(order)
net.double()
print(net[0].lin.weight.dtype, net[0].running.dtype)
w = net[0].lin.weight
net.float()
print(net[0].lin.weight is w, w.dtype)
net(torch.ones(1, 2)).sum().backward()
net.to(torch.float64)
print(w.grad.dtype, w.dtype, net[0].running.dtype)
net.half()
print(w.dtype, w.grad.dtype)
net.to(torch.ones(1))
net.type(torch.float64)
print(w.dtype, net[0].running.dtype)
try:
    net.to(torch.int64)
except TypeError as e:
    print(e)
net.float()
net.zero_grad(set_to_none=False)
print(w.grad.sum())
net.zero_grad()
print(w.grad)
net.requires_grad_(False)
print([p.requires_grad for p in net.parameters()])
counter = nn.Module()
counter.register_buffer("steps", torch.tensor(3))
print(counter.half().steps.dtype)


class Told(nn.Module):
    def extra_repr(self):
        return "one=1,\ntwo=2"


print(Told(), nn.Sequential(Told()), nn.Module())
