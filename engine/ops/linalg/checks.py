"""What functions of linear algebra say of arguments that do not fit, and the error of matrices that cannot be treated."""

from __future__ import annotations

from typing import Any

from ... import dispatch, dtypes
from ...tensor import Tensor
from ..declare import tensor_argument


class LinAlgError(RuntimeError):
    """A matrix is singular, not positive-definite, or an iteration does not converge."""


LinAlgError.__module__ = "torch.linalg"


def matrices(name: str, a: Any, argument: str = "A", position: int = 1, floating: bool = True) -> Tensor:
    """`a` if it is a tensor of matrices of a dtype that is computed in. Raises TypeError or RuntimeError otherwise."""
    tensor_argument(name.replace(".", "_"), argument, position, a)
    if a.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    if floating:
        float_or_complex(name, a)
    return a


def float_or_complex(name: str, a: Tensor, low: bool = False) -> None:
    """Raise RuntimeError for integers and, unless `low`, for 16-bit floats."""
    if a._dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {dispatch.type_name(a._dtype)}"
        )
    if not low and a._dtype.is_floating_point and a._dtype.itemsize < 4:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {dispatch.type_name(a._dtype)}")


def square(name: str, a: Any, argument: str = "A", floating: bool = True) -> Tensor:
    """`a` if it is a tensor of square matrices. Raises RuntimeError otherwise."""
    matrices(name, a, argument, floating=False)
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )
    if floating:
        float_or_complex(name, a)
    return a


def same_dtype(name: str, a: Tensor, b: Tensor, first: str = "A", second: str = "B") -> None:
    """Raise RuntimeError where the dtypes differ."""
    if a._dtype is not b._dtype:
        raise RuntimeError(
            f"{name}: Expected {first} and {second} to have the same dtype, but found {first} of type "
            f"{dispatch.type_name(a._dtype)} and {second} of type {dispatch.type_name(b._dtype)} instead"
        )


def readable(t: Tensor) -> bool:
    """Whether values can be looked at: those of a batch that `vmap` hides cannot."""
    return t._storage.backend.name != "vmap"


def failed(name: str, info: Tensor, sentence: str) -> None:
    """Raise LinAlgError where an `info` is positive; `sentence` has `{}` for its value."""
    if info.numel() == 0 or not readable(info):
        return
    values = info.reshape(-1).tolist()
    bad = next((i for i, v in enumerate(values) if v), None)
    if bad is not None:
        batch = f"(Batch element {bad}): " if info.ndim else ""
        raise LinAlgError(f"{name}: {batch}{sentence.format(values[bad])}")


def adjoint(a: Tensor) -> Tensor:
    """Matrices transposed and conjugated."""
    out = a.transpose(-2, -1)
    return out.conj() if a._dtype.is_complex else out


def batch_shape(*shapes: Any) -> tuple[int, ...]:
    """The shape that the batch dimensions of matrices broadcast to."""
    from ...shapes import broadcast_shapes

    return broadcast_shapes(*[s[:-2] for s in shapes])


def expand_batch(a: Tensor, lead: tuple[int, ...]) -> Tensor:
    """Matrices expanded to these batch dimensions."""
    return a if tuple(a.shape[:-2]) == lead else a.expand(*lead, *a.shape[-2:])
