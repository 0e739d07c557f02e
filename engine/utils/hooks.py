"""Handles that take a hook out again."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from .. import module_path


class RemovableHandle:
    """What a `register_..._hook` call returns: `remove()` takes the hook out, and so does leaving it as a context.

    `hooks_dict` is where the hook stands under `id`; `extra_dict` one or several more of them that know it, too.
    """

    _ids = itertools.count()

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None):
        self.id = next(RemovableHandle._ids)
        extra = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self._homes = tuple(weakref.ref(d) for d in (hooks_dict, *extra))
        module_path.structure_changed()

    def remove(self) -> None:
        """Take the hook out; a second call does nothing."""
        for home in self._homes:
            hooks = home()
            if hooks is not None:
                hooks.pop(self.id, None)
        module_path.structure_changed()

    def __getstate__(self) -> tuple:
        return (self.id, [home() for home in self._homes])

    def __setstate__(self, state: tuple) -> None:
        self.id, homes = state
        self._homes = tuple(weakref.ref(d) for d in homes if d is not None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
