"""Gradient samples of special functions that are differentiable in one argument only, or take a plain one."""

from __future__ import annotations

from tapescope import engine as torch

A = torch.tensor([0.5, 1.5, 3.0], dtype=torch.float64)

SAMPLES = {
    "igamma": lambda t: (lambda x: torch.igamma(A, x), [t(2, 3)]),
    "igammac": lambda t: (lambda x: torch.igammac(A, x), [t(2, 3)]),
    "zeta": lambda t: (lambda x: torch.special.zeta(A + 1, x), [t(2, 3)]),
    "logit": lambda t: (lambda x: torch.logit(x, 0.2), [t(2, 3)]),
}
STATICS = {"polygamma_of": (1,)}
