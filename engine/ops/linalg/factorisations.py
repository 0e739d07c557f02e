"""Factorisations of matrices: Cholesky, LU, QR, LDL, and what is solved with them.

Gradients: A. Murray, "Differentiation of the Cholesky decomposition" (arXiv:1602.07527); S. Walter, L. Lehmann, "Algorithmic
differentiation of linear algebra functions with application in optimum experimental design" (arXiv:1001.1654) for QR and LU.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import dispatch, dtypes
from ...return_types import return_type
from ...tensor import Tensor
from ..creation import of_array
from ..declare import operator
from ..gradients import choose
from ..joining import cat
from ..table import Op
from . import kernels
from .checks import (
    LinAlgError,
    adjoint,
    batch_shape,
    expand_batch,
    failed,
    float_or_complex,
    matrices,
    same_dtype,
    square,
)
from .kernels import Array
from .solves import fitting, identity, same_sizes, solve, triangular

# -- Cholesky -----------------------------------------------------------------------------------

CholeskyEx = return_type("linalg_cholesky_ex", "L info")
CHOLESKY = Op(
    "linalg_cholesky_ex", "A", "upper", kind="linalg", multi=True, dtype=lambda a, _: (a._dtype, dtypes.int32),
    cpu=lambda a, upper: _cholesky(a, upper), shape=lambda a, _: [a, a[:-2]],
    grads={"A": lambda g, results, upper: _cholesky_backward(g[0], results[0], upper)},
)  # fmt: skip
_NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order {} is not "
    "positive-definite)."
)


def _cholesky(a: Array, upper: bool) -> tuple[Array, Array]:
    low, info = kernels.cholesky(np.swapaxes(a, -1, -2).conj() if upper else a)
    return (np.ascontiguousarray(np.swapaxes(low, -1, -2).conj()) if upper else low), info


def _cholesky_backward(g: Tensor, factor: Tensor, upper: bool) -> Tensor:
    """`L^-H sym(L^H gL) L^-1`, with the diagonal halved before it is made symmetric."""
    low, gl = (adjoint(factor), adjoint(g)) if upper else (factor, g)
    phi = (adjoint(low) @ gl).tril()
    phi = (phi + phi.tril(-1).transpose(-2, -1).conj()) * 0.5
    if phi._dtype.is_complex:  # the diagonal of L is real
        phi = phi - (phi.diagonal(0, -2, -1).imag * 1j).diag_embed()
    half = triangular(adjoint(low), phi, True)
    return triangular(low, half, False, left=False)


def _lower(name: str, a: Tensor, upper: bool) -> tuple[Tensor, Tensor]:
    square(name, a, floating=False)
    float_or_complex(name, a, low=True)
    if a._dtype.is_floating_point and a._dtype.itemsize < 4:
        raise NotImplementedError(f"\"cholesky_cpu\" not implemented for '{dispatch.type_name(a._dtype)}'")
    return dispatch.call(CHOLESKY, (a,), (bool(upper),))


@operator(spaces=("linalg",), method=False, out="same dtype", name="cholesky")
def linalg_cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """L of `A = L L^H` (`upper`: U of `A = U^H U`) for positive-definite A [..., n, n], of which one triangle is read.

    Raises LinAlgError where A is not positive-definite, RuntimeError for other shapes.
    """
    factor, info = _lower("linalg.cholesky", A, upper)
    failed("linalg.cholesky", info, _NOT_POSITIVE)
    return factor


@operator(spaces=("linalg",), method=False, out="same dtype")
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """`cholesky`, with an `info` that is the order of the first minor that is not positive in the place of the error."""
    factor, info = _lower("linalg.cholesky_ex", A, upper)
    if check_errors:
        failed("linalg.cholesky_ex", info, _NOT_POSITIVE)
    return CholeskyEx(factor, info)


@operator(out="same dtype")
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The Cholesky factor; `linalg.cholesky` is its successor."""
    warnings.warn(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.",
        stacklevel=3,
    )
    factor, info = _lower("cholesky", input, upper)
    failed("cholesky", info, _NOT_POSITIVE)
    return factor


def _cholesky_solve(b: Array, factor: Array, upper: bool) -> Array:
    low = np.swapaxes(factor, -1, -2).conj() if upper else factor
    half = kernels.solve_triangular(low, b, False, True, False)
    return kernels.solve_triangular(np.swapaxes(low, -1, -2).conj(), half, True, True, False)


CHOLESKY_SOLVE = Op(
    "cholesky_solve", "input L", "upper", kind="linalg", cpu=_cholesky_solve, shape=lambda b, a, _: (*batch_shape(a, b), *b[-2:]),
    grads={("input", "L"): lambda g, L, result, upper, needs: _cholesky_solve_backward(g, L, result, upper, needs)},
)  # fmt: skip
CHOLESKY_INVERSE = Op(
    "cholesky_inverse", "L", "upper", kind="linalg", shape=lambda a, _: a,
    cpu=lambda a, upper: _cholesky_solve(np.eye(a.shape[-1], dtype=a.dtype), a, upper),
    grads={"L": lambda g, L, result, upper: _through_product(L, result @ (g + adjoint(g)) @ result, upper)},
)  # fmt: skip


def _through_product(factor: Tensor, g: Tensor, upper: bool) -> Tensor:
    """The gradient for L of `A = L L^H` (U of `A = U^H U`) that comes by the Hermitian `-g` for A; of the whole matrix."""
    return -(factor @ g) if upper else -(g @ factor)


def _cholesky_solve_backward(
    g: Tensor, factor: Tensor, x: Tensor, upper: bool, needs: tuple[bool, ...]
) -> tuple[Tensor, Tensor | None]:
    given = dispatch.call(CHOLESKY_SOLVE, (g, factor), (upper,))
    if not needs[1]:
        return given, None
    both = given @ adjoint(x)
    return given, _through_product(factor, both + adjoint(both), upper)


@operator(out="same dtype")
def cholesky_solve(input: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """X of `A X = input` from A's Cholesky factor, [..., n, k] and [..., n, n]. Batches broadcast."""
    for name, t in (("b", input), ("u", L)):
        if t.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {t.ndim} dimensions instead")
    same_sizes("cholesky_solve", L, input)
    return dispatch.call(CHOLESKY_SOLVE, (input, L), (bool(upper),))


@operator(out="same dtype")
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A from its Cholesky factor."""
    return dispatch.call(CHOLESKY_INVERSE, (square("cholesky_inverse", input),), (bool(upper),))


# -- LU -----------------------------------------------------------------------------------------

LuFactor = return_type("linalg_lu_factor", "LU pivots")
LuFactorEx = return_type("linalg_lu_factor_ex", "LU pivots info")
Lu = return_type("linalg_lu", "P L U")
LuUnpack = return_type("lu_unpack", "P L U")
LuWithInfo = return_type("_lu_with_info", "LU pivots info")
LU_FACTOR = Op(
    "linalg_lu_factor_ex", "A", kind="linalg", multi=True, cpu=kernels.lu_factor,
    dtype=lambda a: (a._dtype, dtypes.int32, dtypes.int32), shape=lambda a: [a, (*a[:-2], min(a[-2:])), a[:-2]],
    grads={"A": lambda g, results: _lu_backward(g[0], results[0], results[1])},
)  # fmt: skip


def _lu_backward(g: Tensor, lu: Tensor, pivots: Tensor) -> Tensor:
    """The gradient through both triangles, with its rows where they were before the exchanges.

    Where A is not square, its part beyond the leading square block is a product with one of the triangles.
    """
    m, n = lu.shape[-2], lu.shape[-1]
    k = min(m, n)
    low = lu[..., :k, :k].tril(-1) + identity(lu, k)
    up = lu[..., :k, :k].triu()
    gl, gu = g[..., :k, :k].tril(-1), g[..., :k, :k].triu()
    phi_low, phi_up = adjoint(low) @ gl, gu @ adjoint(up)
    extra = None
    if m > n:
        extra = triangular(adjoint(up), g[..., k:, :], False, left=False)
        phi_up = phi_up - adjoint(lu[..., k:, :]) @ g[..., k:, :]
    elif n > m:
        extra = triangular(adjoint(low), g[..., :, k:], True, unit=True)
        phi_low = phi_low - g[..., :, k:] @ adjoint(lu[..., :, k:])
    phi = phi_low.tril(-1) + phi_up.triu()
    inner = triangular(adjoint(up), triangular(adjoint(low), phi, True, unit=True), False, left=False)
    if extra is not None:
        inner = cat([inner, extra], -2 if m > n else -1)
    back = _order(pivots, m, inverse=True)
    return inner.gather(-2, back.unsqueeze(-1).expand(*inner.shape))


ROW_ORDER = Op(
    "lu_row_order", "pivots", "rows inverse", kind="linalg", dtype=lambda *_: dtypes.int64,
    cpu=lambda pivots, rows, inverse: _row_order(pivots, rows, inverse), shape=lambda s, rows, _: (*s[:-1], rows),
)  # fmt: skip


def _row_order(pivots: Array, rows: int, inverse: bool) -> Array:
    order = kernels.permutation(pivots, rows)
    return np.argsort(order, axis=-1) if inverse else order


def _order(pivots: Tensor, rows: int, inverse: bool = False) -> Tensor:
    """The row of A that each row of `L U` is, [..., rows]; or the other way round."""
    return dispatch.call(ROW_ORDER, (pivots,), (rows, inverse))


def _factor(name: str, a: Tensor, pivot: bool) -> tuple[Tensor, Tensor, Tensor]:
    if a.ndim < 2:
        raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(a.shape)} instead")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    if a._dtype.category < dtypes.FLOATING or (a._dtype.is_floating_point and a._dtype.itemsize < 4):
        raise NotImplementedError(f"\"lu_cpu\" not implemented for '{dispatch.type_name(a._dtype)}'")
    return dispatch.call(LU_FACTOR, (a,))


_ZERO_PIVOT = (
    "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the factorization, "
    "consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)


def _no_zero_pivot(name: str, info: Tensor) -> None:
    try:
        failed(name, info, _ZERO_PIVOT)
    except LinAlgError as error:
        raise RuntimeError(str(error)) from None


@operator(spaces=("linalg",), method=False, out="same dtype")
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """L and U of `A = P L U` in one matrix [..., m, n], and the row exchanges (from 1 on). Raises RuntimeError for a zero in U."""
    lu, pivots, info = _factor("linalg.lu_factor", A, pivot)
    _no_zero_pivot("torch.linalg.lu_factor", info)
    return LuFactor(lu, pivots)


@operator(spaces=("linalg",), method=False, out="same dtype")
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """`lu_factor`, with an `info` that is the place of the first zero in U in the place of the error."""
    lu, pivots, info = _factor("linalg.lu_factor_ex", A, pivot)
    if check_errors:
        _no_zero_pivot("torch.linalg.lu_factor_ex", info)
    return LuFactorEx(lu, pivots, info)


def _unpacked(lu: Tensor, pivots: Tensor | None) -> tuple[Tensor | None, Tensor, Tensor]:
    m, n = lu.shape[-2], lu.shape[-1]
    k = min(m, n)
    low = lu[..., :, :k].tril(-1) + identity(lu, m)[:, :k]
    return (None if pivots is None else _permutation_matrix(pivots, lu)), low, lu[..., :k, :].triu()


def _permutation_matrix(pivots: Tensor, lu: Tensor) -> Tensor:
    m = lu.shape[-2]
    order = _order(pivots, m)
    return lu.new_zeros(*order.shape, m).scatter(-2, order.unsqueeze(-2), 1.0)


@operator(spaces=("linalg",), method=False, out="same dtype", name="lu")
def linalg_lu(A: Tensor, *, pivot: bool = True) -> Any:
    """P, L and U of `A = P L U`, [..., m, m], [..., m, k] and [..., k, n] with k the smaller size."""
    factors, pivots, _ = _factor("linalg.lu", A, pivot)
    return Lu(*_unpacked(factors, pivots))


@operator(method=False, out="same dtype")
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P, L and U from what `linalg.lu_factor` returns; what is not asked for is empty."""
    if unpack_pivots and LU_pivots._dtype is not dtypes.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    empty = LU_data.new_empty(0)
    if not unpack_data:
        return LuUnpack(_permutation_matrix(LU_pivots, LU_data) if unpack_pivots else empty, empty, empty)
    order, low, up = _unpacked(LU_data, LU_pivots if unpack_pivots else None)
    return LuUnpack(empty if order is None else order, low, up)


@operator()
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """What `linalg.lu_factor` returns, which is its successor; with `get_infos` what `linalg.lu_factor_ex` does."""
    warnings.warn(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a future PyTorch "
        "release.",
        stacklevel=2,
    )
    factors, pivots, info = _factor("torch.lu", A, pivot)
    if get_infos:
        return LuWithInfo(factors, pivots, info)
    _no_zero_pivot("torch.linalg.lu_factor", info)
    return factors, pivots


@operator(spaces=("linalg",), method=False, out="same dtype", name="lu_solve")
def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X of `A X = B` (`X A = B` unless `left`; `A^H` for A when `adjoint`) from what `lu_factor` returns. Batches broadcast."""
    name = "linalg.lu_solve"
    same_dtype(name, LU, B, "LU")
    if pivots._dtype is not dtypes.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    square("torch.linalg.lu_solve", LU, floating=False)
    matrices(name, B, "B", 3, floating=False)
    fitting(name, LU, B, left)
    if LU.shape[-1] != pivots.shape[-1]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if not left:
        turned = _mirror(B)
        return _mirror(_lu_solve(LU, pivots, turned, not adjoint))
    return _lu_solve(LU, pivots, B, adjoint)


def _mirror(t: Tensor) -> Tensor:
    out = t.transpose(-2, -1)
    return out.conj() if t._dtype.is_complex else out


def _lu_solve(lu: Tensor, pivots: Tensor, b: Tensor, adjointly: bool) -> Tensor:
    lead = batch_shape(lu.shape, b.shape)
    b = expand_batch(b, lead)
    rows = _order(pivots, lu.shape[-1], inverse=adjointly)
    place = rows.unsqueeze(-1).expand(*lead, *b.shape[-2:])
    if adjointly:
        h = _mirror(lu)
        return triangular(h, triangular(h, b, False), True, unit=True).gather(-2, place)
    return triangular(lu, triangular(lu, b.gather(-2, place), False, unit=True), True)


@operator(out="same dtype")
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """`linalg.lu_solve`, its successor, with the arguments in another order."""
    warnings.warn(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solve and will be removed in a future PyTorch release.",
        stacklevel=3,
    )
    return linalg_lu_solve(LU_data, LU_pivots, input)


# -- QR -----------------------------------------------------------------------------------------

LinalgQr = return_type("linalg_qr", "Q R")
Qr = return_type("qr", "Q R")
Geqrf = return_type("geqrf", "a tau")


def _qr(a: Array, mode: Any) -> tuple[Array, Array]:
    if mode == "r":
        return np.empty(0, a.dtype), np.linalg.qr(a, "r")
    q, r = np.linalg.qr(a, mode)
    return q, r


def _qr_shape(a: tuple[int, ...], mode: str) -> list[tuple[int, ...]]:
    *lead, m, n = a
    k = m if mode == "complete" else min(m, n)
    return [(0,) if mode == "r" else (*lead, m, k), (*lead, k, n)]


QR = Op(
    "linalg_qr", "A", "mode", kind="linalg", multi=True, cpu=_qr, shape=_qr_shape, dtype=lambda a, _: (a._dtype, a._dtype),
    grads={"A": lambda g, A, results, mode: _qr_backward(g[0], g[1], A, results[0], results[1], mode)},
)  # fmt: skip


def _qr_backward(gq: Tensor, gr: Tensor, a: Tensor, q: Tensor, r: Tensor, mode: str) -> Tensor:
    """`[gQ + Q syminv(triu(gR R^H - Q^H gQ))] R^-H`; columns beyond the square block are products with Q."""
    m, n = a.shape[-2], a.shape[-1]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') if "
            "you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    k = min(m, n)
    rest = None
    if n > m:
        rest = q @ gr[..., :, k:]
        gq = gq + a[..., :, k:] @ adjoint(gr[..., :, k:])
        r, gr = r[..., :, :k], gr[..., :, :k]
    inner = (gr @ adjoint(r) - adjoint(q) @ gq).triu()
    inner = inner + adjoint(inner.triu(1))
    if inner._dtype.is_complex:  # the diagonal of R is real
        inner = inner - (inner.diagonal(0, -2, -1).imag * 1j).diag_embed()
    out = triangular(adjoint(r), gq + q @ inner, False, left=False)
    return out if rest is None else cat([out, rest], -1)


def _qr_of(a: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    matrices("linalg.qr", a)
    return dispatch.call(QR, (a,), (mode,))


@operator(spaces=("linalg",), method=False, out="same dtype", name="qr")
def linalg_qr(A: Tensor, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and upper triangular R with `A = Q R`; Q is square when `mode` is "complete", empty when "r"."""
    return LinalgQr(*_qr_of(A, mode))


@operator(out="same dtype")
def qr(input: Tensor, some: bool = True) -> Any:
    """`linalg.qr`, its successor, "reduced" or (unless `some`) "complete"."""
    warnings.warn(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.",
        stacklevel=3,
    )
    return Qr(*_qr_of(input, "reduced" if some else "complete"))


GEQRF = Op("geqrf", "input", kind="linalg", multi=True, cpu=kernels.geqrf, dtype=lambda a: (a._dtype, a._dtype),
           shape=lambda a: [a, (*a[:-2], min(a[-2:]))])  # fmt: skip


@operator(out="same dtype")
def geqrf(input: Tensor) -> Any:
    """R and the vectors of the reflections whose product is Q, in one matrix, and their factors. It has no gradient."""
    matrices("torch.geqrf", input, "input")
    return Geqrf(*dispatch.call(GEQRF, (input,)))


def _reflections(v: Tensor, tau: Tensor, q: Tensor, backwards: bool, conjugate: bool = False) -> Tensor:
    """The reflections `I - tau v v^H` (v from the columns below the diagonal) applied to q one after the other."""
    k = tau.shape[-1]
    for i in range(k - 1, -1, -1) if backwards else range(k):
        column = cat([v.new_zeros(*v.shape[:-2], i), v.new_ones(*v.shape[:-2], 1), v[..., i + 1 :, i]], -1).unsqueeze(
            -1
        )
        factor = tau[..., i, None, None]
        factor = factor.conj() if conjugate else factor
        q = q - factor * (column @ (adjoint(column) @ q))
    return q


@operator(out="same dtype")
def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """`linalg.householder_product` by its older name."""
    return householder_product(input, tau)


@operator(spaces=("linalg",), method=False, out="same dtype")
def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of reflections `I - tau v v^H`: Q [..., m, n] from what `geqrf` returns."""
    name = "torch.linalg.householder_product"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if A.shape[-2] < A.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if A.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if A.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and input.ndim is "
            f"equal to {A.ndim}"
        )
    if tuple(tau.shape[:-1]) != tuple(A.shape[:-2]):
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    if tau._dtype is not A._dtype:
        raise RuntimeError(
            f"{name}: tau dtype {dispatch.type_name(tau._dtype)} does not match input dtype {dispatch.type_name(A._dtype)}"
        )
    unit = identity(A, A.shape[-2])[:, : A.shape[-1]].expand(*A.shape)
    if tau.shape[-1] == 0 and A.requires_grad:
        return choose(unit == unit, unit, A)  # on the tape, with a gradient of zeros
    return _reflections(A, tau, unit.clone(), True)


@operator(out="same dtype")
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """The whole product Q of reflections (adjoint when `transpose`) times `other`, or `other` times it unless `left`."""
    matrices("torch.ormqr", input, "input")
    matrices("torch.ormqr", other, "other", 3)
    side = -2 if left else -1
    if other.shape[side] < tau.shape[-1]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if other.shape[side] != input.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if tau.shape[-1] != min(other.shape[side], input.shape[-1]):
        raise RuntimeError("torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1])")
    if tau._dtype is not input._dtype or other._dtype is not input._dtype:
        raise RuntimeError(
            f"torch.ormqr: Expected input and other to have the same dtype, but input has dtype {dispatch.type_name(input._dtype)} and "
            f"other has dtype {dispatch.type_name(other._dtype)}"
        )
    if left:
        return _reflections(input, tau, other, not transpose, transpose)
    return adjoint(_reflections(input, tau, adjoint(other), transpose, not transpose))


# -- LDL ----------------------------------------------------------------------------------------

LdlFactor = return_type("linalg_ldl_factor", "LD pivots")
LdlFactorEx = return_type("linalg_ldl_factor_ex", "LD pivots info")
LDL_FACTOR = Op(
    "linalg_ldl_factor_ex", "A", "hermitian", kind="linalg", multi=True, cpu=kernels.ldl_factor,
    dtype=lambda a, _: (a._dtype, dtypes.int32, dtypes.int32), shape=lambda a, _: [a, a[:-1], a[:-2]],
)  # fmt: skip


@operator(spaces=("linalg",), method=False, out="same dtype")
def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """L and D of a symmetric (`hermitian`: Hermitian) matrix `A = L D L^T` in one matrix, the pivots, and `info`. No gradient."""
    square("torch.linalg.ldl_factor_ex", A)
    factors, pivots, info = dispatch.call(LDL_FACTOR, (A,), (bool(hermitian) and A._dtype.is_complex,))
    if check_errors:
        failed("torch.linalg.ldl_factor_ex", info, "The diagonal element {} of D is zero.")
    return LdlFactorEx(factors, pivots, info)


@operator(spaces=("linalg",), method=False, out="same dtype")
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:
    """L and D of a symmetric matrix in one matrix, and the pivots. Raises LinAlgError for a zero in D."""
    factors, pivots, info = ldl_factor_ex(A, hermitian=hermitian)
    failed("torch.linalg.ldl_factor", info, "The diagonal element {} of D is zero.")
    return LdlFactor(factors, pivots)


@operator(spaces=("linalg",), method=False, out="same dtype")
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """X of `A X = B` from what `ldl_factor` returns. Batches broadcast."""
    matrices("torch.linalg.ldl_solve", B, "B", 3)
    if LD.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is {LD.shape[-2]} by {LD.shape[-1]} but each b matrix "
            f"is {B.shape[-2]} by {B.shape[-1]}"
        )
    lead = batch_shape(LD.shape, B.shape)
    conjugated = bool(hermitian) and LD._dtype.is_complex
    order, low, middle = _ldl_parts(LD, pivots)
    flipped = adjoint(low) if conjugated else low.transpose(-2, -1)
    if conjugated:
        middle = middle.tril() + adjoint(middle.tril(-1))
    place = order.unsqueeze(-1).expand(*lead, *B.shape[-2:])
    rows = triangular(low, expand_batch(B, lead).gather(-2, place), False, unit=True)
    x = triangular(flipped, solve(middle, rows), True, unit=True)
    return x.new_zeros(x.shape).scatter(-2, place, x)


def _ldl_parts(ld: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The order of the rows, L with ones on its diagonal, and D with its blocks of two made symmetric."""
    parts = kernels.unpack_ldl(ld.detach().cpu().numpy(), pivots.cpu().numpy())
    return (
        of_array(parts[0], dtypes.int64, ld.device), of_array(parts[1], ld._dtype, ld.device), of_array(parts[2], ld._dtype, ld.device),
    )  # fmt: skip
