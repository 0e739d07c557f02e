"""Hooks of every kind: order, replacing values, keywords, always_call, removal, backward hooks, hooks of all modules."""

import warnings

nn = torch.nn
from_module = torch.nn.modules.module if hasattr(torch.nn, "modules") else torch.nn.module
log = []


def tell(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


class Double(nn.Module):
    def forward(self, x, scale=2):
        log.append(("forward", scale))
        return x * scale


m = Double()
one = torch.ones(1)
a = m.register_forward_pre_hook(lambda mod, args: log.append(("pre a", args)))
b = m.register_forward_pre_hook(lambda mod, args: (args[0] + 1,), prepend=True)
c = m.register_forward_hook(lambda mod, args, out: log.append(("post", args, out)))
d = m.register_forward_hook(lambda mod, args, kwargs, out: out + kwargs.get("scale", 0), with_kwargs=True)
e = m.register_forward_pre_hook(lambda mod, args, kwargs: (args, {**kwargs, "scale": 5}), with_kwargs=True)
print(m(one), log)
log.clear()
for h in (a, b, d):
    h.remove()
    h.remove()
print(m(one, scale=3), log)
e.remove()
bad = m.register_forward_pre_hook(lambda mod, args, kwargs: 3, with_kwargs=True)
tell(lambda: m(one))
bad.remove()
with m.register_forward_hook(lambda mod, args, out: out * 100):
    print(m(one))
print(m(one))
m.register_forward_pre_hook(lambda mod, args: args[0] * 10)  # not a tuple: wrapped
print(m(one))

log.clear()


class Fails(nn.Module):
    def forward(self, x):
        raise ValueError("no")


f = Fails()
f.register_forward_hook(lambda mod, args, out: log.append("never"))
f.register_forward_hook(lambda mod, args, out: log.append(("always", out)), always_call=True)
f.register_forward_hook(lambda mod, args, kw, out: log.append(("always kw", kw)), always_call=True, with_kwargs=True)
tell(lambda: f(one))
print(log)
log.clear()
f.register_forward_hook(lambda mod, args, out: 1 / 0, always_call=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    tell(lambda: f(one))
    print([str(w.message) for w in caught])

lin = nn.Linear(2, 1)
with torch.no_grad():
    lin.weight.fill_(2.0)
    lin.bias.fill_(0.0)
x = torch.ones(3, 2, requires_grad=True)
h = lin.register_full_backward_hook(lambda mod, gi, go: print("backward", gi, go))
p = lin.register_full_backward_pre_hook(lambda mod, go: print("before", go))
out = lin(x)
print(out.grad_fn.name(), out.grad_fn.next_functions[0][0].name())
out.sum().backward()
print(x.grad, lin.weight.grad)
h.remove()
p.remove()
h = lin.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 10,))
p = lin.register_full_backward_pre_hook(lambda mod, go: (go[0] * 3,))
x.grad = None
lin.zero_grad()
lin(x).sum().backward()
print(x.grad, lin.weight.grad)
h.remove()
p.remove()
h = lin.register_full_backward_hook(lambda mod, gi, go: print("no input", gi, go))
lin(torch.ones(1, 2)).sum().backward()
h.remove()
h = lin.register_full_backward_hook(lambda mod, gi, go: (gi[0], None))
tell(lambda: lin(x).sum().backward())
h.remove()
h = lin.register_full_backward_hook(lambda mod, gi, go: (go[0],))
tell(lambda: lin(torch.ones(1, 2)).sum().backward())
h.remove()


class Two(nn.Module):
    def forward(self, a, n, b):
        return a * n, "text", a + b


two = Two()
two.register_full_backward_hook(lambda mod, gi, go: print("two", gi, go))
a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
r = two(a, 3, b)
print(r[1])
(r[0] + r[2]).sum().backward()
tell(lambda: two.register_backward_hook(print))
old = nn.Linear(1, 1)
old.register_backward_hook(lambda mod, gi, go: print("old", go))
tell(lambda: old.register_full_backward_hook(print))
old(torch.ones(1, 1)).sum().backward()


class Dictionary(nn.Module):
    def forward(self, x):
        return {"x": x * 2}


dct = Dictionary()
dct.register_full_backward_hook(print)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    dct(torch.ones(1, requires_grad=True))
    print(len(caught))

g = [
    from_module.register_module_forward_pre_hook(lambda mod, args: print("all pre", type(mod).__name__)),
    from_module.register_module_forward_hook(lambda mod, args, out: print("all post", type(mod).__name__)),
    from_module.register_module_full_backward_hook(lambda mod, gi, go: print("all backward", type(mod).__name__)),
    from_module.register_module_full_backward_pre_hook(lambda mod, go: print("all before", type(mod).__name__)),
]
nn.Sequential(nn.Linear(1, 1), nn.ReLU())(torch.ones(1, 1, requires_grad=True)).sum().backward()
for h in g:
    h.remove()
nn.ReLU()(one)
r = [
    from_module.register_module_parameter_registration_hook(lambda mod, name, v: print("parameter", name)),
    from_module.register_module_buffer_registration_hook(lambda mod, name, v: print("buffer", name)),
    from_module.register_module_module_registration_hook(lambda mod, name, v: print("module", name)),
]
s = nn.Sequential(nn.Linear(1, 1))
s.register_buffer("buf", one)
s.extra = nn.ReLU()
for h in r:
    h.remove()
nn.Linear(1, 1)
