"""Approximate factorisations of low rank, and a few eigenvalues of a symmetric matrix.

N. Halko, P. G. Martinsson, J. A. Tropp, "Finding structure with randomness: probabilistic algorithms for constructing approximate matrix
decompositions", SIAM Review 53 (2011), algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from ..declare import operator
from ..random import randn
from .checks import adjoint
from .factorisations import linalg_cholesky, linalg_qr
from .solves import triangular
from .spectra import eigh, linalg_svd


def _basis(a: Tensor, q: int, niter: int) -> Tensor:
    """Orthonormal columns that nearly span the range of a: random directions through it, made sharper by turns."""
    basis = linalg_qr(a @ randn(a.shape[-1], q, dtype=a._dtype, device=a.device)).Q
    for _ in range(niter):
        basis = linalg_qr(a @ linalg_qr(adjoint(a) @ basis).Q).Q
    return basis


@operator(method=False)
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of the `q` largest singular values of `A - M`, approximately, by random directions and `niter` turns."""
    a = A if M is None else A - M.broadcast_to(A.shape)
    wide = a.shape[-2] < a.shape[-1]
    a = adjoint(a) if wide else a
    basis = _basis(a, 6 if q is None else q, 2 if niter is None else niter)
    u, s, vh = linalg_svd(adjoint(basis) @ a, full_matrices=False)
    u, v = basis @ u, adjoint(vh)
    return (v, s, u) if wide else (u, s, v)


@operator(method=False)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of the `q` principal components of the rows of A (6 at most where not given), centred unless told otherwise.

    Raises ValueError for a `q` beyond the smaller size and for a negative `niter`.
    """
    m, n = A.shape[-2:]
    count = min(6, m, n) if q is None else q
    if not 0 <= count <= min(m, n):
        raise ValueError(f"q(={count}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, count, niter)


@operator(method=False)
def lobpcg(
    A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None, iK: Tensor | None = None,
    niter: int | None = None, tol: float | None = None, largest: bool | None = None, method: str | None = None, tracker: Any = None,
    ortho_iparams: Any = None, ortho_fparams: Any = None, ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The `k` largest (or smallest) eigenvalues of symmetric A, or of `A x = l B x`, with their vectors, from all of them.

    The arguments that guide PyTorch's iteration are taken and not needed. Raises ValueError for more eigenvalues than rows.
    """
    size = A.shape[-1]
    count = k if k is not None else (X.shape[-1] if X is not None else 1)
    if not 0 < count <= size:
        raise ValueError(f"lobpcg: k={count} must be positive and not greater than the number of rows, {size}")
    matrix, low = A, None
    if B is not None:
        low = linalg_cholesky(B)
        half = triangular(low, A, False)
        matrix = adjoint(triangular(low, adjoint(half), False))
    values, vectors = eigh(matrix)
    if low is not None:
        vectors = triangular(adjoint(low), vectors, True)
    if largest is None or largest:
        return values[..., size - count :].flip(-1), vectors[..., size - count :].flip(-1)
    return values[..., :count], vectors[..., :count]
