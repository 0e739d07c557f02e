"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .fused import Gathered
from .optimizer import Optimizer, check, check_fused, check_lr, graded, number, zeros


class SGD(Optimizer):
    """p <- p - lr v, where v <- momentum v + (1 - dampening) g and g is the gradient plus weight_decay p.

    With `nesterov` the step is g + momentum v. The first v is g (Sutskever et al., 2013, in PyTorch's form). Raises
    ValueError for options out of range.

    Example::

        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        optimizer.zero_grad()
        loss_fn(model(x), y).backward()
        optimizer.step()
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        check(
            not nesterov or (momentum > 0 and dampening == 0),
            "Nesterov momentum requires a momentum and zero dampening",
        )
        check_fused(fused, foreach, differentiable)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        })  # fmt: skip

    def update(self, group: dict[str, Any]) -> None:
        lr, momentum, decay = number(group["lr"]), group["momentum"], group["weight_decay"]
        gathered = Gathered(group)
        for p, g in graded(group):
            if gathered.may(p) and self._gather(gathered, group, p, g):
                continue
            if decay != 0:
                g = g.add(p, alpha=decay)
            if momentum != 0:
                state = self.state[p]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = state["momentum_buffer"] = g.detach().clone()
                else:
                    buffer.mul_(momentum).add_(g, alpha=1 - group["dampening"])
                g = g.add(buffer, alpha=momentum) if group["nesterov"] else buffer
            p.add_(g, alpha=-lr)
        gathered.run()

    def _gather(self, gathered: Gathered, group: dict[str, Any], p: Tensor, g: Tensor) -> bool:
        """Hand a parameter over to a kernel that steps several. False where it does not fit."""
        lr, momentum, decay = number(group["lr"]), group["momentum"], group["weight_decay"]
        if momentum == 0:
            return gathered.add("sgd", (p, g), (decay, lr))
        buffer = self.state[p].get("momentum_buffer")
        # Of the first gradient all is kept, whatever the dampening.
        rest = 1.0 if buffer is None else 1 - group["dampening"]
        buffer = zeros(p) if buffer is None else buffer
        if not gathered.add("momentum", (p, g, buffer), (decay, lr, momentum, rest, float(group["nesterov"]))):
            return False
        self.state[p]["momentum_buffer"] = buffer
        return True
