"""Hooks around a module's call: forward, backward, registration, each of one module or of all.

`call` is the long way of calling a module, taken only where some hook exists.  Backward hooks are made of two
identities
on the tape, one around the inputs and one around the outputs, that tell when gradients pass.
"""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..autograd.function import Function
from ..tensor import Tensor
from ..utils.hooks import RemovableHandle

# -- hooks of all modules ---------------------------------------------------------------------------

_forward_pre: OrderedDict[int, Any] = OrderedDict()
_forward: OrderedDict[int, Any] = OrderedDict()
_forward_with_kwargs: OrderedDict[int, Any] = OrderedDict()
_forward_always: OrderedDict[int, Any] = OrderedDict()
_backward_pre: OrderedDict[int, Any] = OrderedDict()
_backward: OrderedDict[int, Any] = OrderedDict()
_registration: dict[str, OrderedDict[int, Any]] = {
    "parameter": OrderedDict(),
    "buffer": OrderedDict(),
    "module": OrderedDict(),
}

any_global = False
"""Whether some forward or backward hook of all modules exists."""


class _GlobalHandle(RemovableHandle):
    """A handle that keeps `any_global` up to date."""

    def __init__(self, home: Any, hook: Any, extra_dict: Any = None):
        super().__init__(home, extra_dict=extra_dict)
        home[self.id] = hook
        _refresh()

    def remove(self) -> None:
        super().remove()
        _refresh()


def _refresh() -> None:
    global any_global
    any_global = bool(_forward_pre or _forward or _backward_pre or _backward)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module; what it returns replaces `args`."""
    return _GlobalHandle(_forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module; what it returns replaces `output`."""
    handle = _GlobalHandle(_forward, hook, [_forward_with_kwargs, _forward_always])
    if with_kwargs:
        _forward_with_kwargs[handle.id] = True
    if always_call:
        _forward_always[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward of every module."""
    return _GlobalHandle(_backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward of every module."""
    return _GlobalHandle(_backward, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, parameter)` when a parameter is registered; what it returns takes its place."""
    return _GlobalHandle(_registration["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when a buffer is registered; what it returns takes its place."""
    return _GlobalHandle(_registration["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` when a child is registered; what it returns takes its place."""
    return _GlobalHandle(_registration["module"], hook)


def registered(what: str, module: Any, name: str, value: Any) -> Any:
    """`value` after the registration hooks for `what` saw it."""
    for hook in _registration[what].values():
        replaced = hook(module, name, value)
        if replaced is not None:
            value = replaced
    return value


# -- hooks of one module ----------------------------------------------------------------------------


class HookMethods:
    """The part of `Module` that registers hooks."""

    _is_full_backward_hook: bool | None
    _backward_hooks: OrderedDict[int, Any]
    _backward_pre_hooks: OrderedDict[int, Any]
    _forward_hooks: OrderedDict[int, Any]
    _forward_hooks_with_kwargs: OrderedDict[int, Any]
    _forward_hooks_always_called: OrderedDict[int, Any]
    _forward_pre_hooks: OrderedDict[int, Any]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, Any]

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; what it returns replaces the arguments.

        With `with_kwargs` it is called with `(module, args, kwargs)` and returns both or None. `prepend` puts it before
        the hooks that are there.
        """
        handle = RemovableHandle(self._forward_pre_hooks, extra_dict=self._forward_pre_hooks_with_kwargs)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return _enter(self._forward_pre_hooks, handle, hook, prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; what it returns replaces the output.

        With `with_kwargs` it is called with `(module, args, kwargs, output)`. With `always_call` it is called also
        where
        an exception was raised (then `output` is None).
        """
        handle = RemovableHandle(
            self._forward_hooks, extra_dict=[self._forward_hooks_with_kwargs, self._forward_hooks_always_called]
        )
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return _enter(self._forward_hooks, handle, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before its backward; what it returns replaces these gradients."""
        return _enter(self._backward_pre_hooks, RemovableHandle(self._backward_pre_hooks), hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of its inputs are known.

        What it returns replaces the gradients of the inputs.
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them."
            )
        self._is_full_backward_hook = True
        return _enter(self._backward_hooks, RemovableHandle(self._backward_hooks), hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The older form, on the last operator of the module only: use `register_full_backward_hook`."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them."
            )
        self._is_full_backward_hook = False
        return _enter(self._backward_hooks, RemovableHandle(self._backward_hooks), hook, False)


def _enter(home: OrderedDict[int, Any], handle: RemovableHandle, hook: Any, first: bool) -> RemovableHandle:
    home[handle.id] = hook
    if first:
        home.move_to_end(handle.id, last=False)
    return handle


# -- the long way of calling ------------------------------------------------------------------------


def call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `module.forward` with everything that is hooked to it."""
    called: set[int] = set()
    try:
        return _call(module, args, kwargs, called)
    except Exception:
        # Hooks that are always called see a failed forward, too; what they raise must not hide the failure.
        for home, always, with_kwargs in (
            (_forward, _forward_always, _forward_with_kwargs),
            (module._forward_hooks, module._forward_hooks_always_called, module._forward_hooks_with_kwargs),
        ):
            for number, hook in home.items():
                if number in always and number not in called:
                    try:
                        hook(module, args, kwargs, None) if number in with_kwargs else hook(module, args, None)
                    except Exception as error:
                        kind = "global module forward hook" if home is _forward else "module forward hook"
                        warnings.warn(
                            f"{kind} with ``always_call=True`` raised an exception that was silenced as another error "
                            "was "
                            f"raised in forward: {error}",
                            stacklevel=3,
                        )
        raise


def _call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]) -> Any:
    for number, hook in (*_forward_pre.items(), *module._forward_pre_hooks.items()):
        if number in module._forward_pre_hooks_with_kwargs:
            got = hook(module, args, kwargs)
            if got is not None:
                if not (isinstance(got, tuple) and len(got) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {got}."
                    )
                args, kwargs = got
        else:
            got = hook(module, args)
            if got is not None:
                args = got if isinstance(got, tuple) else (got,)

    full = module._is_full_backward_hook is not False
    after = [*_backward.values(), *(module._backward_hooks.values() if full else ())]
    before = [*_backward_pre.values(), *module._backward_pre_hooks.values()]
    watch = _Watch(module, after, before) if after or before else None
    if watch is not None:
        args = watch.inputs(args)

    result = module.forward(*args, **kwargs)

    for number, hook in (*_forward.items(), *module._forward_hooks.items()):
        if number in _forward_always or number in module._forward_hooks_always_called:
            called.add(number)
        if number in _forward_with_kwargs or number in module._forward_hooks_with_kwargs:
            got = hook(module, args, kwargs, result)
        else:
            got = hook(module, args, result)
        if got is not None:
            result = got

    if watch is not None:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=4,
            )
        result = watch.outputs(result)
    if not full and module._backward_hooks:
        _hook_last_node(module, result)
    return result


def _hook_last_node(module: Any, result: Any) -> None:
    """Backward hooks of the older form stand on the node that made the (first) output."""
    while not isinstance(result, Tensor):
        if isinstance(result, dict):
            result = next(v for v in result.values() if isinstance(v, Tensor))
        else:
            result = result[0]
    if result.grad_fn is not None:
        for hook in module._backward_hooks.values():
            result.grad_fn.register_hook(functools.partial(hook, module))


class BackwardHookFunction(Function):
    """The identity on several tensors, one node for all of them."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        return args


class _Watch:
    """The backward hooks of one call of a module."""

    def __init__(self, module: Any, after: list[Any], before: list[Any]):
        self.module, self.after, self.before = module, after, before
        self.grad_outputs: tuple[Any, ...] | None = None
        self.n_inputs, self.n_outputs = -1, -1
        self.input_places: list[int] | None = None

    def _through(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], Any]:
        """The values with their tensors put through the identity; where these stand; the identity's node."""
        from .. import is_grad_enabled

        places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        if not (is_grad_enabled() and any(values[i].requires_grad for i in places)):
            return values, places, None
        passed = BackwardHookFunction.apply(*[values[i] for i in places])
        out = list(values)
        for i, t in zip(places, passed, strict=True):
            out[i] = t
        node = next(t.grad_fn for t in passed if t.grad_fn is not None)
        return tuple(out), places, node

    @staticmethod
    def _spread(places: list[int], values: Any, size: int) -> tuple[Any, ...]:
        out: list[Any] = [None] * size
        for i, v in zip(places, values, strict=True):
            out[i] = v
        return tuple(out)

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, watched."""
        self.n_inputs = len(args)
        out, places, node = self._through(args)
        if node is None:
            return args
        self.input_places = places

        def passed(grad_input: Any, _: Any) -> Any:
            if self.grad_outputs is None:
                raise RuntimeError(
                    "Module backward hook for grad_input is called before the grad_output one. This happens because "
                    "the "
                    "gradient in your nn.Module flows to the Module's input without passing through the Module's "
                    "output. "
                    "Make sure that the output depends on the input and that the loss is computed based on the output."
                )
            grads = self._spread(places, grad_input, self.n_inputs)
            for hook in self.after:
                got = hook(self.module, grads, self.grad_outputs)
                if got is None:
                    continue
                got = got if isinstance(got, tuple) else (got,)
                if len(got) != len(grads):
                    raise RuntimeError(
                        f"Backward hook returned an invalid number of grad_input, got {len(got)}, but expected "
                        f"{len(grads)}"
                    )
                grads = got
            self.grad_outputs = None
            return tuple(grads[i] for i in places)

        node.register_hook(passed)
        return out

    def outputs(self, result: Any) -> Any:
        """The result, watched."""
        values = result if isinstance(result, tuple) else (result,)
        self.n_outputs = len(values)
        out, places, node = self._through(values)
        if node is None:
            return result

        def passes(grad_output: Any) -> Any:
            grads = self._spread(places, grad_output, self.n_outputs)
            for hook in self.before:
                got = hook(self.module, grads)
                if got is None:
                    continue
                got = got if isinstance(got, tuple) else (got,)
                if len(got) != len(grads):
                    raise RuntimeError(
                        f"Backward pre hook returned an invalid number of grad_output, got {len(got)}, but expected "
                        f"{len(grads)}"
                    )
                grads = got
            self.grad_outputs = grads
            if self.input_places is None:
                # No input needs a gradient, so this is the moment for the other hooks.
                nothing = (None,) * self.n_inputs
                for hook in self.after:
                    got = hook(self.module, nothing, self.grad_outputs)
                    if got is not None and not (isinstance(got, tuple) and all(g is None for g in got)):
                        raise RuntimeError(
                            "Backward hook for Modules where no input requires gradient should always return None or "
                            "None for all gradients."
                        )
                self.grad_outputs = None
            return tuple(grads[i] for i in places)

        node.register_prehook(passes)
        return out if isinstance(result, tuple) else out[0]
