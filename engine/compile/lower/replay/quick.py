"""The hot path of a compiled function: one generated Python function that checks its inputs, calls the C once, and hangs up results.

`AotFunction` and `Segment` do the same for every kind of graph; what they look up on each call is written out here for one variant whose
sizes are numbers, which runs C only, and which leaves nothing to the tape: training steps and functions without gradients. Without a
compiler it is numpy programs only, and nothing that is written to. What does
not fit, now or on a call (another gradient mode, an argument with a hook, memory that is shared), is left to the general way:
then the function answers `MISS`, and nothing has happened.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np

from ....autograd.node import ENGINE_FOLDER
from ....observe import bus
from ....state import state
from ....storage import Storage
from ....tensor import Tensor
from ...aot.variant import SpentBackward
from ..backend import MISS
from .cpu import DONE, ITEMS, OTHER_LAYOUT, SHARED, Segment
from .numpy_program import NumpySegment


def quick(owner: Any, variant: Any, key: Any) -> Callable[..., Any] | None:
    """The function for one variant of an `AotFunction`, called as that is; None where the general way is needed."""
    segment = variant.forward
    segment = getattr(segment, "chosen", None) or segment
    if isinstance(segment, Segment):
        fits = segment.static and len(segment.stretches) == 1 and segment.stretches[0][0] and not segment.file.python
    elif isinstance(segment, NumpySegment):
        # What writes to its arguments is left to the general way, which looks whether they share memory.
        fits = not (segment.symbols or segment.written or variant.mutated or variant.grads)
        fits = fits and all(step.kind != "call" for step in segment.assembly.steps)
    else:
        return None
    if (
        not fits
        or segment.numbers
        or variant.edge_inputs
        or variant.differentiable
        or variant.random
        or variant.guard is not None
        or variant.flags
        or any(history for *_, history in variant.mutated)
        or variant.tensors_saved
    ):
        return None
    return _Writer(owner, variant, key, segment).function()


class _Writer:
    def __init__(self, owner: Any, variant: Any, key: Any, segment: Segment | NumpySegment):
        self.owner, self.variant, self.key, self.segment = owner, variant, key, segment
        self.lines: list[str] = []
        self.space: dict[str, Any] = {
            "MISS": MISS, "state": state, "bus": bus, "segment": segment, "new": Tensor.__new__, "Tensor": Tensor, "Storage": Storage,
            "empty": np.empty, "copyto": np.copyto, "backend": segment.backend, "lock": segment.lock,
            "rebuild": variant.rebuild, "again": owner.gm, "Spent": SpentBackward,
        }  # fmt: skip

    def constant(self, value: Any) -> str:
        if value is None or value is True or value is False:
            return repr(value)
        name = f"K{len(self.space)}"
        self.space[name] = value
        return name

    def function(self) -> Callable[..., Any] | None:
        owner, variant = self.owner, self.variant
        count = len(owner.examples)
        self.given = [f"t{i}" for i in range(count)]
        self.given += [self.constant(owner.gm.constants[n]) for n in owner.constants]
        self.flat = [*self.given, *[f"{self.given[i]}._grad" for i in variant.grad_inputs]]
        checks = self._checks()
        body = self._body()
        if body is None:
            return None
        text = "\n".join(
            [
                f"def quick({', '.join(self.given[:count])}):",
                "    if (",
                *[f"        {'or ' if k else ''}{c}" for k, c in enumerate(checks)],
                "    ):",
                "        return MISS",
                *["    " + line for line in body],
            ]
        )
        file = f"{ENGINE_FOLDER}generated/quick_{id(self):x}.py"
        exec(compile(text, file, "exec"), self.space)
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        made = self.space["quick"]
        made.text = text
        return made

    def _checks(self) -> list[str]:
        """What must not be so: `AotFunction._key`, written out."""
        owner, variant = self.owner, self.variant
        enabled, needs, _, *gradients = self.key
        out = ["state.modes", "state.anomaly", "bus.launch", "segment.timing"]
        out.append(f"state.grad_enabled is not {enabled}")
        tensors = [name for name, n in zip(self.given, self._kinds(), strict=True) if n]
        for k, name in enumerate(tensors):
            out += [f"{name}._requires_grad is not {needs[k]}", f"{name}._base is not None"]
            if gradients:
                mine = gradients[0][k]
                if mine == -1:
                    out.append(f"{name}._grad is not None")
                elif mine >= 0:
                    out.append(f"{name}._grad is not {tensors[mine]}")
                else:
                    out.append(f"{name}._grad is None")
                    out += [f"{name}._grad is {other}" for other in tensors if self._alike(name, other)]
                if needs[k]:  # others have none that matters, and looking into their dictionary would make them slower
                    out += [f"{name}._hooks", f"'_kept_accumulator' in {name}.__dict__"]
        for i in owner.plain:
            value = owner.examples[i]
            out += [f"type(t{i}) is not {self.constant(type(value))}", f"t{i} != {self.constant(value)}"]
        for i in variant.grad_inputs:
            out += [f"{self.given[i]}._grad._base is not None"]
        return out

    def _alike(self, name: str, other: str) -> bool:
        """Whether one given tensor could be the gradient of another."""
        a, b = (self.segment.program.inputs[self.given.index(n)] for n in (name, other))
        return name != other and (a is None or b is None or (a.shape == b.shape and a.dtype == b.dtype))

    def _kinds(self) -> list[bool]:
        """Which of the given values are tensors."""
        return [i in set(self.variant.memory_inputs) for i in range(len(self.given))]

    def _body(self) -> list[str] | None:
        variant, out = self.variant, self.lines
        call = self._c(self.segment) if isinstance(self.segment, Segment) else self._numpy(self.segment)
        if call is None:
            return None
        plan, makers = call
        out.append("segment.launches += 1")
        made: list[str] = []
        for k, (kind, what) in enumerate(plan):
            if kind == "written":
                i, counted, source = what
                if source is not None:
                    if source[0] != "fresh":
                        return None
                    array = makers[source[1]]
                    out.append(f"copyto({self.flat[i]}._data, {array}.reshape({self.flat[i]}._data.shape))")
                if counted:
                    out.append(f"{self.flat[i]}._storage.version += 1")
                made.append(self.flat[i])
            elif kind == "fresh":
                where, shape, dtype, moved = what
                if shape is not None or moved is not None or dtype.rounds:
                    return None
                out += [
                    f"r{k} = new(Tensor)",
                    f"r{k}._data = {makers[where]}",
                    f"r{k}._dtype = {self.constant(dtype)}",
                    f"r{k}._storage = Storage(backend, {makers[where]})",
                ]
                made.append(f"r{k}")
            elif kind == "input":
                made.append(self.flat[what])
            elif kind == "plain":
                made.append(self.constant(what))
            else:
                return None
        for i in variant.spent:
            out += [f"{made[i]}._requires_grad = True", f"{made[i]}._grad_fn = Spent(None, ())"]
        for i, o, _ in variant.mutated:
            if made[o] != self.flat[i]:
                return None
            out.append(f"{self.flat[i]}._storage.version += 1")
        results: list[str] = []
        for place in variant.places:
            name = self._place(place, made, results)
            if name is None:
                return None
            results.append(name)
        for i, place in variant.grads:
            name = "None" if place is None else self._place(place, made, results)
            if name is None:
                return None
            out.append(f"{self.given[i]}._grad = {name}")
        if variant.grad_after is not None:
            out.append(f"state.grad_enabled = {variant.grad_after}")
        out.append(f"return rebuild([{', '.join(results)}])")
        return out

    def _c(self, segment: Segment) -> tuple[list[Any], list[str]] | None:
        """Lines that call the C: where each output is, and the names of the arrays that are made. None where they cannot be written."""
        p, out = segment.one, self.lines
        assert p is not None
        self.space["run"] = segment.stretches[0][0]
        makers = [f"a{j}" for j in range(len(p.made))]
        for name, (_, shape, dtype, order) in zip(makers, p.made, strict=True):
            if order is not None:
                return None
            out.append(f"{name} = empty({shape!r}, {self.constant(dtype)})")
        arrays = [f"{self.flat[i]}._data" for i in segment.where]
        out += [
            f"objects = ({''.join(f'{a}, ' for a in (*arrays, *makers))})",
            "with lock:",
            f"    done = run({p.address}, id(objects) + {ITEMS})",
            f"if done != {DONE}:",
            f"    if done == {OTHER_LAYOUT} or done == {SHARED}:",
            "        return MISS",
            "    return again(" + ", ".join(self.given[: len(self.owner.examples)]) + ")",
        ]
        return segment.plan, makers

    def _numpy(self, segment: NumpySegment) -> tuple[list[Any], list[str]] | None:
        """Lines that run the numpy programs, as `_c`. They write to nothing that was there before, so that the general way can do all
        of it again where one of them raises."""
        out = self.lines
        if any(i >= len(self.flat) for i, _ in segment.bound) or any(order is not None for *_, order in segment.fresh):
            return None
        makers = [f"a{j}" for j in range(len(segment.fresh))]
        memory: list[str] = []
        for i, slot in segment.bound:
            v = segment.program.inputs[i]
            if v is None or v.strides is not None:
                return None
            out += [f"d{i} = {self.flat[i]}._data", f"if not d{i}.flags.c_contiguous:", "    return MISS"]
            memory.append(f"{slot}: d{i}.reshape(-1)")
        where: dict[Any, int] = {}
        for j, (v, root, slot, dtype, _) in enumerate(segment.fresh):
            where[root] = j
            shape = tuple(n.number for n in v.shape)
            out.append(f"a{j} = empty({shape!r}, {self.constant(dtype)})")
            memory.append(f"{slot}: a{j}.reshape(-1)")
        arena = self.constant(segment._arena(()))
        out += ["try:", "    with lock:", f"        m = {{**{arena}, {', '.join(memory)}}}"]
        for k, (step, kernel) in enumerate(zip(segment.assembly.steps, segment.steps, strict=True)):
            if kernel is None:
                out.append(f"        segment._step({k}, {self.constant(step)}, m, (), (), None, ())")
            else:
                out.append(f"        {self.constant(kernel)}(m, (), ())")
        out += ["except Exception:", "    return MISS"]
        plan: list[Any] = []
        for k, (o, base) in enumerate(zip(segment.program.outputs, segment.bases, strict=True)):
            if o.value is None or base is None:
                plan.append(("plain", o.plain))
            elif base.kind == "input":
                plan.append(("input", base.data))
            elif (j := where.get(segment.assembly.root(base))) is None or o.spec is None or k in segment.assembly.moved:
                return None
            else:
                shape = None if o.value.shape == base.shape else o.value.shape
                plan.append(("fresh", (j, shape, o.spec.dtype, None)))
        return plan, makers

    def _place(self, place: Any, made: list[str], results: list[str]) -> str | None:
        if place.kind == "value":
            return made[place.index]
        if place.kind == "plain":
            return self.constant(place.value)
        if place.kind == "input":
            return self.given[place.index]
        return results[place.index] if place.kind == "same" else None


__all__ = ["quick"]
