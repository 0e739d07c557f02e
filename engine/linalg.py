"""`torch.linalg`: every operator function that stands in this namespace, gathered from the operator table.

There is nothing to edit here: an entry in the table whose spaces name "linalg" appears under its name, one whose spaces name
"linalg.NAME" under that.
"""

from __future__ import annotations

from .ops import families as families  # fills the table
from .ops.linalg.checks import LinAlgError as LinAlgError
from .ops.spaces import members

globals().update(members("linalg"))
__all__ = ["LinAlgError", *sorted(members("linalg"))]  # pyright: ignore[reportUnsupportedDunderAll]
