"""Process-wide switches that programs set: determinism, threads, precision of products.

The engine is deterministic on every device and leaves threads to numpy, so most of them are kept and change nothing.
"""

from __future__ import annotations

import os
from typing import Any

from . import dtypes

_kept: dict[str, Any] = {
    "deterministic": False,
    "warn_only": False,
    "precision": "highest",
    "threads": None,
    "interop": 1,
}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Kept; results are deterministic in any case."""
    _kept["deterministic"], _kept["warn_only"] = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What was set."""
    return _kept["deterministic"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What was set."""
    return _kept["deterministic"] and _kept["warn_only"]


def set_float32_matmul_precision(precision: str) -> None:
    """Kept; products are always made in float32. Raises RuntimeError for other words."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"{precision} is not one of 'highest', 'high', or 'medium'; it is not a precision of float32 products"
        )
    _kept["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What was set."""
    return _kept["precision"]


def set_num_threads(number: int) -> None:
    """Kept; numpy's library decides. Raises RuntimeError below 1."""
    if not isinstance(number, int):
        raise TypeError(f"set_num_threads expects an int, but got {type(number).__name__}")
    if number < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    _kept["threads"] = number


def get_num_threads() -> int:
    """What was set, else the number of cores."""
    return _kept["threads"] or os.cpu_count() or 1


def set_num_interop_threads(number: int) -> None:
    """Kept."""
    _kept["interop"] = number


def get_num_interop_threads() -> int:
    """What was set."""
    return _kept["interop"]


def set_flush_denormal(mode: bool) -> bool:
    """False: denormal numbers are always kept."""
    return False


def set_default_tensor_type(t: Any) -> None:
    """The older `set_default_dtype`, by a tensor type or its name ("torch.DoubleTensor"). Raises TypeError for others."""
    from .legacy import TYPES

    label = t if isinstance(t, str) else getattr(t, "__name__", "")
    kind = TYPES.get(label.removeprefix("torch."))
    if kind is None:
        raise TypeError(f"invalid type object: {t!r}")
    dtypes.set_default_dtype(kind.dtype)


NAMES = (
    use_deterministic_algorithms, are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled,
    set_float32_matmul_precision, get_float32_matmul_precision, set_num_threads, get_num_threads, set_num_interop_threads,
    get_num_interop_threads, set_flush_denormal, set_default_tensor_type,
)  # fmt: skip
