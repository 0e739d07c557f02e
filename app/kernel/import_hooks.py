"""Calling something right after a module was imported for the first time.

Nothing is imported by asking for it: a kernel that never draws a figure never loads plotly.  `when_imported`
is all there is.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


class _Watcher(importlib.abc.MetaPathFinder):
    """Finds a module with the other finders and adds the callbacks to its loader."""

    def __init__(self) -> None:
        self.wanted: dict[str, list[Callable[[ModuleType], None]]] = {}
        self._finding: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self.wanted or fullname in self._finding:
            return None
        self._finding.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._finding.discard(fullname)
        if spec is None or spec.loader is None:
            return None
        spec.loader = _Calling(spec.loader, self.wanted, fullname)
        return spec


class _Calling(importlib.abc.Loader):
    """A loader that calls back once its module has run; everything else is the real loader's."""

    def __init__(
        self, loader: importlib.abc.Loader, wanted: dict[str, list[Callable[[ModuleType], None]]], name: str
    ) -> None:
        self._loader = loader
        self._wanted = wanted
        self._name = name

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        for callback in self._wanted.pop(self._name, []):
            callback(module)


_watcher = _Watcher()


def when_imported(name: str, callback: Callable[[ModuleType], None]) -> Callable[[], None]:
    """Call `callback(module)` when module `name` has been imported, at once if it is already there.

    Returns a function that takes the wish back. What the callback raises comes out of the import.
    """
    module = sys.modules.get(name)
    if module is not None:
        callback(module)
        return lambda: None
    if _watcher not in sys.meta_path:
        sys.meta_path.insert(0, _watcher)
    _watcher.wanted.setdefault(name, []).append(callback)

    def take_back() -> None:
        callbacks = _watcher.wanted.get(name, [])
        if callback in callbacks:
            callbacks.remove(callback)
        if not callbacks:
            _watcher.wanted.pop(name, None)

    return take_back
