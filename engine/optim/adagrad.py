"""Adagrad (Duchi et al., 2011)."""

from __future__ import annotations

from typing import Any

from .optimizer import Optimizer, check, check_fused, check_lr, graded, new_step, number


class Adagrad(Optimizer):
    """p <- p - lr_t g / (sqrt(s) + eps), with s <- s + g^2 and lr_t = lr / (1 + (t - 1) lr_decay).

    The sums exist from the beginning, at `initial_accumulator_value`. Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check(lr_decay >= 0.0, f"Invalid lr_decay value: {lr_decay}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        check(
            initial_accumulator_value >= 0.0,
            f"Invalid initial_accumulator_value value: {initial_accumulator_value}",
        )
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check_fused(fused, foreach, differentiable)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        })  # fmt: skip
        from .. import full_like

        for group in self.param_groups:
            for p in group["params"]:
                start = initial_accumulator_value
                value = complex(start, start) if p.is_complex() else start
                self.state[p]["step"], self.state[p]["sum"] = new_step(), full_like(p, value)

    def update(self, group: dict[str, Any]) -> None:
        lr, decay = number(group["lr"]), group["weight_decay"]
        for p, g in graded(group):
            state = self.state[p]
            state["step"] += 1
            t = number(state["step"])
            if decay != 0:
                g = g.add(p, alpha=decay)
            state["sum"].addcmul_(g, g, value=1)
            root = state["sum"].sqrt().add_(group["eps"])
            p.addcdiv_(g, root, value=-(lr / (1 + (t - 1) * group["lr_decay"])))
