"""The names of scripting. There is no second language here: a scripted function is the Python function, with its source to look at."""

from __future__ import annotations

import functools
import inspect
import textwrap
import typing
from collections.abc import Callable
from typing import Any, Final

from ..nn.module import Module
from .state import is_tracing as is_tracing


class ScriptFunction:
    """A function that `script` was given. `code` is its source."""

    def __init__(self, function: Callable[..., Any]):
        functools.update_wrapper(self, function)
        self.function = function
        self.name = getattr(function, "__name__", "function")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else functools.partial(self.function, owner)

    @property
    def code(self) -> str:
        """The source of the function."""
        return source(self.function)

    @property
    def inlined_graph(self) -> Any:
        """Not there: a scripted function is no graph; `trace` makes one."""
        raise AttributeError(
            "a scripted function is Python, not a graph; torch.jit.trace(function, example_inputs) makes a graph"
        )

    graph = inlined_graph

    def save(self, f: Any, **unused: Any) -> None:
        """Raises RuntimeError: what is kept in files is a graph, which needs example inputs."""
        raise RuntimeError(
            "a scripted function is Python and cannot be kept in a file; save torch.jit.trace(function, example_inputs), or a state_dict"
        )


def source(function: Any) -> str:
    """The source of a function, or a sentence where there is none."""
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return f"# the source of {getattr(function, '__name__', 'this function')} is not known\n"


class ScriptModule(Module):
    """A module that `script` was given, as one with the same parameters, buffers, submodules, attributes and methods."""

    def __init__(self, module: Module | None = None):
        super().__init__()
        self.__dict__["_original"] = module
        if module is not None:
            for store in ("_parameters", "_buffers", "_modules"):
                self.__dict__[store] = module.__dict__[store]
            self.training = module.training

    @property
    def original_name(self) -> str:
        """The name of the class of the module."""
        return type(self.__dict__["_original"]).__name__

    def _get_name(self) -> str:
        return "RecursiveScriptModule"

    def extra_repr(self) -> str:
        """The name of the module that was scripted."""
        return f"original_name={self.original_name}"

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            original = self.__dict__.get("_original")
            if original is None:
                raise
            return getattr(original, name)

    def train(self, mode: bool = True) -> Any:
        """Training or evaluation, of the module itself."""
        self.__dict__["_original"].train(mode)
        return super().train(mode)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own."""
        return self.__dict__["_original"](*args, **kwargs)

    @property
    def code(self) -> str:
        """The source of the module's `forward`."""
        return source(type(self.__dict__["_original"]).forward)

    def save(self, f: Any, **unused: Any) -> None:
        """Raises RuntimeError, as `ScriptFunction.save` does."""
        raise RuntimeError(
            "a scripted module is Python and cannot be kept in a file; save torch.jit.trace(module, example_inputs), or its state_dict"
        )


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """What behaves as `obj` (a function, a module or a class), with its source as `code`. Raises TypeError for anything else."""
    if isinstance(obj, (ScriptFunction, ScriptModule)):
        return obj
    if isinstance_(obj, Module):
        return ScriptModule(obj)
    if inspect.isclass(obj):
        return obj
    if callable(obj):
        return ScriptFunction(obj)
    raise TypeError(f"torch.jit.script takes a function, a module or a class, not {type(obj).__name__}")


isinstance_ = isinstance


def is_scripting() -> bool:
    """False: everything runs as Python."""
    return False


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself."""
    return fn


def export(fn: Any) -> Any:
    """The method itself."""
    return fn


def ignore(drop: Any = False, **unused: Any) -> Any:
    """The function itself; also a decorator with arguments."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn: Any) -> Any:
    """The function itself."""
    return fn


def interface(obj: Any) -> Any:
    """The class itself."""
    return obj


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value."""
    return the_value


class Attribute(typing.NamedTuple):
    """A value with its type."""

    value: Any
    type: Any


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value is of a type (or of one of a tuple of types); of generic ones the outer type counts."""
    types = target_type if isinstance_(target_type, tuple) else (target_type,)
    return any(isinstance_(obj, typing.get_origin(t) or t) for t in types)


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """The module itself. Raises RuntimeError for one in training mode."""
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before freezing."
        )
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The module itself."""
    return mod


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Runs the function at once; `wait` gives its result."""
    from ..futures import Future

    done: Any = Future()
    done.set_result(func(*args, **kwargs))
    return done


def wait(future: Any) -> Any:
    """The result of what `fork` began."""
    return future.wait()


def set_fusion_strategy(strategy: Any) -> Any:
    """Accepted and without effect."""
    return strategy


class strict_fusion:
    """A context without effect."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


__all__ = ["Attribute", "Final", "ScriptFunction", "ScriptModule", "script"]
