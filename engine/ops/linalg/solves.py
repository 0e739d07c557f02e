"""Systems of linear equations with square matrices: triangular ones, general ones, and inverses."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import dispatch, dtypes
from ...return_types import return_type
from ...tensor import Tensor
from ..declare import operator, tensor_argument
from ..gradients import conj
from ..sequences import eye
from ..table import Op
from . import kernels
from .checks import adjoint, batch_shape, expand_batch, failed, matrices, same_dtype, square
from .kernels import Array

InvEx = return_type("linalg_inv_ex", "inverse info")
SolveEx = return_type("linalg_solve_ex", "result info")
TriangularSolve = return_type("triangular_solve", "solution cloned_coefficient")

# -- triangular ---------------------------------------------------------------------------------


def _triangular_shape(a: tuple[int, ...], b: tuple[int, ...], *_: Any) -> tuple[int, ...]:
    return (*batch_shape(a, b), *b[-2:])


def _triangular_backward(
    g: Tensor, a: Tensor, x: Tensor, upper: bool, left: bool, unitriangular: bool, needs: tuple[bool, ...]
) -> tuple[Tensor | None, Tensor]:
    """`A^H gB = gX`, and `gA = -gB X^H` in the triangle that was read."""
    given = dispatch.call(SOLVE_TRIANGULAR, (adjoint(a), g), (not upper, left, unitriangular))
    if not needs[0]:
        return None, given
    own = -(given @ adjoint(x)) if left else -(adjoint(x) @ given)
    return (own.triu(int(unitriangular)) if upper else own.tril(-int(unitriangular))), given


SOLVE_TRIANGULAR = Op(
    "linalg_solve_triangular", "A B", "upper left unitriangular", kind="linalg", cpu=kernels.solve_triangular, shape=_triangular_shape,
    grads={
        ("A", "B"): lambda g, A, result, upper, left, unitriangular, needs: _triangular_backward(
            g, A, result, upper, left, unitriangular, needs
        )
    },
)  # fmt: skip


def triangular(a: Tensor, b: Tensor, upper: bool, left: bool = True, unit: bool = False) -> Tensor:
    """`solve_triangular` for arguments that are known to fit."""
    return dispatch.call(SOLVE_TRIANGULAR, (a, b), (upper, left, unit))


def fitting(name: str, a: Tensor, b: Tensor, left: bool = True) -> None:
    """Raise RuntimeError where `A X = B` (`X A = B`) makes no sense."""
    if a.shape[-1] != b.shape[-2 if left else -1]:
        shapes = f"{a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]}"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B ({shapes})"
        )


@operator(spaces=("linalg",), method=False, out="same dtype")
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """X of `A X = B` (`X A = B` unless `left`) for triangular A [..., n, n], whose other triangle is not read.

    With `unitriangular` the diagonal is taken as ones. Batches broadcast. Raises RuntimeError for shapes that do not fit.
    """
    name = "linalg.solve_triangular"
    matrices(name, A, floating=False)
    matrices(name, B, "B", 2, floating=False)
    same_dtype(name, A, B)
    square(name, A, floating=False)
    fitting(name, A, B, left)
    if A._dtype.category < dtypes.FLOATING:
        raise NotImplementedError(f"\"triangular_solve_cpu\" not implemented for '{dispatch.type_name(A._dtype)}'")
    return triangular(A, B, upper, left, unitriangular)


@operator()
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The solution of `A X = input` (`A^T X` when `transpose`) for triangular A, and a copy of A."""
    warnings.warn(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular and will be removed in a future PyTorch release.",
        stacklevel=2,
    )
    for label, t in (("b", input), ("A", A)):
        if t.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {label} to have at least 2 dimensions, but it has {t.ndim} dimensions instead"
            )
    same_sizes("triangular_solve", A, input)
    a = A.transpose(-2, -1) if transpose else A
    return TriangularSolve(triangular(a, input, upper != transpose, True, unitriangular), A.clone())


def same_sizes(name: str, a: Tensor, b: Tensor) -> None:
    """What the older functions say of a B that does not fit A."""
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )
    if b._dtype is not a._dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {dispatch.type_name(b._dtype)} and A of type "
            f"{dispatch.type_name(a._dtype)} instead."
        )
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {a.shape[-2]} by {a.shape[-1]} but each b matrix is "
            f"{b.shape[-2]} by {b.shape[-1]}"
        )


# -- general ------------------------------------------------------------------------------------


def _solve(a: Array, b: Array, left: bool, vector: bool) -> tuple[Array, Array]:
    if vector:
        x, info = _solve(a, b[..., None], True, False)
        return x[..., 0], info
    if not left:
        x, info = _solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2), True, False)
        return np.ascontiguousarray(np.swapaxes(x, -1, -2)), info
    info = np.zeros(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), np.int32)
    try:
        return np.linalg.solve(a, b), info
    except np.linalg.LinAlgError:
        lu, pivots, singular = kernels.lu_factor(a)
        order = np.broadcast_to(kernels.permutation(pivots, a.shape[-1]), (*info.shape, a.shape[-1]))
        rows = np.take_along_axis(np.broadcast_to(b, (*info.shape, *b.shape[-2:])), order[..., None], axis=-2)
        half = kernels.solve_triangular(lu, rows, False, True, True)
        return kernels.solve_triangular(lu, half, True, True, False), info + singular


SOLVE = Op(
    "linalg_solve_ex", "A B", "left vector", kind="linalg", cpu=_solve, multi=True, dtype=lambda a, b, *_: (a._dtype, dtypes.int32),
    shape=lambda a, b, left, vector: (
        [b, b[:-1]] if vector else [(*batch_shape(a, b), *b[-2:]), batch_shape(a, b)]
    ),
    grads={
        ("A", "B"): lambda g, A, results, left, vector, needs: _solve_backward(g[0], A, results[0], left, vector, needs)
    },
)  # fmt: skip


def _solve_backward(
    g: Tensor, a: Tensor, x: Tensor, left: bool, vector: bool, needs: tuple[bool, ...]
) -> tuple[Tensor | None, Tensor]:
    """`A^H gB = gX`, and `gA = -gB X^H` (`-X^H gB`)."""
    given = dispatch.call(SOLVE, (adjoint(a), g), (left, vector))[0]
    if not needs[0]:
        return None, given
    if vector:
        return -(given.unsqueeze(-1) * conj(x).unsqueeze(-2)), given
    return (-(given @ adjoint(x)) if left else -(adjoint(x) @ given)), given


def _is_vector(a: Tensor, b: Tensor) -> bool:
    """Whether B is to be taken as vectors: it is 1-d, or a batch of them for a batch of matrices."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and tuple(b.shape) == tuple(a.shape[:-1]))


def _solve_ex(name: str, a: Tensor, b: Tensor, left: bool) -> tuple[Tensor, Tensor]:
    square(name, a)
    tensor_argument(name.replace(".", "_"), "B", 2, b)
    same_dtype(name, a, b)
    vector = _is_vector(a, b)
    if b.ndim < 2 and not vector:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    right = b.unsqueeze(-1) if vector else b
    fitting(name, a, right, left)
    lead = batch_shape(a.shape, right.shape)
    given = b.expand(*lead, b.shape[-1]) if vector else expand_batch(b, lead)
    return dispatch.call(SOLVE, (a, given), (left, vector))


_SINGULAR = "The solver failed because the input matrix is singular."


@operator(spaces=("linalg",), method=False, out="same dtype")
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X of `A X = B` (`X A = B` unless `left`) for square A [..., n, n]; B is [..., n, k] or [..., n]. Batches broadcast.

    Raises LinAlgError for singular matrices, RuntimeError for shapes that do not fit.
    """
    x, info = _solve_ex("linalg.solve", A, B, left)
    failed("torch.linalg.solve", info, _SINGULAR)
    return x


@operator(spaces=("linalg",), method=False, out="same dtype")
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """`solve`, with an `info` that is positive for singular matrices in the place of the error."""
    x, info = _solve_ex("linalg.solve", A, B, left)
    if check_errors:
        failed("torch.linalg.solve_ex", info, _SINGULAR)
    return SolveEx(x, info)


# -- inverses -----------------------------------------------------------------------------------


def _inverse(a: Array) -> tuple[Array, Array]:
    try:
        return np.linalg.inv(a), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        return _solve(a, np.eye(a.shape[-1], dtype=a.dtype), True, False)


INV = Op(
    "linalg_inv_ex", "A", kind="linalg", cpu=_inverse, multi=True, dtype=lambda a: (a._dtype, dtypes.int32),
    shape=lambda a: [a, a[:-2]],
    grads={"A": lambda g, results: -(adjoint(results[0]) @ (g[0] @ adjoint(results[0])))},
)  # fmt: skip
_NO_INVERSE = (
    "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."
)


@operator(out="same dtype")
def inverse(input: Tensor) -> Tensor:
    """The inverses of square matrices; `linalg.inv` by its older name."""
    return inv(input)


@operator(spaces=("linalg",), method=False, out="same dtype")
def inv(A: Tensor) -> Tensor:
    """The inverses of square matrices [..., n, n]. Raises LinAlgError for singular ones, RuntimeError for other shapes."""
    square("linalg.inv", A)
    inverse, info = dispatch.call(INV, (A,))
    failed("linalg.inv", info, _NO_INVERSE)
    return inverse


@operator(spaces=("linalg",), method=False, out="same dtype")
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """The inverses, with an `info` that is positive for singular matrices in the place of the error."""
    square("linalg.inv", A)
    inverse, info = dispatch.call(INV, (A,))
    if check_errors:
        failed("linalg.inv_ex", info, _NO_INVERSE)
    return InvEx(inverse, info)


# -- tensors as matrices ------------------------------------------------------------------------


def _product(sizes: Any) -> int:
    return int(np.prod(list(sizes), dtype=np.int64))


@operator(spaces=("linalg",), method=False, out="same dtype")
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of `tensordot(A, X, ind)`: A's first `ind` dimensions and the others are rows and columns of a square matrix."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if _product(rows) != _product(columns):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{_product(columns)} != {_product(rows)}"
        )
    return inv(A.reshape(_product(columns), _product(rows))).reshape(*columns, *rows)


@operator(spaces=("linalg",), method=False, out="same dtype")
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """X of `tensordot(A, X, X.ndim) = B`; `dims` of A are moved to its end first."""
    if dims is not None:
        places = [d % A.ndim for d in ((dims,) if isinstance(dims, int) else dims)]
        A = A.movedim(places, list(range(A.ndim - len(places), A.ndim)))
    shape = tuple(A.shape[B.ndim :])
    if _product(shape) != B.numel():
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{_product(shape)} != {B.numel()}"
        )
    return solve(A.reshape(_product(shape), _product(shape)), B.reshape(-1)).reshape(shape)


def identity(a: Tensor, n: int | None = None) -> Tensor:
    """The identity matrix of the dtype and device of `a`."""
    return eye(a.shape[-1] if n is None else n, dtype=a._dtype, device=a.device)
