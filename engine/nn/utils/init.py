"""A module without drawing starting values."""

from __future__ import annotations

import inspect
from typing import Any

from ..module import Module


def skip_init(module_cls: type, *args: Any, **kwargs: Any) -> Module:
    """`module_cls(*args, **kwargs)` with parameters of unspecified values, and without drawing random numbers.

    Raises RuntimeError for what is no module class, or takes no `device`.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    from ...random import fork_rng

    with fork_rng():
        return module_cls(*args, **kwargs)
