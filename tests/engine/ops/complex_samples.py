"""Gradient samples of complex numbers and of floats taken apart."""

from __future__ import annotations

from tapescope import engine as torch

from ..gradient_samples import call

SAMPLES = {
    "view_as_real": lambda t: (lambda x, y: call("view_as_real")(torch.complex(x, y)), [t(2, 3), t(2, 3, seed=1)]),
    "view_as_complex": lambda t: (lambda x: torch.view_as_real(call("view_as_complex")(x) ** 2), [t(2, 2)]),
    "complex": lambda t: (lambda x, y: torch.view_as_real(call("complex")(x, y) ** 2), [t(2, 3), t(3, seed=1)]),
    "polar": lambda t: (lambda x, y: torch.view_as_real(call("polar")(x, y)), [t(2, 3), t(2, 1, seed=1)]),
    "frexp": lambda t: (lambda x: call("frexp")(x)[0], [t(2, 3)]),
}
