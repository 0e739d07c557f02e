"""Functions and classes of Python's library while capturing: one entry each, as in `builtins_table.py`."""

from __future__ import annotations

import collections
import contextlib
import functools
import heapq
import operator
import sys
from typing import Any

from ..interpreter.frame import Frame
from . import equivalents
from .entries import entry
from .stops import Stop
from .tables import HANDLERS, NATIVE_CALLS, OBJECT_CALLS

# -- written in C, interpreted as Python ----------------------------------------------------------


def _in_python(function: Any) -> Any:
    def handler(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
        return domain.push(frame, function, args, kwargs)

    return handler


for _native, _python in (
    (getattr(collections, "_count_elements", None), equivalents.count_elements), (heapq.heappush, equivalents.heappush),
    (heapq.heappop, equivalents.heappop), (heapq.heapreplace, equivalents.heapreplace), (heapq.heappushpop, equivalents.heappushpop),
    (heapq.heapify, equivalents.heapify),
):  # fmt: skip
    if _native is not None:
        HANDLERS[id(_native)] = (_native, _in_python(_python))


@entry(functools.cmp_to_key)
def _cmp_to_key(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    (f,) = args or kwargs.values()
    return functools.partial(equivalents.Compared, domain.read(f))


# -- functions that are objects -------------------------------------------------------------------


def _made(kind: Any) -> Any:
    def handler(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
        return kind(
            *[domain.plain(a, kind.__name__) for a in args], **{k: domain.plain(v, k) for k, v in kwargs.items()}
        )

    return handler


def _item(domain: Any, frame: Frame, f: Any, args: list[Any], kwargs: Any) -> Any:
    """`itemgetter(...)(value)`."""
    keys, (value,) = f.__reduce__()[1], args
    if len(keys) == 1:
        return domain.getitem(frame, value, keys[0])
    return tuple([domain.nested_value(frame, domain.getitem(frame, value, k)) for k in keys])


def _attribute(domain: Any, frame: Frame, f: Any, args: list[Any], kwargs: Any) -> Any:
    """`attrgetter(...)(value)`."""
    names, (value,) = f.__reduce__()[1], args

    def get(path: str) -> Any:
        out = value
        for name in path.split("."):
            out = domain.nested_value(frame, domain.load_attr(frame, out, name))
        return out

    return get(names[0]) if len(names) == 1 else tuple([get(n) for n in names])


def _method(domain: Any, frame: Frame, f: Any, args: list[Any], kwargs: Any) -> Any:
    """`methodcaller(...)(value)`."""
    make, parts = f.__reduce__()[:2]
    words = getattr(make, "keywords", {})
    name, *given = (*getattr(make, "args", ()), *parts)
    method = domain.nested_value(frame, domain.load_attr(frame, args[0], name))
    return domain.call(frame, method, given, dict(words))


for _kind, _call in ((operator.itemgetter, _item), (operator.attrgetter, _attribute), (operator.methodcaller, _method)):
    HANDLERS[id(_kind)] = (_kind, _made(_kind))
    NATIVE_CALLS[_kind] = _call

    def _of_object(domain: Any, frame: Frame, obj: Any, args: list[Any], kwargs: Any, call: Any = _call) -> Any:
        domain.world.guards.is_(obj.source, obj.real, "which function it is")
        return call(domain, frame, obj.real, args, kwargs)

    OBJECT_CALLS[_kind] = _of_object


# -- contexts -------------------------------------------------------------------------------------


@entry(sys.exc_info)
def _exc_info(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    """Asked by `contextlib.ExitStack`; the traceback of an exception that is handled is not there while capturing."""
    handled = frame.topmost_handled()
    if handled is None:
        return None, None, None
    if frame.globals is not contextlib.__dict__:
        raise Stop("frames", "sys.exc_info")
    return type(handled), handled, None


@entry(sys.exception)
def _exception(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return frame.topmost_handled()


__all__ = ["Stop"]
