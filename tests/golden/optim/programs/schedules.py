"""Rates, state and warnings of the schedules."""

import warnings

optim = torch.optim
S = optim.lr_scheduler


def tell(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


def new(lr=1.0, **more):
    return optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=lr, momentum=0.9, **more)


def run(make, n=12, optimizer=None):
    o = optimizer or new()
    s = make(o)
    seen = [o.param_groups[0]["lr"]]
    for _ in range(n):
        o.step()
        s.step()
        seen.append(o.param_groups[0]["lr"])
    print(type(s).__name__, seen, s.get_last_lr())
    return s


run(lambda o: S.LambdaLR(o, lambda e: 0.95**e))
run(lambda o: S.MultiplicativeLR(o, lambda e: 0.95))
run(lambda o: S.StepLR(o, 3, 0.5))
run(lambda o: S.MultiStepLR(o, [2, 5, 5], 0.1))
run(lambda o: S.ConstantLR(o, 0.5, 4))
run(lambda o: S.LinearLR(o, 0.25, 0.75, 4))
run(lambda o: S.ExponentialLR(o, 0.9))
run(lambda o: S.PolynomialLR(o, 5, 2.0))
run(lambda o: S.CosineAnnealingLR(o, 5, 0.1), 17)
run(lambda o: S.CosineAnnealingWarmRestarts(o, 3, 2, 0.1), 14)
c = run(lambda o: S.CyclicLR(o, 0.1, 1.0, 3, 4, mode="triangular2"), 16)
print(c.optimizer.param_groups[0]["momentum"])
run(lambda o: S.CyclicLR(o, 0.1, 1.0, 3, mode="exp_range", gamma=0.9), 8)
run(lambda o: S.CyclicLR(o, 0.1, 1.0, 3, scale_fn=lambda x: 1 / x, cycle_momentum=False), 8)
for more in ({}, {"anneal_strategy": "linear"}, {"three_phase": True}, {"pct_start": 0.5, "div_factor": 10}):
    c = run(lambda o: S.OneCycleLR(o, 1.0, total_steps=10, **more), 9)
    print(c.optimizer.param_groups[0]["momentum"])
a = optim.Adam([torch.nn.Parameter(torch.ones(1))], lr=0.1)
run(lambda o: S.OneCycleLR(o, 1.0, epochs=2, steps_per_epoch=3), 5, a)
print(a.param_groups[0]["betas"])
run(lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], [4]))
run(lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, 1.0, 3), S.StepLR(o, 2, 0.5), S.CosineAnnealingLR(o, 4)], [3, 7]))
run(lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)]))
run(lambda o: optim.swa_utils.SWALR(o, 0.05, 4), 8)
run(lambda o: optim.swa_utils.SWALR(o, 0.05, 4, "linear"), 8)
for more in ({}, {"mode": "max"}, {"threshold_mode": "abs", "threshold": 0.3}, {"cooldown": 2}, {"min_lr": 0.2}):
    o = new()
    s = S.ReduceLROnPlateau(o, factor=0.5, patience=1, **more)
    seen = []
    for v in [5.0, 4.0, 4.0, 4.0, 4.1, 3.9, 3.9, 3.9, 3.9, torch.tensor(2.0), 2.0, 2.0, 2.0, 2.0]:
        s.step(v)
        seen.append(o.param_groups[0]["lr"])
    print(seen, s.num_bad_epochs, s.best, s.get_last_lr())

groups = optim.SGD(
    [{"params": [torch.nn.Parameter(torch.ones(1))], "lr": 0.1}, {"params": [torch.nn.Parameter(torch.ones(1))]}],
    lr=1.0,
)
s = S.LambdaLR(groups, [lambda e: 0.5**e, lambda e: e])
groups.step()
s.step()
print(s.get_last_lr(), [g["initial_lr"] for g in groups.param_groups])
tell(lambda: S.LambdaLR(groups, [lambda e: 1]))
tell(lambda: S.StepLR(3, 1))
tell(lambda: S.StepLR(new(), 1, last_epoch=3))
tell(lambda: S.ConstantLR(new(), 2.0))
tell(lambda: S.LinearLR(new(), 0.0))
tell(lambda: S.LinearLR(new(), 0.5, 2.0))
tell(lambda: S.CosineAnnealingWarmRestarts(new(), 0))
tell(lambda: S.CosineAnnealingWarmRestarts(new(), 1, 0))
tell(lambda: S.CyclicLR(new(), 0.1, 1.0, mode="x"))
tell(lambda: S.CyclicLR(optim.Adagrad([torch.nn.Parameter(torch.ones(1))]), 0.1, 1.0))
tell(lambda: S.OneCycleLR(new(), 1.0))
tell(lambda: S.OneCycleLR(new(), 1.0, total_steps=-1))
tell(lambda: S.OneCycleLR(new(), 1.0, epochs=0, steps_per_epoch=1))
tell(lambda: S.OneCycleLR(new(), 1.0, total_steps=3, pct_start=2.0))
tell(lambda: S.OneCycleLR(new(), 1.0, total_steps=3, anneal_strategy="x"))
tell(lambda: run(lambda o: S.OneCycleLR(o, 1.0, total_steps=3), 5))
tell(lambda: S.SequentialLR(new(), [], []))
tell(lambda: S.ChainedScheduler([]))
tell(lambda: S.ReduceLROnPlateau(new(), factor=1.0))
tell(lambda: S.ReduceLROnPlateau(new(), mode="x"))
tell(lambda: S.ReduceLROnPlateau(new(), min_lr=[1, 2]))
tell(lambda: S.MultiplicativeLR(new(), 3))
o = new()
other = new()
tell(lambda: S.SequentialLR(o, [S.StepLR(o, 1), S.StepLR(o, 1)], []))

for make in (
    lambda o: S.StepLR(o, 2), lambda o: S.CosineAnnealingLR(o, 7), lambda o: S.LambdaLR(o, lambda e: 0.5**e),
    lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], [3]), lambda o: S.ReduceLROnPlateau(o),
    lambda o: S.CyclicLR(o, 0.1, 1.0, 3), lambda o: S.OneCycleLR(o, 1.0, total_steps=9), lambda o: optim.swa_utils.SWALR(o, 0.1),
):  # fmt: skip
    o = new()
    s = make(o)
    for _ in range(3):
        o.step()
        s.step(*([1.0] if isinstance(s, S.ReduceLROnPlateau) else []))
    print(sorted(s.state_dict().items()))
    o2 = new()
    s2 = make(o2)
    o2.load_state_dict(o.state_dict())
    s2.load_state_dict(s.state_dict())
    for opt, sch in ((o, s), (o2, s2)):
        opt.step()
        sch.step(*([1.0] if isinstance(s, S.ReduceLROnPlateau) else []))
    print(o.param_groups[0]["lr"], o2.param_groups[0]["lr"])

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    o = new()
    s = S.StepLR(o, 1)
    s.step()
    o.step()
    s.step(5)
    print(s.get_lr(), o.param_groups[0]["lr"])
    print([str(w.message)[:70] for w in caught])
o = optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=torch.tensor(1.0))
s = S.ExponentialLR(o, 0.5)
o.step()
s.step()
print(o.param_groups[0]["lr"], s.get_last_lr(), s.base_lrs)

net = torch.nn.Linear(1, 1, bias=False)
swa = optim.swa_utils.AveragedModel(net)
ema = optim.swa_utils.AveragedModel(net, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.9))
own = optim.swa_utils.AveragedModel(net, avg_fn=lambda a, p, n: a + p * n)
for v in (1.0, 2.0, 4.0):
    with torch.no_grad():
        net.weight.fill_(v)
    for m in (swa, ema, own):
        m.update_parameters(net)
print(swa.module.weight, ema.module.weight, own.module.weight, swa.n_averaged, list(swa.state_dict()))
tell(lambda: optim.swa_utils.get_ema_avg_fn(2))
