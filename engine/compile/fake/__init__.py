"""Tensors without values, on a backend of their own, and symbolic sizes with the relations they were asked about."""

from .array import FakeArray
from .backend import FakeBackend
from .symbolic import (
    DataDependent,
    ShapeEnv,
    SymbolicGuard,
    SymFloat,
    SymInt,
    is_symbolic,
    symbolic_call,
    symbolic_float,
    symbolic_max,
    symbolic_min,
)
from .tensors import fake_backend, fake_like, fake_mode, is_fake

__all__ = [
    "DataDependent", "FakeArray", "FakeBackend", "ShapeEnv", "SymFloat", "SymInt", "SymbolicGuard", "fake_backend", "fake_like",
    "fake_mode", "is_fake", "is_symbolic", "symbolic_call", "symbolic_float", "symbolic_max", "symbolic_min",
]  # fmt: skip
