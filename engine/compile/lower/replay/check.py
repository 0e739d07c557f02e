"""Runs the graph's operators beside a segment, from the same state, and compares.

Results of which nothing was reordered have the same bits; sums, products and functions with own approximations may differ within
`TOLERANCES`, relative to the largest element.
"""

from __future__ import annotations

from typing import Any

from .... import random as engine_random
from ....ops.table import Op
from ....tensor import Tensor
from ...aot import creations
from ...checking import TOLERANCES, Mismatch, difference

EXACT = frozenset(
    [
        *(
            "add",
            "sub",
            "mul",
            "div",
            "neg",
            "abs",
            "sign",
            "relu",
            "maximum",
            "minimum",
            "clamp",
            "where",
            "masked_fill",
        ),
        *("eq", "ne", "lt", "le", "gt", "ge", "logical_not", "logical_and", "logical_or", "logical_xor"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "floor", "ceil", "trunc", "clone", "contiguous"),
    ]
)
"""Pointwise primitives whose results IEEE 754 says to the bit."""


class Checked:
    """A segment whose every call is compared. `segment` is it, `worst` the largest difference found so far."""

    def __init__(self, segment: Any, gm: Any):
        self.segment, self.gm = segment, gm
        self.worst = 0.0
        self.exact = exact_results(gm.graph)

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
            said, away = difference(a, b, i < len(self.exact) and self.exact[i])
            self.worst = max(self.worst, away)
            if said is not None:
                raise Mismatch(self._sentence(outputs, i, said))

    def _sentence(self, outputs: Any, i: int, what: str) -> str:
        name = str(outputs[i].plain) if i < len(outputs) else str(i)
        node = self.segment.program.nodes.get(name)
        source = node.meta.get("source") if node is not None else None
        where = f" (from {source.file}:{source.line})" if source is not None else ""
        return f"torch.compile(check=True): result {name}{where} {what}"


def exact_results(graph: Any) -> list[bool]:
    """For each result, whether every way to compute it gives the same bits: on the CPU, by exact operators in full precision alone."""
    exact: dict[Any, bool] = {}
    for n in graph:
        if n.op in ("placeholder", "get_attr"):
            exact[n] = True
        elif n.op == "output":
            return [exact.get(v, True) for v in _flat(n.args[0])]
        else:
            val = n.meta.get("val")
            here = getattr(val, "device", "") == "cpu" and val.dtype.name not in ("float16", "bfloat16")  # type: ignore[union-attr]
            exact[n] = here and _is_exact(n.target) and all(exact[a] for a in n.all_input_nodes)
    return []


def _is_exact(target: Any) -> bool:
    if isinstance(target, Op):
        return target.kind in ("view", "cast") or target.name in EXACT
    return target in (creations.full, creations.arange, creations.fresh, creations.laid_out)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in _flat(v)]
    return [value]


__all__ = ["TOLERANCES", "Checked", "Mismatch", "exact_results"]
