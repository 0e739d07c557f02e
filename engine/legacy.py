"""The older spellings that are still taught: `torch.FloatTensor` and its relatives."""

from __future__ import annotations

from typing import Any

from . import dtypes
from .ops import creation
from .tensor import Tensor


class _TypedMeta(type):
    dtype: dtypes.dtype

    def __call__(cls, *args: Any) -> Tensor:
        if not args:
            return creation.empty(0, dtype=cls.dtype)
        if len(args) == 1 and not isinstance(args[0], int):
            data = args[0]
            if isinstance(data, Tensor):
                if data.dtype is not cls.dtype:
                    raise TypeError(f"expected {cls.dtype} (got {data.dtype})")
                return data.detach_shallow()
            return creation.tensor(data, dtype=cls.dtype)
        return creation.empty(*args, dtype=cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.is_cpu

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


_NAMES = {
    "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16", "LongTensor": "int64",
    "IntTensor": "int32", "ShortTensor": "int16", "CharTensor": "int8", "ByteTensor": "uint8", "BoolTensor": "bool",
}  # fmt: skip
TYPES: dict[str, Any] = {
    name: _TypedMeta(name, (), {"dtype": dtypes.DTYPES[kind], "__doc__": f"A CPU tensor of dtype {kind}."})
    for name, kind in _NAMES.items()
}


def of_dtype(d: dtypes.dtype) -> str:
    """The name that `Tensor.type()` gives a CPU tensor of a dtype ("torch.FloatTensor")."""
    return next((f"torch.{n}" for n, k in _NAMES.items() if k == d.name), f"torch.{d.name}")
