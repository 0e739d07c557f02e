"""Function transforms: each against running example by example, or against the tape."""

from __future__ import annotations

import pytest

from tapescope import engine as torch
from tapescope.engine import func
from tapescope.engine.autograd import functional
from tapescope.engine.ops.table import OPS

from .gradient_samples import DOMAINS, SAMPLES, statics_of
from .test_gradients import tensor

P = torch.tensor([0.5, -0.3])
X = torch.arange(6.0).reshape(3, 2)


def close(a, b):
    return torch.allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "name", sorted(n for n, op in OPS.items() if n in SAMPLES or (op.kind == "pointwise" and op.rules))
)
def test_batch_rule(name):
    """Every primitive under vmap gives what it gives for each example, also where only one input is mapped."""
    if name in SAMPLES:
        function, inputs = SAMPLES[name](tensor)
    else:
        low, high = DOMAINS.get(name, (0.15, 0.85))
        inputs = [tensor(2, 3, low=low, high=high, seed=i) for i in range(len(OPS[name].tensors))]

        def function(*args):
            return torch.dispatch.pointwise(OPS[name], args, statics_of(name))

    inputs = [t.detach() for t in inputs]
    batches = [torch.stack([t, t * 0.7, t * 0.9]) for t in inputs]
    patterns = [tuple(0 for _ in inputs)]
    if len(inputs) > 1:
        patterns += [tuple(0 if i == j else None for i in range(len(inputs))) for j in range(len(inputs))]
    for dims in patterns:
        got = func.vmap(function, in_dims=dims)(*[b if d == 0 else t for b, t, d in zip(batches, inputs, dims)])
        rows = [function(*[b[i] if d == 0 else t for b, t, d in zip(batches, inputs, dims)]) for i in range(3)]
        got = got if isinstance(got, tuple) else (got,)
        rows = [r if isinstance(r, tuple) else (r,) for r in rows]
        for i, g in enumerate(got):
            assert close(g, torch.stack([r[i] for r in rows])), (name, dims)


def test_per_example_gradients():
    def loss(p, a):
        return ((p * a).sin().sum()) ** 2

    got = func.vmap(func.grad(loss), in_dims=(None, 0))(P, X)
    assert close(got, torch.stack([func.grad(loss)(P, row) for row in X])) and not got.requires_grad
    assert close(func.vmap(func.grad(loss), in_dims=(None, 0), chunk_size=2)(P, X), got)


def test_gradients_of_a_module_per_example():
    model = torch.nn.Linear(2, 1)
    params = {k: v.detach() for k, v in model.named_parameters()}

    def loss(params, a, b):
        return ((func.functional_call(model, params, (a,)) - b) ** 2).mean()

    got = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(params, X, torch.ones(3, 1))
    assert got["weight"].shape == (3, 1, 2)
    for i in range(3):
        model.zero_grad()
        ((model(X[i]) - 1) ** 2).mean().backward()
        assert close(got["weight"][i], model.weight.grad) and close(got["bias"][i], model.bias.grad)


def test_derivatives_nest():
    assert func.grad(func.grad(lambda z: z**4))(torch.tensor(2.0)).item() == 48
    assert close(
        func.hessian(lambda z: (z**3).sum())(P), torch.diag(6 * P) if hasattr(torch, "diag") else torch.eye(2) * 6 * P
    )
    for jacobian in (func.jacrev, func.jacfwd):
        made = jacobian(lambda a, b: (a * b, a.sum()), (0, 1))(P, P + 1)
        assert close(made[0][0], torch.eye(2) * (P + 1)) and close(made[0][1], torch.eye(2) * P)
        assert close(made[1][0], torch.ones(2)) and close(made[1][1], torch.zeros(2)) and not made[0][0].requires_grad


def test_products_with_the_jacobian():
    _, pull = func.vjp(lambda a, b: (a * b).sum(), P, P + 1)
    got = pull(torch.tensor(2.0))
    assert close(got[0], 2 * (P + 1)) and close(got[1], 2 * P)
    value, tangent = func.jvp(torch.sin, (P,), (torch.ones(2),))
    assert close(value, P.sin()) and close(tangent, P.cos())
    value, push = func.linearize(torch.sin, P)
    assert close(push(torch.ones(2)), P.cos()) and close(value, P.sin())
    gradient, value = func.grad_and_value(lambda z: (z * z).sum())(P)
    assert close(gradient, 2 * P) and close(value, (P * P).sum())


def test_what_a_function_closes_over_keeps_its_tape():
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    got = func.grad(lambda z: (w * z * z).sum())(P)
    got.sum().backward()
    assert close(w.grad, 2 * P)
    w.grad = None
    func.vmap(lambda z: w * z)(X).sum().backward()
    assert close(w.grad, X.sum(0))


def test_ensembles():
    models = [torch.nn.Linear(2, 1) for _ in range(4)]
    params, buffers = func.stack_module_state(models)
    base = models[0]
    got = func.vmap(lambda p, x: func.functional_call(base, p, (x,)), in_dims=(0, None))(params, X)
    assert got.shape == (4, 3, 1) and not buffers
    assert close(got, torch.stack([m(X) for m in models]))


@pytest.mark.parametrize(
    ("run", "error", "words"),
    [
        (lambda: func.vmap(lambda a: a.sum().item())(X), RuntimeError, "calling .item"),
        (lambda: func.vmap(lambda a: a)(3), ValueError, "the input is of type"),
        (lambda: func.vmap(lambda a, b: a)(X, torch.ones(4)), ValueError, "the same size in the mapped dimension"),
        (lambda: func.vmap(lambda a: a, in_dims=5)(X), ValueError, "in_dim"),
        (lambda: func.vmap(lambda a: "x")(X), ValueError, "must only return Tensors"),
        (lambda: func.grad(lambda a: a)(P), RuntimeError, "return a scalar Tensor"),
        (lambda: func.vmap(lambda a: torch.zeros(2).add_(a))(X), RuntimeError, "inplace arithmetic"),
    ],
)
def test_what_cannot_be_transformed(run, error, words):
    with pytest.raises(error, match=words):
        run()


def test_in_place_inside_a_batch():
    def double(a):
        b = a.clone()
        b[0] = 9.0
        b.mul_(2)
        return b

    assert func.vmap(double)(X).tolist() == [[18, 2], [18, 6], [18, 10]]
    assert X[0, 0] == 0


def test_the_older_interface():
    assert close(functional.hessian(lambda a: (a**3).sum(), P), torch.eye(2) * 6 * P)
    _, product = functional.hvp(lambda a: (a**3).sum(), P, torch.ones(2))
    assert close(product, 6 * P)
    assert close(functional.vhp(lambda a: (a**3).sum(), P, torch.ones(2))[1], 6 * P)
    assert close(functional.jvp(lambda a: a**2, P, torch.ones(2))[1], 2 * P)
    assert close(functional.vjp(lambda a: a**2, P, torch.ones(2))[1], 2 * P)
    blocks = functional.hessian(lambda a, b: (a * b * a).sum(), (P, P))
    assert close(blocks[0][1], torch.eye(2) * 2 * P) and close(blocks[1][1], torch.zeros(2, 2))
    kept = functional.jacobian(lambda a: a**3, P.clone().requires_grad_(), create_graph=True)
    assert kept.requires_grad


def test_dual_numbers():
    from tapescope.engine.autograd import forward_ad as fwad

    with fwad.dual_level():
        x = fwad.make_dual(P, torch.tensor([1.0, 2.0]))
        primal, tangent = fwad.unpack_dual(x.sin() * x)
        assert close(primal, P.sin() * P) and close(tangent, (P.cos() * P + P.sin()) * torch.tensor([1.0, 2.0]))
        assert fwad.unpack_dual(P * 2).tangent is None and fwad.unpack_dual(x).tangent.tolist() == [1, 2]
        with pytest.raises(RuntimeError, match="different size"):
            fwad.make_dual(P, torch.ones(3))
    with pytest.raises(RuntimeError, match="no level exists"):
        fwad.make_dual(P, P)
