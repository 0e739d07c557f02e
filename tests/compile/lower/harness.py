"""Functions lowered by one printer and compared with eager."""

from __future__ import annotations

import numpy as np

from tapescope import engine as torch
from tapescope.engine.compile.aot.trace import make_fx
from tapescope.engine.compile.lower.backend import Choices, lower
from tapescope.engine.compile.lower.simplify.translate import translate
from tapescope.engine.func.trees import flatten

PRINTERS = ("c", "numpy")


def lowered(function, *args, printer="c", dynamic=None):
    """The segment of a function on arguments like these."""
    return lower(translate(make_fx(function, dynamic=dynamic)(*args)), Choices(printer=printer))


def tensors(value):
    return [t for t in flatten(value)[0] if isinstance(t, torch.Tensor)]


def agree(got, wanted, tolerance=None):
    """Whether results are eager's, but for the last digits of floating-point numbers."""
    ours, theirs = tensors(got), tensors(wanted)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape and a.dtype is b.dtype
        x, y = (t.detach().cpu() for t in (a, b))
        x, y = (t.float().numpy() if t.dtype is torch.bfloat16 else t.numpy() for t in (x, y))
        if x.dtype.kind != "f":
            assert (x == y).all()
            continue
        limit = tolerance or (1e-11 if x.dtype == np.float64 else 2e-5)
        limit = max(limit, 2e-2) if a.dtype.itemsize == 2 else limit
        assert (np.isnan(x) == np.isnan(y)).all()
        with np.errstate(invalid="ignore"):
            scale = np.nanmax(np.abs(np.where(np.isfinite(y), y, 0)), initial=0) + 1e-3
            apart = np.where(x == y, 0, np.abs(x - y))
        assert np.nanmax(apart, initial=0) <= limit * scale, f"{a}\nagainst\n{b}"


def check(function, *args, printer="c", dynamic=None, tolerance=None):
    """Lower, run and compare; returns the segment."""
    segment = lowered(function, *args, printer=printer, dynamic=dynamic)
    agree(segment(*[a for a in flatten(list(args))[0]]), function(*args), tolerance)
    return segment


def kernels(segment):
    """The names of the steps that are generated kernels."""
    return [s.kernel.name for s in segment.assembly.steps if s.kind == "kernel"]


def calls(segment):
    """The steps that the engine's kernels do."""
    return [next(iter(s.value.origins), "") for s in segment.assembly.steps if s.kind == "call"]
