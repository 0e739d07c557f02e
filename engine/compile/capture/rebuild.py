"""Writes the code that builds values again: what is returned, what effects write, and the frames to go on with.

What existed before is read from its source, what the graph made is one of its outputs, what was made inside is built anew at every
call, with identities and cycles kept.  A value that cannot be built raises `Escapes`.
"""

from __future__ import annotations

import enum
import functools
import gc
import itertools
import warnings
from collections import OrderedDict, defaultdict, deque
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from ...autograd.node import Node as TapeNode
from ...shapes import Size
from ...tensor import Tensor
from ..fake import SymFloat, SymInt
from ..interpreter import tracebacks
from ..interpreter.frame import NULL, UNBOUND, Convert, Frame, OnReturn
from ..interpreter.generators import InterpretedGenerator
from .codegen import Writer
from .iteration_table import Calling, Following
from .kinds import Identity, SuperOf
from .sources import advance
from .values import DELETED, MISSING, PLAIN, CMethod, DictFacet, Lazy, ListFacet, Obj, SetFacet
from .world import ATOMS, World

_VIEWS = (
    type({}.keys()),
    type({}.values()),
    type({}.items()),
    type(OrderedDict().keys()),
    type(OrderedDict().values()),
    type(OrderedDict().items()),
)
_ITERATORS = (
    type(iter([])), type(iter(())), type(iter(range(0))), type(iter("")), type(iter({})), type(iter({}.values())), type(iter({}.items())),
    type(iter(set())), type(reversed([])), enumerate, zip, map, filter, reversed, itertools.chain, itertools.islice, itertools.repeat,
    itertools.count,    itertools.cycle, itertools.product, itertools.zip_longest, itertools.accumulate, itertools.starmap,
)  # fmt: skip


class Escapes(Exception):
    """A value that was made inside cannot be built outside. `step` is when it was made, where that is known."""

    def __init__(self, what: str, value: Any) -> None:
        super().__init__(what)
        self.what, self.value = what, value


def make_frame(
    program: Any, globals: Any, builtins: Any, locals: list[Any], stack: list[Any], ip: int, back: Any, on_return: Any, convert: Any, depth: int,
    function: Any, handled: Any, names: Any, closure: Any,
) -> Frame:  # fmt: skip
    """A frame of the interpreter in a given state."""
    out = Frame(program, globals, builtins, locals, names=names, closure=closure, function=function)
    out.stack, out.ip, out.back, out.on_return, out.convert, out.depth, out.handled = (
        stack,
        ip,
        back,
        on_return,
        convert,
        depth,
        handled,
    )
    return out


def make_function(
    code: Any,
    globals: Any,
    name: str,
    qualname: str,
    defaults: Any,
    closure: Any,
    kwdefaults: Any,
    annotations: Any,
    own: Any,
) -> Any:
    """A Python function."""
    out = FunctionType(code, globals, name, defaults, closure)
    out.__qualname__ = qualname
    if kwdefaults:
        out.__kwdefaults__ = kwdefaults
    if annotations:
        out.__annotations__ = annotations
    if own:
        out.__dict__.update(own)
    return out


def make_exception(cls: Any, args: tuple[Any, ...], own: dict[str, Any]) -> Any:
    """An exception object."""
    out = cls.__new__(cls, *args)
    out.args = args
    out.__dict__.update(own)
    return out


def make_generator(frame: Frame, interpreter: Any, state: str) -> Any:
    """A generator in a given state."""
    out = InterpretedGenerator(frame, interpreter)
    out.state = state
    return out


_DICT_ITERATORS = {type(iter({})): "keys", type(iter({}.values())): "values", type(iter({}.items())): "items"}


def dict_iterator(home: dict[Any, Any], part: str, used: int) -> Any:
    """An iterator over a dictionary that has given `used` items already; it notices when the dictionary grows."""
    out = iter(getattr(dict, part)(home))
    for _ in range(used):
        next(out)
    return out


class Rebuilder:
    """Builds values in the body of a segment's function."""

    def __init__(
        self, writer: Writer, world: World, node_of: Any, interpreter: Any, made_classes: dict[int, Any]
    ) -> None:
        self.writer, self.world, self.node_of = writer, world, node_of
        self.interpreter, self.made_classes = interpreter, made_classes
        self.memo: dict[int, str] = {}
        self.outputs: dict[int, tuple[Any, str]] = {}
        """By identity of a fake: it, and the variable that gets its real value when the graph has run."""
        self.numbers: dict[str, str] = {}
        self.keep: list[Any] = []

    def helper(self, name: str, value: Any) -> str:
        self.writer.extra[name] = value
        return name

    def constant(self, value: Any) -> str:
        return self.writer.constant(value)

    # -- values ---------------------------------------------------------------------------------

    def value(self, v: Any) -> str:
        """The expression of a value."""
        kind = type(v)
        if kind in PLAIN:
            return self.constant(v)
        if kind is Lazy:
            if v.known is not MISSING and type(v.known) in (SymInt, SymFloat):
                return v.known.code()
            return self.writer.source(v.source)
        if kind is SymInt or kind is SymFloat:
            for s in v.free_symbols():
                self.numbers.setdefault(s)  # type: ignore[arg-type]
            return v.code()
        if isinstance(v, Tensor):
            return self.tensor(v)
        if v is UNBOUND or v is NULL:
            return self.constant(v)
        known = self.memo.get(id(v))
        if known is not None:
            return known
        found = self.world.from_symbol.get(id(v))
        if found is not None and found[0] is v:
            source = found[2]
            if (
                source.kind == "const"
                or (found[1] is v and isinstance(v, ATOMS))
                or (kind is FunctionType and id(v) not in self.world.weak)
            ):
                return self.constant(found[1])
            return self.writer.source(source)
        shadow = self.world.shadows.get(id(v))
        if shadow is not None and shadow[0] is v:
            return self.writer.source(shadow[1].source)
        self.keep.append(v)
        return self.made(v, kind)

    def tensor(self, t: Tensor) -> str:
        found = self.world.from_symbol.get(id(t))
        if found is not None and found[0] is t:
            return self.writer.source(found[2])
        known = self.outputs.get(id(t))
        if known is None:
            if self.node_of(t) is None:
                raise Escapes("A tensor that no operator of the graph made", t)
            known = self.outputs[id(t)] = (t, f"_o{len(self.outputs)}")
        return known[1]

    def start(self, v: Any, expression: str) -> str:
        """A variable for an object that is built from here on."""
        name = self.writer.fresh()
        self.memo[id(v)] = name
        self.writer.line(f"{name} = {expression}")
        return name

    def made(self, v: Any, kind: type) -> str:
        """The expression of something that was made inside."""
        w = self.writer
        if kind is list:
            name = self.start(v, "[]")
            if v:
                w.line(f"{name} += [{self.values(v)}]")
            return name
        if kind is dict:
            name = self.start(v, "{}")
            self.fill_dict(name, v, "dict")
            return name
        if kind is tuple:
            if all(type(x) in PLAIN for x in v):
                return self.constant(v)
            return self.start_after(v, lambda: f"({self.values(v)},)")
        if isinstance(v, tuple):
            cls = self.class_(kind)
            new = self.helper("_tuple_new", tuple.__new__)
            if kind is Size:
                return self.start_after(v, lambda: f"{cls}(({self.values(v)},))" if v else f"{cls}(())")
            return self.start_after(v, lambda: f"{new}({cls}, ({self.values(v)},))" if v else f"{new}({cls}, ())")
        if kind is set:
            return self.start_after(v, lambda: f"{{{self.values(v)}}}" if v else "set()")
        if kind is frozenset:
            return self.start_after(v, lambda: f"frozenset([{self.values(v)}])")
        if kind is slice:
            return f"slice({self.value(v.start)}, {self.value(v.stop)}, {self.value(v.step)})"
        if kind is range:
            return self.constant(v)
        if kind is deque:
            name = self.start(v, f"{self.helper('_deque', deque)}((), {v.maxlen!r})")
            if v:
                w.line(f"{name}.extend([{self.values(v)}])")
            return name
        if kind is OrderedDict:
            name = self.start(v, f"{self.helper('_OrderedDict', OrderedDict)}()")
            self.fill_dict(name, v, "_OrderedDict")
            return name
        if kind is defaultdict:
            name = self.start(v, f"{self.helper('_defaultdict', defaultdict)}({self.value(v.default_factory)})")
            self.fill_dict(name, v, "dict")
            return name
        if kind is FunctionType:
            return self.function(v)
        if kind is CellType:
            return self.cell(v)
        if kind is MethodType:
            return self.start_after(
                v, lambda: f"{self.helper('_method', MethodType)}({self.value(v.__func__)}, {self.value(v.__self__)})"
            )
        if kind is functools.partial:
            return self.partial(v)
        if isinstance(v, type):
            if id(v) in self.made_classes:
                raise Escapes(f"The class {v.__name__}", v)
            return self.constant(v)
        if isinstance(v, BaseException):
            return self.exception(v)
        if isinstance(v, InterpretedGenerator):
            return self.generator(v)
        if kind in (CMethod,):
            return f"getattr({self.value(v.receiver)}, {v.name!r})"
        if kind in (BuiltinFunctionType, MethodWrapperType):
            owner = getattr(v, "__self__", None)
            if owner is None or isinstance(owner, (type, *ATOMS)):
                return self.constant(v)
            return f"getattr({self.value(owner)}, {v.__name__!r})"
        if kind is Identity:
            return f"id({self.value(v.symbol)})"
        if kind is SuperOf:
            return f"super({self.value(v.cls)}, {self.value(v.obj)})"
        if kind is Following:
            return self.value(v.iterator)
        if kind is Calling:
            return self.value(v.function)
        if isinstance(v, _VIEWS):
            home = next((r for r in gc.get_referents(v) if isinstance(r, dict)), None)
            if home is None:
                raise Escapes("A view of a dictionary", v)
            return f"{self.value(home)}.{kind.__name__.rpartition('_')[2]}()"
        if isinstance(v, _ITERATORS):
            return self.iterator(v)
        if isinstance(v, TapeNode):
            raise Escapes("A node of the tape", v)
        if isinstance(v, (ATOMS, enum.Enum)) or kind.__module__ in (
            "fractions",
            "decimal",
            "datetime",
            "re",
            "builtins",
            "typing",
            "types",
        ):
            if (
                kind.__module__ == "builtins"
                and kind.__name__ not in _CONSTANT_TYPES
                and not isinstance(v, ATOMS)
                and not isinstance(v, SimpleNamespace)
            ):
                if type(v) is object:
                    return self.start(v, "object()")
                raise Escapes(f"A {kind.__name__}", v)
            if not isinstance(v, SimpleNamespace):
                return self.constant(v)
        if kind.__name__ in ("device", "dtype", "layout", "memory_format") or isinstance(v, (np.dtype, np.generic)):
            return self.constant(v)
        return self.instance(v, kind)

    def start_after(self, v: Any, make: Any) -> str:
        """A variable for an immutable object, whose parts come first."""
        expression = make()
        known = self.memo.get(id(v))
        return known if known is not None else self.start(v, expression)

    def values(self, items: Any) -> str:
        return ", ".join([self.value(x) for x in items])

    def fill_dict(self, name: str, v: Any, base: str) -> None:
        for key, x in v.items():
            self.writer.line(f"{base}.__setitem__({name}, {self.value(key)}, {self.value(x)})")

    def class_(self, kind: type) -> str:
        return self.value(kind) if id(kind) in self.made_classes else self.constant(kind)

    def function(self, f: FunctionType) -> str:
        if f.__code__.co_filename.startswith("<made"):
            return self.constant(f)
        if not self.was_made(f):
            return self.constant(f)
        cells = f"({', '.join([self.value(c) for c in f.__closure__])},)" if f.__closure__ else "None"
        known = self.memo.get(id(f))
        if known is not None:
            return known
        defaults = f"({self.values(f.__defaults__)},)" if f.__defaults__ else "None"
        words = f.__kwdefaults__
        kwdefaults = "{" + ", ".join(f"{k!r}: {self.value(x)}" for k, x in words.items()) + "}" if words else "None"
        notes = getattr(f, "__annotations__", None)
        annotations = "{" + ", ".join(f"{k!r}: {self.value(x)}" for k, x in notes.items()) + "}" if notes else "None"
        own = "{" + ", ".join(f"{k!r}: {self.value(x)}" for k, x in f.__dict__.items()) + "}" if f.__dict__ else "None"
        maker = self.helper("_function", make_function)
        return self.start(
            f, f"{maker}({self.constant(f.__code__)}, {self.constant(f.__globals__)}, {f.__name__!r}, {f.__qualname__!r}, {defaults}, {cells}, "
            f"{kwdefaults}, {annotations}, {own})",
        )  # fmt: skip

    made_functions: dict[int, Any]

    def was_made(self, f: FunctionType) -> bool:
        return id(f) in self.made_functions

    stand_ins: dict[int, Any]

    def cell(self, cell: CellType) -> str:
        stands = self.stand_ins.get(id(cell))
        if stands is not None:
            return self.value(stands[1])
        name = self.start(cell, f"{self.helper('_cell', CellType)}()")
        try:
            inner = cell.cell_contents
        except ValueError:
            return name
        self.writer.line(f"{name}.cell_contents = {self.value(inner)}")
        return name

    def partial(self, v: functools.partial) -> str:
        given = [
            self.value(v.func),
            *[self.value(a) for a in v.args],
            *[f"{k}={self.value(x)}" for k, x in v.keywords.items()],
        ]
        return self.start(v, f"{self.helper('_partial', functools.partial)}({', '.join(given)})")

    def exception(self, v: BaseException) -> str:
        own = "{" + ", ".join(f"{k!r}: {self.value(x)}" for k, x in v.__dict__.items()) + "}"
        args = f"({self.values(v.args)},)" if v.args else "()"
        name = self.start(v, f"{self.helper('_exception', make_exception)}({self.class_(type(v))}, {args}, {own})")
        places = tracebacks.entries(v.__traceback__)
        if places:
            self.writer.line(
                f"{name}.__traceback__ = {self.helper('_trace', tracebacks.from_entries)}({self.constant(places)})"
            )
        if v.__cause__ is not None:
            self.writer.line(f"{name}.__cause__ = {self.value(v.__cause__)}")
        if v.__context__ is not None:
            self.writer.line(f"{name}.__context__ = {self.value(v.__context__)}")
        if v.__suppress_context__:
            self.writer.line(f"{name}.__suppress_context__ = True")
        return name

    def iterator(self, v: Any) -> str:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                reduced = v.__reduce__()
        except (TypeError, AttributeError, RuntimeError):
            raise Escapes(f"An iterator of type {type(v).__name__}", v) from None
        make, args, *state = reduced
        if type(v) in _DICT_ITERATORS:
            home = next((r for r in gc.get_referents(v) if isinstance(r, dict)), None)
            if home is not None:
                part = _DICT_ITERATORS[type(v)]
                used = len(home) - len(args[0])
                helper = self.helper("_dict_iterator", dict_iterator)
                return self.start_after(v, lambda: f"{helper}({self.value(home)}, {part!r}, {used})")
        name = self.start_after(v, lambda: f"{self.constant(make)}({self.values(args)})")
        if state and state[0] is not None:
            self.writer.line(f"{name}.__setstate__({self.value(state[0])})")
        return name

    def generator(self, v: InterpretedGenerator) -> str:
        if v.state == "running":
            raise Escapes("A generator that is running", v)
        frame = self.frame(v.frame, "None")
        make = self.helper("_generator", make_generator)
        return self.start(v, f"{make}({frame}, {self.helper('_interpreter', self.interpreter)}, {v.state!r})")

    def instance(self, v: Any, kind: type) -> str:
        """An object of a class of Python."""
        base = next((b for b in (dict, list, set, deque) if isinstance(v, b)), None)
        new = getattr(kind, "__new__", object.__new__)
        if base is None and kind is not SimpleNamespace and (new is not object.__new__ and not _plain_layout(kind)):
            raise Escapes(f"A {kind.__name__}", v)
        cls = self.class_(kind)
        maker = f"{(base or (SimpleNamespace if kind is SimpleNamespace else object)).__name__}"
        if maker == "SimpleNamespace":
            maker = self.helper("_SimpleNamespace", SimpleNamespace)
        if isinstance(v, OrderedDict):
            maker = self.helper("_OrderedDict", OrderedDict)
        elif isinstance(v, deque):
            maker = self.helper("_deque", deque)
        name = self.start(v, f"{maker}.__new__({cls})")
        if isinstance(v, list):
            self.writer.line(f"list.extend({name}, [{self.values(list.__iter__(v))}])")
        elif isinstance(v, dict):
            for key, x in dict.items(v):
                self.writer.line(f"{maker}.__setitem__({name}, {self.value(key)}, {self.value(x)})")
        elif isinstance(v, set):
            self.writer.line(f"set.update({name}, [{self.values(set.__iter__(v))}])")
        for key, x in getattr(v, "__dict__", {}).items():
            self.writer.line(f"{name}.__dict__[{key!r}] = {self.value(x)}")
        for slot in _slots(kind):
            try:
                x = getattr(v, slot)
            except AttributeError:
                continue
            self.writer.line(f"object.__setattr__({name}, {slot!r}, {self.value(x)})")
        return name

    # -- frames ---------------------------------------------------------------------------------

    def frame(self, frame: Frame, back: str) -> str:
        """A frame in the state it is in; `back` is the expression of the one that waits for it."""
        convert = "None"
        if frame.convert is not None:
            convert = self.convert(frame.convert)
        if frame.names is not None:
            raise Escapes("The body of a class", frame)
        if frame.pending is not None:
            raise Escapes("An exception on its way into a generator", frame)
        locals = ", ".join([self.value(x) for x in frame.locals])
        stack = ", ".join([self.value(x) for x in frame.stack])
        closure = "()"
        if frame.closure and frame.ip < 2:
            closure = f"({', '.join([self.value(c) for c in frame.closure])},)"
        function = "None"
        if frame.function is not None and not self.was_made(frame.function):
            function = self.constant(frame.function)
        name = self.writer.fresh("f")
        self.writer.line(
            f"{name} = {self.helper('_frame', make_frame)}({self.constant(frame.program)}, {self.constant(frame.globals)}, "
            f"{self.constant(frame.builtins)}, [{locals}], [{stack}], {frame.ip}, {back}, {self.constant(frame.on_return)}, {convert}, "
            f"{frame.depth}, {function}, {self.value(frame.handled)}, None, {closure})"
        )
        return name

    def convert(self, convert: Convert) -> str:
        if convert.name == "init":
            finish = self.helper("_Instance", type(convert.finish))
            instance = self.value(convert.payload)
            return f"{self.helper('_Convert', Convert)}('init', {finish}({instance}), {instance})"
        raise Escapes("A call that waits for more than a value", convert)

    # -- effects --------------------------------------------------------------------------------

    def effects(self, marked: list[Obj]) -> list[str]:
        """The lines that write what changed into the objects that existed before; and sentences about them."""
        told = []
        for obj in marked:
            target = self.writer.source(obj.source) if obj.source.kind != "const" else self.constant(obj.real)
            label = obj.source.label
            for name, value in obj.written.items():
                self.write_attribute(obj, target, name, value)
                told.append(
                    f"del {label}.{name}"
                    if value is DELETED
                    else f"{label if name == 'cell_contents' else f'{label}.{name}'} = ..."
                )
            if obj.used:
                line = f"{self.helper('_advance', advance)}({target}, {obj.used})"
                self.writer.line(line)
                told.append(f"next({label})")
            if obj.items is not None and obj.items.dirty:
                told.append(self.write_items(obj, target, label))
        return told

    def hung(self, written: dict[Any, tuple[Any, Any]]) -> list[str]:
        """The lines that hang attributes on tensors which existed before or leave the graph; sentences about them."""
        told, left = [], dict(written)
        while True:
            ready = [k for k, (t, _) in left.items() if self.world.source_of(t) is not None or id(t) in self.outputs]
            if not ready:
                return told
            for key in ready:  # a value may be a tensor that leaves the graph by that alone
                t, value = left.pop(key)
                target, name = self.tensor(t), key[1]
                if value is DELETED:
                    self.writer.line(f"{target}.__dict__.pop({name!r}, None)")
                else:
                    self.writer.line(f"{target}.__dict__[{name!r}] = {self.value(value)}")
                source = self.world.source_of(t)
                if source is not None:
                    told.append(
                        f"{'del ' if value is DELETED else ''}{source.label}.{name}{'' if value is DELETED else ' = ...'}"
                    )

    def write_attribute(self, obj: Obj, target: str, name: str, value: Any) -> None:
        line = self.writer.line
        if isinstance(obj.real, (type, FunctionType)) or obj.kind is CellType:
            line(f"del {target}.{name}" if value is DELETED else f"{target}.{name} = {self.value(value)}")
        elif name in getattr(obj.real, "__dict__", {}) or not _has_slot(obj.kind, name):
            line(
                f"{target}.__dict__.pop({name!r}, None)"
                if value is DELETED
                else f"{target}.__dict__[{name!r}] = {self.value(value)}"
            )
        else:
            line(f"object.__setattr__({target}, {name!r}, {self.value(value)})")

    def write_items(self, obj: Obj, target: str, label: str) -> str:
        part = obj.items
        line = self.writer.line
        if type(part) is ListFacet:
            if part.shadow is None:
                base = "list" if isinstance(obj.real, list) else self.helper("_deque", deque)
                base = base if isinstance(base, str) else "_deque"
                for value in part.appended:
                    line(f"{base}.append({target}, {self.value(value)})")
                return f"{label}.append(...)"
            if isinstance(obj.real, list):
                line(f"list.__setitem__({target}, _ALL, [{self.values(part.shadow)}])")
                self.helper("_ALL", slice(None))
            else:
                new = f"[{self.values(part.shadow)}]"
                line(f"{target}.clear()")
                line(f"{target}.extend({new})")
            return f"{label}[:] = ..."
        if type(part) is SetFacet:
            new = f"[{self.values(part.shadow)}]"
            line(f"set.clear({target})")
            line(f"set.update({target}, {new})")
            return f"{label} changes"
        assert type(part) is DictFacet
        base = "dict"
        if isinstance(obj.real, OrderedDict):
            base = self.helper("_OrderedDict", OrderedDict)
        if part.shadow is None:
            for key, value in part.writes.items():
                if value is DELETED:
                    line(f"{base}.pop({target}, {self.value(key)}, None)")  # perhaps it was written and deleted inside
                else:
                    line(f"{base}.__setitem__({target}, {self.value(key)}, {self.value(value)})")
            return f"{label}[...] = ..."
        before = part.original
        kept = [k for k in before if k in part.shadow]
        order = kept + [k for k in part.shadow if k not in before]
        if order == list(part.shadow):
            for key in before:
                if key not in part.shadow:
                    line(f"{base}.__delitem__({target}, {self.value(key)})")
            for key, value in part.shadow.items():
                if key not in before or before[key] is not value:
                    line(f"{base}.__setitem__({target}, {self.value(key)}, {self.value(value)})")
        else:
            pairs = [(self.value(k), self.value(v)) for k, v in part.shadow.items()]
            line(f"{base}.clear({target})")
            for key, value in pairs:
                line(f"{base}.__setitem__({target}, {key}, {value})")
        return f"{label}[...] = ..."


def _plain_layout(kind: type) -> bool:
    """Whether `object.__new__` makes an instance of a class."""
    try:
        object.__new__(kind)
    except TypeError:
        return False
    return True


def _slots(kind: type) -> list[str]:
    out: list[str] = []
    for cls in kind.__mro__:
        slots = cls.__dict__.get("__slots__", ())
        out += [slots] if isinstance(slots, str) else list(slots)
    return [s for s in out if s not in ("__dict__", "__weakref__")]


def _has_slot(kind: type, name: str) -> bool:
    return name in _slots(kind)


_CONSTANT_TYPES = frozenset(["code", "range", "ellipsis", "NotImplementedType", "mappingproxy"])

__all__ = ["Escapes", "OnReturn", "Rebuilder"]
