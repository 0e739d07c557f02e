"""The `class` statement with an interpreted body: what `builtins.__build_class__` does, in Python.

The body runs as a frame whose names are the class's namespace; the metaclass is called natively.
"""

from __future__ import annotations

import builtins
import types
from typing import TYPE_CHECKING, Any

from ..bytecode.decode import decode
from .frame import UNBOUND, Convert, Frame

if TYPE_CHECKING:
    from .concrete_calls import ConcreteCalls


class _Finish:
    """The end of a class statement: the body has run, the metaclass makes the class."""

    __slots__ = ("bases", "keywords", "meta", "name", "namespace", "original")

    def __init__(
        self, name: str, meta: Any, bases: tuple[Any, ...], original: tuple[Any, ...], namespace: Any, keywords: Any
    ) -> None:
        self.name = name
        self.meta = meta
        self.bases = bases
        self.original = original
        self.namespace = namespace
        self.keywords = keywords

    def __call__(self, frame: Frame, cell: Any) -> Any:
        if self.bases is not self.original:
            self.namespace["__orig_bases__"] = self.original
        made = self.meta(self.name, self.bases, self.namespace, **self.keywords)
        if isinstance(made, type) and isinstance(cell, types.CellType):
            held = _contents(cell)
            if held is UNBOUND:
                raise RuntimeError(
                    f"__class__ not set defining {self.name!r} as {made!r}. Was __classcell__ propagated to type.__new__?"
                )
            if held is not made:
                raise TypeError(f"__class__ set to {held!r} defining {self.name!r} as {made!r}")
        return made


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def _metaclass(meta: Any, bases: tuple[Any, ...]) -> Any:
    """The most derived of `meta` and the types of the bases."""
    if not isinstance(meta, type):
        return meta
    for base in bases:
        kind = type(base)
        if issubclass(kind, meta):
            meta = kind
        elif not issubclass(meta, kind):
            raise TypeError(
                "metaclass conflict: the metaclass of a derived class must be a (non-strict) subclass of the metaclasses "
                "of all its bases"
            )
    return meta


def build_class(domain: ConcreteCalls, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`__build_class__(body, name, *bases, metaclass=..., **keywords)`: the frame of the body, or the class itself."""
    if len(args) < 2 or type(args[0]) is not types.FunctionType or not domain.interprets(args[0]):
        return builtins.__build_class__(*args, **kwargs)
    function, name, *given = args
    original = tuple(given)
    bases = types.resolve_bases(original)
    keywords = dict(kwargs)
    meta = keywords.pop("metaclass", type(bases[0]) if bases else type)
    meta = _metaclass(meta, bases)
    prepare = getattr(meta, "__prepare__", None)
    namespace = {} if prepare is None else prepare(name, bases, **keywords)
    if not hasattr(type(namespace), "__getitem__"):
        what = meta.__name__ if isinstance(meta, type) else "<metaclass>"
        raise TypeError(f"{what}.__prepare__() must return a mapping, not {type(namespace).__name__}")
    body = Frame(
        decode(function.__code__),
        function.__globals__,
        function.__builtins__,
        names=namespace,
        closure=function.__closure__ or (),
        function=function,
    )
    body.convert = Convert("class", _Finish(name, meta, bases, original, namespace, keywords))
    return body
