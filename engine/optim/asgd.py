"""Averaged stochastic gradient descent (Polyak and Juditsky, 1992)."""

from __future__ import annotations

from typing import Any

from .optimizer import Optimizer, above, check, check_lr, graded, new_step, number, zeros


class ASGD(Optimizer):
    """p <- (1 - lambd eta) p - eta g, with eta = lr / (1 + lambd lr t)^alpha; the mean over t > t0 stands in state
    "ax".

    Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def update(self, group: dict[str, Any]) -> None:
        from .. import tensor

        lr, lambd, decay = number(group["lr"]), group["lambd"], group["weight_decay"]
        for p, g in graded(group):
            state = self.state[p]
            if not state:
                state["step"], state["eta"] = new_step(), tensor(float(lr), device="cpu")
                state["mu"], state["ax"] = tensor(1.0, device="cpu"), zeros(p)
            state["step"] += 1
            t, eta, mu, mean = number(state["step"]), number(state["eta"]), number(state["mu"]), state["ax"]
            if decay != 0:
                g = g.add(p, alpha=decay)
            p.mul_(1 - lambd * eta)
            p.add_(g, alpha=-eta)
            mean.copy_(above(-mu, -1.0, lambda p=p, mean=mean, mu=mu: mean + p.sub(mean).mul_(mu), lambda p=p: p))
            state["eta"].fill_(lr / ((1 + lambd * lr * t) ** group["alpha"]))
            state["mu"].fill_(1 / max(1, t - group["t0"]))
