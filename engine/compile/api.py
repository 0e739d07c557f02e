"""`torch.compile` and what belongs to it: `torch.compiler`, marks on tensors and functions, `explain`.

This file is the surface. Capturing is `capture/`'s, which is loaded when something is first compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from ..nn.module import Module
from ..tensor import Tensor


class Config:
    """Switches of capture.

    `recompile_limit`: how many entries a place may have (`cache_size_limit` is its older name). `capture_scalar_outputs`: `item()` stays in
    the graph. `dynamic_shapes`, `assume_static_by_default`, `automatic_dynamic_shapes`: whether sizes can be symbolic, are so only when told or
    changed, and become so by a change. `error_on_recompile`: a call that no graph fits raises `RecompileError`. `disable`: compile nothing.
    `suppress_errors` and `verbose` are accepted: errors of capture always run the function natively, and `explain` tells them.
    """

    recompile_limit: int = 8
    capture_scalar_outputs: bool = False
    suppress_errors: bool = True
    verbose: bool = False
    dynamic_shapes: bool = True
    assume_static_by_default: bool = True
    automatic_dynamic_shapes: bool = True
    error_on_recompile: bool = False
    disable: bool = False

    @property
    def cache_size_limit(self) -> int:
        """The older name of `recompile_limit`."""
        return self.recompile_limit

    @cache_size_limit.setter
    def cache_size_limit(self, value: int) -> None:
        self.recompile_limit = value

    def patch(self, **changes: Any) -> Any:
        """A context manager (and decorator) with some switches changed."""
        import contextlib

        @contextlib.contextmanager
        def patched() -> Any:
            before = {k: getattr(self, k) for k in changes}
            for k, v in changes.items():
                setattr(self, k, v)
            try:
                yield
            finally:
                for k, v in before.items():
                    setattr(self, k, v)

        return patched()


config = Config()


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    dynamic_spec: dict[str, Any] | None = None,
    backend: Any = "tapescope",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    check: bool = False,
) -> Any:
    """A function (or module) that computes what `model` computes, through captured graphs.

    The first call captures; later calls whose guards hold run the graph. Where the graph must break, Python goes on and the next
    graph begins behind it; `torch.compiler.explain` tells where and why.

    `fullgraph`: a break is an error (`Unsupported`) naming the line. `dynamic`: True makes all sizes symbolic at once, False none;
    None those that are seen to change. `dynamic_spec` names arguments and those of their dimensions that change, as {"x": [0]}.
    `backend`: a name (`torch.compiler.list_backends()`), or a callable that takes
    `(graph_module, example_inputs)` and returns what is called instead. `mode` and `options` are for the backend: of the
    modes "reduce-overhead" does what "default" does, since calls are recorded in either, and "max-autotune" measures several forms; of the
    options "fast_math" lets C reorder and contract arithmetic, "max_autotune" and "check" are the mode and the argument. With `check`, every
    call runs eagerly, too, and results are compared. Usable as a decorator, with or without arguments.

    Raises ValueError for an unknown backend or mode, RuntimeError for an unknown option, TypeError for what cannot be called.
    """
    if model is None:
        return functools.partial(
            compile,
            fullgraph=fullgraph,
            dynamic=dynamic,
            dynamic_spec=dynamic_spec,
            backend=backend,
            mode=mode,
            options=options,
            disable=disable,
            check=check,
        )
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if not callable(model):
        raise TypeError(f"A callable function is expected, but {type(model)} is provided.")
    if disable or config.disable or "_compile_disabled" in getattr(model, "__dict__", {}):
        return model
    from .backends import configured, known_backends
    from .capture.leaves import is_leaf
    from .capture.modules import compile_module
    from .capture.runtime import Compiled, Options, wrap_function

    name = backend if isinstance(backend, str) else getattr(backend, "__name__", type(backend).__name__)
    made = Options(configured(backend, mode, check, options), name, dynamic, fullgraph, None, dynamic_spec)
    made.foreign = not isinstance(backend, str) and backend not in known_backends()
    if isinstance(model, Module):
        return compile_module(model, made)
    if isinstance(model, type):
        raise TypeError(
            "torch.compile wants a function or a module, not a class: compile its method `forward` or an instance"
        )
    if isinstance(model, MethodType) and isinstance(_uncompiled(model.__func__), FunctionType):
        owner, wrapper = model.__self__, wrap_function(Compiled(_uncompiled(model.__func__), made))
        bound = functools.partial(wrapper, owner)
        functools.update_wrapper(bound, model)
        bound._compiled = wrapper._compiled  # type: ignore[attr-defined]
        return bound
    model = _uncompiled(model)
    if isinstance(model, FunctionType) and not is_leaf(model):
        return wrap_function(Compiled(model, made))
    wrapper = wrap_function(Compiled(_call, made))  # an operator of the engine is one node there, never looked into
    out = functools.partial(wrapper, model)
    functools.update_wrapper(out, model, updated=())
    out._compiled = wrapper._compiled  # type: ignore[attr-defined]
    return out


def compile_in_place(module: Module, options: dict[str, Any]) -> None:
    """`module.compile(**options)`."""
    from .capture.modules import OptimizedModule

    made = compile(module, **options)
    if isinstance(made, OptimizedModule):
        object.__setattr__(module, "_compiled_call", type(made)._module_call)


def _uncompiled(function: Any) -> Any:
    """The function behind one that is compiled already."""
    return function._compiled.function if type(function).__name__ == "CompiledFunction" else function


def _call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


# -- torch.compiler ---------------------------------------------------------------------------------


def reset() -> None:
    """Forget everything that was captured, of all functions."""
    from .capture.runtime import reset_all

    reset_all()


def is_compiling() -> bool:
    """Whether this call is being captured: True inside compiled functions, False when run eagerly."""
    return False


def is_dynamo_compiling() -> bool:
    """The same as `is_compiling`."""
    return False


def is_exporting() -> bool:
    """Whether this call is being exported."""
    return False


def graph_break(msg: str = "") -> None:
    """End the graph here; does nothing when run eagerly."""


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Mark a function (or module) that compiled code shall call natively. Usable as a decorator, with or without arguments.

    With `recursive=False` only the function itself runs natively; what it calls may be compiled on its own.
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, Module):
        fn.forward = disable(fn.forward)  # type: ignore[method-assign]
        return fn
    from .capture.runtime import _off

    inner = fn._compiled.function if hasattr(fn, "_compiled") else fn

    @functools.wraps(inner)
    def natively(*args: Any, **kwargs: Any) -> Any:
        if not recursive:
            return inner(*args, **kwargs)
        _off.depth += 1
        try:
            return inner(*args, **kwargs)
        finally:
            _off.depth -= 1

    natively._compile_disabled = True  # type: ignore[attr-defined]
    return natively


def allow_in_graph(fn: Any) -> Any:
    """Treat a function as one operator: its calls become single nodes, and nobody looks inside. Takes a list, too.

    It must take and return tensors, and have no effects.
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(f) for f in fn]
    if not callable(fn):
        raise AssertionError("allow_in_graph expects a callable")
    from .capture.leaves import allow

    allow(fn)
    return fn


def list_backends(exclude_tags: Any = None) -> list[str]:
    """The names that `backend=` takes."""
    from .backends import list_backends as names

    return names()


def set_stance(stance: str = "default", **options: Any) -> Any:
    """What compiled functions do in this thread; also a context manager.

    "force_eager" runs them natively, "eager_on_recompile" does so where no captured graph fits, "fail_on_recompile" raises
    `RecompileError` there, "default" captures. Guards are always looked at, also with `skip_guard_eval_unsafe`.
    Raises RuntimeError for another stance, and for `force_backend`.
    """
    from .capture.runtime import _off

    if stance not in ("default", "force_eager", "eager_on_recompile", "fail_on_recompile"):
        raise RuntimeError(
            f"set_stance() knows no stance {stance!r}; the stances are 'default', 'force_eager', 'eager_on_recompile' and 'fail_on_recompile'"
        )
    unknown = [name for name in options if name != "skip_guard_eval_unsafe"]
    if unknown:
        raise RuntimeError(f"set_stance() takes no {unknown[0]!r} here: give the backend to torch.compile(backend=...)")
    return _Stance(_off, stance)


class _Stance:
    def __init__(self, off: Any, stance: str) -> None:
        self._off, self._before = off, (off.depth, off.stance)
        off.depth = 1 if stance == "force_eager" else 0
        off.stance = "default" if stance == "force_eager" else stance

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        self._off.depth, self._off.stance = self._before


def assume_constant_result(fn: Any) -> Any:
    """Accepted; results of Python functions are followed and need no assumption."""
    return fn


def cudagraph_mark_step_begin() -> None:
    """Does nothing: there are no CUDA graphs."""


def explain(fn: Any, *extra: Any, **more: Any) -> Any:
    """`explain(fn)(*args)`: call `fn` compiled, and tell what was captured: segments, graphs, breaks, guards."""
    from .capture.story import explain as tell

    if extra or more:
        return tell(fn)(*extra, **more)
    return tell(fn)


# -- marks on tensors -------------------------------------------------------------------------------


def _mark(t: Tensor, index: int | list[int] | tuple[int, ...], how: Any) -> None:
    if not isinstance(t, Tensor):
        raise TypeError(f"mark_dynamic wants a tensor, not {type(t).__name__}")
    marks = dict(t.__dict__.get("_dynamic_dims", {}))
    for i in (index,) if isinstance(index, int) else index:
        if not -t.ndim <= i < t.ndim:
            raise IndexError(f"dimension {i} of a tensor with {t.ndim} dimensions cannot be marked")
        marks[i % t.ndim] = how
    t.__dict__["_dynamic_dims"] = marks


def mark_dynamic(
    t: Tensor, index: Any, *, hint_override: Any = None, min: int | None = None, max: int | None = None
) -> None:
    """Say that the size of a dimension (or of several) changes between calls: it is captured as a symbol at once."""
    _mark(t, index, ("dynamic", min, max))


def maybe_mark_dynamic(t: Tensor, index: Any) -> None:
    """The same as `mark_dynamic`; a size that turns out to be fixed is no error there either."""
    _mark(t, index, ("dynamic", None, None))


def mark_static(t: Tensor, index: Any = None) -> None:
    """Say that a size is part of the program: another one is captured anew and never becomes a symbol."""
    _mark(t, list(range(t.ndim)) if index is None else index, "static")


def mark_unbacked(t: Tensor, index: Any) -> None:
    """The same as `mark_dynamic`."""
    _mark(t, index, ("dynamic", None, None))


COMPILER = (
    compile, reset, is_compiling, is_dynamo_compiling, is_exporting, disable, allow_in_graph, list_backends, set_stance, assume_constant_result,
    cudagraph_mark_step_begin, explain,
)  # fmt: skip
"""What stands in `torch.compiler`."""

DYNAMO = (
    reset, explain, graph_break, mark_dynamic, maybe_mark_dynamic, mark_static, mark_unbacked, disable, allow_in_graph, is_compiling, list_backends,
)  # fmt: skip
"""What programs use of `torch._dynamo`."""

OptimizeFn = Callable[..., Any]
