"""`torch.autograd.functional`: Jacobians, Hessians and their products, on tuples of tensors.

The older interface to what `torch.func` does: inputs are tensors or tuples of them, and `create_graph` decides whether results
stay on the tape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops import functions as F
from ..tensor import Tensor
from . import grad
from .grad_mode import enable_grad


def _tuple(value: Any, what: str, who: str) -> tuple[bool, tuple[Tensor, ...]]:
    single = not isinstance(value, tuple)
    parts = (value,) if single else value
    for i, t in enumerate(parts):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"The {what} given to {who} must be either a Tensor or a tuple of Tensors but the value at index {i} has type {type(t)}."
            )
    return single, tuple(parts)


def _inputs(parts: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    return tuple(t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_() for t in parts)


def _grads(
    outs: Any, ins: tuple[Tensor, ...], starts: Any, create_graph: bool, strict: bool, who: str
) -> tuple[Tensor, ...]:
    used = [(o, s) for o, s in zip(outs, starts, strict=True) if o.requires_grad]
    if strict and len(used) != len(outs):
        at = next(i for i, o in enumerate(outs) if not o.requires_grad)
        raise RuntimeError(
            f"Output {at} of the user-provided function does not require gradient. The outputs must be computed in a differentiable manner "
            "from the input when running in strict mode."
        )
    got = (
        grad(
            [o for o, _ in used],
            ins,
            [s for _, s in used],
            create_graph=create_graph,
            retain_graph=True,
            allow_unused=True,
        )
        if used
        else (None,) * len(ins)
    )
    for i, g in enumerate(got):
        if g is None and strict:
            raise RuntimeError(
                f"The output of the user-provided function is independent of input {i}. This is not allowed in strict mode."
            )
    return tuple(F.zeros_like(x.detach()) if g is None else g for g, x in zip(got, ins, strict=True))


def _done(parts: Any, create_graph: bool, single: bool) -> Any:
    out = tuple(t if create_graph else t.detach() for t in parts)
    return out[0] if single else out


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`func(*inputs)` and the product of `v` with its Jacobian."""
    with enable_grad():
        single, parts = _tuple(inputs, "inputs", "vjp")
        ins = _inputs(parts, create_graph)
        single_out, outs = _tuple(func(*ins), "outputs of the user-provided function", "vjp")
        starts = _weights(v, outs, "vjp")
        got = _grads(outs, ins, starts, create_graph, strict, "vjp")
    return _done(outs, create_graph, single_out), _done(got, create_graph, single)


def _weights(v: Any, like: tuple[Tensor, ...], who: str) -> tuple[Tensor, ...]:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
            )
        return (F.ones_like(like[0].detach()),)
    _, given = _tuple(v, "v", who)
    if len(given) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}.")
    for i, (a, b) in enumerate(zip(given, like, strict=True)):
        if a.shape != b.shape:
            raise RuntimeError(f"Entry {i} in v has invalid size: should be {b.shape} but got {a.shape}.")
    return given


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`func(*inputs)` and the product of its Jacobian with `v`."""
    with enable_grad():
        _, parts = _tuple(inputs, "inputs", "jvp")
        ins = _inputs(parts, create_graph)
        tangents = (
            _weights(v, ins, "jvp") if v is not None or (len(ins) == 1 and ins[0].numel() == 1) else _no_tangent()
        )
        single_out, outs = _tuple(func(*ins), "outputs of the user-provided function", "jvp")
        weights = tuple(F.zeros_like(o.detach()).requires_grad_() for o in outs)
        pulled = _grads(outs, ins, weights, True, strict, "jvp")
        pushed = _grads(pulled, weights, tangents, create_graph, False, "jvp")
    return _done(outs, create_graph, single_out), _done(pushed, create_graph, single_out)


def _no_tangent() -> Any:
    raise RuntimeError(
        "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
    )


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian: for each output and input, a tensor of output shape then input shape (nested tuples for several)."""
    with enable_grad():
        single, parts = _tuple(inputs, "inputs", "jacobian")
        ins = _inputs(parts, create_graph)
        single_out, outs = _tuple(func(*ins), "outputs of the user-provided function", "jacobian")
        rows = []
        for out in outs:
            columns: list[list[Tensor]] = [[] for _ in ins]
            flat = out.reshape(-1)
            for j in range(out.numel()):
                starts = [F.ones_like(flat[j].detach())]
                got = _grads([flat[j]], ins, starts, create_graph, strict, "jacobian")
                for k, g in enumerate(got):
                    columns[k].append(g)
            made = [
                F.stack(c).reshape(*out.shape, *x.shape) if c else out.detach().new_zeros((*out.shape, *x.shape))
                for c, x in zip(columns, ins, strict=True)
            ]
            rows.append(_done(made, create_graph, single))
    return rows[0] if single_out else tuple(rows)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The matrix of second derivatives of a scalar function (nested tuples for several inputs)."""
    single, _ = _tuple(inputs, "inputs", "hessian")

    def first(*given: Tensor) -> Any:
        out = func(*given)
        if not isinstance(out, Tensor) or out.numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        return _first(out.reshape(()), given)

    made = jacobian(first, inputs, create_graph=create_graph, strict=strict)
    if single:
        return made[0] if isinstance(made, tuple) else made
    return made


def _first(out: Tensor, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return _grads([out], given, [F.ones_like(out.detach())], True, False, "hessian")


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`func(*inputs)` and the product of `v` with the Hessian."""
    return _second(func, inputs, v, create_graph, strict, "vhp")


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """`func(*inputs)` and the product of the Hessian with `v`."""
    return _second(func, inputs, v, create_graph, strict, "hvp")


def _second(func: Any, inputs: Any, v: Any, create_graph: bool, strict: bool, who: str) -> tuple[Any, Any]:
    with enable_grad():
        single, parts = _tuple(inputs, "inputs", who)
        ins = _inputs(parts, create_graph)
        out = func(*ins)
        if not isinstance(out, Tensor) or out.numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {who} should contain a single element")
        weights = _weights(v, ins, who) if v is not None else (F.ones_like(ins[0].detach()),)
        first = _grads([out], ins, [F.ones_like(out.detach())], True, strict, who)
        got = _grads(first, ins, weights, create_graph, strict, who)
    return (out if create_graph else out.detach()), _done(got, create_graph, single)
