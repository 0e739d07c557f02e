"""Calls of symbolic values: what becomes a frame, what becomes a node, what is answered by a table, and what ends the graph.

A mixin of the domain.  Functions that are answered one by one stand in `builtins_table.py` and `engine_table.py`.
"""

from __future__ import annotations

import functools
import sys
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any

from ... import module_path
from ...nn import module as nn_module
from ...nn import module_hooks
from ...nn.module import Module
from ...state import state as engine_state
from ...tensor import Tensor
from ..bytecode import decode
from ..fake import DataDependent, SymFloat, SymInt, is_symbolic
from ..interpreter.binding import Mismatch, bind, complain
from ..interpreter.frame import Control, Convert, Frame, Yielded
from ..interpreter.generators import InterpretedGenerator
from . import graph_calls, leaves
from .attributes import is_engine, static
from .kinds import Note, SuperOf
from .quiet import quiet
from .recorder import Recorder, Unrecorded
from .stops import Stop, name_of
from .values import MISSING, PLAIN, CMethod, Lazy, Misused, Obj, facet
from .world import ATOMS, World

MAX_DEPTH = 200
"""How deep calls may nest within one graph."""

Handler = Any
"""(domain, frame, args, kwargs) -> a value or a frame."""

HANDLERS: dict[int, tuple[Any, Handler]] = {}
"""What answers a call of one particular function, by its identity."""

STOPS: dict[int, tuple[Any, str]] = {}
"""Functions that end a graph, by identity, with the id of the break."""

STOP_MODULES = {
    "logging": "logging", "time": "time", "random": "random", "numpy.random": "random", "os": "io", "io": "io", "pathlib": "io", "shutil": "io",
    "subprocess": "io", "socket": "io", "warnings": "warning", "traceback": "frames", "inspect": "frames", "secrets": "random",
    "uuid": "random", "datetime": "time", "threading": "io", "tempfile": "io", "pickle": "io", "json": "opaque-call", "sys": "frames",
    "_io": "io", "posix": "io", "gc": "io", "asyncio": "coroutine", "multiprocessing": "io", "concurrent": "io", "ast": "opaque-call",
    "linecache": "io", "importlib": "import", "unittest": "opaque-call", "numpy": "numpy", "re": "opaque-call",
}  # fmt: skip
"""Modules of Python whose functions are not looked into, with the id of the break."""

PURE: set[int] = set()
"""Native functions that may be called on plain values while capturing, by identity."""


class _Strict:
    """For tests: failures of the capture itself are raised."""

    on = False


STRICT = _Strict()


class Dirty(Control):
    """A break inside of code that ran nested: the capture starts anew and ends before the instruction that began it."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(str(stop))
        self.stop = stop


class Calls:
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

    # -- the call -------------------------------------------------------------------------------

    def call(self, frame: Frame, callable: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        f = self.read(callable)
        kind = type(f)
        if kind is MethodType:
            return self.call(frame, f.__func__, [f.__self__, *args], kwargs)
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
        method = self.special(f, "__call__")
        if method is not None:
            return self.call(frame, method, [f, *args], kwargs)
        if getattr(kind, "__module__", "") == "functools" and hasattr(f, "__wrapped__"):
            raise Stop("opaque-call", f"{name_of(f.__wrapped__)} with a cache")
        if not hasattr(kind, "__call__"):
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
            if root not in _INTERPRETED.get(f.__qualname__.partition(".")[0], ()):
                raise Stop(STOP_MODULES.get(module) or STOP_MODULES[root], name_of(f))
        program = decode(f.__code__)
        if program.refusal is not None:
            raise Stop("coroutine" if "asynchronous" in program.refusal else "opcode", program.refusal)
        return self.push(frame, f, args, kwargs)

    def push(self, frame: Frame | None, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The frame of a call of a Python function (or what calling something else gives)."""
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
        known = self.world.memo.get(id(f))
        defaults, kwdefaults, closure = f.__defaults__, f.__kwdefaults__, f.__closure__ or ()
        if known is None and self.stand_ins and closure:
            closure = tuple([self.stand_ins[id(c)][1] if id(c) in self.stand_ins else c for c in closure])
        if known is None or not (defaults or kwdefaults or closure):
            return defaults, kwdefaults, closure
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
                value = convert.finish(self.now, value)
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
        meta_call, _ = static(type(cls), "__call__")
        if type(meta_call) is FunctionType and type(cls) is not type:
            return self.push(frame, meta_call, [cls, *args], kwargs)
        if issubclass(cls, Tensor):
            raise Stop("opaque-call", f"Making a {cls.__name__}")
        if cls.__module__.partition(".")[0] in STOP_MODULES and not issubclass(cls, BaseException):
            raise Stop(STOP_MODULES[cls.__module__.partition(".")[0]], name_of(cls))
        if getattr(cls, "__abstractmethods__", None):
            return cls(*args, **kwargs)
        if static(cls, "__del__")[0] is not MISSING:
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
                return cls.__new__(cls)
        new = cls.__new__
        if new is object.__new__:
            custom_init = static(cls, "__init__")[1] is not object
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
            self.paths = (
                {id(m): f"{label}.{n}" if n else label for n, m in real.named_modules()} if type(obj) is Obj else {}
            )
            self.paths.setdefault(id(real), label)
            return label
        return self.paths.get(id(real)) or f"{outer}.{label}"

    paths: dict[int, str] = {}

    # -- native functions -----------------------------------------------------------------------

    def call_builtin(self, frame: Frame, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        owner = getattr(f, "__self__", None)
        if owner is None or isinstance(owner, ModuleType):
            module = getattr(f, "__module__", None) or getattr(owner, "__name__", "")
            if id(f) in PURE or module in ("math", "_operator", "cmath"):
                return self.pure(f, args, kwargs)
            root = str(module).partition(".")[0]
            if root in STOP_MODULES:
                raise Stop(STOP_MODULES[root], name_of(f))
            raise Stop("opaque-call", name_of(f))
        if isinstance(owner, type):
            return self.class_method(frame, owner, f.__name__, f, args, kwargs)
        return self.c_method(frame, owner, f.__name__, args, kwargs)

    def class_method(
        self, frame: Frame, owner: type, name: str, f: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        """`object.__new__`, `dict.fromkeys` and their like."""
        if name == "__new__":
            cls = self.read(args[0])
            if owner is object and (len(args) == 1 or static(cls, "__init__")[1] is not object):
                return object.__new__(cls)
            return self.native_new(frame, cls, args[1:], kwargs)
        if name == "fromkeys":
            value = args[1] if len(args) > 1 else None
            return owner.fromkeys([self.key(k) for k in self.elements(frame, args[0])], value)  # type: ignore[attr-defined]
        if name in ("__init_subclass__", "__subclasshook__"):
            return None if name == "__init_subclass__" else NotImplemented
        if name == "_make":
            return tuple.__new__(owner, self.elements(frame, args[0]))
        if owner.__module__ == "builtins":
            return self.pure(f, args, kwargs)
        raise Stop("opaque-call", f"{owner.__name__}.{name}")

    def c_method(self, frame: Frame, receiver: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A method written in C, bound to a value."""
        receiver = self.read(receiver)
        kind = receiver.kind if type(receiver) is Obj else type(receiver)
        if isinstance(receiver, InterpretedGenerator):
            return self.generator_method(frame, receiver, name, args)
        if name in _OBJECT_METHODS:
            return _OBJECT_METHODS[name](self, frame, receiver, args, kwargs)
        from collections import deque

        if issubclass(kind, (list, dict, set, frozenset, deque)) or (
            issubclass(kind, tuple) and name not in ("_asdict",)
        ):
            return self.container_method(frame, receiver, name, args, kwargs)
        if type(receiver) is Obj:
            if kind.__module__.partition(".")[0] in STOP_MODULES:
                raise Stop(STOP_MODULES[kind.__module__.partition(".")[0]], f"{kind.__name__}.{name}")
            raise Stop("numpy" if kind.__module__ == "numpy" else "opaque-call", f"{kind.__name__}.{name}")
        if name == "__next__":
            return next(receiver)
        if kind is str and name in ("format", "join", "format_map"):
            return self.string_method(frame, receiver, name, args, kwargs)
        if name == "__get__" and kind in (FunctionType, property):
            return MethodType(receiver, args[0]) if kind is FunctionType and args[0] is not None else receiver
        if kind is property and name in ("setter", "getter", "deleter"):
            return getattr(receiver, name)(*args)
        if kind in PLAIN or kind in (range, slice, bytes, SymInt, SymFloat) or kind.__module__ in _PLAIN_MODULES:
            return self.pure(getattr(receiver, name), args, kwargs)
        if isinstance(receiver, BaseException):
            return getattr(receiver, name)(*args)
        if kind.__module__ in ("builtins", "collections") and kind.__name__.startswith(("dict_", "odict_")):
            return getattr(receiver, name)(*[self.settle(a) for a in args])
        raise Stop("opaque-call", f"{kind.__name__}.{name}")

    def string_method(self, frame: Frame, receiver: str, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if name == "join":
            return receiver.join([self.read(x) for x in self.elements(frame, args[0])])
        given = [self.plain(a, "format") for a in args]
        return getattr(receiver, name)(*given, **{k: self.plain(v, "format") for k, v in kwargs.items()})

    def generator_method(self, frame: Frame, generator: Any, name: str, args: list[Any]) -> Any:
        from ..interpreter.frame import EXHAUSTED

        if name in ("__next__", "send"):
            value = self.read(args[0]) if args else None
            made = generator.resume(value)
            if made is None:
                raise StopIteration
            return made
        if name == "__iter__":
            return generator
        if name == "close":
            if generator.state in ("created", "closed"):
                generator.state = "closed"
                return None
            made = generator.throw_into(GeneratorExit())
            try:
                self.nesting += 1
                outcome = self.interpreter.execute(made)
            except (GeneratorExit, StopIteration):
                return None
            except Stop as stop:
                raise Dirty(stop) from None
            finally:
                self.nesting -= 1
            if type(outcome) is Yielded:
                raise RuntimeError("generator ignored GeneratorExit")
            return outcome.value if sys.version_info >= (3, 13) else None
        if name == "throw":
            if generator.delegate() is not None:
                raise Stop("unsupported-value", "throw() into a generator that waits for another one")
            error = self.read(args[0])
            error = error() if isinstance(error, type) else error
            made = generator.throw_into(error)
            if made is None:
                raise error
            return made
        _ = EXHAUSTED
        raise Stop("opaque-call", f"generator.{name}")

    def call_descriptor(self, frame: Frame, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """`dict.get(d, k)`, `object.__setattr__(o, n, v)` and their like."""
        name = f.__name__
        if not args:
            raise TypeError(f"unbound method {f.__objclass__.__name__}.{name}() needs an argument")
        receiver = self.read(args[0])
        if f.__objclass__ is object or name in ("__init__", "__setattr__", "__getattribute__", "__delattr__"):
            handler = _OBJECT_METHODS.get(name)
            if handler is not None:
                return handler(self, frame, receiver, args[1:], kwargs)
        if f.__objclass__ is type and name == "__call__":
            cls = receiver
            new, owner = self.of_class(cls, "__new__")
            _ = new, owner
            return self._type_call(frame, cls, args[1:], kwargs)
        return self.c_method(frame, receiver, name, args[1:], kwargs)

    def _type_call(self, frame: Frame, cls: type, args: list[Any], kwargs: dict[str, Any]) -> Any:
        new, owner = self.of_class(cls, "__new__")
        inner = new.__func__ if isinstance(new, staticmethod) else new
        if type(inner) is FunctionType:
            instance = self.nested(inner, [cls, *args], kwargs)
        else:
            instance = self.native_new(frame, cls, args, kwargs)
        return self.initialise(frame, instance, cls, args, kwargs)

    def pure(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a native function without effects on plain values."""
        given = [self.settle(a) for a in args]
        words = {k: self.settle(v) for k, v in kwargs.items()}
        if any(map(self.symbolic, given)) or any(map(self.symbolic, words.values())):
            if any(isinstance(a, Tensor) for a in (*given, *words.values())):
                raise Stop("item", name_of(f))
            raise Stop("opaque-call", name_of(f))
        if any(map(is_symbolic, given)):
            quick = SYMBOLIC.get(id(f))
            if quick is not None:
                return quick(*given)
        return f(*map(self.concrete, given), **{k: self.concrete(v) for k, v in words.items()})

    # -- leaves ---------------------------------------------------------------------------------

    where: Frame | None
    stand_ins: dict[int, Any]

    def leaf(self, frame: Frame | None, f: Any, args: list[Any], kwargs: dict[str, Any], always: bool = False) -> Any:
        """Run an operator on fakes and write its node."""
        self.where = frame or self.now
        name = f.__name__
        given = [self.operand_of(a) for a in args]
        words = {k: self.operand_of(v) for k, v in kwargs.items()} if kwargs else {}
        values = leaves.NEEDS_VALUES.get(name)
        if values is not None and f is not getattr:
            self.refuse_values(f, name, values, given)
        tensors = [t for t in _tensors(given) if t is not None]
        if words:
            tensors += list(_tensors(list(words.values())))
        versions = [t._storage.version for t in tensors]
        try:
            out = self.run_leaf(f, given, words)
        except DataDependent as error:
            raise Stop(
                "dynamic-shape" if error.kind not in ("item", "bool", "float", "int") else "item", name_of(f)
            ) from None
        except (Control, Misused):
            raise
        except NotImplementedError as error:
            raise Stop("exception", f"{type(error).__name__}: {error}") from None
        except Exception as error:
            if STRICT.on and not isinstance(error, (RuntimeError, ValueError, TypeError, IndexError)):
                raise Misused(f"{type(error).__name__}: {error}") from error
            raise Stop(
                "exception", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            ) from None
        wrote = [t._storage.version for t in tensors] != versions
        if name in leaves.QUESTIONS and not wrote:
            return out
        made = _has_tensor(out)
        if not made and not wrote and not always and name not in leaves.ALWAYS:
            return out
        if f is getattr and self.recorder.node_of(out) is not None:
            return out
        try:
            nodes = tuple([self.recorder.argument(a, self.foreign) for a in given])
            named = {k: self.recorder.argument(v, self.foreign) for k, v in words.items()} if words else {}
        except Unrecorded as error:
            raise Stop("unsupported-value", f"{name_of(f)} of a {type(error.value).__name__}") from None
        if tensors and given and isinstance(given[0], Tensor) and static(type(given[0]), name)[0] is f:
            node = self.recorder.call(name, nodes, named, out, method=True)
        else:
            node = self.recorder.call(f, nodes, named, out)
        if wrote or always or name in leaves.ALWAYS:
            node.meta["impure"] = True
        return out

    def has_hooks(self) -> bool:
        """Whether a tensor from before has hooks, which backward runs; that there are none is guarded."""
        for t, source in self.world.tensors():
            if t.requires_grad:
                real = self.world.real_of(t)
                if real._hooks or "_kept_accumulator" in real.__dict__:
                    return True
                self.world.guards.condition(
                    source,
                    "{e} has no hooks",
                    "{e}._hooks or '_kept_accumulator' in {e}.__dict__",
                    "whether it has hooks",
                    None,
                    False,
                )
        return False

    def custom_function(self, frame: Frame, cls: Any, args: list[Any]) -> Any:
        """`Function.apply` of a custom function: one node, where its methods do nothing but compute."""
        methods = [getattr(cls, n, None) for n in ("forward", "backward", "setup_context", "vjp", "jvp")]
        if not all(quiet(m) for m in methods if isinstance(m, FunctionType) and not is_engine(m)):
            raise Stop("transform", f"{cls.__name__}.apply")
        try:
            return self.leaf(frame, graph_calls.apply_function, [cls, *args], {})
        except Stop as stop:
            if stop.id == "exception":
                raise
            raise Stop("transform", f"{cls.__name__}.apply") from None

    def run_leaf(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        flag = self.recorder.flag
        before, flag.on = flag.on, True
        try:
            return f(*args, **kwargs)
        finally:
            flag.on = before

    def refuse_values(self, f: Any, name: str, id: str, args: list[Any]) -> None:
        """End the graph at a function that needs values (unless they are known: a constant made inside)."""
        t = args[0] if args else None
        if isinstance(t, Tensor) and name in (
            "item",
            "tolist",
            "__bool__",
            "__float__",
            "__int__",
            "__index__",
            "is_nonzero",
        ):
            constant = getattr(t._data, "constant", None)
            if constant is not None and not t._data.memory.writes:
                return
        raise Stop(id, f"Tensor.{name}" if isinstance(t, Tensor) else name_of(f))

    def operand_of(self, value: Any) -> Any:
        """An argument of an operator: unread values read, containers native."""
        kind = type(value)
        if kind is Lazy:
            return self.read(value)
        if kind in PLAIN or isinstance(value, Tensor):
            return value
        if kind is list:
            return [self.operand_of(v) for v in value]
        if isinstance(value, tuple):
            parts = [self.operand_of(v) for v in value]
            if all(a is b for a, b in zip(parts, value, strict=True)):
                return value
            return tuple.__new__(kind, parts)
        if kind is dict:
            return {k: self.operand_of(v) for k, v in value.items()}
        if kind is slice:
            return slice(self.operand_of(value.start), self.operand_of(value.stop), self.operand_of(value.step))
        if kind is Obj:
            part = facet(value)
            if part is not None:
                return self.operand_of(part.native())
            if value.kind.__module__.startswith("numpy"):
                raise Stop("numpy", "An operator on an array")
            self.world.touch(value)
            return value.real
        if isinstance(value, InterpretedGenerator) or hasattr(kind, "__next__"):
            return [self.operand_of(v) for v in self.elements(self.now, value)]
        return value

    def foreign(self, value: Any) -> Any:
        """What stands in a node for an argument that is neither tensor nor plain."""
        if (
            isinstance(value, ATOMS)
            or isinstance(value, (range, frozenset, set))
            or type(value).__module__.startswith(_ENGINE)
        ):
            known = self.world.memo.get(id(value))
            if known is not None and type(known[1]) is Obj:
                return self.recorder.object(value, known[2])
            return value
        known = self.world.memo.get(id(value))
        if known is not None and type(known[1]) is Obj:
            return self.recorder.object(value, known[2])
        if type(value) in (FunctionType, BuiltinFunctionType):
            return value
        raise Unrecorded(value)


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


def _tensors(values: Any) -> list[Tensor]:
    out: list[Tensor] = []
    for v in values:
        if isinstance(v, Tensor):
            out.append(v)
        elif isinstance(v, (list, tuple)):
            out += _tensors(v)
        elif isinstance(v, dict):
            out += _tensors(v.values())
    return out


def _has_tensor(value: Any) -> bool:
    if isinstance(value, Tensor):
        return True
    if isinstance(value, (list, tuple)):
        return any(map(_has_tensor, value))
    if isinstance(value, dict):
        return any(map(_has_tensor, value.values()))
    return False


def _plain_setattr(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    name = domain.read(args[0])
    if isinstance(receiver, type):
        return domain.store_class_attr(receiver, name, args[1])
    kind = receiver.kind if type(receiver) is Obj else type(receiver)
    return domain.plain_store(frame, receiver, kind, name, args[1])


def _plain_delattr(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    kind = receiver.kind if type(receiver) is Obj else type(receiver)
    return domain.plain_delete(frame, receiver, kind, domain.read(args[0]))


def _plain_init(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if isinstance(receiver, (dict, list, set)) and (args or kwargs):
        domain.fill(frame, receiver, args, kwargs)
    elif isinstance(receiver, BaseException):
        receiver.args = tuple(args)
    elif type(receiver) is Obj and (args or kwargs):
        raise Stop("mutation", "__init__ of an object that exists")
    return None


def _plain_getattribute(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    name = domain.read(args[0])
    if type(receiver) is Obj:
        kind = receiver.kind
        found, owner = domain.of_class(kind, name)
        value = (
            domain.get_own(receiver, name, isinstance(receiver.real, Module))
            if hasattr(receiver.real, "__dict__")
            else MISSING
        )
        if found is not MISSING and (hasattr(type(found), "__set__") or value is MISSING):
            return domain.bind(frame, receiver, kind, found, owner, name)
        if value is MISSING:
            raise domain.no_attribute(receiver, name)
        return value
    own = getattr(receiver, "__dict__", {})
    found, owner = static(type(receiver), name)
    if found is not MISSING and (hasattr(type(found), "__set__") or name not in own):
        return domain.bind(frame, receiver, type(receiver), found, owner, name)
    if name in own:
        return own[name]
    raise domain.no_attribute(receiver, name)


def _identity_eq(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if issubclass(receiver.kind if type(receiver) is Obj else type(receiver), (list, dict, tuple, set)):
        return domain.compare(frame, "==", receiver, args[0])
    return True if domain.is_(frame, receiver, args[0], False) else NotImplemented


def _identity_ne(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return not domain.truth_of(domain.nested_value(frame, domain.compare(frame, "==", receiver, args[0])))


def _default_hash(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    value = domain.plain(receiver, "hash()")
    if type(value).__hash__ is object.__hash__:
        raise Stop("unsupported-value", "The hash of an object")
    return hash(value)


def _text_of(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    value = domain.plain(receiver, "repr()")
    if type(value).__repr__ is object.__repr__:
        raise Stop("unsupported-value", "The address of an object")
    return repr(value)


def _length_of(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    return domain.length(frame, receiver)


def _iter_of(domain: Any, frame: Frame, receiver: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    part = facet(receiver) if type(receiver) is Obj else None
    return iter(part.native()) if part is not None else iter(receiver)


_OBJECT_METHODS: dict[str, Handler] = {
    "__setattr__": _plain_setattr, "__delattr__": _plain_delattr, "__init__": _plain_init, "__getattribute__": _plain_getattribute,
    "__eq__": _identity_eq, "__ne__": _identity_ne, "__hash__": _default_hash, "__repr__": _text_of, "__iter__": _iter_of,
    "__len__": _length_of, "__init_subclass__": lambda *a: None,
}  # fmt: skip
"""Methods of `object` and their like, called explicitly (`super().__setattr__(...)`)."""

OBJECT_CALLS: dict[type, Any] = {}
"""Calls of objects of particular types: (domain, frame, obj, args, kwargs)."""

SYMBOLIC: dict[int, Any] = {}
"""Native functions of symbolic numbers, by identity."""

_INTERPRETED: dict[str, tuple[str, ...]] = {}
_PLAIN_MODULES = (
    "builtins",
    "fractions",
    "decimal",
    "collections",
    "types",
    "numbers",
    "enum",
    "operator",
    "functools",
    "itertools",
)
_ENGINE = Module.__module__.rsplit(".", 2)[0]

__all__ = ["HANDLERS", "PURE", "STOPS", "Calls", "Dirty", "Note", "SuperOf", "engine_state", "module_path", "nn_module"]
