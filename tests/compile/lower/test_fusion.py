"""What is fused with what: numbers of kernels, reasons for refusals, passes, memory, and the records."""

from __future__ import annotations

import json

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.lower.backend import Choices, Unlowered, backend_with
from tapescope.engine.observe import bus

from .harness import agree, calls, check, kernels, lowered

NUMPY = Choices(printer="numpy")
F = torch.nn.functional


@pytest.fixture(autouse=True)
def compiler(need):
    need("cc")
    torch.manual_seed(0)


def leaf(*shape):
    return torch.randn(*shape).requires_grad_()


def test_softmax_is_one_kernel():
    assert len(kernels(check(lambda x: F.softmax(x, -1), torch.randn(20, 30)))) == 1


def test_layer_norm_with_its_backward_is_one_kernel():
    def function(x, w, b, g):
        return torch.autograd.grad(F.layer_norm(x, (64,), w, b), (x, w, b), g)

    assert len(kernels(check(function, leaf(40, 64), leaf(64), leaf(64), torch.randn(40, 64)))) == 1


def test_batch_norm_is_one_kernel():
    assert (
        len(
            kernels(
                check(
                    lambda x, w, b: F.batch_norm(x, None, None, w, b, True), torch.randn(4, 3, 5, 5), leaf(3), leaf(3)
                )
            )
        )
        == 1
    )


def test_chain_with_its_backward_is_one_kernel():
    def function(x, w, b):
        y = F.gelu(x * w + b, approximate="tanh") * torch.sigmoid(x)
        return torch.autograd.grad(y.sum(), (x, w, b))

    assert len(kernels(check(function, leaf(30, 40), leaf(40), leaf(40)))) == 1


def test_cross_entropy_with_its_backward():
    def function(x, y):
        loss = F.cross_entropy(x, y)
        return loss, *torch.autograd.grad(loss, x)

    assert len(kernels(check(function, leaf(20, 10), torch.randint(0, 10, (20,))))) <= 3


def step(x, y, t, *state):
    """A training step of two layers with Adam, written out."""
    parameters, means, squares = state[:4], state[4:8], state[8:]
    w1, b1, w2, b2 = parameters
    loss = F.cross_entropy(F.linear(F.relu(F.linear(x, w1, b1)), w2, b2), y)
    grads = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        t += 1
        for p, g, m, v in zip(parameters, grads, means, squares, strict=True):
            m.lerp_(g, 0.1)
            v.mul_(0.999).addcmul_(g, g, value=0.001)
            p.sub_(0.001 * m / (1 - 0.9**t) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))
    return loss.detach()


def state():
    torch.manual_seed(1)
    parameters = [leaf(16, 8), leaf(16), leaf(10, 16), leaf(10)]
    zeros = [torch.zeros_like(p) for p in parameters] + [torch.zeros_like(p) for p in parameters]
    return [torch.randn(12, 8), torch.randint(0, 10, (12,)), torch.tensor(0.0), *parameters, *zeros]


def test_training_step():
    ours, theirs = state(), state()
    segment = lowered(step, *ours)
    for _ in range(5):
        got, wanted = segment(*ours), step(*theirs)
        assert abs(got.item() - wanted.item()) < 1e-5
    for a, b in zip(ours, theirs, strict=True):
        assert torch.allclose(a, b, atol=1e-5)
    assert not segment.file.python, "everything runs in one call of C"
    assert len(segment.file.entries) == 1
    assert not segment.assembly.copied, "all state is written where it is"
    assert not any("transpose" in k or "_view" in k for k in kernels(segment)), (
        "products give gradients in the parameters' order"
    )


def test_every_refusal_has_a_reason():
    refused = lowered(step, *state()).assembly.schedule.refused
    assert refused and all(r["first"] and r["second"] and " " in r["reason"] for r in refused)


def test_a_reduction_that_is_complete_only_after_the_loops_is_not_used_in_them():
    segment = check(lambda x: (x - x.sum(0)).exp().sum(), torch.randn(30, 1, 20).squeeze(1))
    assert len(kernels(segment)) > 1
    assert any("row" in r["reason"] or "complete" in r["reason"] for r in segment.assembly.schedule.refused)


SEARCHES = {
    "two directions": lambda x: ((x * 2).argmax(-1), (x * 2 + 1).argmin(0), (x + 1).sum()),
    "over rows": lambda x: (x * 2).argmax(0),
    "transposed": lambda x: (x.t() + 1).argmin(1),
    "beside a sum": lambda x: (x.unsqueeze(-1) * x.sum()).argmax(1, keepdim=True),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_has_a_row_of_its_own(name):
    """One search that no kernel can do once left the whole graph without kernels."""
    x = torch.randn(30, 20)
    assert not calls(check(SEARCHES[name], x))
    fallen = []
    compiled = torch.compile(
        SEARCHES[name], backend=lambda gm, ins: fallen.append(backend_with(NUMPY)(gm, ins)) or fallen[-1]
    )
    agree(compiled(x), SEARCHES[name](x))
    assert not any(isinstance(p, Unlowered) for f in fallen for v in f.variants.values() for p in v.parts())


def test_memory_is_used_again():
    def function(x, *ws):
        for w in ws:
            x = F.relu(x @ w)
        return x

    segment = check(function, torch.randn(64, 64), *[torch.randn(64, 64) / 8 for _ in range(6)])
    assert segment.one.layout.bytes <= 3 * 64 * 64 * 4
    assert segment.one.layout.unshared > 2 * segment.one.layout.bytes


def test_passes_are_counted():
    segment = lowered(
        lambda x: (x.exp() * 1 + x.exp() * 1) / 1 - (-x) + x.to(torch.float64).to(torch.float32), torch.randn(4)
    )
    counted = segment.program.rewrites
    assert counted["times or divided by one"] >= 3 and counted["common subexpressions"] >= 1
    assert counted["casts there and back"] == 1


def test_equal_kernels_are_written_once():
    segment = lowered(lambda x, y: (x.exp(), y.exp() * 1), torch.randn(30), torch.randn(30))
    assert len(kernels(segment)) == 2 and segment.file.functions == 1


def test_kernels_as_views_read_them():
    from tapescope.engine.compile.lower.replay.tell import tell

    segment = lowered(step, *state())
    segment.timing = True
    segment(*state())
    made = tell([segment], "cpu")
    json.dumps(made)
    assert made["refused"]
    assert {k["language"] for k in made["kernels"]} == {"c", "library"}
    for k in made["kernels"]:
        assert k["nodes"] and k["text"] and k["outputs"] and k["bytes"] and k["seconds"] is not None
    here = [s for k in made["kernels"] for s in k["sources"]]
    assert any(s["file"].endswith("test_fusion.py") for s in here)


@pytest.mark.parametrize("printer", ["numpy", "wgsl"])
def test_lines_know_their_nodes(printer, need_vulkan):
    from tapescope.engine.compile.lower.replay.tell import tell

    if printer == "wgsl":
        need_vulkan()
    x = torch.randn(5, 64).to("webgpu" if printer == "wgsl" else "cpu")
    (kernel,) = tell([lowered(lambda x: F.softmax(x.tanh(), -1) * 3, x, printer=printer)], "cpu")["kernels"]
    lines = kernel["text"].splitlines()
    found = {node: [lines[n - 1] for n, nodes in kernel["lines"] if node in nodes] for node in kernel["nodes"]}
    assert any("tanh" in line for line in found["tanh"]), found
    assert any("exp" in line for node, of in found.items() if "softmax" in node or "exp" in node for line in of), found
    assert any("* 3.0" in line or "multiply" in line for line in found["mul"]), found


def test_records_on_the_bus():
    seen = []
    stop = bus.subscribe(seen.append, ("kernel", "launch"))
    try:
        segment = lowered(lambda x: F.softmax(x, -1), torch.randn(5, 6))
        segment(torch.randn(5, 6))
    finally:
        stop()
    built, launched = seen
    assert "expf" in built.text and built.device == "cpu"
    assert launched.seconds > 0 and launched.name == built.name


def test_check_finds_what_differs(monkeypatch):
    from tapescope.engine.compile.aot.trace import make_fx
    from tapescope.engine.compile.lower.backend import Choices, compile_graph
    from tapescope.engine.compile.lower.replay.check import Mismatch

    gm = make_fx(lambda x: F.softmax(x, -1) * 2)(torch.randn(5, 6))
    checked = compile_graph(gm, (), Choices(check=True))
    checked(torch.randn(5, 6))
    assert checked.worst < 1e-6
    whole = checked.segment._run

    def wrong(tensors):
        (out,) = whole(tensors) if isinstance(whole(tensors), tuple) else (whole(tensors),)
        out._data[2, 3] += 0.01
        return out

    monkeypatch.setattr(checked.segment, "_run", wrong)
    with pytest.raises(Mismatch, match=r"test_fusion.py:\d+.* away from eager"):
        checked(torch.randn(5, 6))


def test_modes():
    from tapescope.engine.compile.backends import configured

    with pytest.raises(ValueError, match="the modes are default, reduce-overhead"):
        configured("tapescope", "fastest", False)
    assert callable(configured("tapescope", "max-autotune", True))


def test_autotune_measures_once(monkeypatch, tmp_path):
    from tapescope.engine.compile.aot.trace import make_fx
    from tapescope.engine.compile.lower.autotune.choices import CANDIDATES
    from tapescope.engine.compile.lower.backend import Choices, compile_graph

    monkeypatch.setenv("TAPESCOPE_CACHE", str(tmp_path))
    x = torch.randn(8, 16)
    gm = make_fx(lambda x: F.softmax(x, -1))(x)
    first = compile_graph(gm, (), Choices("max-autotune"))
    assert torch.allclose(first(x), F.softmax(x, -1))
    first(x)
    first.wait()
    assert first.settled and first.tuning()["chosen"] in {c.name for c in CANDIDATES}
    assert torch.allclose(first(x), F.softmax(x, -1))
    assert len(first.tried) == len(CANDIDATES) and len(list(tmp_path.glob("choice-*.json"))) == 1
    second = compile_graph(gm, (), Choices("max-autotune"))
    monkeypatch.setattr(second, "make", lambda c, make=second.make: made.append(c) or make(c))
    made = []
    second(x)
    assert len(made) == 1 and second.tried == first.tried


def test_autotune_runs_nothing_twice_that_draws(monkeypatch, tmp_path):
    monkeypatch.setenv("TAPESCOPE_CACHE", str(tmp_path))
    f = torch.compile(lambda x: F.dropout(x, 0.5) * 2, mode="max-autotune")
    x = torch.ones(64)
    torch.manual_seed(3)
    got = [f(x) for _ in range(3)]
    torch.manual_seed(3)
    assert all(torch.equal(g, F.dropout(x, 0.5) * 2) for g in got)


def test_what_was_tuned_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("TAPESCOPE_CACHE", str(tmp_path))
    x = torch.randn(8, 16)
    from tapescope.engine.compile.lower.backend import Choices, backend_with

    from ..aot.harness import level1

    made = backend_with(Choices("max-autotune"))(level1(lambda x: F.softmax(x, -1), [x]), [x])
    for _ in range(2):
        made(x)
    for variant in made.variants.values():
        variant.forward.wait()
    (told,) = made.kernels_json()["tuning"]
    assert told["settled"] and told["chosen"] in {t["choice"] for t in told["tried"]}


def test_what_cuts_the_code_is_told():
    from tapescope.engine.compile.lower.replay.tell import tell

    segment = check(lambda x: torch.sort(x.exp(), -1)[0] * 2, torch.randn(4, 6))
    reasons = [r["reason"] for r in tell([segment], "cpu")["refused"]]
    assert any(r.startswith("sort stands between them") for r in reasons)


def test_a_second_process_finds_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TAPESCOPE_CACHE", str(tmp_path))
    assert not lowered(lambda x: x.exp() + 1, torch.randn(5)).cached
    assert lowered(lambda x: x.exp() + 1, torch.randn(5)).cached


def test_a_rule_counts_wherever_it_applies():
    """Also where the formula of an equal primitive was read before."""
    made = lowered(lambda x, y: ((x * 1).exp(), (y * 1).exp(), y * -0.0, y * 0.0), torch.randn(5), torch.randn(5))
    assert made.program.rewrites["times or divided by one"] == 2
    assert made.program.rewrites["common subexpressions"] == 0  # the zeros have signs


def test_weights_are_read_where_they_lie():
    def f(x, w):
        y = F.conv2d(x, w, padding=1)
        return torch.autograd.grad(y.relu().sum(), (x, w))

    x, w = torch.randn(3, 4, 7, 7, requires_grad=True), torch.randn(5, 4, 3, 3, requires_grad=True)
    segment = check(f, x, w)
    written = [
        v.numel().number for s in segment.assembly.steps if s.kind == "kernel" for v in s.writes if v.kind != "embed"
    ]
    columns = 3 * 4 * 9 * 49
    assert written.count(columns) == 1, "the columns of the image are stored once, for both products"
    assert 3 * 5 * 4 * 9 not in written, "a weight is not copied for each image"


def test_the_gate_of_a_relu_looks_at_its_argument():
    def f(x):
        return torch.autograd.grad((x.relu() * x).sum(), x)

    x = torch.tensor([1.0, -1.0, 0.0, -0.0, float("nan"), float("inf")], requires_grad=True)
    segment = check(f, x)
    assert segment.program.rewrites["test of a maximum"] == 1


def test_explain_tells_kernels_and_memory():
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 8))
    text = str(torch.compiler.explain(lambda x: model(x).softmax(-1).sum(0))(torch.randn(16, 64)))
    assert "kernels, " in text and "bytes beside the arguments, where eager holds" in text
