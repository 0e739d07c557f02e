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
from ..shapes import Size, broadcast_shapes, contiguous_strides, is_contiguous
from ..state import state
from ..tensor import Tensor, wrap
from .declare import dtype_argument, into, operator, tensor_argument
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
    home = backend_of("cpu")
    array = ndarray if type(ndarray) is np.ndarray else ndarray.view(np.ndarray)
    return wrap(array if home.is_host else home.upload(array, kind), kind, home)


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
            raise RuntimeError(f"Could not infer dtype of {type(v).__name__}")
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
    array, kind = _to_array(data, dtype_argument(dtype))
    if requires_grad and kind.category < dtypes.FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
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


def number_as(value: Any, kind: Any) -> Any:
    """A number as an element of a dtype has it: truncated for integers, wrapped for negative ones in unsigned types.

    Raises RuntimeError where the dtype cannot hold it.
    """
    category = kind.category
    if category == dtypes.COMPLEX or hasattr(value, "free_symbols"):  # a number that only a later call has
        return value
    if category == dtypes.BOOL:
        return bool(value)
    if isinstance(value, complex):
        if value.imag:
            raise _overflow(kind)
        value = value.real
    if category == dtypes.INTEGRAL:
        if isinstance(value, float) and not math.isfinite(value):
            raise _overflow(kind)
        bits = 8 * kind.itemsize
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind.is_signed else (0, (1 << bits) - 1)
        whole = int(value)
        if not kind.is_signed and whole < 0 and not isinstance(value, float) and whole >= -high:
            return whole + high + 1
        if not low <= whole <= high or (not kind.is_signed and value < 0):
            raise _overflow(kind)
        return whole
    if kind is dtypes.float32 and abs(value) > _MAX_FLOAT and math.isfinite(value):
        raise _overflow(kind)
    return value


_MAX_FLOAT = float(np.finfo(np.float32).max)


def _overflow(kind: Any) -> RuntimeError:
    name = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16"}.get(
        kind.name, f"{kind.name}_t"
    )
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


def _made(shape: tuple[int, ...], value: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    kind = dtype_argument(dtype) or dtypes.get_default_dtype()
    home = backend_of(resolve(device).type)
    if not hasattr(value, "free_symbols"):
        value = value if value == 0 or value == 1 else number_as(value, kind)
    made = home.full(shape, value, kind)
    out = wrap(made, kind, home)
    return out.requires_grad_() if requires_grad else out


def of_array(array: np.ndarray, kind: Any, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor that owns a fresh numpy array, converted to a dtype and uploaded where it must be."""
    home = backend_of(resolve(device).type)
    if array.dtype != kind.numpy:
        array = backend_of("cpu").cast(array, kind)
    out = wrap(array if home.is_host else home.upload(array, kind), kind, home)
    return out.requires_grad_() if requires_grad else out


def empty(*size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
          pin_memory: bool = False, memory_format: Any = None) -> Tensor:  # fmt: skip
    """A tensor with unspecified elements."""
    kind = dtype_argument(dtype) or (dtypes.get_default_dtype() if out is None else out.dtype)
    home = backend_of(resolve(device).type)
    made = wrap(home.empty(_sizes(size), kind), kind, home)
    if out is not None:
        return into(out, made, "empty")
    return made.requires_grad_() if requires_grad else made


def zeros(*size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
          pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor of zeros."""
    made = _made(_sizes(size), 0, dtype or (None if out is None else out.dtype), device, requires_grad)
    return made if out is None else into(out, made, "zeros")


def ones(*size: Any, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
         pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor of ones."""
    made = _made(_sizes(size), 1, dtype or (None if out is None else out.dtype), device, requires_grad)
    return made if out is None else into(out, made, "ones")


def full(size: Any, fill_value: Any, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
         requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor of one value; the dtype is the value's where not given."""
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    if isinstance(size, int):
        raise TypeError("full(): argument 'size' (position 1) must be tuple of ints, not int")
    made = _made(_sizes((size,)), fill_value, dtype or dtypes.of_scalar(fill_value), device, requires_grad)
    return made if out is None else into(out, made, "full")


def _like(make: Any) -> Any:
    def function(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
                 pin_memory: bool = False, memory_format: Any = None) -> Tensor:  # fmt: skip
        tensor_argument(function.__name__, "input", 1, input)
        out = make(input.shape, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad)
        return in_order_of(out, input, memory_format)

    function.__name__ = make.__name__ + "_like"
    function.__doc__ = f"`{make.__name__}` in the shape, dtype, device and memory order of `input`."
    return function


empty_like, zeros_like, ones_like = _like(empty), _like(zeros), _like(ones)


def in_order_of(out: Tensor, input: Tensor, memory_format: Any = None) -> Tensor:
    """A fresh row-major `out` whose dimensions lie in memory as those of `input` do, unless a contiguous one is asked for."""
    if getattr(memory_format, "name", "") == "contiguous_format" or is_contiguous(input._data.shape, input.stride()):
        return out
    steps, shape = input.stride(), tuple(out._data.shape)
    order = sorted(range(len(shape)), key=lambda d: (steps[d] != 0 or shape[d] > 1, steps[d]), reverse=True)
    if 0 in steps:
        order = list(range(len(shape)))
    return in_order(out, order)


def in_order(out: Tensor, order: list[int]) -> Tensor:
    """A fresh `out` with its dimensions in memory in the given order, the outermost first."""
    shape = tuple(out._data.shape)
    inner = contiguous_strides([shape[d] for d in order])
    strides = [0] * len(shape)
    for step, d in zip(inner, order, strict=True):
        strides[d] = step
    out._data = out._storage.backend.view(out._storage.root, shape, tuple(strides), 0)
    out._strides = tuple(strides)
    return out


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
              requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None) -> Tensor:  # fmt: skip
    """`full` in the shape, dtype, device and memory order of `input`."""
    tensor_argument("full_like", "input", 1, input)
    out = full(
        input.shape, fill_value, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad
    )
    return in_order_of(out, input, memory_format)


def scalar_tensor(s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
                  pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A 0-d tensor of one number, of the default dtype where none is given."""
    default = dtypes.of_scalar(s) if isinstance(s, complex) else dtypes.get_default_dtype()
    return full((), s, dtype=dtype or default, device=device, requires_grad=requires_grad)


def empty_permuted(size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
                   requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor with unspecified elements, its dimensions in memory in the order `physical_layout`, the outermost first."""
    order = list(physical_layout)
    out = empty(size, dtype=dtype, device=device)
    if sorted(order) != list(range(out.ndim)):
        raise RuntimeError(
            "Number of dimensions in the tensor input does not match the length of the physical layout, or it has duplicates; got "
            f"size {list(out.shape)} and physical_layout {order}"
        )
    out = in_order(out, order)
    return out.requires_grad_() if requires_grad else out


def empty_strided(size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:  # fmt: skip
    """A tensor with unspecified elements and these strides."""
    shape, steps = _sizes((size,)), tuple(stride)
    if len(shape) != len(steps):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(steps)} strides for {len(shape)} sizes")
    if any(st < 0 for st in steps):
        raise RuntimeError(f"negative strides are not supported, got {list(steps)}")
    count = 1 + sum((n - 1) * st for n, st in zip(shape, steps, strict=True)) if 0 not in shape else 0
    out = empty(count, dtype=dtype, device=device)
    out._data = out._storage.backend.view(out._storage.root, shape, steps, 0)
    out._strides = steps
    return out.requires_grad_() if requires_grad else out


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A vector that shares the memory of an object with a buffer.

    Raises ValueError where the buffer has not so many whole elements behind `offset` (in bytes).
    """
    size, item = memoryview(buffer).nbytes, dtype.itemsize
    if size == 0 or offset >= size:
        raise ValueError(
            f"both buffer length ({size}) and count ({count}) must not be 0"
            if size == 0
            else f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1"
        )
    if count < 0 and (size - offset) % item:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({item})"
        )
    if count >= 0 and offset + count * item > size:
        raise ValueError(
            f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must not be greater than actual buffer "
            f"length ({size} bytes)"
        )
    array = np.frombuffer(buffer, dtype.numpy, count, offset)
    if not array.flags.writeable:
        warnings.warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write to the "
            "underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its data or make "
            "it writable before converting it to a tensor. It is copied here.",
            stacklevel=2,
        )
        array = array.copy()
    home = backend_of("cpu")
    out = wrap(array if home.is_host else home.upload(array, dtype), dtype, home)
    return out.requires_grad_() if requires_grad else out


def _new(name: str, make: Any) -> Any:
    def method(
        self: Tensor, *args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any
    ) -> Tensor:
        return make(*args, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)

    method.__name__ = name
    method.__doc__ = f"`torch.{make.__name__}` in this tensor's dtype and device."
    return method


METHODS: dict[str, Any] = {
    f"new_{f.__name__}": _new(f"new_{f.__name__}", f) for f in (empty, zeros, ones, full, empty_strided)
}  # fmt: skip
METHODS["new_tensor"] = lambda self, data, dtype=None, device=None, requires_grad=False: tensor(
    data,
    dtype=dtype or (self.dtype if not isinstance(data, Tensor) else data.dtype),
    device=device or self.device,
    requires_grad=requires_grad,
)
METHODS["new"] = lambda self, *args, device=None: (
    tensor(args[0], dtype=self.dtype, device=device or self.device)
    if len(args) == 1 and not isinstance(args[0], (int, Size, Tensor))
    else args[0].detach_shallow()
    if len(args) == 1 and isinstance(args[0], Tensor)
    else empty(*(args or (0,)), dtype=self.dtype, device=device or self.device)
)
METHODS["_zeros_like_plain"] = lambda self: zeros(self.shape, dtype=self.dtype, device=self.device)
CREATORS = (
    tensor, as_tensor, asarray, from_numpy, frombuffer, empty, zeros, ones, full, empty_like, zeros_like, ones_like, full_like,
    scalar_tensor, empty_strided, empty_permuted,
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
def _contiguous_copy(self: Tensor) -> Tensor:
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
    where, kind = kwargs.get("device"), dtype_argument(kwargs.get("dtype"))
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
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
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
    "char": "int8", "byte": "uint8", "bool": "bool", "cfloat": "complex64", "cdouble": "complex128", "bfloat16": "bfloat16",
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
            if src.ndim > self.ndim:
                raise RuntimeError(
                    f"output with shape {list(self.shape)} doesn't match the broadcast shape "
                    f"{list(broadcast_shapes(self.shape, src.shape))}"
                ) from None
            raise RuntimeError(
                f"The size of tensor a ({self.shape[-1] if self.ndim else 1}) must match the size of tensor b "
                f"({src.shape[-1] if src.ndim else 1}) at non-singleton dimension {max(self.ndim - 1, 0)}"
            ) from None
    return dispatch.write(self, source)


@operator()
def fill_(self: Tensor, value: Any) -> Tensor:
    """Set all elements to a number or 0-d tensor."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return copy_(self, value)
    return dispatch.write(self, full((), value, dtype=self.dtype, device=self.device).expand(*self.shape))


@operator(method=False, name="fill")
def filled(input: Tensor, value: Any) -> Tensor:
    """A number or 0-d tensor in the shape, dtype and device of `input`."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        given = value if value._dtype is input._dtype else convert(value, input._dtype)
    else:
        given = full((), value, dtype=input._dtype, device=input.device)
    return dispatch.call(FILL, (input, given))


FILL = Op(
    "fill", "input value", kind="index", cpu=lambda x, value: np.full(x.shape, value, x.dtype), shape=lambda s, _: s,
    overload=lambda tensors, _: int(tensors[1]._requires_grad), grads={"input": lambda g: g.new_zeros(g.shape), "value": lambda g: g.sum()},
)  # fmt: skip


@operator()
def zero_(self: Tensor) -> Tensor:
    """Set all elements to zero."""
    return fill_(self, 0)


def _on_cpu(name: str, *tensors: Tensor) -> None:
    if not all(t._is_host for t in tensors):
        raise TypeError(f"{name} is only implemented on CPU tensors")
    if state.grad_enabled and tensors[0].requires_grad:
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")


@operator(spaces=("method",))
def apply_(self: Tensor, callable: Any) -> Tensor:
    """Replace each element by what a Python function makes of it: slow, and unknown to the tape."""
    _on_cpu("apply_", self)
    made = np.frompyfunc(callable, 1, 1)(self._data)
    return dispatch.write(self, of_array(np.asarray(made, self._dtype.numpy), self._dtype))


@operator(spaces=("method",))
def map_(self: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """Replace each element by what a Python function makes of it and of another tensor's (broadcast): slow, and unknown to the tape."""
    _on_cpu("map_", self, tensor)
    made = np.frompyfunc(callable, 2, 1)(self._data, np.broadcast_to(tensor._data, self._data.shape))
    return dispatch.write(self, of_array(np.asarray(made, self._dtype.numpy), self._dtype))
