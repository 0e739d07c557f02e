"""Compiled modules: an object that is the module in everything but its call."""

from __future__ import annotations

import threading
from typing import Any

from ...nn import module_hooks
from ...nn.module import Module
from ...state import state as engine_state
from .entries import entry
from .runtime import Compiled, Options, _off


def plain_call(module: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The call of a module as it was before `module.compile()`."""
    call = module.__dict__.get("_compiled_call")
    if call is not None:
        call.local.native = True
    return type(module).__call__(module, *args, **kwargs)


@entry(plain_call)
def _plain_call(domain: Any, frame: Any, args: list[Any], kwargs: Any) -> Any:
    module = domain.read(args[0])
    if type(module).__name__ == "Obj":
        return domain.call_obj(frame, module, list(args[1:]), kwargs)
    return domain.call_module(frame, module, list(args[1:]), kwargs)


def _call_module(module: Any, /, *args: Any, **kwargs: Any) -> Any:
    return plain_call(module, *args, **kwargs)


class _Native(threading.local):
    """Whether the next call of a module compiled in place is a plain one."""

    native = False


class ModuleCall:
    """The compiled call of one module: its `forward` where no hooks are in the way, else the call as a whole."""

    def __init__(self, module: Module, options: Options) -> None:
        self.module, self.options = module, options
        self.forward: Compiled | None = None
        self.whole: Compiled | None = None
        self.local = _Native()

    def passes(self) -> bool:
        """Whether this call is the module's own; the next one is not."""
        passing, self.local.native = self.local.native, False
        return passing

    def __deepcopy__(self, memo: Any) -> None:
        return None

    def __reduce__(self) -> Any:
        return (type(None), ())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        m = self.module
        if _off.depth or engine_state.fakes is not None:
            return plain_call(m, *args, **kwargs)
        own = m.__dict__
        if (
            own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"] or module_hooks.any_global
            or "forward" in own or type(m).__call__ is not Module.__call__
        ):  # fmt: skip
            return self.all(*args, **kwargs)
        forward = type(m).forward
        compiled = self.forward
        if compiled is None or compiled.function is not forward:
            if (
                not hasattr(forward, "__code__")
                or hasattr(forward, "_compiled")
                or "_compile_disabled" in forward.__dict__
            ):
                return self.all(*args, **kwargs)
            compiled = self.forward = Compiled(forward, self.options)
            compiled.module_path = type(m).__name__
        return compiled.call(m, *args, **kwargs)

    def all(self, *args: Any, **kwargs: Any) -> Any:
        """The call with everything that is hooked to it."""
        if self.whole is None:
            self.whole = Compiled(_call_module, self.options)
            self.whole.name = type(self.module).__qualname__
        return self.whole.call(self.module, *args, **kwargs)

    @property
    def compiled(self) -> Compiled | None:
        """The compiled function that was called, None before the first call."""
        return self.forward or self.whole


class OptimizedModule(Module):
    """A compiled module. It shares everything with the module it was made of; only its call runs captured graphs."""

    _module_call: ModuleCall
    _orig_mod: Module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return type(self)._module_call(*args, **kwargs)

    def _get_name(self) -> str:
        return type(self)._orig_mod._get_name()

    def _tapescope_records_(self) -> Any:
        from ...display import module_json
        from .story import records

        compiled = type(self)._module_call.compiled
        return ("capture", records(compiled)) if compiled is not None else ("module", module_json(type(self)._orig_mod))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self)._orig_mod.__reduce_ex__(protocol)


def compile_module(module: Module, options: Options) -> Any:
    """An object that behaves as `module` and runs captured graphs when it is called.

    Its attributes, parameters, `state_dict` keys, `repr` and mode are the module's own: they share one dictionary.
    """
    if isinstance(module, OptimizedModule):
        module = type(module)._orig_mod
    call = ModuleCall(module, options)
    kind = type(module)
    body = {
        "_module_call": call,
        "_orig_mod": module,
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
    }
    made = type(kind.__name__, (OptimizedModule, kind), body)
    out = object.__new__(made)
    object.__setattr__(out, "__dict__", module.__dict__)
    return out


__all__ = ["ModuleCall", "OptimizedModule", "compile_module"]
