"""`torch.fft`: every operator function that stands in this namespace, gathered from the operator table.

There is nothing to edit here: an entry in the table whose spaces name "fft" appears under its name.
"""

from __future__ import annotations

from .ops import families as families  # fills the table
from .ops.spaces import members

globals().update(members("fft"))
__all__ = sorted(members("fft"))  # pyright: ignore[reportUnsupportedDunderAll]
