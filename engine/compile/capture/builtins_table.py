"""Python's built-in functions while capturing: one entry each.

An entry answers (domain, frame, args, kwargs) with a value or a frame.  What is not here and native ends the graph.
"""

from __future__ import annotations

import builtins
import copy
import dataclasses
import functools
import inspect
import math
import operator
from abc import ABCMeta
from collections import OrderedDict, defaultdict, deque, namedtuple
from types import CellType, FunctionType, MethodType, SimpleNamespace
from typing import Any

from ...tensor import Tensor
from ..fake import SymFloat, SymInt, is_symbolic, symbolic_call, symbolic_float, symbolic_max, symbolic_min
from ..interpreter.classes import build_class
from ..interpreter.frame import EXHAUSTED, Convert, Frame
from ..interpreter.generators import InterpretedGenerator
from .attributes import is_fixed, static
from .entries import entry
from .kinds import Identity, Note, SuperOf
from .stops import Stop, name_of
from .tables import HANDLERS, PURE, STOPS, SYMBOLIC
from .values import MISSING, PLAIN, Lazy, Obj

# -- types ------------------------------------------------------------------------------------------


def type_of(domain: Any, value: Any) -> type:
    """`type(value)`, of an unread value without reading more."""
    if type(value) is Lazy:
        if type(value.value) not in PLAIN:
            return type_of(domain, domain.read(value))
        if value.known is MISSING:
            domain.world.guards.type(value.source, type(value.value))
            return type(value.value)
        value = value.known
    if type(value) is Obj:
        domain.world.touch(value)
        return value.kind
    if type(value) in (SymInt, SymFloat, InterpretedGenerator):
        return value.__class__
    return type(value)


def is_instance(domain: Any, value: Any, cls: Any) -> bool:
    """`isinstance(value, cls)`."""
    cls = domain.settle(cls)
    if type(value) is Lazy and value.known is MISSING and type(value.value) in PLAIN:
        kind = type_of(domain, value)
        return isinstance(value.value, cls) if kind is not None else False
    value = domain.read(value)
    if type(value) is Obj:
        domain.world.touch(value)
        answer = isinstance(value.real, cls)
        if _open(cls, value.kind):
            test = f"isinstance({{e}}, {domain.world.sources.object(cls)}) is not {answer}"
            shown = f"isinstance({{e}}, {getattr(cls, '__qualname__', '...')}) is {answer}"
            domain.world.guards.condition(value.source, shown, test, "which classes were registered")
        return answer
    return isinstance(value, cls)


def _open(cls: Any, kind: type) -> bool:
    """Whether classes can be registered with a class (or one of a tuple) whose program, or that of `kind`, may do so."""
    if isinstance(cls, tuple):
        return any(_open(c, kind) for c in cls)
    return isinstance(cls, ABCMeta) and not (is_fixed(cls) and is_fixed(kind))


@entry(isinstance)
def _isinstance(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    value, cls = args
    if isinstance(cls, type):
        check = domain.of_class(type(cls), "__instancecheck__")[0]
        if type(check) is FunctionType and not is_fixed(type(cls)):
            return domain.truth_of(domain.nested(check, [cls, value], {}))
    return is_instance(domain, value, cls)


@entry(issubclass)
def _issubclass(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return issubclass(domain.read(args[0]), domain.settle(args[1]))


@entry(type)
def _type(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    if len(args) == 1:
        return type_of(domain, args[0])
    name, bases, space = (domain.read(a) for a in args)
    made = type(name, bases, dict(space), **kwargs)
    domain.made_classes[id(made)] = made
    _functions_made(domain, made)
    return made


@entry(callable)
def _callable(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    value = domain.read(args[0])
    if type(value) is Obj:
        domain.world.touch(value)
        return callable(value.real)
    return callable(value)


@entry(super)
def _super(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    if not args:
        program = frame.program
        cell = frame.locals[program.slots.index("__class__")]
        cls = domain.load_deref(frame, cell, program.slots.index("__class__"))
        obj: Any = frame.locals[0]
        if type(obj) is CellType:
            obj = obj.cell_contents
        elif type(obj) is Obj and obj.kind is CellType:
            obj = domain.cell_contents(obj)
        args = [cls, obj]
    cls, obj = domain.read(args[0]), domain.read(args[1])
    if isinstance(obj, type) and issubclass(obj, cls):
        kind = obj
    else:
        kind = obj.kind if type(obj) is Obj else type(obj)
        if type(obj) is Obj:
            domain.world.touch(obj)
    if not issubclass(kind, cls):
        raise TypeError("super(type, obj): obj must be an instance or subtype of type")
    return SuperOf(cls, obj, kind)


# -- attributes -------------------------------------------------------------------------------------


@entry(getattr)
def _getattr(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    obj, name = domain.read(args[0]), domain.read(args[1])
    if len(args) == 2:
        return domain.load_attr(frame, obj, name)
    try:
        out = domain.attribute(frame, obj, name)
        if type(out) is Frame:
            out = domain.run_nested(out)
    except AttributeError:
        return args[2]
    return args[2] if out is MISSING else out


@entry(hasattr)
def _hasattr(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    try:
        out = domain.attribute(frame, domain.read(args[0]), domain.read(args[1]))
        if type(out) is Frame:
            out = domain.run_nested(out)
    except AttributeError:
        return False
    return out is not MISSING


@entry(setattr)
def _setattr(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.store_attr(frame, args[0], domain.read(args[1]), args[2])


@entry(delattr)
def _delattr(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.delete_attr(frame, args[0], domain.read(args[1]))


@entry(vars)
def _vars(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    if not args:
        raise Stop("frames", "vars()")
    return domain.load_attr(frame, args[0], "__dict__")


# -- sizes, numbers ---------------------------------------------------------------------------------


@entry(len)
def _len(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.length(frame, args[0])


def _number(native: Any, special: str) -> Any:
    def handler(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
        value: Any = domain.read(args[0]) if args else None
        if isinstance(value, Tensor):
            constant = getattr(value._data, "constant", None)
            if constant is not None and not value._data.memory.writes and constant.size == 1:
                return native(constant.item())
            if native is bool:
                return domain.tensor_truth(value)
            if native is float and domain.scalar_of(value):
                return domain.recorder.read_number(value, float)
            raise Stop("item", f"{native.__name__}()")
        if native is bool:
            return domain.truth_of(value) if args else False
        method = domain.special(value, special) if args else None
        if method is not None:
            return domain.push(frame, method, [value], {})
        if native is float and is_symbolic(value):
            return value if type(value) is SymFloat else symbolic_float(value)
        if native is int and type(value) is SymInt:
            return value
        return native(*[domain.plain(a, native.__name__) for a in args], **kwargs)

    return handler


for _native, _special in ((int, "__int__"), (float, "__float__"), (bool, "__bool__"), (complex, "__complex__")):
    HANDLERS[id(_native)] = (_native, _number(_native, _special))


@entry(abs)
def _abs(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    value = domain.read(args[0])
    if isinstance(value, Tensor):
        return domain.leaf(frame, getattr(Tensor, "abs"), [value], {})  # noqa: B009 (the table defines it)
    method = domain.special(value, "__abs__")
    if method is not None:
        return domain.push(frame, method, [value], {})
    return abs(value)


@entry(pow)
def _pow(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    if len(args) == 2 and not kwargs:
        return domain.binary(frame, "**", args[0], args[1])
    return domain.pure(pow, args, kwargs)


@entry(divmod)
def _divmod(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    a, b = domain.read(args[0]), domain.read(args[1])
    return (
        domain.nested_value(frame, domain.binary(frame, "//", a, b)),
        domain.nested_value(frame, domain.binary(frame, "%", a, b)),
    )


@entry(round)
def _round(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    value = domain.read(args[0])
    if isinstance(value, Tensor):
        return domain.leaf(frame, getattr(Tensor, "round"), [value], {})  # noqa: B009 (the table defines it)
    if type(value) is SymFloat and len(args) == 2:
        digits = domain.concrete(domain.read(args[1]))
        hint = None if value.hint is None else round(value.hint, digits)
        return SymFloat(f"round({value.code()}, {digits})", value.env, hint, tuple(value.free_symbols()))
    return domain.pure(round, args, kwargs)


@entry(sum)
def _sum(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    items = domain.elements(frame, args[0])
    total = domain.read(args[1] if len(args) > 1 else kwargs.get("start", 0))
    items = [domain.read(x) for x in items]
    if type(total) in PLAIN and all(type(x) in PLAIN for x in items):
        return sum(items, total)
    for x in items:
        total = domain.nested_value(frame, domain.binary(frame, "+", total, x))
    return total


def _extreme(native: Any, op: str, symbolic: Any) -> Any:
    def handler(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
        items = domain.elements(frame, args[0]) if len(args) == 1 else list(args)
        items = [domain.read(x) for x in items]
        key = domain.read(kwargs.get("key"))
        if key is None and all(type(x) in PLAIN for x in items):
            return native(items, **{k: v for k, v in kwargs.items() if k == "default"})
        if not items:
            if "default" in kwargs:
                return kwargs["default"]
            raise ValueError(f"{native.__name__}() iterable argument is empty")
        if key is None and any(map(is_symbolic, items)) and all(isinstance(x, (int, float)) for x in items):
            return functools.reduce(
                lambda a, b: symbolic(a, b) if is_symbolic(a) or is_symbolic(b) else native(a, b), items
            )
        keys = items if key is None else [domain.nested(key, [x], {}) for x in items]
        best = 0
        for i in range(1, len(items)):
            if domain.truth_of(domain.nested_value(frame, domain.compare(frame, op, keys[i], keys[best]))):
                best = i
        return items[best]

    return handler


HANDLERS[id(min)] = (min, _extreme(min, "<", symbolic_min))
HANDLERS[id(max)] = (max, _extreme(max, ">", symbolic_max))


@entry(any)
def _any(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    iterator = domain.nested_value(frame, domain.get_iter(frame, args[0]))
    while (item := domain.next_value(frame, iterator)) is not EXHAUSTED:
        if domain.truth_of(item):
            return True
    return False


@entry(all)
def _all(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    iterator = domain.nested_value(frame, domain.get_iter(frame, args[0]))
    while (item := domain.next_value(frame, iterator)) is not EXHAUSTED:
        if not domain.truth_of(item):
            return False
    return True


# -- containers -------------------------------------------------------------------------------------


@entry(list)
def _list(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.elements(frame, args[0]) if args else []


@entry(tuple)
def _tuple(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    if args and type(args[0]) is tuple:
        return args[0]
    return tuple(domain.elements(frame, args[0])) if args else ()


@entry(set)
def _set(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return {domain.key(x) for x in domain.elements(frame, args[0])} if args else set()


@entry(frozenset)
def _frozenset(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return frozenset(domain.key(x) for x in domain.elements(frame, args[0])) if args else frozenset()


def _dict_like(make: Any) -> Any:
    def handler(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
        out = make()
        for source in args:
            for k, v in domain.pairs(frame, source):
                out[domain.key(k)] = v
        out.update(kwargs)
        return out

    return handler


HANDLERS[id(dict)] = (dict, _dict_like(dict))
HANDLERS[id(OrderedDict)] = (OrderedDict, _dict_like(OrderedDict))


@entry(defaultdict)
def _defaultdict(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    factory = domain.read(args[0]) if args else None
    return _dict_like(lambda: defaultdict(factory))(domain, frame, args[1:], kwargs)


@entry(deque)
def _deque(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    size = domain.concrete(domain.read(args[1] if len(args) > 1 else kwargs.get("maxlen")))
    return deque(domain.elements(frame, args[0]) if args else (), size)


@entry(str)
def _str(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    if len(args) == 1 and not kwargs:
        return domain.text(args[0], "__str__")
    return domain.pure(str, args, kwargs)


@entry(repr)
def _repr(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.text(args[0], "__repr__")


@entry(format)
def _format(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.format_value(frame, args[0], args[1] if len(args) > 1 else None)


@entry(hash)
def _hash(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    value = domain.read(args[0])
    method = domain.special(value, "__hash__")
    if method is not None:
        return domain.push(frame, method, [value], {})
    value = domain.plain(value, "hash()")
    if type(value).__hash__ is object.__hash__:
        raise Stop("unsupported-value", "The hash of an object")
    return hash(value)


@entry(id)
def _id(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    value = domain.read(args[0])
    real = domain.world.real_of(value)
    out = Identity(id(real) if real is not MISSING else -(1 << 80) - id(value))
    out.symbol = value
    source = domain.world.source_of(value)
    if source is not None and source.kind != "const":
        domain.world.told_apart.setdefault(source)
    return out


@entry(property, staticmethod, classmethod)
def _descriptor(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    raise Stop("class", "A descriptor made inside")


def _wrapping(cls: Any) -> Any:
    def handler(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
        return cls(*[domain.read(a) for a in args], **kwargs)

    return handler


for _cls in (property, staticmethod, classmethod):
    HANDLERS[id(_cls)] = (_cls, _wrapping(_cls))


@entry(MethodType)
def _method(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return MethodType(domain.read(args[0]), domain.read(args[1]))


@entry(object)
def _object(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return object()


@entry(SimpleNamespace)
def _namespace(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return SimpleNamespace(**kwargs)


@entry(globals)
def _globals(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.world.obj_for(frame.globals, "globals()")


@entry(builtins.__build_class__)
def _build_class(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    """The class statement: its body is interpreted, the metaclass runs natively."""
    bases = [domain.read(b) for b in args[2:]]
    if any(type(b) is Obj for b in bases) or type(args[0]) is not FunctionType:
        raise Stop("class", str(args[1]))
    meta = type(bases[0]) if bases else type
    metaclass = domain.read(kwargs.get("metaclass", meta))
    if metaclass is not type and not _quiet(metaclass):
        raise Stop("class", str(args[1]))
    for base in bases:
        hook = static(base, "__init_subclass__")[0]
        if isinstance(hook, classmethod) and hook.__func__.__module__ not in ("abc", "enum", "typing"):
            raise Stop("class", str(args[1]))
    step = domain.steps
    made = build_class(
        domain, frame, [args[0], domain.read(args[1]), *bases], {k: domain.read(v) for k, v in kwargs.items()}
    )
    if type(made) is not Frame:
        raise Stop("class", str(args[1]))
    made.note = Note(step, "")
    assert made.convert is not None
    finish = made.convert.finish

    def note(f: Frame, cell: Any) -> Any:
        cls = finish(f, cell)
        domain.made_classes[id(cls)] = cls
        domain.made_at[id(cls)] = step
        return cls

    made.convert = Convert("class", note)
    return made


def _quiet(metaclass: type) -> bool:
    """Whether making a class with a metaclass has no effects that matter."""
    return metaclass.__module__ in ("abc", "enum", "typing") or metaclass is type


# -- functools, operator, itertools, copy -----------------------------------------------------------


@entry(functools.reduce)
def _reduce(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    items = domain.elements(frame, args[1])
    if len(args) > 2:
        items.insert(0, args[2])
    if not items:
        raise TypeError("reduce() of empty iterable with no initial value")
    total = items[0]
    for x in items[1:]:
        total = domain.nested(args[0], [total, x], {})
    return total


@entry(functools.partial)
def _partial(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    f = domain.read(args[0])
    if type(f) is Obj:
        f = MethodType(_call_object, f)
    return functools.partial(f, *args[1:], **kwargs)


def _call_object(obj: Any, *args: Any, **kwargs: Any) -> Any:
    return obj(*args, **kwargs)


for _op, _names in {
    "+": ("add", "concat"), "-": ("sub",), "*": ("mul",), "/": ("truediv",), "//": ("floordiv",), "%": ("mod",), "**": ("pow",), "@": ("matmul",),
    "<<": ("lshift",), ">>": ("rshift",), "&": ("and_",), "|": ("or_",), "^": ("xor",), "+=": ("iadd", "iconcat"), "-=": ("isub",),
    "*=": ("imul",), "/=": ("itruediv",), "//=": ("ifloordiv",), "%=": ("imod",), "**=": ("ipow",), "@=": ("imatmul",), "&=": ("iand",),
    "|=": ("ior",), "^=": ("ixor",),
}.items():  # fmt: skip
    for _n in _names:
        HANDLERS[id(getattr(operator, _n))] = (
            getattr(operator, _n), lambda d, fr, a, k, op=_op: d.binary(fr, op, a[0], a[1]),
        )  # fmt: skip
for _op, _n in (("<", "lt"), ("<=", "le"), ("==", "eq"), ("!=", "ne"), (">", "gt"), (">=", "ge")):
    HANDLERS[id(getattr(operator, _n))] = (
        getattr(operator, _n), lambda d, fr, a, k, op=_op: d.compare(fr, op, a[0], a[1]),
    )  # fmt: skip
for _op, _n in (("-", "neg"), ("+", "pos"), ("~", "invert"), ("not", "not_")):
    HANDLERS[id(getattr(operator, _n))] = (getattr(operator, _n), lambda d, fr, a, k, op=_op: d.unary(fr, op, a[0]))


@entry(operator.getitem)
def _op_getitem(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.getitem(frame, args[0], args[1])


@entry(operator.setitem)
def _op_setitem(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.setitem(frame, *args)


@entry(operator.contains)
def _op_contains(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.contains(frame, args[0], args[1], False)


@entry(operator.is_)
def _op_is(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.is_(frame, args[0], args[1], False)


@entry(operator.is_not)
def _op_is_not(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.is_(frame, args[0], args[1], True)


@entry(operator.truth)
def _op_truth(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.truth_of(args[0])


@entry(operator.index)
def _op_index(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    value = domain.read(args[0])
    if isinstance(value, Tensor):
        raise Stop("item", "operator.index()")
    method = domain.special(value, "__index__")
    if method is not None:
        return domain.push(frame, method, [value], {})
    return value if type(value) is SymInt else operator.index(value)


@entry(copy.copy)
def _copy(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    value = domain.read(args[0])
    kind = value.kind if type(value) is Obj else type(value)
    if kind in (list, dict, set, deque, OrderedDict, defaultdict):
        return domain.container_method(frame, value, "copy", [], {})
    if kind in PLAIN or kind in (tuple, frozenset):
        return value
    raise Stop("opaque-call", "copy.copy")


@entry(copy.deepcopy)
def _deepcopy(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    value = domain.settle(args[0])
    if len(args) == 1 and not domain.symbolic(value) and not is_symbolic(value):
        return copy.deepcopy(value)
    raise Stop("opaque-call", "copy.deepcopy")


def _functions_made(domain: Any, cls: type) -> None:
    """Note the functions that native code made for a class: they are no part of what existed before."""
    for value in vars(cls).values():
        inner = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if type(inner) is FunctionType and id(inner) not in domain.world.memo:
            domain.made_natively[id(inner)] = inner


@entry(namedtuple)
def _namedtuple(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    made = domain.pure(namedtuple, args, kwargs)
    domain.made_classes[id(made)] = made
    _functions_made(domain, made)
    return made


@entry(dataclasses.dataclass)
def _dataclass(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    """The decorator runs natively on a class that was made inside."""
    options = {k: domain.plain(v, "dataclass") for k, v in kwargs.items()}
    if not args or domain.read(args[0]) is None:
        return functools.partial(dataclasses.dataclass, **options)
    cls = domain.read(args[0])
    if id(cls) not in domain.made_classes:
        raise Stop("class", name_of(cls))
    made = dataclasses.dataclass(**options)(cls)
    domain.made_classes[id(made)] = made
    domain.made_at.setdefault(id(made), domain.made_at.get(id(cls), domain.steps))
    _functions_made(domain, made)
    domain.class_cache.clear()
    return made


@entry(dataclasses.field)
def _field(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return dataclasses.field(**{k: domain.read(v) for k, v in kwargs.items()})


def _question(native: Any) -> Any:
    """A function that asks what kind of object something is."""

    def handler(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
        value = domain.read(args[0])
        if type(value) is Obj:
            domain.world.touch(value)
            value = value.real
        return native(value)

    return handler


for _f in (
    inspect.isclass, inspect.isfunction, inspect.ismethod, inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isbuiltin,
    inspect.isgenerator, inspect.ismodule, inspect.isroutine,
):  # fmt: skip
    HANDLERS[id(_f)] = (_f, _question(_f))


# -- mathematics ------------------------------------------------------------------------------------

for _f in vars(math).values():
    if callable(_f):
        PURE.add(id(_f))
for _f in (ord, chr, hex, oct, bin, ascii, operator.length_hint):
    PURE.add(id(_f))
for _n in (
    "sqrt",
    "exp",
    "log",
    "log2",
    "log10",
    "sin",
    "cos",
    "tan",
    "tanh",
    "floor",
    "ceil",
    "trunc",
    "log1p",
    "expm1",
):
    _f = getattr(math, _n)
    if _n not in ("floor", "ceil", "trunc"):
        SYMBOLIC[id(_f)] = lambda x, *rest, n=_n, f=_f: (
            symbolic_call(f"math.{n}", f, x) if not rest else f(float(x), *rest)
        )


def _from_tensor(native: Any) -> Any:
    def handler(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
        return domain.pure(native, args, kwargs)

    return handler


# -- what ends a graph ------------------------------------------------------------------------------

for _f, _id in (
    (print, "print"), (input, "io"), (open, "io"), (eval, "opaque-call"), (exec, "opaque-call"), (compile, "opaque-call"), (locals, "frames"),
    (dir, "opaque-call"), (breakpoint, "io"), (memoryview, "opaque-call"), (bytearray, "opaque-call"), (bytes, "opaque-call"),
    (builtins.__import__, "import"), (aiter, "coroutine"), (anext, "coroutine"),
):  # fmt: skip
    STOPS[id(_f)] = (_f, _id)

__all__ = ["is_instance", "type_of"]
