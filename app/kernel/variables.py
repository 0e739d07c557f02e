"""What the user's namespace holds, told without running the user's code.

A `__repr__` can be slow, huge, wrong or never end, and it runs in the kernel's only thread: none is ever called.
Values of the built-in types are described here, tensors and arrays by their shape, modules of networks by their
parameters; of everything else the type is named.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from .torch_name import ENGINE

MAX_VARIABLES = 1000
MAX_VALUE = 80
_MAX_ITEMS = 6
_MAX_DEPTH = 3


def list_variables(namespace: Mapping[str, Any], hidden: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Descriptions of the user's variables, by name: dictionaries as `messages.Variables` explains them.

    Left out are modules, names with an underscore in front, and what `hidden` (IPython's own names) holds unchanged.
    """
    found = []
    for name, value in sorted(dict(namespace).items(), key=lambda item: str(item[0])):
        if not isinstance(name, str) or name.startswith("_") or isinstance_exactly(value, ModuleType):
            continue
        if name in hidden and hidden[name] is value:
            continue
        if len(found) == MAX_VARIABLES:
            break
        found.append(describe_variable(name, value))
    return found


def isinstance_exactly(value: Any, kind: type) -> bool:
    """`isinstance` that asks the type, not the object: `__class__` may be a property that misbehaves."""
    return issubclass(type(value), kind)


def describe_variable(name: str, value: Any) -> dict[str, Any]:
    """One entry of the list. Never raises, whatever the value does."""
    entry: dict[str, Any] = {"name": name, "type": type_name(type(value)), "value": ""}
    try:
        if (facts := _tensor_facts(value)) is not None:
            entry.update(facts)
        else:
            entry["value"] = summary(value)
    except Exception as error:
        entry["value"] = f"<cannot be described: {type(error).__name__}>"
    return entry


def type_name(kind: type) -> str:
    """The name of a type, asked of `type` itself: a metaclass may have its own idea of `__name__`."""
    return type.__dict__["__name__"].__get__(kind)


def _module_of(kind: type) -> str:
    module = type.__dict__["__module__"].__get__(kind)
    return module if isinstance(module, str) else ""


def _tensor_facts(value: Any) -> dict[str, Any] | None:
    for package in (sys.modules.get(ENGINE), sys.modules.get("torch")):
        kind = getattr(package, "Tensor", None)
        if isinstance(kind, type) and isinstance_exactly(value, kind):
            shape, dtype = [int(n) for n in value.shape], str(value.dtype).removeprefix("torch.")
            return {
                "value": f"{dtype}[{', '.join(map(str, shape))}]",
                "shape": shape,
                "dtype": dtype,
                "device": str(value.device),
                "bytes": int(math.prod(shape)) * int(value.element_size()),
                "requires_grad": bool(value.requires_grad),
            }
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(value) is numpy.ndarray:
        shape = list(value.shape)
        text = f"{value.dtype.name}[{', '.join(map(str, shape))}]"
        return {"value": text, "shape": shape, "dtype": value.dtype.name, "device": "cpu", "bytes": int(value.nbytes)}
    return None


def summary(value: Any) -> str:
    """A short line about a value: its text for the built-in types, else what can be told without asking it."""
    text = _built_in(value, _MAX_DEPTH)
    if text is None:
        text = _known(value)
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"


def _built_in(value: Any, depth: int) -> str | None:
    kind = type(value)
    if value is None or kind in (bool, float, complex) or value is Ellipsis:
        return repr(value)
    if kind is int:
        bits = value.bit_length()
        return repr(value) if bits <= 256 else f"int of about {int(bits * 0.30103) + 1:,} digits"
    if kind is str or kind is bytes:
        return repr(value) if len(value) <= MAX_VALUE else f"{value[:40]!r}… ({len(value):,} {_unit(kind)})"
    if kind is range or kind is slice:
        parts = [value.start, value.stop, value.step]
        return repr(value) if all(type(p) in (int, type(None)) for p in parts) else kind.__name__
    if kind in (list, tuple, set, frozenset):
        if depth == 0:
            return "…"
        shown = [_item(item, depth) for _, item in zip(range(_MAX_ITEMS), value)]
        return _brackets(kind, shown, len(value))
    if kind is dict:
        if depth == 0:
            return "{…}"
        shown = [f"{_item(k, depth)}: {_item(v, depth)}" for _, (k, v) in zip(range(_MAX_ITEMS), value.items())]
        return "{" + ", ".join(shown) + (f", … {len(value):,} items" if len(value) > _MAX_ITEMS else "") + "}"
    return None


def _unit(kind: type) -> str:
    return "characters" if kind is str else "bytes"


def _item(value: Any, depth: int) -> str:
    text = _built_in(value, depth - 1)
    if text is None:
        facts = _tensor_facts(value)
        text = facts["value"] if facts is not None else f"<{type_name(type(value))}>"
    return text if len(text) <= 40 else text[:39] + "…"


def _brackets(kind: type, shown: list[str], length: int) -> str:
    inside = ", ".join(shown) + (f", … {length:,} items" if length > len(shown) else "")
    if kind is list:
        return f"[{inside}]"
    if kind is tuple:
        return f"({inside},)" if length == 1 else f"({inside})"
    if length == 0:
        return f"{kind.__name__}()"
    return f"{{{inside}}}" if kind is set else f"frozenset({{{inside}}})"


def _known(value: Any) -> str:
    kind = type(value)
    if kind in (FunctionType, BuiltinFunctionType):
        return f"function {value.__name__}"
    if issubclass(kind, type):
        return f"class {type_name(value)}"
    if issubclass(kind, BaseException):
        return f"{type_name(kind)} (an exception)"
    if _module_of(kind).startswith(f"{ENGINE}.") and type_name(kind) in ("device", "dtype", "Size"):
        return str(value)
    if _module_of(kind).partition(".")[0] in ("pandas", "polars") and type_name(kind) in ("DataFrame", "Series"):
        return f"{type_name(kind)} of {' x '.join(str(n) for n in value.shape)}"
    network = _network(value)
    return network if network is not None else f"<{type_name(kind)}>"


def _network(value: Any) -> str | None:
    """Of a `nn.Module`: how many parameters it has."""
    for package in (sys.modules.get(f"{ENGINE}.nn"), sys.modules.get("torch.nn")):
        kind = getattr(package, "Module", None)
        if isinstance(kind, type) and isinstance_exactly(value, kind):
            # The base class's own method: a subclass may have overridden `parameters`.
            count = sum(math.prod(int(n) for n in p.shape) for p in kind.parameters(value))
            return f"{type_name(type(value))} with {count:,} parameters"
    return None
