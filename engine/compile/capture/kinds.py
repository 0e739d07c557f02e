"""Small kinds of the domain: the note on a frame, and `super()` as a symbolic value."""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..interpreter.frame import Frame


class Note:
    """What the domain remembers of a frame: the step at which it was pushed, and the path of the module that runs."""

    __slots__ = ("module", "step")

    def __init__(self, step: int, module: str) -> None:
        self.step, self.module = step, module


class Identity(int):
    """What `id()` answers: the object's own where it existed before, a stand-in where it was made inside. `symbol` is the object.

    As long as it only tells objects apart nothing is guarded but that they are different; where the number itself matters it is pinned.
    """

    symbol: Any


class SuperOf:
    """`super(cls, obj)`."""

    __slots__ = ("cls", "kind", "obj")

    def __init__(self, cls: type, obj: Any, kind: type) -> None:
        self.cls, self.obj, self.kind = cls, obj, kind


def super_attribute(domain: Any, frame: Frame, s: SuperOf, name: str) -> Any:
    """`super(cls, obj).name`."""
    mro = s.kind.__mro__
    bound = not isinstance(s.obj, type)
    for base in mro[mro.index(s.cls) + 1 :]:
        if name not in base.__dict__:
            domain.without((base,), name)
        else:
            found = base.__dict__[name]
            if type(found) is FunctionType:
                f = domain.class_value(found, base, name)
                return MethodType(f, s.obj) if bound else f
            if isinstance(found, staticmethod):
                return domain.bind(frame, s.obj, s.kind, found, base, name)
            if isinstance(found, classmethod):
                return MethodType(domain.inner(found, base, name), s.kind)
            if isinstance(found, property):
                return domain.bind(frame, s.obj, s.kind, domain.class_value(found, base, name), base, name)
            if callable(found) and hasattr(type(found), "__get__"):
                if type(found).__name__ == "builtin_function_or_method":
                    return found
                return MethodType(found, s.obj) if bound else found
            return domain.class_value(found, base, name)
    raise AttributeError(f"'super' object has no attribute '{name}'")
