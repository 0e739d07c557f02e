"""Singular values and eigenvalues, with their vectors.

Gradients: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation" (2008); for complex
matrices with the freedom of phase taken out, as PyTorch does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dispatch, dtypes
from ...return_types import return_type
from ...tensor import Tensor
from ..declare import operator
from ..table import Op
from .checks import LinAlgError, adjoint, matrices, square
from .kernels import Array
from .solves import solve

LinalgSvd = return_type("linalg_svd", "U S Vh")
Svd = return_type("svd", "U S V")
Eig = return_type("linalg_eig", "eigenvalues eigenvectors")
Eigh = return_type("linalg_eigh", "eigenvalues eigenvectors")

# -- singular values ----------------------------------------------------------------------------


def _no_convergence(name: str, a: Array) -> LinAlgError:
    if not np.isfinite(a).all():
        return LinAlgError(
            f"{name}: The algorithm failed to converge because the input matrix contained non-finite values."
        )
    return LinAlgError(
        f"{name}: The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
        f"{'singular values' if name == 'linalg.svd' else 'eigenvalues'} (error code: 1)."
    )


def _svd(a: Array, full: bool) -> tuple[Array, Array, Array]:
    try:
        u, s, vh = np.linalg.svd(a, full_matrices=full)
        return u, s, vh
    except np.linalg.LinAlgError:
        raise _no_convergence("linalg.svd", a) from None


def _singular_values(a: Array) -> Array:
    try:
        return np.linalg.svd(a, compute_uv=False)
    except np.linalg.LinAlgError:
        raise _no_convergence("linalg.svd", a) from None


def _svd_shape(a: tuple[int, ...], full: bool) -> list[tuple[int, ...]]:
    *lead, m, n = a
    k = min(m, n)
    return [(*lead, m, m if full else k), (*lead, k), (*lead, n if full else k, n)]


SVD = Op(
    "linalg_svd", "A", "full_matrices", kind="linalg", multi=True, cpu=_svd, shape=_svd_shape,
    dtype=lambda a, _: (a._dtype, a._dtype.to_real(), a._dtype),
    grads={"A": lambda g, results, defined: _svd_backward(g, results, defined)},
)  # fmt: skip
SVDVALS = Op("linalg_svdvals", "A", kind="linalg", cpu=_singular_values, shape=lambda a: (*a[:-2], min(a[-2:])),
             dtype=lambda a: a._dtype.to_real())  # fmt: skip


def _skew(a: Tensor) -> Tensor:
    return a - adjoint(a)


def _svd_backward(g: Any, results: Any, defined: tuple[bool, ...]) -> Tensor:
    """`U [(skew(U^H gU) S + S skew(V^H gV)) / E + gS] V^H` with `E_ij = s_j^2 - s_i^2`, and what lies outside of U's and V's spans."""
    (gu, gs, gv), (u, s, vh) = g, results
    k = s.shape[-1]
    m, n = u.shape[-2], vh.shape[-1]
    u, vh, gu, gv = u[..., :, :k], vh[..., :k, :], gu[..., :, :k], gv[..., :k, :]
    if not defined[0] and not defined[2]:
        return (u * gs.unsqueeze(-2)) @ vh
    left, right = _skew(adjoint(u) @ gu), _skew(vh @ adjoint(gv))
    if u._dtype.is_complex:
        _gauge_free("svd", (left + right).diagonal(0, -2, -1).imag)
    row, column = s.unsqueeze(-2), s.unsqueeze(-1)
    square_ = s * s
    spread = square_.unsqueeze(-2) - square_.unsqueeze(-1) + s.new_ones(k).diag_embed()
    inner = (left * row + column * right) / spread
    inner = inner + gs.diag_embed()
    if u._dtype.is_complex:
        inner = inner - inner.diagonal(0, -2, -1).imag.diag_embed() * 1j
        inner = inner + (left.diagonal(0, -2, -1) / (2.0 * s)).diag_embed()
    if m > k and defined[0]:
        beside = gu / row
        out = u @ inner + beside - u @ (adjoint(u) @ beside)
        return out @ vh
    out = inner @ vh
    if n > k and defined[2]:
        beside = gv / column
        out = out + beside - (beside @ adjoint(vh)) @ vh
    return u @ out


def _gauge_free(name: str, imaginary: Tensor) -> None:
    """Raise RuntimeError where a loss depends on the phase of singular vectors or eigenvectors, which is arbitrary."""
    values = imaginary.detach()
    limit = 1e-2 if values._dtype is dtypes.float32 else 1e-5
    if values._is_host and values.numel() and float(values.abs().amax().item()) > limit:
        what = "The singular vectors" if name == "svd" else "The eigenvectors"
        raise RuntimeError(
            f"{name}_backward: {what} in the complex case are specified up to multiplication by e^{{i phi}}. The specified loss function "
            "depends on this quantity, so it is ill-defined."
        )


def _cpu_only(name: str, driver: Any) -> None:
    if driver is not None:
        raise RuntimeError(
            f"{name}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


@operator(spaces=("linalg",), method=False, out="same dtype", name="svd")
def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """U, S and V^H with `A = U diag(S) V^H`, S in descending order; U and V are square unless not `full_matrices`.

    Raises LinAlgError where the iteration does not converge.
    """
    matrices("linalg.svd", A)
    _cpu_only("torch.linalg.svd", driver)
    return LinalgSvd(*dispatch.call(SVD, (A,), (bool(full_matrices),)))


@operator(spaces=("linalg",), method=False, out="same dtype")
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values, in descending order."""
    matrices("linalg.svd", A)
    _cpu_only("torch.linalg.svdvals", driver)
    if A.requires_grad:
        return dispatch.call(SVD, (A,), (False,))[1]
    return dispatch.call(SVDVALS, (A,))


@operator(out="same dtype")
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """U, S and V with `input = U diag(S) V^H`; `linalg.svd`, its successor, gives V^H. Zeros for U and V unless `compute_uv`."""
    matrices("linalg.svd", input)
    if not compute_uv:
        m, n = input.shape[-2:]
        zeros = [input.new_zeros(*input.shape[:-2], size, size) for size in (m, n)]
        return Svd(zeros[0], svdvals(input), zeros[1])
    u, s, vh = dispatch.call(SVD, (input,), (not some,))
    return Svd(u, s, adjoint(vh))


# -- eigenvalues of Hermitian matrices ----------------------------------------------------------


def _eigh(a: Array, uplo: Any) -> tuple[Array, Array]:
    try:
        values, vectors = np.linalg.eigh(a, uplo)
        return values, vectors
    except np.linalg.LinAlgError:
        raise _no_convergence("linalg.eigh", a) from None


def _eigvalsh(a: Array, uplo: Any) -> Array:
    try:
        return np.linalg.eigvalsh(a, uplo)
    except np.linalg.LinAlgError:
        raise _no_convergence("linalg.eigh", a) from None


EIGH = Op(
    "linalg_eigh", "A", "uplo", kind="linalg", multi=True, cpu=_eigh, shape=lambda a, _: [a[:-1], a],
    dtype=lambda a, _: (a._dtype.to_real(), a._dtype),
    grads={"A": lambda g, results, defined: _eigh_backward(g, results, defined)},
)  # fmt: skip
EIGVALSH = Op("linalg_eigvalsh", "A", "uplo", kind="linalg", cpu=_eigvalsh, shape=lambda a, _: a[:-1],
              dtype=lambda a, _: a._dtype.to_real())  # fmt: skip


def _eigh_backward(g: Any, results: Any, defined: tuple[bool, ...]) -> Tensor:
    """`V (skew(V^H gV) / 2E + gL) V^H` with `E_ij = l_j - l_i`: Hermitian, whichever triangle was read."""
    (gl, gv), (values, v) = g, results
    if not defined[1]:
        return (v * gl.unsqueeze(-2)) @ adjoint(v)
    inner = adjoint(v) @ gv
    if v._dtype.is_complex:
        _gauge_free("linalg_eigh", inner.diagonal(0, -2, -1).imag)
    spread = values.unsqueeze(-2) - values.unsqueeze(-1) + values.new_ones(values.shape[-1]).diag_embed()
    inner = _skew(inner)
    inner = (inner - inner.diagonal(0, -2, -1).diag_embed()) / (2 * spread) + gl.diag_embed()
    return v @ inner @ adjoint(v)


def _hermitian(name: str, a: Any, uplo: str) -> str:
    square(name, a, floating=False)
    if not isinstance(uplo, str) or uplo.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    if a._dtype.is_floating_point and a._dtype.itemsize < 4:
        raise NotImplementedError(f"\"linalg_eigh_cpu\" not implemented for '{dispatch.type_name(a._dtype)}'")
    matrices(name, a)
    return uplo.upper()


@operator(spaces=("linalg",), method=False, out="same dtype")
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues, ascending, and eigenvectors (columns) of Hermitian matrices, of which one triangle is read."""
    return Eigh(*dispatch.call(EIGH, (A,), (_hermitian("linalg.eigh", A, UPLO),)))


@operator(spaces=("linalg",), method=False, out="same dtype")
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of Hermitian matrices, ascending, from one triangle."""
    which = _hermitian("linalg.eigh", A, UPLO)
    if A.requires_grad:
        return dispatch.call(EIGH, (A,), (which,))[0]
    return dispatch.call(EIGVALSH, (A,), (which,))


# -- eigenvalues of general matrices ------------------------------------------------------------


def _as_complex(a: Array) -> np.dtype:
    return np.result_type(a.dtype, np.complex64)


def _finite(a: Array) -> None:
    if not np.isfinite(a).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


def _eig(a: Array) -> tuple[Array, Array]:
    _finite(a)
    try:
        values, vectors = np.linalg.eig(a)
    except np.linalg.LinAlgError:
        raise _no_convergence("linalg.eig", a) from None
    return values.astype(_as_complex(a), copy=False), vectors.astype(_as_complex(a), copy=False)


def _eigvals(a: Array) -> Array:
    _finite(a)
    try:
        return np.linalg.eigvals(a).astype(_as_complex(a), copy=False)
    except np.linalg.LinAlgError:
        raise _no_convergence("linalg.eig", a) from None


EIG = Op(
    "linalg_eig", "A", kind="linalg", multi=True, cpu=_eig, shape=lambda a: [a[:-1], a],
    dtype=lambda a: (a._dtype.to_complex(),) * 2,
    grads={"A": lambda g, results, defined: _eig_backward(g, results, defined)},
)  # fmt: skip
EIGVALS = Op(
    "linalg_eigvals", "A", kind="linalg", cpu=_eigvals, shape=lambda a: a[:-1], dtype=lambda a: a._dtype.to_complex()
)


def _eig_backward(g: Any, results: Any, defined: tuple[bool, ...]) -> Tensor:
    """`V^-H (V^H gV' / conj(E) + gL) V^H`, gV' without what would change the length of the vectors."""
    (gl, gv), (values, v) = g, results
    vh = adjoint(v)
    if not defined[1]:
        return solve(vh, gl.unsqueeze(-1) * vh)
    inner = vh @ gv
    diagonal = inner.diagonal(0, -2, -1)
    _gauge_free("linalg_eig", diagonal.imag)
    inner = inner - vh @ (v * diagonal.real.unsqueeze(-2))
    spread = (values.unsqueeze(-2) - values.unsqueeze(-1)).conj() + values.new_ones(values.shape[-1]).diag_embed()
    inner = inner / spread
    inner = inner - inner.diagonal(0, -2, -1).diag_embed() + gl.diag_embed()
    return solve(vh, inner @ vh)


@operator(spaces=("linalg",), method=False, out="same dtype")
def eig(A: Tensor) -> Any:
    """Eigenvalues and eigenvectors (columns of length one) of square matrices, complex in any case."""
    square("linalg.eig", A)
    return Eig(*dispatch.call(EIG, (A,)))


@operator(spaces=("linalg",), method=False, out="same dtype")
def eigvals(A: Tensor) -> Tensor:
    """Eigenvalues of square matrices, complex in any case."""
    square("linalg.eigvals", A)
    return dispatch.call(EIG, (A,))[0] if A.requires_grad else dispatch.call(EIGVALS, (A,))
