"""`torch.backends.mps`: there is no MPS device here (Apple GPUs are used through `webgpu`)."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False


def is_built() -> bool:
    """False."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """False: it is not asked."""
    return False
