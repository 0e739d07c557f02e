"""All operator functions as attributes of one module, for code in the engine that is written with operators.

`from ..ops import functions as F` and `F.softmax(x, 0)`; dotted names lose their namespace's dots (`F.nn_functional_linear`).
"""

from __future__ import annotations

from typing import Any

from . import creation
from .table import FUNCTIONS


def __getattr__(name: str) -> Any:
    found = FUNCTIONS.get(name)
    if found is not None:
        return found.call
    for key, f in FUNCTIONS.items():
        if key.replace(".", "_") == name:
            return f.call
    for f in FUNCTIONS.values():
        if name in (f.name, *f.aliases):
            return f.call
    try:
        return getattr(creation, name)
    except AttributeError:
        raise AttributeError(f"the operator table has no function {name!r}") from None
