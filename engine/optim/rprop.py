"""Resilient backpropagation (Riedmiller and Braun, 1993)."""

from __future__ import annotations

from typing import Any

from .optimizer import Optimizer, check, check_lr, graded, new_step, number, zeros


class Rprop(Optimizer):
    """p <- p - sign(g) s, where the step s of each element grows by etas[1] while its gradient keeps its sign, and
    shrinks by etas[0] (without a move) where it turned.

    Raises ValueError for options out of range.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 < etas[0] < 1.0 < etas[1], f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def update(self, group: dict[str, Any]) -> None:
        from .. import full_like, where

        (shrink, grow), (low, high) = group["etas"], group["step_sizes"]
        for p, g in graded(group):
            state = self.state[p]
            if not state:
                state["step"], state["prev"] = new_step(), zeros(p)
                state["step_size"] = full_like(g, number(group["lr"]))
            state["step"] += 1
            agreement = g.mul(state["prev"])
            turned = agreement < 0
            factor = where(agreement > 0, grow, where(turned, shrink, 1.0)).to(g.dtype)
            state["step_size"].mul_(factor).clamp_(low, high)
            g = g.masked_fill(turned, 0)
            p.addcmul_(g.sign(), state["step_size"], value=-1)
            state["prev"].copy_(g)
