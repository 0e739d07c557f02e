"""What kinds of adapters want: the choices that kernels' callers make by adapter.

A profile is a handful of numbers, chosen by the adapter's kind and name.  Software adapters run a workgroup's threads in
vectors on CPU cores: barriers are dear, registers plenty, and neighbouring threads need no coalescing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """`rows` says who reduces a row: "serial" one thread (or a few that never meet), "tree" a workgroup."""

    name: str
    rows: str = "tree"


SOFTWARE = Profile("software", rows="serial")
HARDWARE = Profile("hardware")


def profile_for(kind: str, name: str = "") -> Profile:
    """The profile of an adapter of this kind ("cpu" for software) and name."""
    return SOFTWARE if kind == "cpu" or "swiftshader" in name.lower() else HARDWARE
