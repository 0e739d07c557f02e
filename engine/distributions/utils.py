"""What distributions share: broadcasting of parameters, probabilities and logits, lazy properties, triangles as vectors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from numbers import Number
from typing import Any

from ..autograd.grad_mode import enable_grad
from ..dtypes import finfo, get_default_dtype
from ..ops import functions as F
from ..ops.random import randn
from ..ops.table import FUNCTIONS
from ..tensor import Tensor

euler_constant = 0.57721566490153286060  # Euler Mascheroni Constant

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]  # fmt: skip


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape.

    Numbers take dtype and device of the first tensor, or the default dtype where there is none. Raises ValueError for
    anything else.
    """
    if not all(isinstance(v, Tensor | Number) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    first = next((v for v in values if isinstance(v, Tensor)), None)
    kind, device = (get_default_dtype(), None) if first is None else (first.dtype, first.device)
    made = [v if isinstance(v, Tensor) else F.tensor(v, dtype=kind, device=device) for v in values]
    shape = F.broadcast_shapes(*[m.shape for m in made])
    return tuple([m if m.shape == shape else m.expand(shape) for m in made])


def computed(function: Callable[[Any], Any]) -> Any:
    """A property in whose place a subclass may put a plain value."""
    return property(function)


def linalg(name: str) -> Any:
    """The function NAME of `torch.linalg`."""
    return FUNCTIONS[f"linalg.{name}"].call


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    return randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """`value` summed over its last `dim` dimensions."""
    return value if dim == 0 else value.reshape(*value.shape[: value.dim() - dim], -1).sum(-1)


sum_rightmost = _sum_rightmost


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of log odds (`is_binary`), or of unnormalised log probabilities along the last dimension."""
    return F.sigmoid(logits) if is_binary else F.softmax(logits, -1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1 by the precision of their dtype."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log odds (`is_binary`), or log probabilities."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property:
    """A property that is computed when it is first asked for, with gradients on, and kept then."""

    def __init__(self, wrapped: Callable[[Any], Any]):
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # pyright: ignore[reportArgumentType]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """A lazy property as the class shows it: documentation tools see a property."""

    def __init__(self, wrapped: Callable[[Any], Any]):
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangles of `mat` ([..., D, D]) up to the diagonal `diag`, row by row, as vectors.

    Raises ValueError for a diagonal outside of the matrix.
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    i = F.arange(n, device=mat.device)
    return mat[..., i < i.view(-1, 1) + (diag + 1)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Lower triangular matrices [..., D, D] with the elements of `vec` ([..., D (D + 1) / 2] for the main diagonal).

    Raises ValueError where the number of elements fits no triangle.
    """
    length = vec.shape[-1]
    size = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    n = round(size)
    if abs(size - n) > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower triangular part of a square "
            "D x D matrix."
        )
    mat = vec.new_zeros(*vec.shape[:-1], n, n)
    i = F.arange(n, device=vec.device)
    mat[..., i < i.view(-1, 1) + (diag + 1)] = vec
    return mat
