"""Schedules that move rate and momentum against each other: CyclicLR, OneCycleLR (Smith, 2017 and 2018)."""

from __future__ import annotations

import math
import types
from functools import partial
from typing import Any

from .optimizer import Optimizer
from .schedule import LRScheduler, check_optimizer, per_group, set_rate


class _WithMomentum(LRScheduler):
    """A schedule that may set the momentum (or the first beta), too."""

    cycle_momentum: bool
    use_beta1: bool

    def _set_up_momentum(self, optimizer: Optimizer, base: Any, top: Any, last_epoch: int) -> None:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        bases = per_group("base_momentum", optimizer, base)
        tops = per_group("max_momentum", optimizer, top)
        if last_epoch == -1:
            for high, low, group in zip(tops, bases, optimizer.param_groups, strict=True):
                self._put_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        self._momenta = (bases, tops)

    def _put_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_WithMomentum):
    """Between `base_lr` and `max_lr` and back, in steps of batches; the momentum the other way.

    `mode` "triangular" keeps the height, "triangular2" halves it every cycle, "exp_range" multiplies it by gamma every
    batch; `scale_fn` is one's own, of the cycle's or the batch's number (`scale_mode`). Raises ValueError for an
    unknown
    mode.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Any = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        bases = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for value, group in zip(bases, optimizer.param_groups, strict=True):
                set_rate(group, value)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = float(step_size_down) if step_size_down is not None else up
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_ref: Any = None
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._set_up_momentum(optimizer, base_momentum, max_momentum, last_epoch)
            self.base_momentums, self.max_momentums = self.__dict__.pop("_momenta")
        super().__init__(optimizer, last_epoch)
        self.base_lrs = bases

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is None:
            self._scale_fn_ref = {
                "triangular": _same,
                "triangular2": _halved,
                "exp_range": partial(_power, self.gamma),
            }[self.mode]
            self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"

    def scale_fn(self, x: float) -> float:
        """The height of a cycle (or at a batch) in parts of the first one's."""
        return (self._scale_fn_ref if self._scale_fn_custom is None else self._scale_fn_custom)(x)

    def get_lr(self) -> list[Any]:
        self._warn_outside()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        along = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            momenta = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True)
            for low, high, group in momenta:
                self._put_momentum(group, high - (high - low) * along * scale)
        return [low + (high - low) * along * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        out = super().state_dict()
        out.pop("_scale_fn_ref", None)
        own = out.pop("_scale_fn_custom")
        plain = own is None or isinstance(own, types.FunctionType)
        out["_scale_fn_custom"] = None if plain else own.__dict__.copy()
        return out

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        own = state_dict.get("_scale_fn_custom")
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if own is not None:
            self._scale_fn_custom.__dict__.update(own)
        self._init_scale_fn()


def _same(x: float) -> float:
    return 1.0


def _halved(x: float) -> float:
    return 1 / (2.0 ** (x - 1))


def _power(gamma: float, x: float) -> float:
    return gamma**x


class OneCycleLR(_WithMomentum):
    """Up from max_lr / div_factor to `max_lr`, and down to initial / final_div_factor; the momentum the other way.

    The way up takes `pct_start` of `total_steps` (or `epochs` times `steps_per_epoch`); "cos" or "linear" is its shape.
    With `three_phase` the way down first mirrors the way up. Raises ValueError for numbers out of range and for more
    steps
    than there are.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is None and epochs is not None and steps_per_epoch is not None:
            for name, value in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
                if not isinstance(value, int) or value <= 0:
                    raise ValueError(f"Expected positive integer {name}, but got {value}")
            total_steps = epochs * steps_per_epoch
        if total_steps is None:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        self.total_steps = total_steps
        self._schedule_phases = _phases(float(pct_start * total_steps), total_steps, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        tops = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for top, group in zip(tops, optimizer.param_groups, strict=True):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._set_up_momentum(optimizer, base_momentum, max_momentum, last_epoch)
            del self._momenta
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, part: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)
        return (end - start) * part + start

    def get_lr(self) -> list[Any]:
        self._warn_outside()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        begin = 0.0
        phase = self._schedule_phases[0]
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            begin = phase["end_step"]
        part = (step - begin) / (phase["end_step"] - begin)
        out = []
        for group in self.optimizer.param_groups:
            out.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                self._put_momentum(
                    group, self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                )
        return out


def _phases(up: float, total: int, three: bool) -> list[dict[str, Any]]:
    """The stretches of one cycle: where each ends, and between which of a group's numbers it leads."""
    ways = [(up - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
    if three:
        ways.append((2 * up - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
        ways.append((total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
    else:
        ways.append((total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    return [dict(zip(names, way, strict=True)) for way in ways]
