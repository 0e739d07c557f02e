"""Containers: items, iteration, membership, equality and methods, for those made inside and those that existed before.

A mixin of the domain.  What was made inside is Python's own container with symbolic values in it; of one that existed before
(an `Obj`) only what is read is guarded.
"""

from __future__ import annotations

import operator
from collections import OrderedDict, defaultdict, deque
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from ...tensor import Tensor
from ..fake import SymFloat, SymInt
from ..interpreter.frame import EXHAUSTED, Frame
from ..interpreter.generators import InterpretedGenerator
from .kinds import Identity, Note
from .sources import END, ahead
from .stops import Stop, Turn, name_of
from .values import DELETED, MISSING, PLAIN, VIEWS, CMethod, DictFacet, Lazy, ListFacet, Misused, Obj, SetFacet, facet
from .world import World, plain_tuple

CONTAINERS = (list, dict, tuple, set, frozenset, deque)
AHEAD = frozenset(
    map(
        type,
        (
            iter([]),
            iter(()),
            iter(range(0)),
            iter(""),
            iter("\u1234"),
            iter({}),
            iter({}.values()),
            iter({}.items()),
            reversed([]),
        ),
    )
)
"""Iterators that can be looked into without moving them."""

MUTATING = frozenset(
    [
        "append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "popitem", "remove", "clear", "reverse", "sort", "rotate",
        "update", "setdefault", "add", "discard", "difference_update", "intersection_update", "symmetric_difference_update",
        "move_to_end", "__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__", "__ixor__", "__init__",
    ]
)  # fmt: skip
_ADDING = frozenset(["append", "appendleft", "insert"])
COMPARING = frozenset(
    ["remove", "index", "count", "sort", "__contains__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"]
)
SAFE_FACTORIES = (list, dict, set, int, float, str, tuple, bool, OrderedDict, deque)


class Containers:
    """The part of the domain that handles containers."""

    world: World

    if TYPE_CHECKING:
        read: Any
        push: Any
        leaf: Any
        nested: Any
        binary: Any
        truth_of: Any
        special: Any
        of_class: Any
        class_value: Any
        inner: Any

    # -- settling -------------------------------------------------------------------------------

    def settle(self, value: Any) -> Any:
        """`value` with every unread plain value in it read, and containers that existed before as native ones."""
        kind = type(value)
        if kind is Lazy:
            return self.read(value)
        if kind in PLAIN or isinstance(value, Tensor):
            return value
        if kind is Obj:
            part = facet(value)
            if part is None or type(self.of_class(value.kind, "__iter__")[0]) is FunctionType:
                return value
            return self.settle(part.native())
        if kind is list or kind is deque:
            for i, v in enumerate(value):
                if type(v) is not int and type(v) not in PLAIN and not isinstance(v, Tensor):
                    settled = self.settle(v)
                    if settled is not v:
                        if type(v) is Obj:
                            return kind([self.settle(x) for x in value])
                        value[i] = settled
            return value
        if isinstance(value, tuple):
            parts = [self.settle(v) for v in value]
            if all(a is b for a, b in zip(parts, value, strict=True)):
                return value
            return tuple.__new__(kind, parts)
        if isinstance(value, dict):
            for k, v in list(value.items()):
                settled = self.settle(v)
                if settled is not v:
                    if type(v) is Obj:
                        return {k: self.settle(x) for k, x in value.items()}
                    value[k] = settled
            return value
        if kind is slice:
            return slice(self.read(value.start), self.read(value.stop), self.read(value.step))
        return value

    def symbolic(self, value: Any) -> bool:
        """Whether something in a settled value is no plain Python object."""
        kind = type(value)
        if kind in PLAIN:
            return False
        if kind in (Lazy, Obj, CMethod) or isinstance(value, Tensor):
            return True
        if isinstance(value, (list, tuple, set, frozenset, deque)):
            return any(map(self.symbolic, value))
        if isinstance(value, dict):
            return any(map(self.symbolic, value)) or any(map(self.symbolic, value.values()))
        return isinstance(value, InterpretedGenerator)

    def concrete(self, value: Any) -> Any:
        """Symbolic numbers within a settled value as the plain numbers they are now, which is guarded."""
        kind = type(value)
        if kind is SymInt:
            return int(value)
        if kind is SymFloat:
            return float(value)
        if kind is Identity:
            if self.world.source_of(value.symbol) is None:
                raise Stop("unsupported-value", "The id() of an object made inside")
            return self.pinned(value)
        if kind is list or kind is tuple:
            return kind([self.concrete(v) for v in value])
        if kind is dict:
            return {k: self.concrete(v) for k, v in value.items()}
        return value

    def key(self, value: Any) -> Any:
        """A key of a dictionary, read; raises TypeError for what cannot be one."""
        value = self.read(value)
        kind = type(value)
        if kind in PLAIN or isinstance(value, Tensor):
            return value
        if kind is Obj:
            if value.items is not None or value.kind in (list, dict, set, deque):
                raise TypeError(f"unhashable type: '{value.kind.__name__}'")
            if (
                type(self.of_class(value.kind, "__hash__")[0]) is FunctionType
                or type(self.of_class(value.kind, "__eq__")[0]) is FunctionType
            ):
                raise Stop("unsupported-value", f"A {value.kind.__name__} as a key")
            self.world.touch(value)
            return value
        if issubclass(kind, tuple) and plain_tuple(kind):
            parts = [self.key(v) for v in value]
            return tuple(parts) if kind is tuple else tuple.__new__(kind, parts)
        if kind in (SymInt, SymFloat):
            return self.concrete(value)
        if kind is FunctionType:
            self.world.identify(value)
            return value
        if type(self.of_class(kind, "__hash__")[0]) is FunctionType:
            settled = getattr(value, "__dict__", None)
            if settled is not None and any(self.symbolic(v) for v in settled.values()):
                raise Stop("unsupported-value", f"A {kind.__name__} as a key")
        return value

    def key_of(self, container: Any, value: Any) -> Any:
        """A key that is looked for in a container: an `id()` among plain numbers is one itself."""
        key = self.key(value)
        if (type(key) is Identity or type(key) is tuple) and (
            type(container) is Obj or any(type(k) in (int, tuple) for k in container)
        ):
            return self.pinned(key)
        return key

    def pinned(self, value: Any) -> Any:
        """An `id()` as the number that it is, which is guarded."""
        if type(value) is tuple and any(type(v) in (Identity, tuple) for v in value):
            return tuple([self.pinned(v) for v in value])
        if type(value) is not Identity:
            return value
        source = self.world.source_of(value.symbol)
        if source is None:
            return value
        number = int(value)
        if source.kind != "const":
            self.world.guards.condition(source, f"id({{e}}) == {number}", f"id({{e}}) != {number}", "its id()")
        return number

    # -- items ----------------------------------------------------------------------------------

    def getitem(self, frame: Frame, container: Any, key: Any) -> Any:
        container = self.read(container)
        kind = type(container)
        if kind is Obj:
            return self._obj_getitem(frame, container, key)
        if isinstance(container, Tensor):
            return self.leaf(frame, operator.getitem, [container, self.index(key)], {})
        if isinstance(key, Tensor) and isinstance(container, (list, tuple)):
            raise Stop("item", "An index")
        if isinstance(container, (list, tuple)) and not self._overrides(kind, "__getitem__"):
            return container[self.concrete(self.index(key))]
        if isinstance(container, dict) and not self._overrides(kind, "__getitem__"):
            key = self.key_of(container, key)
            if key in container:
                return dict.__getitem__(container, key)
            return self._missing(frame, container, kind, key)
        method = self.special(container, "__getitem__")
        if method is not None:
            return self.push(frame, method, [container, key], {})
        if isinstance(container, type):
            return self._class_item(frame, container, self.settle(key))
        key = self.index(key)
        if self.symbolic(container) or self.symbolic(key):
            raise Stop("unsupported-value", f"An item of {name_of(container)}")
        return container[self.concrete(key)]

    def index(self, key: Any) -> Any:
        """An index, read through slices and tuples."""
        key = self.read(key)
        kind = type(key)
        if kind is slice:
            return slice(self.read(key.start), self.read(key.stop), self.read(key.step))
        if kind is tuple:
            return tuple([self.index(k) for k in key])
        if kind is list:
            return [self.index(k) for k in key]
        method = self.special(key, "__index__")
        if method is not None:
            return self.read(self.nested(method, [key], {}))
        return self.settle(key) if kind is Obj else key

    def _class_item(self, frame: Frame, cls: type, key: Any) -> Any:
        found, owner = self.of_class(type(cls), "__getitem__")
        if type(found) is FunctionType and owner is not None and owner.__module__ not in ("enum",):
            return self.push(frame, self.class_value(found, owner, "__getitem__"), [cls, key], {})
        if found is MISSING:
            found, owner = self.of_class(cls, "__class_getitem__")
            if isinstance(found, classmethod) and owner is not None and owner.__module__ != "typing":
                return self.push(frame, self.inner(found, owner, "__class_getitem__"), [cls, key], {})
        return cls[key]  # type: ignore[index]

    def _overrides(self, kind: type, name: str) -> bool:
        if kind in CONTAINERS or kind.__module__ == "builtins":
            return False
        return type(self.of_class(kind, name)[0]) is FunctionType

    def _missing(self, frame: Frame, container: Any, kind: type, key: Any) -> Any:
        """A dictionary that was made inside has no such key."""
        hook = self.of_class(kind, "__missing__")[0]
        if type(hook) is FunctionType:
            return self.push(frame, hook, [container, key], {})
        if isinstance(container, defaultdict) and container.default_factory is not None:
            value = container[key] = self._made_by(container.default_factory)
            return value
        raise KeyError(key)

    def _made_by(self, factory: Any) -> Any:
        if factory in SAFE_FACTORIES:
            return factory()
        return self.nested(factory, [], {})

    def _obj_getitem(self, frame: Frame, obj: Obj, key: Any) -> Any:
        self.world.touch(obj)
        method = self.special(obj, "__getitem__")
        if method is not None:
            return self.push(frame, method, [obj, key], {})
        part = facet(obj)
        if type(part) is ListFacet:
            key = self.concrete(self.index(key))
            if isinstance(key, Tensor):
                raise Stop("item", "An index")
            if type(key) in (int, bool):
                return part.get(key)
            return part.native()[key]
        if isinstance(part, DictFacet):
            key = self.key_of(obj, key)
            value = part.get(key)
            if value is MISSING or value is DELETED:
                hook = self.of_class(obj.kind, "__missing__")[0]
                if type(hook) is FunctionType:
                    return self.push(frame, hook, [obj, key], {})
                if isinstance(obj.real, defaultdict) and obj.real.default_factory is not None:
                    made = self._made_by(obj.real.default_factory)
                    part.put(key, made)
                    return made
                raise KeyError(self.shown_key(key))
            return value
        raise Stop("unsupported-value", f"An item of a {obj.kind.__name__}")

    def shown_key(self, key: Any) -> Any:
        real = self.world.real_of(key)
        return key if real is MISSING else real

    def setitem(self, frame: Frame, container: Any, key: Any, value: Any) -> Any:
        container = self.read(container)
        if isinstance(container, Tensor) and self.fills(frame, container, key, value):
            return None
        if isinstance(container, Tensor):
            self.leaf(frame, operator.setitem, [container, self.index(key), self.read(value)], {}, always=True)
            return None
        if type(container) is Obj:
            self.world.touch(container)
            method = self.special(container, "__setitem__")
            if method is not None:
                return self.push(frame, method, [container, key, value], {})
            part = facet(container)
            if type(part) is ListFacet:
                key = self.concrete(self.index(key))
                native = part.native()
                if type(key) is slice:
                    native[key] = self.elements(frame, value)
                else:
                    native[key] = value
                part.changed()
                return None
            if isinstance(part, DictFacet):
                part.put(self.key_of(container, key), value)
                return None
            raise Stop("mutation", f"Setting an item of a {container.kind.__name__}")
        method = self.special(container, "__setitem__")
        if method is not None:
            return self.push(frame, method, [container, key, value], {})
        if isinstance(container, dict):
            container[self.key_of(container, key)] = value
            return None
        if isinstance(container, (list, deque)):
            key = self.concrete(self.index(key))
            items: Any = container
            items[key] = self.elements(frame, value) if type(key) is slice else value
            return None
        if isinstance(container, (tuple, str, int, type(None), range)):
            raise TypeError(f"'{type(container).__name__}' object does not support item assignment")
        raise Stop("mutation", f"Setting an item of {name_of(container)}")

    def fills(self, frame: Frame, t: Any, key: Any, value: Any) -> bool:
        """`t[mask] = number`: the same as filling where the mask is true, which needs no values."""
        mask, value = self.read(key), self.read(value)
        if not isinstance(mask, Tensor) or mask.dtype.name != "bool" or type(value) not in (int, float, bool):
            return False
        rank = mask.ndim
        if rank > t.ndim or rank == 0 or tuple(mask.shape) != tuple(t.shape)[:rank]:
            return False
        if rank < t.ndim:
            mask = self.leaf(frame, _method("reshape"), [mask, (*mask.shape, *(1,) * (t.ndim - rank))], {})
        self.leaf(frame, _method("masked_fill_"), [t, mask, value], {})
        return True

    def delitem(self, frame: Frame, container: Any, key: Any) -> Any:
        container = self.read(container)
        method = self.special(container, "__delitem__")
        if method is not None:
            return self.push(frame, method, [container, key], {})
        if type(container) is Obj:
            part = facet(container)
            if type(part) is ListFacet:
                native = part.native()
                del native[self.concrete(self.index(key))]
                part.changed()
                return None
            if isinstance(part, DictFacet):
                native = part.native()
                key = self.key_of(container, key)
                if key not in native:
                    raise KeyError(self.shown_key(key))
                del native[key]
                part.changed()
                return None
            raise Stop("mutation", f"Deleting an item of a {container.kind.__name__}")
        if isinstance(container, dict):
            del container[self.key_of(container, key)]
            return None
        if isinstance(container, (list, deque)):
            del container[self.concrete(self.index(key))]
            return None
        raise Stop("mutation", f"Deleting an item of {name_of(container)}")

    # -- iteration ------------------------------------------------------------------------------

    def get_iter(self, frame: Frame, value: Any) -> Any:
        value = self.read(value)
        if isinstance(value, Tensor):
            if not value._data.shape:
                raise TypeError("iteration over a 0-d tensor")
            return iter(self.leaf(frame, _method("unbind"), [value, 0], {}))
        if type(value) is Obj:
            self.world.touch(value)
            method = self.special(value, "__iter__")
            if method is not None:
                return self.push(frame, method, [value], {})
            part = facet(value)
            if part is not None:
                return iter(part.native())
            if hasattr(value.kind, "__next__"):
                return value
            method = self.special(value, "__getitem__")
            if method is not None:
                raise Stop("unsupported-value", f"Iterating over a {value.kind.__name__} by its items")
            raise Stop("unsupported-value", f"Iterating over a {value.kind.__name__}")
        if isinstance(value, InterpretedGenerator):
            return value
        method = self.special(value, "__iter__")
        if method is not None:
            return self.push(frame, method, [value], {})
        if (
            type(value).__module__ not in ("builtins", "collections", "itertools")
            and not isinstance(value, CONTAINERS)
            and not isinstance(value, type)
        ):
            if self.special(value, "__getitem__") is not None:
                raise Stop("unsupported-value", f"Iterating over a {type(value).__name__} by its items")
        return iter(value)  # type: ignore[call-overload]

    def for_iter(self, frame: Frame, iterator: Any) -> Any:
        iterator = self.read(iterator)
        if type(iterator) is Obj:
            method = self.special(iterator, "__next__")
            if method is not None:
                return self._user_next(frame, method, iterator)
            raise Turn()
        if isinstance(iterator, InterpretedGenerator):
            made = super().for_iter(frame, iterator)  # type: ignore[misc]
            if type(made) is Frame:
                made.note = Note(self.steps, frame.note.module if frame is not None and frame.note is not None else "")  # type: ignore[attr-defined]
            return made
        method = self.special(iterator, "__next__")
        if method is not None:
            return self._user_next(frame, method, iterator)
        return next(iterator, EXHAUSTED)

    def next_ahead(self, iterator: Obj) -> Any:
        """The next item of one of Python's own iterators that existed before, EXHAUSTED at its end: where it stands is not asked."""
        if iterator.kind not in AHEAD:
            raise Stop("unsupported-value", f"next() of a {iterator.kind.__name__} that existed before")
        if any(o.items is not None and o.dirty for o in self.world.marked if o.kind not in AHEAD):
            raise Turn()  # perhaps the container is another one by now
        used = iterator.used
        found = ahead(iterator.real, used)
        self.world.touch(iterator)
        source = self.world.sources.of("ahead", iterator.source, used, f"item {used} of {iterator.source.label}")
        if found is END:
            self.world.guards.is_(source, END, "whether the iterator is at its end")
            return EXHAUSTED
        self.world.guards.condition(
            source, "there is {e}", f"{{e}} is {self.world.sources.object(END)}", "whether there is one"
        )
        iterator.used = used + 1
        self.world.mark(iterator)
        return self.world.wrap(found, source)

    def _user_next(self, frame: Frame, method: Any, iterator: Any) -> Any:
        try:
            return self.nested(method, [iterator], {})
        except StopIteration:
            return EXHAUSTED

    def elements(self, frame: Frame, iterable: Any) -> list[Any]:
        """All items of an iterable, at once."""
        iterable = self.read(iterable)
        kind = type(iterable)
        if kind is list or kind is tuple:
            return list(iterable)
        if kind is Obj and self.special(iterable, "__iter__") is None:
            part = facet(iterable)
            if part is not None:
                return list(part.native())
        iterator = self.nested_value(frame, self.get_iter(frame, iterable))
        out = []
        while True:
            item = self.next_value(frame, iterator)
            if item is EXHAUSTED:
                return out
            out.append(item)

    def nested_value(self, frame: Frame, outcome: Any) -> Any:
        """An outcome that may be a frame, as a value."""
        if type(outcome) is Frame:
            return self.run_nested(outcome)
        return outcome

    if TYPE_CHECKING:
        run_nested: Any

    def next_value(self, frame: Frame, iterator: Any) -> Any:
        """The next item of an iterator, EXHAUSTED at its end; generators run nested."""
        if isinstance(iterator, InterpretedGenerator):
            return self.resume_nested(iterator, None)
        outcome = self.for_iter(frame, iterator)
        return self.nested_value(frame, outcome)

    if TYPE_CHECKING:
        resume_nested: Any

    # -- membership and equality ----------------------------------------------------------------

    def contains(self, frame: Frame, container: Any, item: Any, invert: bool) -> Any:
        container = self.read(container)
        method = self.special(container, "__contains__")
        if method is not None:
            found = self.truth_of(self.nested(method, [container, item], {}))
            return found is not invert
        if isinstance(container, Tensor):
            raise Stop("item", "in")
        if type(container) is Obj:
            part = facet(container)
            if isinstance(part, DictFacet):
                found = part.get(self.key_of(container, item))
                return (found is not MISSING and found is not DELETED) is not invert
            if part is None:
                iterator = self.special(container, "__iter__")
                if iterator is None:
                    raise Stop("unsupported-value", f"in a {container.kind.__name__}")
                return self._among(frame, self.elements(frame, container), item) is not invert
            native = part.native()
            if type(part) is SetFacet:
                return (self.key_of(container, item) in native) is not invert
            return self._among(frame, native, item) is not invert
        if isinstance(container, (dict, set, frozenset, VIEWS[0])):
            return (self.key_of(container, item) in container) is not invert
        if isinstance(container, (str, bytes, range)):
            item = self.concrete(self.read(item))
            return (item in container) is not invert
        if isinstance(container, type):
            return (self.read(item) in container) is not invert  # type: ignore[operator]
        return self._among(frame, self.elements(frame, container), item) is not invert

    def _among(self, frame: Frame, items: Any, item: Any) -> bool:
        item = self.read(item)
        return any(self.read(x) is item or self.equal(frame, x, item) for x in list(items))

    def equal(self, frame: Frame, a: Any, b: Any) -> bool:
        """Whether `a == b` is true."""
        a, b = self.read(a), self.read(b)
        if type(a) in PLAIN and type(b) in PLAIN:
            return a == b
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            if (
                (isinstance(a, Tensor) and isinstance(b, Tensor))
                or isinstance(a, (int, float, bool))
                or isinstance(b, (int, float, bool))
            ):
                raise Stop("branch", "==")
            return False
        return self.truth_of(self.nested_value(frame, self.compare(frame, "==", a, b)))

    if TYPE_CHECKING:
        compare: Any

    def compare_containers(self, frame: Frame, op: str, a: Any, b: Any) -> Any:
        """A comparison of containers, element by element; NotImplemented where it is none."""
        x, y = self._plain_part(a), self._plain_part(b)
        if x is None or y is None:
            return NotImplemented
        if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)) and isinstance(x, list) is isinstance(y, list):
            for p, q in zip(x, y, strict=False):
                p, q = self.read(p), self.read(q)
                if p is q or self.equal(frame, p, q):
                    continue
                if op in ("==", "!="):
                    return op == "!="
                return self.nested_value(frame, self.compare(frame, op, p, q))
            return _LENGTHS[op](len(x), len(y))
        if isinstance(x, dict) and isinstance(y, dict) and op in ("==", "!="):
            same = len(x) == len(y) and all(k in y and self.equal(frame, v, y[k]) for k, v in x.items())
            return same is (op == "==")
        if isinstance(x, (set, frozenset, *VIEWS)) and isinstance(y, (set, frozenset, *VIEWS)):
            return _LENGTHS[op](x, y)
        if op in ("==", "!="):
            return op == "!="
        return NotImplemented

    def _plain_part(self, value: Any) -> Any:
        if type(value) is Obj:
            part = facet(value)
            return None if part is None else part.native()
        return value if isinstance(value, (*CONTAINERS, *VIEWS)) else None

    # -- methods --------------------------------------------------------------------------------

    def container_method(self, frame: Frame, receiver: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A method of list, dict, set or deque."""
        if any(type(a) is Identity for a in args) and name not in _ADDING:
            args = [self.pinned(a) for a in args]
        if type(receiver) is Obj:
            part = facet(receiver)
            if part is None:
                raise Stop("opaque-call", f"{receiver.kind.__name__}.{name}")
            self.world.touch(receiver)
            if name == "append" and type(part) is ListFacet:
                part.append(args[0])
                return None
            if isinstance(part, DictFacet) and not kwargs:
                quick = self._dict_quick(frame, receiver, part, name, args)
                if quick is not NotImplemented:
                    return quick
            native = part.native()
        else:
            native, part = receiver, None
        args, kwargs = self._method_arguments(frame, native, name, args, kwargs)
        out = self._native_method(frame, native, name, args, kwargs)
        if part is not None and name in MUTATING:
            part.changed()
        if out is native and type(receiver) is Obj:
            return receiver
        return out

    def _dict_quick(self, frame: Frame, obj: Obj, part: DictFacet, name: str, args: list[Any]) -> Any:
        """Methods of a dictionary that existed before that need not read all of it."""
        if name in ("get", "__getitem__", "__contains__"):
            value = part.get(self.key(args[0]))
            there = value is not MISSING and value is not DELETED
            if name == "__contains__":
                return there
            if not there and name == "__getitem__":
                return NotImplemented
            return value if there else (args[1] if len(args) > 1 else None)
        if name == "__setitem__":
            part.put(self.key(args[0]), args[1])
            return None
        if name == "setdefault":
            key = self.key(args[0])
            value = part.get(key)
            if value is MISSING or value is DELETED:
                value = args[1] if len(args) > 1 else None
                part.put(key, value)
            return value
        if name == "update" and len(args) == 1:
            for key, value in self.pairs(frame, args[0]):
                part.put(self.key_of(obj, key), value)
            return None
        return NotImplemented

    def pairs(self, frame: Frame, mapping: Any) -> list[tuple[Any, Any]]:
        """The items of a mapping, or of an iterable of pairs."""
        mapping = self.read(mapping)
        if type(mapping) is Obj:
            part = facet(mapping)
            if isinstance(part, DictFacet) and self.special(mapping, "keys") is None:
                return list(part.native().items())
            if part is None or isinstance(part, DictFacet):
                keys = self.elements(frame, self.nested(self.attribute(frame, mapping, "keys"), [], {}))
                return [(k, self.nested_value(frame, self.getitem(frame, mapping, k))) for k in keys]
        if isinstance(mapping, dict):
            return list(dict.items(mapping))
        if self.special(mapping, "keys") is not None:
            keys = self.elements(frame, self.nested(self.attribute(frame, mapping, "keys"), [], {}))
            return [(k, self.nested_value(frame, self.getitem(frame, mapping, k))) for k in keys]
        out = []
        for pair in self.elements(frame, mapping):
            k, v = self.elements(frame, pair)
            out.append((k, v))
        return out

    if TYPE_CHECKING:
        attribute: Any

    def _method_arguments(self, frame: Frame, native: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if isinstance(native, (list, deque)):
            if name in ("extend", "extendleft", "__iadd__", "__add__"):
                args = [self.elements(frame, args[0]), *args[1:]]
            elif name in ("insert", "pop", "rotate", "__getitem__", "__delitem__", "__mul__", "__imul__") and args:
                args = [self.concrete(self.index(args[0])), *args[1:]]
        elif isinstance(native, dict):
            if name == "update":
                args = [dict((self.key(k), v) for k, v in self.pairs(frame, a)) for a in args]
            elif args and name in ("__or__", "__ior__", "__ror__", "__eq__", "__ne__"):
                args = [
                    self._plain_part(self.read(args[0]))
                    if self._plain_part(self.read(args[0])) is not None
                    else args[0]
                ]
            elif args:
                args = [self.key(args[0]), *args[1:]]
        elif isinstance(native, (set, frozenset)):
            if name in ("add", "remove", "discard", "__contains__"):
                args = [self.key(args[0])]
            elif args:
                args = [{self.key(x) for x in self.elements(frame, a)} for a in args]
        return args, kwargs

    def _native_method(self, frame: Frame, native: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if isinstance(native, (list, tuple, deque)) and name in COMPARING:
            if name == "sort":
                key, reverse = kwargs.get("key"), self.truth_of(kwargs.get("reverse", False))
                items: Any = native
                items[:] = self.sorted(frame, list(native), key, reverse)
                return None
            if name == "__contains__":
                return self._among(frame, native, args[0])
            if name in ("index", "count", "remove"):
                hits = [
                    i
                    for i, x in enumerate(native)
                    if self.read(x) is self.read(args[0]) or self.equal(frame, x, args[0])
                ]
                if name == "count":
                    return len(hits)
                if name == "index" and len(args) > 1:
                    bounds = [self.concrete(self.read(a)) for a in args[1:]]
                    low, high, _ = (
                        slice(bounds[0], bounds[1]).indices(len(native))
                        if len(bounds) > 1
                        else slice(bounds[0], None).indices(len(native))
                    )
                    hits = [h for h in hits if low <= h < high]
                if not hits:
                    raise ValueError(f"{type(native).__name__}.{name}(x): x not in {type(native).__name__}")
                if name == "index":
                    return hits[0]
                items = native
                del items[hits[0]]
                return None
            return self.compare_containers(frame, _COMPARE[name], native, args[0])
        if isinstance(native, defaultdict) and name == "__getitem__" and args[0] not in native:
            return self._missing(frame, native, type(native), args[0])
        base = next(b for b in (OrderedDict, dict, list, set, frozenset, deque, tuple) if isinstance(native, b))
        if isinstance(native, defaultdict) and name == "copy":
            out = defaultdict(native.default_factory)
            out.update(native)
            return out
        method = getattr(base, name, None)
        if method is None:
            raise AttributeError(f"'{type(native).__name__}' object has no attribute '{name}'")
        if name == "__class_getitem__":
            return method(*args)
        return method(native, *args, **kwargs)

    def sorted(self, frame: Frame, items: list[Any], key: Any, reverse: bool) -> list[Any]:
        """`sorted`, with keys computed by interpreted code and compared as plain values."""
        key = self.read(key)
        items = [self.read(x) if type(x) is Lazy else x for x in items]
        keys = [self.settle(x if key is None else self.nested(key, [x], {})) for x in items]
        if any(map(self.symbolic, keys)):
            if any(isinstance(k, Tensor) for k in keys):
                raise Stop("branch", "Sorting")
            keys = [_Ordered(self, frame, k) for k in keys]
        elif any(self.special(k, "__lt__") is not None for k in keys):
            keys = [_Ordered(self, frame, k) for k in keys]
        order = sorted(range(len(items)), key=lambda i: self.concrete(keys[i]), reverse=reverse)
        return [items[i] for i in order]

    def length(self, frame: Frame, value: Any) -> Any:
        """`len(value)`."""
        value = self.read(value)
        if isinstance(value, Tensor):
            if not value._data.shape:
                raise TypeError("len() of a 0-d tensor")
            return value._data.shape[0]
        method = self.special(value, "__len__")
        if method is not None:
            return self.push(frame, method, [value], {})
        if type(value) is Obj:
            part = facet(value)
            if part is None:
                raise TypeError(f"object of type '{value.kind.__name__}' has no len()")
            return len(part.native())
        if isinstance(value, (InterpretedGenerator, MethodType)):
            raise TypeError(f"object of type '{type(value).__name__}' has no len()")
        return len(value)


class _Ordered:
    """A key of a sort whose `<` is interpreted, or that of a symbolic value; nothing else is asked of keys."""

    __slots__ = ("domain", "frame", "key")

    def __init__(self, domain: Any, frame: Frame, key: Any) -> None:
        self.domain, self.frame, self.key = domain, frame, key

    def __lt__(self, other: _Ordered) -> bool:
        domain = self.domain
        return domain.truth_of(domain.nested_value(self.frame, domain.compare(self.frame, "<", self.key, other.key)))


def _method(name: str) -> Any:
    """A method of tensors that the operator table defines."""
    return getattr(Tensor, name)


_LENGTHS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_COMPARE = {"__eq__": "==", "__ne__": "!=", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}

__all__ = ["CONTAINERS", "Containers", "Misused"]
