"""`torch.mps`: answers that there is no such device here."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Accepted and without effect: there is no generator to seed."""
    int(seed)


def empty_cache() -> None:
    """Nothing to free."""
