"""Functions of the engine that are no operators, while capturing: the backward pass, switches, counters, and marks of compile itself.

An entry answers (domain, frame, args, kwargs), as those of `builtins_table.py` do.
"""

from __future__ import annotations

import importlib
import operator
from types import MethodType
from typing import Any

from ... import autograd, module_path, random
from ...amp import autocast
from ...autograd import function as autograd_function
from ...device import device as Device
from ...dtypes import finfo, get_default_dtype, iinfo
from ...func import transforms
from ...nn import module as nn_module
from ...nn.module import Module
from ...nn.parameter import Parameter
from ...optim import optimizer
from ...shapes import Size
from ...state import state as engine_state
from ...tensor import Tensor
from ...utils import checkpoint as checkpointing
from ..fake import SymFloat, symbolic_max, symbolic_min
from ..graph import effects
from ..interpreter.frame import Frame
from . import graph_calls, tape
from .entries import entry
from .leaves import is_allowed
from .recorder import Unrecorded
from .stops import Stop, name_of
from .tables import HANDLERS, STOPS
from .values import Obj

# -- backward ---------------------------------------------------------------------------------------


def _run_backward(domain: Any, frame: Frame, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`backward` on the fakes, and its node. Gradients of leaves that are known so far are read first."""
    for value, source in domain.world.tensors():
        if value.requires_grad and value.is_leaf:
            domain.grad_source(value)
            _ = source
    given = [domain.operand_of(a) for a in args]
    words = {k: domain.operand_of(v) for k, v in kwargs.items()}
    try:
        nodes = tuple(domain.recorder.argument(a, domain.foreign) for a in given)
        named = {k: domain.recorder.argument(v, domain.foreign) for k, v in words.items()}
    except Unrecorded as error:
        raise Stop("unsupported-value", f"backward of {name_of(error.value)}") from None
    if domain.has_hooks():
        raise Stop("hook", "backward")
    at = 4 if isinstance(given[0], Tensor) else 5
    wanted = words.get("inputs", given[at] if len(given) > at else None)
    tape.check_backward(domain, "backward", given[0], wanted)
    for t in () if wanted is None else [wanted] if isinstance(wanted, Tensor) else wanted:
        tape.keep_gradient(domain, t, "backward")
    try:
        domain.run_leaf(f, given, words)
    except Exception as error:
        raise Stop("exception", f"{type(error).__name__}: {error}") from None
    domain.recorder.call(f, nodes, named, None).meta["impure"] = True
    return None


@entry(Tensor.backward)
def _backward(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return _run_backward(domain, frame, effects.backward, args, kwargs)


@entry(autograd.backward)
def _autograd_backward(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return _run_backward(domain, frame, effects.backward, args, kwargs)


@entry(autograd.grad)
def _grad(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    if domain.has_hooks():
        raise Stop("hook", "autograd.grad")
    given = {n: domain.operand_of(v) for n, v in (*zip(("outputs", "inputs"), args, strict=False), *kwargs.items())}
    if "outputs" in given and "inputs" in given:
        tape.check_backward(domain, "autograd.grad", given["outputs"], given["inputs"])
    return domain.leaf(frame, autograd.grad, args, kwargs)


@entry(Tensor.retain_grad)
def _retain_grad(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    t = domain.read(args[0])
    tape.keep_gradient(domain, t, "retain_grad")
    return domain.leaf(frame, Tensor.retain_grad, [t], kwargs)


@entry(Tensor._is_view)
def _is_view(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.base_of(domain.read(args[0])) is not None


# -- modules and optimizers -------------------------------------------------------------------------


@entry(module_path.structure_changed)
def _structure_changed(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    if module_path.structure_changed not in domain.after:
        domain.after.append(module_path.structure_changed)
    return None


@entry(Module.__call__)
def _module_call(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return domain.call_module(frame, domain.read(args[0]), list(args[1:]), kwargs)


@entry(nn_module._paths_below)
def _paths(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    raise Stop("unsupported-value", "The table of the paths of modules")


@entry(optimizer.number)
def _number(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    """A counter or learning rate of an optimizer as a number: known when the graph runs, so that it does not end it."""
    value = domain.read(args[0])
    if not isinstance(value, Tensor):
        return value
    constant = getattr(value._data, "constant", None)
    if constant is not None and not value._data.memory.writes and constant.size == 1:
        return constant.item()
    if not value.dtype.is_floating_point or value.numel() != 1:
        raise Stop("item", "Tensor.item")
    try:
        return domain.recorder.read_number(value, float)
    except Unrecorded:
        raise Stop("item", "Tensor.item") from None


@entry(optimizer.above)
def _above(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    """A choice that hangs on a counter of an optimizer: where that is known only when the graph runs, both are computed."""
    value, limit, yes, no = args[0], domain.read(args[1]), args[2], args[3]
    value = domain.read(value)
    if type(value) is not SymFloat or value.hint is not None:
        return domain.call(frame, yes if domain.truth_of(domain.compare(frame, ">", value, limit)) else no, [], {})
    a, b = domain.nested(yes, [], {}), domain.nested(no, [], {})
    chosen = symbolic_min(symbolic_max((value - limit) * 1e30, 0.0), 1.0)  # 1.0 where it is above, else 0.0
    a, b = domain.leaf(frame, operator.mul, [a, chosen], {}), domain.leaf(frame, operator.mul, [b, 1.0 - chosen], {})
    return domain.leaf(frame, operator.add, [a, b], {})


_gathered = getattr(importlib.import_module("...optim.sgd", __package__), "Gathered", None)
if _gathered is not None:
    # Kernels that step several parameters at once are for eager steps; graphs hold the formulas, which are fused there.
    for _f in (_gathered.may, _gathered.add):
        HANDLERS[id(_f)] = (_f, lambda *a: False)


@entry(Parameter)
def _parameter(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    given = {**dict(zip(("data", "requires_grad"), args, strict=False)), **kwargs}
    data, needs = domain.read(given.get("data")), domain.truth_of(given.get("requires_grad", True))
    if not isinstance(data, Tensor):
        raise Stop("opaque-call", "Making a Parameter of nothing")
    out = domain.leaf(frame, graph_calls.make_parameter, [data, needs], {})
    domain.parameters[id(out)] = (out, domain.steps)
    return out


def _limits_of(kind: Any) -> Any:
    """`finfo(dtype)` and `iinfo(dtype)`."""

    def handler(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
        given = [domain.read(a) for a in (*args, *kwargs.values())]
        return kind(*(given or [domain.call(frame, get_default_dtype, [], {})]))

    return handler


for _kind in (finfo, iinfo):
    HANDLERS[id(_kind)] = (_kind, _limits_of(_kind))


# -- random numbers, sizes, devices -----------------------------------------------------------------


@entry(random.manual_seed)
def _manual_seed(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    raise Stop("generator-state", "manual_seed")


for _name in ("get_rng_state", "set_rng_state", "seed", "initial_seed"):
    _f = getattr(random, _name)
    STOPS[id(_f)] = (_f, "generator-state")
STOPS[id(random.Generator)] = (random.Generator, "generator-state")


@entry(Size)
def _size(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return Size([domain.read(x) for x in domain.elements(frame, args[0])]) if args else Size(())


@entry(Device)
def _device(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    return Device(*[domain.plain(a, "device") for a in args], **{k: domain.plain(v, k) for k, v in kwargs.items()})


# -- functions of functions -------------------------------------------------------------------------


@entry(checkpointing.checkpoint)
def _checkpoint(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    """The function itself: what is kept for backward is the partitioner's business in a graph."""
    for name in ("use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop"):
        kwargs.pop(name, None)
    return domain.call(frame, args[0], list(args[1:]), kwargs)


@entry(autograd_function.Function.apply.__func__)
def _apply(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    cls = domain.read(args[0])
    if is_allowed(cls):
        return domain.leaf(frame, cls.apply, list(args[1:]), kwargs)
    return domain.custom_function(frame, cls, list(args[1:]))


@entry(transforms.fresh)
def _fresh(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    """The alias that a derivative is taken by: one node, because within a batch it stands outside of the batch."""
    return domain.leaf(frame, transforms.fresh, args, kwargs)


@entry(transforms._settle)
def _settle(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    """Whether a result of a transform is cut off the tape: asked of the tape of the fakes."""
    t, mine, recording = (domain.read(a) for a in args)
    kept = domain.run_leaf(transforms._settle, [t, {id(n.symbol) for n in mine}, recording], {})
    return t if kept is t else domain.leaf(frame, Tensor.detach, [t], {})


# -- autocast ---------------------------------------------------------------------------------------


@entry(autocast.__enter__)
def _autocast_enter(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    context = domain.read(args[0])
    if type(context) is Obj:
        raise Stop("unsupported-value", "Entering an autocast that existed before")
    domain.state_reads.setdefault("modes", engine_state.modes)
    context.__enter__()
    node = domain.recorder.switch(graph_calls.enter_autocast, (context.device, context.fast_dtype, context._enabled))
    domain.regions.append(node)
    return context


@entry(autocast.__exit__)
def _autocast_exit(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
    context = domain.read(args[0])
    domain.state_reads.setdefault("modes", engine_state.modes)
    if type(context) is Obj:
        engine_state.modes = context.real._before[-1]
        node = domain.recorder.object(context.real, context.source)
        domain.world.touch(context)
        domain.recorder.switch(graph_calls.exit_context, (node,))
    else:
        context.__exit__(None, None, None)
        domain.recorder.switch(graph_calls.exit_context, (domain.regions.pop(),))
    return None


# -- compile itself ---------------------------------------------------------------------------------


def install() -> None:
    """Entries for functions of `torch.compiler`, which is made after this file."""
    api = importlib.import_module("..api", __package__)

    def is_compiling(domain: Any, frame: Frame, args: list[Any], kwargs: Any) -> Any:
        return True

    for f in (api.is_compiling, api.is_dynamo_compiling):
        HANDLERS[id(f)] = (f, is_compiling)
    STOPS[id(api.graph_break)] = (api.graph_break, "graph-break")
    for f in (api.mark_dynamic, api.mark_static, api.maybe_mark_dynamic, api.reset):
        HANDLERS[id(f)] = (f, lambda *a: None)


__all__ = ["MethodType", "Obj", "install"]
