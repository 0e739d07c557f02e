"""The forms of pointwise functions: in place, into `out`, with numbers, promoted; and what they leave on the tape."""

from __future__ import annotations

import numpy as np
import pytest

from tapescope import engine as torch
from tapescope.engine.ops.table import FUNCTIONS, OPS

FLOATING = [
    f
    for f in FUNCTIONS.values()
    if f.op is not None and f.op.kind == "pointwise" and "f" in f.op.accepts and "torch" in f.spaces
]


def operands(op, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(2, 3, generator=generator) * 0.7 + 0.15 for _ in op.tensors]


def close(a, b):
    return torch.allclose(a, b.to(a.dtype), equal_nan=True)


@pytest.mark.parametrize("function", FLOATING, ids=lambda f: f.name)
def test_in_place_and_out(function):
    given = operands(function.op)
    want = function.call(*given)
    out = torch.empty(0, dtype=want.dtype)
    assert function.call(*given, out=out) is out and close(out, want)
    wider = torch.zeros(2, 6)[:, ::2]
    if want.dtype is torch.float32:
        assert function.call(*given, out=wider) is wider and close(wider, want)
    if function.inplace is not None:
        for target in (given[0].clone(), torch.zeros(3, 2).t()):
            target.copy_(given[0])
            version = target._version
            assert getattr(target, function.name + "_")(*given[1:]) is target
            assert close(target, want) and target._version == version + 1


DIFFERENTIABLE = [f for f in FLOATING if f.inplace is not None and any(0 in r.inputs for r in f.op.rules)]


@pytest.mark.parametrize("function", DIFFERENTIABLE, ids=lambda f: f.name)
def test_in_place_gradients(function):
    """An in-place call has the gradient of the ordinary one."""
    from ..gradient_samples import DOMAINS

    low, high = DOMAINS.get(function.op.name, (0.15, 0.85))
    given = [torch.rand(2, 3, dtype=torch.float64) * (high - low) + low for _ in function.op.tensors]
    leaf = given[0].clone().requires_grad_()
    other = given[0].clone().requires_grad_()
    function.call(leaf * 1, *given[1:]).sum().backward()
    target = other * 1
    getattr(target, function.name + "_")(*given[1:])
    target.sum().backward()
    assert torch.allclose(leaf.grad, other.grad, equal_nan=True)


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "maximum", "fmod", "atan2", "hypot", "logaddexp", "copysign", "lerp"]
)
def test_broadcasting_and_transposed_operands(name):
    op = OPS[name]
    a, b = torch.rand(3, 1, 4), torch.rand(4, 2).t()
    rest = [0.3] if len(op.tensors) == 3 else []
    function = getattr(torch, name)
    assert close(function(a, b, *rest), function(a.expand(3, 2, 4).contiguous(), b.expand(3, 2, 4).contiguous(), *rest))


def test_against_numpy():
    x = torch.tensor([-2.5, -0.5, 0.0, 0.25, 3.0])
    y = torch.tensor([1.5, -2.0, 0.5, 0.25, -1.0])
    for ours, theirs in {
        "sin": np.sin, "arctan": np.arctan, "exp": np.exp, "expm1": np.expm1, "trunc": np.trunc, "sign": np.sign, "square": np.square,
        "sinc": np.sinc, "deg2rad": np.deg2rad, "signbit": np.signbit, "isfinite": np.isfinite, "abs": np.abs, "cosh": np.cosh,
    }.items():  # fmt: skip
        assert np.allclose(getattr(x, ours)().numpy(), theirs(x.numpy())), ours
    for ours, theirs in {
        "add": np.add, "remainder": np.remainder, "fmod": np.fmod, "floor_divide": np.floor_divide, "atan2": np.arctan2,
        "hypot": np.hypot, "copysign": np.copysign, "maximum": np.maximum, "nextafter": np.nextafter, "less": np.less,
        "logaddexp": np.logaddexp, "heaviside": np.heaviside, "fmin": np.fmin,
    }.items():  # fmt: skip
        assert np.allclose(getattr(torch, ours)(x, y).numpy(), theirs(x.numpy(), y.numpy())), ours
    i, j = torch.tensor([12, -18, 7]), torch.tensor([8, 12, 3])
    for ours, theirs in {
        "gcd": np.gcd,
        "lcm": np.lcm,
        "bitwise_xor": np.bitwise_xor,
        "bitwise_left_shift": np.left_shift,
    }.items():
        assert getattr(torch, ours)(i, j).tolist() == theirs(i.numpy(), j.numpy()).tolist()


def test_views_of_complex_numbers_share_memory():
    z = torch.tensor([1 + 2j, 3 - 1j])
    z.real[0] = 7
    z.imag.mul_(2)
    assert z.tolist() == [7 + 4j, 3 - 2j]
    pairs = torch.view_as_real(z)
    pairs[1] = torch.tensor([0.5, 0.25])
    assert z[1].item() == 0.5 + 0.25j and z._version == pairs._version > 0
    assert torch.view_as_complex(pairs).data_ptr() == z.data_ptr() and pairs.transpose(0, 1)[0].tolist() == [7, 0.5]
    z.real = torch.tensor([0.0, 1.0])
    assert z.tolist() == [4j, 1 + 0.25j]
    assert torch.tensor([1.0]).real.tolist() == [1.0]


def test_writing_through_parts_of_complex_numbers_has_a_history():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)

    def written(t):
        z = torch.complex(t, t * 2)
        z.real.mul_(t)
        return torch.view_as_real(z * z)

    assert torch.autograd.gradcheck(written, [x])
    y = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)

    def other(t):
        pairs = t * 1
        torch.view_as_complex(pairs.reshape(2, 2)).mul_(2 + 1j)
        return pairs * t

    assert torch.autograd.gradcheck(other, [y])


def test_gradients_of_complex_functions():
    z = torch.tensor([0.3 + 0.5j, -0.7 + 0.2j], dtype=torch.complex128)

    def real_form(function):
        def run(x):
            return torch.view_as_real(function(torch.view_as_complex(x)) * (1 + 0.5j))

        return run

    parts = torch.view_as_real(z).clone().requires_grad_()
    names = (
        "abs sgn angle exp log sqrt sin cos tan tanh sinh cosh asin acos atan asinh acosh atanh reciprocal rsqrt square log2 "
        "log1p expm1 exp2 sinc cumprod cumsum logcumsumexp prod sum mean var std logsumexp"
    )
    for name in names.split():
        rest = (0,) if name in ("cumprod", "cumsum", "logcumsumexp", "logsumexp") else ()
        assert torch.autograd.gradcheck(real_form(lambda w, n=name, r=rest: getattr(w, n)(*r)), [parts]), name
    assert torch.autograd.gradcheck(real_form(lambda w: w**w), [parts])
    assert torch.autograd.gradcheck(real_form(lambda w: torch.logaddexp(w, w * 2)), [parts])


def test_integers_are_computed_in_double_precision():
    x = torch.arange(1, 400)
    assert torch.equal(x.log(), x.double().log().float()) and x.log().dtype is torch.float32
    assert torch.equal(x.sin(), x.float().double().sin().float())


def test_clamp_with_one_tensor_bound():
    x = torch.tensor([1, 5, 9])
    assert x.clamp(min=torch.tensor([2, 2, 2])).tolist() == [2, 5, 9]
    assert x.clamp(max=torch.tensor(4)).tolist() == [1, 4, 4] and x.clamp_(2, 6).tolist() == [2, 5, 6]
    assert torch.tensor([1, 255], dtype=torch.uint8).clamp(-3, 300).tolist() == [1, 255]
    leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    leaf.clamp(1.0, 2.0).sum().backward()
    assert leaf.grad.tolist() == [1, 1, 0]
