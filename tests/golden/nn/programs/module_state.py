"""state_dict and load_state_dict: names, prefixes, strictness, messages, hooks, extra state, assign, versions."""

from collections import OrderedDict

nn = torch.nn


def tell(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 1)
        self.b = nn.Sequential(nn.Linear(1, 1, bias=False))
        self.register_buffer("kept", torch.zeros(1))
        self.register_buffer("lost", torch.zeros(1), persistent=False)


net = Net()
state = net.state_dict()
print(type(state).__name__, list(state), state._metadata)
print(list(net.state_dict(prefix="p.")), list(net.state_dict(destination=OrderedDict())))
print(state["a.weight"].requires_grad, net.state_dict(keep_vars=True)["a.weight"].requires_grad)
state["a.weight"].fill_(7)
print(net.a.weight)
other = Net()
print(other.load_state_dict(state), other.a.weight)
print(other.a.weight is not net.a.weight)
tell(lambda: net.load_state_dict({"a.weight": torch.ones(3, 3), "foo": 1, "a.foo.bar": 2, "b.0.weight": 3}))
tell(lambda: net.load_state_dict([1]))
tell(lambda: net.load_state_dict({"a.weight": torch.ones(1, 2)}, strict=False))
tell(lambda: nn.Linear(2, 2).load_state_dict({"weight": torch.ones(4), "bias": torch.ones(2, dtype=torch.int64)}))
scalar = nn.Module()
scalar.s = nn.Parameter(torch.tensor(1.0))
tell(lambda: (scalar.load_state_dict({"s": torch.tensor([5.0])}), scalar.s))
w = net.a.weight
new = {k: v.double() + 1 for k, v in net.state_dict().items()}
print(net.load_state_dict(new, assign=True), net.a.weight.dtype, net.a.weight is w, type(net.a.weight).__name__)
print(net.a.weight.requires_grad)


class Extra(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0

    def get_extra_state(self):
        return {"n": self.n}

    def set_extra_state(self, state):
        self.n = state["n"]


e = nn.Sequential(Extra())
e[0].n = 5
print(e.state_dict())
f = nn.Sequential(Extra())
print(f.load_state_dict(e.state_dict()), f[0].n)
tell(lambda: f.load_state_dict({}))
tell(lambda: nn.Sequential(nn.ReLU()).load_state_dict(e.state_dict()))
log = []
m = nn.Sequential(nn.Linear(1, 1))
hooks = [
    m.register_state_dict_pre_hook(lambda mod, prefix, keep: log.append(("pre", prefix, keep))),
    m.register_state_dict_post_hook(lambda mod, sd, prefix, meta: log.append(("post", list(sd), prefix, meta))),
    m.register_load_state_dict_pre_hook(
        lambda mod, sd, prefix, meta, strict, missing, unexpected, errors: sd.pop("junk", None)
    ),
    m.register_load_state_dict_post_hook(lambda mod, keys: log.append(("loaded", keys.missing_keys))),
]
sd = m.state_dict()
sd["junk"] = 1
print(m.load_state_dict(sd), log)
for h in hooks:
    h.remove()
log.clear()
m.state_dict()
tell(lambda: m.load_state_dict(sd))
print(log)
m._register_state_dict_hook(lambda mod, sd, prefix, meta: {"only": 1})
print(m.state_dict())
m = nn.Sequential(nn.Linear(1, 1))
m.register_load_state_dict_post_hook(lambda mod, keys: keys.missing_keys.clear())
tell(lambda: m.load_state_dict({}))


class Versioned(nn.Linear):
    _version = 3

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        print("version", local_metadata.get("version"), prefix, rest[0])
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


v = nn.Sequential(Versioned(1, 1))
print(v.state_dict()._metadata)
v.load_state_dict(v.state_dict())
v.load_state_dict(dict(v.state_dict()))
