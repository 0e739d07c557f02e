"""`torch.export`: a function as one graph without breaks, with its guards as preconditions.

It is captured as `torch.compile(fullgraph=True)` captures it; what comes out can be read, saved as text and called with other
arguments that meet the preconditions.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType, MethodType
from typing import Any

from ..nn.module import Module
from ..tensor import Tensor


class Dim:
    """A size that may differ from call to call: `Dim("batch", min=2, max=64)`. `Dim.AUTO` and `Dim.DYNAMIC` name none."""

    AUTO: Any = "auto"
    DYNAMIC: Any = "dynamic"
    STATIC: Any = "static"

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.__name__, self.min, self.max = name, min, max

    def __repr__(self) -> str:
        return f"Dim({self.__name__!r})"


class PreconditionError(ValueError):
    """An exported program was called with arguments that its guards exclude."""


class ExportedProgram:
    """One graph with its preconditions. Calling it checks them and runs the graph.

    `graph_module` is the graph with its code, `preconditions` are the guards in words, `example_inputs` what it was captured with.
    """

    def __init__(
        self, compiled: Any, entry: Any, owner: Module | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._compiled, self._entry, self._owner = compiled, entry, owner
        self.example_inputs = (args, kwargs)

    @property
    def graph_module(self) -> Any:
        """The graph, callable with its own inputs (parameters among them); None where the function uses no operator."""
        return self._entry.graph

    @property
    def graph(self) -> Any:
        """The nodes."""
        return self._entry.graph.graph

    @property
    def preconditions(self) -> list[str]:
        """What must hold of arguments and of everything else the function reads."""
        return [g.text for g in self._entry.guards] + list(self._entry.relations)

    @property
    def range_constraints(self) -> list[str]:
        """The relations between symbolic sizes."""
        return list(self._entry.relations)

    @property
    def state_dict(self) -> dict[str, Any]:
        """Parameters and buffers of the exported module."""
        return self._owner.state_dict() if self._owner is not None else {}

    def parameters(self) -> Any:
        """The parameters of the exported module."""
        return self._owner.parameters() if self._owner is not None else iter(())

    def module(self) -> Any:
        """Something to call with the function's own arguments."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises PreconditionError for arguments that do not meet the preconditions."""
        from .capture.codegen import MISS

        given = (self._owner, *args) if self._owner is not None else args
        S = self._compiled.bind(*given, **kwargs)
        out = self._entry.run(S)
        if out is MISS:
            raise PreconditionError(
                f"{self._compiled.name} was exported for other arguments: {self._compiled.first_failing(self._entry, S)}"
            )
        return out

    def __str__(self) -> str:
        code = self._entry.graph.code if self._entry.graph is not None else "(no operators)"
        lines = ["ExportedProgram:", *("    " + line for line in code.splitlines())]
        return "\n".join([*lines, "preconditions:", *(f"    {p}" for p in self.preconditions)])

    __repr__ = __str__


def export(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = True,
) -> ExportedProgram:
    """Capture `mod(*args, **kwargs)` as one graph.

    `dynamic_shapes` says which sizes may differ: for each argument (a tuple, or a dictionary by name) None, or a dictionary from
    dimensions to `Dim`s. Raises `Unsupported`, naming the line, where the graph would break, and TypeError for arguments that are no tuple.
    """
    from .backends import lookup_backend
    from .capture.runtime import Compiled, Options
    from .capture.segments import Place, flatten, labels_of

    if not isinstance(args, tuple):
        raise TypeError(f"export wants a tuple of arguments, not {type(args).__name__}")
    kwargs = dict(kwargs or {})
    owner: Any = None
    if isinstance(mod, Module):
        owner, function = mod, type(mod).forward
    elif isinstance(mod, MethodType):
        owner, function = mod.__self__, mod.__func__
    else:
        function = mod
    if not isinstance(function, FunctionType):
        raise TypeError(f"export wants a function or a module, not {type(mod).__name__}")
    options = Options(lookup_backend("eager"), "eager", None if dynamic_shapes is not None else False, True)
    compiled = Compiled(function, options)
    if owner is not None:
        compiled.module_path = type(owner).__name__
    S = compiled.bind(*((owner, *args) if owner is not None else args), **kwargs)
    frame = compiled.frame(list(S))
    place = Place(flatten(frame)[0], labels_of(frame))
    for name, dims in _dims(dynamic_shapes, args, kwargs, function, owner is not None).items():
        place.dynamic.sizes[f"S[{function.__code__.co_varnames.index(name)}]"] = dims
    found = compiled.slow(place, frame, S)
    assert found is not None
    entry = found[0]
    if entry.exit.kind != "return":
        raise RuntimeError(f"{compiled.name} does not return for these arguments: {entry.exit.reason}")
    return ExportedProgram(compiled, entry, owner, args, kwargs)


def _dims(
    given: Any, args: tuple[Any, ...], kwargs: dict[str, Any], function: FunctionType, bound: bool
) -> dict[str, set[int]]:
    """Which dimensions of which parameters are dynamic."""
    if given is None:
        return {}
    names = function.__code__.co_varnames[
        1 if bound else 0 : function.__code__.co_argcount + function.__code__.co_kwonlyargcount
    ]
    if isinstance(given, Mapping):
        by_name = dict(given)
    else:
        by_name = dict(zip(names, given, strict=False))
    out: dict[str, set[int]] = {}
    for name, dims in by_name.items():
        if name not in names:
            raise ValueError(
                f"dynamic_shapes names {name!r}, which is no argument; the arguments are {', '.join(names)}"
            )
        if dims is None:
            continue
        if isinstance(dims, Mapping):
            chosen = {int(d) for d, what in dims.items() if what is not None and what != Dim.STATIC}
        elif isinstance(dims, (tuple, list)):
            chosen = {i for i, what in enumerate(dims) if what is not None and what != Dim.STATIC}
        else:
            raise ValueError(
                f"dynamic_shapes of {name!r} must be a dictionary from dimensions to Dims, not {type(dims).__name__}"
            )
        position = list(names).index(name)
        value = kwargs.get(name, args[position] if position < len(args) else None)
        if isinstance(value, Tensor):
            chosen = {d % value.ndim for d in chosen}
        out[name] = chosen
    return out


__all__ = ["Dim", "ExportedProgram", "PreconditionError", "export"]
