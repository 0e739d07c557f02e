"""Pseudo-inverses, least squares and rank: what singular values (of Hermitian matrices, eigenvalues) tell of any matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dispatch, dtypes
from ...return_types import return_type
from ...shapes import broadcast_shapes
from ...tensor import Tensor
from ..creation import tensor as make_tensor
from ..declare import operator, tensor_argument
from ..gradients import choose
from ..table import Op
from .checks import adjoint, matrices
from .kernels import Array
from .spectra import eigvalsh, svdvals

Lstsq = return_type("linalg_lstsq", "solution residuals rank singular_values")

# -- tolerances ---------------------------------------------------------------------------------


def _tolerances(a: Tensor, atol: Any, rtol: Any) -> tuple[Tensor, Tensor]:
    """Absolute and relative tolerance as real tensors; without any, the relative one is eps times the larger size."""
    kind = a._dtype.to_real()

    def real(v: Any) -> Tensor:
        if isinstance(v, Tensor):
            if v._dtype.is_complex:
                raise RuntimeError("torch.linalg.pinv: atol and rtol tensors of complex type are not supported.")
            return v.to(kind)
        return make_tensor(v, dtype=kind, device=a.device)

    default = dtypes.finfo(kind).eps * max(a.shape[-2:])
    if rtol is None:
        given = real(0.0 if atol is None else atol)
        rtol = default if atol is None else choose(given > 0, 0.0, real(default))
    return real(0.0 if atol is None else atol), real(rtol)


# -- pseudo-inverse -----------------------------------------------------------------------------


def _pinv(a: Array, atol: Array, rtol: Array, hermitian: bool) -> Array:
    if a.size == 0:
        return np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    if hermitian:
        s, u = np.linalg.eigh(a)
        size = np.abs(s)
        top = size.max(-1, keepdims=True)
        vh = np.swapaxes(u, -1, -2).conj()
    else:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        size, top = s, s[..., :1]
    limit = np.maximum(atol[..., None], rtol[..., None] * top)
    kept = size > limit
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0).astype(s.dtype)
    return (np.swapaxes(vh, -1, -2).conj() * inverse[..., None, :]) @ np.swapaxes(u, -1, -2).conj()


PINV = Op(
    "linalg_pinv", "A atol rtol", "hermitian", kind="linalg", cpu=lambda *args: _pinv(*args),
    shape=lambda a, atol, rtol, _: (*broadcast_shapes(a[:-2], atol, rtol), a[-1], a[-2]),
    grads={"A": lambda g, A, result: pinv_backward(g, result, A)},
)  # fmt: skip


def pinv_backward(g: Tensor, p: Tensor, a: Tensor) -> Tensor:
    """The gradient through `p = pinv(a)` at constant rank (Golub, Pereyra 1973), with the cheaper order of products."""
    ph, gh = adjoint(p), adjoint(g)
    if a.shape[-2] <= a.shape[-1]:
        k = gh @ p
        kph = k @ ph
        return -adjoint(p @ k) + kph - (a @ p) @ kph + (ph @ p) @ (gh - k @ a)
    k = p @ gh
    phk = ph @ k
    return -adjoint(k @ p) + (gh - a @ k) @ (p @ ph) + phk - (phk @ p) @ a


def _pseudo_inverse(a: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    if not isinstance(a, Tensor) or a.ndim < 2 or a._dtype.category < dtypes.FLOATING or (
        a._dtype.is_floating_point and a._dtype.itemsize < 4
    ):  # fmt: skip
        tensor_argument("linalg_pinv", "input", 1, a)
        raise RuntimeError(
            f"linalg.pinv({dispatch.type_name(a._dtype)}{{{list(a.shape)}}}): expected a tensor with 2 or more dimensions of float, "
            "double, cfloat or cdouble types"
        )
    if hermitian and a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"linalg.eigh: A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )
    low, relative = _tolerances(a, atol, rtol)
    return dispatch.call(PINV, (a, low, relative), (bool(hermitian),))


@operator(spaces=("linalg",), method=False, out="same dtype")
def pinv(A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """Moore-Penrose inverses [..., n, m] of matrices [..., m, n]; singular values up to `max(atol, rtol * largest)` count as zero.

    `rcond` is another name of `rtol`. Raises RuntimeError for other shapes and dtypes.
    """
    return _pseudo_inverse(A, atol, rcond if rtol is None else rtol, hermitian)


@operator()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Moore-Penrose inverses; `linalg.pinv` with a relative tolerance of 1e-15."""
    return _pseudo_inverse(input, None, rcond, False)


@operator(spaces=("linalg",), method=False, out="same dtype")
def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The number of singular values above `max(atol, rtol * largest)`, int64. `tol` is an absolute tolerance."""
    matrices("torch.linalg.matrix_rank", A, "input", floating=False)
    if tol is not None:
        atol, rtol = tol, 0.0
    values = eigvalsh(A.detach()).abs() if hermitian else svdvals(A.detach())
    low, relative = _tolerances(A, atol, rtol)
    if values.numel() == 0:
        return values.new_zeros(A.shape[:-2], dtype=dtypes.int64)
    limit = (relative * values.amax(-1)).maximum(low)
    return (values > limit.unsqueeze(-1)).sum(-1)


# -- least squares ------------------------------------------------------------------------------


def _lstsq(a: Array, b: Array, rcond: float, driver: str) -> tuple[Array, ...]:
    """By QR for "gels", which takes the rank as full, else by singular values."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    m, n = a.shape[-2:]
    real = a.real.dtype
    rank, values = np.empty(0, np.int64), np.empty(0, real)
    if driver == "gels" and min(m, n):
        q, r = np.linalg.qr(a if m >= n else _adjoint(a))
        x = np.linalg.solve(r, _adjoint(q) @ b) if m >= n else q @ np.linalg.solve(_adjoint(r), b)
    else:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        kept = s > rcond * s[..., :1] if s.size else np.zeros(s.shape, bool)
        inverse = np.where(kept, 1 / np.where(kept, s, 1), 0).astype(real)
        x = _adjoint(vh) @ (inverse[..., None] * (_adjoint(u) @ b))
        if driver != "gels":
            rank = kept.sum(-1).astype(np.int64)
        if driver in ("gelsd", "gelss"):
            values = s
    residuals = np.empty(0, real)
    if m > n and driver != "gelsy" and (driver == "gels" or (rank == n).all()):
        rest = a @ x - b
        residuals = (rest.real**2 + rest.imag**2).sum(-2, dtype=real)
    return np.broadcast_to(x, (*lead, n, b.shape[-1])).astype(a.dtype), residuals, rank, values


def _adjoint(a: Array) -> Array:
    return np.swapaxes(a, -1, -2).conj()


def _lstsq_shape(a: Any, b: Any, rcond: float, driver: str) -> list[tuple[int, ...]]:
    lead = broadcast_shapes(a[:-2], b[:-2])
    return [
        (*lead, a[-1], b[-1]), (*lead, b[-1]) if a[-2] > a[-1] and driver != "gelsy" else (0,), (0,) if driver == "gels" else a[:-2],
        (*a[:-2], min(a[-2:])) if driver in ("gelsd", "gelss") else (0,),
    ]  # fmt: skip


LSTSQ = Op(
    "linalg_lstsq", "A B", "rcond driver", kind="linalg", multi=True, cpu=_lstsq, shape=_lstsq_shape,
    dtype=lambda a, b, *_: (a._dtype, a._dtype.to_real(), dtypes.int64, a._dtype.to_real()),
    grads={("A", "B"): lambda g, A, B, results, needs, defined: _lstsq_backward(g, A, B, results, needs, defined)},
)  # fmt: skip


def _lstsq_backward(
    g: Any, a: Tensor, b: Tensor, results: Any, needs: tuple[bool, ...], defined: tuple[bool, ...]
) -> tuple[Tensor | None, Tensor | None]:
    """Through `pinv(A) @ B`, and for the residuals `|A X - B|^2` with X at its optimum."""
    own: Tensor | None = None
    given: Tensor | None = None
    x, residuals = results[0], results[1]
    if defined[0]:
        p = pinv(a)
        own, given = (pinv_backward(g[0] @ adjoint(b), p, a) if needs[0] else None), adjoint(p) @ g[0]
    if defined[1] and residuals.numel():
        rest = (a @ x - b) * (2 * g[1].unsqueeze(-2))
        through = rest @ adjoint(x)
        own = through if own is None else own + through
        given = -rest if given is None else given - rest
    return own, given


@operator(spaces=("linalg",), method=False, out="same dtype")
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The X for which `|A X - B|` is least, [..., m, n] and [..., m, k] (or [..., m]), with residuals, rank and singular values.

    Drivers are "gelsy" (the default), "gels" (which wants full rank), "gelsd" and "gelss"; residuals are given for systems of full rank
    with more equations than unknowns, but not by "gelsy", singular values by the last two. `rcond` is the tolerance of the rank,
    relative to the largest singular value. Raises RuntimeError for shapes that do not fit.
    """
    name = "torch.linalg.lstsq"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if B.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if A._dtype is not B._dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {dispatch.type_name(A._dtype)} and other's "
            f"dtype {dispatch.type_name(B._dtype)}"
        )
    difference = A.ndim - B.ndim
    if not 0 <= difference <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    vector = difference == 1
    right = B.unsqueeze(-1) if vector else B
    if A.shape[-2] != right.shape[-2]:
        which = "other.size(-1)" if vector else "other.size(-2)"
        raise RuntimeError(f"{name}: input.size(-2) should match {which}")
    if driver is not None and driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if A._dtype.category < dtypes.FLOATING or A._dtype.to_real().itemsize < 4:
        raise RuntimeError("This function doesn't handle types other than float and double")
    how = driver or "gelsy"
    limit = dtypes.finfo(A._dtype.to_real()).eps * max(A.shape[-2:]) if rcond is None else float(rcond)
    x, residuals, rank, values = dispatch.call(LSTSQ, (A, right), (limit, how))
    if vector:
        x, residuals = (
            x.squeeze(-1),
            (residuals.squeeze(-1) if residuals.ndim >= right.ndim - 1 and residuals.numel() else residuals),
        )
    return Lstsq(x, residuals, rank, values.detach())
