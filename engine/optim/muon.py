"""Muon: momentum whose update is made orthogonal (Jordan et al., 2024), for matrices."""

from __future__ import annotations

import math
from typing import Any

from ..tensor import Tensor
from .optimizer import Optimizer, check, check_lr, graded, number


def _orthogonal(g: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Close to U V^T of the singular value decomposition of `g`, by Newton and Schulz's iteration in bfloat16."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if g.ndim != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    from .. import bfloat16

    a, b, c = coefficients
    tall = g.size(0) > g.size(1)
    x = g.to(bfloat16)
    if tall:
        x = x.T
    x = x / x.square().sum().sqrt().clamp(min=eps)
    for _ in range(steps):
        square = x @ x.T
        x = x.mul(a) + (square.mul(b) + (square @ square).mul(c)) @ x
    return x.T if tall else x


class Muon(Optimizer):
    """p <- (1 - lr weight_decay) p - lr' O(u), with u the momentum (or g + momentum ahead) and O(u) its orthogonal
    part.

    lr' is lr sqrt(max(1, rows / columns)), or with adjust_lr_fn "match_rms_adamw" 0.2 lr sqrt(max(rows, columns)). For
    matrices only: raises ValueError for other parameters.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        check(momentum >= 0.0, f"momentum should be >= 0 but is: {momentum}")
        check(weight_decay >= 0.0, f"weight decay should be >= 0 but is: {weight_decay}")
        check(
            adjust_lr_fn in (None, "original", "match_rms_adamw"),
            f"Adjust learning rate function {adjust_lr_fn} is not supported",
        )
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        })  # fmt: skip
        for group in self.param_groups:
            for p in group["params"]:
                check(
                    p.ndim == 2, f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                )

    def update(self, group: dict[str, Any]) -> None:
        lr, momentum = number(group["lr"]), group["momentum"]
        for p, g in graded(group):
            buffer = self.state[p].get("momentum_buffer")
            if buffer is None:
                buffer = self.state[p]["momentum_buffer"] = g.new_zeros(g.shape)
            buffer.lerp_(g, 1 - momentum)
            update = g.lerp(buffer, momentum) if group["nesterov"] else buffer
            update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
            rows, columns = p.shape
            if group["adjust_lr_fn"] == "match_rms_adamw":
                adjusted = lr * 0.2 * math.sqrt(max(rows, columns))
            else:
                adjusted = lr * math.sqrt(max(1, rows / columns))
            p.mul_(1 - lr * group["weight_decay"])
            p.add_(update, alpha=-adjusted)
