"""Tensors out of nothing, out of Python data or numpy, and conversion between dtypes and devices.

New memory is filled on the CPU and uploaded, but for constants and ranges, which a device may fill itself.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .. import dispatch, dtypes
from ..backends.base import backend as backend_of
from ..device import device as Device
from ..device import resolve
from ..shapes import Size
from ..tensor import Tensor, wrap
from .declare import into, operator
from .table import Op

# -- from Python data and numpy -----------------------------------------------------------------


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A CPU tensor that shares the array's memory.

    Raises TypeError for what is no array or has no dtype here, ValueError for negative strides.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    kind = dtypes.of_numpy(ndarray.dtype)
    if ndarray.dtype.newbyteorder("=") != ndarray.dtype or not ndarray.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is currently not supported."
        )
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
            "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
        )
    if any(s % ndarray.itemsize for s in ndarray.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy array to reallocate the memory."
        )
    if not ndarray.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to this "
            "tensor will result in undefined behavior.",
            stacklevel=2,
        )
        ndarray = ndarray.copy()
    return wrap(ndarray if type(ndarray) is np.ndarray else ndarray.view(np.ndarray), kind, backend_of("cpu"))


def _to_array(data: Any, kind: Any) -> tuple[np.ndarray, Any]:
    """Nested Python data as a numpy array and its dtype; errors name the place."""
    if isinstance(data, (np.ndarray, np.generic)):
        found = dtypes.of_numpy(np.asarray(data).dtype)
        array = np.asarray(data)
        return array.astype(array.dtype.newbyteorder("=")), kind or found
    if isinstance(data, (bool, int, float, complex)):
        found = kind or dtypes.of_scalar(data)
        return _scalar_array(data, found), found
    if hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        return _to_array(np.asarray(data), kind)
    if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes, dict)):
        shape, leaves = _walk(data)
        if kind is None:
            kind = _infer(leaves)
        if kind.category < dtypes.COMPLEX and any(isinstance(v, complex) for v in leaves):
            raise TypeError("can't convert complex to float")
        flat = np.empty(len(leaves), kind.numpy)
        try:
            flat[:] = leaves
        except OverflowError:
            if kind.category == dtypes.INTEGRAL and kind is dtypes.int64:
                raise RuntimeError("Overflow when unpacking long") from None
            raise RuntimeError(f"value cannot be converted to type {kind.numpy.name} without overflow") from None
        return flat.reshape(shape), kind
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _scalar_array(value: Any, kind: Any) -> np.ndarray:
    if isinstance(value, complex) and not kind.is_complex:
        raise RuntimeError(f"value cannot be converted to type {kind.numpy.name} without overflow")
    if kind.category == dtypes.INTEGRAL and isinstance(value, float):
        value = int(value)
    try:
        return np.array(value, kind.numpy)
    except OverflowError:
        if kind is dtypes.int64:
            raise RuntimeError("Overflow when unpacking long") from None
        raise RuntimeError(f"value cannot be converted to type {kind.numpy.name}_t without overflow") from None


def _walk(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested sequences, and their leaves in order. Raises ValueError where lengths differ."""
    shape: list[int] = []
    probe = data
    while _nested(probe):
        shape.append(len(probe))
        if len(probe) == 0:
            return tuple(shape), []
        probe = probe[0]
    level = [data]
    for depth, size in enumerate(shape):
        below: list[Any] = []
        for part in level:
            if not _nested(part):
                raise TypeError(f"not a sequence of length {size} at dim {depth} (got a {type(part).__name__})")
            if len(part) != size:
                raise ValueError(f"expected sequence of length {size} at dim {depth} (got {len(part)})")
            below.extend(part)
        level = below
    leaves = []
    for v in level:
        if isinstance(v, Tensor):
            if v.ndim or not v.numel() == 1:
                raise ValueError("only one element tensors can be converted to Python scalars")
            leaves.append(v.item())
        elif isinstance(v, np.generic):
            leaves.append(v.item())
        elif isinstance(v, (bool, int, float, complex)):
            leaves.append(v)
        elif _nested(v):
            raise ValueError(f"expected sequence of length {0} at dim {len(shape)} (got {len(v)})")
        elif isinstance(v, str):
            raise ValueError(f"too many dimensions '{type(v).__name__}'")
        else:
            raise (
                TypeError(f"must be real number, not {type(v).__name__}")
                if v is not None
                else RuntimeError(f"Could not infer dtype of {type(v).__name__}")
            )
    return tuple(shape), leaves


def _nested(v: Any) -> bool:
    if isinstance(v, (Tensor, np.ndarray)):
        return v.ndim > 0
    return isinstance(v, (list, tuple, range)) or (
        hasattr(v, "__len__") and hasattr(v, "__getitem__") and not isinstance(v, (str, bytes, dict, np.generic))
    )


def _infer(leaves: list[Any]) -> Any:
    if not leaves:
        return dtypes.get_default_dtype()
    top = max(
        3 if isinstance(v, complex) else 2 if isinstance(v, float) else 0 if isinstance(v, bool) else 1 for v in leaves
    )
    return (dtypes.bool_, dtypes.int64, dtypes.get_default_dtype(), dtypes.get_default_dtype().to_complex())[top]


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new tensor with a copy of Python data (numbers, nested sequences), a numpy array or a tensor.

    The dtype is inferred where not given. Raises ValueError for ragged data, TypeError or RuntimeError for what is no number.
    """
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            stacklevel=2,
        )
        out = data.detach().clone().to(device=device if device is not None else data.device, dtype=dtype or data.dtype)
        return out.requires_grad_(requires_grad)
    array, kind = _to_array(data, dtype)
    home = backend_of(resolve(device).type)
    if array.dtype != kind.numpy:
        array = backend_of("cpu").cast(array, kind)
    out = wrap(home.upload(array, kind), kind, home)
    return out.requires_grad_() if requires_grad else out


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Like `tensor`, but shares memory with a tensor or numpy array where no conversion is needed."""
    if isinstance(data, Tensor):
        return data.to(device=device if device is not None else data.device, dtype=dtype or data.dtype)
    if isinstance(data, np.ndarray) and resolve(device).type == "cpu":
        out = from_numpy(data)
        return out if dtype is None else out.to(dtype)
    return tensor(data, dtype=dtype, device=device)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of anything array-like; shares memory where possible unless `copy`."""
    out = (
        tensor(obj, dtype=dtype, device=device)
        if copy and not isinstance(obj, Tensor)
        else as_tensor(obj, dtype, device)
    )
    if copy and isinstance(obj, Tensor):
        out = out.clone()
    return out.requires_grad_() if requires_grad else out


def legacy_tensor(args: tuple[Any, ...], device: Any) -> Tensor:
    """`torch.Tensor(...)`: sizes make an uninitialised float tensor, a sequence is its data."""
    if len(args) == 1 and not isinstance(args[0], (int, Size)):
        if isinstance(args[0], Tensor):
            return args[0].detach_shallow()
        return tensor(args[0], dtype=dtypes.get_default_dtype(), device=device)
    return empty(*args, device=device)


# -- filled -------------------------------------------------------------------------------------


def _sizes(args: tuple[Any, ...]) -> tuple[int, ...]:
    from .views import sizes

    out = sizes(args)
    for s in out:
        if s < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {s}: {list(out)}")
    return out


def _made(shape: tuple[int, ...], value: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    kind = dtype or dtypes.get_default_dtype()
    home = backend_of(resolve(device).type)
    made = home.full(shape, value, kind)
    out = wrap(made, kind, home)
    return out.requires_grad_() if requires_grad else out


def empty(*size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
          pin_memory: bool = False, memory_format: Any = None) -> Tensor:  # fmt: skip
    """A tensor with unspecified elements."""
    kind = dtype or dtypes.get_default_dtype()
    home = backend_of(resolve(device).type)
    made = wrap(home.empty(_sizes(size), kind), kind, home)
    return made.requires_grad_() if requires_grad else made


def zeros(*size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
          pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor of zeros."""
    made = _made(_sizes(size), 0, dtype, device, requires_grad)
    return made if out is None else into(out, made, "zeros")


def ones(*size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
         pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor of ones."""
    made = _made(_sizes(size), 1, dtype, device, requires_grad)
    return made if out is None else into(out, made, "ones")


def full(size: Any, fill_value: Any, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
         requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor of one value; the dtype is the value's where not given."""
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    made = _made(_sizes((size,)), fill_value, dtype or dtypes.of_scalar(fill_value), device, requires_grad)
    return made if out is None else into(out, made, "full")


def _like(make: Any) -> Any:
    def function(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
                 pin_memory: bool = False, memory_format: Any = None) -> Tensor:  # fmt: skip
        return make(input.shape, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad)

    function.__name__ = make.__name__ + "_like"
    function.__doc__ = f"`{make.__name__}` in the shape, dtype and device of `input`."
    return function


empty_like, zeros_like, ones_like = _like(empty), _like(zeros), _like(ones)


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
              requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None) -> Tensor:  # fmt: skip
    """`full` in the shape, dtype and device of `input`."""
    return full(
        input.shape, fill_value, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad
    )


def arange(*args: Any, start: Any = None, end: Any = None, step: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
           device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """`start, start + step, ...` below `end`; int64 where all are integers, else the default dtype."""
    given = [v.item() if isinstance(v, Tensor) else v for v in args]
    if len(given) == 1 and end is None:
        end = given[0]
    elif given:
        start = given[0]
        end = given[1] if len(given) > 1 else end
        step = given[2] if len(given) > 2 else step
    start, step = 0 if start is None else start, 1 if step is None else step
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not all(math.isfinite(v) for v in (start, end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    kind = dtype or (
        dtypes.get_default_dtype() if any(isinstance(v, float) for v in (start, end, step)) else dtypes.int64
    )
    count = math.ceil((end - start) / step)
    if kind.category == dtypes.INTEGRAL:
        values = int(start) + np.arange(count, dtype=np.int64) * int(step)
    else:
        values = start + np.arange(count, dtype=np.float64) * step
    made = tensor(values.astype(kind.numpy), device=device, requires_grad=requires_grad)
    return made if out is None else into(out, made, "arange")


def linspace(start: Any, end: Any, steps: int, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:  # fmt: skip
    """`steps` evenly spaced values from `start` to `end`, both included."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = dtype or dtypes.get_default_dtype()
    first, last = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    work = kind.numpy if kind.category >= dtypes.FLOATING else np.dtype(np.float64)
    at = np.arange(steps)
    step = work.type((last - first) / (steps - 1)) if steps > 1 else work.type(0)
    low = work.type(first) + step * at.astype(work)
    high = work.type(last) - step * (steps - 1 - at).astype(work)
    values = np.where(at < steps // 2, low, high) if steps > 1 else low
    made = tensor(values.astype(kind.numpy), device=device, requires_grad=requires_grad)
    return made if out is None else into(out, made, "linspace")


def eye(n: int, m: int | None = None, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The identity matrix, [n, m]."""
    kind = dtype or dtypes.get_default_dtype()
    made = tensor(np.eye(n, m, dtype=kind.numpy), device=device, requires_grad=requires_grad)
    return made if out is None else into(out, made, "eye")


def _new(name: str, make: Any) -> Any:
    def method(
        self: Tensor, *args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any
    ) -> Tensor:
        return make(*args, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)

    method.__name__ = name
    method.__doc__ = f"`torch.{make.__name__}` in this tensor's dtype and device."
    return method


METHODS: dict[str, Any] = {
    f"new_{f.__name__}": _new(f"new_{f.__name__}", f) for f in (empty, zeros, ones, full)
}  # fmt: skip
METHODS["new_tensor"] = lambda self, data, dtype=None, device=None, requires_grad=False: tensor(
    data,
    dtype=dtype or (self.dtype if not isinstance(data, Tensor) else data.dtype),
    device=device or self.device,
    requires_grad=requires_grad,
)
METHODS["zeros_like_plain"] = lambda self: zeros(self.shape, dtype=self.dtype, device=self.device)
CREATORS = (
    tensor, as_tensor, asarray, from_numpy, empty, zeros, ones, full, empty_like, zeros_like, ones_like, full_like, arange, linspace, eye,
)  # fmt: skip

# -- copies and conversion ----------------------------------------------------------------------

CLONE = Op(
    "clone", "input", kind="cast", cpu=lambda x: np.array(x, order="K"), shape=lambda s: s, grads={"input": lambda g: g}
)
CONTIGUOUS = Op("contiguous", "input", kind="cast", cpu=lambda x: np.array(x, order="C"), shape=lambda s: s, backward="Clone",
                grads={"input": lambda g: g})  # fmt: skip


@operator()
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy that is recorded; the memory order is kept unless a contiguous one is asked for."""
    if getattr(memory_format, "name", "") == "contiguous_format":
        return dispatch.call(CONTIGUOUS, (input,))
    if 0 in input.stride():
        return dispatch.call(CONTIGUOUS, (input,))
    return dispatch.call(CLONE, (input,))


@operator(spaces=("method",))
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself where it is row-major, else a row-major copy."""
    return self if self.is_contiguous() else dispatch.call(CONTIGUOUS, (self,))


@operator(spaces=("method",))
def contiguous_copy(self: Tensor) -> Tensor:
    """A row-major copy in any case."""
    return dispatch.call(CONTIGUOUS, (self,))


CAST = Op(
    "to_dtype", "input", "dtype", kind="cast", backward="ToCopy", shape=lambda s, _: s, dtype=lambda t, kind: kind,
    cpu=lambda x, kind: backend_of("cpu").cast(x, kind), grads={"input": lambda g: g},
)  # fmt: skip


def convert(t: Tensor, kind: Any) -> Tensor:
    """`t` in another dtype."""
    if t._dtype.is_complex and not kind.is_complex and kind.category:
        warnings.warn("Casting complex values to real discards the imaginary part", stacklevel=3)
    return dispatch.call(CAST, (t,), (kind,))


def move(t: Tensor, where: Device) -> Tensor:
    """`t` copied to another device, recorded."""
    from ..autograd.moving import to_device

    return to_device(t, where)


@operator(spaces=("method",))
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """In another dtype or on another device: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`.

    The tensor itself where nothing changes, unless `copy=True`.
    """
    where, kind = kwargs.get("device"), kwargs.get("dtype")
    for a in args:
        if isinstance(a, dtypes.dtype):
            kind = a
        elif isinstance(a, Tensor):
            where, kind = a.device, a.dtype
        elif isinstance(a, (str, Device, int)) and not isinstance(a, bool):
            where = a
        elif a is not None and not isinstance(a, bool):
            raise TypeError(f"to() received an invalid combination of arguments - got ({type(a).__name__})")
    out = self
    if kind is not None and kind is not self._dtype:
        out = convert(out, kind)
    if where is not None:
        target = resolve(where)
        if target.type != out._storage.backend.name:
            out = move(out, target)
    if out is self and kwargs.get("copy"):
        out = clone(self)
    return out


@operator(spaces=("method",), name="type")
def type_name_or_cast(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type ("torch.FloatTensor"); with a dtype, or such a name, the tensor converted to it."""
    if dtype is None:
        return f"torch.{dispatch.type_name(self._dtype)}Tensor"
    if isinstance(dtype, str):
        found = {f"torch.{dispatch.type_name(d)}Tensor": d for d in dtypes.DTYPES.values()}.get(dtype)
        if found is None:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = found
    return to(self, dtype)


@operator(spaces=("method",))
def cpu(self: Tensor) -> Tensor:
    """In the CPU's memory."""
    return to(self, "cpu")


@operator(spaces=("method",))
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """In the dtype of `other`."""
    return to(self, other.dtype)


def _caster(kind: Any) -> Any:
    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        return to(self, kind)

    method.__doc__ = f"In dtype {kind.name}."
    return method


for _name, _kind in {
    "float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32", "short": "int16",
    "char": "int8", "byte": "uint8", "bool": "bool", "cfloat": "complex64", "cdouble": "complex128",
}.items():  # fmt: skip
    METHODS[_name] = _caster(dtypes.DTYPES[_kind])

# -- writing ------------------------------------------------------------------------------------


@operator(spaces=("method",))
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write the elements of `src` (broadcast, converted, from any device) into this tensor."""
    if not isinstance(src, Tensor):
        src = tensor(src, dtype=self.dtype, device=self.device)
    source = to(src, device=self.device, dtype=self.dtype)
    if source.shape != self.shape:
        try:
            source = source.expand(*self.shape)
        except RuntimeError:
            raise RuntimeError(
                f"The size of tensor a ({self.shape[-1] if self.ndim else 1}) must match the size of tensor b "
                f"({src.shape[-1] if src.ndim else 1}) at non-singleton dimension {max(self.ndim - 1, 0)}"
            ) from None
    return dispatch.write(self, source)


@operator(spaces=("method",))
def fill_(self: Tensor, value: Any) -> Tensor:
    """Set all elements to a number or 0-d tensor."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return copy_(self, value)
    if isinstance(value, complex) and not self.dtype.is_complex:
        raise RuntimeError("value cannot be converted to type float without overflow")
    return dispatch.write(self, full((), value, dtype=self.dtype, device=self.device).expand(*self.shape))


@operator(spaces=("method",))
def zero_(self: Tensor) -> Tensor:
    """Set all elements to zero."""
    return fill_(self, 0)
