"""`torch.autograd.graph`: the tape's edges and the saved-tensor hooks, for users who work on the tape itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..tensor import Tensor, gradient_edge
from .node import Node
from .op_node import saved_tensor_hooks as _open


class GradientEdge(NamedTuple):
    """A node and which of its outputs is meant."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of `tensor` goes; raises RuntimeError for one that needs none."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*gradient_edge(tensor))


class saved_tensors_hooks:
    """Inside `with`, tensors kept for backward go through `pack`, and through `unpack` when backward wants them."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        self._pair = (pack_hook, unpack_hook)

    def __enter__(self) -> None:
        _open.append(self._pair)

    def __exit__(self, *error: object) -> None:
        _open.pop()


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in the CPU's memory until backward."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        super().__init__(lambda t: (t.device, t.cpu()), lambda p: p[1].to(p[0]))


__all__ = ["GradientEdge", "Node", "get_gradient_edge", "save_on_cpu", "saved_tensors_hooks"]
