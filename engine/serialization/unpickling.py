"""Reading the pickle of a `.pt` file: without executing anything the file brings along, or, where the user asks, as pickle does.

The safe reader interprets the few opcodes that tensors and containers need and calls only what is on the allow-list; everything else
is an UnpicklingError that says what was found and what to do about it.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from .names import STORAGE_DTYPES, Name, find

_BUILTINS = {"set": set, "bytearray": bytearray, "complex": complex}
_PLAIN: dict[Name, Any] = {
    Name("collections", "OrderedDict"): OrderedDict,
    Name("collections", "Counter"): Counter,
    Name("_codecs", "encode"): lambda text, encoding="latin1": text.encode(encoding),
    **{Name(m, n): v for m in ("__builtin__", "builtins") for n, v in _BUILTINS.items()},
}
_ADVICE = (
    "Weights only load failed. torch.load reads tensors, plain containers and what is on its allow-list, and runs nothing that a file "
    "brings along. If you trust the source of this file, load it with weights_only=False, which can execute code from it. "
)
user_safe: dict[Name, Any] = {}
"""What the user allowed with `add_safe_globals`."""
_SAFE_TORCH = ("torch._utils", "torch._tensor", "torch", "torch.nn.parameter", "torch.storage", "torch.serialization")


def refuse(what: str) -> pickle.UnpicklingError:
    """The error for something that is not read by default."""
    return pickle.UnpicklingError(_ADVICE + "WeightsUnpickler error: " + what)


def _allowed(name: Name) -> Any:
    if name in user_safe:
        return user_safe[name]
    if name in _PLAIN:
        return _PLAIN[name]
    if name.module in _SAFE_TORCH:
        found = find(name)
        if found is not None:
            return found
    raise refuse(
        f"Unsupported global: GLOBAL {name} was not an allowed global by default. Please use `torch.serialization.add_safe_globals([{name}])` "
        f"or the `torch.serialization.safe_globals([{name}])` context manager to allowlist this global if you trust this class/function."
    )


class SafeUnpickler:
    """A machine for the opcodes of plain data. `persistent` turns a persistent id into a storage."""

    def __init__(self, data: bytes, persistent: Callable[[Any], Any], encoding: str = "utf-8"):
        self.data = data
        self.persistent = persistent
        self.encoding = encoding
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def load(self) -> Any:
        """The object; raises UnpicklingError for what is not allowed or no pickle."""
        try:
            for op, argument, _ in pickletools.genops(self.data):
                step = _STEPS.get(op.name)
                if step is None:
                    raise refuse(f"Unsupported operand {op.name} ({ord(op.code)})")
                if op.name == "STOP":
                    return self.stack.pop()
                step(self, argument)
        except (pickle.UnpicklingError, RuntimeError):
            raise
        except Exception as error:
            raise pickle.UnpicklingError(f"the file's pickle is damaged: {type(error).__name__}: {error}") from error
        raise pickle.UnpicklingError("the file's pickle is cut off")

    def pop_mark(self) -> list[Any]:
        items = self.stack
        self.stack = self.marks.pop()
        return items

    def reduce(self, function: Any, args: Any) -> Any:
        if isinstance(function, Name) or not callable(function) or not isinstance(args, tuple):
            raise refuse(f"Trying to call {function!r}, which is no function")
        return function(*args)

    def build(self) -> None:
        state = self.stack.pop()
        obj = self.stack[-1]
        kind = type(obj)
        if kind is OrderedDict:
            obj.__dict__.update(state if isinstance(state, dict) else state[0])
        elif kind in user_safe.values():
            if hasattr(obj, "__setstate__"):
                obj.__setstate__(state)
            else:
                obj.__dict__.update(state)
        else:
            raise refuse(
                f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got {kind}"
            )

    def new(self) -> None:
        args, kind = self.stack.pop(), self.stack.pop()
        if kind not in (set, OrderedDict, Counter, *user_safe.values()):
            raise refuse(f"Trying to make an instance of {kind}, which is not allowed")
        make: Any = kind
        self.stack.append(make.__new__(make, *args))

    def set_items(self, pairs: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise refuse(f"Trying to set items of a {type(target).__name__}")
        for i in range(0, len(pairs), 2):
            target[pairs[i]] = pairs[i + 1]

    def append(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not list:
            raise refuse(f"Can only append to lists, but got {type(target)}")
        target.extend(items)

    def add_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not set:
            raise refuse(f"Can only add to sets, but got {type(target)}")
        target.update(items)

    def global_(self, spelled: str) -> None:
        module, attribute = spelled.split(" ", 1)
        self.stack.append(_allowed(Name(module, attribute)))

    def stack_global(self) -> None:
        attribute, module = self.stack.pop(), self.stack.pop()
        if not isinstance(attribute, str) or not isinstance(module, str):
            raise refuse("a global whose name is no text")
        self.stack.append(_allowed(Name(module, attribute)))

    def put(self, at: int) -> None:
        self.memo[at] = self.stack[-1]

    def call(self) -> None:
        args = self.stack.pop()
        self.stack.append(self.reduce(self.stack.pop(), args))


def _push(self: SafeUnpickler, value: Any) -> None:
    self.stack.append(value)


def _mark(self: SafeUnpickler, _: Any) -> None:
    self.marks.append(self.stack)
    self.stack = []


def _tuple(count: int) -> Callable[[SafeUnpickler, Any], None]:
    def step(self: SafeUnpickler, _: Any) -> None:
        items = tuple(self.stack[len(self.stack) - count :]) if count else ()
        if count:
            del self.stack[-count:]
        self.stack.append(items)

    return step


def _marked(make: Callable[[list[Any]], Any]) -> Callable[[SafeUnpickler, Any], None]:
    def step(self: SafeUnpickler, _: Any) -> None:
        items = self.pop_mark()
        self.stack.append(make(items))

    return step


def _latin(self: SafeUnpickler, value: Any) -> None:
    self.stack.append(value if isinstance(value, str) else value.decode(self.encoding))


_STEPS: dict[str, Callable[[SafeUnpickler, Any], Any]] = {
    "PROTO": lambda self, v: None, "FRAME": lambda self, v: None, "STOP": lambda self, v: None,
    "NONE": lambda self, _: self.stack.append(None), "NEWTRUE": lambda self, _: self.stack.append(True),
    "NEWFALSE": lambda self, _: self.stack.append(False),
    **dict.fromkeys(("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"), _push),
    **dict.fromkeys(("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"), _push),
    **dict.fromkeys(("STRING", "BINSTRING", "SHORT_BINSTRING"), _latin),
    "MARK": _mark, "EMPTY_TUPLE": _tuple(0), "TUPLE1": _tuple(1), "TUPLE2": _tuple(2), "TUPLE3": _tuple(3), "TUPLE": _marked(tuple),
    "EMPTY_LIST": lambda self, _: self.stack.append([]), "LIST": _marked(list),
    "EMPTY_DICT": lambda self, _: self.stack.append({}), "EMPTY_SET": lambda self, _: self.stack.append(set()),
    "DICT": _marked(lambda items: dict(zip(items[::2], items[1::2], strict=True))), "FROZENSET": _marked(frozenset),
    "APPEND": lambda self, _: self.append([self.stack.pop()]), "APPENDS": lambda self, _: self.append(self.pop_mark()),
    "SETITEM": lambda self, _: self.set_items([v for v in (self.stack.pop(), self.stack.pop())][::-1]),
    "SETITEMS": lambda self, _: self.set_items(self.pop_mark()), "ADDITEMS": lambda self, _: self.add_items(self.pop_mark()),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), lambda self, at: self.put(at)),
    "MEMOIZE": lambda self, _: self.put(len(self.memo)),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), lambda self, at: self.stack.append(self.memo[at])),
    "GLOBAL": lambda self, v: self.global_(v), "STACK_GLOBAL": lambda self, _: self.stack_global(),
    "REDUCE": lambda self, _: self.call(), "NEWOBJ": lambda self, _: self.new(), "BUILD": lambda self, _: self.build(),
    "BINPERSID": lambda self, _: self.stack.append(self.persistent(self.stack.pop())),
    "POP": lambda self, _: self.stack.pop(), "POP_MARK": lambda self, _: self.pop_mark(), "DUP": lambda self, _: self.stack.append(self.stack[-1]),
}  # fmt: skip


class TrustingUnpickler(pickle.Unpickler):
    """pickle's own reader, with PyTorch's names found here. It can execute code from the file."""

    def __init__(self, data: bytes, persistent: Callable[[Any], Any], encoding: str = "utf-8"):
        super().__init__(io.BytesIO(data), encoding=encoding)
        self._persistent = persistent

    def find_class(self, module: str, name: str) -> Any:
        found = find(Name(module, name))
        return found if found is not None else super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        return self._persistent(pid)


def storage_dtype(name: Any) -> str:
    """The dtype of a storage class as a file spells it; raises UnpicklingError for others."""
    if isinstance(name, Name) and name in STORAGE_DTYPES:
        return STORAGE_DTYPES[name]
    raise pickle.UnpicklingError(f"the file names a storage of unknown type {name!r}")
