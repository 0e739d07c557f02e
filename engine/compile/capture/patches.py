"""Notices that somebody puts another function in the place of one of the engine's: `torch.nn.functional.relu = mine`.

Captured code takes the engine's functions as given and does not look at them on every call. So the modules in which
users find them say when one is replaced, and everything captured is forgotten then. Writing to a module's `__dict__` is not seen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from ...nn.module import Module

PUBLIC = (
    "", ".autograd", ".fft", ".func", ".linalg", ".masked", ".nn", ".nn.functional", ".nn.init", ".nn.utils", ".optim", ".signal.windows",
    ".special",
)  # fmt: skip
"""The modules that are watched, below the engine's own."""

ENGINE = Module.__module__.removesuffix(".nn.module")

_forget: list[Callable[[], None]] = []


class WatchedModule(ModuleType):
    """A module of the engine; replacing one of its functions or classes makes compiled code be captured anew."""

    def __setattr__(self, name: str, value: Any) -> None:
        before = self.__dict__.get(name)
        super().__setattr__(name, value)
        if before is not value and (isinstance(before, _TAKEN_AS_GIVEN) or isinstance(value, FunctionType)):
            _changed()

    def __delattr__(self, name: str) -> None:
        before = self.__dict__.get(name)
        super().__delattr__(name)
        if isinstance(before, _TAKEN_AS_GIVEN):
            _changed()


_TAKEN_AS_GIVEN = (FunctionType, type, ModuleType)


def _changed() -> None:
    for forget in _forget:
        forget()


def watch(forget: Callable[[], None]) -> None:
    """Call `forget` whenever a function of a public module of the engine is replaced."""
    _forget.append(forget)
    for name in PUBLIC:
        module = sys.modules.get(ENGINE + name)
        if module is not None and type(module) is ModuleType:
            module.__class__ = WatchedModule
