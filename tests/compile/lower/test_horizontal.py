"""Kernels that are alike in one launch: the values of eager, few launches, and everything that may happen to parameters in between."""

from __future__ import annotations

import copy
import gc
import io
import os

os.environ.setdefault("LP_NUM_THREADS", "0")

import pytest

from tapescope import engine as torch
from tapescope.engine import nn
from tapescope.engine.backends.base import backend
from tapescope.engine.backends.webgpu.gpu import DISPATCH

from .harness import agree, lowered

O = torch.optim


@pytest.fixture(autouse=True)
def device(need_vulkan):
    need_vulkan()
    torch.manual_seed(0)


def model(layers=2):
    torch.manual_seed(1)
    parts = [nn.Linear(6, 12)]
    for _ in range(layers - 1):
        parts += [nn.LayerNorm(12), nn.Linear(12, 12)]
    return nn.Sequential(*parts, nn.Linear(12, 7)).to("webgpu")


def groups(m):
    ps = list(m.parameters())
    return [{"params": ps[:3], "lr": 0.02}, {"params": ps[3:]}]


KINDS = {
    "adam": lambda ps: O.Adam(ps, lr=0.01),
    "adamw": lambda ps: O.AdamW(ps, lr=0.01, amsgrad=True),
    "sgd": lambda ps: O.SGD(ps, lr=0.01),
    "momentum": lambda ps: O.SGD(ps, lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1),
    "rmsprop": lambda ps: O.RMSprop(ps, lr=0.01, momentum=0.5, centered=True),
    "adagrad": lambda ps: O.Adagrad(ps, lr=0.01),
}


class Run:
    """A model and its optimizer, compiled or not, that make the same steps."""

    def __init__(self, kind, compiled, m=None):
        self.m = m if m is not None else model()
        self.opt = KINDS[kind](groups(self.m))
        self.step = torch.compile(self.opt.step) if compiled else self.opt.step
        torch.manual_seed(2)
        self.xs = [torch.randn(5, 6).to("webgpu") for _ in range(3)]
        self.k = 0

    def once(self, without=()):
        self.opt.zero_grad()
        (self.m(self.xs[self.k % 3]) ** 2).mean().backward()
        self.k += 1
        for i, p in enumerate(self.m.parameters()):
            if i in without:
                p.grad = None
        self.step()

    def agree(self, other):
        agree([p.detach() for p in self.m.parameters()], [p.detach() for p in other.m.parameters()], 2e-6)


def both(kind="adam"):
    return Run(kind, True), Run(kind, False)


def launches(run):
    """Launches of the step alone: how many dispatches are recorded in it."""
    run.opt.zero_grad()
    (run.m(run.xs[0]) ** 2).mean().backward()
    gpu = backend("webgpu").device  # type: ignore[attr-defined]
    gpu.flush()
    run.step()
    commands, i, n = gpu.commands, 0, 0
    while i < len(commands):
        if commands[i] == DISPATCH:
            i += 6 + commands[i + 5]
            i, n = i + 1 + commands[i], n + 1
        else:
            i += 6
    return n


@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_every_optimizer(kind):
    ours, theirs = both(kind)
    for _ in range(5):
        ours.once()
        theirs.once()
    ours.agree(theirs)
    assert launches(ours) <= 4 < len(list(ours.m.parameters()))


def test_learning_rate_that_becomes_an_input():
    def losses(compiled):
        torch.manual_seed(1)
        m = nn.Linear(5, 7).to("webgpu")
        opt = O.Adam(m.parameters(), lr=0.01)

        def step(x):
            opt.zero_grad()
            loss = (m(x) ** 2).mean()
            loss.backward()
            opt.step()
            return loss.detach()

        call, x, out = torch.compile(step) if compiled else step, torch.randn(4, 5).to("webgpu"), []
        for k in range(5):
            opt.param_groups[0]["lr"] = 0.01 if k < 2 else 0.02 + 0.01 * k
            out.append(call(x))
        return out

    agree(losses(True), losses(False), 2e-6)


def test_counters_that_differ():
    ours, theirs = both("adam")
    for r in (ours, theirs):
        for without in [(0, 4), (0, 4), (), (), (), (2,), (2,), (), ()]:
            r.once(without)
    ours.agree(theirs)
    assert launches(ours) == 1


def test_views_aliases_and_copies_between_parameters():
    ours, theirs = both("adam")
    for r in (ours, theirs):
        early = [p.detach() for p in r.m.parameters()]
        part = early[0][2:4]
        for _ in range(4):
            r.once()
        ps = list(r.m.parameters())
        late = ps[0].detach()[3]
        with torch.no_grad():
            part.mul_(2)
            late.add_(early[0][5])
            ps[1].copy_(ps[3])
            ps[2].add_(ps[3])
            early[5].copy_(ps[3] * 2)
        for _ in range(2):
            r.once()
        assert (part == ps[0].detach()[2:4]).all()
    ours.agree(theirs)


def test_memory_that_is_given_and_loaded():
    ours, theirs = both("adam")
    for r in (ours, theirs):
        for _ in range(4):
            r.once()
        ps = list(r.m.parameters())
        ps[0].data = torch.full((12, 6), 0.1).to("webgpu")
        r.once()
        saved = io.BytesIO()
        torch.save({"model": r.m.state_dict(), "opt": r.opt.state_dict()}, saved)
        for _ in range(2):
            r.once()
        saved.seek(0)
        state = torch.load(saved)
        r.m.load_state_dict(state["model"])
        r.opt.load_state_dict(state["opt"])
        for _ in range(3):
            r.once()
        twin = copy.deepcopy(r.m)
        r.once()
        r.twin = twin
    ours.agree(theirs)
    agree([p.detach() for p in ours.twin.parameters()], [p.detach() for p in theirs.twin.parameters()], 2e-6)


def test_a_parameter_that_is_part_of_other_memory():
    ours, theirs = both("momentum")
    for r in (ours, theirs):
        whole = torch.zeros(100).to("webgpu")
        ps = list(r.m.parameters())
        ps[-1].data = whole[:7]  # rounding its elements up would reach its neighbours
        for _ in range(4):
            r.once()
        assert (whole[7:] == 0).all()
    ours.agree(theirs)


def test_tied_weights():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(3)
            self.a, self.b, self.c = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.c(self.b(self.a(x).relu()))

    runs = [Run("adam", compiled, Tied().to("webgpu")) for compiled in (True, False)]
    for r in runs:
        for _ in range(4):
            r.once()
    runs[0].agree(runs[1])


def test_a_whole_training_step_with_clipping():
    def training(compiled):
        m = model()
        opt = O.Adam(groups(m), lr=0.01)
        torch.manual_seed(2)
        xs = [torch.randn(5, 6).to("webgpu") for _ in range(3)]

        def step(x):
            loss = (m(x) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(m.parameters(), 0.1)
            opt.step()
            return loss

        run = torch.compile(step) if compiled else step
        losses = [run(xs[i % 3]).detach() for i in range(6)]
        return losses, [p.detach() for p in m.parameters()], [p.grad for p in m.parameters()]

    agree(training(True), training(False), 2e-5)


def test_memory_stays_and_goes():
    pool = backend("webgpu").device.pool  # type: ignore[attr-defined]
    gc.collect()
    before = pool.in_use
    run = Run("adam", True)
    for _ in range(5):
        run.once()
    gc.collect()
    held, parts = pool.in_use, len(pool.parts)
    for _ in range(40):
        run.once()
    gc.collect()
    assert pool.in_use == held and len(pool.parts) == parts > 0
    kept = next(iter(run.m.parameters())).detach()
    value = kept.cpu()
    del run
    gc.collect()
    assert (kept.cpu() == value).all()
    del kept
    gc.collect()
    assert pool.in_use - before < (held - before) // 2


def test_members_of_other_sizes_and_reductions():
    def function(*xs):
        return [x.sum(0) * 2 for x in xs], [(x.exp() + 1).mean() for x in xs]

    xs = [torch.randn(n, k).to("webgpu") for n, k in ((3, 5), (9, 4), (30, 7), (3, 5))]
    segment = lowered(function, *xs, printer="wgsl")
    for _ in range(4):
        agree(segment(*xs), function(*xs))
    assert any(len(x.steps) > 2 for x in segment.joined().launches)


def test_what_needs_one_another_does_not_share():
    def function(x, y):
        for _ in range(3):
            x = torch.softmax(x, -1) @ y
        return x

    x, y = torch.randn(8, 8).to("webgpu"), torch.randn(8, 8).to("webgpu")
    segment = lowered(function, x, y, printer="wgsl")
    for _ in range(3):
        agree(segment(x, y), function(x, y))


def test_records_name_all_nodes_and_say_why_not():
    from tapescope.engine.compile.lower.replay.tell import tell

    def function(*ps):
        for p in ps:
            p.mul_(0.5)

    ps = [torch.ones(n).to("webgpu") for n in (8, 12, 3_000_000)]
    segment = lowered(function, *ps, printer="wgsl")
    for _ in range(3):
        segment(*ps)
    told = tell([segment], "webgpu")
    assert [len(k["nodes"]) for k in told["kernels"]] == [1, 2] or [len(k["nodes"]) for k in told["kernels"]] == [2, 1]
    assert any("too large" in r["reason"] for r in told["refused"])
    assert all((p.cpu() == 0.125).all() for p in ps)
