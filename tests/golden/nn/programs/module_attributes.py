"""What may be assigned to a module and when, names, deletion, half-built modules: rules and messages."""

nn = torch.nn


def tell(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


m = nn.Linear(2, 2)
for value in (torch.ones(2), 3, "a", None):
    tell(lambda: setattr(m, "weight", value))
print(m.weight, [n for n, _ in m.named_parameters()])
m = nn.Sequential(nn.Linear(1, 1))
for value in (3, None):
    tell(lambda: setattr(m, "0", value))
print(m)


class Half(nn.Module):
    def __init__(self, what):
        self.x = what


for what in (nn.Linear(1, 1), nn.Parameter(torch.ones(1)), nn.Buffer(torch.ones(1))):
    tell(lambda: Half(what))
h = Half(3)
for f in (
    lambda: h.x, lambda: h(3), lambda: repr(h), lambda: list(h.parameters()), lambda: h.y, lambda: h.train(),
    lambda: h.register_buffer("b", torch.ones(1)), lambda: h.register_parameter("b", None),
):  # fmt: skip
    tell(f)
m = nn.Module()
tell(lambda: m(1))
tell(lambda: m.foo)
for name in ("a.b", "", 3):
    tell(lambda: m.register_buffer(name, torch.ones(1)))
    tell(lambda: m.register_parameter(name, None))
    tell(lambda: m.add_module(name, nn.Linear(1, 1)))
tell(lambda: m.register_buffer("x", 3))
tell(lambda: m.register_parameter("p", torch.ones(1)))
tell(lambda: m.add_module("y", 3))
m.x = 3
tell(lambda: m.register_buffer("x", None))
tell(lambda: m.register_parameter("x", None))
tell(lambda: m.add_module("x", None))
p = nn.Parameter(torch.ones(2))
m.w = p
m.w2 = p
m.b = nn.Buffer(torch.zeros(1), persistent=False)
m.register_buffer("c", torch.ones(1))
m.plain = torch.ones(3)
print([n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()], list(m.state_dict()), m.plain)
print([n for n, _ in m.named_parameters(remove_duplicate=False)])
tell(lambda: setattr(m, "c", 3))
m.c = torch.zeros(2)
print(m.c, list(m.state_dict()))
m.c = None
print(m.c, list(m.state_dict()), [n for n, _ in m.named_buffers()])
m.x = nn.Linear(1, 1)  # a plain attribute becomes a child
print(m, [n for n in ("x", "w") if n in m.__dict__])
m.w = nn.Linear(1, 1) if False else None
print([n for n, _ in m.named_parameters()])
del m.w2
tell(lambda: m.w2)
del m.x
tell(lambda: m.x)
tell(lambda: delattr(m, "nope"))
for bad in ((3,), ()):
    tell(lambda: nn.Module(*bad, **({} if bad else {"a": 3})))
tell(lambda: nn.Linear(2, 2).train(3))


class Bad(nn.Module):
    @property
    def bad(self):
        return self.nope


tell(lambda: Bad().bad)
print([n for n in dir(nn.Sequential(nn.ReLU(), nn.ReLU())) if n[0].isdigit()], "weight" in dir(nn.Linear(1, 1)))
tell(lambda: nn.Parameter(torch.tensor([1])))
print(nn.Parameter(torch.tensor([1]), requires_grad=False), nn.Parameter(), nn.Parameter(torch.ones(2)).dtype)
print(isinstance(nn.Buffer(torch.ones(1)), nn.Buffer), isinstance(torch.ones(1), nn.Buffer))
print(isinstance(nn.Parameter(torch.ones(1)), nn.Parameter), isinstance(torch.ones(1), nn.Parameter))
print(type(nn.Parameter(torch.ones(1)) + 1).__name__, type(nn.Parameter(torch.ones(1)).data).__name__)
net = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.Linear(1, 1)))
for target in ("1.0", "", "9", "1.weight", "1.0.weight"):
    tell(lambda: type(net.get_submodule(target)).__name__)
for target in ("1.0.weight", "1.0", "1.0.nope"):
    tell(lambda: net.get_parameter(target).shape)
tell(lambda: net.get_buffer("1.0.weight"))
net.set_submodule("1.0", nn.ReLU())
print(net)
for args in (("", nn.ReLU()), ("0.weight", nn.ReLU()), ("x", 3 and nn.ReLU(), True)):
    tell(lambda: net.set_submodule(*args))
print(net)
