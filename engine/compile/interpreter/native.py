"""Small native functions, made on demand, that do one thing exactly as CPython does it, messages and all.

Unpacking, class patterns and imports have many rules and messages that differ between versions; compiling the
statement itself and running it natively on given values is right by construction.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .tracebacks import INTERNAL


def _define(text: str, name: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {}
    exec(compile(text, INTERNAL, "exec"), namespace)
    return namespace[name]


@functools.cache
def unpacker(count: int) -> Callable[[Any], list[Any]]:
    """`a, b, c = value` as a function that answers the list of the items."""
    names = ", ".join(f"v{i}" for i in range(count))
    target = f"[{names}]"
    return _define(f"def unpack(value):\n    {target} = value\n    return {target}", "unpack")


@functools.cache
def star_unpacker(before: int, after: int) -> Callable[[Any], list[Any]]:
    """`a, *b, c = value` as a function that answers [a, [..], c]."""
    first = [f"a{i}" for i in range(before)]
    last = [f"b{i}" for i in range(after)]
    target = ", ".join([*first, "*rest", *last])
    answer = ", ".join([*first, "rest", *last])
    return _define(f"def unpack(value):\n    [{target}] = value\n    return [{answer}]", "unpack")


@functools.cache
def class_matcher(count: int, names: tuple[str, ...]) -> Callable[[Any, Any], tuple[Any, ...] | None]:
    """`case cls(p0, p1, name=k0):` as a function of (subject, cls) that answers what the patterns get, or None."""
    first = [f"p{i}" for i in range(count)]
    named = [f"k{i}" for i in range(len(names))]
    patterns = ", ".join([*first, *(f"{name}={target}" for name, target in zip(names, named))])
    answer = "".join(f"{name}, " for name in [*first, *named])
    text = (
        f"def match(subject, cls):\n    match subject:\n        case cls({patterns}):\n            return ({answer})\n"
    )
    return _define(text, "match")


is_sequence: Callable[[Any], bool] = _define(
    "def test(subject):\n    match subject:\n        case [*_]:\n            return True\n    return False\n", "test"
)
"""Whether a sequence pattern looks at it."""

is_mapping: Callable[[Any], bool] = _define(
    "def test(subject):\n    match subject:\n        case {}:\n            return True\n    return False\n", "test"
)
"""Whether a mapping pattern looks at it."""


def import_from(module: Any, name: str) -> Any:
    """`from module import name` for a module that is there already."""
    namespace: dict[str, Any] = {"__builtins__": {"__import__": lambda *rest: module}}
    exec(_import_code(name), namespace)
    return namespace["value"]


@functools.lru_cache(maxsize=512)
def _import_code(name: str) -> Any:
    return compile(f"from module import {name} as value", INTERNAL, "exec")


def import_star(module: Any, names: Any) -> None:
    """`from module import *` into a mapping."""
    exec("from module import *", {"__builtins__": {"__import__": lambda *rest: module}}, names)
