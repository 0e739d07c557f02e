"""The dictionaries in which a module keeps its parameters, buffers and children: ordinary ones, except that every change to them
moves the structure epoch, so that whoever remembers something about modules sees direct writes, too. Values are not looked at."""

from __future__ import annotations

from typing import Any

from .. import module_path


class Shelf(dict[str, Any]):
    """A dictionary whose changes move the structure epoch."""

    __slots__ = ()

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        module_path.structure_changed()

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        module_path.structure_changed()

    def pop(self, *args: Any) -> Any:
        module_path.structure_changed()
        return super().pop(*args)

    def popitem(self) -> tuple[str, Any]:
        module_path.structure_changed()
        return super().popitem()

    def clear(self) -> None:
        super().clear()
        module_path.structure_changed()

    def update(self, *args: Any, **kwargs: Any) -> None:
        super().update(*args, **kwargs)
        module_path.structure_changed()

    def setdefault(self, name: str, default: Any = None) -> Any:
        module_path.structure_changed()
        return super().setdefault(name, default)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """An ordinary dictionary in files and copies: `Module.__setstate__` makes shelves of those it is given."""
        return dict, (), None, None, iter(self.items())

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self


__all__ = ["Shelf"]
