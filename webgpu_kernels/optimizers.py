"""Steps of optimizers: each parameter with its gradient and its states in one pass over memory, several parameters a launch.

As many parameters share a launch as their buffers fit into the storage bindings that every device has: two of Adam's, four of plain
gradient descent.  A thread takes one element (or four, `wide`) of one of them.

Parameters: for each slot its elements (or fours) and the offsets of its arrays; then the numbers of the step, as f32.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from .pointwise import FLAT_GROUP as GROUP
from .wgsl import FOLDED, MAX_STORAGE_BUFFERS, Kernel, Program, fold


@dataclass(frozen=True, slots=True)
class Step:
    """A step: its arrays (p, then g, then states), its numbers, and the lines that compute new values of p and the states."""

    arrays: tuple[str, ...]
    numbers: tuple[str, ...]
    body: tuple[str, ...]

    @property
    def slots(self) -> int:
        """Parameters a launch."""
        return MAX_STORAGE_BUFFERS // len(self.arrays)


STEPS: dict[str, Step] = {
    "sgd": Step(("p", "g"), ("decay", "lr"), ("p = p - (g + p * decay) * lr;",)),
    "momentum": Step(
        ("p", "g", "b"),
        ("decay", "lr", "momentum", "rest", "nesterov"),
        (
            "let d = g + p * decay;",
            "b = b * momentum + d * rest;",
            "if (nesterov != 0.0) { p = p - (d + b * momentum) * lr; } else { p = p - b * lr; }",
        ),
    ),
    "adam": Step(
        ("p", "g", "m", "v"),
        ("decay", "keep", "part", "beta2", "rest", "root", "eps", "lr"),
        (
            "let d = g + p * decay;",
            "m = m + (d - m) * part;",
            "v = v * beta2 + d * d * rest;",
            "p = p * keep - m / (sqrt(v) / root + eps) * lr;",
        ),
    ),
    "rmsprop": Step(
        ("p", "g", "v"),
        ("decay", "alpha", "rest", "eps", "lr"),
        ("let d = g + p * decay;", "v = v * alpha + d * d * rest;", "p = p - d / (sqrt(v) + eps) * lr;"),
    ),
    "rmsprop_momentum": Step(
        ("p", "g", "v", "b"),
        ("decay", "alpha", "rest", "eps", "lr", "momentum"),
        (
            "let d = g + p * decay;",
            "v = v * alpha + d * d * rest;",
            "b = b * momentum + d / (sqrt(v) + eps);",
            "p = p - b * lr;",
        ),
    ),
}  # fmt: skip
"""By name. `keep` is what decoupled decay leaves of p, `decay` what ordinary decay adds to g."""


@functools.cache
def build(name: str, slots: int, wide: bool) -> Kernel:
    """The kernel of a step of `slots` parameters, all f32. Bindings: the arrays of the first, of the second, ..."""
    step = STEPS[name]
    p = Program(f"step_{name}.{slots}{'.wide' if wide else ''}", (GROUP, 1))
    buffers = [
        {a: p.buffer(f"{a}{s}", "f32", "r" if a == "g" else "w", wide=wide) for a in step.arrays} for s in range(slots)
    ]
    counts, offsets = [], []
    for s in range(slots):
        counts.append(p.word(f"n{s}"))
        offsets.append({a: p.word(f"offset_{a}{s}") for a in step.arrays})
    kind = "vec4<f32>" if wide else "f32"
    p.main(*[f"let {n} = {p.word(n, 'f32')};" for n in step.numbers], f"var i = {FOLDED} * {GROUP}u + lane;")
    for s in range(slots):
        p.main(f"if (i < {counts[s]}) {{")
        for a in step.arrays:
            p.main(f"  {'let' if a == 'g' else 'var'} {a}: {kind} = {buffers[s][a].name}[{offsets[s][a]} + i];")
        p.main(*["  " + line for line in step.body])
        for a in step.arrays:
            if a != "g":
                p.main(f"  {buffers[s][a].name}[{offsets[s][a]} + i] = {a};")
        p.main("  return;", "}", f"i -= {counts[s]};")
    return p.build()


def grid(counts: Sequence[int]) -> tuple[int, int, int]:
    """Workgroups for parameters of so many elements (or fours)."""
    return fold(-(-sum(counts) // GROUP))
