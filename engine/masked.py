"""`torch.masked`: every operator function that stands in this namespace, gathered from the operator table."""

from __future__ import annotations

from .ops import families as families  # fills the table
from .ops.spaces import members

globals().update(members("masked"))
__all__ = sorted(members("masked"))  # pyright: ignore[reportUnsupportedDunderAll]
