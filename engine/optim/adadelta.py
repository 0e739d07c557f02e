"""Adadelta (Zeiler, 2012)."""

from __future__ import annotations

from typing import Any

from .optimizer import Optimizer, check, check_lr, graded, new_step, number, zeros


class Adadelta(Optimizer):
    """p <- p - lr d, with d = sqrt(u + eps) / sqrt(v + eps) g; v and u are running means of g^2 and d^2.

    Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "capturable": capturable,
            "foreach": foreach, "differentiable": differentiable,
        })  # fmt: skip

    def update(self, group: dict[str, Any]) -> None:
        lr, rho, eps, decay = number(group["lr"]), group["rho"], group["eps"], group["weight_decay"]
        for p, g in graded(group):
            state = self.state[p]
            if not state:
                state["step"], state["square_avg"], state["acc_delta"] = new_step(), zeros(p), zeros(p)
            state["step"] += 1
            if decay != 0:
                g = g.add(p, alpha=decay)
            square, gathered = state["square_avg"], state["acc_delta"]
            square.mul_(rho).addcmul_(g, g, value=1 - rho)
            root = square.add(eps).sqrt_()
            delta = gathered.add(eps).sqrt_().div_(root).mul_(g)
            gathered.mul_(rho).addcmul_(delta, delta, value=1 - rho)
            p.add_(delta, alpha=-lr)
