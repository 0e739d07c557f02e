"""The base of learning-rate schedules: it keeps count, sets the groups' rates, and saves and loads itself.

A schedule defines `get_lr`, usually from the rate before, and where it has one a closed form of the epoch's number.
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..tensor import Tensor
from .optimizer import Optimizer, number

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is "
    "used instead of the new chainable form, where available. Please open an issue if you are unable to replicate "
    "your use "
    "case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER = (
    "In PyTorch 1.1.0 and later, you should call them in the opposite order: `optimizer.step()` before "
    "`lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first value of the learning rate "
    "schedule. "
)
_MORE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def rates(optimizer: Optimizer, key: str = "lr") -> list[Any]:
    """One option of all groups; tensors are copied."""
    return [g[key].clone() if isinstance(g[key], Tensor) else g[key] for g in optimizer.param_groups]


def set_rate(group: dict[str, Any], value: Any, key: str = "lr") -> None:
    """Set an option of a group; a tensor is filled."""
    if isinstance(group[key], Tensor):
        group[key].fill_(number(value))
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """`value` for every group, or the values given one by one. Raises ValueError where these are too few or many."""
    if isinstance(value, (list, tuple)):
        if len(value) != len(optimizer.param_groups):
            raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                             f"param_groups has {len(optimizer.param_groups)}.")  # fmt: skip
        return list(value)
    return [value] * len(optimizer.param_groups)


def check_optimizer(optimizer: Any) -> None:
    """Raises TypeError for what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Base class of schedules. `step()` once an epoch (or a batch), after the optimizer's.

    `last_epoch` other than -1 goes on from there; the groups must have an "initial_lr" then. Raises KeyError otherwise,
    TypeError for what is no optimizer.
    """

    optimizer: Any
    base_lrs: list[Any]
    last_epoch: int
    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    _step_count: int

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", rates(optimizer)[i])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0.\n"
                    "This typically happens when:\n"
                    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer "
                    "state\n"
                    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                )
        self.base_lrs = rates(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        if not getattr(optimizer, "_scheduled", False):
            optimizer._scheduled = True  # type: ignore[attr-defined]
            optimizer._opt_called = False  # steps count from here
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    # -- state ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, as a dictionary."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates of all groups that were set last."""
        return self._last_lr

    # -- stepping -------------------------------------------------------------------------------

    def get_lr(self) -> list[Any]:
        """The rates of all groups for `last_epoch`; only `step` may ask."""
        raise NotImplementedError

    def step(self, epoch: Any = None) -> None:
        """Go on to the next epoch (or, deprecated, to `epoch`) and set the rates."""
        if self._step_count == 1:
            own = self.optimizer.__dict__.get("step")
            if own is not None and not getattr(own, "_is_hooked", False):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                    "Please, "
                    "make sure to call `optimizer.step()` before `lr_scheduler.step()`. " + _MORE,
                    UserWarning,
                    stacklevel=2,
                )
            elif not self.optimizer._opt_called:
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. " + _ORDER + _MORE,
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._asking():
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", None)
                values = self.get_lr() if closed is None else closed()
        self._set(values)

    def _set(self, values: list[Any]) -> None:
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_rate(group, value)
        self._last_lr: list[Any] = rates(self.optimizer)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _scaled(self, factor: float) -> list[Any]:
        """The rates before, times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]


class _LRScheduler(LRScheduler):
    """The older name."""


class FunctionSchedule(LRScheduler):
    """A schedule with a function a group; functions are not saved, callable objects by their attributes."""

    lr_lambdas: list[Any]

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != len(optimizer.param_groups):
                raise ValueError(f"Expected {len(optimizer.param_groups)} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * len(optimizer.param_groups)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        out = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "lr_lambdas")}
        out["lr_lambdas"] = [None if isinstance(f, types.FunctionType) else f.__dict__.copy() for f in self.lr_lambdas]
        return out

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if saved is not None:
                function.__dict__.update(saved)
