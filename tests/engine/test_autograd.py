"""The tape: backward, grad, hooks, in-place writes, custom functions, snapshots. Wanted values are PyTorch's."""

from __future__ import annotations

import gc
import warnings
import weakref
from pathlib import Path

import pytest

from tapescope import engine as torch


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_the_introductions_polynomial():
    x = torch.tensor(2.0, requires_grad=True)
    y = x**2 + 3 * x + 1
    y.backward()
    assert repr(x.grad) == "tensor(7.)"


def test_gradients_gather_and_broadcast():
    x, b = torch.ones(3, 2, requires_grad=True), leaf(1.0, 2.0)
    (x * b).sum().backward()
    (x * b).sum().backward()
    assert x.grad.tolist() == [[2, 4]] * 3 and b.grad.tolist() == [6, 6]


def test_grads_of_two_leaves_do_not_share_memory():
    a, b = leaf(1.0), leaf(1.0)
    (a + b).backward()
    a.grad.zero_()
    assert b.grad.item() == 1


def test_freed_graphs():
    x = leaf(3.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 12
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    z = (x + 1).sum()
    z.backward()
    z.backward()  # nothing was saved, nothing is missing


def test_backward_frees_what_it_has_used():
    x = torch.ones(8, requires_grad=True)
    y = x * 2
    z = y.exp()
    kept = weakref.ref(y._storage)
    loss = (z * z).sum()
    del y, z
    gc.collect()
    loss.backward()
    gc.collect()
    assert kept() is None and loss.grad_fn is not None


def test_a_graph_needs_no_garbage_collector():
    gc.disable()
    try:
        x = torch.ones(4, requires_grad=True)
        y = (x.exp() * x).tanh()
        gone = [weakref.ref(y), weakref.ref(y.grad_fn)]
        del y
        assert [r() for r in gone] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (lambda: torch.ones(2, requires_grad=True) * 2, "grad can be implicitly created only for scalar outputs"),
        (lambda: torch.ones(1), "does not require grad and does not have a grad_fn"),
    ],
)
def test_nothing_to_go_back_from(start, words):
    with pytest.raises(RuntimeError, match=words):
        start().backward()


def test_grad_and_higher_order():
    x = leaf(1.0, 2.0)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert g.tolist() == [3, 12] and h.tolist() == [6, 12] and x.grad is None
    unused = leaf(1.0)
    with pytest.raises(RuntimeError, match="at index 0 appears to not have been used in the graph"):
        torch.autograd.grad(x.sum(), unused)
    assert torch.autograd.grad(x.sum(), [x, unused], allow_unused=True)[1] is None
    assert torch.autograd.grad(x.sum(), unused, materialize_grads=True)[0].item() == 0
    y = x * 2
    assert torch.autograd.grad(y.sum(), y)[0].tolist() == [1, 1]


def test_backward_into_chosen_inputs():
    a, b = leaf(2.0), leaf(3.0)
    (a * b).backward(inputs=[a])
    assert a.grad.item() == 3 and b.grad is None


def test_deep_graphs_do_not_recurse():
    x = y = leaf(1.0)
    for _ in range(20_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1
    del y


def test_hooks():
    seen = []
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: seen.append(g.item()))
    x.register_hook(lambda g: g * 10)
    y.retain_grad()
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0].item(), outputs[0].item())))
    handle = y.register_hook(lambda g: seen.append("removed"))
    handle.remove()
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("done", t.grad.item())))
    (y * 3).backward()
    assert seen == [3.0, (6.0, 3.0), ("done", 60.0)] and x.grad.item() == 60 and y.grad.item() == 3


def test_grad_of_a_non_leaf_warns():
    y = leaf(1.0) * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert y.grad is None


def test_modes():
    x = leaf(1.0)
    with torch.no_grad():
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad

    @torch.no_grad()
    def quiet():
        return x * 2

    assert not quiet().requires_grad and torch.is_grad_enabled()
    with torch.inference_mode():
        assert not (x * 2).requires_grad
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


# -- in place -----------------------------------------------------------------------------------


def test_a_changed_saved_value_is_noticed():
    x = leaf(1.0, 2.0)
    y = x.exp()
    y += 1
    with pytest.raises(
        RuntimeError,
        match=r"\[torch.FloatTensor \[2\]\], which is output 0 of Exp, is at version 1; expected version 0",
    ):
        y.sum().backward()


def test_what_saves_nothing_may_be_changed():
    x = leaf(1.0, 2.0)
    y = x + 1
    y *= 2
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda w: w.add_(1), "^a leaf Variable that requires grad"),
        (lambda w: w.__setitem__(0, 5.0), "^a view of a leaf Variable"),
        (lambda w: w.zero_(), "^a leaf Variable that requires grad"),
    ],
)
def test_leaves_are_not_written_to(write, words):
    with pytest.raises(RuntimeError, match=words):
        write(leaf(1.0, 2.0))


def test_writes_through_views_rewrite_the_base():
    base, w = torch.zeros(4), leaf(2.0)
    base[1:2] = w
    base[2:3].mul_(w)
    base[0:1] += w * 3
    assert base.tolist() == [6, 2, 0, 0] and base.requires_grad and type(base.grad_fn).__name__ == "CopySlices"
    base.sum().backward()
    assert w.grad.tolist() == [4]


def test_writes_through_a_view_of_a_transposed_base():
    base, w = torch.zeros(2, 3).t(), leaf(2.0, 3.0)
    base[1] = w
    v = base[0]
    v += w
    (base * torch.arange(6.0).view(3, 2)).sum().backward()
    assert w.grad.tolist() == [2, 4]


def test_a_view_follows_its_base():
    x = leaf(1.0, 2.0)
    y = x * 1
    v = y[:1]
    y.mul_(3)
    v.sum().backward()
    assert x.grad.tolist() == [3, 0] and type(v.grad_fn).__name__ == "AsStridedBackward0"


def test_a_sibling_view_starts_to_need_a_gradient():
    base, w = torch.zeros(2), leaf(3.0)
    first, second = base[:1], base[1:]
    second.add_(w)
    assert not base[:1].is_leaf and first.requires_grad
    (second * 5).sum().backward()
    assert w.grad.item() == 5


def test_views_that_may_not_be_written_to():
    x = leaf(1.0, 2.0)
    y = x * 1
    with pytest.raises(RuntimeError, match="Output 0 of Unbind is a view and is being modified inplace"):
        y.unbind(0)[0].mul_(2)
    with pytest.raises(RuntimeError, match="Output 1 of Split is a view"):
        y.chunk(2)[1].mul_(2)
    with torch.no_grad():
        v = y[:1]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        v.mul_(2)


# -- custom functions ---------------------------------------------------------------------------


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x * factor

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g * ctx.factor, None


def test_custom_function():
    x = leaf(3.0)
    y = Square.apply(x, 2)
    assert type(y.grad_fn).__name__ == "SquareBackward"
    y.backward()
    assert x.grad.item() == 12
    assert torch.autograd.gradgradcheck(
        lambda t: Square.apply(t, 2), torch.rand(3, dtype=torch.float64, requires_grad=True)
    )


def test_custom_function_with_a_wrong_number_of_gradients():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match=r"incorrect number of gradients \(expected 2, got 1\)"):
        Wrong.apply(leaf(1.0), leaf(2.0)).backward()


# -- what the notebook sees ---------------------------------------------------------------------


def test_nodes_know_their_source():
    x = leaf(1.0, 2.0)
    y = (x * 2).sum()  # this line
    source = y.grad_fn.source
    text = Path(__file__).read_text().splitlines()[source.line - 1]
    assert "# this line" in text and text[source.column : source.end_column] == "(x * 2).sum()"
    inner = y.grad_fn.next_functions[0][0].source
    assert text[inner.column : inner.end_column] == "x * 2"


def test_snapshot_is_plain_data():
    import json

    x = torch.ones(2, 3, requires_grad=True)
    x._label = "weight"
    loss = (x.exp() @ torch.ones(3, 2)).sum()
    tape = torch.autograd.snapshot(loss)
    assert json.loads(json.dumps(tape)) == tape
    ops = [n["op"] for n in tape["nodes"]]
    assert [o for o in ops if o != "leaf"] == ["exp", "mm", "sum"] and "leaf" in ops
    by_op = {n["op"]: n for n in tape["nodes"]}
    assert by_op["leaf"]["label"] == "weight" and by_op["exp"]["outputs"][0]["shape"] == [2, 3]
    kept = {"name": "result", "shape": [2, 3], "dtype": "float32", "bytes": 24, "node": by_op["exp"]["id"]}
    assert by_op["exp"]["saved"][0] == kept
    assert tape["roots"] == [by_op["sum"]["id"]] and by_op["mm"]["inputs"] == [by_op["exp"]["id"]]
    assert by_op["sum"]["source"]["file"] == __file__


def test_snapshot_keeps_the_newest():
    y = leaf(1.0)
    for _ in range(50):
        y = y * 1.5
    tape = torch.autograd.snapshot(y, limit=10)
    assert len(tape["nodes"]) == 10 and tape["nodes"][-1]["id"] == y.grad_fn.sequence_nr and tape["dropped"] == 1


def test_anomaly_mode_names_the_forward_line_and_shows_no_frame_of_the_engine():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            x = leaf(0.0)
            y = (x / x).sum()  # makes a NaN
            with pytest.raises(RuntimeError, match="returned nan values in its 1th output"):
                y.backward()
    text = str(said[-1].message)
    assert text.startswith("Error detected in DivBackward0. Traceback of forward call that caused the error:")
    assert text.rstrip().endswith("# makes a NaN") and "dispatch.py" not in text


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 5


def test_an_input_returned_as_it_is_may_not_be_written_to():
    x = leaf(1.0) * 1
    y = Same.apply(x)
    assert y is not x and type(y.grad_fn).__name__ == "SameBackward"
    with pytest.raises(
        RuntimeError, match="Output 0 of Same is a view and is being modified inplace. This view was created inside"
    ):
        y.mul_(2)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        y.grad_fn  # its history would be lost


class WrongConjugate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return z * z

    @staticmethod
    def backward(ctx, g):
        (z,) = ctx.saved_tensors
        return g * 2 * z  # the conjugate of z is missing


def test_gradcheck_sees_a_missing_conjugate():
    z = torch.rand(3, dtype=torch.complex128).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: t * t, z) and torch.autograd.gradgradcheck(lambda t: t * t, z)
    assert not torch.autograd.gradcheck(WrongConjugate.apply, z, raise_exception=False)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        torch.autograd.gradcheck(WrongConjugate.apply, z)
