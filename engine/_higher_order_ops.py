"""`torch._higher_order_ops`: branches and loops on data. Gathered from `compile/control.py`."""

from __future__ import annotations

from .compile.control import cond, scan, switch, while_loop

__all__ = ["cond", "scan", "switch", "while_loop"]
