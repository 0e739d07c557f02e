"""The named tuples that operators of several results return, as in `torch.return_types`."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def return_type(name: str, fields: str) -> Any:
    """A named tuple class that prints as PyTorch's; it becomes `torch.return_types.NAME`.

    The same name and fields give the same class again.
    """
    known = globals().get(name)
    if known is not None:
        return known
    base = namedtuple(name, fields)  # type: ignore[misc]
    made = type(
        name, (base,), {"__slots__": (), "__repr__": _repr, "__module__": "torch.return_types", "__reduce__": _reduce}
    )
    made.__qualname__ = name
    globals()[name] = made
    return made


def _repr(self: Any) -> str:
    parts = ",\n".join(f"{f}={v!r}" for f, v in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{parts})"


def _reduce(self: Any) -> tuple[Any, ...]:
    return _rebuild, (type(self).__name__, " ".join(self._fields), tuple(self))


def _rebuild(name: str, fields: str, values: tuple[Any, ...]) -> Any:
    return return_type(name, fields)(*values)
