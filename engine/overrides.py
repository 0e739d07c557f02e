"""`torch.overrides`: functions of the surface that hand themselves over to an argument's `__torch_function__`, or to a mode.

Nothing of this costs anything until it is wanted. The first tensor class that a user derives, the first mode entered or
the first call of `install` puts a *front* before every operator function in the namespaces and on `Tensor`; until then
those places hold the operators themselves. Which functions there are is read from the operator table; none is named here.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from .ops.table import FUNCTIONS
from .tensor import Tensor

Handler = Callable[..., Any]


class _State(threading.local):
    """What is switched on in this thread."""

    modes: tuple[TorchFunctionMode, ...] = ()
    subclasses = True  # whether `__torch_function__` of tensor classes is asked
    inside = 0  # how many fronts have been passed: what an operator calls itself is no call of the user's


_state = _State()
_fronts: dict[Any, Callable[..., Any]] = {}
_originals: dict[Any, Callable[..., Any]] = {}
_installed = False


class TorchFunctionMode:
    """`with mode:` sends every function of the surface through the mode's `__torch_function__(func, types, args, kwargs)`.

    While that runs the mode is off, so that it can call `func` itself::

        class Count(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                print(func.__name__)
                return func(*args, **(kwargs or {}))
    """

    def __torch_function__(
        self, func: Handler, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        raise NotImplementedError(
            "a TorchFunctionMode needs a method __torch_function__(self, func, types, args, kwargs)"
        )

    def __enter__(self) -> TorchFunctionMode:
        install()
        _state.modes = (*_state.modes, self)
        return self

    def __exit__(self, *error: object) -> None:
        _state.modes = _state.modes[:-1]


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(
        self, func: Handler, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


class DisableTorchFunctionSubclass:
    """`with DisableTorchFunctionSubclass():` functions do not ask tensor classes for their `__torch_function__`."""

    def __enter__(self) -> None:
        self._before, _state.subclasses = _state.subclasses, False

    def __exit__(self, *error: object) -> None:
        _state.subclasses = self._before


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Neither tensor classes nor modes are asked."""

    def __enter__(self) -> None:
        super().__enter__()
        self._modes, _state.modes = _state.modes, ()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        _state.modes = self._modes


def tensor_default(
    cls: type[Tensor], func: Handler, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """What `Tensor.__torch_function__` does: run `func`, and give its tensors the class `cls`."""
    if not all(issubclass(cls, t) for t in types) or not _state.subclasses:
        return NotImplemented  # asked again by the same call: `func` is another library's, which does not know these tensors
    with DisableTorchFunctionSubclass():
        out = func(*args, **(kwargs or {}))
    return out if cls in _plain_classes() or getattr(func, "__name__", "") in _KEEPS else _converted(out, cls)


_KEEPS = {"detach_", "requires_grad_", "data", "grad", "backward"}


def _converted(out: Any, cls: type[Tensor]) -> Any:
    if isinstance(out, Tensor):
        return out.as_subclass(cls) if type(out) is Tensor else out
    if type(out) in (tuple, list):
        return type(out)(_converted(o, cls) for o in out)
    return out


@functools.cache
def _plain_classes() -> tuple[type, ...]:
    from .nn.parameter import Buffer, Parameter

    return (Tensor, Parameter, Buffer)


def installed() -> bool:
    """Whether fronts stand before the functions of the surface."""
    return _installed


def modes() -> bool:
    """Whether a mode is on in this thread."""
    return _installed and bool(_state.modes)


def asks(kind: type) -> bool:
    """Whether functions called with objects of a type are handed over to its `__torch_function__`."""
    return kind is not Tensor and not _default(kind) and getattr(kind, "__torch_function__", None) is not disabled


def _default(kind: type) -> bool:
    """Whether objects of a type leave functions alone."""
    if not issubclass(kind, Tensor):
        return not hasattr(kind, "__torch_function__")
    return kind in _plain_classes()


def overloaded(args: Iterable[Any]) -> list[Any]:
    """The arguments (looked for one list deep) whose types want to handle functions, a class before those it derives from."""
    found: list[Any] = []
    seen: set[type] = set()

    def look(value: Any) -> None:
        kind = type(value)
        if kind is Tensor or kind in seen or not asks(kind):
            return
        seen.add(kind)
        for i, other in enumerate(found):
            if issubclass(kind, type(other)):
                found.insert(i, value)
                return
        found.append(value)

    for a in args:
        if type(a) in (tuple, list):
            for b in a:
                look(b)
        else:
            look(a)
    return found


def disabled(func: Handler, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
    """A `__torch_function__` for classes that do not want to be asked: `__torch_function__ = torch._C._disabled_torch_function_impl`."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def handle_torch_function(public_api: Handler, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Ask the relevant arguments, in order, to handle a function. Raises TypeError where none does."""
    found = overloaded(relevant_args)
    types = tuple(type(a) for a in found)
    if _state.modes:
        mode, before = _state.modes[-1], _state.modes
        _state.modes = before[:-1]
        try:
            out = mode.__torch_function__(public_api, types, args, kwargs)
        finally:
            _state.modes = before
        if out is not NotImplemented:
            return out
    for a in found:
        out = type(a).__torch_function__(public_api, types, args, kwargs)
        if out is not NotImplemented:
            return out
    raise TypeError(
        f"no implementation found for '{_label(public_api)}' on types that implement __torch_function__: "
        f"{[t.__name__ for t in types]}"
    )


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a function called with these would be handed over."""
    return bool(_state.modes) or (_state.subclasses and bool(overloaded(relevant_args)))


def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function` of one argument."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of several arguments."""
    return has_torch_function(args)


def is_tensor_like(value: Any) -> bool:
    """Whether a value is a tensor or handles functions as one."""
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def is_tensor_method_or_property(func: Handler) -> bool:
    """Whether a function stands on `Tensor` (rather than in a namespace alone)."""
    return func in get_overridable_functions()[Tensor]


def get_overridable_functions() -> dict[Any, list[Handler]]:
    """The functions that ask for overrides, by the namespace (or class) they stand in."""
    install()
    out: dict[Any, list[Handler]] = {}
    for place, _, front in _places():
        out.setdefault(place, []).append(front)
    return out


def resolve_name(func: Handler) -> str:
    """The dotted name of a function, "torch.Tensor.add"."""
    for place, label, front in _places():
        if front is func:
            return f"{_place_name(place)}.{label}"
    return _label(func)


def _place_name(place: Any) -> str:
    if place is Tensor:
        return "torch.Tensor"
    return place.__name__.replace(__package__ or "", "torch", 1)


def _label(func: Handler) -> str:
    return f"{getattr(func, '__module__', '')}.{getattr(func, '__name__', func)}"


def original(function: Any) -> Any:
    """The operator behind a front; any other value as it is."""
    try:
        return _originals.get(function, function)
    except TypeError:  # unhashable
        return function


def front(function: Callable[..., Any], label: str) -> Callable[..., Any]:
    """`function`, which asks modes and classes first. The same front for the same function, always."""
    found = _fronts.get(function)
    if found is not None:
        return found

    @functools.wraps(function)
    def asking(*args: Any, **kwargs: Any) -> Any:
        if not _state.inside:
            values = (*args, *kwargs.values()) if kwargs else args
            if _state.modes or (_state.subclasses and overloaded(values)):
                return handle_torch_function(asking, values, *args, **kwargs)
        _state.inside += 1
        try:
            return function(*args, **kwargs)
        finally:
            _state.inside -= 1

    asking.__name__ = label
    _fronts[function] = asking
    _originals[asking] = function
    return asking


def _property(found: property, label: str) -> property:
    def get(self: Tensor) -> Any:
        if not _state.inside and (_state.modes or (_state.subclasses and overloaded((self,)))):
            return handle_torch_function(getter, (self,), self)
        return found.fget(self)  # type: ignore[misc]

    getter = get
    getter.__name__ = label
    return property(get, found.fset, found.fdel, found.__doc__)


def _places() -> Iterable[tuple[Any, str, Any]]:
    """Where operator functions stand: namespace or class, name, what stands there."""
    package = __package__ or ""
    home = sys.modules[package]
    for entry in list(FUNCTIONS.values()):
        for label in (entry.name, *entry.aliases):
            for space in entry.spaces:
                module = home if space == "torch" else sys.modules.get(f"{package}.{space}")
                if module is not None:
                    for name in (label, label + "_"):
                        if name in vars(module):
                            yield module, name, vars(module)[name]
            if entry.method:
                for name in (label, label + "_"):
                    if name in Tensor.__dict__:
                        yield Tensor, name, Tensor.__dict__[name]
    from .ops.creation import METHODS
    from .ops.dunders import DUNDERS

    for creators in _creators():
        for function in creators:
            name = function.__name__
            if name in vars(home):
                yield home, name, vars(home)[name]
    for name in (*METHODS, *DUNDERS, "__getitem__", "__setitem__", "detach", "backward", "__len__"):
        if name != "__hash__" and name in Tensor.__dict__:
            yield Tensor, name, Tensor.__dict__[name]


def _creators() -> tuple[Any, ...]:
    from .ops import creation, random

    return creation.CREATORS, random.CREATORS


_PUBLIC = {
    "__add__": "add", "__radd__": "add", "__iadd__": "add_", "__sub__": "sub", "__isub__": "sub_", "__mul__": "mul", "__rmul__": "mul",
    "__imul__": "mul_", "__truediv__": "div", "__itruediv__": "div_", "__matmul__": "matmul", "__neg__": "neg", "__abs__": "abs",
    "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__invert__": "bitwise_not",
}  # fmt: skip
"""What PyTorch calls the functions behind Python's operators."""


def install() -> None:
    """Put fronts before the functions of the surface. Once is enough; later calls do nothing."""
    global _installed
    if _installed:
        return
    _installed = True
    for place, label, found in list(_places()):
        if isinstance(found, property):
            setattr(place, label, _property(found, label))
        elif callable(found) and found not in _originals:
            setattr(place, label, front(found, _PUBLIC.get(label, label)))


def watch(cls: type[Tensor]) -> None:
    """Called for every class derived from Tensor: one from outside of the engine makes functions ask for overrides."""
    if not cls.__module__.startswith((__package__ or "") + "."):
        install()
