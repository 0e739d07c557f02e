"""Norms of vectors and matrices, condition numbers and distances of the same kind."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dispatch, dtypes
from ...shapes import reduced_shape, wrap_dim, wrap_dims
from ...tensor import Tensor
from ..declare import operator, tensor_argument
from ..gradients import choose
from ..reduction import spread
from ..table import Op
from .checks import LinAlgError, float_or_complex, matrices, square
from .kernels import Array
from .solves import inv_ex
from .spectra import svdvals

# -- of vectors ---------------------------------------------------------------------------------


def _vector_norm(x: Array, order: float, dims: tuple[int, ...], keepdim: bool) -> Array:
    keep: dict[str, Any] = {"axis": dims, "keepdims": keepdim}
    kind = x.real.dtype
    if order == 0:
        return np.add.reduce(x != 0, dtype=kind, **keep)
    size = np.abs(x)
    if order == math.inf:
        return np.maximum.reduce(size, **keep)
    if order == -math.inf:
        return np.minimum.reduce(size, **keep)
    wide = np.float32 if kind.itemsize < 4 else kind
    if order == 1:
        return np.add.reduce(size, dtype=wide, **keep).astype(kind, copy=False)
    if order == 2 and x.dtype.kind == "f" and len(dims) == x.ndim and x.flags.c_contiguous and x.itemsize >= 4:
        flat = x.reshape(-1)
        return np.sqrt(np.dot(flat, flat)).reshape((1,) * x.ndim if keepdim else ())
    if order == 2:
        square_ = np.multiply(x.real, x.real, dtype=wide)
        if x.dtype.kind == "c":
            square_ = square_ + np.multiply(x.imag, x.imag, dtype=wide)
        return np.sqrt(np.add.reduce(square_, **keep)).astype(kind, copy=False)
    total = np.add.reduce(
        np.power(size, wide(order) if isinstance(wide, type) else wide.type(order), dtype=wide), **keep
    )
    return np.power(total, 1.0 / order, dtype=total.dtype).astype(kind, copy=False)


VECTOR_NORM = Op(
    "linalg_vector_norm", "input", "ord dims keepdim", kind="reduction", cpu=_vector_norm, dtype=lambda x, *_: x._dtype.to_real(),
    shape=lambda s, order, dims, keepdim: reduced_shape(s, dims, keepdim),
    grads={
        "input": lambda g, input, result, ord, dims, keepdim: _vector_norm_backward(g, input, result, ord, dims, keepdim)
    },
)  # fmt: skip


def _vector_norm_backward(
    g: Tensor, x: Tensor, norm: Tensor, order: float, dims: tuple[int, ...], keepdim: bool
) -> Tensor:
    """The gradient, zero where the norm is zero; equal largest (smallest) elements share it."""
    shape = tuple(x.shape)
    if order == 0:
        return x.new_zeros(shape)
    g, norm = spread(g, shape, dims, keepdim), spread(norm, shape, dims, keepdim)
    if order == 1:
        return x.sgn() * g
    if order == 2:
        return g * choose(norm == 0, 0.0, x / choose(norm == 0, 1.0, norm))
    size = x.abs()
    if math.isinf(order):
        hits = (size == norm) | size.isnan()
        return x.sgn() * ((g / hits.sum(dims, keepdim=True)) * hits)
    if order < 1:
        scaled = x.sgn() * choose(size == 0, 0.0, choose(size == 0, 1.0, size).pow(order - 1))
        return scaled * g * norm.pow(1 - order)
    none = norm == 0
    weight = choose(none, 0.0, g / choose(none, 1.0, norm).pow(order - 1))
    scaled = x.sgn() * size.pow(order - 1) if order < 2 else x * size.pow(order - 2)
    return scaled * weight


def _as_type(name: str, x: Tensor, dtype: Any) -> Tensor:
    """`x` in the dtype that is asked for. Raises RuntimeError where it is of another kind, or narrower."""
    float_or_complex(name, x, low=True)
    if dtype is None or dtype is x._dtype:
        return x
    if dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {dispatch.type_name(dtype)}")
    if dtype.is_complex != x._dtype.is_complex:
        kind = "complex" if x._dtype.is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {dispatch.type_name(dtype)}")
    if dtypes.promote_types(x._dtype, dtype) is not dtype:
        raise RuntimeError(
            f"{name}: the dtype of the input ({dispatch.type_name(x._dtype)}) should be convertible without narrowing to the specified "
            f"dtype ({dispatch.type_name(dtype)})"
        )
    return x.to(dtype)


@operator(spaces=("linalg",), method=False, out=True)
def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """`sum(|x|^ord)^(1/ord)` over `dim` (all when None); the largest or smallest for an infinite `ord`, the nonzero ones for 0.

    Raises RuntimeError for integers and for the norms of nothing that have no value.
    """
    tensor_argument("linalg_vector_norm", "x", 1, x)
    if isinstance(ord, (str, Tensor)) or not isinstance(ord, (int, float, np.number)):
        raise TypeError(f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}")
    x = _as_type("linalg.vector_norm", x, dtype)
    dims, order = wrap_dims(dim, x.ndim), float(ord)
    if x.numel() == 0 and (order < 0 or order == math.inf):
        label = "inf" if order == math.inf else "-inf" if order == -math.inf else f"{order:g}"
        if dim is None or dim == ():
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {label} norm on an empty tensor because the operation does not have an identity"
            )
        empty = next((d for d in dims if x.shape[d] == 0), None)
        if empty is not None:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {label} norm on the dimension {empty}because this dimension is empty and the "
                "operation does not have an identity"
            )
    return dispatch.call(VECTOR_NORM, (x,), (order, dims, bool(keepdim)))


# -- of matrices --------------------------------------------------------------------------------

_MATRIX_ORDERS = (2, -2, 1, -1, math.inf, -math.inf)


def _plane(name: str, dim: Any, rank: int) -> tuple[int, int]:
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")
    a, b = wrap_dim(dims[0], rank), wrap_dim(dims[1], rank)
    if a == b:
        raise RuntimeError(f"{name}: dims must be different. Got ({dims[0]}, {dims[1]})")
    return a, b


def _matrix_norm(x: Tensor, order: Any, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    name = "linalg.matrix_norm"
    if isinstance(order, str):
        if order not in ("fro", "nuc"):
            raise RuntimeError(f"{name}: Order {order} not supported.")
    elif abs(order) not in (1, 2, math.inf):
        raise RuntimeError(f"{name}: Order {order} not supported.")
    if x.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    a, b = _plane(name, dim, x.ndim)
    spectral = order == "nuc" or order in (2, -2)
    float_or_complex(name, x, low=not spectral)
    x = _as_type(name, x, dtype)
    if order == "fro":
        return vector_norm(x, 2, (a, b), keepdim)
    if spectral:
        values = svdvals(x.movedim((a, b), (-2, -1)))
        if order == "nuc" or (values.shape[-1] == 0 and order == 2):
            out = values.sum(-1)
        else:
            out = values.amax(-1) if order == 2 else values.amin(-1)
        if keepdim:
            for d in sorted((a, b)):
                out = out.unsqueeze(d)
        return out
    power = float(order)
    along, over = (a, b) if abs(power) == 1 else (b, a)
    sums = vector_norm(x, 1, along, keepdim)
    over -= int(not keepdim and over > along)
    if power > 0 and sums.shape[over] == 0:
        return sums.sum(over, keepdim=keepdim)
    return sums.amax(over, keepdim=keepdim) if power > 0 else sums.amin(over, keepdim=keepdim)


@operator(spaces=("linalg",), method=False, out=True)
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Norms of the matrices in two dimensions: "fro", "nuc" (the sum of singular values), 2 and -2 (the largest and smallest),
    1 and -1 (sums of columns), inf and -inf (of rows). Raises RuntimeError for others.
    """
    return _matrix_norm(tensor_argument("linalg_matrix_norm", "A", 1, A), ord, dim, keepdim, dtype)


@operator(spaces=("linalg",), method=False, out=True, name="norm")
def linalg_norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """A vector norm, or (with two dimensions and an `ord`) a matrix norm; of all elements when nothing else is said."""
    tensor_argument("linalg_norm", "A", 1, A)
    if dim is not None and not isinstance(dim, int) and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if ord is None:
        if dim is not None and not isinstance(dim, int) and len(dim) == 2:
            _plane("linalg.matrix_norm", dim, A.ndim)
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None and A.ndim not in (1, 2) and not isinstance(ord, str):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
        )
    if isinstance(ord, str):
        if dim is None and A.ndim > 2:
            raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, range(A.ndim)))}")
        return _matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype)
    if (dim is None and A.ndim == 2) or (dim is not None and not isinstance(dim, int) and len(dim) == 2):
        return _matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


@operator()
def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None
) -> Tensor:
    """A norm of all elements or over `dim`: of a vector for a number `p` (and "fro"), of matrices for "nuc"."""
    if p in ("fro", None) and not isinstance(p, Tensor):
        if dim is not None and not isinstance(dim, int) and len(dim) > 2 and p == "fro":
            raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
        value = vector_norm(input, 2, dim, keepdim, dtype=dtype)
    elif isinstance(p, str):
        if p != "nuc":
            raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
        value = _matrix_norm(input, p, tuple(range(input.ndim)) if dim is None else dim, keepdim, dtype)
    else:
        value = vector_norm(input, p, dim, keepdim, dtype=dtype)
    if out is None:
        return value
    from ..declare import into

    return into(out, value, "norm")


@operator(method=False, out=True)
def frobenius_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The root of the sum of squares over `dim` (all when None)."""
    return vector_norm(input, 2, dim, keepdim)


@operator(method=False, out=True)
def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values of the matrices in two dimensions."""
    return _matrix_norm(input, "nuc", dim, keepdim, None)


@operator(spaces=("linalg",), method=False, out=True)
def cond(A: Tensor, p: Any = None) -> Tensor:
    """Condition numbers: the ratio of the largest and smallest singular value for `p` None and 2 (-2: the inverse), for the other
    matrix norms of square matrices the product of the norm and that of the inverse (infinite for singular ones).
    """
    if A.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p is not None and not isinstance(p, str) and p not in _MATRIX_ORDERS:
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if A.numel() == 0:
        return A.new_zeros(A.shape[:-2], dtype=A._dtype.to_real())
    if p is None or p in (2, -2):
        values = svdvals(matrices("linalg.svd", A))
        first, last = values[..., 0], values[..., -1]
        return last / first if p == -2 else first / last
    square(f"linalg.cond(ord={p})", A)
    inverse, info = inv_ex(A)
    try:
        product = _matrix_norm(A, p, (-2, -1), False, None) * _matrix_norm(
            choose((info == 0).unsqueeze(-1).unsqueeze(-1), inverse, 0.0), p, (-2, -1), False, None
        )
    except LinAlgError:
        product = A.new_full(A.shape[:-2], math.inf, dtype=A._dtype.to_real())
    return choose(info == 0, product, math.inf)
