"""Tracing of primitives with forward and backward joined, functionalisation, and the partition into what is saved and recomputed."""

from .trace import make_fx

__all__ = ["make_fx"]
