# __torch_function__: tensor classes of one's own, things that are no tensors, and modes.
import sys

F = torch.nn.functional
overrides = sys.modules[torch.__name__ + ".overrides"]


class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print("call", func.__name__, [t.__name__ for t in types])
        return super().__torch_function__(func, types, args, kwargs or {})


class Plain(torch.Tensor):
    pass


class Stand:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return ("handled", func.__name__, len(args))


class Refusing:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Count(overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


a = torch.ones(2, 2).as_subclass(Logged)
b = a + 1
for t in (
    b,
    torch.relu(b),
    b.relu(),
    F.linear(b, torch.ones(3, 2)),
    b @ b,
    b.sum(0),
    b[0],
    b.add_(1),
    torch.cat([b, torch.ones(1, 2)]),
):
    print(type(t).__name__, tuple(t.shape) if type(t) is torch.Tensor else "")
p = Plain([1.0, 2.0])
print(
    type(p + 1).__name__,
    p * 2,
    type(p.sum()).__name__,
    [type(x).__name__ for x in p.split(1)],
    isinstance(p, torch.Tensor),
)
print(torch.add(Stand(), 1), torch.cat([Stand(), torch.ones(1)]), F.relu(Stand()), torch.sum(Stand(), dim=0))
try:
    torch.add(Refusing(), 1)
except TypeError as error:
    print("Refusing" in str(error))
with Count() as outer:
    x = torch.ones(3)
    with Count() as inner:
        y = (x * 2).sum()
print(outer.seen, inner.seen, y)
print(
    overrides.is_tensor_like(Stand()),
    overrides.is_tensor_like(3),
    overrides.is_tensor_like(x),
    overrides.has_torch_function((x,)),
    overrides.has_torch_function((a,)),
)
