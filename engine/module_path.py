"""The dotted path of the module that runs now ("Net.fc1"), kept by `nn.Module` and read by the tape, and a counter
that moves whenever the structure of any module changes, read by whoever remembers something about modules."""

from __future__ import annotations

current: str = ""
"""The path of the innermost module whose `forward` runs; "" outside of modules."""

structure_epoch: int = 0
"""Moves when a module's parameters, buffers, children, hooks or training flag change."""


def structure_changed() -> None:
    """Say that some module changed."""
    global structure_epoch
    structure_epoch += 1
