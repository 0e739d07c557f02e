"""Gradient samples of what stands in order."""

from __future__ import annotations

from ..gradient_samples import call

SAMPLES = {
    "sort": lambda t: (lambda x: call("sort", 1, True)(x)[0], [t(2, 4)]),
    "topk": lambda t: (lambda x: call("topk", 0, 2, False, True)(x)[0], [t(4, 2)]),
    "mode": lambda t: (lambda x: call("mode", 1, False)(x)[0], [t(2, 4)]),
}
