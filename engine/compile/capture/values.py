"""What stands for values on the symbolic stack where Python's own objects do not do.

Tensors are fakes, functions, classes and everything made inside are the objects themselves; what existed before and can change is an
`Obj`, which notes what was read and what is written; plain values that nobody looked at yet are `Lazy`.  None of these can be used by
native code by mistake: every operation on them raises.  What reading means is `world.py`'s business.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any

from ..interpreter.frame import Control, Sentinel

if TYPE_CHECKING:
    from .sources import Source
    from .world import World

MISSING = Sentinel("missing")
DELETED = Sentinel("deleted")

PLAIN = frozenset({int, float, str, bytes, bool, complex, type(None), type(...), type(NotImplemented)})
"""Types whose values are guarded by equality."""


VIEWS = tuple(type(getattr(d, part)()) for d in ({}, OrderedDict()) for part in ("keys", "values", "items"))
"""Views of dictionaries, plain and ordered."""


class Misused(Control):
    """A symbolic value reached native code: a mistake of the capture, never an exception of the program."""


def _refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise Misused(f"{self!r} was used by native code")


def _opaque(cls: Any) -> Any:
    for name in (
        "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "rmod", "pow", "rpow",
        "matmul", "rmatmul", "and", "rand", "or", "ror", "xor", "rxor", "lshift", "rlshift", "rshift", "rrshift", "neg", "pos", "abs",
        "invert", "bool", "int", "float", "complex", "index", "len", "iter", "getitem", "setitem", "delitem", "contains", "lt", "le",
        "gt", "ge", "call", "enter", "exit", "next", "str", "format", "bytes", "round", "reversed",
    ):  # fmt: skip
        setattr(cls, f"__{name}__", _refuse)
    return cls


@_opaque
class Lazy:
    """A plain value with a source that nobody has looked at yet."""

    __slots__ = ("known", "source", "value")

    def __init__(self, source: Source, value: Any) -> None:
        self.source, self.value = source, value
        self.known: Any = MISSING

    def __eq__(self, other: Any) -> Any:
        if other is self:
            return True
        raise Misused(f"{self!r} was compared by native code")

    def __hash__(self) -> int:
        raise Misused(f"{self!r} was hashed by native code")

    def __repr__(self) -> str:
        return f"<unread {self.source.label}>"


@_opaque
class Obj:
    """A mutable object that existed before the segment: what was read of it, and what is written to it.

    `attrs` are its own attributes as far as they are known (MISSING where there is none), `written` those that change.
    """

    __slots__ = ("attrs", "fresh", "items", "kind", "real", "source", "touched", "used", "world", "written")

    def __init__(self, world: World, real: Any, source: Source) -> None:
        self.world, self.real, self.source, self.kind = world, real, source, type(real)
        self.attrs: dict[str, Any] = {}
        self.written: dict[str, Any] = {}
        self.items: Any = None
        self.touched = False
        self.fresh = False
        self.used = 0
        """How many items of an iterator the segment takes."""

    def __repr__(self) -> str:
        return f"<{self.kind.__name__} {self.source.label}>"

    __hash__ = object.__hash__

    def __eq__(self, other: Any) -> Any:
        return other is self

    @property
    def dirty(self) -> bool:
        """Whether something of it changes."""
        return bool(self.written or self.used) or (self.items is not None and self.items.dirty)

    def net(self) -> None:
        """Forget writes that put back what was there."""
        for name in [n for n, v in self.written.items() if v is not DELETED and self.attrs.get(n) is v]:
            del self.written[name]
        if type(self.items) is DictFacet:
            self.items.net()

    def content(self) -> tuple[Any, ...]:
        """What was written so far, to compare by identity with what it is later."""
        part = self.items
        held: list[Any] = []
        if part is not None and part.dirty:
            shadow = part.shadow
            if shadow is not None:
                held = [x for pair in shadow.items() for x in pair] if isinstance(shadow, dict) else list(shadow)
            elif type(part) is ListFacet:
                held = list(part.appended)
            elif isinstance(part, DictFacet):
                held = [x for pair in part.writes.items() for x in pair]
        return self.used, *self.written, *self.written.values(), *held


class CMethod:
    """A method of a C type, bound to an `Obj` or a symbolic value: called through the tables."""

    __slots__ = ("name", "receiver")

    def __init__(self, receiver: Any, name: str) -> None:
        self.receiver, self.name = receiver, name

    def __repr__(self) -> str:
        return f"<method {self.name} of {self.receiver!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise Misused(f"{self!r} was called by native code")


def facet_kind(kind: type) -> type | None:
    """Which of Python's containers a type is built on, None where it is none."""
    for base in (list, dict, set, deque, bytearray):
        if issubclass(kind, base):
            return base
    return None


class ListFacet:
    """The elements of a list or deque that existed before. Appending does not read it."""

    __slots__ = ("appended", "dirty", "obj", "shadow")

    def __init__(self, obj: Obj) -> None:
        self.obj = obj
        self.shadow: Any = None
        self.appended: list[Any] = []
        self.dirty = False

    def native(self) -> Any:
        """All elements as a list of symbolic values, from now on the truth; the length is guarded."""
        if self.shadow is None:
            obj, world = self.obj, self.obj.world
            world.touch(obj)
            world.guards.length(obj.source, len(obj.real))
            step = "list_item" if isinstance(obj.real, list) else "item"
            label = obj.source.label
            covered = False
            items = [
                world.wrap(x, world.sources.of(step, obj.source, i, f"{label}[{i}]", covered))
                for i, x in enumerate(obj.real)
            ]
            self.shadow = items if isinstance(obj.real, list) else deque(items, obj.real.maxlen)
            self.shadow.extend(self.appended)
            world.shadows[id(self.shadow)] = (self.shadow, obj)
        return self.shadow

    def get(self, index: int) -> Any:
        """One element by a place from the front, without reading the others; None where that cannot be."""
        obj, world = self.obj, self.obj.world
        if self.shadow is not None or not isinstance(obj.real, list) or not 0 <= index < len(obj.real):
            return self.native()[index]
        world.touch(obj)
        source = world.sources.of("list_item", obj.source, index, f"{obj.source.label}[{index}]")
        value = world.wrap(obj.real[index], source)
        world.expect(source, value)
        return value

    def append(self, value: Any) -> None:
        """Add at the end."""
        self.obj.world.touch(self.obj)
        self.dirty = True
        self.obj.world.mark(self.obj)
        (self.appended if self.shadow is None else self.shadow).append(value)

    def changed(self) -> Any:
        """All elements, about to be changed."""
        out = self.native()
        self.dirty = True
        self.obj.world.mark(self.obj)
        return out


class DictFacet:
    """The items of a dictionary that existed before. Keys are symbolic values; writing does not read it."""

    __slots__ = ("dirty", "obj", "original", "reads", "shadow", "writes")

    def __init__(self, obj: Obj) -> None:
        self.obj = obj
        self.shadow: Any = None
        self.reads: dict[Any, Any] = {}
        self.writes: dict[Any, Any] = {}
        self.original: dict[Any, Any] = {}
        self.dirty = False

    def get(self, key: Any) -> Any:
        """The value under a key, MISSING where there is none; whether it is there is guarded."""
        if self.shadow is not None:
            return self.shadow.get(key, MISSING)
        if key in self.writes:
            return self.writes[key]
        if key in self.reads:
            return self.reads[key]
        obj, world = self.obj, self.obj.world
        world.touch(obj)
        real, by = world.real_key(key)
        there = real is not MISSING and dict.__contains__(obj.real, real)
        if real is MISSING:
            value: Any = MISSING
        else:
            if not obj.source.covered or not there:
                world.guards.has(obj.source, real, there, by)
            value = MISSING
            if there:
                value = world.wrap(
                    dict.__getitem__(obj.real, real), self._source(real, by, dict.__getitem__(obj.real, real))
                )
        self.reads[key] = value
        return value

    def _source(self, key: Any, by: Any, value: Any) -> Any:
        obj, sources = self.obj, self.obj.world.sources
        if by is not None:
            return sources.item_at(obj.source, by)
        label = obj.source.label
        home = label.rpartition(".")[2]
        if home in ("_parameters", "_buffers", "_modules") and isinstance(key, str):
            shown = label.removesuffix(home) + key
        elif obj.source.kind == "const" and not label:
            shown = str(key)
        else:
            shown = f"{label}[{key!r}]"
        if type(obj.real) is dict:
            return sources.item(obj.source, key, obj.source.covered, shown)
        return sources.of("dict_item", obj.source, key, shown, obj.source.covered)

    def put(self, key: Any, value: Any) -> None:
        """Set an item."""
        self.obj.world.touch(self.obj)
        if self._holds(key, value):
            return
        if self.writes.get(key) is DELETED:
            self.native()  # it comes last now
        self.dirty = True
        self.obj.world.mark(self.obj)
        (self.writes if self.shadow is None else self.shadow)[key] = value

    def net(self) -> None:
        """Forget writes that put back what was there, where they did not change the order."""
        if self.shadow is None:
            for key in [k for k, v in self.writes.items() if v is not DELETED and self.reads.get(k) is v]:
                del self.writes[key]
            self.dirty = bool(self.writes)
        elif len(self.shadow) == len(self.original):
            pairs = zip(self.shadow.items(), self.original.items(), strict=True)
            self.dirty = not all(a is b and x is y for (a, x), (b, y) in pairs)

    def _holds(self, key: Any, value: Any) -> bool:
        """Whether that is the item already (`d[k] += 1` on a tensor puts the same object back)."""
        if type(value) is Lazy or key in self.writes:
            return False
        known = self.reads if self.shadow is None else self.shadow
        return known.get(key, MISSING) is value and value is not None

    def native(self) -> Any:
        """All items as a dictionary of symbolic values, from now on the truth; the keys are guarded."""
        if self.shadow is None:
            obj, world = self.obj, self.obj.world
            world.touch(obj)
            real = obj.real
            world.guards.keys(obj.source, tuple(dict.keys(real)))
            if isinstance(real, defaultdict):
                shadow: Any = defaultdict(None)
            elif isinstance(real, OrderedDict):
                shadow = OrderedDict()
            else:
                shadow = {}
            for i, (key, value) in enumerate(dict.items(real)):
                symbol = world.key_value(key, obj.source, i)
                if symbol in self.reads and self.reads[symbol] is not MISSING:
                    shadow[symbol] = self.reads[symbol]
                else:
                    by = None if world.literal_key(key) else world.sources.nth_key(obj.source, i, obj.source.covered)
                    shadow[symbol] = world.wrap(value, self._source(key, by, value))
            self.original = dict(shadow)
            for symbol, value in self.writes.items():
                if value is DELETED:
                    shadow.pop(symbol, None)
                else:
                    shadow[symbol] = value
            self.shadow = shadow
            world.shadows[id(shadow)] = (shadow, obj)
        return self.shadow

    def changed(self) -> Any:
        """All items, about to be changed."""
        out = self.native()
        self.dirty = True
        self.obj.world.mark(self.obj)
        return out


class AttrsFacet(DictFacet):
    """`vars(obj)` of an object that existed before: reads and writes are those of its attributes."""

    __slots__ = ("last", "owner")

    def __init__(self, obj: Obj, owner: Obj) -> None:
        super().__init__(obj)
        self.owner = owner
        self.last: Any = None

    def get(self, key: Any) -> Any:
        return self.obj.world.domain.get_own(self.owner, key, self.obj.world.is_module(self.owner))

    def put(self, key: Any, value: Any) -> None:
        self.obj.world.domain.set_own(self.owner, key, value)

    def native(self) -> Any:
        owner, world = self.owner, self.obj.world
        world.guards.keys(self.obj.source, tuple(owner.real.__dict__))
        out = {}
        for key in owner.real.__dict__:
            value = self.get(key)
            if value is not MISSING:
                out[key] = value
        out.update({k: v for k, v in owner.written.items() if v is not DELETED})
        self.last = out
        return out

    def changed(self) -> Any:
        before = {k: v for k in self.owner.real.__dict__ if (v := self.get(k)) is not MISSING}
        before.update({k: v for k, v in self.owner.written.items() if v is not DELETED})
        for key in before:
            if key not in self.last:
                self.put(key, DELETED)
        for key, value in self.last.items():
            if key not in before or before[key] is not value:
                self.put(key, value)
        return self.last


class SetFacet:
    """The elements of a set that existed before."""

    __slots__ = ("dirty", "obj", "shadow")

    def __init__(self, obj: Obj) -> None:
        self.obj = obj
        self.shadow: Any = None
        self.dirty = False

    def native(self) -> Any:
        """All elements as a set of symbolic values; they are guarded, in their order."""
        if self.shadow is None:
            obj, world = self.obj, self.obj.world
            world.touch(obj)
            world.guards.keys(obj.source, tuple(obj.real))
            self.shadow = {world.key_value(x, obj.source, i) for i, x in enumerate(obj.real)}
            world.shadows[id(self.shadow)] = (self.shadow, obj)
        return self.shadow

    def changed(self) -> Any:
        """All elements, about to be changed."""
        out = self.native()
        self.dirty = True
        self.obj.world.mark(self.obj)
        return out


def facet(obj: Obj) -> Any:
    """The part of an object that is a container; None where it is none."""
    if obj.items is None:
        base = facet_kind(obj.kind)
        if base in (list, deque):
            obj.items = ListFacet(obj)
        elif base is dict:
            obj.items = DictFacet(obj)
        elif base is set:
            obj.items = SetFacet(obj)
    return obj.items
