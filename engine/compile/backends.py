"""Backends of `torch.compile` by name: a backend takes `(graph_module, example_inputs)` and returns what is called instead.

"eager" replays the captured operators; "aot_eager" runs the ahead-of-time graphs of primitives, forward and backward, one primitive
after the other. Others register themselves with `register_backend`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .graph import GraphModule

Backend = Callable[[GraphModule, Sequence[Any]], Callable[..., Any]]
_backends: dict[str, Backend] = {}


def register_backend(name: str) -> Callable[[Backend], Backend]:
    """Decorator: make a backend known by name."""

    def put(backend: Backend) -> Backend:
        _backends[name] = backend
        return backend

    return put


def list_backends() -> list[str]:
    """The names of all backends."""
    return sorted(_backends)


def known_backends() -> list[Backend]:
    """The backends that have names."""
    return list(_backends.values())


def lookup_backend(backend: str | Backend) -> Backend:
    """A backend by its name; a callable is one itself. Raises ValueError for an unknown name."""
    if callable(backend):
        return backend
    found = _backends.get(backend)
    if found is None:
        raise ValueError(
            f"there is no backend {backend!r} for torch.compile; the backends are {', '.join(list_backends())}"
        )
    return found


@register_backend("eager")
def eager(gm: GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """Call the captured operators one by one, as the user's code did."""
    return gm.forward


@register_backend("aot_eager")
def aot_eager(gm: GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """Run forward and backward graphs of primitives one primitive after the other."""
    from .aot.function import AotFunction

    return AotFunction(gm, example_inputs, lambda graph, specs: graph.forward)


@register_backend("tapescope")
def tapescope(gm: GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """Run forward and backward graphs as few generated kernels: C on the CPU where there is a compiler, numpy programs elsewhere, WGSL."""
    from .lower.backend import Choices, backend_with

    return backend_with(Choices())(gm, example_inputs)


def configured(backend: str | Backend, mode: str | None, check: bool, options: dict[str, Any] | None = None) -> Backend:
    """A backend with the mode, the check and the options that were asked for, where it has such. Raises ValueError for an unknown mode,
    RuntimeError for an unknown option."""
    if backend == "tapescope":
        from .lower.backend import Choices, backend_with

        found: Backend = backend_with(Choices.of(mode, check, options))
    else:
        found = lookup_backend(backend)
    if not check and not (options or {}).get("check"):
        return found
    from .checking import SAME_KERNELS, checked

    return checked(found, backend in SAME_KERNELS)
