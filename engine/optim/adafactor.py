"""Adafactor: second moments kept by row and column only (Shazeer and Stern, 2018)."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .optimizer import Optimizer, check, check_lr, graded, new_step, number


def _length(t: Tensor) -> float:
    return number(t.square().sum().sqrt())


def _mean_square(g: Tensor, dim: int) -> Tensor:
    return g.square().sum(dim, keepdim=True).sqrt_().square_().div_(g.size(dim))


class Adafactor(Optimizer):
    """p <- p - alpha_t u / max(1, rms(u) / d), with u = g / sqrt(v) and alpha_t = max(eps[1], rms(p)) min(lr, 1 /
    sqrt(t)).

    v of a matrix is the product of its row and column means over the row means' mean. Raises ValueError for options out
    of range.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        check(beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        check(eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}")
        check(eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}")
        check(d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}")
        check(weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize,
        })  # fmt: skip

    def update(self, group: dict[str, Any]) -> None:
        from .. import finfo

        lr, (eps1, eps2) = number(group["lr"]), group["eps"]
        for p, g in graded(group):
            state = self.state[p]
            if not state:
                state["step"] = new_step()
                if g.dim() > 1:
                    shape = list(g.shape)
                    state["row_var"] = g.new_zeros([*shape[:-1], 1])
                    state["col_var"] = g.new_zeros([*shape[:-2], 1, shape[-1]])
                else:
                    state["variance"] = g.new_zeros(g.shape)
            small = finfo(p.dtype).eps if eps1 is None else eps1
            state["step"] += 1
            t = number(state["step"])
            weight = t ** group["beta2_decay"]
            alpha = max(eps2, _length(p) / (p.numel() ** 0.5)) * min(lr, 1 / (t**0.5))
            if group["weight_decay"] != 0:
                p.mul_(1 - lr * group["weight_decay"])
            if g.dim() > 1:
                rows, columns = state["row_var"], state["col_var"]
                rows.lerp_(_mean_square(g, -1), weight)
                columns.lerp_(_mean_square(g, -2), weight)
                variance = (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=small))
            else:
                state["variance"].lerp_(g * g, weight)
                variance = state["variance"].clone()
            update = variance.clamp_(min=small * small).rsqrt_().mul_(g)
            denominator = max(1.0, _length(update) / ((update.numel() ** 0.5) * group["d"]))
            p.add_(update, alpha=-alpha / denominator)
