"""RMSprop (Hinton's lecture 6e, 2012), centred on request (Graves, 2013)."""

from __future__ import annotations

from typing import Any

from .fused import Gathered
from .optimizer import Optimizer, check, check_lr, graded, new_step, number, zeros


class RMSprop(Optimizer):
    """p <- p - lr g / (sqrt(v) + eps), with v <- alpha v + (1 - alpha) g^2.

    `centered` takes the square of the mean gradient off v; `momentum` gathers the steps. Raises ValueError for options
    out
    of range.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        check(alpha >= 0.0, f"Invalid alpha value: {alpha}")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered, "weight_decay": weight_decay,
            "capturable": capturable, "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
        })  # fmt: skip

    def update(self, group: dict[str, Any]) -> None:
        lr, alpha, decay, momentum = number(group["lr"]), group["alpha"], group["weight_decay"], group["momentum"]
        gathered = Gathered(group)
        for p, g in graded(group):
            state = self.state[p]
            if not state:
                state["step"], state["square_avg"] = new_step(), zeros(p)
                if momentum > 0:
                    state["momentum_buffer"] = zeros(p)
                if group["centered"]:
                    state["grad_avg"] = zeros(p)
            state["step"] += 1
            numbers = (decay, alpha, 1 - alpha, group["eps"], lr)
            if not group["centered"]:
                if momentum > 0:
                    more = (p, g, state["square_avg"], state["momentum_buffer"])
                    if gathered.add("rmsprop_momentum", more, (*numbers, momentum)):
                        continue
                elif gathered.add("rmsprop", (p, g, state["square_avg"]), numbers):
                    continue
            if decay != 0:
                g = g.add(p, alpha=decay)
            square = state["square_avg"]
            square.mul_(alpha).addcmul_(g, g, value=1 - alpha)
            if group["centered"]:
                mean = state["grad_avg"]
                mean.lerp_(g, 1 - alpha)
                root = square.addcmul(mean, mean, value=-1).sqrt_()
            else:
                root = square.sqrt()
            root.add_(group["eps"])
            if momentum > 0:
                buffer = state["momentum_buffer"]
                buffer.mul_(momentum).addcdiv_(g, root)
                p.add_(buffer, alpha=-lr)
            else:
                p.addcdiv_(g, root, value=-lr)
        gathered.run()
