"""Complex numbers: their parts as views, conjugates, angles, and making them from real ones.

A complex tensor and the real tensor of its parts share memory: `real`, `imag`, `view_as_real` and `view_as_complex` copy
nothing. `conj` makes a copy here; no tensor is conjugated lazily.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch
from ..numerics.blocks import store
from ..shapes import broadcast_shapes
from ..tensor import Tensor
from .declare import into, op_functions, operator, pointwise
from .gradients import choose, conj, zeros_like
from .table import Op
from .views import SELECT, Geometry

# -- the parts as views -------------------------------------------------------------------------


def _as_real(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Geometry:
    return (*shape, 2), (*[2 * s for s in strides], 1), 2 * offset


def _as_complex(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Geometry:
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return shape[:-1], tuple([s // 2 for s in strides[:-1]]), offset // 2


VIEW_AS_REAL = Op(
    "view_as_real", "input", kind="view", geometry=_as_real, dtype=lambda t: t._dtype.to_real(),
    grads={"input": lambda g: view_as_complex(g.contiguous())},
)  # fmt: skip
VIEW_AS_COMPLEX = Op(
    "view_as_complex", "input", kind="view", geometry=_as_complex, dtype=lambda t: t._dtype.to_complex(),
    grads={"input": lambda g: view_as_real(g)},
)  # fmt: skip


@operator(method=False)
def view_as_real(input: Tensor) -> Tensor:
    """The parts of complex numbers as a new last dimension of size 2, in the same memory. Raises RuntimeError for others."""
    if not input.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return dispatch.call(VIEW_AS_REAL, (input,))


@operator(method=False)
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs along the last dimension as complex numbers, in the same memory. Raises RuntimeError where it is not so laid out."""
    if not input.dtype.is_floating_point:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{dispatch.type_name(input.dtype)}"
        )
    if input.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    return dispatch.call(VIEW_AS_COMPLEX, (input,))


@operator(method=False)
def real(input: Tensor) -> Tensor:
    """The real parts, a view; real tensors themselves."""
    if not input._dtype.is_complex:
        return input
    pairs = dispatch.call(VIEW_AS_REAL, (input,))
    return dispatch.call(SELECT, (pairs,), (pairs.ndim - 1, 0))


@operator(method=False)
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, a view. Raises RuntimeError for real tensors."""
    if not input._dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    pairs = dispatch.call(VIEW_AS_REAL, (input,))
    return dispatch.call(SELECT, (pairs,), (pairs.ndim - 1, 1))


def _set_real(self: Tensor, value: Any) -> None:
    real(self).copy_(value)


def _set_imag(self: Tensor, value: Any) -> None:
    imag(self).copy_(value)


PROPERTIES = {"real": property(real, _set_real), "imag": property(imag, _set_imag)}
"""What hangs on the Tensor class as a property."""

# -- conjugates ---------------------------------------------------------------------------------


def _conjugate(x: Any, out: Any = None) -> Any:
    if x.dtype.kind == "c":
        return np.conjugate(x, out=out)
    if out is None:
        return x.copy()
    np.copyto(out, x)
    return out


CONJ = pointwise(
    "conj_physical", cpu=_conjugate, expr="input", grads={"input": lambda g: conj(g)}, doc="The complex conjugate."
)


@operator(name="conj")
def conjugate(input: Tensor) -> Tensor:
    """The complex conjugate; real tensors are themselves."""
    return conj(input)


@operator()
def resolve_conj(input: Tensor) -> Tensor:
    """`input` itself: nothing is conjugated lazily here."""
    return input


@operator()
def resolve_neg(input: Tensor) -> Tensor:
    """`input` itself: nothing is negated lazily here."""
    return input


@operator()
def is_conj(input: Tensor) -> bool:
    """Always False: nothing is conjugated lazily here."""
    return False


@operator()
def is_neg(input: Tensor) -> bool:
    """Always False: nothing is negated lazily here."""
    return False


# -- angles and making complex numbers ----------------------------------------------------------


def _angle(x: Any, out: Any = None) -> Any:
    if x.dtype.kind == "c":
        return np.arctan2(x.imag, x.real, out=out)
    return store(np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0.0)), x.dtype, out)


def _angle_backward(g: Tensor, x: Tensor) -> Tensor:
    if not x._dtype.is_complex:
        return zeros_like(g)
    square = (x * conj(x)).real
    return choose(square == 0, 0.0, g * (x * 1j) / choose(square == 0, 1.0, square))


ANGLE = pointwise(
    "angle", cpu=_angle, result="float real", inplace=False, doc="The angle to the positive real axis, in radians.",
    expr="where(isnan(input), input, where(input < 0, 3.141592653589793, 0.0))",
    grads={"input": lambda g, input: _angle_backward(g, input)},
)  # fmt: skip


def _complex(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real, np.complex64))
    out.real, out.imag = real, imag
    return out


def _polar(size: np.ndarray, angle: np.ndarray) -> np.ndarray:
    return _complex(size * np.cos(angle), size * np.sin(angle))


def _pair(name: str, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    for i, t in enumerate((a, b)):
        if not isinstance(t, Tensor):
            names = ("real", "imag") if name == "complex" else ("abs", "angle")
            raise TypeError(
                f"{name}(): argument '{names[i]}' (position {i + 1}) must be Tensor, not {type(t).__name__}"
            )
    if not (a.dtype.is_floating_point and b.dtype.is_floating_point):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {dispatch.type_name(a.dtype)} and "
            f"{dispatch.type_name(b.dtype)}"
        )
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {dispatch.type_name(a.dtype)} but got scalar type {dispatch.type_name(b.dtype)} for "
            "second argument"
        )
    broadcast_shapes(a.shape, b.shape)
    return a, b


COMPLEX = Op(
    "complex", "real imag", kind="custom", cpu=_complex, shape=lambda a, b: broadcast_shapes(a, b),
    dtype=lambda a, b: a._dtype.to_complex(), grads={"real": lambda g: g.real, "imag": lambda g: g.imag},
)  # fmt: skip
POLAR = Op(
    "polar", "abs angle", kind="custom", cpu=_polar, shape=lambda a, b: broadcast_shapes(a, b),
    dtype=lambda a, b: a._dtype.to_complex(),
    grads={
        "abs": lambda g, result: (conj(g) * op_functions["sgn"](result)).real,
        "angle": lambda g, result: (conj(g) * (result * 1j)).real,
    },
)  # fmt: skip


def _given(name: str, value: Tensor, out: Tensor | None) -> Tensor:
    if out is None:
        return value
    if out.dtype is not value.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {dispatch.type_name(value.dtype)} but got scalar type "
            f"{dispatch.type_name(out.dtype)} for argument 'out'"
        )
    return into(out, value, name)


@operator(name="complex", method=False)
def make_complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their parts, both of one floating-point type."""
    return _given("complex", dispatch.call(COMPLEX, _pair("complex", real, imag)), out)


@operator(method=False)
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from absolute values and angles, both of one floating-point type."""
    return _given("polar", dispatch.call(POLAR, _pair("polar", abs, angle)), out)
