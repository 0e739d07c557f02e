"""Averages of a model's weights over training: running means, exponential means, and the schedule that goes with
them."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

from ..autograd.grad_mode import no_grad
from ..nn.module import Module
from ..tensor import Tensor
from .optimizer import Optimizer
from .schedule import LRScheduler, per_group

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """decay a + (1 - decay) p, for `AveragedModel(avg_fn=...)`. Raises ValueError for a decay outside of [0, 1]."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """The same for a list of tensors at once, in place."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: list[Tensor], current_param_list: list[Tensor], _: Any) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """a + (p - a) / (n + 1): the mean of all models so far (Izmailov et al., 2018)."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """The same for a list of tensors at once, in place."""

    @no_grad()
    def swa_update(averaged_param_list: list[Tensor], current_param_list: list[Tensor], num_averaged: Any) -> None:
        share = 1 / (float(num_averaged) + 1)
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, share)
            else:
                average.copy_(average + (current - average) * share)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages; `update_parameters(model)` takes one more model into them.

    The mean of all models is the default; `avg_fn(average, current, n)` or `multi_avg_fn` gives another. Buffers are
    copied, or averaged as well with `use_buffers`.

    Example::

        averaged = torch.optim.swa_utils.AveragedModel(model)
        averaged.update_parameters(model)             # after each epoch
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., Tensor] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        from .. import int64, tensor

        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take `model` into the averages; the first one is copied."""
        if self.use_buffers:
            own = itertools.chain(self.module.parameters(), self.module.buffers())
            theirs = itertools.chain(model.parameters(), model.buffers())
        else:
            own, theirs = self.parameters(), model.parameters()
        averages = [p.detach() for p in own]
        currents = [p.detach().to(a.device) for a, p in zip(averages, theirs)]
        if self.n_averaged == 0:
            for average, current in zip(averages, currents):
                average.copy_(current)
        elif self.avg_fn is None:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, currents, self.n_averaged)
        else:
            for average, current in zip(averages, currents):
                average.copy_(self.avg_fn(average, current, self.n_averaged.to(average.device)))
        if not self.use_buffers:
            for average, current in zip(self.module.buffers(), model.buffers(), strict=True):
                average.detach().copy_(current.detach().to(average.device))
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of the model's batch normalisations anew, from all batches of `loader`."""
    momenta = {}
    for module in model.modules():
        if hasattr(module, "reset_running_stats") and hasattr(module, "momentum"):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None
    for batch in loader:
        if isinstance(batch, (list, tuple)):
            batch = batch[0]
        model(batch if device is None else batch.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the rate there is to `swa_lr` in `anneal_epochs` epochs, along a cosine or a line, and constant from there.

    Raises ValueError for an unknown strategy and a negative number of epochs.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for value, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = value
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        self._warn_outside()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        out = []
        for group in self.optimizer.param_groups:
            target = group["swa_lr"]
            start = target if before == 1 else (group["lr"] - before * target) / (1 - before)
            out.append(target * now + start * (1 - now))
        return out
