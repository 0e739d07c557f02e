"""Runs the graph's operators beside a segment, from the same state, and compares.

Results of which nothing was reordered have the same bits; sums, products and functions with own approximations may differ within
`TOLERANCES`, relative to the largest element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import random as engine_random
from ....tensor import Tensor

TOLERANCES = {"float32": 2e-5, "float64": 1e-11, "float16": 2e-2, "bfloat16": 2e-2}
"""How far results may be apart, as parts of the largest element of a result."""


class Mismatch(AssertionError):
    """A compiled result is not the eager one."""


class Checked:
    """A segment whose every call is compared. `segment` is it, `worst` the largest difference found so far."""

    def __init__(self, segment: Any, gm: Any):
        self.segment, self.gm = segment, gm
        self.worst = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.segment, name)

    def __call__(self, *tensors: Any) -> Any:
        before = engine_random.get_rng_state()
        copies = [t.detach().clone() if isinstance(t, Tensor) else t for t in tensors]
        wanted = self.gm.forward(*copies)
        engine_random.set_rng_state(before)
        made = self.segment(*tensors)
        self.compare(made, wanted)
        return made

    def compare(self, made: Any, wanted: Any) -> None:
        """Raises Mismatch, naming the result and the line it comes from."""
        outputs = self.segment.program.outputs
        got, expected = _flat(made), _flat(wanted)
        for i, (a, b) in enumerate(zip(got, expected, strict=True)):
            if not isinstance(a, Tensor):
                continue
            x, y = (np.asarray(t.detach().cpu().numpy()) for t in (a, b))
            if x.shape != y.shape or x.dtype != y.dtype:
                raise Mismatch(
                    self._sentence(outputs, i, f"has shape {x.shape} and {x.dtype}, eager {y.shape} and {y.dtype}")
                )
            if x.tobytes() == y.tobytes() or not x.size:
                continue
            if x.dtype.kind not in "fc":
                raise Mismatch(self._sentence(outputs, i, "differs from eager's"))
            finite = np.isfinite(y)
            scale = float(np.abs(y[finite]).max()) if finite.any() else 0.0
            apart = float(np.abs(x[finite] - y[finite]).max()) if finite.any() else 0.0
            limit = TOLERANCES.get(a.dtype.name, 2e-5) * (scale + 1e-6)
            self.worst = max(self.worst, apart / (scale + 1e-6))
            if not apart <= limit or not np.array_equal(x[~finite], y[~finite], equal_nan=True):
                raise Mismatch(
                    self._sentence(
                        outputs, i, f"is {apart:.3g} away from eager's, whose largest element is {scale:.3g}"
                    )
                )

    def _sentence(self, outputs: Any, i: int, what: str) -> str:
        name = str(outputs[i].plain) if i < len(outputs) else str(i)
        node = self.segment.program.nodes.get(name)
        source = node.meta.get("source") if node is not None else None
        where = f" (from {source.file}:{source.line})" if source is not None else ""
        return f"torch.compile(check=True): result {name}{where} {what}"


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in _flat(v)]
    return [value]
