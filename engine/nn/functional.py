"""`torch.nn.functional`: every operator function that stands in this namespace, gathered from the operator table.

There is nothing to edit here: an entry in the table whose spaces name "nn.functional" appears under its name, and with
an underscore behind it where it has an in-place form.
"""

from __future__ import annotations

from typing import Any

from ..ops import families as families  # fills the table
from ..ops.table import FUNCTIONS


def _gather() -> dict[str, Any]:
    found: dict[str, Any] = {}
    # Entries of this namespace alone come last: their signatures are its own (`relu` here takes `inplace`).
    for function in sorted(FUNCTIONS.values(), key=lambda f: f.spaces[:1] == ("nn.functional",)):
        if "nn.functional" not in function.spaces:
            continue
        for label in (function.name, *function.aliases):
            found[label] = function.call
            if function.inplace is not None:
                found[label + "_"] = function.inplace
    return found


globals().update(_gather())


def __getattr__(name: str) -> Any:
    found = _gather().get(name)  # an operator that was declared after this module was read
    if found is None:
        raise AttributeError(f"module 'torch.nn.functional' has no attribute '{name}'")
    globals()[name] = found
    return found
