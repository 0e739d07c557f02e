"""What the engine tells about itself: small typed records, and one bus that carries them.

Every record is a frozen dataclass with a `kind`, made only when somebody subscribed to that kind, and
serialisable with `to_json`, so that a recorded run can be replayed without a device.  This file knows
no tensors and imports nothing else of the engine: views and the notebook depend on it alone.

Hot paths ask one attribute before they build a record::

    if bus.op:
        bus.publish(OpRecorded(...))
"""

from __future__ import annotations

import dataclasses
import itertools
import linecache
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

TAPE_MIME = "application/vnd.tapescope.tape+json"
"""MIME type of a tape snapshot, the dictionary that `tape_json` describes."""

TAPE_VERSION = 1

CAPTURE_MIME = "application/vnd.tapescope.capture+json"
"""MIME type of what `compile` made of a function, the dictionary that `capture_json` describes."""

KERNELS_MIME = "application/vnd.tapescope.kernels+json"
"""MIME type of the kernels of a compiled function, the dictionary that `kernels_json` describes."""

CAPTURE_VERSION = 1
KERNELS_VERSION = 1


@dataclass(frozen=True, slots=True)
class Source:
    """A range of source text. Lines count from 1, columns (in characters) from 0, the end is exclusive."""

    file: str
    line: int
    end_line: int
    column: int
    end_column: int
    function: str = ""

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def characters(file: str, line: int, column: int) -> int:
    """A column that Python's position tables count in bytes of UTF-8, in characters; as it is where the text is not known."""
    text = linecache.getline(file, line)
    return column if text.isascii() else len(text.encode()[:column].decode(errors="ignore"))


@dataclass(frozen=True, slots=True)
class Meta:
    """What is known of a tensor without its values."""

    shape: tuple[int, ...]
    dtype: str
    device: str = "cpu"

    def to_json(self) -> dict[str, Any]:
        return {"shape": list(self.shape), "dtype": self.dtype, "device": self.device}


@dataclass(frozen=True, slots=True)
class Record:
    """Base of all records. `kind` names the record on the bus and in JSON."""

    kind: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON values; fields whose name starts with `_` (live objects) are left out."""
        out: dict[str, Any] = {"kind": self.kind}
        for f in dataclasses.fields(self):
            if not f.name.startswith("_"):
                out[f.name] = _plain(getattr(self, f.name))
        return out


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


@dataclass(frozen=True, slots=True)
class OpRecorded(Record):
    """One operator ran eagerly.

    `node` is the sequence number of its tape node, or None where nothing was recorded for backward.
    """

    kind: ClassVar[str] = "op"
    op: str
    inputs: tuple[Meta, ...]
    outputs: tuple[Meta, ...]
    module: str
    source: Source | None
    node: int | None = None


@dataclass(frozen=True, slots=True)
class BackwardBegan(Record):
    """`backward()` or `grad()` starts from these nodes. `_roots` are the live nodes, for a snapshot."""

    kind: ClassVar[str] = "backward"
    roots: tuple[int, ...]
    source: Source | None
    _roots: tuple[Any, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class NodeVisited(Record):
    """Backward ran through one node; `grads` are the gradients it handed on (None where not needed).

    `norms` are the lengths (2-norms) of those gradients where `bus.norms` asks for them, else ().
    """

    kind: ClassVar[str] = "node"
    node: int
    op: str
    grads: tuple[Meta | None, ...]
    norms: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelBuilt(Record):
    """A kernel was generated and compiled. `text` is its WGSL (or other) source."""

    kind: ClassVar[str] = "kernel"
    name: str
    device: str
    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class KernelLaunched(Record):
    """A kernel was launched for an operator; `seconds` is None where the device does not tell."""

    kind: ClassVar[str] = "launch"
    name: str
    op: str
    device: str
    workgroups: tuple[int, int, int]
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class FellBack(Record):
    """An operator has no kernel on its device and ran on the CPU, its inputs copied there and back."""

    kind: ClassVar[str] = "fallback"
    op: str
    device: str
    reason: str


@dataclass(frozen=True, slots=True)
class BufferChanged(Record):
    """Device memory was allocated (`bytes` > 0) or freed (`bytes` < 0); `total` is what is held now."""

    kind: ClassVar[str] = "buffer"
    device: str
    bytes: int
    total: int


@dataclass(frozen=True, slots=True)
class SegmentCaptured(Record):
    """`compile` captured one segment of a function; `capture` is its entry in `capture_json`'s list of segments.

    What follows a segment and which kernels were generated shows only when it has run: `_latest()` tells the entry as it is when
    asked, or None where nothing has been added since it was last asked.
    """

    kind: ClassVar[str] = "segment"
    function: str
    segment: str
    source: Source | None
    seconds: float
    capture: dict[str, Any]
    _latest: Callable[[], dict[str, Any] | None] = field(default=lambda: None, repr=False)


@dataclass(frozen=True, slots=True)
class GraphBroken(Record):
    """A graph ended where it could not go on. `break_id` is an entry of the registry in `engine/compile/breaks.py`."""

    kind: ClassVar[str] = "graph_break"
    function: str
    segment: str
    break_id: str
    category: str
    reason: str
    hint: str
    source: Source | None
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GuardFailed(Record):
    """A captured segment did not fit a call: the guard that failed, what it saw when captured, and what it sees now."""

    kind: ClassVar[str] = "guard"
    function: str
    segment: str
    guard: str
    old: str
    new: str
    source: Source | None
    dimension: tuple[str, int] | None = None
    """The tensor argument and dimension whose size moved, where that is what failed (so that it can be marked dynamic)."""


RECORDS: dict[str, type[Record]] = {
    r.kind: r
    for r in (
        OpRecorded, BackwardBegan, NodeVisited, KernelBuilt, KernelLaunched, FellBack, BufferChanged,
        SegmentCaptured, GraphBroken, GuardFailed,
    )
}  # fmt: skip
"""Every kind of record, by its name on the bus."""


class Bus:
    """Carries records to subscribers. One attribute a kind says whether anybody wants it."""

    op = backward = node = kernel = launch = fallback = buffer = segment = graph_break = guard = False

    norms = False
    """Whether the records of backward carry the norms of gradients: one reduction and one read a gradient."""

    began = 0.0
    """When the operator that is recorded next began, by `time.perf_counter`; between operators other code runs."""

    def __init__(self) -> None:
        self._subscribers: dict[int, tuple[frozenset[str], Callable[[Record], None]]] = {}
        self._tickets = itertools.count()

    def subscribe(self, callback: Callable[[Record], None], kinds: Iterable[str] | None = None) -> Callable[[], None]:
        """Call `callback(record)` for every record of `kinds` (all of them when None); returns the unsubscriber.

        Raises ValueError for a kind that does not exist.
        """
        wanted = frozenset(RECORDS if kinds is None else kinds)
        unknown = wanted - RECORDS.keys()
        if unknown:
            raise ValueError(f"no record kind {sorted(unknown)[0]!r}; the kinds are {', '.join(sorted(RECORDS))}")
        ticket = next(self._tickets)
        self._subscribers = {**self._subscribers, ticket: (wanted, callback)}
        self._refresh()

        def unsubscribe() -> None:
            self._subscribers = {k: v for k, v in self._subscribers.items() if k != ticket}
            self._refresh()

        return unsubscribe

    def publish(self, record: Record) -> None:
        """Hand one record to everybody who wants its kind."""
        for kinds, callback in self._subscribers.values():
            if record.kind in kinds:
                callback(record)

    def _refresh(self) -> None:
        for kind in RECORDS:
            setattr(self, kind, any(kind in kinds for kinds, _ in self._subscribers.values()))


bus = Bus()
"""The one bus of the process."""


def tape_json(nodes: list[dict[str, Any]], roots: list[int], *, dropped: int = 0) -> dict[str, Any]:
    """The form of a tape snapshot, made by `engine.autograd.snapshot` and read by `graphviz_views`.

    Each node is a dictionary:

    ========  =====================================================================================
    id        its sequence number (unique in the process)
    kind      "op", or "leaf" for a tensor that gathers a gradient
    op        operator name ("mul"); for a leaf, "leaf"
    name      PyTorch's node name ("MulBackward0", "AccumulateGrad")
    label     for a leaf: its parameter's name ("fc1.weight") where known, else ""
    inputs    for each input that needs a gradient, the id of the node it comes from
    outputs   list of {"shape", "dtype", "device"}
    module    module path in which it was recorded ("net.fc1"), "" outside of modules
    source    {"file", "line", "end_line", "column", "end_column", "function"} or None
    saved     list of {"name", "shape", "dtype", "bytes", "node"} kept for backward (empty once freed); "node" is the id of
              the node that made it, None where that is not on the tape
    grad      {"shape", "dtype", "norm"} of its output's gradient where known, else None
    ========  =====================================================================================

    Nodes stand in the order in which they were recorded; `dropped` counts older nodes that were cut.  The tape of a
    computation that failed has the entry "error" as well, which `engine.autograd.failure.failed_tape` describes.
    """
    return {"version": TAPE_VERSION, "roots": roots, "nodes": nodes, "dropped": dropped}


def capture_json(
    function: str, source: Source | None, segments: list[dict[str, Any]], recompiles: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """The form of a captured function, made by `engine.compile` and read by `graphviz_views` and the panels.

    Each segment is a dictionary:

    ========  =====================================================================================
    id        "0", "1", ... in the order of capture
    entry     {"function", "source"}: where it begins
    backend   the backend's name
    inputs    list of {"name", "source" (an expression such as "x" or "self.fc.weight"), "shape", "dtype", "device"}
    nodes     list of {"name", "op" (FX's kind of node), "target" ("linear"), "inputs" (names of nodes), "constants" (the
              other arguments as text: "2", "dim=-1"), "shape", "dtype", "bytes", "source", "module"}, in program order;
              `shape` entries are numbers or the names of symbolic sizes
    outputs   names of nodes
    guards    list of {"text", "source" (the expression guarded), "why"}
    effects   list of sentences, such as "self.counter = ..."
    exit      {"kind": "return" | "break" | "branch" | "raise", "break": None or {"id", "category", "reason", "hint",
              "source", "values"}, "next": [ids of the segments that follow, as far as captured]}
    code      the graph as Python text
    seconds   time of the capture
    calls     how often it ran
    kernels   a `kernels_json` dictionary, or None where the backend generates none
    ========  =====================================================================================

    `recompiles` are dictionaries {"segment", "instead_of", "guard", "old", "new", "source", "dimension"}: which segment
    was captured because a guard of another did not hold, and the two values.
    """
    return {
        "version": CAPTURE_VERSION, "function": function, "source": source.to_json() if source else None,
        "segments": segments, "recompiles": recompiles or [],
    }  # fmt: skip


def kernels_json(
    device: str,
    kernels: list[dict[str, Any]],
    refused: list[dict[str, Any]] | None = None,
    *,
    peak_bytes: int | None = None,
    eager_peak_bytes: int | None = None,
    passes: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """The form of a list of kernels in launch order, made by `engine.compile` and read by `graphviz_views` and the panels.

    Each kernel is a dictionary:

    ===========  ==================================================================================
    id           its number in launch order, as text
    name         "k0_add_mul_sum"
    language     "wgsl", "c" or "numpy"; "library" for a call such as a matmul
    text         its source
    nodes        names of the graph nodes computed in it
    steps        what those nodes are, where they are parts of captured ones: list of {"name", "target", "inputs" (names),
                 "captured" (name of the captured node, or ""), "backward", "shape", "dtype"}
    segment      id of the segment it belongs to, "" outside of one
    tape         sequence numbers of the tape nodes those belong to
    sources      list of source ranges, one for each distinct line
    lines        list of [line of `text` (from 1), names of nodes]: which lines compute what
    launch       {"grid": [x, y, z], "block": [x, y, z]} on a GPU, {"loops": [sizes]} elsewhere
    inputs       list of {"name", "shape", "dtype"}
    outputs      the same
    bytes        bytes read and written
    operations   floating-point operations
    seconds      median measured time of a launch, or None
    ceiling      the least seconds that the device's measured bandwidth and arithmetic allow, or None
    launches     how often it ran
    tuned        what `max-autotune` tried for it: {"chosen", "tried": list of {"choice", "seconds", "error"}}, or None
    ===========  ==================================================================================

    `refused` are dictionaries {"first", "second", "reason"}: two neighbours that were not fused, and why. `passes` are
    dictionaries {"pass", "name", "rewrites"}: what each rule of each pass did.  What `max-autotune` tried for whole segments is
    added as "tuning": a list of {"chosen", "settled", "tried"}.
    """
    return {
        "version": KERNELS_VERSION, "device": device, "kernels": kernels, "refused": refused or [],
        "peak_bytes": peak_bytes, "eager_peak_bytes": eager_peak_bytes, "passes": passes or [],
    }  # fmt: skip
