"""Gradients cut to a length or a range, in place."""

from __future__ import annotations

import warnings
from typing import Any

from ...autograd.grad_mode import no_grad
from ...tensor import Tensor


def _list(parameters: Any) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        return [parameters]
    generator = hasattr(parameters, "__next__")
    out = list(parameters)
    if generator and not out:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    return out


@no_grad()
def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all tensors as if they were one vector: the norm of their norms.

    Raises RuntimeError for a norm that is infinite or NaN, with `error_if_nonfinite`.
    """
    from ... import stack, tensor

    parts = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not parts:
        return tensor(0.0)
    norms = [_norm(t, norm_type) for t in parts]
    home = norms[0].device
    total = _norm(stack([n.to(home) for n in norms]), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def _norm(t: Tensor, p: float) -> Tensor:
    from ...ops.distance import length

    return length(t.detach().reshape(-1), p, 0) if t.numel() else t.new_zeros(())


@no_grad()
def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Multiply all gradients by max_norm / (total_norm + 1e-6), if that is less than 1, in place."""
    grads = [p.grad for p in _list(parameters) if p.grad is not None]
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(factor.to(g.device))


@no_grad()
def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients down together to a total norm of `max_norm`, in place; returns the norm before.

    Raises RuntimeError for a norm that is infinite or NaN, with `error_if_nonfinite`.

    Example::

        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    """
    parts = _list(parameters)
    total = get_total_norm([p.grad for p in parts if p.grad is not None], norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parts, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Tensor:
    """The older name of `clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Cut every element of the gradients to [-clip_value, clip_value], in place."""
    value = float(clip_value)
    for p in _list(parameters):
        if p.grad is not None:
            p.grad.clamp_(-value, value)
