"""Attributes of symbolic values: Python's protocol followed step by step, so that properties and `__getattr__` are interpreted.

A mixin of the domain. Reading guards what decides the answer: the object's own attribute, and what the class has under the name.
"""

from __future__ import annotations

import enum
import functools
import threading
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any

from ...autograd.node import Node as TapeNode
from ...nn.module import Module
from ...state import state as engine_state
from ...tensor import Tensor
from ..graph import effects
from ..interpreter.frame import Frame
from ..interpreter.generators import InterpretedGenerator
from . import graph_calls
from .kinds import SuperOf, super_attribute
from .leaves import NEEDS_VALUES
from .lookup import is_engine, is_fixed, static
from .sources import Source
from .stops import Stop, name_of
from .tape import Outside
from .tensor_attributes import TensorAttributes
from .values import DELETED, MISSING, PLAIN, AttrsFacet, CMethod, Lazy, Obj, facet
from .world import STRUCTURE, World

if TYPE_CHECKING:
    from .recorder import Recorder

_SLOTS = (MemberDescriptorType, GetSetDescriptorType)
_C_FUNCTIONS = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType, BuiltinFunctionType)

_THEMSELVES = (FunctionType, property, MemberDescriptorType, functools.cached_property)
"""What a class gives as it is when it is asked for it."""
_UNDER = "what the class has under the name"


class Attributes(TensorAttributes):
    """The part of the domain that reads and writes attributes."""

    world: World
    recorder: Recorder

    if TYPE_CHECKING:
        read: Any
        push: Any
        leaf: Any
        nested: Any
        settle: Any
        tensor_repr: Any

    # -- the class ------------------------------------------------------------------------------

    def of_class(self, kind: type, name: str) -> tuple[Any, type | None]:
        """The same as `static`, with what was written during the capture, and guarded."""
        key = (kind, name)
        known = self.class_cache.get(key)
        if known is not None:
            return known
        passed: list[type] = []
        for cls in kind.__mro__:
            own = self.world.own_obj(cls)
            if own is not None and name in own.written:
                found = own.written[name]
                if found is DELETED:
                    continue
                self.without(passed, name)
                return found, cls
            if name in cls.__dict__:
                found = cls.__dict__[name]
                break
            passed.append(cls)
        else:
            found, cls = MISSING, None
        guards, sources = self.world.guards, self.world.sources
        if (
            isinstance(found, _THEMSELVES)
            and cls is not None
            and not (id(kind) in self.made_classes or id(cls) in self.made_classes)
            and is_fixed(type(kind))
        ):
            if cls.__module__ == "builtins" or is_engine(cls):
                self.without(passed, name)
            else:  # read from the class, it says what nearer classes do not have, too
                guards.is_(sources.attr(sources.const(kind, kind.__qualname__), name), found, _UNDER)
        else:
            self.without(passed, name)
            if found is not MISSING and cls is not None and id(cls) not in self.made_classes:
                if isinstance(found, _THEMSELVES) and not (cls.__module__ == "builtins" or is_engine(cls)):
                    guards.is_(sources.own(sources.const(cls, cls.__qualname__), name), found, _UNDER)
        self.class_cache[key] = (found, cls)
        return found, cls

    def without(self, classes: Any, name: str) -> None:
        """Guard that classes of the program do not have a name of their own."""
        for cls in classes:
            if not is_fixed(cls) and id(cls) not in self.made_classes:
                self.world.absent.setdefault(cls, {}).setdefault(name)

    class_cache: dict[Any, Any]

    def class_value(self, found: Any, owner: type, name: str) -> Any:
        """A value of a class's dictionary as a symbolic one."""
        own = self.world.own_obj(owner)
        if own is not None and name in own.written:
            return own.written[name]
        if id(owner) in self.made_classes or type(found) is Lazy:
            return found
        home = self.world.sources.const(owner, owner.__qualname__)
        trusted = is_engine(owner) or owner.__module__ == "builtins"
        return self.world.wrap(found, self.world.sources.own(home, name), guarded=trusted)

    # -- reading --------------------------------------------------------------------------------

    def load_attr(self, frame: Frame, obj: Any, name: str) -> Any:
        obj = self.read(obj)
        out = self.attribute(frame, obj, name)
        if out is MISSING:
            raise self.no_attribute(obj, name)
        return out

    def no_attribute(self, obj: Any, name: str) -> Exception:
        kind = obj.kind if type(obj) is Obj else type(obj)
        if isinstance(obj, type):
            return AttributeError(f"type object '{obj.__name__}' has no attribute '{name}'", name=name)
        if isinstance(obj, ModuleType):
            return AttributeError(f"module '{obj.__name__}' has no attribute '{name}'", name=name)
        return AttributeError(f"'{kind.__name__}' object has no attribute '{name}'", name=name)

    def attribute(self, frame: Frame, obj: Any, name: str) -> Any:
        """An attribute, MISSING where there is none; a frame where Python code computes it."""
        if type(obj) is Obj:
            return self.obj_attribute(frame, obj, name)
        if isinstance(obj, Tensor):
            return self.tensor_attribute(frame, obj, name)
        if isinstance(obj, type):
            return self.type_attribute(frame, obj, name)
        if isinstance(obj, ModuleType):
            return self.module_attribute(obj, name)
        kind = type(obj)
        if kind is FunctionType:
            return self.function_attribute(obj, name)
        if kind is MethodType:
            if name == "__self__":
                return obj.__self__
            if name == "__func__":
                return obj.__func__
            return self.attribute(frame, obj.__func__, name)
        if isinstance(obj, threading.local) and obj is engine_state:
            return self.state_attribute(name)
        if isinstance(obj, SuperOf):
            return super_attribute(self, frame, obj, name)
        if isinstance(obj, InterpretedGenerator):
            return CMethod(obj, name)
        if isinstance(obj, BaseException) and name == "args" and self.world.source_of(obj) is not None:
            source = self.world.source_of(obj)
            assert source is not None
            return self.world.wrap(obj.args, self.world.sources.attr(source, "args"))
        if name in ("next_functions", "edges") and isinstance(obj, TapeNode):
            if any(e is not None and type(e[0]) is Outside for e in obj.edges):
                raise Stop("outer-tape", f"{kind.__name__}.{name}")
        if isinstance(obj, enum.Enum) and id(kind) not in self.made_classes:
            own = {"value": "_value_", "name": "_name_"}.get(name, name)
            if own in obj.__dict__ and not self.python_attr(kind, name):
                home = self.world.source_of(obj) or self.world.sources.const(obj, str(obj))
                return self.world.wrap(obj.__dict__[own], self.world.sources.own(home, own))
        if kind.__module__ == "builtins" or (
            isinstance(obj, (enum.Enum, BaseException)) and not self.python_attr(kind, name)
        ):
            return self.native_attribute(obj, name)
        return self.made_attribute(frame, obj, name)

    def python_attr(self, kind: type, name: str) -> bool:
        found, owner = self.of_class(kind, name)
        return isinstance(found, (FunctionType, property)) and owner is not None and owner.__module__ != "builtins"

    def native_attribute(self, obj: Any, name: str) -> Any:
        """An attribute of a value of a type of Python's own."""
        if name == "__class__":
            return type(obj)
        try:
            return getattr(obj, name)
        except AttributeError:
            return MISSING

    def made_attribute(self, frame: Frame, obj: Any, name: str) -> Any:
        """An attribute of an instance that was made inside, or of an immutable object that existed before."""
        kind = type(obj)
        custom, _where = self.of_class(kind, "__getattribute__")
        if type(custom) is FunctionType:
            return self.push(frame, custom, [obj, name], {})
        found, owner = self.of_class(kind, name)
        if found is not MISSING and _is_data(found):
            return self.bind(frame, obj, kind, found, owner, name)
        own = getattr(obj, "__dict__", None)
        if name == "__dict__" and own is not None:
            return own
        if own is not None and name in own:
            value = own[name]
            source = self.world.source_of(obj)
            if source is not None and self.world.real_of(obj) is obj:
                return self.world.wrap(value, self.world.sources.own(source, name))
            return value
        if found is not MISSING:
            return self.bind(frame, obj, kind, found, owner, name)
        hook, _ = self.of_class(kind, "__getattr__")
        if type(hook) is FunctionType:
            return self.push(frame, hook, [obj, name], {})
        if name == "__class__":
            return kind
        return MISSING

    def bind(self, frame: Frame, obj: Any, kind: type, found: Any, owner: type | None, name: str) -> Any:
        """What an attribute of the class gives when it is read through an instance."""
        assert owner is not None
        if type(found) is FunctionType:
            return MethodType(self.class_value(found, owner, name), obj)
        if isinstance(found, property):
            if found.fget is None:
                raise AttributeError(f"property {name!r} of {kind.__name__!r} object has no getter")
            return self.push(frame, found.fget, [obj], {})
        if isinstance(found, staticmethod):
            return self.inner(found, owner, name)
        if isinstance(found, classmethod):
            return MethodType(self.inner(found, owner, name), kind)
        if isinstance(found, _SLOTS):
            if type(obj) is Obj:
                return self.slot_attribute(obj, name)
            if name == "__class__":
                return kind
            try:
                return found.__get__(obj, kind)
            except AttributeError:
                return MISSING
        if isinstance(found, _C_FUNCTIONS):
            return CMethod(obj, name) if type(obj) is Obj else found.__get__(obj, kind)  # type: ignore[union-attr]
        getter = self.of_class(type(found), "__get__")[0]
        if getter is MISSING:
            return self.class_value(found, owner, name)
        if type(found).__name__ == "CompiledFunction":
            return MethodType(self.class_value(found, owner, name), obj)
        if type(getter) is FunctionType and not isinstance(found, functools.cached_property):
            descriptor = self.class_value(found, owner, name)
            return self.push(frame, getter, [descriptor, obj, kind], {})
        if type(found).__name__ in ("cached_property", "_tuplegetter", "member_descriptor"):
            return self._special_descriptor(frame, obj, kind, found, name)
        raise Stop("unsupported-value", f"the descriptor {name_of(type(found))}")

    def _special_descriptor(self, frame: Frame, obj: Any, kind: type, found: Any, name: str) -> Any:
        if type(found).__name__ == "_tuplegetter":
            return found.__get__(obj, kind)
        assert isinstance(found, functools.cached_property)
        value = self.nested(found.func, [obj], {})
        self.set_own(obj, name, value)
        return value

    def inner(self, found: Any, owner: type, name: str) -> Any:
        """The function in a staticmethod or classmethod."""
        if id(owner) in self.made_classes:
            return found.__func__
        if is_engine(owner):
            return self.world.wrap(found.__func__, self.world.sources.const(found.__func__, name), guarded=True)
        return self.world.wrap(found.__func__, self.world.sources.attr(self._class_source(owner, name), "__func__"))

    def _class_source(self, owner: type, name: str) -> Source:
        return self.world.sources.own(self.world.sources.const(owner, owner.__qualname__), name)

    # -- kinds of objects -----------------------------------------------------------------------

    def obj_attribute(self, frame: Frame, obj: Obj, name: str) -> Any:
        kind = obj.kind
        if kind is CellType:
            if name == "cell_contents":
                return self.cell_contents(obj)
            return MISSING
        self.world.touch(obj)
        if obj.real is engine_state:
            return self.state_attribute(name)
        custom, _ = self.of_class(kind, "__getattribute__")
        if type(custom) is FunctionType:
            return self.push(frame, custom, [obj, name], {})
        found, owner = self.of_class(kind, name)
        if found is not MISSING and _is_data(found) and name != "__dict__":
            return self.bind(frame, obj, kind, found, owner, name)
        if name == "__dict__":
            if hasattr(obj.real, "__dict__"):
                return self.own_dict(obj)
            return MISSING
        if name == "__class__":
            return kind
        is_module = isinstance(obj.real, Module)
        value = self.get_own(obj, name, is_module)
        if value is not MISSING:
            return value
        if found is not MISSING:
            return self.bind(frame, obj, kind, found, owner, name)
        hook, _ = self.of_class(kind, "__getattr__")
        if hook is Module.__getattr__:
            for home in ("_parameters", "_buffers", "_modules"):
                shelf = self.get_own(obj, home, True)
                if shelf is not MISSING:
                    value = facet(shelf).get(name)
                    if value is not MISSING and value is not DELETED:
                        return value
            return MISSING
        if type(hook) is FunctionType:
            return self.push(frame, hook, [obj, name], {})
        return MISSING

    def get_own(self, obj: Obj, name: str, is_module: bool = False) -> Any:
        """An attribute from the object's own dictionary, MISSING where it has none; guarded."""
        written = obj.written.get(name, MISSING)
        if written is not MISSING:
            return MISSING if written is DELETED else written
        if name in obj.attrs:
            return obj.attrs[name]
        own = getattr(obj.real, "__dict__", None)
        if own is None:
            return MISSING
        world = self.world
        covered = is_module and name in STRUCTURE
        if name in own:
            source = world.sources.own(obj.source, name, covered)
            value = world.wrap(own[name], source)
            world.expect(source, value)
        else:
            structural = is_module and any(name in own.get(h, ()) for h in ("_parameters", "_buffers", "_modules"))
            world.guards.has_own(obj.source, name, False, structural or (is_module and name == "forward"))
            value = MISSING
        obj.attrs[name] = value
        return value

    def set_own(self, obj: Any, name: str, value: Any) -> None:
        """Write into an object's own dictionary."""
        if type(obj) is Obj:
            obj.written[name] = value
            self.world.mark(obj)
        else:
            obj.__dict__[name] = value

    def slot_attribute(self, obj: Obj, name: str) -> Any:
        """An attribute that C code or `__slots__` keep."""
        written = obj.written.get(name, MISSING)
        if written is not MISSING:
            return MISSING if written is DELETED else written
        if name not in obj.attrs:
            try:
                value = getattr(obj.real, name)
            except AttributeError:
                self.world.guards.condition(
                    obj.source, f"no {name!r} in {{e}}", f"hasattr({{e}}, {name!r})", "whether the attribute is there"
                )
                obj.attrs[name] = MISSING
                return MISSING
            source = self.world.sources.attr(obj.source, name)
            obj.attrs[name] = self.world.wrap(value, source)
            self.world.expect(source, obj.attrs[name])
        return obj.attrs[name]

    def own_dict(self, obj: Obj) -> Any:
        """`vars(obj)`."""
        source = self.world.sources.attr(obj.source, "__dict__")
        known = self.own_dicts.get(id(obj))
        if known is None:
            known = self.own_dicts[id(obj)] = Obj(self.world, obj.real.__dict__, source)
            known.touched = True
            known.items = AttrsFacet(known, obj)
            self.world.from_symbol[id(known)] = (known, obj.real.__dict__, source)
        return known

    own_dicts: dict[int, Any]

    def adopt(self, obj: Obj, known: Obj) -> None:
        """Its attributes are in a dictionary that was met before it."""
        if known.items is not None:
            raise Stop("unsupported-value", f"A dictionary that turns out to be the attributes of {obj!r}")
        self.world.guards.same(self.world.sources.attr(obj.source, "__dict__"), known.source, True)
        known.touched = True
        known.items = AttrsFacet(known, obj)
        self.own_dicts[id(obj)] = known

    def cell_contents(self, cell: Obj) -> Any:
        value = cell.written.get("cell_contents", MISSING)
        if value is not MISSING:
            return MISSING if value is DELETED else value
        if "cell_contents" not in cell.attrs:
            try:
                real = cell.real.cell_contents
            except ValueError:
                return MISSING
            label = cell.source.label
            source = self.world.sources.of("cell", cell.source, None, label)
            cell.attrs["cell_contents"] = self.world.wrap(real, source)
            self.world.expect(source, cell.attrs["cell_contents"])
        return cell.attrs["cell_contents"]

    def state_attribute(self, name: str) -> Any:
        """A switch of the engine: the real one holds while capturing, what it was at the start is guarded."""
        value = getattr(engine_state, name)
        self.state_reads.setdefault(name, value)
        return value

    state_reads: dict[str, Any]

    def type_attribute(self, frame: Frame, cls: type, name: str) -> Any:
        if name in ("__name__", "__qualname__", "__module__", "__mro__", "__bases__", "__doc__"):
            value = getattr(cls, name, MISSING)
            if is_fixed(cls) or id(cls) in self.made_classes or (type(value) not in PLAIN and type(value) is not tuple):
                return value
            home = self.world.sources.const(cls, cls.__qualname__)
            return self.world.wrap(value, self.world.sources.attr(home, name))
        if name == "__class__":
            return type(cls)
        if name == "__dict__":
            raise Stop("unsupported-value", f"__dict__ of the class {cls.__name__}")
        meta, meta_owner = self.of_class(type(cls), name)
        if meta is not MISSING and _is_data(meta) and type(cls) is not type:
            return self.bind(frame, cls, type(cls), meta, meta_owner, name)
        for base in cls.__mro__:
            own = self.world.own_obj(base)
            if own is not None and name in own.written:
                value = own.written[name]
                if value is DELETED:
                    continue
                return value
            if name not in base.__dict__:
                self.without((base,), name)
                continue
            found = base.__dict__[name]
            if isinstance(found, staticmethod):
                return self.inner(found, base, name)
            if isinstance(found, classmethod):
                return MethodType(self.inner(found, base, name), cls)
            if isinstance(found, (ClassMethodDescriptorType, BuiltinFunctionType)):
                return getattr(cls, name)
            if (
                hasattr(type(found), "__get__")
                and not isinstance(found, (FunctionType, property, type))
                and not isinstance(found, _C_FUNCTIONS)
            ):
                if isinstance(cls, enum.EnumMeta) or base.__module__ == "builtins" or isinstance(found, _SLOTS):
                    return getattr(cls, name)
                getter = self.of_class(type(found), "__get__")[0]
                if type(getter) is FunctionType:
                    return self.push(frame, getter, [self.class_value(found, base, name), None, cls], {})
            return self.class_value(found, base, name)
        if meta is not MISSING:
            if type(cls) is type or (meta_owner is not None and meta_owner.__module__ == "builtins"):
                return getattr(cls, name, MISSING)
            return self.bind(frame, cls, type(cls), meta, meta_owner, name)
        if isinstance(cls, enum.EnumMeta):
            return getattr(cls, name, MISSING)
        return MISSING

    def module_attribute(self, module: ModuleType, name: str) -> Any:
        """An attribute of a Python module."""
        own = self.world.own_obj(module.__dict__)
        if own is not None:
            written = facet(own).writes.get(name, MISSING)
            if written is not MISSING:
                return MISSING if written is DELETED else written
        space = module.__dict__
        if name in space:
            key = (id(module), name)
            value = self.global_cache.get(key, MISSING)
            if value is MISSING:
                source = self.world.sources.item(
                    self.world.sources.const(space, module.__name__), name, False, f"{module.__name__}.{name}"
                )
                found = space[name]
                trusted = is_engine(module) and isinstance(found, (FunctionType, type, ModuleType))
                value = self.global_cache[key] = self.world.wrap(found, source, guarded=trusted)
                self.world.expect(source, value)
            return value
        try:
            found = getattr(module, name)
        except AttributeError:
            if not is_engine(module):
                self.world.guards.condition(
                    self.world.sources.const(module, module.__name__), f"no {name!r} in {{e}}", f"hasattr({{e}}, {name!r})",
                    "whether the module has the name",
                )  # fmt: skip
            return MISSING
        return self.world.wrap(found, self.world.sources.attr(self.world.sources.const(module, module.__name__), name))

    global_cache: dict[Any, Any]

    def function_attribute(self, f: FunctionType, name: str) -> Any:
        own = self.world.own_obj(f)
        if own is not None and name in own.written:
            written = own.written[name]
            return MISSING if written is DELETED else written
        known = self.world.memo.get(id(f))
        if name in ("__code__", "__globals__"):
            return getattr(f, name)
        if name in ("__name__", "__qualname__", "__module__", "__doc__"):
            value = getattr(f, name)
            if known is None or is_engine(f) or type(value) not in PLAIN:
                return value
            return self.world.wrap(value, self.world.sources.attr(known[2], name))
        if name in f.__dict__:
            value = f.__dict__[name]
            if known is None:
                return value
            return self.world.wrap(value, self.world.sources.own(known[2], name))
        if name in ("__defaults__", "__kwdefaults__", "__annotations__", "__closure__", "__dict__"):
            value = getattr(f, name)
            if known is None or value is None:
                return value
            return self.world.wrap(value, self.world.sources.attr(known[2], name))
        if name in ("__get__", "__call__"):
            return getattr(f, name)
        if known is not None:
            self.world.guards.has_own(known[2], name, False)
        return getattr(f, name) if hasattr(FunctionType, name) else MISSING

    # -- writing --------------------------------------------------------------------------------

    def store_attr(self, frame: Frame, obj: Any, name: str, value: Any) -> Any:
        obj = self.read(obj)
        if type(obj) is Obj:
            kind = obj.kind
            self.world.touch(obj)
        elif isinstance(obj, Tensor):
            return self.store_tensor_attr(frame, obj, name, self.read(value))
        elif isinstance(obj, ModuleType):
            if is_engine(obj) and name == "current":
                return None
            facet(self.world.obj_for(obj.__dict__, obj.__name__)).put(name, value)
            self.global_cache.pop((id(obj), name), None)
            return None
        elif isinstance(obj, type):
            if static(type(obj), name)[0] is not MISSING and type(obj) is not type:
                raise Stop("mutation", f"Setting {name} of the class {obj.__name__}")
            return self.store_class_attr(obj, name, value)
        elif type(obj) is FunctionType:
            if self.world.source_of(obj) is None:
                if name in (
                    "__annotations__",
                    "__kwdefaults__",
                    "__defaults__",
                    "__name__",
                    "__qualname__",
                    "__doc__",
                    "__module__",
                ):
                    value = self.settle(value)
                setattr(obj, name, value)
            else:
                self.world.obj_for(obj, obj.__qualname__).written[name] = value
                self.world.mark(self.world.obj_for(obj))
            return None
        else:
            kind = type(obj)
        setter, _ = self.of_class(kind, "__setattr__")
        if type(setter) is FunctionType:
            return self.push(frame, setter, [obj, name, value], {})
        return self.plain_store(frame, obj, kind, name, value)

    def store_class_attr(self, cls: type, name: str, value: Any) -> None:
        if self.world.source_of(cls) is None and id(cls) in self.made_classes:
            setattr(cls, name, value)
        else:
            own = self.world.obj_for(cls, cls.__qualname__)
            own.written[name] = value
            self.world.mark(own)
        self.class_cache.clear()

    made_classes: dict[int, Any]

    def plain_store(self, frame: Frame, obj: Any, kind: type, name: str, value: Any) -> Any:
        """`object.__setattr__`."""
        if type(obj) is Obj and obj.real is engine_state:
            return self.store_state(name, self.read(value))
        if obj is engine_state:
            return self.store_state(name, self.read(value))
        found, owner = self.of_class(kind, name)
        if isinstance(found, property):
            if found.fset is None:
                raise AttributeError(f"property {name!r} of {kind.__name__!r} object has no setter")
            return self.push(frame, found.fset, [obj, value], {})
        if isinstance(found, _SLOTS):
            if type(obj) is not Obj:
                found.__set__(obj, value)
                return None
            if isinstance(found, GetSetDescriptorType):
                raise Stop("mutation", f"Setting {name} of a {kind.__name__}")
        elif found is not MISSING:
            setter = self.of_class(type(found), "__set__")[0]
            if type(setter) is FunctionType:
                assert owner is not None
                return self.push(frame, setter, [self.class_value(found, owner, name), obj, value], {})
        elif not hasattr(obj.real if type(obj) is Obj else obj, "__dict__"):
            raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
        if type(obj) is not Obj and self.world.source_of(obj) is not None and not isinstance(obj, BaseException):
            raise Stop("mutation", f"Setting {name} of a {kind.__name__}")
        self.set_own(obj, name, value)
        return None

    def delete_attr(self, frame: Frame, obj: Any, name: str) -> Any:
        obj = self.read(obj)
        if isinstance(obj, Tensor) and name == "grad":
            return self.store_tensor_attr(frame, obj, "grad", None)
        if isinstance(obj, Tensor):
            return self.delete_tensor_attr(frame, obj, name)
        if isinstance(obj, (ModuleType, type, FunctionType)):
            raise Stop("mutation", f"Deleting {name} of {name_of(obj)}")
        kind = obj.kind if type(obj) is Obj else type(obj)
        deleter, _ = self.of_class(kind, "__delattr__")
        if type(deleter) is FunctionType:
            return self.push(frame, deleter, [obj, name], {})
        return self.plain_delete(frame, obj, kind, name)

    def plain_delete(self, frame: Frame, obj: Any, kind: type, name: str) -> Any:
        """`object.__delattr__`."""
        found, _ = self.of_class(kind, name)
        if isinstance(found, property):
            if found.fdel is None:
                raise AttributeError(f"property {name!r} of {kind.__name__!r} object has no deleter")
            return self.push(frame, found.fdel, [obj], {})
        if type(obj) is Obj:
            if isinstance(found, _SLOTS):
                raise Stop("mutation", f"Deleting {name} of a {kind.__name__}")
            if self.get_own(obj, name, isinstance(obj.real, Module)) is MISSING:
                raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
            self.set_own(obj, name, DELETED)
            return None
        object.__delattr__(obj, name)
        return None

    def store_state(self, name: str, value: Any) -> None:
        """A switch of the engine changes: at once while capturing, and in the graph."""
        self.state_reads.setdefault(name, getattr(engine_state, name))
        if name == "grad_enabled":
            if engine_state.grad_enabled != value:
                self.recorder.switch(effects.set_grad_enabled, (bool(value),))
            engine_state.grad_enabled = bool(value)
            return
        if getattr(engine_state, name) == value:
            return
        if name == "inference":
            self.recorder.switch(graph_calls.set_inference, (bool(value),))
            engine_state.inference = bool(value)
            return
        raise Stop("unsupported-value", f"A change of the engine's switch {name!r}")


def _is_data(found: Any) -> bool:
    if isinstance(found, FunctionType):
        return False
    kind = type(found)
    return hasattr(kind, "__set__") or hasattr(kind, "__delete__")


__all__ = ["NEEDS_VALUES", "Attributes", "Lazy", "is_engine", "static"]
