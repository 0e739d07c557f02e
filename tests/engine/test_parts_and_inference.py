"""Parts of one call share a node of the tape, and tensors made in inference mode keep out of it, as in PyTorch."""

from __future__ import annotations

import pytest

from tapescope import engine as torch
from tapescope.engine.observe import bus

CALLS = {
    "unbind": (lambda y: y.unbind(0), "UnbindBackward0"),
    "a loop": (lambda y: tuple(y), "UnbindBackward0"),
    "split": (lambda y: y.split(2), "SplitBackward0"),
    "split to sizes": (lambda y: y.split([1, 3]), "SplitWithSizesBackward0"),
    "split_with_sizes": (lambda y: y.split_with_sizes([3, 1]), "SplitWithSizesBackward0"),
    "chunk": (lambda y: y.chunk(3, 1), "SplitBackward0"),
    "unsafe_split": (lambda y: y.unsafe_split(3), "UnsafeSplitBackward0"),
    "unsafe_chunk": (lambda y: y.unsafe_chunk(2), "UnsafeSplitBackward0"),
    "unsafe_split_with_sizes": (lambda y: y.unsafe_split_with_sizes([2, 2]), "UnsafeSplitWithSizesBackward0"),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_parts_share_a_node(name):
    call, label = CALLS[name]
    x = torch.randn(4, 3, requires_grad=True, dtype=torch.float64)
    parts = call(x * 1)
    assert [p.output_nr for p in parts] == list(range(len(parts)))
    assert {type(p.grad_fn).__name__ for p in parts} == {label}
    assert len({id(p.grad_fn) for p in parts}) == 1
    assert torch.autograd.gradcheck(lambda t: tuple(p**2 for p in call(t)), (x,))
    assert torch.autograd.gradgradcheck(lambda t: tuple(p**3 for p in call(t)), (x,))


@pytest.mark.parametrize("name", CALLS)
def test_a_part_alone_has_a_gradient_of_zeros_around_it(name):
    x = torch.ones(4, 3, requires_grad=True)
    parts = CALLS[name][0](x)
    (parts[1] * 5).sum().backward()
    assert x.grad is not None and x.grad.shape == x.shape
    assert x.grad.sum().item() == 5 * parts[1].numel()


def test_the_tape_has_one_step_for_them():
    seen = []
    stop = bus.subscribe(seen.append, ["op"])
    torch.ones(3, 2, requires_grad=True).unbind(0)
    stop()
    (record,) = [r for r in seen if r.op == "unbind"]
    assert len(record.outputs) == 3 and record.node is not None


def test_writes_to_parts():
    y = torch.ones(4, 3, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Output 1 of Split is a view and is being modified inplace"):
        y.split(2)[1].add_(1)
    first = y.unsafe_split(2)[0]
    first.add_(1)
    assert type(first.grad_fn).__name__ == "AddBackward0" and not first._is_view()
    assert type(y.grad_fn).__name__ == "MulBackward0"
    row = y.unbind(0)[0]
    y.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        row.sum()


def test_parts_under_transforms_and_compiled():
    def f(t):
        a, b = t.chunk(2)
        return (a * b.exp()).sum()

    x = torch.randn(4, dtype=torch.float64)
    expected = torch.func.grad(f)(x)
    leaf = x.clone().requires_grad_()
    torch.compile(f)(leaf).backward()
    assert torch.allclose(leaf.grad, expected)
    rows = torch.func.vmap(torch.func.grad(f))(torch.stack([x, x + 1]))
    assert torch.allclose(rows[0], expected)


SAVED = "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode"


def made_in_inference(*shape):
    with torch.inference_mode():
        return torch.ones(*shape)


def test_inference_tensors_are_known():
    i = made_in_inference(3)
    assert i.is_inference() and i[0].is_inference() and not i.clone().is_inference() and not (i * 2).is_inference()
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        i._version
    plain = torch.ones(3)
    with torch.inference_mode():
        assert not plain.view(3).is_inference()
        plain.add_(1)
        i.add_(1)
    assert i.tolist() == [2.0, 2.0, 2.0] and plain._version == 1 and i.is_inference()


@pytest.mark.parametrize(
    "use",
    [
        lambda i, w: w * i,
        lambda i, w: torch.nn.functional.linear(i, w),
        lambda i, w: torch.where(i > 0, w, w * i),
    ],
)
def test_an_inference_tensor_is_not_saved(use):
    i, w = made_in_inference(3, 3), torch.ones(3, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match=SAVED):
        use(i, w)
    use(i.clone(), w).sum().backward()
    with torch.no_grad():
        use(i, w)


def test_what_is_not_saved_may_be_one():
    i, w = made_in_inference(3), torch.ones(3, requires_grad=True)
    (w + i).sum().backward()
    assert w.grad.tolist() == [1.0, 1.0, 1.0]


def test_inference_tensors_outside():
    i = made_in_inference(3)
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside InferenceMode"):
        i.requires_grad_()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"):
        i.add_(1)
    with torch.inference_mode():
        model = torch.nn.Linear(3, 3)
    with pytest.raises(RuntimeError, match=SAVED):
        model(torch.ones(2, 3, requires_grad=True))
    with torch.inference_mode():
        assert model(torch.ones(2, 3)).shape == (2, 3)


def test_a_training_step_after_an_evaluation_in_inference_mode():
    model = torch.nn.Sequential(
        torch.nn.Conv1d(1, 2, 3), torch.nn.BatchNorm1d(2), torch.nn.Flatten(), torch.nn.Linear(12, 2)
    )
    x = torch.randn(4, 1, 8)
    optimizer = torch.optim.Adam(model.parameters())
    compiled = torch.compile(model)
    for run in (model, compiled):
        with torch.inference_mode():
            run(x)
        run(x).sum().backward()
        optimizer.step()
