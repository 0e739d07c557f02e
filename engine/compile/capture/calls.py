"""Calls of symbolic values: what becomes a frame, what becomes a node, what is answered by a table, and what ends the graph.

A mixin of the domain.  Functions that are answered one by one stand in `builtins_table.py` and `engine_table.py`.
"""

from __future__ import annotations

import builtins
import functools
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any

from ... import overrides
from ...nn import module_hooks
from ...nn.module import Module
from ...tensor import Tensor
from ..bytecode import decode
from ..interpreter.binding import Mismatch, bind, complain
from ..interpreter.frame import Convert, Frame, Yielded
from ..interpreter.generators import InterpretedGenerator
from . import leaves
from .attributes import is_engine
from .kinds import Note
from .leaf_calls import LeafCalls
from .native_calls import _PLAIN_MODULES, NativeCalls
from .recorder import Recorder
from .stops import Stop, name_of
from .tables import HANDLERS, MAX_DEPTH, NATIVE_CALLS, OBJECT_CALLS, STOP_MODULES, STOPS, Dirty
from .values import MISSING, PLAIN, CMethod, Obj, facet
from .world import World


class Calls(NativeCalls, LeafCalls):
    """The part of the domain that calls."""

    world: World
    recorder: Recorder
    steps: int
    nesting: int
    now: Frame | None

    if TYPE_CHECKING:
        read: Any
        settle: Any
        symbolic: Any
        concrete: Any
        plain: Any
        elements: Any
        pairs: Any
        nested_value: Any
        container_method: Any
        attribute: Any
        class_cache: Any
        special: Any
        of_class: Any
        class_value: Any
        bind: Any
        interpreter: Any
        is_: Any
        made_functions: Any
        made_natively: Any

    # -- the call -------------------------------------------------------------------------------

    def call(self, frame: Frame, callable: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        f = self.read(callable)
        kind = type(f)
        if kind is MethodType:
            return self.call(frame, f.__func__, [f.__self__, *args], kwargs)
        if overrides.installed() and kind is FunctionType and overrides.original(f) is not f:
            f = self.behind(f, args, kwargs)
        known = HANDLERS.get(id(f))
        if known is not None and known[0] is f:
            return known[1](self, frame, args, kwargs)
        if kind is FunctionType:
            return self.call_python(frame, f, args, kwargs)
        if isinstance(f, type):
            return self.call_class(frame, f, args, kwargs)
        stop = STOPS.get(id(f))
        if stop is not None and stop[0] is f:
            raise Stop(stop[1], name_of(f))
        if kind is CMethod:
            return self.c_method(frame, f.receiver, f.name, args, kwargs)
        if kind is Obj:
            return self.call_obj(frame, f, args, kwargs)
        if kind in (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType):
            return self.call_descriptor(frame, f, args, kwargs)
        if kind in (BuiltinFunctionType, MethodWrapperType):
            return self.call_builtin(frame, f, args, kwargs)
        if kind is functools.partial:
            return self.call(frame, f.func, [*f.args, *args], {**f.keywords, **kwargs})
        if kind in (staticmethod,):
            return self.call(frame, f.__func__, args, kwargs)
        if leaves.is_allowed(f):
            return self.leaf(frame, f, args, kwargs)
        native = NATIVE_CALLS.get(kind)
        if native is not None:
            return native(self, frame, f, args, kwargs)
        method = self.special(f, "__call__")
        if method is not None:
            return self.call(frame, method, [f, *args], kwargs)
        if getattr(kind, "__module__", "") == "functools" and hasattr(f, "__wrapped__"):
            raise Stop("opaque-call", f"{name_of(f.__wrapped__)} with a cache")
        if not builtins.callable(kind):
            raise TypeError(f"'{kind.__name__}' object is not callable")
        raise Stop("opaque-call", name_of(f))

    def call_ex(self, frame: Frame, callable: Any, args: Any, kwargs: Any | None) -> Any:
        items = self.elements(frame, args)
        given: dict[str, Any] = {}
        if kwargs is not None:
            for key, value in self.pairs(frame, kwargs):
                key = self.read(key)
                if not isinstance(key, str):
                    raise TypeError("keywords must be strings")
                given[key] = value
        return self.call(frame, callable, items, given)

    def behind(self, front: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The operator behind a front of `overrides`; a break where an argument wants to handle it itself."""
        for a in (*args, *kwargs.values()):
            a = self.read(a)
            if overrides.asks(a.kind if type(a) is Obj else type(a)):
                raise Stop("opaque-call", f"{name_of(front)} of an object with __torch_function__")
        return overrides.original(front)

    # -- Python functions -----------------------------------------------------------------------

    def call_python(self, frame: Frame, f: FunctionType, args: list[Any], kwargs: dict[str, Any]) -> Any:
        stop = STOPS.get(id(f))
        if stop is not None and stop[0] is f:
            raise Stop(stop[1], name_of(f))
        if leaves.is_leaf(f):
            return self.leaf(frame, f, args, kwargs)
        marks = f.__dict__
        if marks:
            if marks.get("_compile_disabled"):
                raise Stop("disabled", name_of(f))
            if "_compile_handler" in marks:
                return marks["_compile_handler"](self, frame, f, args, kwargs)
        module = f.__globals__.get("__name__", "")
        root = module.partition(".")[0]
        if root in STOP_MODULES or module in STOP_MODULES:
            raise Stop(STOP_MODULES.get(module) or STOP_MODULES[root], name_of(f))
        program = decode(f.__code__)
        if program.refusal is not None:
            raise Stop("coroutine" if "asynchronous" in program.refusal else "opcode", program.refusal)
        return self.push(frame, f, args, kwargs)

    def push(self, frame: Frame | None, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The frame of a call of a Python function (or what calling something else gives)."""
        f = leaves.plain(f)
        if type(f) is not FunctionType:
            return self.call(frame, f, args, kwargs)  # type: ignore[arg-type]
        if leaves.is_leaf(f):
            return self.leaf(frame, f, args, kwargs)
        if frame is not None and frame.depth > MAX_DEPTH:
            raise Stop("depth", f"{MAX_DEPTH} calls")
        code = f.__code__
        program = decode(code)
        if program.refusal is not None:
            raise Stop("opcode", program.refusal)
        defaults, kwdefaults, closure = self.brought(f)
        try:
            slots = bind(code, len(program.slots), defaults, kwdefaults, args, kwargs)
        except Mismatch:
            slots = None
        if slots is None:
            complain(f, args, kwargs)
        made = Frame(program, f.__globals__, f.__builtins__, slots, closure=closure, function=f)
        outer = frame.note if frame is not None else None
        made.note = Note(self.steps, outer.module if outer is not None else "")
        return made

    def brought(self, f: FunctionType) -> tuple[Any, Any, Any]:
        """Defaults and closure of a function as symbolic values."""
        defaults, kwdefaults, closure = f.__defaults__, f.__kwdefaults__, f.__closure__ or ()
        if not (defaults or kwdefaults or closure):
            return defaults, kwdefaults, closure
        known = self.world.memo.get(id(f))
        if known is None:
            if id(f) in self.made_functions or id(f) in self.made_natively:
                if self.stand_ins and closure:
                    closure = tuple([self.stand_ins[id(c)][1] if id(c) in self.stand_ins else c for c in closure])
                return defaults, kwdefaults, closure
            # Found through a type (a property, a descriptor, a hook), where which function it is was guarded on the way.
            self.world.wrap(f, self.world.sources.const(f, f.__qualname__), guarded=True)
            known = self.world.memo[id(f)]
        ready = self.functions_ready.get(id(f))
        if ready is None:
            world, sources = self.world, self.world.sources
            source = known[2] if id(f) in world.weak else sources.const(f, f.__qualname__)
            trusted = is_engine(f)
            if defaults:
                names = f.__code__.co_varnames[: f.__code__.co_argcount][-len(defaults) :]
                defaults = tuple(
                    world.wrap(
                        v, sources.of("default", source, i, f"{f.__name__}.{n}"), guarded=trusted and type(v) in PLAIN
                    )
                    for i, (n, v) in enumerate(zip(names, defaults, strict=True))
                )
            if kwdefaults:
                kwdefaults = {
                    k: world.wrap(
                        v, sources.of("kwdefault", source, k, f"{f.__name__}.{k}"), guarded=trusted and type(v) in PLAIN
                    )
                    for k, v in kwdefaults.items()
                }
            free = f.__code__.co_freevars
            closure = tuple(
                world.wrap(c, sources.of("closure", source, i, free[i]), guarded=True) for i, c in enumerate(closure)
            )
            if id(f) in world.weak and closure:
                pass
            ready = self.functions_ready[id(f)] = (f, defaults, kwdefaults, closure)
        return ready[1], ready[2], ready[3]

    @functools.cached_property
    def functions_ready(self) -> dict[int, Any]:
        return {}

    def brought_closure(self, f: FunctionType) -> Any:
        """The closure of the function that a segment begins with."""
        sources = self.world.sources
        home = sources.const(f, f.__qualname__)
        free = f.__code__.co_freevars
        return tuple(
            self.world.wrap(c, sources.of("closure", home, i, free[i]), guarded=True)
            for i, c in enumerate(f.__closure__ or ())
        )

    # -- nested runs ----------------------------------------------------------------------------

    def nested(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call to the end from within an instruction; a break in it makes the instruction break."""
        self.nesting += 1
        try:
            return self.interpreter.call(f, args, kwargs, self.now)
        except Stop as stop:
            raise Dirty(stop) from None
        finally:
            self.nesting -= 1

    def run_nested(self, made: Frame) -> Any:
        """Run a frame that was made for an outcome to its end."""
        self.nesting += 1
        try:
            convert, made.convert = made.convert, None
            value = self.interpreter.run(made)
            while convert is not None:
                value = convert.finish(self.now, value)  # type: ignore[arg-type]
                convert = None
                if type(value) is Frame:
                    convert, value.convert = value.convert, None
                    value = self.interpreter.run(value)
            return value
        except Stop as stop:
            raise Dirty(stop) from None
        finally:
            self.nesting -= 1

    def resume_nested(self, generator: InterpretedGenerator, value: Any) -> Any:
        """The next item of a generator, EXHAUSTED at its end; what it returns is dropped."""
        from ..interpreter.frame import EXHAUSTED

        frame = generator.resume(value)
        if frame is None:
            return EXHAUSTED
        self.nesting += 1
        try:
            outcome = self.interpreter.execute(frame)
        except Stop as stop:
            raise Dirty(stop) from None
        finally:
            self.nesting -= 1
        return outcome.value if type(outcome) is Yielded else EXHAUSTED

    # -- classes --------------------------------------------------------------------------------

    def call_class(self, frame: Frame, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
        stop = STOPS.get(id(cls))
        if stop is not None and stop[0] is cls:
            raise Stop(stop[1], name_of(cls))
        meta_call, _ = self.of_class(type(cls), "__call__")
        if type(meta_call) is FunctionType and type(cls) is not type:
            return self.push(frame, meta_call, [cls, *args], kwargs)
        if issubclass(cls, Tensor):
            raise Stop("opaque-call", f"Making a {cls.__name__}")
        if cls.__module__.partition(".")[0] in STOP_MODULES and not issubclass(cls, BaseException):
            raise Stop(STOP_MODULES[cls.__module__.partition(".")[0]], name_of(cls))
        if getattr(cls, "__abstractmethods__", None):
            return cls(*args, **kwargs)
        if self.of_class(cls, "__del__")[0] is not MISSING:
            raise Stop("finalizer", name_of(cls))
        new, owner = self.of_class(cls, "__new__")
        inner = new.__func__ if isinstance(new, staticmethod) else new
        if type(inner) is FunctionType:
            assert owner is not None
            made = self.push(frame, inner, [cls, *args], kwargs)
            if type(made) is Frame:
                made.convert = Convert("new", _AfterNew(self, cls, args, kwargs))
                return made
            return self.initialise(frame, made, cls, args, kwargs)
        instance = self.native_new(frame, cls, args, kwargs)
        return self.initialise(frame, instance, cls, args, kwargs)

    def native_new(self, frame: Frame, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """`cls.__new__` written in C."""
        base: Any
        for base in (BaseException, tuple, dict, list, set, frozenset):
            if issubclass(cls, base):
                if base is tuple:
                    return tuple.__new__(cls, self.elements(frame, args[0]) if args else ())
                if base is frozenset:
                    return frozenset.__new__(cls, [self.key(x) for x in self.elements(frame, args[0])] if args else ())
                if base is BaseException:
                    return cls.__new__(cls, *args)
                return cls.__new__(cls)  # type: ignore[call-overload]
        new = cls.__new__
        if new is object.__new__:
            custom_init = self.of_class(cls, "__init__")[1] is not object
            return object.__new__(cls) if custom_init else object.__new__(cls, *args, **kwargs)
        if (
            all(not self.symbolic(self.settle(a)) for a in (*args, *kwargs.values()))
            and cls.__module__ in _PLAIN_MODULES
        ):
            return cls.__new__(
                cls, *[self.plain(a, cls.__name__) for a in args], **{k: self.plain(v, k) for k, v in kwargs.items()}
            )
        raise Stop("opaque-call", f"Making a {cls.__name__}")

    if TYPE_CHECKING:
        key: Any

    def initialise(self, frame: Frame, instance: Any, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The second half of `cls(...)`."""
        if not isinstance(instance, cls) or type(instance) is Obj:
            return instance
        init, owner = self.of_class(type(instance), "__init__")
        if type(init) is FunctionType:
            assert owner is not None
            made = self.push(frame, self.class_value(init, owner, "__init__"), [instance, *args], kwargs)
            if type(made) is Frame:
                made.convert = Convert("init", _Instance(instance), instance)
                return made
            return instance
        if isinstance(instance, BaseException):
            return instance
        if isinstance(instance, (dict, list, set)) and (args or kwargs):
            self.fill(frame, instance, args, kwargs)
        return instance

    def fill(self, frame: Frame, instance: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
        """`dict.__init__` and its like on a container that is made."""
        if isinstance(instance, dict):
            for source in args:
                for k, v in self.pairs(frame, source):
                    instance[self.key(k)] = v
            instance.update(kwargs)
        elif isinstance(instance, list):
            instance.extend(self.elements(frame, args[0]))
        elif isinstance(instance, set):
            instance.update([self.key(x) for x in self.elements(frame, args[0])])

    # -- objects --------------------------------------------------------------------------------

    def call_obj(self, frame: Frame, obj: Obj, args: list[Any], kwargs: dict[str, Any]) -> Any:
        self.world.touch(obj)
        kind = obj.kind
        if kind is BuiltinFunctionType:
            owner = self.world.wrap(
                obj.real.__self__, self.world.sources.of("self", obj.source, None, f"{obj.source.label}.__self__")
            )
            self.world.guards.value(self.world.sources.attr(obj.source, "__name__"), obj.real.__name__)
            return self.c_method(frame, owner, obj.real.__name__, args, kwargs)
        special = OBJECT_CALLS.get(kind)
        if special is not None:
            return special(self, frame, obj, args, kwargs)
        call, owner = self.of_class(kind, "__call__")
        if call is Module.__call__:
            return self.call_module(frame, obj, args, kwargs)
        if type(call) is FunctionType:
            assert owner is not None
            return self.call(frame, self.class_value(call, owner, "__call__"), [obj, *args], kwargs)
        if call is MISSING:
            raise TypeError(f"'{kind.__name__}' object is not callable")
        root = kind.__module__.partition(".")[0]
        id = STOP_MODULES.get(root, "opaque-call")
        raise Stop(id, name_of(obj.real) if hasattr(obj.real, "__name__") else f"a {kind.__name__}")

    def call_module(self, frame: Frame, obj: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """`Module.__call__`: what it keeps about paths is a note on the frame, hooks are interpreted."""
        hooked = False
        for name in ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks"):
            hooks = self.get_own(obj, name, True) if type(obj) is Obj else obj.__dict__[name]
            part = facet(hooks).native() if type(hooks) is Obj else hooks
            hooked = hooked or bool(part)
        if module_hooks.any_global:
            hooked = True
        where = self.world.sources.const(module_hooks.__dict__, "module_hooks")
        self.world.guards.condition(
            self.world.sources.item(where, "any_global", False, "global module hooks"), "{e} is what it was",
            f"bool({{e}}) is not {bool(module_hooks.any_global)}", "whether there are global hooks",
        )  # fmt: skip
        path = self.module_path(frame, obj)
        if hooked:
            made = self.push(frame, module_hooks.call, [obj, tuple(args), dict(kwargs)], {})
        else:
            forward = self.attribute(frame, obj, "forward")
            if forward is MISSING:
                raise AttributeError(f"'{type(obj).__name__}' object has no attribute 'forward'")
            made = self.call(frame, forward, args, kwargs)
        if type(made) is Frame and type(made.note) is Note:
            made.note.module = path
        return made

    if TYPE_CHECKING:
        get_own: Any

    def module_path(self, frame: Frame | None, obj: Any) -> str:
        """The dotted path of a module that is called."""
        outer = frame.note.module if frame is not None and frame.note is not None else ""
        real = obj.real if type(obj) is Obj else obj
        label = type(real).__name__
        if not outer:
            self.paths = paths_below(real, label) if type(obj) is Obj else {}
            self.paths.setdefault(id(real), label)
            return label
        return self.paths.get(id(real)) or f"{outer}.{label}"

    paths: dict[int, str] = {}


def paths_below(module: Module, label: str) -> dict[int, str]:
    """The dotted paths of a module and all below it, by identity."""
    return {id(m): f"{label}.{n}" if n else label for n, m in module.named_modules()}


class _Instance:
    """The end of `cls(...)` after `__init__`."""

    __slots__ = ("instance",)

    def __init__(self, instance: Any) -> None:
        self.instance = instance

    def __call__(self, frame: Frame, value: Any) -> Any:
        if value is not None:
            raise TypeError(f"__init__() should return None, not '{type(value).__name__}'")
        return self.instance


class _AfterNew:
    """What follows a `__new__` written in Python."""

    __slots__ = ("args", "cls", "domain", "kwargs")

    def __init__(self, domain: Calls, cls: type, args: list[Any], kwargs: dict[str, Any]) -> None:
        self.domain, self.cls, self.args, self.kwargs = domain, cls, args, kwargs

    def __call__(self, frame: Frame, value: Any) -> Any:
        return self.domain.initialise(frame, value, self.cls, self.args, self.kwargs)


__all__ = ["Calls"]
