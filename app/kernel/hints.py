"""Hints for learners, after a cell has run: what probably was not meant, and where.

Each check is one function over what was recorded, and yields `Hint`s; one entry in `CHECKS` adds one.  They look at
the run's records, at the tape, and at the tensors of the namespace; they change nothing and never raise into the cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from .cellnames import parse_cell_filename
from .recorder import _Run
from .torch_name import ENGINE

__all__ = ["CHECKS", "Backwards", "Hint", "Scene", "find_hints"]

MOST = 6
"""Hints a cell at most: more would not be read."""


@dataclass(frozen=True, slots=True)
class Hint:
    """One hint. `id` names its kind, `place` is (cell, revision, line)."""

    id: str
    text: str
    advice: str
    place: tuple[str, int, int] | None = None

    def json(self) -> dict[str, Any]:
        cell, revision, line = self.place or (None, None, None)
        return {
            "id": self.id, "text": self.text, "advice": self.advice, "cell": cell, "revision": revision, "line": line
        }  # fmt: skip


@dataclass
class Scene:
    """What the checks look at. `tapes` are snapshots of this cell's run (`observe.tape_json`), oldest first."""

    run: _Run
    namespace: Mapping[str, Any]
    tapes: list[dict[str, Any]] = field(default_factory=list)
    backwards: Backwards | None = None


def find_hints(scene: Scene) -> list[dict[str, Any]]:
    """The hints for a run as plain data, each place and kind once."""
    found: dict[tuple[str, Any], Hint] = {}
    for check in CHECKS:
        with suppress(Exception):  # a hint is a gift: what cannot be looked at gives none
            for hint in check(scene):
                found.setdefault((hint.id, hint.place), hint)
    return [hint.json() for hint in list(found.values())[:MOST]]


def _place(source: Any) -> tuple[str, int, int] | None:
    if source is None:
        return None
    if isinstance(source, Mapping):
        return (source["cell"], source["revision"], source["line"]) if source.get("cell") else None
    place = parse_cell_filename(source.file)
    return (*place, source.line) if place is not None else None


def _shape(shape: Any) -> str:
    return f"[{', '.join(map(str, shape))}]"


# -- shapes -----------------------------------------------------------------------------------------


_JOINING = {
    "sub",
    "add",
    "mul",
    "div",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "eq",
    "squared_difference",
}


def accidental_broadcast(scene: Scene) -> Iterator[Hint]:
    """(N, 1) with (N,) gives (N, N): nearly always a forgotten squeeze."""
    for step in scene.run.steps:
        if step.phase != "forward" or step.op not in _JOINING or step.place is None or len(step.inputs) < 2:
            continue
        shapes = {tuple(meta.shape) for meta in step.inputs[:2]}
        column = next((s for s in shapes if len(s) == 2 and s[1] == 1 and s[0] > 1), None)
        row = next((s for s in shapes if len(s) == 1 and s[0] > 1), None)
        if column is not None and row is not None and column[0] == row[0]:
            n = row[0]
            yield Hint(
                "broadcast",
                f"{_shape(column)} with {_shape(row)} makes {_shape((n, n))}: every row meets every value.",
                "If one value a row was meant, make the shapes equal: .squeeze(1) on one side, or .unsqueeze(1) on the other.",
                (*step.place, step.source.line),
            )


# -- losses -----------------------------------------------------------------------------------------


_THROUGH = {"view", "reshape", "unsqueeze", "squeeze", "transpose", "permute", "t", "to_dtype", "contiguous", "clone"}


def softmax_before_cross_entropy(scene: Scene) -> Iterator[Hint]:
    """Cross entropy takes raw scores: it has a log-softmax of its own."""
    for tape in scene.tapes[-1:]:
        nodes = {node["id"]: node for node in tape["nodes"]}

        def source_of(node: dict[str, Any], nodes: dict[int, Any] = nodes) -> dict[str, Any] | None:
            for _ in range(8):
                inputs = [nodes[i] for i in node["inputs"] if i in nodes]
                if not inputs:
                    return None
                node = inputs[0]
                if node["op"] not in _THROUGH:
                    return node
            return None

        for node in tape["nodes"]:
            before = source_of(node) if node["op"] in ("log_softmax", "binary_cross_entropy_with_logits") else None
            if before is None:
                continue
            if node["op"] == "log_softmax" and before["op"] == "softmax":
                yield Hint(
                    "softmax",
                    "Softmax is applied twice: cross_entropy takes raw scores and has a softmax of its own.",
                    "Hand the scores over as they are; use softmax only to show probabilities.",
                    _place(before["source"]),
                )
            elif node["op"] != "log_softmax" and before["op"] == "sigmoid":
                yield Hint(
                    "sigmoid",
                    "Sigmoid is applied twice: binary_cross_entropy_with_logits takes raw scores.",
                    "Hand the scores over as they are, or use binary_cross_entropy.",
                    _place(before["source"]),
                )


def not_a_number(scene: Scene) -> Iterator[Hint]:
    """The first operator from which NaN came, by what the tape has kept of each."""
    watch = scene.backwards
    bad = [
        (name, t) for name, t in _tensors(scene.namespace) if t.numel() == 1 and _made_here(scene, t) and _kind_of(t)
    ]
    found = watch.first_bad if watch is not None else None
    if found is not None and found.kind != "NaN" and not bad:
        return  # an infinity alone may be meant: a mask, for one
    if found is None:
        if not bad or _kind_of(bad[0][1]) != "NaN":
            return
        name, tensor = bad[0]
        found = first_bad([tensor.grad_fn]) if tensor.grad_fn is not None else None
        if found is None:
            yield Hint("nan", f"{name} is NaN.", "Look at the values that went into it, one operator at a time.")
            return
    if found.leaf is not None:
        names = {
            id(p): f"{name}.{n}" for name, module in _modules(scene.namespace) for n, p in module.named_parameters()
        }
        names |= {id(t): name for name, t in _tensors(scene.namespace) if t.is_leaf}
        weights = names.get(id(found.leaf)) or found.leaf._label or "a parameter"
        yield Hint(
            "nan",
            f"The loss is NaN because {weights} held NaN before this step began.",
            "An earlier update broke the weights: try a smaller learning rate, or torch.nn.utils.clip_grad_norm_.",
            _place(found.source),
        )
        return
    yield Hint(
        "nan",
        f"The result is not finite: {found.op} is the first operator whose result is {found.kind} while its inputs are finite.",
        _ADVICE_NAN.get(
            found.op, "Look at the values that go into it; torch.clamp or a small constant may be missing."
        ),
        _place(found.source),
    )


def _made_here(scene: Scene, tensor: Any) -> bool:
    node = tensor.grad_fn
    return node is not None and node.sequence_nr in scene.run.nodes


@dataclass(frozen=True, slots=True)
class Bad:
    """Where values stopped being finite: an operator, or a `leaf` that was so already. `kind` is "NaN" or "infinite"."""

    op: str
    source: Any
    kind: str
    leaf: Any = None


_ADVICE_NAN = {
    "log": "The logarithm of 0 is -inf, of a negative number NaN: use torch.clamp(x, min=1e-8), or log_softmax.",
    "div": "Something is divided by 0: add a small constant below the line.",
    "sqrt": "The root of a negative number is NaN, and its gradient at 0 is infinite: add a small constant.",
    "exp": "exp of a large number is infinite: subtract the maximum first, or use logsumexp.",
    "pow": "A power of a negative number, or of 0 with a negative exponent, is not finite.",
}


def first_bad(roots: Any, limit: int = 2_000) -> Bad | None:
    """The oldest operator under the nodes `roots` whose result is not finite though its kept inputs are.

    None where nothing that was kept is bad. What the tape has freed is not looked at.
    """
    import heapq

    from ...engine.autograd.run import AccumulateGrad

    heap: list[tuple[int, int, Any]] = []
    seen: set[int] = set()

    def push(node: Any) -> None:
        if id(node) not in seen:
            seen.add(id(node))
            heapq.heappush(heap, (-node.sequence_nr, id(node), node))

    for root in roots:
        push(root)
    states: dict[int, str] = {}  # what is known of a node's result: "" is finite
    nodes: list[Any] = []
    while heap and len(nodes) < limit:
        node = heapq.heappop(heap)[2]
        nodes.append(node)
        if isinstance(node, AccumulateGrad):
            states[id(node)] = _kind_of(node.variable)
            continue
        for edge, value in zip(node.edges, _kept_inputs(node), strict=False):
            if edge is not None and value is not None:
                known = _kind_of(value)
                states[id(edge[0])] = known or states.get(id(edge[0]), "")
        if id(node) not in states:
            result = _kept(node, "result")
            states[id(node)] = _kind_of(result) if result is not None else _again(node)
        for edge in node.edges:
            if edge is not None:
                push(edge[0])
    for node in reversed(nodes):  # oldest first
        kind = states.get(id(node), "")
        if not kind:
            continue
        if isinstance(node, AccumulateGrad):
            if kind == "NaN":
                return Bad("", _first_user(nodes, node), kind, node.variable)
            continue
        if not any(states.get(id(edge[0])) for edge in node.edges if edge is not None):
            return Bad(node.op.name if node.op is not None else node.name(), node.source, kind)
    return None


def _again(node: Any) -> str:
    """What the result of one of the operators that leave the numbers is, computed once more from its kept inputs."""
    if getattr(node, "op", None) is None or node.op.name not in _ADVICE_NAN:
        return ""
    values = _kept_inputs(node)
    if not values or any(v is None or v.numel() > 1 << 22 for v in values):
        return ""
    from ...engine import dispatch
    from ...engine.autograd import no_grad

    try:
        with no_grad():
            return _kind_of(dispatch.call(node.op, tuple(v.detach() for v in values), node.statics))
    except Exception:
        return ""


def _first_user(nodes: list[Any], leaf: Any) -> Any:
    users = [n for n in nodes if any(e is not None and e[0] is leaf for e in n.edges)]
    return users[-1].source if users else None


def _kept(node: Any, name: str) -> Any:
    saved = getattr(node, "saved", None)
    value = saved.get(name) if isinstance(saved, dict) else None
    return getattr(value, "tensor", None)


def _kept_inputs(node: Any) -> list[Any]:
    """For each edge of a node the tensor that was kept of it, or None."""
    op = getattr(node, "op", None)
    if op is None or getattr(op, "list_input", False):
        return []
    return [_kept(node, name) for name in op.tensors]


def _kind_of(tensor: Any) -> str:
    """ "NaN", "infinite" or "" (finite, or not on the CPU, where looking would cost more than a hint is worth)."""
    import numpy as np

    data = getattr(tensor, "_data", None)
    if not isinstance(data, np.ndarray) or data.dtype.kind not in "fc":
        return ""
    with np.errstate(all="ignore"):
        total = data.sum()
        if np.isfinite(total):
            return ""
        if np.isnan(data).any():
            return "NaN"
        return "infinite" if np.isinf(data).any() else ""


# -- training ---------------------------------------------------------------------------------------


def parameters_without_gradient(scene: Scene) -> Iterator[Hint]:
    """Parameters that a backward pass of this cell has not reached, beside others that it has."""
    if not scene.run.backward:
        return
    reached = scene.backwards.reached if scene.backwards is not None else frozenset()
    for name, module in _modules(scene.namespace):
        parameters = [(n, p) for n, p in module.named_parameters() if p.requires_grad]
        if not any(id(p) in reached for _, p in parameters):
            continue
        without = [n for n, p in parameters if p.grad is None]
        if not without or len(without) == len(parameters):
            continue
        shown = ", ".join(f"{name}.{n}" for n in without[:3]) + (f" and {len(without) - 3} more" if without[3:] else "")
        line = scene.backwards.place if scene.backwards is not None else None
        yield Hint(
            "no_gradient",
            f"{shown} got no gradient from this cell's backward pass.",
            "The loss does not depend on it: is the layer used in forward()? Was it detached on the way?",
            line,
        )


def zero_grad_missing(scene: Scene) -> Iterator[Hint]:
    """A parameter was updated, and the next backward pass added to its old gradient."""
    watch = scene.backwards
    if watch is not None and watch.accumulated:
        yield Hint(
            "zero_grad",
            "Gradients pile up: weights were updated, and the next backward() added to the old gradients.",
            "Call optimizer.zero_grad() before each backward().",
            watch.place,
        )


def moved_between_devices(scene: Scene) -> Iterator[Hint]:
    """Operators that ran on the CPU although their tensors are on another device."""
    for op, (device, _, key, count) in scene.run.fallbacks.items():
        times = "once" if count == 1 else f"{count} times"
        yield Hint(
            "device",
            f"{op} has no kernel for {device} and ran on the CPU {times}: its inputs were copied there and back.",
            "Move it out of the loop, or compute this part on the CPU.",
            key,
        )


CHECKS: tuple[Callable[[Scene], Iterator[Hint]], ...] = (
    not_a_number,
    zero_grad_missing,
    parameters_without_gradient,
    accidental_broadcast,
    softmax_before_cross_entropy,
    moved_between_devices,
)
"""Every check, what matters most first."""


def _tensors(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    from ...engine.tensor import Tensor

    for name, value in dict(namespace).items():
        if isinstance(name, str) and not name.startswith("_") and issubclass(type(value), Tensor):
            yield name, value


def _modules(namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    import sys

    kind = getattr(sys.modules.get(f"{ENGINE}.nn"), "Module", None)
    if kind is None:
        return
    seen: set[int] = set()
    inner: set[int] = set()
    found = []
    for name, value in dict(namespace).items():
        if (
            isinstance(name, str)
            and not name.startswith("_")
            and issubclass(type(value), kind)
            and id(value) not in seen
        ):
            seen.add(id(value))
            found.append((name, value))
            inner.update(id(m) for m in value.modules() if m is not value)
    yield from ((name, value) for name, value in found if id(value) not in inner)


class Backwards:
    """Looks at each beginning backward pass of a cell, while the tape still holds its values."""

    LOOKED_AT = 50
    """Passes whose leaves are looked at; a loop that forgets zero_grad forgets it in the first turns."""

    def __init__(self) -> None:
        self.place: tuple[str, int, int] | None = None
        self.accumulated = False
        self.first_bad: Bad | None = None
        self.reached: frozenset[int] = frozenset()
        """`id` of the leaves below the first pass."""
        self._passes = 0
        self._leaf: Any = None
        self._version = -1

    def began(self, record: Any) -> None:
        """A pass begins: is the gradient of the step before still there?"""
        self._passes += 1
        if self._passes == 1:
            self.place = _place(record.source)
            self.reached = _leaves(record._roots)
        if self._passes > self.LOOKED_AT or self.accumulated:
            return
        leaf = _some_leaf(record._roots)
        if leaf is None:
            return
        version = leaf._storage.version
        if leaf is self._leaf and version > self._version and leaf._grad is not None:
            grad = getattr(leaf._grad, "_data", None)
            self.accumulated = grad is not None and bool((grad != 0).any())
        self._leaf, self._version = leaf, version

    def look(self, roots: Any) -> None:
        """Look for the operator that first gave NaN; costs a pass over what the tape keeps."""
        if self.first_bad is None or (self.first_bad.kind != "NaN" and self.first_bad.leaf is None):
            self.first_bad = first_bad(roots) or self.first_bad


def _leaves(roots: Any, limit: int = 5_000) -> frozenset[int]:
    """`id` of the tensors that gather a gradient below the roots."""
    from ...engine.autograd.run import AccumulateGrad

    stack, seen, found = [*roots], set(), set()
    while stack and len(seen) < limit:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, AccumulateGrad):
            found.add(id(node.variable))
        stack.extend(edge[0] for edge in node.edges if edge is not None)
    return frozenset(found)


def _some_leaf(roots: Any) -> Any:
    """One tensor that gathers a gradient below the roots: always the same one for the same program."""
    import numpy as np

    from ...engine.autograd.run import AccumulateGrad

    stack, seen = [*roots], 0
    while stack and seen < 200:
        node = stack.pop()
        seen += 1
        if isinstance(node, AccumulateGrad):
            if isinstance(node.variable._data, np.ndarray) and node.variable._data.size:  # no batch, no fake, no device
                return node.variable
            continue
        stack.extend(edge[0] for edge in node.edges if edge is not None)
    return None
