"""NAdam: Adam with Nesterov momentum (Dozat, 2016)."""

from __future__ import annotations

from typing import Any

from .optimizer import Optimizer, check, check_adam, check_lr, graded, new_step, number, zeros


class NAdam(Optimizer):
    """Adam whose step looks ahead: p <- p - lr ((1 - mu_t) g / (1 - M_t) + mu_{t+1} m / (1 - M_{t+1})) / (sqrt(v') +
    eps).

    mu_t = b1 (1 - 0.96^(t momentum_decay) / 2), M_t the product of mu up to t. Raises ValueError for options out of
    range.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_adam(betas, eps, weight_decay)
        check(momentum_decay >= 0.0, f"Invalid momentum_decay value: {momentum_decay}")
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        })  # fmt: skip

    def update(self, group: dict[str, Any]) -> None:
        from .. import ones

        lr, eps, decay = number(group["lr"]), group["eps"], group["weight_decay"]
        beta1, beta2 = group["betas"]
        for p, g in graded(group):
            state = self.state[p]
            if not state:
                state["step"], state["mu_product"] = new_step(), ones((), device="cpu")
                state["exp_avg"], state["exp_avg_sq"] = zeros(p), zeros(p)
            state["step"] += 1
            t = number(state["step"])
            if decay != 0:
                if group["decoupled_weight_decay"]:
                    p.mul_(1 - lr * decay)
                else:
                    g = g.add(p, alpha=decay)
            mu = beta1 * (1.0 - 0.5 * (0.96 ** (t * group["momentum_decay"])))
            mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((t + 1) * group["momentum_decay"])))
            state["mu_product"] *= mu
            product = number(state["mu_product"])
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            mean.lerp_(g, 1 - beta1)
            square.mul_(beta2).addcmul_(g, g, value=1 - beta2)
            root = square.div(1 - beta2**t).sqrt_().add_(eps)
            p.addcdiv_(g, root, value=-lr * (1.0 - mu) / (1.0 - product))
            p.addcdiv_(mean, root, value=(-lr * mu_next) / (1.0 - product * mu_next))
