"""Arguments into slots, as CPython binds them, for any signature.

Values are only moved, so that every domain can use it.  Where a call does not fit, CPython itself says what is wrong:
an empty function with the same signature is called with the same arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

from .frame import UNBOUND


class Mismatch(Exception):
    """The arguments do not fit the signature; `complain` raises the TypeError for it."""


def bind(
    code: CodeType,
    slots: int,
    defaults: Sequence[Any] | None,
    kwdefaults: Mapping[str, Any] | None,
    args: list[Any],
    kwargs: dict[str, Any],
    make_tuple: Callable[[list[Any]], Any] = tuple,
    make_dict: Callable[[dict[str, Any]], Any] = dict,
) -> list[Any]:
    """The `slots` slots of a frame of `code`, arguments filled in, the others `UNBOUND`.

    `make_tuple`, `make_dict` make the values of `*args` and `**kwargs`.  Raises `Mismatch`.
    """
    count, keyword_only, flags = code.co_argcount, code.co_kwonlyargcount, code.co_flags
    given = len(args)
    varargs = flags & inspect.CO_VARARGS
    if given == count and not kwargs and not keyword_only and not flags & inspect.CO_VARKEYWORDS and not varargs:
        return args + [UNBOUND] * (slots - count)
    result = [UNBOUND] * slots
    total = count + keyword_only
    if given > count:
        if not varargs:
            raise Mismatch
        result[:count] = args[:count]
        result[total] = make_tuple(args[count:])
    else:
        result[:given] = args
        if varargs:
            result[total] = make_tuple([])
    names = code.co_varnames
    if kwargs:
        rest: dict[str, Any] = {}
        keywords = {name: i for i, name in enumerate(names[code.co_posonlyargcount : total], code.co_posonlyargcount)}
        for name, value in kwargs.items():
            slot = keywords.get(name)
            if slot is None:
                rest[name] = value
            elif result[slot] is not UNBOUND:
                raise Mismatch
            else:
                result[slot] = value
        if rest and not flags & inspect.CO_VARKEYWORDS:
            raise Mismatch
        kwargs = rest
    if flags & inspect.CO_VARKEYWORDS:
        result[total + bool(varargs)] = make_dict(kwargs)
    if given < count:
        start = count - len(defaults or ())
        for slot in range(given, count):
            if result[slot] is UNBOUND:
                if slot < start or defaults is None:
                    raise Mismatch
                result[slot] = defaults[slot - start]
    for slot in range(count, total):
        if result[slot] is UNBOUND:
            if not kwdefaults or names[slot] not in kwdefaults:
                raise Mismatch
            result[slot] = kwdefaults[names[slot]]
    return result


def _nothing() -> None:
    return None


def complain(function: FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raise CPython's TypeError for arguments that do not fit `function`."""
    code = function.__code__
    names = code.co_argcount + code.co_kwonlyargcount
    names += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    empty = _nothing.__code__.replace(
        co_argcount=code.co_argcount,
        co_posonlyargcount=code.co_posonlyargcount,
        co_kwonlyargcount=code.co_kwonlyargcount,
        co_nlocals=names,
        co_varnames=code.co_varnames[:names],
        co_flags=_nothing.__code__.co_flags | code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS),
        co_name=code.co_name,
        co_qualname=code.co_qualname,
    )
    stub = FunctionType(empty, {}, function.__name__, function.__defaults__)
    stub.__kwdefaults__ = function.__kwdefaults__
    stub.__qualname__ = function.__qualname__
    stub(*args, **kwargs)
    raise TypeError(f"{function.__qualname__}() was called with arguments that do not fit its signature")
