"""Discrete Fourier transforms: the namespace `torch.fft`, by numpy.fft.

Three primitives, named as PyTorch's tape nodes: complex to complex, real to complex (with all frequencies, or the half that determines
the rest), and complex to real. What a transform is divided by stands in `norm`: nothing (0), the root of the number of points (1), or
the number itself (2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..shapes import wrap_dim
from ..tensor import Tensor
from .arranging import roll
from .creation import of_array
from .declare import into, operator, tensor_argument
from .joining import cat
from .table import Op

Dims = tuple[int, ...]
Array = Any  # a numpy array
_FORWARD: Any = ("backward", "ortho", "forward")
_INVERSE: Any = ("forward", "ortho", "backward")

# -- primitives ---------------------------------------------------------------------------------


def _c2c(x: Array, dims: Dims, norm: int, forward: bool) -> Array:
    if not dims:
        return x.copy()
    return (
        np.fft.fftn(x, axes=dims, norm=_FORWARD[norm]) if forward else np.fft.ifftn(x, axes=dims, norm=_INVERSE[norm])
    )


def _r2c(x: Array, dims: Any, norm: int, onesided: bool) -> Array:
    if onesided or len(dims) > 1:
        return (np.fft.rfftn if onesided else np.fft.fftn)(x, axes=dims, norm=_FORWARD[norm])
    # Half of the frequencies of a real signal are the conjugates of the others.
    at, n = dims[0], x.shape[dims[0]]
    half = np.moveaxis(np.fft.rfft(x, axis=at, norm=_FORWARD[norm]), at, -1)
    out = np.empty((*half.shape[:-1], n), half.dtype)
    out[..., : n // 2 + 1] = half
    np.conjugate(half[..., (n + 1) // 2 - 1 : 0 : -1], out=out[..., n // 2 + 1 :])
    return np.ascontiguousarray(np.moveaxis(out, -1, at))


def _c2r(x: Array, dims: Dims, norm: int, last: int) -> Array:
    return np.fft.irfftn(x, [*[x.shape[d] for d in dims[:-1]], last], axes=dims, norm=_INVERSE[norm])


def _with_size(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    return (*shape[:dim], size, *shape[dim + 1 :])


C2C = Op(
    "fft_c2c", "input", "dims norm forward", kind="custom", cpu=_c2c, shape=lambda s, *_: s, backward="FftC2C",
    grads={"input": lambda g, dims, norm, forward: dispatch.call(C2C, (g,), (dims, norm, not forward))},
)  # fmt: skip
R2C = Op(
    "fft_r2c", "input", "dims norm onesided", kind="custom", cpu=_r2c, backward="FftR2C", dtype=lambda t, *_: t._dtype.to_complex(),
    shape=lambda s, dims, norm, onesided: _with_size(s, dims[-1], s[dims[-1]] // 2 + 1) if onesided else s,
    grads={
        "input": lambda g, input_shape, dims, norm, onesided: _r2c_backward(g, input_shape, dims, norm, onesided)
    },
)  # fmt: skip
C2R = Op(
    "fft_c2r", "input", "dims norm last", kind="custom", cpu=_c2r, backward="FftC2R", dtype=lambda t, *_: t._dtype.to_real(),
    shape=lambda s, dims, norm, last: _with_size(s, dims[-1], last),
    grads={"input": lambda g, dims, norm, last: _c2r_backward(g, dims, norm)},
)  # fmt: skip


def _r2c_backward(g: Tensor, shape: tuple[int, ...], dims: Dims, norm: int, onesided: bool) -> Tensor:
    """The real part of the inverse, with zeros for the frequencies that were not given."""
    if onesided:
        missing = shape[dims[-1]] - g.shape[dims[-1]]
        g = cat([g, g.new_zeros(_with_size(tuple(g.shape), dims[-1], missing))], dims[-1]) if missing else g
    return dispatch.call(C2C, (g,), (dims, norm, False)).real


def _c2r_backward(g: Tensor, dims: Dims, norm: int) -> Tensor:
    """The forward transform; frequencies that stand for two, their mirror image as well, count twice."""
    half = dispatch.call(R2C, (g,), (dims, norm, True))
    at = dims[-1]
    twice = g.shape[at] - half.shape[at]
    if twice <= 0:
        return half
    parts = [half.narrow(at, 0, 1), half.narrow(at, 1, twice) * 2]
    rest = half.shape[at] - 1 - twice
    return cat([*parts, half.narrow(at, 1 + twice, rest)] if rest else parts, at)


# -- arguments ----------------------------------------------------------------------------------


def _norm(norm: str | None, forward: bool) -> int:
    if norm is None or norm == "backward":
        return 0 if forward else 2
    if norm == "forward":
        return 2 if forward else 0
    if norm == "ortho":
        return 1
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def _promoted(name: str, input: Any, to_complex: bool = False) -> Tensor:
    """Integers as the default float, and floats as complex numbers where they must be."""
    t = tensor_argument(f"fft_{name}", "input", 1, input)
    kind = t._dtype if t._dtype.category >= dtypes.FLOATING else dtypes.get_default_dtype()
    if kind.is_floating_point and kind.itemsize < 4:
        raise RuntimeError(f"Unsupported dtype {dispatch.type_name(kind)}")
    kind = kind.to_complex() if to_complex and not kind.is_complex else kind
    return t if t._dtype is kind else t.to(kind)


def _real(name: str, input: Any) -> Tensor:
    t = _promoted(name, input)
    if t._dtype.is_complex:
        what = "a real-valued input tensor" if name.endswith("n") else "a real input tensor"
        raise RuntimeError(f"{name} expects {what}, but got {dispatch.type_name(t._dtype)}")
    return t


def _resized(t: Tensor, dims: Dims, sizes: tuple[int, ...]) -> Tensor:
    """Cut off or filled up with zeros to these sizes; -1 keeps one."""
    for d, n in zip(dims, sizes, strict=True):
        if n == -1 or n == t.shape[d]:
            continue
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
        if n < t.shape[d]:
            t = t.narrow(d, 0, n)
        else:
            t = cat([t, t.new_zeros(_with_size(tuple(t.shape), d, n - t.shape[d]))], d)
    return t


def _one(t: Tensor, n: int | None, dim: int) -> tuple[Tensor, Dims]:
    if t.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    at = wrap_dim(dim, t.ndim)
    if n is not None and n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    if n is None and t.shape[at] < 1:
        raise RuntimeError(f"Invalid number of data points ({t.shape[at]}) specified")
    return (t if n is None else _resized(t, (at,), (n,))), (at,)


def _several(t: Tensor, s: Any, dim: Any) -> tuple[Dims, tuple[int, ...]]:
    """The dimensions to transform, and the sizes asked for (-1: as they are)."""
    sizes = None if s is None else ((s,) if isinstance(s, int) else tuple(s))
    if dim is not None:
        given = (dim,) if isinstance(dim, int) else tuple(dim)
        dims = tuple(wrap_dim(d, t.ndim) for d in given)
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if sizes is not None and len(sizes) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif sizes is not None:
        if len(sizes) > t.ndim:
            raise RuntimeError(f"Got shape with {len(sizes)} values but input tensor only has {t.ndim} dimensions.")
        dims = tuple(range(t.ndim - len(sizes), t.ndim))
    else:
        dims = tuple(range(t.ndim))
    sizes = sizes if sizes is not None else (-1,) * len(dims)
    for d, n in zip(dims, sizes, strict=True):
        size = t.shape[d] if n == -1 else n
        if size < 1:
            raise RuntimeError(f"Invalid number of data points ({size}) specified")
    return dims, sizes


# -- one dimension ------------------------------------------------------------------------------


def _one_complex(name: str, input: Any, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    t, dims = _one(_promoted(name, input), n, dim)
    scale = _norm(norm, forward)
    if t._dtype.is_complex:
        return dispatch.call(C2C, (t,), (dims, scale, forward))
    out = dispatch.call(R2C, (t,), (dims, scale, False))
    return out if forward else out.conj()


def _one_half(name: str, input: Any, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    t, dims = _one(_real(name, input), n, dim)
    out = dispatch.call(R2C, (t,), (dims, _norm(norm, forward), True))
    return out if forward else out.conj()


def _one_real(name: str, input: Any, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    t = _promoted(name, input, to_complex=True)
    if t.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    last = 2 * (t.shape[wrap_dim(dim, t.ndim)] - 1) if n is None else n
    if last < 1:
        raise RuntimeError(f"Invalid number of data points ({last}) specified")
    t, dims = _one(t, None if n is None else n // 2 + 1, dim)
    return dispatch.call(C2R, (t.conj() if forward else t,), (dims, _norm(norm, forward), last))


def _fft(function: Any) -> Any:
    return operator(spaces=("fft",), method=False, out=True)(function)


@_fft
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along a dimension, of `n` points (cut off or filled up with zeros).

    `norm` says which direction is divided by n: "backward" (the default), "forward", or both by its root, "ortho". Raises RuntimeError
    for other modes and for less than one point.
    """
    return _one_complex("fft", input, n, dim, norm, True)


@_fft
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`."""
    return _one_complex("ifft", input, n, dim, norm, False)


@_fft
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The `n // 2 + 1` frequencies of a real input that determine the others. Raises RuntimeError for complex input."""
    return _one_half("rfft", input, n, dim, norm, True)


@_fft
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: real, of `n` points (by default an even number)."""
    return _one_real("irfft", input, n, dim, norm, False)


@_fft
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform of the Hermitian signal of which the first half is given: real, of `n` points."""
    return _one_real("hfft", input, n, dim, norm, True)


@_fft
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`. Raises RuntimeError for complex input."""
    return _one_half("ihfft", input, n, dim, norm, False)


# -- several dimensions -------------------------------------------------------------------------


def _all_complex(name: str, input: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Tensor:
    t = _promoted(name, input, to_complex=True)
    dims, sizes = _several(t, s, dim)
    return dispatch.call(C2C, (_resized(t, dims, sizes),), (dims, _norm(norm, forward), forward))


def _all_half(name: str, input: Any, s: Any, dim: Any, norm: str | None) -> tuple[Tensor, Dims]:
    t = _real(name, input)
    dims, sizes = _several(t, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    return _resized(t, dims, sizes), dims


def _all_real(name: str, input: Any, s: Any, dim: Any) -> tuple[Tensor, Dims, int]:
    t = _promoted(name, input, to_complex=True)
    dims, sizes = _several(t, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    last = 2 * (t.shape[dims[-1]] - 1) if s is None or sizes[-1] == -1 else sizes[-1]
    if last < 1:
        raise RuntimeError(f"Invalid number of data points ({last}) specified")
    return _resized(t, dims, (*sizes[:-1], last // 2 + 1)), dims, last


@_fft
def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The transform along several dimensions (all, or the last ones that `s` gives sizes of)."""
    return _all_complex("fftn", input, s, dim, norm, True)


@_fft
def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`."""
    return _all_complex("ifftn", input, s, dim, norm, False)


@_fft
def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`rfft` along the last of several dimensions, `fft` along the others."""
    t, dims = _all_half("rfftn", input, s, dim, norm)
    return dispatch.call(R2C, (t,), (dims, _norm(norm, True), True))


@_fft
def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`."""
    t, dims, last = _all_real("irfftn", input, s, dim)
    return dispatch.call(C2R, (t,), (dims, _norm(norm, False), last))


@_fft
def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`hfft` along the last of several dimensions, `fft` along the others."""
    t, dims, last = _all_real("hfftn", input, s, dim)
    scale = _norm(norm, True)
    if len(dims) > 1:
        t = dispatch.call(C2C, (t,), (dims[:-1], scale, True))
    return dispatch.call(C2R, (t.conj(),), (dims[-1:], scale, last))


@_fft
def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`."""
    t, dims = _all_half("ihfftn", input, s, dim, norm)
    scale = _norm(norm, False)
    out = dispatch.call(R2C, (t,), (dims[-1:], scale, True)).conj()
    return dispatch.call(C2C, (out,), (dims[:-1], scale, False)) if len(dims) > 1 else out


@_fft
def fft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`fftn` along the last two dimensions."""
    return fftn(input, s, dim, norm)


@_fft
def ifft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`ifftn` along the last two dimensions."""
    return ifftn(input, s, dim, norm)


@_fft
def rfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`rfftn` along the last two dimensions."""
    return rfftn(input, s, dim, norm)


@_fft
def irfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`irfftn` along the last two dimensions."""
    return irfftn(input, s, dim, norm)


@_fft
def hfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`hfftn` along the last two dimensions."""
    return hfftn(input, s, dim, norm)


@_fft
def ihfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`ihfftn` along the last two dimensions."""
    return ihfftn(input, s, dim, norm)


# -- frequencies --------------------------------------------------------------------------------


def _frequencies(name: str, places: Array, n: int, d: float, out: Any, dtype: Any, device: Any, grad: bool) -> Tensor:
    kind = dtype or (out.dtype if out is not None else dtypes.get_default_dtype())
    if kind.category < dtypes.FLOATING:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    real = kind.to_real().numpy
    made = of_array(places.astype(real) * real.type(1.0 / (n * d)), kind, device, grad)
    return made if out is None else into(out, made, name)


@operator(spaces=("fft",), method=False)
def fftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
            requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The frequencies of an `fft` of `n` points a distance `d` apart: `[0, 1, ... -2, -1] / (n d)`."""
    places = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])
    return _frequencies("fftfreq", places, n, d, out, dtype, device, requires_grad)


@operator(spaces=("fft",), method=False)
def rfftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The frequencies of an `rfft` of `n` points a distance `d` apart: `[0, 1, ... n // 2] / (n d)`."""
    return _frequencies("rfftfreq", np.arange(n // 2 + 1), n, d, out, dtype, device, requires_grad)


def _shifted(input: Tensor, dim: Any, by: Any) -> Tensor:
    if dim is None:
        dims = tuple(range(input.ndim))
    else:
        dims = tuple(wrap_dim(d, input.ndim) for d in ((dim,) if isinstance(dim, int) else dim))
    return roll(input, tuple(by(input.shape[d]) for d in dims), dims) if dims else input.clone()


@operator(spaces=("fft",), method=False)
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The zero frequency moved to the middle of the dimensions (all when None)."""
    return _shifted(input, dim, lambda n: n // 2)


@operator(spaces=("fft",), method=False)
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _shifted(input, dim, lambda n: (n + 1) // 2)
