"""The symbolic domain: what instructions mean while a segment is captured.

It derives from the concrete domain, whose native operations are right for everything that was made inside; what has a source, tensors,
and whatever must not happen now is answered here and in the mixins (`attributes.py`, `containers.py`, `calls.py`).
"""

from __future__ import annotations

import builtins
import dis
import operator
import os
import sys
import weakref
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from ...tensor import Tensor
from ..fake import DataDependent, SymFloat, SymInt
from ..interpreter.concrete import ConcreteDomain
from ..interpreter.frame import EXHAUSTED, UNBOUND, Frame
from ..interpreter.generators import InterpretedGenerator
from .attributes import Attributes, is_engine
from .calls import Calls
from .containers import CONTAINERS, VIEWS, Containers
from .kinds import Identity, Note
from .recorder import Recorder
from .stops import Stop, Turn, name_of
from .values import DELETED, MISSING, PLAIN, Lazy, Misused, Obj, facet
from .world import World

_BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "@": operator.matmul, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv,
    "%=": operator.imod, "**=": operator.ipow, "@=": operator.imatmul, "<<=": operator.ilshift, ">>=": operator.irshift,
    "&=": operator.iand, "|=": operator.ior, "^=": operator.ixor,
}  # fmt: skip
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NAMES = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul", "<<": "lshift",
    ">>": "rshift", "&": "and", "|": "or", "^": "xor",
}  # fmt: skip
_COMPARE = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}
_SWAPPED = {"lt": "gt", "le": "ge", "eq": "eq", "ne": "ne", "gt": "lt", "ge": "le"}
_UNARY = {"-": (operator.neg, "__neg__"), "+": (operator.pos, "__pos__"), "~": (operator.invert, "__invert__")}


class SymbolicDomain(Attributes, Containers, Calls, ConcreteDomain):
    """Interprets over symbolic values and writes a graph."""

    def __init__(self, world: World, recorder: Recorder) -> None:
        ConcreteDomain.__init__(self)
        self.world, self.recorder = world, recorder
        world.domain = self
        self.class_cache, self.global_cache, self.own_dicts = {}, {}, {}
        self.state_reads, self.tensor_written, self.tape_nodes, self.grads_known, self.made_classes = {}, {}, {}, {}, {}
        self.builtin_cache: dict[str, Any] = {}
        self.steps = 0
        self.nesting = 0
        self.now: Frame | None = None
        self.raised_at: dict[int, tuple[BaseException, int]] = {}
        self.after: list[Any] = []
        self.keepers: dict[int, tuple[Any, int, str]] = {}
        """Tensors made inside that keep their gradients, by identity: the fake, the step at which it was told to, by what."""
        self.parameters: dict[int, tuple[Any, int]] = {}
        """Parameters made inside, by identity: the fake, and the step that made it."""
        self.leaves_made: dict[int, tuple[Any, int]] = {}
        """Leaves made inside that need gradients, by identity: the fake, and the step that made it one."""
        self.regions: list[Any] = []
        """The nodes that entered the autocast regions which are open."""
        self.made_functions: dict[int, Any] = {}
        self.made_natively: dict[int, Any] = {}
        """Functions that native code made inside, as those of a dataclass, by identity."""
        self.made_at: dict[int, int] = {}
        self.cells: dict[int, CellType] = {}
        self.stand_ins: dict[int, tuple[CellType, Obj]] = {}
        self.where: Frame | None = None
        self.scalars = False
        self.asked_defaults = False
        """Whether the program asked for the default dtype or device itself."""
        self.generators: list[weakref.ref[Any]] = []
        self.lost: Stop | None = None

    # -- reading --------------------------------------------------------------------------------

    def read(self, value: Any) -> Any:
        """A value that is looked at now."""
        return self.world.force(value) if type(value) is Lazy else value

    def special(self, value: Any, name: str) -> Any:
        """The Python function that the type of a value has under the name of a special method; None where it is native or missing."""
        kind = value.kind if type(value) is Obj else type(value)
        if kind.__module__ == "builtins" or kind in _NO_METHODS or isinstance(value, Tensor):
            return None
        found, owner = self.of_class(kind, name)
        if type(found) is FunctionType:
            assert owner is not None
            return self.class_value(found, owner, name)
        return None

    # -- names ----------------------------------------------------------------------------------

    def load_global(self, frame: Frame, name: str) -> Any:
        space = frame.globals
        key = (id(space), name)
        known = self.global_cache.get(key, MISSING)
        if known is not MISSING:
            return known
        own = self.world.own_obj(space)
        if own is not None:
            written = facet(own).writes.get(name, MISSING)
            if written is DELETED:
                raise NameError(f"name '{name}' is not defined", name=name)
            if written is not MISSING:
                return written
        engine = is_engine_space(space)
        sources = self.world.sources
        if name in space:
            found = space[name]
            source = sources.item(sources.const(space, ""), name, False, name)
            trusted = engine and isinstance(found, (FunctionType, type, ModuleType))
            value = self.world.wrap(found, source, guarded=trusted)
            self.world.expect(source, value)
        else:
            value = self.builtin_cache.get(name, MISSING)
            if value is MISSING:
                found = frame.builtins.get(name, MISSING)
                if found is MISSING:
                    self.world.guards.has(sources.const(space, "globals()"), name, False)
                    raise NameError(f"name '{name}' is not defined", name=name)
                source = sources.item(sources.const(frame.builtins, "builtins"), name, False, name)
                value = self.builtin_cache[name] = self.world.wrap(found, source, guarded=engine)
            if not engine:
                self.world.guards.has(sources.const(space, "globals()"), name, False)
        self.global_cache[key] = value
        return value

    def store_global(self, frame: Frame, name: str, value: Any) -> None:
        if is_engine_space(frame.globals):
            raise Stop("mutation", f"A write to the engine's {name}")
        facet(self.world.obj_for(frame.globals, "globals()")).put(name, value)
        self.global_cache.pop((id(frame.globals), name), None)

    def delete_global(self, frame: Frame, name: str) -> None:
        part = facet(self.world.obj_for(frame.globals, "globals()"))
        value = part.get(name)
        if value is MISSING or value is DELETED:
            raise NameError(f"name '{name}' is not defined", name=name)
        part.put(name, DELETED)
        self.global_cache.pop((id(frame.globals), name), None)

    def load_name(self, frame: Frame, name: str) -> Any:
        if isinstance(frame.names, dict) and name in frame.names:
            return frame.names[name]
        return self.load_global(frame, name)

    def store_name(self, frame: Frame, name: str, value: Any) -> None:
        frame.names[name] = self.read(value)

    def load_from_mapping_or_global(self, frame: Frame, mapping: Any, name: str) -> Any:
        if isinstance(mapping, dict) and name in mapping:
            return mapping[name]
        return self.load_global(frame, name)

    def load_deref(self, frame: Frame, cell: Any, slot: int) -> Any:
        if type(cell) is Obj:
            value = self.cell_contents(cell)
            if value is MISSING:
                raise frame.program.unbound(slot)
            return value
        return super().load_deref(frame, cell, slot)

    def store_deref(self, frame: Frame, cell: Any, value: Any) -> None:
        if type(cell) is Obj:
            cell.written["cell_contents"] = value
            self.world.mark(cell)
        else:
            super().store_deref(frame, cell, value)

    def delete_deref(self, frame: Frame, cell: Any, slot: int) -> None:
        if type(cell) is Obj:
            if self.cell_contents(cell) is MISSING:
                raise frame.program.unbound(slot)
            cell.written["cell_contents"] = DELETED
            self.world.mark(cell)
        else:
            super().delete_deref(frame, cell, slot)

    def load_from_mapping_or_cell(self, frame: Frame, mapping: Any, slot: int) -> Any:
        name = frame.program.slots[slot]
        if isinstance(mapping, dict) and name in mapping:
            return mapping[name]
        return self.load_deref(frame, frame.locals[slot], slot)

    # -- operators ------------------------------------------------------------------------------

    def unary(self, frame: Frame, op: str, a: Any) -> Any:
        a = self.read(a)
        if op == "not":
            value = self.truth(frame, a)
            if type(value) is Frame:
                return not self.truth_of(self.nested_value(frame, value))
            return not value
        function, name = _UNARY[op]
        if isinstance(a, Tensor):
            return self.leaf(frame, function, [a], {})
        method = self.special(a, name)
        if method is not None:
            return self.push(frame, method, [a], {})
        self.no_objects(op, a)
        return function(a)

    def binary(self, frame: Frame, op: str, a: Any, b: Any) -> Any:
        a, b = self.read(a), self.read(b)
        ka, kb = type(a), type(b)
        if (ka in PLAIN and kb in PLAIN) or (ka in _NUMBERS and kb in _NUMBERS):
            return _BINARY[op](a, b)
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            if (isinstance(a, Tensor) or ka in _OPERANDS) and (isinstance(b, Tensor) or kb in _OPERANDS):
                return self.leaf(frame, _BINARY[op], [a, b], {})
        out = self.dunders(frame, op, a, b)
        if out is not NotImplemented:
            return out
        return self.native_binary(frame, op, a, b)

    def dunders(self, frame: Frame, op: str, a: Any, b: Any) -> Any:
        """The special methods that Python code defines for an operator, in Python's order; NotImplemented where there are none."""
        name = _NAMES[op.rstrip("=")] if op not in _COMPARE else _COMPARE[op]
        tries = []
        if op.endswith("=") and op not in _COMPARE:
            tries.append((f"__i{name}__", a, b))
        back = f"__{_SWAPPED[name]}__" if op in _COMPARE else f"__r{name}__"
        ka = a.kind if type(a) is Obj else type(a)
        kb = b.kind if type(b) is Obj else type(b)
        forth = [(f"__{name}__", a, b)]
        reverse = [(back, b, a)] if ka is not kb or op in _COMPARE else []
        if kb is not ka and issubclass(kb, ka) and reverse and type(self.of_class(kb, back)[0]) is FunctionType:
            forth, reverse = reverse, forth
        tries += forth + reverse
        found = [(m, x, y) for n, x, y in tries if (m := self.special(x, n)) is not None]
        if not found:
            return NotImplemented
        if (
            len(found) == 1
            and type(b if found[0][1] is a else a).__module__ != "builtins"
            and not isinstance(a, Tensor)
        ):
            pass
        for method, x, y in found:
            out = self.nested(method, [x, y], {}) if len(found) > 1 or True else None
            if out is not NotImplemented:
                return out
        if op == "==":
            return a is b
        if op == "!=":
            return a is not b
        return NotImplemented

    def native_binary(self, frame: Frame, op: str, a: Any, b: Any) -> Any:
        """An operator on native containers and other values of Python's own."""
        if type(a) is Obj and op.endswith("="):
            part = facet(a)
            if isinstance(a.real, list) and op == "+=":
                for item in self.elements(frame, b):
                    part.append(item)
                return a
            if part is not None:
                out = self.container_method(frame, a, f"__i{_NAMES[op[:-1]]}__", [b], {})
                return a if out is not NotImplemented else out
        if isinstance(a, list) and op == "+=":
            a.extend(self.elements(frame, b))
            return a
        x = self.operand(a)
        y = self.operand(b)
        if type(x) is Identity or type(y) is Identity:
            x, y = self.concrete(x), self.concrete(y)
        if isinstance(x, str) and op == "%":
            y = self.plain(y, "%")
        self.no_objects(op, x, y)
        if (type(x) in (SymInt, SymFloat) and isinstance(y, (str, list, tuple))) or (
            type(y) in (SymInt, SymFloat) and isinstance(x, (str, list, tuple))
        ):
            x, y = self.concrete(x), self.concrete(y)
        return _BINARY[op](x, y)

    def operand(self, value: Any) -> Any:
        """A container that existed before as a native one; everything else as it is."""
        if type(value) is Obj:
            part = facet(value)
            if part is not None:
                return part.native()
        if isinstance(value, (set, frozenset, *VIEWS)):
            return value
        return value

    def no_objects(self, what: str, *values: Any) -> None:
        """End the graph where native code would meet a symbolic object."""
        for v in values:
            if type(v) is Obj and v.kind.__module__ == "numpy":
                raise Stop("numpy", what)
            if type(v) is Obj or isinstance(v, Tensor):
                raise Stop("unsupported-value", f"{what} with {v!r}" if type(v) is Obj else f"{what} with a tensor")

    def compare(self, frame: Frame, op: str, a: Any, b: Any) -> Any:
        ka, kb = type(a := self.read(a)), type(b := self.read(b))
        one: Any = a
        native = getattr(operator, _COMPARE[op])
        if (ka in PLAIN and kb in PLAIN) or (ka in _NUMBERS and kb in _NUMBERS):
            return native(a, b)
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            if (isinstance(a, Tensor) or ka in _OPERANDS) and (isinstance(b, Tensor) or kb in _OPERANDS):
                return self.leaf(frame, native, [a, b], {})
            if op in ("==", "!=") and not isinstance(a, (Obj, *CONTAINERS)) and not isinstance(b, (Obj, *CONTAINERS)):
                return op == "!="
        out = self.dunders(frame, op, a, b)
        if out is not NotImplemented:
            return out
        out = self.compare_containers(frame, op, a, b)
        if out is not NotImplemented:
            return out
        if op in ("==", "!="):
            if ka is Obj or kb is Obj:
                same = self.is_(frame, a, b, False)
                if not same and ka is Obj and kb is Obj and self.of_class(one.kind, "__eq__")[1] is not object:
                    raise Stop("unsupported-value", f"Comparing a {one.kind.__name__}")
                return same is (op == "==")
            if ka is FunctionType or kb is FunctionType:
                return self.is_(frame, a, b, op == "!=")
            if ka is MethodType and kb is MethodType:
                same = self.is_(frame, a.__self__, b.__self__, False) and self.is_(frame, a.__func__, b.__func__, False)
                return same is (op == "==")
        self.no_objects(op, a, b)
        if (ka is Identity) is not (kb is Identity):
            a, b = self.pinned(a), self.pinned(b)
        return native(a, b)

    def is_(self, frame: Frame, a: Any, b: Any, invert: bool) -> bool:
        if type(a) is Lazy and b is None:
            return (self.none(a)) is not invert
        if type(b) is Lazy and a is None:
            return (self.none(b)) is not invert
        unread = a, b
        a, b = self.read(a), self.read(b)
        kind = type(a)
        if kind is type(b) and (kind in _IMMUTABLE or issubclass(kind, tuple)):
            return self.one_object(*unread, a, b) is not invert
        if type(a) is FunctionType or type(b) is FunctionType:
            self.world.identify(a)
            self.world.identify(b)
        if type(a) in (SymInt, SymFloat) or type(b) in (SymInt, SymFloat):
            a, b = self.concrete(a), self.concrete(b)
        same = a is b
        if not same and ((type(a) is Obj and type(b) is Obj) or (isinstance(a, Tensor) and isinstance(b, Tensor))):
            x, y = self.world.source_of(a), self.world.source_of(b)
            if x is not None and y is not None:
                self.world.different(x, y)
        elif type(a) is Obj:
            self.world.touch(a)
        elif type(b) is Obj:
            self.world.touch(b)
        return same is not invert

    def one_object(self, x: Any, y: Any, a: Any, b: Any) -> bool:
        """Whether two immutable values (unread `x`, `y`; read `a`, `b`) are one object: their being equal does not say so."""
        world = self.world
        first, second = world.source_of(x), world.source_of(y)
        plain = type(a) in PLAIN
        if plain and (a != b or (type(a) is int and -5 <= a <= 256)):
            return a is b  # what they are is guarded, and says it
        if first is not None and second is not None:
            same = world.real_of(x) is world.real_of(y)
            if first is not second:
                world.guards.same(first, second, same)
            return same
        if plain and (first is not None or second is not None):
            source, other = (first, b) if first is not None else (second, a)
            assert source is not None
            same = a is b
            test = f"{{e}} is {'not ' if same else ''}{world.sources.object(other)}"
            world.guards.condition(source, f"{{e}} is {'' if same else 'not '}{other!r}", test, "which object it is")
            return same
        return a is b

    def none(self, value: Any) -> bool:
        """Whether a value is None, of an unread one without reading more."""
        if type(value) is not Lazy:
            if type(value) is Obj:
                self.world.touch(value)
            return value is None
        if value.value is None:
            return self.read(value) is None
        self.world.guards.type(value.source, type(value.value))
        return False

    def is_none(self, frame: Frame, a: Any) -> bool:
        return self.none(a)

    def truth(self, frame: Frame, value: Any) -> Any:
        value = self.read(value)
        kind = type(value)
        if kind is bool:
            return value
        if isinstance(value, Tensor):
            return self.tensor_truth(value)
        if kind in (SymInt, SymFloat):
            return bool(value)
        method = self.special(value, "__bool__")
        if method is not None:
            return self.checked_bool(self.nested(method, [value], {}))
        method = self.special(value, "__len__")
        if method is not None:
            return self.truth_of(self.nested(method, [value], {}))
        if kind is Obj:
            self.world.touch(value)
            part = facet(value)
            if part is not None:
                return bool(part.native())
            if hasattr(value.kind, "__len__") or hasattr(value.kind, "__bool__"):
                raise Stop("unsupported-value", f"The truth of a {value.kind.__name__}")
            return True
        return bool(value)

    def checked_bool(self, value: Any) -> bool:
        value = self.read(value)
        if type(value) is not bool:
            raise TypeError(f"__bool__ should return bool, returned {type(value).__name__}")
        return value

    def truth_of(self, value: Any) -> bool:
        """The truth of a value outside of any instruction."""
        out = self.truth(self.now, value)  # type: ignore[arg-type]
        return self.truth_of(self.run_nested(out)) if type(out) is Frame else out

    def tensor_truth(self, t: Any) -> bool:
        constant = getattr(t._data, "constant", None)
        if (
            constant is not None
            and not t._data.memory.writes
            and constant.size == 1
            and self.recorder.node_of(t) is not None
        ):
            return bool(constant.item())
        raise Stop("branch")

    # -- displays -------------------------------------------------------------------------------

    def build_set(self, frame: Frame, items: list[Any]) -> Any:
        return {self.key(x) for x in items}

    def build_map(self, frame: Frame, keys: Any, values: Any) -> Any:
        return {self.key(k): v for k, v in zip(keys, values, strict=True)}

    def build_slice(self, frame: Frame, parts: list[Any]) -> Any:
        return slice(*[self.read(p) for p in parts])

    def build_string(self, frame: Frame, parts: list[Any]) -> Any:
        return "".join([self.read(p) for p in parts])

    # What a display is collected in may have been there before the segment: it was begun before a break.

    def list_append(self, frame: Frame, target: Any, item: Any) -> None:
        (facet(target) if type(target) is Obj else target).append(item)

    def list_extend(self, frame: Frame, target: Any, iterable: Any) -> None:
        items = self.checked_elements(frame, iterable)
        if type(target) is Obj:
            for item in items:
                facet(target).append(item)
        else:
            target.extend(items)

    def checked_elements(self, frame: Frame, iterable: Any) -> list[Any]:
        try:
            return self.elements(frame, iterable)
        except TypeError as error:
            if "is not iterable" in str(error) and not isinstance(self.read(iterable), Tensor):
                raise TypeError(
                    f"Value after * must be an iterable, not {type(self.read(iterable)).__name__}"
                ) from None
            raise

    def list_to_tuple(self, frame: Frame, target: Any) -> Any:
        return tuple(facet(target).native() if type(target) is Obj else target)

    def set_add(self, frame: Frame, target: Any, item: Any) -> None:
        self.container_method(frame, target, "add", [item], {})

    def set_update(self, frame: Frame, target: Any, iterable: Any) -> None:
        self.container_method(frame, target, "update", [iterable], {})

    def map_add(self, frame: Frame, target: Any, key: Any, value: Any) -> None:
        if type(target) is Obj:
            facet(target).put(self.key(key), value)
        else:
            target[self.key(key)] = value

    def dict_update(self, frame: Frame, target: Any, mapping: Any) -> None:
        if not self.is_mapping(mapping):
            super().dict_update(frame, {}, self.read(mapping))
        for key, value in self.pairs(frame, mapping):
            self.map_add(frame, target, key, value)

    def is_mapping(self, value: Any) -> bool:
        """Whether a value has keys."""
        value = self.read(value)
        return isinstance(value, dict) or type(value) is Obj or self.special(value, "keys") is not None

    def dict_merge(self, frame: Frame, target: Any, mapping: Any, callable: Any) -> None:
        items = {self.read(k): v for k, v in self.pairs(frame, mapping)}
        into = facet(target).changed() if type(target) is Obj else target
        super().dict_merge(frame, into, items, self.read(callable))

    def unpack(self, frame: Frame, value: Any, count: int) -> Any:
        value = self.read(value)
        if type(value) not in (tuple, list):
            value = self.elements(frame, value)
        return super().unpack(frame, value, count)

    def unpack_ex(self, frame: Frame, value: Any, before: int, after: int) -> Any:
        return super().unpack_ex(frame, self.elements(frame, value), before, after)

    # -- formatting -----------------------------------------------------------------------------

    def convert_value(self, frame: Frame, value: Any, conversion: str) -> Any:
        return self.text(
            value, {"s": "__str__", "r": "__repr__", "a": "__repr__"}[conversion], ascii if conversion == "a" else None
        )

    def format_value(self, frame: Frame, value: Any, spec: Any) -> Any:
        value, spec = self.read(value), self.read(spec)
        if type(value) in PLAIN:
            return format(value, spec or "")
        method = self.special(value, "__format__")
        if method is not None:
            return self.read(self.nested(method, [value, spec or ""], {}))
        if not spec:
            return self.text(value, "__str__")
        return format(self.plain(value, "format"), spec)

    def text(self, value: Any, name: str, finish: Any = None) -> str:
        """`str(value)` or `repr(value)`."""
        value = self.read(value)
        for n in (name, "__repr__"):
            method = self.special(value, n)
            if method is not None:
                out = self.read(self.nested(method, [value], {}))
                return finish(out) if finish is not None else out
            kind = value.kind if type(value) is Obj else type(value)
            if n == "__str__" and self.of_class(kind, "__str__")[1] not in (object, None):
                break
        native = str if name == "__str__" else repr
        value = self.plain(value, native.__name__)
        return finish(value) if finish is not None else native(value)

    def plain(self, value: Any, what: str) -> Any:
        """A value as a plain native one, with nothing symbolic in it; a break where that cannot be."""
        value = self.settle(value)
        if self.symbolic(value):
            if isinstance(value, Tensor) or _has_tensor(value):
                raise Stop("to-python", what)
            if type(value) is Obj and value.kind.__module__ == "numpy":
                raise Stop("numpy", what)
            raise Stop("unsupported-value", f"{what} of {value!r}")
        kind = type(value)
        if kind.__module__ != "builtins" and not isinstance(value, (type, ModuleType)):
            own = getattr(value, "__dict__", None)
            if own and any(self.symbolic(self.settle(v)) for v in own.values()):
                raise Stop("unsupported-value", f"{what} of a {kind.__name__}")
        return self.concrete(value)

    # -- match ----------------------------------------------------------------------------------

    def get_len(self, frame: Frame, value: Any) -> Any:
        return self.nested_value(frame, self.length(frame, value))

    def match_mapping(self, frame: Frame, subject: Any) -> bool:
        subject = self.read(subject)
        if type(subject) is Obj:
            self.world.touch(subject)
            return super().match_mapping(frame, subject.real)
        return super().match_mapping(frame, subject)

    def match_sequence(self, frame: Frame, subject: Any) -> bool:
        subject = self.read(subject)
        if type(subject) is Obj:
            self.world.touch(subject)
            return super().match_sequence(frame, subject.real)
        return super().match_sequence(frame, subject)

    def match_keys(self, frame: Frame, subject: Any, keys: Any) -> Any:
        out = []
        for key in keys:
            if not self.contains(frame, subject, key, False):
                return None
            out.append(self.nested_value(frame, self.getitem(frame, subject, key)))
        return tuple(out)

    def match_class(self, frame: Frame, subject: Any, cls: Any, count: int, names: Any) -> Any:
        from .builtins_table import is_instance

        if not is_instance(self, subject, cls):
            return None
        subject = self.read(subject)
        out = []
        places: Any = ()
        if count:
            if cls in (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple):
                if count > 1:
                    raise TypeError(f"{cls.__name__}() accepts 1 positional sub-pattern ({count} given)")
                out.append(subject)
            else:
                places = self.type_attribute(frame, cls, "__match_args__")
                places = () if places is MISSING else places
                if count > len(places):
                    raise TypeError(f"{cls.__name__}() accepts {len(places)} positional sub-patterns ({count} given)")
                places = places[:count]
        for name in (*places, *names):
            value = self.attribute(frame, subject, self.read(name))
            value = self.nested_value(frame, value)
            if value is MISSING:
                return None
            out.append(value)
        return tuple(out)

    # -- imports --------------------------------------------------------------------------------

    def import_name(self, frame: Frame, name: str, fromlist: Any, level: Any) -> Any:
        import importlib.util

        package = frame.globals.get("__package__") or frame.globals.get("__name__", "").rpartition(".")[0]
        full = importlib.util.resolve_name("." * level + name, package) if level else name
        missing = full not in sys.modules
        if not missing and fromlist:
            module = sys.modules[full]
            missing = any(not hasattr(module, n) and f"{full}.{n}" not in sys.modules for n in fromlist)
        if missing or builtins.__import__ is not _import:
            raise Stop("import", full)
        found = sys.modules[full] if fromlist or level else sys.modules[full.partition(".")[0]]
        return self.world.wrap(found, self.world.sources.const(found, full), guarded=True)

    def import_from(self, frame: Frame, module: Any, name: str) -> Any:
        value = self.attribute(frame, module, name)
        if value is MISSING:
            found = sys.modules.get(f"{module.__name__}.{name}")
            if found is None:
                raise Stop("import", f"{module.__name__}.{name}")
            return self.world.wrap(found, self.world.sources.const(found, name), guarded=True)
        return value

    def import_star(self, frame: Frame, module: Any) -> None:
        raise Stop("import", f"{module.__name__}.*")

    # -- functions, exceptions ------------------------------------------------------------------

    def make_function(self, frame: Frame, code: Any, attributes: dict[str, Any]) -> Any:
        given = {k: self.read(v) for k, v in attributes.items()}
        if "closure" in given:
            given["closure"] = tuple([self.stand_in(c) if type(c) is Obj else c for c in given["closure"]])
        for name in ("kwdefaults", "annotations"):
            if type(given.get(name)) is Obj:
                given[name] = self.settle(given[name])
        made = super().make_function(frame, code, given)
        self.made_functions[id(made)] = made
        return made

    def make_generator(self, frame: Frame) -> Any:
        made = super().make_generator(frame)
        self.generators.append(weakref.ref(made))
        return made

    def stand_in(self, cell: Obj) -> CellType:
        """A native cell that stands for one that existed before, in the closure of a function made inside."""
        known = self.cells.get(id(cell))
        if known is None:
            known = self.cells[id(cell)] = CellType()
            self.stand_ins[id(known)] = (known, cell)
        return known

    def send(self, frame: Frame, receiver: Any, value: Any) -> Any:
        receiver = self.read(receiver)
        if isinstance(receiver, InterpretedGenerator):
            out = super().send(frame, receiver, value)
            if type(out) is Frame:
                out.note = Note(self.steps, frame.note.module if frame.note is not None else "")
            return out
        if type(receiver) is Obj:
            raise Turn()
        if value is None:
            item = self.next_value(frame, receiver)
            return (True, None) if item is EXHAUSTED else (False, item)
        raise Stop("unsupported-value", "A value sent to an iterator")

    def get_yield_from_iter(self, frame: Frame, value: Any) -> Any:
        return self.get_iter(frame, value)

    def load_super_attr(self, frame: Frame, super_: Any, cls: Any, obj: Any, name: str, explicit: bool) -> Any:
        s = self.nested_value(frame, self.call(frame, super_, [cls, obj], {}))
        return self.load_attr(frame, s, name)

    def make_cell(self, frame: Frame, value: Any) -> Any:
        return CellType() if value is UNBOUND else CellType(value)

    def catch(self, frame: Frame, raised: BaseException) -> Any:
        if isinstance(raised, DataDependent):
            raise Stop("branch" if "comparison" in raised.kind else "item", raised.kind) from None
        if isinstance(raised, _OURS) and own_mistake(raised):
            raise Misused(f"{type(raised).__name__}: {raised}") from raised
        if id(raised) not in self.raised_at:
            self.raised_at[id(raised)] = (raised, self.steps)
        return super().catch(frame, raised)

    def exception_match(self, frame: Frame, value: Any, types: Any) -> bool:
        return super().exception_match(frame, value, self.settle(types))

    def load_special(self, frame: Frame, obj: Any, name: str) -> Any:
        obj = self.read(obj)
        kind = obj.kind if type(obj) is Obj else type(obj)
        found, owner = self.of_class(kind, name)
        if found is MISSING:
            raise TypeError(f"'{kind.__name__}' object does not support the context manager protocol")
        return self.bind(frame, obj, kind, found, owner, name)


_OURS = (AttributeError, NameError, AssertionError)


def own_mistake(error: BaseException) -> bool:
    """Whether an error arose in the code of the capture itself, other than by a `raise`: no error of the program."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    if not code.co_filename.startswith(_HERE):
        return False
    return dis.opname[code.co_code[trace.tb_lasti]] not in ("RAISE_VARARGS", "RERAISE")


def is_engine_space(space: dict[str, Any]) -> bool:
    """Whether a dictionary is that of a module of the engine."""
    name = space.get("__name__")
    return isinstance(name, str) and is_engine(sys.modules.get(name)) and sys.modules[name].__dict__ is space


def _has_tensor(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_tensor, value))
    if isinstance(value, dict):
        return any(map(_has_tensor, value.values()))
    return isinstance(value, Tensor)


_NUMBERS = frozenset({int, float, bool, SymInt, SymFloat})
_IMMUTABLE = frozenset({int, float, str, bytes, complex, MethodType})
_OPERANDS = frozenset({int, float, bool, complex, SymInt, SymFloat})
_import = builtins.__import__
_NO_METHODS = frozenset({InterpretedGenerator, SymInt, SymFloat})

__all__ = ["SymbolicDomain", "name_of"]
