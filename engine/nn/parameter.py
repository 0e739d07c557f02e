"""Parameters and buffers: tensors that a module adopts when they are assigned to it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ..tensor import Tensor


class _ParameterMeta(type(Tensor)):
    """Tensors of a user's own class count as parameters when they were marked as such."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module lists among its parameters; it needs a gradient unless told otherwise.

    `data` is shared, not copied. A tensor of a user's own class stays what it is and is only marked. Raises
    RuntimeError for an integer `data` with `requires_grad`.
    """

    prints_as_tensor = True

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            from .. import empty

            data = empty(0)
        out = data.detach()
        if type(data) is Tensor or type(data) is Parameter:
            out.__class__ = cls
        else:
            out._is_param = True
        if requires_grad and not (out.is_floating_point() or out.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return out.requires_grad_(requires_grad)

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        pass

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (_rebuild_parameter, (self.data, self.requires_grad, OrderedDict()))


def _rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any) -> Parameter:
    return Parameter(data, requires_grad)


class _BufferMeta(type(Tensor)):
    """Buffers are tensors with a mark, whatever their class."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Buffer:
            return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        return super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module lists among its buffers: state that is saved and moved, but not trained.

    With `persistent=False` it is left out of `state_dict`. Calling this gives a tensor with a mark.
    """

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            from .. import empty

            data = empty(0)
        out = data.detach().requires_grad_(data.requires_grad)
        out.persistent = persistent
        out._is_buffer = True
        return out
