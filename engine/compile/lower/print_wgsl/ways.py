"""Ways to print one step of a WebGPU segment: what `max-autotune` chooses between.

Which of them differ for a step shows when they are printed: those with the same text are one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """One way. `rank` says which of a product's tilings, the cheapest by the cost model first."""

    name: str
    rank: int = 0
    subgroups: bool | None = None
    """Whether subgroups make products and walk rows; None for what is usual on the adapter."""

    four: bool = True
    """Whether a thread takes four elements where it can."""

    engine: bool = False
    """Whether the engine's own kernel makes a product."""


USUAL = Way("usual")

TILINGS = 4
"""Tilings of a product that are tried."""

PRODUCTS = (
    USUAL,
    *(Way(f"tiling {r + 1} by subgroups", r, True) for r in range(TILINGS)),
    Way("the engine's product", engine=True),
)
KERNELS = (
    USUAL,
    Way("a subgroup a row", subgroups=True),
    Way("a thread a row", subgroups=False),
    Way("one element a thread", subgroups=False, four=False),
)
BY_NAME = {w.name: w for w in (*PRODUCTS, *KERNELS)}


__all__ = ["BY_NAME", "KERNELS", "PRODUCTS", "USUAL", "Way"]
