"""What a class has under a name, and whose a class is. Knows nothing of symbolic values."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ...nn.module import Module
from .values import MISSING

ENGINE = Module.__module__.rsplit(".", 2)[0]


def is_engine(kind: Any) -> bool:
    """Whether a class, function or module belongs to the engine, whose parts nobody replaces."""
    name = getattr(kind, "__module__", None) if not isinstance(kind, ModuleType) else kind.__name__
    return isinstance(name, str) and (name == ENGINE or name.startswith(ENGINE + "."))


def is_fixed(kind: type) -> bool:
    """Whether a class is Python's or the engine's own, to which nobody adds names."""
    return kind.__module__.partition(".")[0] in sys.stdlib_module_names or is_engine(kind)


def static(kind: type, name: str) -> tuple[Any, type | None]:
    """What a class has under a name, undisturbed by descriptors, and the class that has it."""
    for cls in kind.__mro__:
        if name in cls.__dict__:
            return cls.__dict__[name], cls
    return MISSING, None


__all__ = ["ENGINE", "is_engine", "is_fixed", "static"]
