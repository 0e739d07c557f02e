"""The values of a tensor in short: its range, a histogram, how many are NaN or infinite.

Large tensors are sampled, and what was computed is kept until the tensor changes, so that a list of variables costs
little after every cell.  Tensors of other devices are not read: that would make the kernel wait for them.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

from .torch_name import ENGINE

__all__ = ["BINS", "TensorFacts", "facts_of_array"]

BINS = 16
SAMPLE = 65_536
"""Elements that are looked at: of a larger tensor every n-th."""

BUDGET = 0.03
"""Seconds for one list; what has no facts then gets them with a later list."""


def facts_of_array(array: Any) -> dict[str, Any]:
    """`histogram`, `low`, `high`, `nan` and `inf` of a numpy array of numbers; empty for anything else.

    `nan` and `inf` count the looked-at elements, `sampled` says that these are not all.
    """
    import numpy as np

    if array.dtype.kind not in "fiub" or not array.size:
        return {}
    flat = array.reshape(-1) if array.flags.c_contiguous else array.ravel() if array.size <= SAMPLE else array.flat
    step = max(1, math.ceil(array.size / SAMPLE))
    values = np.asarray(flat[::step], dtype=np.float64)
    finite = values[np.isfinite(values)]
    facts: dict[str, Any] = {
        "nan": int(np.isnan(values).sum()), "inf": int(np.isinf(values).sum()), "sampled": step > 1
    }  # fmt: skip
    if finite.size:
        low, high = float(finite.min()), float(finite.max())
        facts |= {"low": low, "high": high, "mean": float(finite.mean())}
        if finite.size > 1 and high > low and math.isfinite(high - low):
            facts["histogram"] = np.histogram(finite, BINS, (low, high))[0].tolist()
    return facts


class TensorFacts:
    """Facts of the tensors of one namespace, kept by name until the value changes."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[int, int], dict[str, Any]]] = {}
        self._until = 0.0

    def begin(self) -> None:
        """A list is about to be made."""
        self._until = time.perf_counter() + BUDGET

    def of(self, name: str, value: Any) -> dict[str, Any]:
        """The facts of a variable; empty for what is no tensor or array on the CPU, or where the time is up."""
        array, version = _array(value)
        if array is None:
            self._kept.pop(name, None)
            return {}
        key = (id(value), version)
        kept = self._kept.get(name)
        if kept is not None and version >= 0 and kept[0] == key:
            return kept[1]
        if time.perf_counter() > self._until:
            return {}
        try:
            facts = facts_of_array(array)
        except Exception:
            facts = {}
        self._kept[name] = (key, facts)
        return facts


def _array(value: Any) -> tuple[Any, int]:
    """The memory of a tensor or array on the CPU as an array, and its version (-1: it has none)."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None, -1
    if type(value) is numpy.ndarray:
        return value, -1
    engine = sys.modules.get(ENGINE)
    if engine is not None and issubclass(type(value), engine.Tensor):
        data = value._data
        return (data, int(value._storage.version)) if type(data) is numpy.ndarray else (None, -1)
    return None, -1
