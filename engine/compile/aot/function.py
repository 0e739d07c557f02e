"""A compiled graph as the engine sees it: forward and backward of generated code, joined to the tape as one node.

`AotFunction` takes a level-1 graph. On the first call with a pattern of gradient modes it traces forward, backward, writes to
inputs and gradients set into a graph of primitives, splits it, and hands the parts to a graph compiler. Afterwards a call runs
the forward part, writes what inputs must have, rebuilds views, and hangs a node on the results that will run the backward part.
Where tracing fails, the level-1 graph runs operator by operator, and `reason` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...state import state
from ...tensor import Tensor
from ..collector import Still
from ..fake import is_symbolic
from ..graph import GraphModule, TensorSpec
from .build import build
from .variant import Undone, Variant

Compiler = Callable[[GraphModule, Sequence[Any]], Callable[..., Any]]
"""From a level-2 graph and the specs of its inputs to something that takes tensors and returns the flat results."""

_MOVES_GRADIENTS = ("backward", "get_grad", "set_grad", "grad")


class AotFunction:
    """Callable with the level-1 graph's inputs; `variants` are what was compiled, by gradient pattern."""

    def __init__(
        self,
        gm: GraphModule,
        example_inputs: Sequence[Any],
        compiler: Compiler,
        backward_compiler: Compiler | None = None,
    ):
        self.gm = gm
        self.examples = [
            val if _says(val := n.meta.get("val")) else e
            for n, e in zip(gm.graph.placeholders, example_inputs, strict=True)
        ]
        """What is known of each input: the graph's own word where it has symbolic sizes, else the example."""
        if any(map(_says, self.examples)):
            # Printed before tracing may find that a symbol has to be one number: what then calls it has other numbers.
            gm.forward  # noqa: B018
        self.compiler = compiler
        self.backward_compiler = backward_compiler or compiler
        self.variants: dict[Any, Variant | None] = {}
        self.reason: str | None = None
        self.constants = [n for n, v in gm.constants.items() if isinstance(v, Tensor)]
        self.plain = [i for i, e in enumerate(self.examples) if isinstance(e, _PLAIN) and not is_symbolic(e)]
        """Inputs whose values are part of the compiled code."""
        self.touches_grads = bool(gm.meta.get("moves_gradients")) or any(
            (n.target if isinstance(n.target, str) else getattr(n.target, "__name__", "")) in _MOVES_GRADIENTS
            for n in gm.graph
            if n.op in ("call_function", "call_method")
        )

    def __call__(self, *inputs: Any) -> Any:
        if state.modes or state.anomaly:  # transforms and anomaly mode want to see the operators
            return self.gm(*inputs)
        given: list[Any] = (
            [*inputs, *[self.gm.constants[n] for n in self.constants]] if self.constants else list(inputs)
        )
        key = self._key(given)
        variant = self.variants.get(key, _MISSING)
        if variant is _MISSING:
            variant = self.variants[key] = self._compile(given)
        if variant is None or (variant.guard is not None and not variant.guard(given)) or _share_memory(given, variant):
            return self.gm(*inputs)
        if variant.unviewed and any(given[i]._base is not None for i in variant.unviewed):
            return self.gm(*inputs)
        try:
            return variant(given)
        except Undone:
            pass
        # The user's own error comes from the user's own operators, after what they had done by then.
        return self.gm(*inputs)

    def explain(self) -> list[dict[str, Any]]:
        """Each compiled variant as plain data: the code of forward and backward, what is saved and recomputed and why, what is written.

        A variant that could not be compiled has a "reason" instead.
        """
        out: list[dict[str, Any]] = []
        for variant in self.variants.values():
            if variant is None:
                out.append({"reason": self.reason})
                continue
            names = [n.name for n in variant.forward_graph.placeholders()]
            backward = variant.backward_graph
            out.append(
                {
                    "forward": variant.forward_graph.code,
                    "backward": None if backward is None else backward.code,
                    "decisions": [d.to_json() for d in variant.decisions],
                    "written": [names[i] for i, _, _ in variant.mutated],
                    "saved_bytes": sum(d.bytes for d in variant.decisions if d.action == "save"),
                }
            )
        return out

    def _key(self, given: list[Any]) -> Any:
        """What of the inputs' gradients the compiled code depends on."""
        tensors = [t for t in given if isinstance(t, Tensor)]
        needs = tuple([t._requires_grad if t._base is None else t.requires_grad for t in tensors])
        plain = tuple([(type(given[i]), given[i]) for i in self.plain]) if self.plain else ()
        if not self.touches_grads:
            return (state.grad_enabled, needs, plain)
        return (
            state.grad_enabled, needs, plain,
            _gradients(tensors),
            any([bool(t._hooks) or "_kept_accumulator" in t.__dict__ for t in tensors]),
        )  # fmt: skip

    def _compile(self, given: list[Any]) -> Variant | None:
        try:
            with Still():
                return build(self, given)
        except Exception as error:  # whatever it is, running the operators shows it where it belongs
            self.reason = f"{type(error).__name__}: {error}"
            return None


def _gradients(tensors: list[Tensor]) -> tuple[int, ...]:
    """Of each input: -1 without a gradient, the number of the input that its gradient is, else -2."""
    if all([t._grad is None for t in tensors]):
        return (-1,) * len(tensors)
    numbers = {id(t): i for i, t in enumerate(tensors)}
    return tuple([-1 if t._grad is None else numbers.get(id(t._grad), -2) for t in tensors])


def _says(val: Any) -> bool:
    """Whether a placeholder's value knows more than an example: symbols."""
    return is_symbolic(val) or (isinstance(val, TensorSpec) and any(map(is_symbolic, val.shape)))


_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_MISSING: Any = object()


def _share_memory(given: list[Any], variant: Variant) -> bool:
    """Whether an input that is written to shares memory with another input: then the order of operators matters."""
    if not variant.mutated:
        return False
    count: dict[int, int] = {}
    for i in variant.memory_inputs:
        t = given[i]
        key = id(getattr(t._storage, "owner", t._storage).data)
        count[key] = count.get(key, 0) + 1
    return any(
        count[id(getattr(given[i]._storage, "owner", given[i]._storage).data)] > 1 for i in variant.mutated_given
    )
