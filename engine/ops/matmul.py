"""Matrix products: `matmul` and its relatives. Transposed operands go to BLAS as they are.

One primitive, `bmm_nd`, multiplies stacks of matrices with equal (or broadcast) leading dimensions; the functions below
bring PyTorch's forms to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch
from ..shapes import broadcast_shapes
from ..tensor import Tensor
from .declare import operator, tensor_argument
from .table import Op


def _shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return (*broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind == "b":
        return np.matmul(a, b)
    return np.matmul(a, b)


def _adjoint(t: Tensor) -> Tensor:
    out = t.transpose(-2, -1)
    return out.conj() if t.dtype.is_complex else out


MM = Op(
    "mm", "input mat2", kind="matmul", cpu=_product, shape=_shape,
    grads={
        "input": lambda g, mat2: dispatch.call(MM, (g, _adjoint(mat2))),
        "mat2": lambda g, input: dispatch.call(MM, (_adjoint(input), g)),
    },
)  # fmt: skip
BMM = Op(
    "bmm", "input mat2", kind="matmul", cpu=_product, shape=_shape,
    grads={
        "input": lambda g, mat2: dispatch.call(BMM, (g, _adjoint(mat2))),
        "mat2": lambda g, input: dispatch.call(BMM, (_adjoint(input), g)),
    },
)  # fmt: skip


def _addmm(bias: np.ndarray, a: np.ndarray, b: np.ndarray, beta: Any, alpha: Any) -> np.ndarray:
    out = np.matmul(a, b)
    if alpha != 1:
        out *= alpha
    if beta:
        out += bias if beta == 1 else bias * beta
    return out


ADDMM = Op(
    "addmm", "input mat1 mat2", "beta alpha", kind="matmul", cpu=_addmm, shape=lambda bias, a, b, *_: _shape(a, b),
    grads={
        "input": lambda g, beta: g if beta == 1 else g * beta,
        "mat1": lambda g, mat2, alpha: _scaled(dispatch.call(MM, (g, _adjoint(mat2))), alpha),
        "mat2": lambda g, mat1, alpha: _scaled(dispatch.call(MM, (_adjoint(mat1), g)), alpha),
    },
)  # fmt: skip
DOT = Op(
    "dot", "input tensor", kind="matmul", cpu=lambda a, b: np.dot(a, b), shape=lambda a, b: (),
    grads={"input": lambda g, tensor: g * _conj(tensor), "tensor": lambda g, input: g * _conj(input)},
)  # fmt: skip
MV = Op(
    "mv", "input vec", kind="matmul", cpu=lambda a, b: np.dot(a, b), shape=lambda a, b: (a[0],),
    grads={
        "input": lambda g, vec: g.unsqueeze(1) * _conj(vec).unsqueeze(0),
        "vec": lambda g, input: dispatch.call(MV, (_adjoint(input), g)),
    },
)  # fmt: skip


def _scaled(t: Tensor, factor: Any) -> Tensor:
    return t if factor == 1 else t * factor


def _conj(t: Tensor) -> Tensor:
    return t.conj() if t.dtype.is_complex else t


def _same_type(name: str, a: Tensor, b: Tensor) -> None:
    if a._dtype is not b._dtype and not dispatch.casting():
        names = dispatch.type_name(a._dtype).lower(), dispatch.type_name(b._dtype).lower()
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}")


@operator(out=True)
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices, [n, m] by [m, p] giving [n, p]. Raises RuntimeError for other shapes."""
    tensor_argument("mm", "mat2", 2, mat2)
    if input.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    _fit(input, mat2)
    return dispatch.call(MM, (input, mat2))


def _fit(a: Tensor, b: Tensor) -> None:
    if a._data.shape[1] != b._data.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    _same_type("mm", a, b)


@operator(out=True)
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two stacks of matrices, [b, n, m] by [b, m, p]. Raises RuntimeError for other shapes."""
    if input.ndim != 3 or mat2.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if input.ndim != 3 else "batch2 must be a 3D tensor")
    if input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{input.shape[0]}, {input.shape[2]}] but got: "
            f"[{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    _same_type("bmm", input, mat2)
    return dispatch.call(BMM, (input, mat2))


@operator(out=True)
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The inner product of two vectors of one length. Raises RuntimeError otherwise."""
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input._dtype is not tensor._dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {dispatch.type_name(input._dtype)} and {dispatch.type_name(tensor._dtype)}"
        )
    if input.shape != tensor.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input.shape[0]}] and src [{tensor.shape[0]}] to have the same number "
            f"of elements, but got {input.shape[0]} and {tensor.shape[0]} elements respectively"
        )
    return dispatch.call(DOT, (input, tensor))


@operator(out=True)
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """A matrix times a vector, [n, m] by [m]. Raises RuntimeError for other shapes."""
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {1}, {input.ndim}, {vec.ndim}")
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({input.shape[0]}), mat ({input.shape[0]}x{input.shape[1]}), vec ({vec.shape[0]})"
        )
    _same_type("mv", input, vec)
    return dispatch.call(MV, (input, vec))


@operator(out=True)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product with PyTorch's rules: vectors are rows or columns, leading dimensions broadcast.

    Raises RuntimeError where the inner sizes differ.
    """
    tensor_argument("matmul", "other", 2, other)
    a, b = input._data.shape, other._data.shape
    n, m = len(a), len(b)
    if n == 2 and m == 2:
        _fit(input, other)
        return dispatch.call(MM, (input, other))
    if n == 0 or m == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if n == 1 and m == 1:
        return dot(input, other)
    if n == 2 and m == 1:
        return mv(input, other)
    if n == 1:
        return matmul(input.unsqueeze(0), other).squeeze(-2)
    if m == 1:
        return matmul(input, other.unsqueeze(1)).squeeze(-1)
    _same_type("matmul", input, other)
    if a[-1] != b[-2]:
        if m == 2:
            rows = input.numel() // a[-1] if a[-1] else 0
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a[-1]} and {b[0]}x{b[1]})")
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{b[0]}, {a[-1]}] but got: [{b[0]}, {b[-2]}]."
        )
    if m == 2:
        flat = dispatch.call(MM, (input.reshape(-1, a[-1]) if a[-1] else input.reshape(int(np.prod(a[:-1])), 0), other))
        return flat.reshape(*a[:-1], b[1])
    if a[:-2] == b[:-2]:
        return dispatch.call(BMM, (input, other))
    lead = broadcast_shapes(a[:-2], b[:-2])
    left = input.expand(*lead, *a[-2:])
    right = other.expand(*lead, *b[-2:])
    return dispatch.call(BMM, (left, right))


@operator(inplace=True, out=True)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` of matrices. Raises RuntimeError where the shapes do not fit."""
    if mat1.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError(
            f"mat1 must be a matrix, got {mat1.ndim}-D tensor"
            if mat1.ndim != 2
            else f"mat2 must be a matrix, got {mat2.ndim}-D tensor"
        )
    _fit(mat1, mat2)
    shape = (mat1.shape[0], mat2.shape[1])
    if broadcast_shapes(input.shape, shape) != shape:
        raise RuntimeError(
            f"The expanded size of the tensor ({shape}) must match the existing size {tuple(input.shape)}"
        )
    return dispatch.call(ADDMM, (input, mat1, mat2), (beta, alpha))


@operator(name="linear", spaces=("nn.functional",), method=False)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`: input [..., in], weight [out, in], bias [out]; result [..., out].

    Raises RuntimeError where the inner sizes differ.
    """
    if bias is not None and input.ndim == 2 and weight.ndim == 2:
        _fit_linear(input, weight)
        return dispatch.call(ADDMM, (bias, input, weight.t()), (1, 1))
    if weight.ndim == 1:
        out = matmul(input, weight)
    else:
        out = matmul(input, weight.t())
    return out if bias is None else out + bias


def _fit_linear(input: Tensor, weight: Tensor) -> None:
    if input._data.shape[1] != weight._data.shape[1]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({input.shape[0]}x{input.shape[1]} and {weight.shape[1]}x{weight.shape[0]})"
        )
    if input._dtype is not weight._dtype and not dispatch.casting():
        names = dispatch.type_name(input._dtype).lower(), dispatch.type_name(weight._dtype).lower()
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {names[0].capitalize()} and {names[1].capitalize()}"
        )
