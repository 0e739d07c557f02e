"""Adam (Kingma and Ba, 2015), with AMSGrad."""

from __future__ import annotations

from typing import Any

from .fused import Gathered
from .optimizer import Optimizer, check_adam, check_fused, check_lr, graded, new_step, number, zeros


class Adam(Optimizer):
    """p <- p - lr m' / (sqrt(v') + eps), with m and v the running means of g and g^2, both corrected for their start.

    m <- b1 m + (1 - b1) g, v <- b2 v + (1 - b2) g^2, m' = m / (1 - b1^t), v' = v / (1 - b2^t). `weight_decay` is added
    to
    the gradient, or with `decoupled_weight_decay` taken off the parameter. With `amsgrad` the largest v so far is used
    (Reddi et al., 2018). Raises ValueError for options out of range.

    Example::

        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_lr(lr)
        check_adam(betas, eps, weight_decay)
        check_fused(fused, foreach, differentiable)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        })  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("amsgrad", False)
            group.setdefault("decoupled_weight_decay", False)

    def update(self, group: dict[str, Any]) -> None:
        lr, eps, decay = number(group["lr"]), group["eps"], group["weight_decay"]
        beta1, beta2 = map(number, group["betas"])
        amsgrad, decoupled = group["amsgrad"], group["decoupled_weight_decay"]
        gathered = Gathered(group)
        for p, g in graded(group):
            state = self.state[p]
            if not state:
                state["step"], state["exp_avg"], state["exp_avg_sq"] = new_step(), zeros(p), zeros(p)
                if amsgrad:
                    state["max_exp_avg_sq"] = zeros(p)
            state["step"] += 1
            t = number(state["step"])
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            if not amsgrad and gathered.add(
                "adam", (p, g, mean, square),
                (
                    0.0 if decoupled else decay, 1 - lr * decay if decoupled else 1.0, 1 - beta1, beta2, 1 - beta2,
                    (1 - beta2**t) ** 0.5, eps, lr / (1 - beta1**t),
                ),
            ):  # fmt: skip
                continue
            if decay != 0:
                if decoupled:
                    p.mul_(1 - lr * decay)
                else:
                    g = g.add(p, alpha=decay)
            mean.lerp_(g, 1 - beta1)
            square.mul_(beta2).addcmul_(g, g, value=1 - beta2)
            if amsgrad:
                largest = state["max_exp_avg_sq"]
                largest.copy_(largest.maximum(square))
                square = largest
            root = square.sqrt().div_((1 - beta2**t) ** 0.5).add_(eps)
            p.addcdiv_(mean, root, value=-(lr / (1 - beta1**t)))
        gathered.run()
