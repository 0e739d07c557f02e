"""`torch.utils`: loading data, and the handles of hooks."""

from . import data, hooks

__all__ = ["data", "hooks"]
