"""Adamax: Adam with the infinity norm (Kingma and Ba, 2015, section 7)."""

from __future__ import annotations

from typing import Any

from .optimizer import Optimizer, check_adam, check_lr, graded, new_step, number, zeros


class Adamax(Optimizer):
    """p <- p - lr m / (u (1 - b1^t)), with m <- b1 m + (1 - b1) g and u <- max(b2 u, |g| + eps).

    Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_adam(betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def update(self, group: dict[str, Any]) -> None:
        lr, eps, decay = number(group["lr"]), group["eps"], group["weight_decay"]
        beta1, beta2 = group["betas"]
        for p, g in graded(group):
            state = self.state[p]
            if not state:
                state["step"], state["exp_avg"], state["exp_inf"] = new_step(), zeros(p), zeros(p)
            state["step"] += 1
            t = number(state["step"])
            if decay != 0:
                g = g.add(p, alpha=decay)
            mean, largest = state["exp_avg"], state["exp_inf"]
            mean.lerp_(g, 1 - beta1)
            largest.copy_(largest.mul(beta2).maximum(g.abs().add_(eps)))
            p.addcdiv_(mean, largest, value=-(lr / (1 - beta1**t)))
