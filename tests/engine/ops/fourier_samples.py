"""Gradient samples of Fourier transforms."""

from __future__ import annotations

from tapescope import engine as torch

from ..gradient_samples import call


def complex_pair(function):
    return lambda x, y: torch.view_as_real(function(torch.complex(x, y)))


SAMPLES = {
    "fft_c2c": lambda t: (complex_pair(call("fft_c2c", (0, 1), 1, True)), [t(2, 3), t(2, 3, seed=1)]),
    "fft_r2c": lambda t: (
        lambda x: (torch.view_as_real(call("fft_r2c", (0, 1), 0, True)(x)), torch.view_as_real(call("fft_r2c", (1,), 2, False)(x))), [t(2, 4)]
    ),
    "fft_c2r": lambda t: (
        lambda x, y: (call("fft_c2r", (0, 1), 0, 4)(torch.complex(x, y)), call("fft_c2r", (1,), 2, 5)(torch.complex(x, y))),
        [t(2, 3), t(2, 3, seed=1)],
    ),
}  # fmt: skip
