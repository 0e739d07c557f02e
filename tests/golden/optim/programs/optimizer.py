"""Parameter groups, state, errors, hooks and repr of optimizers."""

import copy
import pickle
import warnings

optim = torch.optim


def tell(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


def P(*values):
    p = torch.nn.Parameter(torch.tensor(values))
    p.grad = torch.ones_like(p)
    return p


p = P(1.0, 2.0)
for bad in (p, [], [3], [p * 2], {p}, [{"params": {p}}], [("a", p), p], [[p]], [{"lr": 3}]):
    tell(lambda: optim.SGD(bad, 0.1))
for options in (
    {"lr": -1},
    {"lr": 0.1, "momentum": -1},
    {"lr": 0.1, "weight_decay": -1},
    {"lr": 0.1, "nesterov": True},
):
    tell(lambda: optim.SGD([p], **options))
for options in (
    {"lr": -1}, {"betas": (1.0, 0.9)}, {"betas": (0.9, -1)}, {"eps": -1}, {"weight_decay": -1}, {"lr": torch.ones(2)},
    {"fused": True, "foreach": True}, {"fused": True, "differentiable": True},
):  # fmt: skip
    tell(lambda: optim.Adam([p], **options))
for name, options in {
    "RMSprop": ({"alpha": -1}, {"momentum": -1}, {"eps": -1}), "Adagrad": ({"lr_decay": -1}, {"initial_accumulator_value": -1}),
    "Adadelta": ({"rho": 2}, {"eps": -1}), "Adamax": ({"betas": (0, 1)},), "NAdam": ({"momentum_decay": -1},),
    "Rprop": ({"etas": (2, 1)},), "ASGD": ({"weight_decay": -1},), "RAdam": ({"eps": -1},),
    "Adafactor": ({"lr": -1}, {"beta2_decay": 1}, {"eps": (-1, 1)}, {"eps": (None, -1)}, {"d": 0.5}, {"weight_decay": -1}),
}.items():  # fmt: skip
    for o in options:
        tell(lambda: getattr(optim, name)([p], **o))
tell(lambda: optim.LBFGS([{"params": [p]}, {"params": [P(1.0)]}]))
print(optim.SGD([p]), optim.Adam([{"params": [p], "lr": 0.5}, {"params": [P(1.0)]}], amsgrad=True))
for name in ("AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "LBFGS"):
    print(getattr(optim, name)([P(1.0)]))

o = optim.SGD([p], lr=0.1, momentum=0.9)
tell(lambda: o.add_param_group({"params": [p]}))
tell(lambda: o.add_param_group([p]))
tell(lambda: o.add_param_group({"params": p}))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    q = P(3.0)
    o.add_param_group({"params": [q, q], "lr": 1.0})
    print([str(w.message) for w in caught])
print([len(g["params"]) for g in o.param_groups], o.param_groups[1]["lr"], o.defaults["lr"])
named = optim.SGD([("a", P(1.0)), ("b", P(2.0))], lr=0.1)
print(named.param_groups[0]["param_names"], named.state_dict()["param_groups"][0]["param_names"])
tell(lambda: named.add_param_group({"params": [P(1.0)]}))
tell(lambda: o.add_param_group({"params": [("c", P(1.0))]}))

a, b = P(1.0, 2.0), P(3.0)
o = optim.Adam([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1, amsgrad=True)
print(o.state_dict())
print(o.step(), a, b)
state = o.state_dict()
print(state)
c, d = P(1.0, 2.0), P(3.0)
r = optim.Adam([{"params": [c]}, {"params": [d]}], lr=0.7)
r.load_state_dict(state)
print(r)
print(r.state_dict()["state"], r.state[c]["exp_avg"] is not o.state[a]["exp_avg"])
tell(lambda: optim.Adam([c]).load_state_dict(state))
tell(lambda: optim.Adam([{"params": [c, d]}, {"params": [P(1.0)]}]).load_state_dict(state))
half = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
s = optim.Adam([half])
s.load_state_dict(
    {"state": {0: {k: v for k, v in state["state"][0].items()}}, "param_groups": s.state_dict()["param_groups"]}
)
print(s.state[half]["exp_avg"].dtype, s.state[half]["step"].dtype)
o.zero_grad(set_to_none=False)
print(a.grad)
o.zero_grad()
print(a.grad, o.step(lambda: torch.tensor(4.0)))
twin = pickle.loads(pickle.dumps(o))
print(twin, len(twin.state))
deep = copy.deepcopy(o)
print(deep.param_groups[0]["params"][0] is not a, torch.equal(deep.param_groups[0]["params"][0], a))

log = []
o = optim.SGD([P(1.0)], lr=0.1)
handles = [
    o.register_step_pre_hook(lambda opt, args, kwargs: log.append("pre")),
    o.register_step_post_hook(lambda opt, args, kwargs: log.append("post")),
    o.register_state_dict_pre_hook(lambda opt: log.append("saving")),
    o.register_state_dict_post_hook(lambda opt, sd: {**sd, "more": 1}),
    o.register_load_state_dict_pre_hook(lambda opt, sd: log.append(sorted(sd))),
    o.register_load_state_dict_post_hook(lambda opt: log.append("loaded")),
]
o.step()
o.load_state_dict(o.state_dict())
for h in handles:
    h.remove()
o.step()
print(log, "more" in o.state_dict())


class Mine(optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.data -= group["lr"] * p.grad


m = P(1.0)
mine = Mine([m], 0.25)
mine.register_step_post_hook(lambda *a: print("stepped"))
mine.step()
print(m, mine)
lr = torch.tensor(0.5)
t = P(1.0)
optim.SGD([t], lr=lr).step()
print(t)
rosen = torch.nn.Parameter(torch.tensor([-1.0, 2.0]))


def loss(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


for search in (None, "strong_wolfe"):
    with torch.no_grad():
        rosen.copy_(torch.tensor([-1.0, 2.0]))
    o = optim.LBFGS([rosen], lr=0.1 if search is None else 1, max_iter=8, line_search_fn=search)

    def closure():
        o.zero_grad()
        value = loss(rosen)
        value.backward()
        return value

    for _ in range(4):
        print(f"{o.step(closure).item():.4g}", [round(v, 3) for v in rosen.tolist()], o.state[rosen]["func_evals"])
