"""Inputs for the gradient checks of the operator table: `SAMPLES[name](tensor)` gives a function and its inputs.

`tensor(*shape)` makes a float64 leaf with elements between 0.15 and 0.85. `DOMAINS` and `STATICS` serve pointwise primitives whose
inputs must lie elsewhere, or which take plain arguments. `SINGLE` names those that PyTorch does not differentiate twice either.

Families keep their own in `tests/engine/ops/*_samples.py`, under the same names; they are gathered at the end of this file.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from tapescope import engine as torch
from tapescope.engine import dispatch
from tapescope.engine.ops.declare import op_functions
from tapescope.engine.ops.table import OPS

from . import ops

INDEX = torch.tensor([[0, 2], [1, 1]])
DOMAINS: dict[str, tuple[float, float]] = {"acosh": (1.5, 2.5)}
STATICS = {"threshold": (0.5, 0.1), "add": (2.5,), "sub": (2.5,), "clamp_numbers": (0.3, 0.6)}
SINGLE: set[str] = set()


def statics_of(name):
    """Plain arguments of a pointwise primitive: those above, else its function's defaults."""
    if name in STATICS or not OPS[name].statics:
        return STATICS.get(name, ())
    parameters = inspect.signature(op_functions[name]).parameters
    return tuple(parameters[s].default for s in OPS[name].statics)


def call(name, *statics):
    return lambda *tensors: dispatch.call(OPS[name], tensors, statics)


def mask(t):
    return t.detach() > 0.5


SAMPLES = {
    "sum": lambda t: (call("sum", (1,), True), [t(2, 3)]),
    "mean": lambda t: (call("mean", (0, 1), False), [t(2, 3)]),
    "prod": lambda t: (call("prod", (1,), False), [t(2, 3)]),
    "amax": lambda t: (call("amax", (1,), False), [t(2, 3)]),
    "amin": lambda t: (call("amin", (0,), True), [t(2, 3)]),
    "view": lambda t: (call("view", (3, 2)), [t(2, 3)]),
    "permute": lambda t: (call("permute", (2, 0, 1)), [t(2, 3, 2)]),
    "transpose": lambda t: (call("transpose", 0, 1), [t(2, 3)]),
    "t": lambda t: (call("t"), [t(2, 3)]),
    "squeeze": lambda t: (call("squeeze", (0, 2), 2), [t(1, 3, 1)]),
    "unsqueeze": lambda t: (call("unsqueeze", 1), [t(2, 3)]),
    "expand": lambda t: (call("expand", (4, 2, 3)), [t(2, 1)]),
    "select": lambda t: (call("select", 1, 2), [t(2, 3)]),
    "slice": lambda t: (call("slice", 1, 0, 3, 2), [t(2, 3)]),
    "diagonal": lambda t: (call("diagonal", 1, 0, 1), [t(3, 4)]),
    "as_strided": lambda t: (call("as_strided", (2, 2), (1, 1), 1), [t(6)]),
    "unfold": lambda t: (call("unfold", 1, 2, 1), [t(2, 4)]),
    "alias": lambda t: (call("alias"), [t(2)]),
    "mm": lambda t: (call("mm"), [t(2, 3), t(3, 2, seed=1)]),
    "bmm": lambda t: (call("bmm"), [t(2, 2, 3), t(2, 3, 2, seed=1)]),
    "addmm": lambda t: (call("addmm", 0.5, 2.0), [t(2), t(2, 3, seed=1), t(3, 2, seed=2)]),
    "dot": lambda t: (call("dot"), [t(3), t(3, seed=1)]),
    "mv": lambda t: (call("mv"), [t(2, 3), t(3, seed=1)]),
    "clone": lambda t: (call("clone"), [t(2, 3)]),
    "contiguous": lambda t: (lambda x: call("contiguous")(x.t()), [t(2, 3)]),
    "to_dtype": lambda t: (call("to_dtype", torch.float64), [t(2, 3)]),
    "where": lambda t: (lambda x, y: call("where")(mask(x), x, y), [t(2, 3), t(3, seed=1)]),
    "index": lambda t: (call("index", (INDEX, None)), [t(3, 2)]),
    "index_put": lambda t: (call("index_put", (INDEX[0],), False), [t(3, 2), t(2, 2, seed=1)]),
    "index_select": lambda t: (lambda x: call("index_select", 1)(x, INDEX[0]), [t(2, 3)]),
    "index_add": lambda t: (lambda x, s: call("index_add", 0)(x, INDEX[1], s), [t(3, 2), t(2, 2, seed=1)]),
    "gather": lambda t: (lambda x: call("gather", 1)(x, INDEX), [t(2, 3)]),
    "scatter": lambda t: (lambda x, s: call("scatter", 1)(x, INDEX[:, :1], s), [t(2, 3), t(2, 2, seed=1)]),
    "scatter_add": lambda t: (lambda x, s: call("scatter_add", 1)(x, INDEX, s), [t(2, 3), t(2, 2, seed=1)]),
    "as_strided_scatter": lambda t: (call("as_strided_scatter", (2, 2), (3, 1), 1), [t(2, 3), t(2, 2, seed=1)]),
    "cat": lambda t: (call("cat", 1), [t(2, 3), t(2, 1, seed=1)]),
    "softmax": lambda t: (call("softmax", 1), [t(2, 3)]),
    "log_softmax": lambda t: (call("log_softmax", 0), [t(2, 3)]),
    "nll_loss": lambda t: (
        lambda x: call("nll_loss", 1)(x, torch.tensor([0, 1, 2]), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)),
        [t(3, 3)],
    ),
}


for _module in pkgutil.iter_modules(ops.__path__):
    if _module.name.endswith("_samples"):
        _family = importlib.import_module(f"{ops.__name__}.{_module.name}")
        SAMPLES |= getattr(_family, "SAMPLES", {})
        DOMAINS |= getattr(_family, "DOMAINS", {})
        STATICS |= getattr(_family, "STATICS", {})
        SINGLE |= getattr(_family, "SINGLE", set())
