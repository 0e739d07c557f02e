"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict: indexing, editing, repr, errors."""

from collections import OrderedDict

nn = torch.nn


def tell(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


def L():
    return nn.Linear(2, 2)


s = nn.Sequential(L(), nn.ReLU(), L())
print(s, s[1], s[-1], s[0:2], len(s))
for i in (3, -4, "a", 1.5):
    tell(lambda: s[i])
del s[1]
print(s)
s.append(nn.ReLU())
s.insert(0, nn.Identity())
print(s)
tell(lambda: s.pop(1))
print(s)
tell(lambda: s.insert(9, L()))
s.insert(-1, nn.Sigmoid())
print(s)
tell(lambda: s + 3)
print(s + nn.Sequential(nn.Tanh()), nn.Sequential(nn.Tanh()) * 2, 2 * nn.Sequential(nn.Tanh()))
s += nn.Sequential(nn.Tanh())
print(s)
s *= 2
print(len(s))
d = nn.Sequential(OrderedDict([("a", L()), ("b", nn.ReLU())]))
print(d, d.a, d[0], d[0:1])
d[1] = nn.Tanh()
print(d)
del d[0]
print(d)
tell(lambda: nn.Sequential(3))
tell(lambda: nn.Sequential(OrderedDict([("a.b", L())])))
print(nn.Sequential())
tell(lambda: s.extend(3))
print([n for n in dir(s) if n.isdigit()])

m = nn.ModuleList([L(), L(), nn.ReLU(), nn.Linear(3, 3)])
print(m, m[0:2], m[-1], len(m))
tell(lambda: m[4])
m.insert(1, nn.Tanh())
m.extend([L()])
m += [nn.ReLU()]
print(m)
tell(lambda: m.pop(0))
del m[1:3]
print(m)
for bad in (3, [3]):
    tell(lambda: m.extend(bad))
tell(lambda: m(3))
tell(lambda: m.append(3))
m[0] = nn.ELU()
print(m, nn.ModuleList(), m + [L()])
print(nn.Sequential(nn.ModuleList([nn.Sequential(L()), nn.Sequential(L())])))

x = nn.ModuleDict({"a": L(), "b": nn.ReLU()})
print(x, x["a"], list(x), "a" in x, len(x))
x.update([("c", nn.Tanh())])
x["d"] = nn.ELU()
print(x)
tell(lambda: x.pop("a"))
print(list(x.keys()), list(x.items()), list(x.values()))
tell(lambda: x["zz"])
for bad in (3, [3], [(1, 2, 3)], {"keys": L()}, {3: L()}):
    tell(lambda: x.update(bad))
x.clear()
print(x)

p = nn.ParameterList([torch.zeros(2), nn.Parameter(torch.ones(2, 3))])
print(p, len(p), p[0], p[0:1])
p.append(torch.ones(1))
p.extend([torch.zeros(3, 3)])
p.append("hey")
print(p)
tell(lambda: p[9])
tell(lambda: p(3))
p[0] = torch.ones(4)
print(p, [n for n, _ in p.named_parameters()])
tell(lambda: p.extend(3))
p += [torch.ones(1)]
print(len(p))

q = nn.ParameterDict({"b": torch.zeros(2), "a": nn.Parameter(torch.ones(2, 3)), "c": 3})
print(q, list(q), q["a"].shape, "a" in q)
q["z"] = torch.ones(1)
print(list(q.items())[-1])
tell(lambda: q.pop("b"))
tell(lambda: q.popitem())
print(q.get("a").shape, q.get("nope"), q.setdefault("n", torch.ones(2)), list(q.keys()), list(reversed(q)))
tell(lambda: q[3])
tell(lambda: q["nope"])
tell(lambda: q(3))
for bad in (3, [(1,)]):
    tell(lambda: q.update(bad))
print(q | nn.ParameterDict({"m": torch.ones(1)}), q.fromkeys(["x", "y"], torch.ones(1)), q.copy())
print(nn.ParameterDict(), nn.ParameterList())
q.clear()
print(len(q), [k for k in nn.ParameterDict({"b": torch.zeros(2), "a": torch.zeros(1)}).state_dict()])
