"""Matrix products: `matmul` and its relatives. Transposed operands go to BLAS as they are.

Primitives multiply matrices, or stacks of them with equal leading dimensions; the functions below bring PyTorch's forms to them.
Other products stand in `linalg/products.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch
from ..dtypes import BOOL, FLOATING, INTEGRAL
from ..shapes import broadcast_shapes, expand_strides
from ..tensor import Tensor
from .declare import operator, tensor_argument
from .table import Op
from .views import SQUEEZE, unsafe_view


def _shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return (*broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype.kind == "f" and a.itemsize == 2:  # BLAS knows no 16 bits
        return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
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


def _added(product: np.ndarray, bias: np.ndarray, beta: Any, alpha: Any) -> np.ndarray:
    """`beta * bias + alpha * product`, in the memory of the product; a zero `beta` leaves NaNs of the bias out."""
    out = product if isinstance(product, np.ndarray) else np.asarray(product)
    if alpha != 1:
        np.multiply(out, alpha, out=out, casting="unsafe")
    if beta:
        np.add(out, bias if beta == 1 else bias * beta, out=out, casting="unsafe")
    return out


ADDMM = Op(
    "addmm", "input mat1 mat2", "beta alpha", kind="matmul", shape=lambda bias, a, b, *_: _shape(a, b),
    cpu=lambda bias, a, b, beta, alpha: _added(_product(a, b), bias, beta, alpha),
    grads={
        "input": lambda g, beta: scaled(g, beta),
        "mat1": lambda g, mat2, alpha: scaled(dispatch.call(MM, (g, _adjoint(mat2))), alpha),
        "mat2": lambda g, mat1, alpha: scaled(dispatch.call(MM, (_adjoint(mat1), g)), alpha),
    },
)  # fmt: skip
BADDBMM = Op(
    "baddbmm", "input batch1 batch2", "beta alpha", kind="matmul", shape=lambda bias, a, b, *_: _shape(a, b),
    cpu=lambda bias, a, b, beta, alpha: _added(_product(a, b), bias, beta, alpha),
    grads={
        "input": lambda g, beta: scaled(g, beta),
        "batch1": lambda g, batch2, alpha: scaled(dispatch.call(BMM, (g, _adjoint(batch2))), alpha),
        "batch2": lambda g, batch1, alpha: scaled(dispatch.call(BMM, (_adjoint(batch1), g)), alpha),
    },
)  # fmt: skip
ADDBMM = Op(
    "addbmm", "input batch1 batch2", "beta alpha", kind="matmul", shape=lambda bias, a, b, *_: (a[-2], b[-1]),
    cpu=lambda bias, a, b, beta, alpha: _added(_product(a, b).sum(0, dtype=a.dtype), bias, beta, alpha),
    grads={
        "input": lambda g, beta: scaled(g, beta),
        "batch1": lambda g, batch2, alpha: scaled(dispatch.call(BMM, (_stack(g, batch2), _adjoint(batch2))), alpha),
        "batch2": lambda g, batch1, alpha: scaled(dispatch.call(BMM, (_adjoint(batch1), _stack(g, batch1))), alpha),
    },
)  # fmt: skip
ADDMV = Op(
    "addmv", "input mat vec", "beta alpha", kind="matmul", shape=lambda bias, a, b, *_: (a[0],),
    cpu=lambda bias, a, b, beta, alpha: _added(_product(a, b), bias, beta, alpha),
    grads={
        "input": lambda g, beta: scaled(g, beta),
        "mat": lambda g, vec, alpha: scaled(g.unsqueeze(1) * _conj(vec).unsqueeze(0), alpha),
        "vec": lambda g, mat, alpha: scaled(dispatch.call(MV, (_adjoint(mat), g)), alpha),
    },
)  # fmt: skip
ADDR = Op(
    "addr", "input vec1 vec2", "beta alpha", kind="matmul", shape=lambda bias, a, b, *_: (a[0], b[0]),
    dtype=lambda bias, a, b, *_: a._dtype, cpu=lambda bias, a, b, beta, alpha: _added(np.multiply.outer(a, b), bias, beta, alpha),
    grads={
        "input": lambda g, beta: scaled(g, beta),
        "vec1": lambda g, vec2, alpha: scaled(dispatch.call(MV, (g, _conj(vec2))), alpha),
        "vec2": lambda g, vec1, alpha: scaled(dispatch.call(MV, (g.t(), _conj(vec1))), alpha),
    },
)  # fmt: skip


def _stack(g: Tensor, like: Tensor) -> Tensor:
    return g.expand(like.shape[0], *g.shape)


DOT = Op(
    "dot", "input tensor", kind="matmul", cpu=_product, shape=lambda a, b: (),
    grads={"input": lambda g, tensor: g * _conj(tensor), "tensor": lambda g, input: g * _conj(input)},
)  # fmt: skip
VDOT = Op(
    "vdot", "input other", kind="matmul", cpu=lambda a, b: _product(a.conj(), b), shape=lambda a, b: (),
    grads={"input": lambda g, other: _conj(g) * other, "other": lambda g, input: g * input},
)  # fmt: skip
MV = Op(
    "mv", "input vec", kind="matmul", cpu=_product, shape=lambda a, b: (a[0],),
    grads={
        "input": lambda g, vec: g.unsqueeze(1) * _conj(vec).unsqueeze(0),
        "vec": lambda g, input: dispatch.call(MV, (_adjoint(input), g)),
    },
)  # fmt: skip


def scaled(t: Tensor, factor: Any) -> Tensor:
    """`t * factor`, conjugated where it is complex; `t` itself for 1."""
    factor = factor.conjugate() if isinstance(factor, complex) else factor
    return t if factor == 1 else t * factor


def _conj(t: Tensor) -> Tensor:
    return t.conj() if t.dtype.is_complex else t


def _same_type(name: str, a: Tensor, b: Tensor) -> None:
    if a._dtype is not b._dtype and not dispatch.casting():
        names = dispatch.type_name(a._dtype).lower(), dispatch.type_name(b._dtype).lower()
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}")


@operator(out="same dtype")
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
    _no_bool("addmm_impl_cpu_", a)


@operator(out="same dtype")
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
    _no_bool("bmm", input)
    return dispatch.call(BMM, (input, mat2))


def _vectors(input: Tensor, other: Tensor, name: str) -> None:
    tensor_argument(name, "tensor" if name == "dot" else "other", 2, other)
    if input.ndim != 1 or other.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {other.ndim}D tensors")
    if input._dtype is not other._dtype and not dispatch.casting():
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {dispatch.type_name(input._dtype)} and "
            f"{dispatch.type_name(other._dtype)}"
        )
    if input.shape != other.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input.shape[0]}] and src [{other.shape[0]}] to have the same number "
            f"of elements, but got {input.shape[0]} and {other.shape[0]} elements respectively"
        )
    _no_bool("dot", input)


def _no_bool(name: str, t: Tensor) -> None:
    if t._dtype.category == BOOL:
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")


@operator(out="same dtype")
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The inner product of two vectors of one length. Raises RuntimeError otherwise."""
    _vectors(input, tensor, "dot")
    return dispatch.call(DOT, (input, tensor))


@operator(out="same dtype")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The inner product of two vectors of one length, the first one conjugated. Raises RuntimeError otherwise."""
    _vectors(input, other, "vdot")
    return dispatch.call(VDOT, (input, other))


@operator(out="same dtype")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """A matrix times a vector, [n, m] by [m]. Raises RuntimeError for other shapes."""
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {1}, {input.ndim}, {vec.ndim}")
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({input.shape[0]}), mat ({input.shape[0]}x{input.shape[1]}), vec ({vec.shape[0]})"
        )
    _same_type("mv", input, vec)
    _no_bool("addmv_impl_cpu", input)
    return dispatch.call(MV, (input, vec))


@operator(spaces=("torch", "linalg"), out="same dtype")
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
    if n == 1 and m == 2:
        _fit(input.unsqueeze(0), other)
        return dispatch.call(SQUEEZE, (dispatch.call(MM, (input.unsqueeze(0), other)),), ((0,), 4))
    if n == 1:
        return matmul(input.unsqueeze(0), other).squeeze(-2)
    _same_type("matmul", input, other)
    if m <= 2:
        rows = input.reshape(-1, a[-1]) if a[-1] else input.reshape(int(np.prod(a[:-1])), 0)
        return unsafe_view(mv(rows, other), a[:-1]) if m == 1 else unsafe_view(mm(rows, other), (*a[:-1], b[1]))
    if a[-1] != b[-2]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{b[0]}, {a[-1]}] but got: [{b[0]}, {b[-2]}]."
        )
    if a[:-2] != b[:-2]:
        lead = broadcast_shapes(a[:-2], b[:-2])
        input, other = input.expand(*lead, *a[-2:]), other.expand(*lead, *b[-2:])
    _no_bool("bmm", input)
    out = dispatch.call(BMM, (input, other))
    return unsafe_view(out, out._data.shape) if out._requires_grad else out


def _factors(input: Tensor, beta: Any, alpha: Any) -> tuple[Any, Any]:
    """`beta` and `alpha` as numbers of the tensor's kind."""
    beta, alpha = (v.item() if isinstance(v, Tensor) else v for v in (beta, alpha))
    if input._dtype.category == INTEGRAL:
        return int(beta), int(alpha)
    return beta, alpha


def _expands(input: Tensor, shape: tuple[int, ...]) -> None:
    """Raise RuntimeError where `input` cannot be expanded to the result's shape."""
    if input.ndim != len(shape) or tuple(input._data.shape) != shape:
        expand_strides(input._data.shape, input.stride(), shape)


def _matching(input: Tensor, a: Tensor) -> None:
    if input._dtype is not a._dtype and not dispatch.casting():
        names = dispatch.type_name(input._dtype), dispatch.type_name(a._dtype)
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {names[0]} and {names[1]}")


@operator(inplace=True, out="same dtype")
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` of matrices. Raises RuntimeError where the shapes do not fit."""
    if mat1.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError(
            f"mat1 must be a matrix, got {mat1.ndim}-D tensor"
            if mat1.ndim != 2
            else f"mat2 must be a matrix, got {mat2.ndim}-D tensor"
        )
    _fit(mat1, mat2)
    _expands(input, (mat1.shape[0], mat2.shape[1]))
    _matching(input, mat1)
    return dispatch.call(ADDMM, (input, mat1, mat2), _factors(input, beta, alpha))


def _batches(name: str, input: Tensor, a: Tensor, b: Tensor, shape: Any) -> None:
    for i, t in enumerate((a, b), 1):
        if t.ndim != 3:
            raise RuntimeError(f"batch{i} must be a 3D tensor")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: "
            f"[{b.shape[0]}, {b.shape[1]}]."
        )
    _expands(input, shape(a.shape, b.shape))
    if not dispatch.casting() and (a._dtype is not b._dtype or input._dtype is not a._dtype):
        names = [dispatch.type_name(t._dtype).lower() for t in (input, a, b)]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {names[0]}, batch1: {names[1]}, batch2: {names[2]}"
        )
    _no_bool(name, a)


@operator(inplace=True, out="same dtype")
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)` of stacks of matrices. Raises RuntimeError where the shapes do not fit."""
    _batches("baddbmm", input, batch1, batch2, lambda a, b: (a[0], a[1], b[2]))
    return dispatch.call(BADDBMM, (input, batch1, batch2), _factors(input, beta, alpha))


@operator(inplace=True, out="same dtype")
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2).sum(0)`. Raises RuntimeError where the shapes do not fit."""
    _batches("addbmm", input, batch1, batch2, lambda a, b: (a[1], b[2]))
    return dispatch.call(ADDBMM, (input, batch1, batch2), _factors(input, beta, alpha))


@operator(inplace=True, out="same dtype")
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (mat @ vec)` of a matrix and a vector. Raises RuntimeError where the shapes do not fit."""
    if mat.ndim != 2 or vec.ndim != 1 or input.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}")
    if mat.shape[1] != vec.shape[0] or (input.numel() != mat.shape[0] and input.numel() != 1):
        raise RuntimeError(
            f"size mismatch, got input ({input.numel()}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )
    if not dispatch.casting() and not (input._dtype is mat._dtype is vec._dtype):
        names = [dispatch.type_name(t._dtype) for t in (input, mat, vec)]
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {names[0]}, {names[1]}, and {names[2]}"
        )
    _no_bool("addmv_impl_cpu", mat)
    return dispatch.call(ADDMV, (input, mat, vec), _factors(input, beta, alpha))


@operator(inplace=True, out=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`. Raises RuntimeError where the shapes do not fit."""
    for i, v in enumerate((vec1, vec2), 1):
        if v.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument vec{i}, but got {v.ndim}-D")
    _expands(input, (vec1.shape[0], vec2.shape[0]))
    kind = dispatch.result_type(input, vec1, vec2)
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if kind.category < FLOATING and isinstance(factor, float):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    a, b = vec1.to(kind), vec2.to(kind)
    return dispatch.call(ADDR, (input.to(kind), a, b), (beta, alpha))


@operator(name="linear", spaces=("nn.functional",), method=False)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`: input [..., in], weight [out, in], bias [out]; result [..., out].

    Raises RuntimeError where the inner sizes differ.
    """
    if bias is not None and weight.ndim == 2 and (input.ndim == 2 or input.is_contiguous()):
        flat = (
            input if input.ndim == 2 else input.reshape(-1, input.shape[-1]) if input.numel() else input.flatten(0, -2)
        )
        if flat.ndim == 1:
            flat = flat.unsqueeze(0)
        _fit_linear(flat, weight)
        shape = (flat.shape[0], weight.shape[0])
        _expands(bias, shape)
        out = dispatch.call(ADDMM, (bias, flat, weight.t()), (1, 1))
        return out if input.ndim == 2 else out.reshape(*input.shape[:-1], weight.shape[0])
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
