"""Generated WGSL against eager on the device."""

from __future__ import annotations

import os

os.environ.setdefault("LP_NUM_THREADS", "0")

import numpy as np
import pytest

from tapescope import engine as torch

from ..aot.harness import ahead
from ..aot.programs import PROGRAMS
from .harness import agree, kernels, lowered, tensors

F = torch.nn.functional

ON_CPU = {
    "attention_by_hand", "gather", "out_argument", "masked_writes", "write_gradient_through", "random_mixture", "counters", "promotion",
}  # fmt: skip
"""Programs that make tensors of the CPU by themselves, or compute in double precision."""


@pytest.fixture(autouse=True)
def device(need_vulkan):
    need_vulkan()
    torch.manual_seed(0)


def moved(value):
    return value.detach().to("webgpu").requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value


def made(name):
    function, makers, *rest = PROGRAMS[name]
    inputs = [m() for m in makers]
    if rest:
        inputs += rest[0]()
        function = function()
    return function, [moved(t) for t in inputs]


def pull(results, inputs):
    outs = [o for o in tensors(results) if o.requires_grad]
    weights = [torch.linspace(0.5, 1.5, o.numel(), dtype=o.dtype).reshape(o.shape).to("webgpu") for o in outs]
    if outs:
        torch.autograd.backward(outs, weights)
    return [t.grad for t in inputs if t.grad is not None]


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in ON_CPU])
def test_program(name):
    function, ours = made(name)
    _, theirs = made(name)
    compiled = ahead(function, ours, "tapescope")
    torch.manual_seed(0)
    got = compiled(*ours)
    torch.manual_seed(0)
    wanted = function(*theirs)
    assert compiled.reason is None and not compiled.reasons()
    agree(got, wanted, 2e-4)
    agree(pull(got, ours), pull(wanted, theirs), 5e-4)


def on_device(function, *args, tolerance=2e-5):
    args = [moved(a) for a in args]
    segment = lowered(function, *args, printer="wgsl")
    agree(segment(*args), function(*args), tolerance)
    return segment


def test_softmax_is_one_kernel():
    assert len(kernels(on_device(lambda x: F.softmax(x, -1), torch.randn(20, 36)))) == 1


def test_tanh_of_a_product_with_a_sigmoid():
    # lavapipe drops the value where NaN is chosen after the sign is put on; separate kernels do not show it
    x, y = torch.randn(5, 7), torch.randn(5, 7)
    on_device(lambda x, y: (x * torch.sigmoid(y)).tanh(), x, y)
    on_device(lambda x, y: (x * torch.sigmoid(y)).tanh().mean(), x, y)
    on_device(lambda x: F.glu(x, -1).tanh(), torch.tensor([[float("nan"), 1.0], [-2.0, float("nan")], [-0.0, 3.0]]))


def test_transposed_result_that_is_stacked_too():
    def function(x):
        w = (x * 0.5).t()
        return torch.stack([w, w * 2], 1), w

    x = torch.randn(5, 5)
    on_device(function, x)
    for printer in ("c", "numpy"):
        agree(lowered(function, x, printer=printer)(x), function(x))


def test_long_sums_are_made_in_stages():
    x = torch.rand(300, 1000)
    segment = on_device(lambda x: (x.sum(), x.mean(0)), x)
    assert segment.program.rewrites["long reductions in two stages"] >= 1
    assert abs(segment(moved(x))[0].item() - x.sum().item()) < 2


def test_embedding_gradient_adds_in_order():
    rows = torch.tensor([1, 2, 1, 1, 0])

    def function(table, rows):
        return torch.autograd.grad((F.embedding(rows, table) ** 2).sum(), table)

    on_device(function, torch.randn(4, 8).requires_grad_(), rows)


def test_offsets_and_strides():
    base = torch.randn(8, 16)
    segment = on_device(lambda x: x * 2 + 1, base[:4])
    for x in (moved(base)[1:5], moved(base)[::2], moved(torch.randn(16, 4)).t()):
        agree(segment(x), x * 2 + 1)


def test_limits_of_the_browser():
    """No kernel binds more than eight buffers, whatever it is made of."""

    def function(*xs):
        total = xs[0]
        for x in xs[1:]:
            total = (total * x).tanh()
        return total, total.sum(-1)

    segment = on_device(function, *[torch.randn(6, 8) for _ in range(12)])
    assert all(len(p.shader.access) <= 8 for p in segment.printed.values())
    assert all(f.shader.source.count("var<workgroup>") == 0 for f in segment.printed.values())


def test_writes_into_inputs():
    def function(p, g):
        p.mul_(0.5).add_(g)

    ours, theirs = [moved(torch.ones(40)), moved(torch.ones(40))], [moved(torch.ones(40)), moved(torch.ones(40))]
    segment = lowered(function, *ours, printer="wgsl")
    segment(*ours)
    function(*theirs)
    agree(ours, theirs)
    assert not segment.assembly.copied


def test_index_out_of_range_is_told_at_a_read():
    table, rows = moved(torch.randn(4, 8)), moved(torch.tensor([0, 3]))
    segment = lowered(lambda t, i: t.index_select(0, i), table, rows, printer="wgsl")
    out = segment(table, moved(torch.tensor([0, 9])))
    with pytest.raises(IndexError, match="9 is out of range"):
        out.cpu()


def test_training_with_an_optimizer_whose_counters_are_on_the_cpu():
    def built():
        torch.manual_seed(0)
        net = torch.nn.Linear(4, 3).to("webgpu")
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

        def step(x, y):
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        return net, step

    x, y = moved(torch.randn(5, 4)), moved(torch.randint(0, 3, (5,)))
    net, step = built()
    other, plain = built()
    compiled = torch.compile(step, backend="tapescope")
    for _ in range(4):
        assert abs(compiled(x, y).item() - plain(x, y).item()) < 1e-6
    agree(list(net.parameters()), list(other.parameters()))


def test_written_inputs_that_lie_otherwise():
    from tapescope.engine.compile.aot.trace import make_fx
    from tapescope.engine.compile.lower.backend import compile_graph

    def function(p, g):
        p.mul_(0.5).add_(g)

    compiled = compile_graph(make_fx(function)(moved(torch.ones(8)), moved(torch.ones(8))))
    base, g = moved(torch.arange(9.0)), moved(torch.ones(8))
    compiled(base[1:], g)
    agree(base, torch.cat([torch.zeros(1), torch.arange(1.0, 9.0) * 0.5 + 1]))


@pytest.mark.parametrize("columns", [6, 64])
def test_rows_with_infinities_and_no_numbers(columns):
    """Rows in fours and one at a time; what is kept in the result until the last walk; a maximum that is no number."""
    x = np.random.default_rng(0).standard_normal((5, columns)).astype("float32") * 30
    x[1, 3], x[2, :5], x[3, 4], x[4] = np.nan, -np.inf, np.inf, -np.inf
    segment = on_device(lambda x: (F.softmax(x, -1), F.log_softmax(x, -1), x.amax(-1), x.sum(-1)), torch.from_numpy(x))
    assert any("exp_nonpositive" in p.shader.source for p in segment.printed.values())


def test_a_dear_value_is_kept_in_the_result():
    segment = on_device(lambda x: F.softmax(x, -1), torch.randn(6, 32))
    ((source, access),) = [(p.shader.source, p.shader.access) for p in segment.printed.values()]
    assert (
        source[source.index("fn main") :].count("exp_nonpositive") == 4
    )  # once for each of four elements, in one walk
    assert access == "rw"


@pytest.mark.parametrize("dims", [0, (0, 1), (1,), (0, 2)])
def test_long_sums(dims):
    x = np.random.default_rng(0).standard_normal((2100, 3, 4)).astype("float32")
    on_device(lambda x: (x.sum(dims), x.amax(dims), (x * x).mean(dims)), torch.from_numpy(x))
    on_device(lambda x: x.sum(dims), torch.from_numpy(x).transpose(0, 2).contiguous().transpose(0, 2))


PRODUCTS = {
    "odd": ((33, 17), (17, 20), False, False),
    "both transposed": ((30, 70), (70, 19), True, True),
    "fours": ((64, 64), (64, 36), False, True),
    "left transposed": ((64, 48), (48, 100), True, False),
    "stack": ((3, 10, 30), (3, 30, 19), False, True),
    "stack of stacks": ((2, 3, 24, 16), (2, 3, 16, 40), True, False),
    "column": ((70, 33), (33, 1), False, False),
    "row": ((1, 33), (33, 70), False, False),
    "one step": ((9, 1), (1, 12), False, False),
    "shared layers": ((5, 8, 12), (12, 16), False, False),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_by_broadcasts(name):
    """Every way to read both operands, tiles beyond the edges, layers; a product of an array with itself."""
    a, b, left, right = PRODUCTS[name]
    x, y = torch.randn(*a), torch.randn(*b)
    x = x.transpose(-1, -2).contiguous().transpose(-1, -2) if left else x
    y = y.transpose(-1, -2).contiguous().transpose(-1, -2) if right else y
    segment = on_device(lambda x, y: (x @ y, F.relu(x @ y) + 1), x, y)
    if segment.lanes:
        assert any("subgroupBroadcast" in p.shader.source for p in segment.printed.values())
    on_device(lambda x: x @ x.transpose(-1, -2), x)


def test_products_without_subgroups(monkeypatch):
    from tapescope.engine.compile.lower.replay import webgpu

    monkeypatch.setattr(webgpu, "shared_lanes", lambda: 0)
    segment = on_device(lambda x, w: F.conv2d(x @ x, w, padding=1), torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3))
    assert not any("subgroup" in p.shader.source for p in segment.printed.values())


@pytest.mark.parametrize(
    "sizes", [((2, 3, 9, 8), (5, 3, 3, 3), {"padding": 1}), ((3, 1, 12, 12), (8, 1, 3, 2), {"stride": 2}),
              ((1, 4, 10, 11), (6, 4, 3, 3), {"dilation": 2, "padding": 2}), ((2, 4, 6, 6), (3, 4, 1, 1), {})],
)  # fmt: skip
def test_convolutions_are_products_of_views(sizes):
    x, w, options = sizes

    def function(x, w, b):
        y = F.conv2d(x, w, b, **options)
        return (y, *torch.autograd.grad((y * y).sum(), (x, w, b)))

    inputs = [torch.randn(*s).requires_grad_() for s in (x, w, w[:1])]
    segment = on_device(function, *inputs, tolerance=2e-4)
    if segment.lanes:  # no column is copied
        assert all(p.threads.number < 10_000 or "pad" in p.shader.name for p in segment.printed.values())


def test_pooling_is_elementwise():
    def function(x):
        y = F.max_pool2d(F.relu(x), 2)
        return (y, *torch.autograd.grad((y * y).sum(), (x,)))

    segment = on_device(function, torch.randn(2, 3, 8, 12).requires_grad_())
    assert not [s for s in segment.assembly.steps if s.kind == "call"]


def test_calls_after_the_first_are_one_list():
    """The recorded commands give what single launches gave: other inputs, results that are kept, writes, numbers, a lost list."""

    def function(x, w, p):
        y = F.relu(x @ w)
        p.mul_(0.5).add_(y.sum(0))
        return y, F.softmax(y, -1)

    w, ours, theirs = moved(torch.randn(12, 32)), moved(torch.ones(32)), moved(torch.ones(32))
    segment = lowered(function, moved(torch.randn(8, 12)), w, ours, printer="wgsl")
    kept = []
    for _ in range(4):
        x = moved(torch.randn(8, 12))
        kept.append((segment(x, w, ours)[:2], function(x, w, theirs)))
    for got, wanted in kept:
        agree(got, wanted)
    agree(ours, theirs)
    if segment.lanes:
        assert segment.recording and segment.recording.chunks
    # Inputs that lie otherwise, or are one another, go launch by launch.
    other = moved(torch.randn(32, 12)).t()
    agree(segment(moved(torch.ones(9, 12))[1:], other, ours)[:2], function(moved(torch.ones(8, 12)), other, theirs))


def test_recorded_checks_of_indices():
    table, rows = moved(torch.randn(4, 8)), moved(torch.tensor([0, 3]))
    segment = lowered(lambda t, i: t.index_select(0, i) * 2, table, rows, printer="wgsl")
    for _ in range(3):
        agree(segment(table, rows), table.index_select(0, rows) * 2)
    out = segment(table, moved(torch.tensor([0, 9])))
    with pytest.raises(IndexError, match="9 is out of range"):
        out.cpu()
    agree(segment(table, rows), table.index_select(0, rows) * 2)


def test_threads_with_several_neighbours():
    """Software adapters: threads compute stretches, of which the last one may be short."""

    def function(x, b):
        return torch.tanh(x * 2 + b) * x, x - b

    for rows, columns in ((1033, 36), (331, 27), (64, 1024)):
        x, b = torch.randn(rows, columns), torch.randn(columns)
        segment = on_device(function, x, b)
        agree(segment(moved(x), moved(b)), function(x, b))
        if segment.lanes:
            assert all("for (var id = first; id < end; id++)" in p.shader.source for p in segment.printed.values())


@pytest.mark.parametrize(("rows", "columns"), [(3072, 100), (4000, 68), (768, 128), (300, 1022), (40, 64)])
def test_sums_of_columns(rows, columns):
    """Beside the elements they are made of, and the largest, with operands that are the same in all rows."""

    def function(x, w):
        y = torch.sigmoid(x) * w
        return y, y.sum(0), (y * x).sum(0), x.amax(0)

    x, w = torch.randn(rows, columns), torch.randn(columns)
    segment = on_device(function, x, w)
    agree(segment(moved(x), moved(w)), function(x, w))
    if segment.lanes and columns % 4 == 0:
        sources = [p.shader.source for p in segment.printed.values()]
        assert any("_first" in s for s in sources) == (rows * columns >= 1 << 18)
        assert all("array<f32>" not in s for s in sources)
