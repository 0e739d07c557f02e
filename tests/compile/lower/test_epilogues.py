"""What follows a product inside its kernel on WebGPU: which launches there are, and values and gradients against eager."""

from __future__ import annotations

import os

os.environ.setdefault("LP_NUM_THREADS", "0")

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.lower.replay import products, webgpu

from .harness import agree, lowered

F = torch.nn.functional


@pytest.fixture(autouse=True)
def device(need_vulkan):
    need_vulkan()
    torch.manual_seed(0)
    if not webgpu.shared_lanes():
        pytest.skip("products are the engine's where subgroups are not known")


def moved(value):
    return value.detach().to("webgpu").requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value


def on_device(function, *args, tolerance=2e-5):
    """Lower, run twice (launch by launch, then recorded) and compare with eager; returns the segment."""
    args = [moved(a) for a in args]
    segment = lowered(function, *args, printer="wgsl")
    for _ in range(2):
        agree(segment(*args), function(*args), tolerance)
    return segment


def launches(segment):
    return [k for k, step in enumerate(segment.assembly.steps) if step.kind != "call"]


def followed(segment):
    """How many products have an epilogue."""
    return sum(step.tail is not None for step in segment.assembly.steps)


def reasons(segment):
    return " ".join(r["reason"] for r in segment.assembly.schedule.refused)


def leaf(*shape):
    return torch.randn(*shape).requires_grad_()


@pytest.mark.parametrize(
    ("m", "k", "n"), [(24, 16, 32), (33, 17, 20), (70, 33, 19), (1, 40, 12), (40, 12, 1), (5, 4, 3)]
)
def test_bias_and_activation_are_one_launch(m, k, n):
    """Tiles beyond the edges, four columns at once and one by one, dimensions of one element."""
    segment = on_device(lambda x, w, b: F.relu(F.linear(x, w, b)), *[torch.randn(*s) for s in ((m, k), (n, k), (n,))])
    assert len(launches(segment)) == 1 and followed(segment) == 1
    ((shader, access),) = [(p.shader.source, p.shader.access) for p in segment.printed.values()]
    assert access == "rrrw"  # the product itself is nowhere
    assert "fn finish(" in shader and "test_epilogues.py:" in shader


def test_lines_of_the_epilogue_are_known():
    segment = on_device(
        lambda x, w, b: F.relu(F.linear(x, w, b)), torch.randn(24, 16), torch.randn(32, 16), torch.randn(32)
    )
    (p,) = segment.printed.values()
    source = p.shader.source.splitlines()
    noted = [source[at - 1] for at, origins in p.lines if origins == ("relu",)]
    assert [("max_nan" in noted[0], "= vec4" in noted[-1])] == [(True, True)] or "= t" in noted[-1]


def test_residual_row_numbers_and_columns():
    """Operands that move with the row only, the column only, both, or that are transposed."""

    def function(x, w, r, row, t):
        return torch.tanh(x @ w * row + r) + t.t() * 0.5

    shapes = ((24, 16), (16, 36), (24, 36), (24, 1), (36, 24))
    segment = on_device(function, *[torch.randn(*s) for s in shapes])
    assert len(launches(segment)) == 1


def test_the_mask_of_a_backward_pass():
    def function(x, w, v):
        h = F.relu(x @ w)
        y = h @ v
        return torch.autograd.grad((y * y).sum(), (x, w, v))

    segment = on_device(function, leaf(24, 16), leaf(16, 32), leaf(32, 8), tolerance=1e-4)
    assert followed(segment) >= 2  # relu, and its mask where the gradient comes back


@pytest.mark.parametrize("padding", [0, 1])
def test_convolution(padding):
    def function(x, w, b):
        y = F.relu(F.conv2d(x, w, b, padding=padding))
        return (y, *torch.autograd.grad((y * y).sum(), (x, w, b)))

    segment = on_device(function, leaf(2, 3, 10, 10), leaf(8, 3, 3, 3), leaf(8), tolerance=2e-4)
    assert followed(segment) >= 1


def test_stacks():
    """Layers are coordinates of what follows; a part that differs in each."""

    def function(x, y, b, c):
        return torch.sigmoid(x @ y + b) * c

    segment = on_device(
        function, *[torch.randn(*s) for s in ((2, 3, 24, 16), (2, 3, 16, 20), (3, 1, 20), (2, 3, 24, 20))]
    )
    assert len(launches(segment)) == 1


def test_results_that_are_permuted():
    """What follows is stored where another order of its dimensions says, as for heads of attention."""

    def function(x, w, b):
        heads = F.linear(x, w, b).reshape(4, 6, 2, 8).permute(0, 2, 1, 3)
        return (heads * 0.5).contiguous()

    segment = on_device(function, torch.randn(24, 16), torch.randn(16, 16), torch.randn(16))
    assert len(launches(segment)) == 1


def test_coordinates_and_types():
    """A triangular mask, whole numbers and booleans among what follows."""

    def function(x, w, keep, count):
        y = torch.tril(x @ w)
        return torch.where(keep, y, torch.zeros_like(y)) * count, y > 0.5

    segment = on_device(
        function, torch.randn(16, 12), torch.randn(12, 16), torch.rand(16, 16) > 0.3, torch.randint(0, 5, (16, 16))
    )
    assert followed(segment) == 1


def test_a_product_that_is_needed_twice_is_stored_too():
    segment = on_device(lambda x, w: (x @ w, F.relu(x @ w) + 1), torch.randn(24, 16), torch.randn(16, 32))
    assert len(launches(segment)) == 1
    assert [p.shader.access for p in segment.printed.values()] == ["rrww"]


def test_an_operand_that_follows_as_well_is_bound_once():
    segment = on_device(lambda x, w: F.relu(x @ w) + x, torch.randn(24, 24), torch.randn(24, 24))
    assert [p.shader.access for p in segment.printed.values()] == ["rrw"]


def test_what_needs_all_of_the_product_is_refused():
    segment = on_device(lambda x, w: F.softmax(x @ w, -1), torch.randn(24, 16), torch.randn(16, 32))
    assert len(launches(segment)) == 2 and followed(segment) == 0
    segment = on_device(lambda x, w: x @ w - (x @ w).sum(), torch.randn(24, 16), torch.randn(16, 32))
    assert "what is made of all of the product" in reasons(segment)


def test_another_place_is_refused():
    segment = on_device(lambda x: (x @ x) + (x @ x).t(), torch.randn(24, 24))
    assert followed(segment) == 0
    assert "at another place" in reasons(segment)


def test_places_known_only_when_it_runs_are_refused():
    segment = on_device(
        lambda x, w, t, i: x @ w + t.index_select(0, i),
        torch.randn(4, 16),
        torch.randn(16, 8),
        torch.randn(9, 8),
        torch.tensor([1, 0, 8, 3]),
    )
    assert followed(segment) == 0
    assert "known only when it runs" in reasons(segment)


def test_buffers_are_at_most_seven():
    def function(x, w, *others):
        y = x @ w
        for o in others:
            y = torch.tanh(y) * o
        return y

    segment = on_device(function, torch.randn(24, 16), torch.randn(16, 32), *[torch.randn(24, 32) for _ in range(9)])
    assert all(len(p.shader.access) <= 7 for p in segment.printed.values())
    segment = on_device(
        lambda x, w, *o: (x @ w * o[0] + o[1], x @ w - o[2], x @ w / o[3]), torch.randn(24, 16), torch.randn(16, 32),
        *[torch.rand(24, 32) + 1 for _ in range(4)],
    )  # fmt: skip
    assert all(len(p.shader.access) <= 7 for p in segment.printed.values())
    assert "can bind 7" in reasons(segment)


def adam(p, g, m, v):
    m.lerp_(g, 0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    p.addcdiv_(m, v.sqrt().add_(1e-8), value=-0.001)


def test_the_step_of_an_optimizer():
    """The gradient of a weight and its step, with the gradient as a result: one launch that binds six buffers."""

    def function(x, g, p, m, v):
        d = g.t() @ x
        adam(p, d, m, v)
        return d

    def inputs():
        torch.manual_seed(3)
        return [
            moved(t) for t in (*[torch.randn(*s) for s in ((8, 16), (8, 24), (24, 16), (24, 16))], torch.rand(24, 16))
        ]

    ours, theirs = inputs(), inputs()
    segment = lowered(function, *ours, printer="wgsl")
    for _ in range(3):
        agree(segment(*ours), function(*theirs))
    agree(ours, theirs)
    assert [p.shader.access for p in segment.printed.values()] == ["rrwwww"]
    assert not segment.assembly.copied


def test_a_large_step_stays_a_kernel_of_its_own():
    def function(x, g, p, m, v):
        d = g.t() @ x
        adam(p, d, m, v)
        return d

    args = [moved(torch.zeros(*s)) for s in ((2, 512), (2, 784), (784, 512), (784, 512), (784, 512))]
    segment = lowered(function, *args, printer="wgsl")
    assert followed(segment) == 0
    assert "costs more there" in reasons(segment)


def test_a_weight_that_another_product_reads_is_written_after():
    """The gradient of the input reads the weight that the epilogue of the weight's gradient writes."""

    def function(x, g, p):
        d = g.t() @ x
        back = g @ p * 2
        p.add_(d, alpha=-0.5)
        return back

    def inputs():
        torch.manual_seed(3)
        return [moved(torch.randn(*s)) for s in ((8, 16), (8, 24), (24, 16))]

    ours, theirs = inputs(), inputs()
    segment = lowered(function, *ours, printer="wgsl")
    for _ in range(3):
        agree(segment(*ours), function(*theirs))
        agree(ours, theirs)
    assert followed(segment) == 2 and not segment.assembly.copied


def test_an_operand_is_not_written_while_it_is_read():
    def function(x, p):
        p.add_(x @ p)

    def inputs():
        torch.manual_seed(3)
        return [moved(torch.randn(16, 16) * 0.1) for _ in range(2)]

    ours, theirs = inputs(), inputs()
    segment = lowered(function, *ours, printer="wgsl")
    for _ in range(2):
        segment(*ours)
        function(*theirs)
        agree(ours, theirs)
    assert followed(segment) == 0


def test_an_mlp_step_with_adam(monkeypatch):
    """Each product of the step has what follows it, as far as that is element by element."""

    def built():
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 12)).to("webgpu")
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

        def step(x, y):
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        return net, step

    x, y = moved(torch.randn(8, 16)), moved(torch.randint(0, 12, (8,)))
    net, step = built()
    other, plain = built()
    segments = []
    original = webgpu.GpuSegment.__init__

    def noted(self, *args):
        original(self, *args)
        segments.append(self)

    monkeypatch.setattr(webgpu.GpuSegment, "__init__", noted)
    compiled = torch.compile(step, backend="tapescope")
    for _ in range(4):
        assert abs(compiled(x, y).item() - plain(x, y).item()) < 1e-5
    agree(list(net.parameters()), list(other.parameters()), 1e-4)
    agree([p.grad for p in net.parameters()], [p.grad for p in other.parameters()], 1e-4)
    hot = segments[-1]
    kinds = [(s.kind, s.tail is not None) for s in hot.assembly.steps if s.kind != "call"]
    assert sum(kind == "product" for kind, _ in kinds) == 5
    assert (
        sum(tail for _, tail in kinds) == 4
    )  # relu; its mask; both weights' steps. The second layer's results go into the loss
    assert len(kinds) == 12
    assert all(len(p.shader.access) <= 7 for p in hot.printed.values())


def test_unknown_sizes_fall_back():
    from tapescope.engine.compile.aot.trace import make_fx
    from tapescope.engine.compile.lower.backend import compile_graph

    def function(x, w, b):
        return F.relu(F.linear(x, w, b))

    w, b = moved(torch.randn(32, 16)), moved(torch.randn(32))
    x = moved(torch.randn(24, 16))
    segment = compile_graph(make_fx(function, dynamic={0: (0,)})(x, w, b))
    for m in (24, 7):
        x = moved(torch.randn(m, 16))
        agree(segment(x, w, b), function(x, w, b))
    assert followed(segment) == 0 and len(launches(segment)) == 2
    assert "sizes are not known" in reasons(segment)


def test_a_product_without_a_kernel_of_its_own(monkeypatch):
    """The epilogue becomes a step after the engine's product again."""

    def unable(*_, **__):
        raise NotImplementedError("no")

    monkeypatch.setattr(products, "print_product", unable)
    segment = on_device(
        lambda x, w, b: F.relu(F.linear(x, w, b)), torch.randn(24, 16), torch.randn(32, 16), torch.randn(32)
    )
    assert followed(segment) == 0
    assert [s.kind for s in segment.assembly.steps] == ["product", "kernel"]


def test_without_subgroups(monkeypatch):
    monkeypatch.setattr(webgpu, "shared_lanes", lambda: 0)
    segment = on_device(
        lambda x, w, b: F.relu(F.linear(x, w, b)), torch.randn(24, 16), torch.randn(32, 16), torch.randn(32)
    )
    assert [s.kind for s in segment.assembly.steps] == ["product", "kernel"]
    assert not segment.assembly.schedule.refused
