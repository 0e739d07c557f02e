"""Tracing: one run of a function or module on example inputs, as a graph of primitives with open sizes."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..nn.module import Module
from ..tensor import Tensor
from .state import tracing


class TracerWarning(Warning):
    """A trace may not stand for the program."""


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in _leaves(v)]
    if isinstance(value, dict):
        return [leaf for v in value.values() for leaf in _leaves(v)]
    return [value]


def graph_of(function: Callable[..., Any], state: Sequence[Tensor], inputs: Sequence[Any]) -> Any:
    """The graph of `function(state, *inputs)`; all sizes of the inputs are open, those of the state fixed.

    Raises RuntimeError where the function looks at values.
    """
    from ..compile.aot.trace import make_fx
    from ..compile.fake.symbolic import DataDependent

    first = len(state)
    open_sizes = {first + i: range(t.ndim) for i, t in enumerate(_leaves(list(inputs))) if isinstance(t, Tensor)}
    try:
        with tracing():
            return make_fx(function, dynamic=open_sizes)(list(state), *inputs)
    except DataDependent as error:
        raise RuntimeError(
            f"torch.jit.trace records one run and cannot look at the values of tensors, but the program does: {error} "
            "Use torch.compile, which breaks the graph there, or torch.cond."
        ) from error


class TopLevelTracedModule(Module):
    """What `trace` makes of a module: its parameters and buffers under their names, and the graph that uses them."""

    def __init__(self, name: str, state: dict[str, Tensor], graph: Any, training: bool, arguments: Sequence[str]):
        super().__init__()
        self.training = training
        self.original_name = name
        self.__dict__["_names"], self.__dict__["_graph"] = list(state), graph
        self.__dict__["_arguments"] = tuple(arguments)
        for path, value in state.items():
            *parents, last = path.split(".")
            place: Any = self
            for part in parents:
                if part not in place._modules:
                    place.add_module(part, Module())
                place = place._modules[part]
            if type(value).__name__ == "Parameter":
                place.register_parameter(last, value)
            else:
                place.register_buffer(last, value)

    def _get_name(self) -> str:
        return "TopLevelTracedModule"

    @property
    def graph(self) -> Any:
        """The graph of primitives."""
        return self.__dict__["_graph"].graph

    @property
    def code(self) -> str:
        """The graph as Python."""
        return self.__dict__["_graph"].code

    def _state(self) -> list[Tensor]:
        known = {
            **dict(self.named_parameters(remove_duplicate=False)),
            **dict(self.named_buffers(remove_duplicate=False)),
        }
        return [known[n] for n in self.__dict__["_names"]]

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Run the graph. Raises TypeError for arguments that were not there when it was traced."""
        given = list(inputs)
        for name in self.__dict__["_arguments"][len(given) :]:
            if name in named:
                given.append(named.pop(name))
        if named:
            raise TypeError(f"forward() got an unexpected keyword argument '{next(iter(named))}'")
        return self.__dict__["_graph"](*self._state(), *_leaves(given))

    def save(self, f: Any, **unused: Any) -> None:
        """`torch.jit.save(self, f)`."""
        from .archive import save

        save(self, f)

    def extra_repr(self) -> str:
        """The name of the module that was traced."""
        return f"original_name={self.original_name}"


def _state_of(module: Module) -> dict[str, Tensor]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: dict[str, Any] | None = None,
    _store_inputs: bool = True,
) -> Any:
    """The graph of a function or module, recorded on example inputs, as something to call and to save.

    With `check_trace`, function and graph run once more on the examples, and a TracerWarning says where they differ. Raises
    RuntimeError for a program that looks at the values of tensors.
    """
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("torch.jit.trace needs example_inputs (a tensor or a tuple), to run the program on")
    if isinstance(func, TopLevelTracedModule):
        return func
    inputs: tuple[Any, ...] = (
        ()
        if example_inputs is None
        else (example_inputs,)
        if isinstance(example_inputs, (Tensor, dict))
        else tuple(example_inputs)
    )
    named = dict(example_kwarg_inputs or {})
    module = func if isinstance(func, Module) else getattr(func, "__self__", None)
    module = module if isinstance(module, Module) else None
    state = _state_of(module) if module is not None else {}
    names = list(state)
    arguments = _argument_names(func)
    for name in arguments[len(inputs) :]:
        if name in named:
            inputs = (*inputs, named.pop(name))

    def run(values: list[Any], *given: Any) -> Any:
        if module is None:
            return func(*given, **named)
        from ..func.calls import functional_call

        if func is module:
            return functional_call(module, dict(zip(names, values)), given, named)
        method = func.__func__
        holder = _Method(module, method)
        return functional_call(holder, {f"module.{n}": v for n, v in zip(names, values)}, given, named)

    graph = graph_of(run, list(state.values()), inputs)
    label = type(module).__name__ if module is not None else getattr(func, "__name__", "function")
    made = TopLevelTracedModule(label, state, graph, module.training if module is not None else False, arguments)
    if check_trace and not (module is not None and module.training):
        _check(func, made, copy.deepcopy([_detached(i) for i in inputs]), named, check_tolerance)
    return made


class _Method(Module):
    """A method of a module as a module of its own."""

    def __init__(self, module: Module, method: Callable[..., Any]):
        super().__init__()
        self.module = module
        self.__dict__["method"] = method

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["method"](self.module, *args, **kwargs)


def trace_module(mod: Module, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """`trace` of a module's `forward`; `inputs` maps method names to example inputs. Raises NotImplementedError for other methods."""
    others = [n for n in inputs if n != "forward"]
    if others:
        raise NotImplementedError(
            f"trace_module: only 'forward' is traced, not {others[0]!r}; trace the bound method by torch.jit.trace"
        )
    return trace(mod, inputs["forward"], *args, **kwargs)


def _argument_names(func: Any) -> list[str]:
    try:
        parameters = inspect.signature(func.forward if isinstance(func, Module) else func).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def _check(func: Any, made: Any, inputs: Sequence[Any], named: dict[str, Any], tolerance: float) -> None:
    from .. import allclose, get_rng_state, no_grad, set_rng_state

    before = get_rng_state()
    try:
        with no_grad():
            wanted = _leaves(func(*inputs, **named))
            set_rng_state(before)
            found = _leaves(made(*inputs))
    finally:
        set_rng_state(before)
    for i, (w, f) in enumerate(zip(wanted, found)):
        if isinstance(w, Tensor) and not (
            w.shape == f.shape and allclose(w, f, rtol=tolerance, atol=tolerance, equal_nan=True)
        ):
            warnings.warn(
                f"Output nr {i + 1}. of the traced function does not match the corresponding output of the Python function.",
                TracerWarning,
                stacklevel=3,
            )


__all__ = ["TopLevelTracedModule", "TracerWarning", "trace", "trace_module"]
