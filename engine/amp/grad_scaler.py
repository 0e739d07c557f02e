"""`GradScaler`: multiplies the loss so that small gradients survive 16 bits, and divides again before the optimizer steps.

A step whose gradients are not finite is skipped and the factor halved; after `growth_interval` good steps it doubles.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import Any

from .. import dtypes
from ..autograd import no_grad
from ..device import device as Device
from ..tensor import Tensor

_READY, _UNSCALED, _STEPPED = range(3)


class GradScaler:
    """Scales losses, unscales gradients, skips bad steps.

    `enabled=False` makes every method pass through. Raises ValueError for factors that make no sense.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        if device == "cuda" and enabled:
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            enabled = False
        self._device = "cpu" if device == "cuda" else Device(device).type
        self._enabled = enabled
        if enabled:
            if growth_factor <= 1.0:
                raise ValueError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise ValueError("The backoff factor must be < 1.0.")
        self._scale = float(init_scale)
        self._growth, self._backoff, self._interval = growth_factor, backoff_factor, growth_interval
        self._good_steps = 0
        self._state: dict[int, dict[str, Any]] = defaultdict(lambda: {"stage": _READY, "bad": False})

    def scale(self, outputs: Any) -> Any:
        """A loss (or several) times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        return type(outputs)(self.scale(o) for o in outputs)

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the factor. Raises RuntimeError when done twice."""
        if not self._enabled:
            return
        mine = self._state[id(optimizer)]
        if mine["stage"] == _UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if mine["stage"] == _STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        bad = False
        with no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        if p.grad.dtype is dtypes.float16:
                            raise ValueError("Attempting to unscale FP16 gradients.")
                        p.grad.mul_(1.0 / self._scale)
                        bad = bad or not bool(p.grad.isfinite().all().item())
        mine["stage"], mine["bad"] = _UNSCALED, bad

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()`, unless a gradient is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        mine = self._state[id(optimizer)]
        if mine["stage"] == _STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if mine["stage"] == _READY:
            self.unscale_(optimizer)
        out = None if mine["bad"] else optimizer.step(*args, **kwargs)
        mine["stage"] = _STEPPED
        return out

    def update(self, new_scale: Any = None) -> None:
        """Set the factor for the next step."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif any(s["bad"] for s in self._state.values()):
            self._scale *= self._backoff
            self._good_steps = 0
        else:
            self._good_steps += 1
            if self._good_steps == self._interval:
                self._scale *= self._growth
                self._good_steps = 0
        self._state.clear()

    def get_scale(self) -> float:
        """The factor; 1.0 when disabled."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """What the factor grows by."""
        return self._growth

    def get_backoff_factor(self) -> float:
        """What it shrinks by."""
        return self._backoff

    def get_growth_interval(self) -> int:
        """Good steps before it grows."""
        return self._interval

    def state_dict(self) -> dict[str, Any]:
        """The state, in PyTorch's form; empty when disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth, "backoff_factor": self._backoff, "growth_interval": self._interval,
            "_growth_tracker": self._good_steps,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state over. Raises RuntimeError for that of a disabled scaler."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._scale, self._good_steps = float(state_dict["scale"]), state_dict["_growth_tracker"]
        self._growth, self._backoff, self._interval = (
            state_dict["growth_factor"], state_dict["backoff_factor"], state_dict["growth_interval"],
        )  # fmt: skip
