"""`torch.autograd.forward_ad`: dual tensors, which carry a tangent along.

A dual tensor is an alias of its primal on the tape; the tangent of a result is computed when it is asked for, as the derivative of
u -> J^T u, which is linear in u.  So every operator that can be differentiated twice in reverse has a forward derivative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..tensor import Tensor, gradient_edge
from . import grad
from .grad_mode import enable_grad
from .node import Node

_levels: list[list[tuple[Tensor, Tensor]]] = []


class UnpackedDualTensor(NamedTuple):
    """A primal and its tangent (None where there is none)."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open a level; raises RuntimeError for a nested one."""
    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _levels.append([])
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level; raises RuntimeError where none is open."""
    if not _levels:
        raise RuntimeError("Trying to exit a forward AD level but no level is currently active.")
    _levels.pop()


class dual_level:
    """The level inside `with`, in which duals are made and taken apart."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """`tensor` with a tangent of the same shape. Raises RuntimeError outside of a level, ValueError for other dtypes."""
    if not _levels:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for what, t in (("primal", tensor), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {t.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            f"Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. Tensor is "
            f"of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )
    with enable_grad():
        out = tensor.alias() if tensor.requires_grad else tensor.detach_shallow().requires_grad_()
    _levels[-1].append((out, tangent))
    return out


def _reaches(t: Tensor, targets: set[int]) -> bool:
    seen: set[int] = set()
    stack: list[Node] = [gradient_edge(t)[0]]
    while stack:
        node = stack.pop()
        if id(node) in targets:
            return True
        if id(node) not in seen:
            seen.add(id(node))
            stack += [e[0] for e in node.edges if e is not None]
    return False


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Primal and tangent of a tensor of the open level; the tangent is None outside of one or where nothing flows in."""
    duals = _levels[-1] if _levels else []
    if not tensor.requires_grad or not duals:
        return UnpackedDualTensor(tensor, None)
    direct = next((v for d, v in duals if d is tensor), None)
    if direct is not None:
        return UnpackedDualTensor(tensor.detach(), direct)
    inputs = [d for d, _ in duals]
    if not _reaches(tensor, {id(gradient_edge(d)[0]) for d in inputs}):
        return UnpackedDualTensor(tensor, None)
    with enable_grad():
        weights = tensor.detach().new_zeros(tensor.shape).requires_grad_()
        pulled = grad([tensor], inputs, [weights], create_graph=True, allow_unused=True)
        used: list[Any] = [(p, v) for p, (_, v) in zip(pulled, duals, strict=True) if p is not None and p.requires_grad]
        if not used:
            return UnpackedDualTensor(tensor.detach(), tensor.detach().new_zeros(tensor.shape))
        (tangent,) = grad(
            [p for p, _ in used], [weights], [v for _, v in used], create_graph=True, materialize_grads=True
        )
    return UnpackedDualTensor(
        tensor.detach(), tangent.detach() if not any(v.requires_grad for _, v in duals) else tangent
    )
