"""Operators on tensors of random shapes, strides and dtypes, beside the CPU: hypothesis looks for a case where the two differ."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tapescope import engine as torch

KINDS = ("float32", "int32", "int64", "uint8", "bool", "float16")
RULES = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True, scope="module")
def device(need_vulkan):
    need_vulkan()


@st.composite
def tensors(draw, kinds=KINDS, rank=4, least=0):
    """A tensor on the CPU: a part of a larger one, its dimensions in any order, some of them repeated or reversed."""
    shape = draw(st.lists(st.integers(least, 7) | st.sampled_from([16, 33]), max_size=rank))
    kind = draw(st.sampled_from(kinds))
    cuts = [draw(st.tuples(st.integers(0, 2), st.integers(1, 2))) for _ in shape]
    whole = [a + n * s for n, (a, s) in zip(shape, cuts)]
    seed = draw(st.integers(0, 99))
    values = np.random.default_rng(seed).integers(-9, 9, whole)
    x = torch.tensor((values / 4 if kind.startswith("float") else values % 5).astype(np.float32)).to(
        getattr(torch, kind)
    )
    for d, (a, s) in enumerate(cuts):
        x = x.narrow(d, a, shape[d] * s) if shape[d] else x.narrow(d, 0, 0)
        x = x[(slice(None),) * d + (slice(None, None, s),)] if s > 1 else x
    order = draw(st.permutations(range(x.ndim)))
    x = x.permute(*order) if x.ndim else x
    if x.ndim and draw(st.booleans()):
        x = x.narrow(0, 0, min(1, x.shape[0])).expand(*x.shape) if x.shape[0] else x
    return x


def there(x):
    """The same view on a copy of the memory on the device."""
    root = x.as_strided((max(x.untyped_storage().nbytes() // x.element_size(), 1),), (1,), 0) if x.numel() else x
    moved = root.to("webgpu")
    return moved.as_strided(tuple(x.shape), x.stride(), x.storage_offset()) if x.numel() else moved


def agree(function, *inputs, tolerance=1e-5):
    """Values, dtypes and shapes, or the same kind of error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            want = function(*inputs)
        except (RuntimeError, IndexError, NotImplementedError, TypeError) as error:
            with pytest.raises(type(error)):
                function(*[there(x) for x in inputs])
            return
        got = function(*[there(x) for x in inputs])
    for a, b in zip(
        want if isinstance(want, tuple) else (want,), got if isinstance(got, tuple) else (got,), strict=True
    ):
        assert b.device.type == "webgpu" and a.dtype is b.dtype and a.shape == b.shape
        half = 2e-3 if a.dtype is torch.float16 else tolerance
        np.testing.assert_allclose(b.cpu().numpy(), a.numpy(), rtol=half, atol=half)


BINARY = ("add", "sub", "mul", "maximum", "minimum", "eq", "lt", "ne", "logical_and", "atan2", "fmod", "remainder")


@RULES
@given(tensors(), tensors(), st.sampled_from(BINARY))
def test_two_operands_that_may_broadcast(x, y, name):
    if name in ("fmod", "remainder"):
        y = torch.where(y == 0, torch.ones((), dtype=y.dtype), y)
    agree(getattr(torch, name), x, y)


UNARY = ("neg", "abs", "sign", "exp", "sigmoid", "square", "logical_not", "isnan", "floor", "trunc")


@RULES
@given(tensors(), st.sampled_from(UNARY))
def test_one_operand(x, name):
    agree(getattr(torch, name), x)


@RULES
@given(tensors(), st.data())
def test_reductions_and_scans(x, data):
    name = data.draw(st.sampled_from(["sum", "mean", "amax", "amin", "any", "all", "cumsum", "argmax", "logsumexp"]))
    dim = data.draw(st.integers(0, max(x.ndim - 1, 0)))
    agree(lambda v: getattr(torch, name)(v, dim), x, tolerance=1e-4)


@RULES
@given(tensors(), st.data())
def test_copies_and_casts(x, data):
    kind = getattr(torch, data.draw(st.sampled_from(KINDS)))
    agree(lambda v: v.contiguous(), x)
    agree(lambda v: v.clone(), x)
    agree(lambda v: v.abs().to(kind) if v.dtype is not torch.bool else v.to(kind), x)
    if x.ndim:
        agree(lambda v: v.flip(0), x)
        agree(lambda v: torch.cat([v, v[:1], v], 0), x)


@RULES
@given(tensors(rank=3, least=1), st.data())
def test_order_and_places(x, data):
    if not x.ndim:
        return
    dim = data.draw(st.integers(0, x.ndim - 1))
    agree(lambda v: v.sort(dim, stable=True), x)
    index = torch.tensor(data.draw(st.lists(st.integers(0, x.shape[dim] - 1), min_size=1, max_size=9)))
    agree(lambda v, i: v.index_select(dim, i), x, index)
    if x.dtype is not torch.bool:
        picked = x.index_select(dim, index)
        agree(lambda v, i, s: v.index_add(dim, i, s), x.contiguous(), index, picked)


@RULES
@given(tensors(("float32",), 3), tensors(("float32",), 3))
def test_writing_into_views(x, y):
    """`copy_` and arithmetic in place on any strides that do not repeat elements; what lies beside the view stays."""
    if any(s == 0 and n > 1 for s, n in zip(x.stride(), x.shape)):
        return
    try:
        y = y.expand(*x.shape)
    except RuntimeError:
        return

    def write(root, source):
        root = root.clone()
        view = root.as_strided(tuple(x.shape), x.stride(), x.storage_offset()) if x.numel() else root
        view.mul_(2).add_(source) if x.numel() else root
        view.copy_(view + 1) if x.numel() else root
        return root

    memory = x.as_strided((x.untyped_storage().nbytes() // 4,), (1,), 0) if x.numel() else x
    agree(write, memory, y)
