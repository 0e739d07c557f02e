"""Gradient samples of the operators that move elements: reorder, repeat, gather, scatter, write by index."""

from __future__ import annotations

from tapescope import engine as torch

from ..gradient_samples import INDEX, call

TWICE = torch.tensor([1, 1])
SAMPLES = {
    "flip": lambda t: (call("flip", (0, 1)), [t(2, 3)]),
    "roll": lambda t: (call("roll", (1, 2), (0, 1)), [t(2, 3)]),
    "rot90": lambda t: (call("rot90", 3, (0, 1)), [t(2, 3)]),
    "repeat": lambda t: (call("repeat", (2, 1, 3)), [t(2, 2)]),
    "scatter_reduce": lambda t: (
        lambda x, s: torch.cat([
            call("scatter_reduce", 1, reduce, own)(x, INDEX, s) for reduce in ("sum", "prod", "mean", "amax") for own in (True, False)
        ]),
        [t(2, 3), t(2, 2, seed=1)],
    ),
    "index_reduce": lambda t: (lambda x, s: call("index_reduce", 1, "prod", True)(x, INDEX, s), [t(2, 3), t(2, 2, seed=1)]),
    "index_copy": lambda t: (lambda x, s: call("index_copy", 0)(x, torch.tensor([2, 0]), s), [t(3, 2), t(2, 2, seed=1)]),
    "index_fill": lambda t: (lambda x, v: call("index_fill", 0, False)(x, TWICE, v), [t(3, 2), t(seed=1)]),
    "take": lambda t: (lambda x: call("take")(x, INDEX), [t(2, 3)]),
    "put": lambda t: (lambda x, s: call("put", True)(x, INDEX, s), [t(2, 3), t(4, seed=1)]),
    "masked_scatter": lambda t: (lambda x, s: call("masked_scatter")(x, INDEX > 0, s), [t(2, 2), t(5, seed=1)]),
    "unbind": lambda t: (call("unbind", 1, 2), [t(2, 3)]),
    "split": lambda t: (call("split", 1, 1, 3, 1), [t(2, 3)]),
    "split_with_sizes": lambda t: (call("split_with_sizes", 0, 0, 1, 1), [t(2, 3)]),
    "tril": lambda t: (call("tril", -1), [t(2, 3, 3)]),
    "triu": lambda t: (call("triu", 1), [t(3, 4)]),
    "diag_embed": lambda t: (call("diag_embed", 1, 0, 2), [t(2, 3)]),
    "fill": lambda t: (call("fill"), [t(2, 3), t(seed=1)]),
    "unsafe_split": lambda t: (call("unsafe_split", 1, 1, 3, 1), [t(2, 3)]),
    "unsafe_split_with_sizes": lambda t: (call("unsafe_split_with_sizes", 0, 0, 1, 1), [t(2, 3)]),
    "unsafe_view": lambda t: (call("unsafe_view", (3, 2)), [t(2, 3)]),
    "stack": lambda t: (call("stack", 1), [t(2, 3), t(2, 3, seed=1)]),
}  # fmt: skip
