"""The orthogonal parametrization: a matrix with orthonormal columns (or rows, where it is wide), made from any
matrix."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...dtypes import finfo
from ...ops import functions as ops
from ...ops import random
from ...tensor import Tensor
from ..module import Module
from . import parametrize

MAPS = ("matrix_exp", "cayley", "householder")


def _orthogonalised(a: Tensor) -> Tensor:
    """Q of the QR decomposition with a positive diagonal in R."""
    reflectors, tau = ops.geqrf(a)
    return _product(reflectors, tau) * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _product(reflectors: Tensor, tau: Tensor) -> Tensor:
    return ops.orgqr(reflectors, tau)


def _is_orthogonal(q: Tensor) -> bool:
    identity = ops.eye(q.shape[-1], dtype=q.dtype, device=q.device)
    return bool(ops.allclose(q.mH @ q, identity, atol=10.0 * q.shape[-2] * finfo(q.dtype).eps))


def _skew(x: Tensor) -> Tensor:
    """The skew-symmetric square matrix whose first columns have the lower triangle of the tall `x`."""
    n, k = x.shape[-2:]
    x = x.tril()
    if n != k:
        x = ops.cat([x, x.new_zeros((*x.shape[:-2], n, n - k))], dim=-1)
    return x - x.mH


class _Orthogonal(Module):
    """Maps a matrix to an orthogonal one; with a `base`, to its product with one, so that any can be assigned."""

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        if wide:
            x = x.mT
        k = x.shape[-1]
        if self.orthogonal_map == "householder":
            a = x.tril(diagonal=-1)
            q = _product(a, 2.0 / (1.0 + (a * a).sum(dim=-2)))
            q = q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)  # signs, which have no gradient
        else:
            a = _skew(x)
            if self.orthogonal_map == "matrix_exp":
                q = ops.matrix_exp(a)
            else:
                identity = ops.eye(a.shape[-1], dtype=a.dtype, device=a.device)
                q = ops.linalg_solve(ops.add(identity, a, alpha=-0.5), ops.add(identity, a, alpha=0.5))
            q = q[..., :k]
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    @no_grad()
    def right_inverse(self, q: Tensor) -> Tensor:
        """A matrix that is mapped to `q`, or to the Q of its QR decomposition. With a base, the base becomes that."""
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}."
            )
        given, wide = q, q.shape[-2] < q.shape[-1]
        if wide:
            q = q.mT
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            reflectors, tau = ops.geqrf(q)
            signs = reflectors.diagonal(dim1=-2, dim2=-1)
            signs.sign_()
            signs[tau == 0.0] *= -1
            return reflectors.mT if wide else reflectors
        n, k = q.shape[-2:]
        if n != k:
            more = random.randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
            self.base = _orthogonalised(ops.cat([q, more], dim=-1))
        else:
            self.base = q.clone() if _is_orthogonal(q) else _orthogonalised(q)
        out = ops.zeros_like(given)  # every map takes minus the identity to the identity
        out.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return out


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: Any = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a weight orthogonal (its columns, or rows if there are fewer); returns the module.

    `orthogonal_map` is "matrix_exp", "cayley" or "householder"; by default the first for square matrices, else the
    last.
    Raises ValueError for other tensors and maps.

    Example::

        layer = parametrizations.orthogonal(nn.Linear(20, 40))
        layer.weight.T @ layer.weight  # the identity
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    map_ = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, map_, unsafe=True)
