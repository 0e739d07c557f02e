"""RAdam: Adam whose variance is rectified while it is young (Liu et al., 2020)."""

from __future__ import annotations

from typing import Any

from .optimizer import Optimizer, above, check_adam, check_lr, graded, new_step, number, zeros


class RAdam(Optimizer):
    """Adam with its step multiplied by r_t, and without its denominator while the variance is not tractable (rho_t <=
    5).

    rho_inf = 2 / (1 - b2) - 1, rho_t = rho_inf - 2 t b2^t / (1 - b2^t). Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_adam(betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        })  # fmt: skip

    def update(self, group: dict[str, Any]) -> None:
        lr, eps, decay = number(group["lr"]), group["eps"], group["weight_decay"]
        beta1, beta2 = group["betas"]
        rho_inf = 2 / (1 - beta2) - 1
        for p, g in graded(group):
            state = self.state[p]
            if not state:
                state["step"], state["exp_avg"], state["exp_avg_sq"] = new_step(), zeros(p), zeros(p)
            state["step"] += 1
            t = number(state["step"])
            if decay != 0:
                if group["decoupled_weight_decay"]:
                    p.mul_(1 - lr * decay)
                else:
                    g = g.add(p, alpha=decay)
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            mean.lerp_(g, 1 - beta1)
            square.mul_(beta2).addcmul_(g, g, value=1 - beta2)
            correction2 = 1 - beta2**t
            step = mean / (1 - beta1**t)
            rho = rho_inf - 2 * t * (beta2**t) / correction2
            plain = step * lr

            def rectified(x: Any = plain, r: Any = rho, c: Any = correction2, v: Any = square) -> Any:
                adaptive = (c**0.5) / v.sqrt().add_(eps)
                return (
                    x * adaptive * (max((r - 4) * (r - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * r), 0.0) ** 0.5)
                )

            p.add_(above(rho, 5.0, rectified, lambda x=plain: x), alpha=-1.0)
