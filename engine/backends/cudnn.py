"""`torch.backends.cudnn`: switches that programs set; they are kept and change nothing, as without cuDNN."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True
benchmark_limit = 10


def is_available() -> bool:
    """False."""
    return False


def version() -> None:
    """None: there is no cuDNN."""
    return


@contextlib.contextmanager
def flags(enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False,
          allow_tf32: bool = True, fp32_precision: str = "none") -> Iterator[None]:  # fmt: skip
    """Accepted inside `with`, without effect."""
    yield
