"""Products of vectors, matrices and tensors beyond `matmul`: outer, inner, kron, cross, tensordot, chains and powers of matrices."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dispatch, dtypes
from ...shapes import broadcast_shapes, wrap_dim
from ...tensor import Tensor
from ..creation import tensor as make_tensor
from ..declare import operator, tensor_argument
from ..gradients import conj
from ..joining import cat
from ..matmul import matmul, mm, vdot
from ..sequences import eye
from ..table import Op
from ..views import unsafe_view
from .checks import float_or_complex, same_dtype, square
from .kernels import Array

# -- of vectors ---------------------------------------------------------------------------------


@operator(out=True, aliases=("ger",))
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of an element of one vector and one of another, [n, m]. Raises RuntimeError for other ranks."""
    for name, v in (("self", input), ("vec2", tensor_argument("outer", "vec2", 2, vec2))):
        if v.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {v.ndim}-D")
    return input.reshape(-1, 1) * vec2


@operator(out=True)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products over the last dimension of both, [..., ...]; a product where one is 0-d."""
    tensor_argument("inner", "other", 2, other)
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@operator(spaces=("linalg",), method=False, out=True)
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Inner products along a dimension, the first vectors conjugated."""
    float_or_complex("linalg.vecdot", tensor_argument("linalg_vecdot", "x", 1, x), low=True)
    same_dtype("linalg.vecdot", x, tensor_argument("linalg_vecdot", "y", 2, y), "x", "y")
    if x.ndim == 1 and y.ndim == 1:
        wrap_dim(dim, 1)
        return vdot(x, y)
    return (conj(x) * y).sum(dim)


def _cross(a: Array, b: Array, dim: int) -> Array:
    (a0, a1, a2), (b0, b1, b2) = np.moveaxis(a, dim, 0), np.moveaxis(b, dim, 0)
    return np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=dim)


CROSS = Op(
    "linalg_cross", "input other", "dim", kind="custom", cpu=_cross, shape=lambda a, b, dim: broadcast_shapes(a, b),
    grads={
        "input": lambda g, other, dim: dispatch.call(CROSS, (conj(other).expand(*g.shape), g), (dim,)),
        "other": lambda g, input, dim: dispatch.call(CROSS, (g, conj(input).expand(*g.shape)), (dim,)),
    },
)  # fmt: skip


@operator(spaces=("linalg",), method=False, out=True, name="cross")
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Cross products of vectors with three elements along a dimension. Raises RuntimeError for other lengths."""
    tensor_argument("linalg_cross", "other", 2, other)
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if input._dtype is not other._dtype:
        raise RuntimeError(
            f"expected scalar type {dispatch.type_name(input._dtype)} but found {dispatch.type_name(other._dtype)}"
        )
    at = wrap_dim(dim, input.ndim)
    if input.ndim == 0 or input.shape[at] != 3 or other.shape[at] != 3:
        sizes = [t.shape[at] if t.ndim else 1 for t in (input, other)]
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and {sizes[1]}")
    if input._dtype.category == dtypes.BOOL:
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    shape = broadcast_shapes(input.shape, other.shape)
    return dispatch.call(CROSS, (input.expand(*shape), other.expand(*shape)), (at,))


@operator(out="same dtype")
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Cross products along a dimension; without one, along the first of size 3 (which `linalg.cross` does not guess)."""
    if dim is None:
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply use "
            "torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future release.",
            stacklevel=3,
        )
        found = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if found is None:
            raise RuntimeError("no dimension of size 3 in input")
        dim = found
    return linalg_cross(input, other, dim=dim)


# -- of tensors ---------------------------------------------------------------------------------


@operator(out=True)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: every element of `input` times the whole of `other`, as blocks."""
    rank = max(input.ndim, tensor_argument("kron", "other", 2, other).ndim)
    a = (1,) * (rank - input.ndim) + tuple(input.shape)
    b = (1,) * (rank - other.ndim) + tuple(other.shape)
    left = input.reshape([n for s in a for n in (s, 1)])
    right = other.reshape([n for s in b for n in (1, s)])
    out = left * right
    return unsafe_view(
        out if out.is_contiguous() else out.contiguous(), tuple(m * n for m, n in zip(a, b, strict=True))
    )


def _contracted(a: Tensor, b: Tensor, dims: Any) -> tuple[list[int], list[int]]:
    """The dimensions that `tensordot` sums over, of both tensors."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, (tuple, list)) and len(dims) == 2 and all(isinstance(d, (tuple, list, int)) for d in dims):
        first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    elif isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        first, second = list(range(-dims, 0)), list(range(dims))
    else:
        raise RuntimeError(
            f"tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, but got dims={dims}"
        )
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    out = []
    for places, t in ((first, a), (second, b)):
        wrapped = [wrap_dim(d, t.ndim) for d in places]
        again = next((d for d in wrapped if wrapped.count(d) > 1), None)
        if again is not None:
            raise RuntimeError(f"dim {again} appears multiple times in the list of dims")
        out.append(wrapped)
    return out[0], out[1]


@operator(method=False, out="same dtype")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Products summed over pairs of dimensions: the last and first `dims`, or those of two lists. Sizes of 1 are broadcast.

    Raises RuntimeError where sizes or dtypes differ.
    """
    if a._dtype is not tensor_argument("tensordot", "other", 2, b)._dtype and not dispatch.casting():
        raise RuntimeError("both inputs should have same dtype")
    first, second = _contracted(a, b, dims)
    summed_a = [d for d, e in zip(first, second, strict=True) if a.shape[d] != b.shape[e] and b.shape[e] == 1]
    summed_b = [e for d, e in zip(first, second, strict=True) if a.shape[d] != b.shape[e] and a.shape[d] == 1]
    for d, e in zip(first, second, strict=True):
        if a.shape[d] != b.shape[e] and 1 not in (a.shape[d], b.shape[e]):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[d]} in dim {d} and second has size {b.shape[e]} "
                f"in dim {e}"
            )
    a = a.sum(summed_a, keepdim=True, dtype=a._dtype) if summed_a else a
    b = b.sum(summed_b, keepdim=True, dtype=b._dtype) if summed_b else b
    rest_a = [d for d in range(a.ndim) if d not in first]
    rest_b = [d for d in range(b.ndim) if d not in second]
    shape = [a.shape[d] for d in rest_a] + [b.shape[d] for d in rest_b]
    inner_size = int(np.prod([a.shape[d] for d in first], dtype=np.int64))
    left = a.permute(*rest_a, *first).reshape(int(np.prod([a.shape[d] for d in rest_a], dtype=np.int64)), inner_size)
    right = b.permute(*second, *rest_b).reshape(inner_size, int(np.prod([b.shape[d] for d in rest_b], dtype=np.int64)))
    return mm(left, right).reshape(shape)


@operator(spaces=("torch", "nn.functional"), method=False)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[k] @ input2 + bias[k]`: inputs [..., n] and [..., m], weight [out, n, m]; result [..., out].

    Raises RuntimeError where the sizes do not fit.
    """
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for d, (n, m) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if n != m:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {d}: got {n} and {m}")
    for i, t in enumerate((input1, input2), 1):
        if t.shape[-1] != weight.shape[i]:
            raise RuntimeError(
                f"bilinear(): input{i} size does not match weight size: got {t.shape[-1]} but expected {weight.shape[i]}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
    lead = tuple(input1.shape[:-1])
    outs, n, m = weight.shape
    one, two = input1.reshape(-1, n), input2.reshape(-1, m)
    partial = mm(one, weight.permute(1, 0, 2).reshape(n, outs * m)).reshape(-1, outs, m)
    out = matmul(partial, two.unsqueeze(-1)).reshape(*lead, outs)
    return out if bias is None else out + bias


# -- chains and powers --------------------------------------------------------------------------


def _order(sizes: tuple[int, ...]) -> Any:
    """The cheapest bracketing of a chain of matrices [sizes[i], sizes[i+1]]: nested pairs of numbers (Cormen et al., 15.2)."""

    @functools.cache
    def best(i: int, j: int) -> tuple[int, Any]:
        if i == j:
            return 0, i
        choices = []
        for k in range(i, j):
            (left, a), (right, b) = best(i, k), best(k + 1, j)
            choices.append((left + right + sizes[i] * sizes[k + 1] * sizes[j + 1], (a, b)))
        return min(choices, key=lambda c: c[0])

    return best(0, len(sizes) - 2)[1]


def _chain(parts: list[Tensor]) -> Tensor:
    def run(tree: Any) -> Tensor:
        return parts[tree] if isinstance(tree, int) else mm(run(tree[0]), run(tree[1]))

    return run(_order((*[p.shape[0] for p in parts], parts[-1].shape[1])))


@operator(spaces=("linalg",), method=False, out=True)
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of two or more matrices in the cheapest order; the first and last may be vectors."""
    if isinstance(tensors, Tensor):
        raise TypeError("linalg_multi_dot(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    parts = list(tensors)
    if len(parts) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(parts)}")
    for i, t in ((0, parts[0]), (len(parts) - 1, parts[-1])):
        if t.ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {'last' if i else 'first'} tensor must be 1D or 2D but got {t.ndim}D")
    for i, t in enumerate(parts[1:-1], 1):
        if t.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {t.ndim}D")
    for i, t in enumerate(parts[1:], 1):
        if t._dtype is not parts[0]._dtype:
            names = [dispatch.type_name(p._dtype).lower() for p in (parts[0], t)]
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {names[0]} and tensor {i} {names[1]}"
            )
    row, column = parts[0].ndim == 1, parts[-1].ndim == 1
    parts[0] = parts[0].unsqueeze(0) if row else parts[0]
    parts[-1] = parts[-1].unsqueeze(-1) if column else parts[-1]
    for i, (a, b) in enumerate(itertools.pairwise(parts)):
        if a.shape[1] != b.shape[0]:
            shapes = [list(tensors[i].shape), list(tensors[i + 1].shape)]
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {shapes[0]} and {shapes[1]} cannot be multiplied"
            )
    shape = ([] if row else [parts[0].shape[0]]) + ([] if column else [parts[-1].shape[1]])
    return _chain(parts).reshape(shape)


@operator(method=False)
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of matrices in the cheapest order; `linalg.multi_dot` is its successor."""
    warnings.warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, which "
        "accepts a list of two or more tensors rather than multiple parameters.",
        stacklevel=3,
    )
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for i, t in enumerate(matrices):
        if t.ndim != 2:
            raise RuntimeError(
                f"Tensor dimension is {t.ndim}, expected 2 instead." if i == 0 else f"tensor {i} must be 2D"
            )
    result = matrices[0] if len(matrices) == 1 else multi_dot(list(matrices))
    if out is None:
        return result
    from ..declare import into

    return into(out, result, "chain_matmul")


@operator(name="matrix_power", out="same dtype")
def power(input: Tensor, n: int) -> Tensor:
    """Square matrices to an integer power, the inverse for a negative one. Raises RuntimeError for others."""
    return matrix_power(input, n)


@operator(spaces=("linalg",), method=False, out="same dtype")
def matrix_power(A: Tensor, n: int) -> Tensor:
    """Square matrices to an integer power, the inverse for a negative one. Raises RuntimeError for others."""
    name, a = "linalg.matrix_power", A
    square(name, a, floating=False)
    if not isinstance(n, (int, np.integer)):
        raise TypeError(f"{name.replace('.', '_')}(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    if n == 0:
        return a.clone().copy_(eye(a.shape[-1], dtype=a._dtype, device=a.device).expand(*a.shape))
    if n < 0:
        from .solves import inv

        a, n = inv(a), -n
    if n == 1:
        return a.clone()
    result: Tensor | None = None
    while n:
        if n & 1:
            result = a if result is None else matmul(result, a)
        n >>= 1
        if n:
            a = matmul(a, a)
    assert result is not None
    return result


TRACE = Op(
    "trace", "input", kind="linalg", shape=lambda s: s[:-2],
    cpu=lambda x: np.trace(x, axis1=-2, axis2=-1, dtype=x.dtype),
    grads={"input": lambda g, input_shape: g.new_zeros(input_shape).diagonal_scatter(g.expand(min(input_shape[-2:])), 0, -2, -1)},
)  # fmt: skip


@operator(out="same dtype")
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's main diagonal; integers are summed as int64. Raises RuntimeError for other ranks."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input._dtype.category == dtypes.BOOL:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    return dispatch.call(TRACE, (input.to(dtypes.int64) if input._dtype.category == dtypes.INTEGRAL else input,))


# -- powers of vectors --------------------------------------------------------------------------


@operator(spaces=("linalg",), method=False, name="vander")
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Vandermonde matrices [..., n, N]: the powers 0 to N-1 of the elements of `x` as rows. Raises RuntimeError for N < 2."""
    tensor_argument("linalg_vander", "x", 1, x)
    if x._dtype.category == dtypes.BOOL:
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got Bool")
    x = x if x.ndim else x.reshape(1)
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    base = x if x._dtype.category >= dtypes.FLOATING else x.to(dtypes.int64)
    column = base.unsqueeze(-1)
    powers = column.expand(*base.shape, count - 1).cumprod(-1)
    return cat([column.new_ones(column.shape), powers], -1)


@operator(method=False)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix [n, N] of a vector: its powers N-1 to 0 (0 to N-1 when `increasing`) as rows."""
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    base = x if x._dtype.category >= dtypes.FLOATING else x.to(dtypes.int64)
    order = make_tensor(
        list(range(count)) if increasing else list(range(count - 1, -1, -1)), dtype=dtypes.int64, device=x.device
    )
    if count <= 1:
        return base.new_ones(base.shape[0], count)
    return linalg_vander(base, N=count).index_select(1, order)
