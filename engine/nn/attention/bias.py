"""`torch.nn.attention.bias`: causal masks for attention whose queries and keys differ in number."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

from ...tensor import Tensor


class CausalVariant(IntEnum):
    """Where the triangle stands: at the first query and key, or at the last."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A boolean mask (queries x keys), True where a query may look. It is a tensor like any other, made when it is asked for."""

    prints_as_tensor = True

    def _materialize(self, device: Any = None) -> Tensor:
        out = self.as_subclass(Tensor)
        return out if device is None else out.to(device)


def _mask(rows: int, columns: int, shift: int) -> CausalBias:
    from ... import ones
    from ...dtypes import bool_

    return ones(rows, columns, dtype=bool_).tril(shift).as_subclass(CausalBias)


def causal_upper_left(*size: int) -> CausalBias:
    """Query i looks at the keys 0 to i. `size` is (queries, keys); raises RuntimeError for other than two sizes."""
    _two(size, "causal_upper_left")
    return _mask(size[0], size[1], 0)


def causal_lower_right(*size: int) -> CausalBias:
    """The last query looks at all keys, the one before it at all but the last. `size` is (queries, keys)."""
    _two(size, "causal_lower_right")
    return _mask(size[0], size[1], size[1] - size[0])


def _two(size: tuple[int, ...], name: str) -> None:
    if len(size) != 2:
        raise RuntimeError(f"{name} only supports 2D tensors")
