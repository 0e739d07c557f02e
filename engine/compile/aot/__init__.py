"""Tracing of primitives with forward and backward joined, functionalisation, and the partition into what is saved and recomputed."""

from .function import AotFunction
from .partition import Decision, Partition, partition
from .trace import make_fx

__all__ = ["AotFunction", "Decision", "Partition", "make_fx", "partition"]
