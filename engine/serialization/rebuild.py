"""The functions that a `.pt` file's pickle calls to put tensors together again, under PyTorch's names for them."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..backends.base import backend
from ..storage import Storage
from ..tensor import Tensor


class LoadedStorage:
    """The bytes of one storage as an array of `dtype`, made into one engine storage when the first tensor wants it."""

    def __init__(self, array: Any, dtype: dtypes.dtype, where: str):
        self.array = array
        self.dtype = dtype
        self.where = where
        self.made: dict[str, Storage] = {}

    def storage(self, kind: dtypes.dtype) -> Storage:
        """The engine's storage, shared by all tensors of one dtype on it."""
        found = self.made.get(kind.name)
        if found is None:
            from .archive import decoded

            array = decoded(self.array, kind)
            home = backend(self.where)
            found = self.made[kind.name] = Storage(home, array if home.name == "cpu" else home.upload(array, kind))
        return found


def tensor_v2(
    storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, metadata: Any = None
) -> Tensor:
    """`torch._utils._rebuild_tensor_v2`."""
    return tensor_v3(storage, offset, size, stride, requires_grad, hooks, storage.dtype)


def tensor_v3(
    storage: Any,
    offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    hooks: Any,
    dtype: dtypes.dtype,
    metadata: Any = None,
) -> Tensor:
    """`torch._utils._rebuild_tensor_v3`: the dtype is given, the storage untyped. Raises ValueError for bad geometry."""
    size, stride, offset = _numbers(size), _numbers(stride), int(offset)
    kept = storage.storage(dtype)
    have = kept.data.shape[0]
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if all(size) else offset - 1
    if offset < 0 or any(n < 0 for n in (*size, *stride)) or last >= have:
        raise ValueError(
            f"the file describes a tensor of shape {list(size)} that does not fit its storage of {have} elements"
        )
    out = Tensor.__new__(Tensor)
    out._data = kept.backend.view(kept.root, size, stride, offset)
    out._dtype, out._storage, out._strides, out._offset = dtype, kept, stride, offset
    if requires_grad:
        out.requires_grad_()
    return out


def _numbers(values: Any) -> tuple[int, ...]:
    if not all(type(v) is int for v in values):
        raise ValueError("the file describes a tensor whose sizes are no whole numbers")
    return tuple(values)


def tensor_v1(storage: Any, offset: int, size: Any, stride: Any) -> Tensor:
    """`torch._utils._rebuild_tensor`."""
    return tensor_v2(storage, offset, size, stride, False, None)


def parameter(data: Tensor, requires_grad: bool, hooks: Any) -> Any:
    """`torch._utils._rebuild_parameter`."""
    from ..nn import Parameter

    return Parameter(data, requires_grad)


def parameter_with_state(data: Tensor, requires_grad: bool, hooks: Any, state: Any) -> Any:
    """`torch._utils._rebuild_parameter_with_state`."""
    out = parameter(data, requires_grad, hooks)
    if isinstance(state, dict):
        out.__dict__.update({k: v for k, v in state.items() if isinstance(k, str) and not k.startswith("_")})
    return out


def from_type(function: Any, kind: Any, args: Any, state: Any) -> Any:
    """`torch._tensor._rebuild_from_type_v2`: a subclass or a tensor with attributes."""
    if function not in FUNCTIONS.values():
        raise ValueError("the file asks for an unknown way to rebuild a tensor")
    out = function(*args)
    attributes = state[0] if isinstance(state, tuple) and state else state
    if isinstance(attributes, dict):
        out.__dict__.update({k: v for k, v in attributes.items() if isinstance(k, str) and not k.startswith("_")})
    return out


def layout_named(name: str) -> Any:
    """`torch.serialization._get_layout`."""
    from ..surface import strided

    return strided


FUNCTIONS: dict[str, Any] = {
    "_rebuild_tensor": tensor_v1,
    "_rebuild_tensor_v2": tensor_v2,
    "_rebuild_tensor_v3": tensor_v3,
    "_rebuild_parameter": parameter,
    "_rebuild_parameter_with_state": parameter_with_state,
}
