"""What a capture knows of the world before it: which symbolic value stands for which real one, where it came from, what was read.

`World.wrap` turns a real value with a source into a symbolic one and guards no more than is read; the same object gets the same
symbolic value, and that it was the same is guarded, too.  Operations on the values are the domain's (`domain.py`).
"""

from __future__ import annotations

import enum
import functools
import gc
import sys
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from ...device import device as Device
from ...dtypes import dtype as DType
from ...nn.module import Module
from ...nn.parameter import Parameter
from ...tensor import Tensor
from .guards import GuardSet
from .recorder import Recorder
from .sources import Source, Sources, full, viewed
from .values import MISSING, PLAIN, VIEWS, Lazy, Obj, facet

ATOMS: tuple[Any, ...] = (
    type, ModuleType, MethodDescriptorType, WrapperDescriptorType, GetSetDescriptorType, MemberDescriptorType, ClassMethodDescriptorType,
    DType, CodeType, property, staticmethod, classmethod, functools.cached_property, MethodWrapperType,
)  # fmt: skip
"""Kinds of objects that stand for themselves: what they are is settled by which object they are."""

STRUCTURE = frozenset(
    [
        "_parameters", "_buffers", "_modules", "training", "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
        "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks_with_kwargs", "_is_full_backward_hook",
        "_non_persistent_buffers_set",
    ]
)  # fmt: skip
"""Attributes of modules whose change moves the structure epoch."""


class Dynamic:
    """What is known to change between calls: sizes of tensors and plain numbers, by the path of their source."""

    def __init__(self) -> None:
        self.sizes: dict[str, set[int]] = {}
        self.scalars: set[str] = set()


def path_of(source: Source) -> str:
    """A source as text that is the same in every capture of a function."""
    return full(
        source,
        lambda v: (
            v.__name__
            if isinstance(v, ModuleType)
            else f"<{type(v).__name__} {id(v)}>"
            if type(v) not in PLAIN
            else repr(v)
        ),
    )


class World:
    """One capture's symbolic values for real ones."""

    def __init__(self, recorder: Recorder, dynamic: Dynamic, all_dynamic: bool | None) -> None:
        self.sources = Sources()
        self.guards = GuardSet(self.sources)
        self.recorder = recorder
        self.dynamic, self.all_dynamic = dynamic, all_dynamic
        self.memo: dict[int, tuple[Any, Any, Source]] = {}
        """By identity of a real object: the object, its symbolic value, the source by which it was met first."""
        self.from_symbol: dict[int, tuple[Any, Any, Source]] = {}
        """By identity of a symbolic value: the value, the real object, its source."""
        self.elsewhere: dict[Source, Any] = {}
        """Symbolic values of tuples and bound methods that were met before by another path."""
        self.weak: set[int] = set()
        """Functions of which only the code is guarded so far, by identity."""
        self.shadows: dict[int, tuple[Any, Obj]] = {}
        """By identity of a native container that holds the elements of an object: the container, the object."""
        self.marked: dict[Obj, None] = {}
        """Objects that change, in the order of their first change."""
        self._own: dict[int, Obj] = {}
        self.expected: dict[Source, None] = {}
        self.writes = 0
        self.told_apart: dict[Source, None] = {}
        """Objects whose `id()` was asked for: different ones must stay different."""
        self.absent: dict[type, dict[str, None]] = {}
        """Names that classes of the program were asked for and do not have themselves."""
        self.keep: list[Any] = []
        self.owners: dict[int, Obj] = {}
        """By identity of a dictionary that an object may hold its attributes in: the object."""
        self.domain: Any = None

    # -- from real to symbolic ------------------------------------------------------------------

    def wrap(self, value: Any, source: Source, guarded: bool = False) -> Any:
        """The symbolic value of a real one; with `guarded`, that it is this very object is guarded already."""
        kind = type(value)
        if kind in PLAIN:
            return value if guarded else Lazy(source, value)
        known = self.memo.get(id(value))
        if known is not None:
            _, symbol, first = known
            if first is source or guarded:
                return symbol
            if not issubclass(kind, (tuple, MethodType)):
                self._same(source, first, value)
                return symbol
            again = self.elsewhere.get(source)
            if again is not None:
                return again  # an immutable value is read anew on each path: another time it may be another object
        if isinstance(value, Tensor):
            return self._tensor(value, source)
        if kind is FunctionType:
            self._function_guard(value, source, guarded)
            return self._note(value, value, source)
        if isinstance(value, (ATOMS, enum.Enum)):
            if not guarded:
                self.guards.is_(source, value)
            return self._note(value, value, source)
        if kind is BuiltinFunctionType:
            if value.__self__ is None or isinstance(value.__self__, (ModuleType, type)):
                if not guarded:
                    self.guards.is_(source, value)
                return self._note(value, value, source)
            return self._note(value, Obj(self, value, source), source)
        if kind is MethodType:
            self.guards.type(source, MethodType)
            function = self.wrap(value.__func__, self.sources.of("func", source, None, source.label))
            owner = self.wrap(value.__self__, self.sources.of("self", source, None, f"{source.label}.__self__"))
            return self._immutable(value, MethodType(function, owner), source)
        if isinstance(value, tuple):
            return self._tuple(value, source)
        if isinstance(value, BaseException):
            self.guards.type(source, kind)
            return self._note(value, value, source)
        if kind in (range, frozenset, Device) or (
            kind is slice and all(type(x) in PLAIN for x in (value.start, value.stop, value.step))
        ):
            self.guards.value(source, value)
            return self._note(value, value, source)
        if kind in VIEWS:
            return self._view(value, source)
        if kind is functools.partial and not value.__dict__:
            return self._partial(value, source)
        return self._object(value, source, kind)

    def _object(self, value: Any, source: Source, kind: type) -> Any:
        """An object that can change. The attributes of one may be another one: `vars(obj)`."""
        if kind is dict:
            owner = self.owners.get(id(value))
            if owner is not None and getattr(owner.real, "__dict__", None) is value:
                made = self.domain.own_dict(owner)
                self.guards.same(source, made.source, True)
                return self._note(value, made, source)
            return self._note(value, Obj(self, value, source), source)
        made = Obj(self, value, source)
        if kind.__module__ != "builtins":
            for held in _dictionaries(value):
                if type(held) is dict:
                    self.owners[id(held)] = made
                    known = self.memo.get(id(held))
                    if known is not None and known[0] is getattr(value, "__dict__", None) and type(known[1]) is Obj:
                        self.domain.adopt(made, known[1])
        return self._note(value, made, source)

    def _note(self, value: Any, symbol: Any, source: Source) -> Any:
        self.memo[id(value)] = (value, symbol, source)
        self.from_symbol[id(symbol)] = (symbol, value, source)
        return symbol

    def _immutable(self, value: Any, symbol: Any, source: Source) -> Any:
        if id(value) not in self.memo:
            return self._note(value, symbol, source)
        self.elsewhere[source] = symbol
        self.from_symbol[id(symbol)] = (symbol, value, source)
        return symbol

    def _same(self, source: Source, first: Source, value: Any) -> None:
        """Guard that two paths lead to one object."""
        if source.kind == "const" and first.kind == "const":
            return
        if isinstance(value, ATOMS) or (type(value) is FunctionType and id(value) not in self.weak):
            self.guards.is_(source, value)
            return
        self.guards.same(source, first, True)

    def different(self, a: Source, b: Source) -> None:
        """Guard that two paths lead to different objects."""
        self.guards.same(a, b, False)

    def tensors(self) -> list[tuple[Any, Source]]:
        """The fakes that stand for tensors that existed before, with their sources."""
        return [
            (symbol, source) for symbol, real, source in list(self.from_symbol.values()) if isinstance(real, Tensor)
        ]

    def _function_guard(self, value: FunctionType, source: Source, guarded: bool) -> None:
        if guarded:
            return
        root = source
        while root.base is not None and root.kind != "closure":
            root = root.base
        if root.kind == "const" and not _holds_cell(source):
            self.guards.is_(source, value, "which function it is")
        else:
            self.guards.type(source, FunctionType)
            code = self.sources.attr(source, "__code__")
            self.guards.is_(code, value.__code__, "the code of the function")
            self.weak.add(id(value))

    def identify(self, value: Any) -> None:
        """Guard which function it is, where only its code was guarded."""
        if id(value) in self.weak:
            self.weak.discard(id(value))
            known = self.memo.get(id(value))
            if known is not None:
                self.guards.is_(known[2], value, "which function it is")

    def _tuple(self, value: tuple[Any, ...], source: Source) -> Any:
        self.guards.type(source, type(value))
        self.guards.length(source, len(value))
        label = source.label
        fields = getattr(type(value), "_fields", None)
        items = []
        for i, x in enumerate(value):
            shown = f"{label}.{fields[i]}" if fields and i < len(fields) else f"{label}[{i}]"
            items.append(self.wrap(x, self.sources.of("tuple_item", source, i, shown)))
        return self._immutable(value, tuple.__new__(type(value), items), source)

    def _view(self, value: Any, source: Source) -> Any:
        """`keys()`, `values()` or `items()` of a dictionary that existed before: the same of what stands for that."""
        self.guards.type(source, type(value))
        home = self.wrap(viewed(value), self.sources.of("viewed", source, None, f"the dictionary of {source.label}"))
        native = facet(home).native()
        return self._note(value, getattr(native, type(value).__name__.rpartition("_")[2])(), source)

    def _partial(self, value: functools.partial, source: Source) -> Any:
        self.guards.type(source, functools.partial)
        function = self.wrap(value.func, self.sources.attr(source, "func"))
        args = self.wrap(value.args, self.sources.attr(source, "args"))
        words = self.sources.attr(source, "keywords")
        self.guards.keys(words, tuple(value.keywords))
        kwargs = {k: self.wrap(v, self.sources.item(words, k)) for k, v in value.keywords.items()}
        return self._note(value, functools.partial(function, *args, **kwargs), source)

    def _tensor(self, value: Tensor, source: Source) -> Any:
        dims = self._dynamic_dims(value, source)
        self.guards.tensor(source, value, dims)
        fake = self.recorder.input(value, source, dims)
        return self._note(value, fake, source)

    def _dynamic_dims(self, value: Tensor, source: Source) -> frozenset[int]:
        if self.all_dynamic is False or isinstance(value, Parameter):
            return frozenset()
        marked = getattr(value, "_dynamic_dims", None) or {}
        static = {d for d, how in marked.items() if how == "static"}
        dims = {d for d, how in marked.items() if how != "static"}
        dims |= self.dynamic.sizes.get(path_of(source), set())
        if self.all_dynamic:
            dims |= {i for i, n in enumerate(value._data.shape) if n > 1}
        return frozenset(d for d in dims - static if d < len(value._data.shape) and value._data.shape[d] > 1)

    def slot(self, value: Any, source: Source) -> Any:
        """The symbolic value of a slot that a segment is entered with: unread as far as that says something."""
        kind = type(value)
        if kind in PLAIN or kind in VIEWS or isinstance(value, (Tensor, tuple)):
            return Lazy(source, value)
        return self.wrap(value, source)

    # -- reading --------------------------------------------------------------------------------

    def force(self, lazy: Lazy) -> Any:
        """The value of something that is read now: a constant that is guarded, or a symbol where it is known to change."""
        if lazy.known is MISSING:
            value, source = lazy.value, lazy.source
            kind = type(value)
            if kind not in PLAIN:
                lazy.known = self.wrap(value, source)
            elif kind in (int, float) and self.all_dynamic is not False and path_of(source) in self.dynamic.scalars:
                lazy.known = self.recorder.scalar(value, source, self.guards)
                self.from_symbol[id(lazy.known)] = (lazy.known, value, source)
            else:
                self.guards.value(source, value)
                lazy.known = value
        return lazy.known

    def expect(self, source: Source, value: Any) -> None:
        """Something was read off an object: it must be there again, even where nobody looks at it."""
        if type(value) is Lazy or type(value) is Obj:
            self.expected.setdefault(source)

    def touch(self, obj: Obj) -> None:
        """Something of the object is read: what type it has is guarded."""
        if not obj.touched:
            obj.touched = True
            if obj.source.kind != "const":
                self.guards.type(obj.source, obj.kind)

    def mark(self, obj: Obj) -> None:
        """The object is about to change."""
        self.marked.setdefault(obj)
        self.writes += 1

    def changes(self) -> dict[Obj, tuple[Any, ...]]:
        """What changes of each object, writes that put back what was there left out."""
        for obj in self.marked:
            obj.net()
        return {o: o.content() for o in self.marked if o.dirty}

    def changed_since(self, before: dict[Obj, tuple[Any, ...]]) -> bool:
        """Whether something changes besides what `changes` said before."""
        now = self.changes()
        return now.keys() != before.keys() or any(
            len(v) != len(before[o]) or any(x is not y for x, y in zip(v, before[o], strict=True))
            for o, v in now.items()
        )

    def obj_for(self, value: Any, label: str = "") -> Obj:
        """The `Obj` that notes reads and writes of an object that stands for itself (a class, a module, globals, a function)."""
        known = self.memo.get(id(value))
        if known is not None and isinstance(known[1], Obj):
            return known[1]
        for obj in (self._own.get(id(value)),):
            if obj is not None:
                return obj
        if known is not None and known[2].kind != "const" and id(value) in self.weak:
            source = known[2]
        else:
            source = self.sources.const(value, label)
        obj = Obj(self, value, source)
        obj.touched = True
        self._own[id(value)] = obj
        self.keep.append(value)
        return obj

    def own_obj(self, value: Any) -> Obj | None:
        """The same, if there is one already."""
        return self._own.get(id(value))

    def source_of(self, symbol: Any) -> Source | None:
        """The source of a symbolic value that stands for something that existed before."""
        if type(symbol) is Lazy:
            return symbol.source
        known = self.from_symbol.get(id(symbol))
        return known[2] if known is not None and known[0] is symbol else None

    def real_of(self, symbol: Any) -> Any:
        """The real object that a symbolic value stands for, MISSING where there is none."""
        if type(symbol) is Lazy:
            return symbol.value
        known = self.from_symbol.get(id(symbol))
        return known[1] if known is not None and known[0] is symbol else MISSING

    # -- keys -----------------------------------------------------------------------------------

    def real_key(self, key: Any) -> tuple[Any, Source | None]:
        """The real key that a symbolic key stands for, and its source where it is no literal; MISSING for one made inside."""
        if self.literal_key(key):
            return key, None
        known = self.from_symbol.get(id(key))
        if known is not None and known[0] is key:
            real, source = known[1], known[2]
            return real, None if isinstance(real, ATOMS) or source.kind == "const" else source
        if isinstance(key, tuple):
            parts = [self.real_key(k) for k in key]
            if any(p is MISSING or by is not None for p, by in parts):
                return MISSING, None
            return type(key)(p for p, _ in parts) if type(key) is tuple else key, None
        if isinstance(key, (Tensor, Obj)):
            return MISSING, None
        return key, None

    def literal_key(self, key: Any) -> bool:
        """Whether a key is guarded by being equal."""
        return (
            type(key) in PLAIN
            or isinstance(key, (enum.Enum, DType))
            or (isinstance(key, tuple) and plain_tuple(type(key)) and all(map(self.literal_key, key)))
        )

    def key_value(self, key: Any, home: Source, index: int) -> Any:
        """The symbolic value of a key at a place; literal keys are guarded with all keys."""
        if self.literal_key(key):
            return key
        return self.wrap(key, self.sources.nth_key(home, index, home.covered), guarded=False)

    def is_module(self, obj: Any) -> bool:
        """Whether it is an `nn.Module` that existed before."""
        return type(obj) is Obj and isinstance(obj.real, Module)


def plain_tuple(kind: type) -> bool:
    """Whether tuples of a type are compared as such."""
    return kind.__hash__ is tuple.__hash__ and kind.__eq__ is tuple.__eq__


def _dictionaries(value: Any) -> list[Any]:
    """What the attributes of an object may be in. Before 3.13, asking for its `__dict__` would change how Python keeps it."""
    if sys.version_info >= (3, 13):
        return [getattr(value, "__dict__", None)]
    return gc.get_referents(value)


def _holds_cell(source: Source) -> bool:
    at: Source | None = source
    while at is not None:
        if at.kind in ("cell", "closure", "slot", "default"):
            return True
        at = at.base
    return False


def is_cell(value: Any) -> bool:
    """Whether it is a real cell."""
    return type(value) is CellType
