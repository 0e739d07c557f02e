"""Copies between devices as a tape node: forward to the other device, the gradient back."""

from __future__ import annotations

from typing import Any

from ..backends.base import backend as backend_of
from ..device import device as Device
from ..state import state
from ..tensor import Tensor, gradient_edge, wrap
from .node import Node


class ToCopyBackward0(Node):
    """The node of a copy between devices."""

    __slots__ = ("origin",)

    def apply(self, grads: list[Any]) -> list[Any]:
        return [None if grads[0] is None else to_device(grads[0], self.origin)]


def to_device(t: Tensor, where: Device) -> Tensor:
    """`t` copied to device `where`; recorded where `t` needs a gradient."""
    home = backend_of(where.type)
    out = wrap(home.receive(t._data, t._storage.backend, t._dtype), t._dtype, home)
    if t.requires_grad and state.grad_enabled:
        node = ToCopyBackward0(None, (gradient_edge(t),))
        node.origin = t.device
        node.outputs = ((out._data.shape, out._dtype, home.name),)
        out._requires_grad, out._grad_fn = True, node
    return out
