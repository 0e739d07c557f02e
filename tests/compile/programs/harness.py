"""Runs each program eager and compiled and compares everything a user could see.

A program is a function that builds its world anew and returns `(f, calls)` or `(f, calls, state)`: the function, the list of its
calls (tuples of arguments, or dictionaries for keyword arguments), and whatever else to look at afterwards.  It is registered by
`@program`, with the ids of the breaks expected, in order.  Results, exceptions, printed text, arguments and state after every call,
gradients, and which objects are the same are compared between eager and compiled; then the breaks.
"""

from __future__ import annotations

import cmath
import contextlib
import io
import re
import types
from collections import deque
from collections.abc import Callable
from typing import Any

from tapescope import engine as torch
from tapescope.engine.compile.backends import lookup_backend
from tapescope.engine.compile.capture.tables import STRICT
from tapescope.engine.observe import bus

PROGRAMS: list[Program] = []


class Program:
    """One program with what is expected of it."""

    def __init__(
        self,
        make: Callable[[], Any],
        breaks: tuple[str, ...],
        graphs: int | None,
        everywhere: bool,
        options: dict[str, Any],
    ) -> None:
        self.make, self.breaks, self.graphs, self.options = make, breaks, graphs, options
        self.everywhere = everywhere
        self.name = f"{make.__module__.rpartition('.')[2]}.{make.__name__}"


def program(
    breaks: Any = (), graphs: int | None = None, everywhere: bool = False, **options: Any
) -> Callable[[Callable[[], Any]], Any]:
    """Register a program. `breaks`: ids in the order of capture; `graphs`: how many graphs the backend gets, where that is of interest;
    `everywhere`: with every backend."""

    def put(make: Callable[[], Any]) -> Any:
        PROGRAMS.append(
            Program(make, (breaks,) if isinstance(breaks, str) else tuple(breaks), graphs, everywhere, options)
        )
        return make

    return put


class Numbers:
    """Numbers that are the same to the bit, or within `tolerance` of the largest of them where that is not 0 (fused kernels)."""

    tolerance = 0.0

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def __repr__(self) -> str:
        return repr(self.values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Numbers) or len(self.values) != len(other.values):
            return False
        if repr(self.values) == repr(other.values):
            return True
        if not self.tolerance or not all(isinstance(v, (float, complex)) for v in [*self.values, *other.values]):
            return False
        finite = [abs(v) for v in self.values if cmath.isfinite(v)]
        limit = self.tolerance * max(1.0, max(finite, default=0.0))
        return all(
            a == b or (a != a and b != b) or (cmath.isfinite(a) and cmath.isfinite(b) and abs(a - b) <= limit)
            for a, b in zip(self.values, other.values, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]


class Text:
    """Printed text; the numbers in it compare as `Numbers`."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return repr(self.text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Text) or self.text == other.text:
            return isinstance(other, Text)
        mine, others = (re.split(r"(-?\d+\.\d+(?:e[-+]?\d+)?)", t) for t in (self.text, other.text))
        return mine[::2] == others[::2] and all(
            Numbers([float(a)]) == Numbers([float(b)]) for a, b in zip(mine[1::2], others[1::2], strict=True)
        )

    __hash__ = None  # type: ignore[assignment]


class Snapshot:
    """Values as plain data, with the number of an object where it is met again, so that identities are compared too."""

    def __init__(self) -> None:
        self.known: dict[int, int] = {}
        self.keep: list[Any] = []

    def of(self, v: Any, depth: int = 0) -> Any:
        if v is None or isinstance(v, (bool, int, str, bytes)):
            return v
        if isinstance(v, float):
            return Numbers([v])
        if id(v) in self.known:
            return ("again", self.known[id(v)])
        if depth > 12:
            return "..."
        if not isinstance(v, (tuple, frozenset)):
            self.known[id(v)] = len(self.known)
            self.keep.append(v)
        go = lambda x: self.of(x, depth + 1)  # noqa: E731
        if isinstance(v, torch.Tensor):
            grad = go(v._grad) if v._grad is not None else None
            marks = {k: go(x) for k, x in v.__dict__.items() if not k.startswith("_")}
            kind = type(v.grad_fn).__name__ if v.grad_fn is not None else None
            return (
                "tensor", type(v).__name__, v.dtype.name, tuple(v.shape), Numbers(v.detach().reshape(-1).tolist()), v.requires_grad,
                kind is None, grad, marks,
            )  # fmt: skip
        if isinstance(v, types.ModuleType):
            return ("module", v.__name__)
        if isinstance(v, (list, tuple, deque)):
            return (type(v).__name__, [go(x) for x in v], self.own(v, depth))
        if isinstance(v, dict):
            return (type(v).__name__, [(go(k), go(x)) for k, x in v.items()], self.own(v, depth))
        if isinstance(v, (set, frozenset)):
            return (type(v).__name__, sorted(repr(go(x)) for x in v))
        if isinstance(v, type):
            return ("class", v.__qualname__)
        if isinstance(v, types.MethodType):
            return ("method", v.__func__.__qualname__, go(v.__self__))
        if isinstance(v, types.FunctionType):
            cells = []
            for c in v.__closure__ or ():
                try:
                    cells.append(go(c.cell_contents))
                except ValueError:
                    cells.append("empty")
            return ("function", v.__qualname__, cells, self.own(v, depth))
        if isinstance(v, BaseException):
            return ("exception", type(v).__name__, [go(a) for a in v.args])
        if hasattr(v, "__dict__"):
            return (type(v).__name__, self.own(v, depth))
        return (type(v).__name__, repr(v) if "0x" not in repr(v) else "")

    def own(self, v: Any, depth: int) -> Any:
        return [
            (k, self.of(x, depth + 1))
            for k, x in sorted(getattr(v, "__dict__", {}).items())
            if k not in ("_compiled", "_compile_handler", "__wrapped__", "_torchdynamo_orig_callable")
        ]


def run(program: Program, compiled: bool, name: str = "", printer: str = "") -> tuple[list[Any], list[str], int]:
    """What each call did, the ids of the breaks, and how many graphs there were; `name` is a backend's, `printer` that of its kernels."""
    graphs: list[Any] = []

    def backend(gm: Any, inputs: Any) -> Any:
        graphs.append(gm)
        if printer:
            from tapescope.engine.compile.lower.backend import Choices, backend_with

            return backend_with(Choices(printer=printer))(gm, inputs)
        return lookup_backend(name)(gm, inputs) if name else gm.forward

    torch.manual_seed(0)
    torch.compiler.reset()
    f, calls, *state = program.make()
    breaks: list[str] = []
    seen: list[Any] = []
    if compiled:
        options = {"backend": backend, **program.options}
        f = torch.compile(f, **options)
    places: set[Any] = set()

    def broke(record: Any) -> None:
        place = (record.break_id, record.source)  # several segments may end at one place
        if place not in places:
            places.add(place)
            breaks.append(record.break_id)

    stop = bus.subscribe(broke, ["graph_break"])
    try:
        for call in calls:
            args, kwargs = ((), call) if isinstance(call, dict) else (call, {})
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                try:
                    result: Any = ("returned", f(*args, **kwargs))
                except Exception as error:
                    if type(error).__name__ == "Misused" or "capture of" in str(error):
                        raise
                    result = ("raised", type(error).__name__, str(error))
                if isinstance(result[1], types.GeneratorType):
                    result = ("generated", list(result[1]))
            shot = Snapshot()
            seen.append(
                [
                    shot.of(result),
                    Text(out.getvalue()),
                    shot.of(args),
                    shot.of(kwargs),
                    shot.of(state),
                    torch.is_grad_enabled(),
                ]
            )
    finally:
        stop()
    return seen, breaks, len(graphs)


def check(program: Program, backend: str = "", printer: str = "", tolerance: float = 0.0) -> None:
    """Compare eager and compiled (by replay, or by a backend of that name); raises AssertionError where they differ.

    `printer` names that of the backend "tapescope"; with `tolerance` floating point numbers may be apart by that.
    """
    before, STRICT.on, Numbers.tolerance = STRICT.on, True, tolerance
    try:
        want, _, _ = run(program, False)
        got, breaks, graphs = run(program, True, backend, printer)
        for i, (w, g) in enumerate(zip(want, got, strict=True)):
            assert g == w, f"call {i} of {program.name}:\n eager    {w}\n compiled {g}"
    finally:
        STRICT.on, Numbers.tolerance = before, 0.0
    assert tuple(breaks) == program.breaks, f"breaks of {program.name}: {breaks}, expected {list(program.breaks)}"
    if program.graphs is not None:
        assert graphs == program.graphs, f"graphs of {program.name}: {graphs}, expected {program.graphs}"
