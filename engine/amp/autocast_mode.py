"""`torch.autocast`: a dispatch mode that casts the operands of some primitives, by a table of names.

Matrix products and convolutions run in the fast dtype (bfloat16 or float16), losses and products of many numbers in float32, and
operators of several tensors in the widest of their dtypes.  Everything else runs as it comes.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from .. import dispatch, dtypes
from ..device import device as Device
from ..modes import Mode
from ..ops.table import Op
from ..state import state
from ..tensor import Tensor

FAST = frozenset(
    {
        "mm",
        "bmm",
        "addmm",
        "mv",
        "dot",
        "baddbmm",
        "addbmm",
        "convolution",
        "linear",
        "scaled_dot_product_attention",
        "einsum",
    }
)
"""Primitives that run in the fast dtype."""
PRECISE = frozenset(
    {
        "nll_loss", "mse_loss", "prod", "cumprod", "cdist", "grid_sampler", "ctc_loss", "binary_cross_entropy", "quantile", "trace",
        "cosine_embedding_loss", "kl_div",
    }
)  # fmt: skip
"""Primitives that run in float32."""
WIDEST = frozenset({"cat", "stack", "index_copy"})
"""Primitives that run in the widest dtype of their tensors."""
_devices: dict[str, dict[str, Any]] = {}


def _defaults(kind: str) -> dict[str, Any]:
    return _devices.setdefault(kind, {"dtype": dtypes.bfloat16 if kind == "cpu" else dtypes.float16, "enabled": False})


class AutocastMode(Mode):
    """Casts operands on their way to the backend."""

    def __init__(self, kind: str, dtype: Any, enabled: bool):
        self.kind, self.dtype, self.enabled = kind, dtype, enabled
        self.casts = enabled

    def call(self, op: Op, args: tuple[Any, ...], statics: tuple[Any, ...]) -> Any:
        if not self.enabled:
            return super().call(op, args, statics)
        with self.outside():
            if op.name in FAST:
                args = tuple(self._cast(a, self.dtype) for a in args)
            elif op.name in PRECISE:
                args = tuple(self._cast(a, dtypes.float32) for a in args)
            elif op.name in WIDEST:
                kinds = [a.dtype for a in args if isinstance(a, Tensor) and a.dtype.is_floating_point]
                if len(set(kinds)) > 1:
                    target = functools.reduce(dtypes.promote_types, kinds)
                    args = tuple(self._cast(a, target) for a in args)
            return dispatch.call(op, args, statics)

    def _cast(self, value: Any, kind: Any) -> Any:
        if not isinstance(value, Tensor) or not value.dtype.is_floating_point or value.dtype in (kind, dtypes.float64):
            return value
        return value.to(kind)


class autocast:
    """Inside `with`, or in a decorated function, operators are cast as the table says.

    `device_type` is the device whose operators are meant, `dtype` the fast dtype (bfloat16 on the CPU, float16 elsewhere). Raises
    RuntimeError for an unknown device; an unsuited dtype on the CPU is a warning and switches autocast off, as in PyTorch.
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type == "cuda":
            if enabled:
                warnings.warn("User provided device_type of 'cuda', but CUDA is not available. Disabling", stacklevel=2)
            device_type, enabled = "cpu", False
            dtype = None
        Device(device_type)
        self.device = device_type
        self.fast_dtype = dtype or _defaults(device_type)["dtype"]
        if device_type == "cpu" and self.fast_dtype not in (dtypes.bfloat16, dtypes.float16):
            warnings.warn(
                f"In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only supports dtype of "
                f"torch.bfloat16, torch.float16 currently; got {self.fast_dtype}.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._open: list[AutocastMode] = []

    def __enter__(self) -> autocast:
        mode = AutocastMode(self.device, self.fast_dtype, self._enabled)
        self._open.append(mode)
        # An inner autocast replaces an outer one of the same device.
        outer = tuple(m for m in state.modes if not (isinstance(m, AutocastMode) and m.kind == self.device))
        self._before = getattr(self, "_before", [])
        self._before.append(state.modes)
        state.modes = (*outer, mode)
        return self

    def __exit__(self, *error: object) -> None:
        self._open.pop()
        state.modes = self._before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapped


def _current(kind: str) -> AutocastMode | None:
    return next((m for m in reversed(state.modes) if isinstance(m, AutocastMode) and m.kind == kind), None)


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on for a device (any, when None)."""
    modes = [m for m in state.modes if isinstance(m, AutocastMode) and m.enabled]
    return any(device_type in (None, m.kind) for m in modes)


def get_autocast_dtype(device_type: str) -> Any:
    """The fast dtype for a device."""
    mode = _current(device_type)
    return mode.dtype if mode is not None else _defaults(device_type)["dtype"]


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows a device."""
    try:
        Device(device_type)
    except RuntimeError:
        return False
    return True


def custom_fwd(fwd: Any = None, *, device_type: str = "cpu", cast_inputs: Any = None) -> Any:
    """Decorator for `forward` of a custom function: runs it with autocast off and floating inputs cast to `cast_inputs`."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args[0]._fwd_used_autocast = is_autocast_enabled(device_type)
        args[0]._dtype = get_autocast_dtype(device_type)
        if cast_inputs is None or not args[0]._fwd_used_autocast:
            return fwd(*args, **kwargs)
        given = [a.to(cast_inputs) if isinstance(a, Tensor) and a.is_floating_point() else a for a in args]
        with autocast(device_type, enabled=False):
            return fwd(*given, **kwargs)

    return wrapped


def custom_bwd(bwd: Any = None, *, device_type: str = "cpu") -> Any:
    """Decorator for `backward` of a custom function: runs it with the autocast state of its forward."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return wrapped
