"""What level-1 graphs call that is no operator: the backward pass, gradients of leaves, and the gradient mode.

Replaying a graph calls these on real tensors; tracing calls them on fakes. They mean what the user's line meant.
"""

from __future__ import annotations

from typing import Any

from ...autograd import backward as _backward
from ...state import state


def backward(tensors: Any, *args: Any, **kwargs: Any) -> None:
    """`tensors.backward(...)` or `torch.autograd.backward(tensors, ...)`."""
    if isinstance(tensors, (list, tuple)):
        _backward(tensors, *args, **kwargs)
    else:
        tensors.backward(*args, **kwargs)


def get_grad(tensor: Any) -> Any:
    """`tensor.grad`."""
    return tensor.grad


def set_grad(tensor: Any, value: Any) -> None:
    """`tensor.grad = value`; the value may be None."""
    tensor.grad = value


def set_grad_enabled(enabled: bool) -> None:
    """Recording on or off from here on."""
    state.grad_enabled = bool(enabled)


def requires_grad_(tensor: Any, requires_grad: bool = True) -> Any:
    """`tensor.requires_grad_(requires_grad)`."""
    return tensor.requires_grad_(requires_grad)
