"""What kinds of adapters want: the choices that kernels' callers make by adapter and by class of shapes.

A profile is a handful of choices. Software adapters run a workgroup's threads in vectors on CPU cores: barriers are dear, registers
plenty, and neighbouring threads need no coalescing; GPUs want many threads. Between the two, and among GPUs, a probe decides: it
measures each of `CANDIDATES` on each of `SHAPES` and each way to reduce rows, and `chosen` makes a profile of the figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .matmul import HARDWARE_TILES, SOFTWARE_TILES, Tile
from .wgsl import SUBGROUPS, Kernel


@dataclass(frozen=True, slots=True)
class Profile:
    """`rows` says who reduces a row: "serial" one thread (or a few that never meet), "tree" a workgroup.

    Products take the largest of `tiles` that gives `threads` threads something to do.
    """

    name: str
    rows: str = "tree"
    tiles: tuple[Tile, ...] = HARDWARE_TILES
    threads: int = 4096


SOFTWARE = Profile("software", "serial", SOFTWARE_TILES, 32)
HARDWARE = Profile("hardware")

SUBGROUP_PROBE = Kernel(
    "subgroup_probe",
    SUBGROUPS
    + """@group(0) @binding(0) var<storage, read_write> result: array<u32>;
@group(0) @binding(1) var<uniform> P: array<vec4<u32>, 16>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(subgroup_size) size: u32,
        @builtin(subgroup_invocation_id) mine: u32) {
  let next = subgroupBroadcast(lane + P[0].x, 1u);
  result[lane] = select(0u, size, mine == lane % size && next == lane - mine + 1u);
}
""",
    "w",
    64,
)
"""Writes the size of subgroups for each thread of a workgroup of 64, or 0 where neighbours in a workgroup are not neighbours there."""

CANDIDATES: dict[str, tuple[tuple[Tile, ...], int]] = {
    "large tiles, few threads": (SOFTWARE_TILES, 32),
    "large tiles, many threads": (SOFTWARE_TILES, 1024),
    "middle tiles, many threads": (HARDWARE_TILES, 4096),
    "small tiles, very many threads": (HARDWARE_TILES[1:], 16384),
}
"""Tiles and threads that products may have, by what they are."""

SHAPES: dict[str, tuple[int, int, int]] = {
    "square": (384, 384, 384), "tall": (1024, 128, 96), "small": (48, 128, 64), "one row": (1, 512, 512),
}  # fmt: skip
"""Products (M, K, N) that stand for a class of shapes each."""

ROWS = {"softmax": (512, 512), "sum": (512, 512)}
"""Operators over rows, and the arrays on which both ways are measured."""


def profile_for(kind: str, name: str = "") -> Profile:
    """The profile of an adapter of this kind ("cpu" for software) and name, unless it was measured."""
    return SOFTWARE if kind == "cpu" or "swiftshader" in name.lower() else HARDWARE


def chosen(products: Mapping[str, Mapping[str, float]], rows: Mapping[str, Mapping[str, float]]) -> Profile:
    """The profile for an adapter, of seconds by candidate and shape, and by way and operator.

    The candidate whose figures are, on the whole, nearest to the best of each shape: the least product of ratios.
    """

    def best(figures: Mapping[str, Mapping[str, float]]) -> str:
        least = {what: min(f[what] for f in figures.values()) for what in next(iter(figures.values()))}

        def loss(name: str) -> float:
            total = 1.0
            for what, seconds in figures[name].items():
                total *= seconds / least[what]
            return total

        return min(figures, key=loss)

    name, way = best(products), best(rows)
    tiles, threads = CANDIDATES[name]
    return Profile(f"measured: {name}; rows {way}", way, tiles, threads)
