"""`torch.compile(check=True)`: every call of a captured graph runs its operators, too, from the same state, and everything is compared.

Compared are results, inputs that are written to, gradients that are set, the generator of random numbers, and the gradients that go
back through the call (pulled through both with the same weights). Where a backend runs the same kernels in the same order the bits must be
the same; else results may be apart by `TOLERANCES`, as parts of the largest element. Generated kernels are compared once more by
themselves, forward and backward (`lower/replay/check.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd.op_node import saved_tensor_hooks
from ..autograd.run import run_backward
from ..func.trees import flatten
from ..observe import bus
from ..ops.creation import from_numpy
from ..random import GENERATORS, default_generator
from ..state import state
from ..tensor import Tensor, gradient_edge
from .graph import GraphModule

TOLERANCES = {
    "float32": 2e-5, "float64": 1e-11, "complex64": 2e-5, "complex128": 1e-11, "float16": 2e-2, "bfloat16": 2e-2,
}  # fmt: skip
"""How far results may be apart, as parts of the largest element of a result."""
_SMALL = 1e-2
"""Largest elements below this count as this: what remains where everything cancels is noise."""
SAME_KERNELS = ("eager", "aot_eager")
"""Backends that run the kernels which eager execution runs, in its order."""


class Mismatch(AssertionError):
    """A compiled result is not the eager one."""


def difference(made: Tensor, wanted: Tensor, exact: bool = False) -> tuple[str | None, float]:
    """What is wrong with a result as the end of a sentence (None: nothing), and how far it is away, as a part of the largest element."""
    if made.device != wanted.device or made.dtype is not wanted.dtype or made.shape != wanted.shape:
        is_, was = (f"{list(t.shape)}, {t.dtype.name} on {t.device}" for t in (made, wanted))
        return f"is {is_}, eager's is {was}", 0.0
    x, y = (np.asarray(t.detach().cpu().numpy()) if not t.dtype.rounds else _float(t) for t in (made, wanted))
    if x.tobytes() == y.tobytes() or not x.size:
        return None, 0.0
    if x.dtype.kind not in "fc":
        return "differs from eager's", 0.0
    finite = np.isfinite(y)
    scale = float(np.abs(y[finite]).max()) if finite.any() else 0.0
    apart = float(np.abs(x[finite] - y[finite]).max()) if finite.any() else 0.0
    away = apart / max(scale, _SMALL)
    told = f"is {apart:.3g} away from eager's, whose largest element is {scale:.3g}"
    if not np.array_equal(x[~finite], y[~finite], equal_nan=True) or not np.isfinite(x[finite]).all():
        return "has other infinities or NaN than eager's", away
    if exact:
        return (None if np.array_equal(x, y, equal_nan=True) else f"{told}, although nothing was reordered"), away
    limit = TOLERANCES.get(made.dtype.name, 2e-5)
    return (None if away <= limit else f"{told}; {limit:g} of that is allowed"), away


def _float(t: Tensor) -> Any:
    return t.detach().cpu().float().numpy()


def checked(backend: Callable[..., Any], exact: bool) -> Callable[..., Any]:
    """A backend whose graphs are compared on every call; `exact` asks for the same bits."""

    def check(gm: GraphModule, example_inputs: Sequence[Any]) -> Any:
        return CheckedGraph(gm, backend(gm, example_inputs), exact)

    check.__name__ = getattr(backend, "__name__", "backend")
    return check


class CheckedGraph:
    """What a backend made of a graph, run beside the graph itself. `compiled` is it; other attributes are its own."""

    def __init__(self, gm: GraphModule, compiled: Callable[..., Any], exact: bool):
        self.gm, self.compiled, self.exact = gm, compiled, exact
        self.worst = 0.0
        """The largest difference so far, as a part of the largest element."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["compiled"], name)

    def __call__(self, *inputs: Any) -> Any:
        if state.modes or any(isinstance(t, Tensor) and _heard(t) for t in inputs):
            return self.compiled(*inputs)  # transforms and hooks would see both runs
        generators = [default_generator, *[g for _, g in GENERATORS.values()]]
        before = [g.state_bytes() for g in generators]
        eager = self._eager(inputs)
        drawn = [g.state_bytes() for g in generators]
        for g, kept in zip(generators, before, strict=True):
            g.load_state_bytes(kept)
        ends = _ends(inputs)
        old = [t._grad if isinstance(t, Tensor) else None for t in inputs]
        written = [t._storage.version if isinstance(t, Tensor) else 0 for t in inputs]
        made = self.compiled(*inputs)
        if eager is None:  # its error has come out of the compiled run as well, or will at the user's line
            return made
        wanted, copies, eager_ends, versions = eager
        self._results(made, wanted)
        for i, (t, copy) in enumerate(zip(inputs, copies, strict=True)):
            if not isinstance(t, Tensor):
                continue
            if t._storage.version != written[i] or copy._storage.version != versions[i]:
                self._compare(t, copy, f"input {i}")
            if t._grad is not old[i] or copy._grad is not None:
                self._gradient(t._grad, copy._grad, f"the gradient of input {i}")
        if drawn != [g.state_bytes() for g in generators]:
            raise Mismatch("torch.compile(check=True): other random numbers were drawn than in eager execution")
        for i, t in enumerate(inputs):
            if isinstance(t, Tensor) and t._base is not None and t._storage.version != written[i]:
                ends[i] = None  # its history went on from its base
        self._backward(made, wanted, ends, [None if e is None else x for e, x in zip(ends, eager_ends, strict=True)])
        return made

    def _eager(self, inputs: Sequence[Any]) -> tuple[Any, list[Any], list[Any], list[int]] | None:
        """Results, copies of inputs, their places on the tape and versions, of the operators; None where they raise."""
        held = {n: v for n, v in self.gm.constants.items() if isinstance(v, Tensor)}
        modes = state.grad_enabled, state.modes
        with _unheard():
            copies = _copies([*inputs, *held.values()])
            if copies is None:
                return None
            self.gm.constants.update(zip(held, copies[len(inputs) :], strict=True))
            copies = copies[: len(inputs)]
            ends = _ends(copies)
            versions = [t._storage.version if isinstance(t, Tensor) else 0 for t in copies]
            try:
                return self.gm.forward(*copies), copies, ends, versions
            except Exception:
                return None
            finally:
                self.gm.constants.update(held)
                state.grad_enabled, state.modes = modes

    def _results(self, made: Any, wanted: Any) -> None:
        got, expected = flatten(made)[0], flatten(wanted)[0]
        if len(got) != len(expected):
            raise Mismatch(f"torch.compile(check=True): {len(got)} results, eager has {len(expected)}")
        for i, (a, b) in enumerate(zip(got, expected, strict=True)):
            if isinstance(a, Tensor) and isinstance(b, Tensor):
                self._compare(a, b, f"result {i}", i)
            elif type(a) is not type(b) or not (a is b or a == b or (a != a and b != b)):
                raise Mismatch(f"torch.compile(check=True): result {i} is {a!r}, eager's is {b!r}")

    def _gradient(self, made: Any, wanted: Any, name: str) -> None:
        if made is None or wanted is None:
            if made is not wanted:
                there, not_there = ("eager", "compiled") if made is None else ("compiled", "eager")
                raise Mismatch(f"torch.compile(check=True): {name} is there in {there} execution, not in {not_there}")
            return
        self._compare(made, wanted, name)

    def _compare(self, made: Tensor, wanted: Tensor, name: str, result: int | None = None) -> None:
        said, away = difference(made, wanted, self.exact)
        self.worst = max(self.worst, away)
        if said is None and made.requires_grad != wanted.requires_grad and result is not None:
            said = f"requires a gradient: {made.requires_grad}, eager's: {wanted.requires_grad}"
        if said is not None:
            raise Mismatch(f"torch.compile(check=True): {name}{self._where(result)} {said}")

    def _where(self, result: int | None) -> str:
        nodes = flatten(self.gm.graph.output_node.args[0])[0] if result is not None else []
        source = nodes[result].meta.get("source") if result is not None and hasattr(nodes[result], "meta") else None
        return f" (from {source.file}:{source.line})" if source is not None else ""

    def _backward(self, made: Any, wanted: Any, ends: list[Any], eager_ends: list[Any]) -> None:
        """Pull the same gradients through both, up to the inputs."""
        if saved_tensor_hooks or all(e is None for e in ends):
            return
        found = []
        for value, places in ((made, ends), (wanted, eager_ends)):
            roots = [t for t in flatten(value)[0] if isinstance(t, Tensor) and t.requires_grad]
            with _unheard():
                try:
                    found.append(
                        run_backward(
                            [gradient_edge(t) for t in roots],
                            [_weights(t) for t in roots],
                            retain_graph=True,
                            create_graph=False,
                            wanted=[e for e in places if e is not None],
                            gather=False,
                            cut=True,
                        )
                    )
                except RuntimeError as error:  # what was walked inside already, or written over since
                    found.append(str(error))
        if isinstance(found[0], str) or isinstance(found[1], str):
            if isinstance(found[0], str) and not isinstance(found[1], str):
                raise Mismatch(f"torch.compile(check=True): the backward pass fails, eager's does not: {found[0]}")
            return
        places = [i for i, e in enumerate(ends) if e is not None]
        for i, a, b in zip(places, *found, strict=True):
            self._gradient(a, b, f"the gradient that goes back to input {i}")


def _heard(t: Tensor) -> bool:
    return bool(t._hooks) or "_kept_accumulator" in t.__dict__


def _ends(inputs: Sequence[Any]) -> list[Any]:
    """Where each input hangs on the tape; None where it needs no gradient."""
    return [
        gradient_edge(t) if state.grad_enabled and isinstance(t, Tensor) and t.requires_grad else None for t in inputs
    ]


def _weights(t: Tensor) -> Tensor:
    weights = np.linspace(0.5, 1.5, t.numel()).reshape(tuple(t.shape))
    return from_numpy(weights).to(t.device).to(t.dtype)


def _copies(values: Sequence[Any]) -> list[Any] | None:
    """Inputs again, in memory of their own, sharing it among one another as before. None where that cannot be had."""
    shared: dict[int, list[Tensor]] = {}
    for t in values:
        if isinstance(t, Tensor):
            shared.setdefault(_memory(t), []).append(t)
    wholes: dict[int, Tensor] = {}
    known: dict[int, Tensor] = {}
    before, state.grad_enabled = state.grad_enabled, False
    try:
        for key, group in shared.items():
            if len({id(t) for t in group}) == 1:
                continue
            if len({t.dtype for t in group}) > 1 or any(t.requires_grad for t in group):
                return None  # views with a history: what one writes the others have to see on the tape
            size = 1 + max(
                t.storage_offset() + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))
                for t in group
                if t.numel()
            )
            wholes[key] = group[0].as_strided((size,), (1,), 0).clone()
        out = []
        for t in values:
            if not isinstance(t, Tensor):
                out.append(t)
                continue
            if id(t) not in known:
                whole = wholes.get(_memory(t))
                copy = (
                    t.detach().clone()
                    if whole is None
                    else whole.as_strided(tuple(t.shape), t.stride(), t.storage_offset()).detach()
                )
                known[id(t)] = _same_kind(copy, t)
            out.append(known[id(t)])
        return out
    finally:
        state.grad_enabled = before


def _memory(t: Tensor) -> int:
    return id(getattr(t._storage, "owner", t._storage).data)


def _same_kind(copy: Tensor, t: Tensor) -> Tensor:
    """Let a copy be a leaf or not, as what it is a copy of, with its gradient."""
    if t.requires_grad:
        copy.requires_grad_()
        if t.grad_fn is not None:
            state.grad_enabled = True
            copy = copy.clone()
            state.grad_enabled = False
            copy._retains = True
    if t._grad is not None:
        copy._grad = t._grad.detach().clone()
    return copy


class _unheard:
    """Nobody hears of what happens here."""

    def __enter__(self) -> None:
        self._heard = bus.op, bus.backward, bus.node
        bus.op = bus.backward = bus.node = False

    def __exit__(self, *error: object) -> None:
        bus.op, bus.backward, bus.node = self._heard


__all__ = ["SAME_KERNELS", "TOLERANCES", "CheckedGraph", "Mismatch", "checked", "difference"]
