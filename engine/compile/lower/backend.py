"""What `torch.compile` calls: a level-2 graph in, something that runs it in few kernels out.

On the CPU that is compiled C where there is a compiler, numpy programs elsewhere; on WebGPU it is WGSL. Where a graph cannot be
lowered it runs operator by operator, and `reason` says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..aot.function import AotFunction
from ..graph import GraphModule
from .replay.check import Checked
from .simplify.translate import Program, translate

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


@dataclass(frozen=True)
class Choices:
    """How to compile. `check` compares every run with the graph's operators; `printer` names one ("c", "numpy", "wgsl")."""

    mode: str = "default"
    check: bool = False
    printer: str | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"there is no mode {self.mode!r} for torch.compile; the modes are {', '.join(MODES)}")


MISS: Any = object()
"""What a hot path answers where it does not fit; nothing was done then."""


class Unlowered:
    """Runs a graph's primitives one after the other, because of `reason`."""

    def __init__(self, gm: GraphModule, reason: str):
        self.gm, self.reason = gm, reason
        self.call = gm.forward

    def __call__(self, *inputs: Any) -> Any:
        return self.call(*inputs)


def compile_graph(gm: GraphModule, specs: Sequence[Any] = (), choices: Choices | None = None) -> Callable[..., Any]:
    """The compiled form of a graph of primitives, called with its inputs; returns what the graph returns, in tuples.

    `specs` describe the inputs, and are not needed: the graph's placeholders say the same. A result that belongs to
    `gm.meta["writes"]` (output to input) is written into that input, and the input's tensor is returned in its place.
    """
    choices = choices or Choices()
    try:
        made = (
            _tuned(gm, choices)
            if choices.mode.startswith("max-autotune")
            else lower(translate(gm, _printer(gm, choices)), choices)
        )
    except NotImplementedError as error:
        return Unlowered(gm, str(error))
    except Exception as error:  # a mistake here must not stop the user's program; the operators run as they are
        if os.environ.get("TAPESCOPE_RAISE"):
            raise
        return Unlowered(gm, f"{type(error).__name__}: {error}")
    if hasattr(made, "fallback"):
        made.fallback = gm.forward
    return Checked(made, gm) if choices.check else made


def lower(program: Program, choices: Choices | None = None) -> Any:
    """The segment of a program. Raises NotImplementedError for devices and graphs that have no generated kernels."""
    from .replay.assemble import assemble
    from .schedule.fuse import Caps

    choices = choices or Choices()
    if program.backend == "webgpu":
        from .replay.webgpu import GpuSegment, shared_lanes

        # Threads do not meet: each walks its own row, and what it needs again it computes again.
        caps = Caps(buffers=7, keep=1 << 30, lend=True, rows_only=True, contiguous_rows=False)
        caps.gathers = caps.epilogues = shared_lanes() > 0
        return GpuSegment(assemble(program, caps))
    if program.backend != "cpu":
        raise NotImplementedError(f"there are no generated kernels for device {program.backend!r}")
    if choices.printer == "numpy" or not have_c():
        from .replay.numpy_program import NumpySegment

        return NumpySegment(assemble(program, Caps(keep=1, short=2)))
    from .replay.cpu import Segment

    return Segment(assemble(program))


def _tuned(gm: GraphModule, choices: Choices) -> Any:
    """A segment of which several forms are measured on the first call; the plain one where there is nothing to choose."""
    from .autotune.choices import Candidate, Tuned
    from .replay.assemble import assemble
    from .replay.cpu import Segment
    from .schedule.fuse import Caps

    program = translate(gm, _printer(gm, choices))
    if program.backend != "cpu" or choices.printer == "numpy" or not have_c():
        return lower(program, choices)

    def make(candidate: Candidate) -> Segment:
        return Segment(assemble(translate(gm), Caps(keep=candidate.keep, merge=candidate.merge)), candidate.flags)

    return Tuned(make, gm.code)


def _printer(gm: GraphModule, choices: Choices) -> str:
    """The printer that a graph is meant for."""
    from ..graph.node import TensorSpec

    if any(isinstance(v := n.meta.get("val"), TensorSpec) and v.device != "cpu" for n in gm.graph):
        from .replay.webgpu import shared_lanes

        return "wgsl, subgroups" if shared_lanes() else "wgsl"
    return "numpy" if choices.printer == "numpy" or not have_c() else "c"


def have_c() -> bool:
    """Whether there is a C compiler that can be used."""
    from .cache.compiler import find, threads
    from .replay.cpu import HEADER

    return find() is not None and threads() is not None and HEADER is not None


class LoweredFunction(AotFunction):
    """A captured graph whose forward and backward run as generated kernels."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.quick: Callable[..., Any] | None = None
        """The hot path of one variant, once it was called twice; see `replay/quick.py`."""
        self.looked: dict[Any, int] = {}

    def __call__(self, *inputs: Any) -> Any:
        if self.quick is not None:
            out = self.quick(*inputs)
            if out is not MISS:
                return out
        out = super().__call__(*inputs)
        if self.quick is None:
            self._look_for_quick()
        return out

    def _look_for_quick(self) -> None:
        """Write the hot path out for a variant that is called again."""
        from .replay.quick import quick

        for key, variant in self.variants.items():
            if variant is None or not getattr(variant.forward, "settled", True):
                continue  # another form may take over
            if self.looked.get(key, 0) < 2:
                self.looked[key] = self.looked.get(key, 0) + 1
                if self.looked[key] == 2 and (made := quick(self, variant, key)) is not None:
                    self.quick = made
                    return

    def segments(self) -> list[Any]:
        """The segments of all variants, forward before backward."""
        out: list[Any] = []
        for variant in self.variants.values():
            if variant is None:
                continue
            for part in variant.parts():
                part = getattr(part, "segment", part)
                part = getattr(part, "chosen", None) or part
                if hasattr(part, "assembly"):
                    out.append(part)
        return out

    def kernels_json(self) -> dict[str, Any] | None:
        """The kernels in the form that views read; None before anything was compiled."""
        from .replay.tell import tell

        found = self.segments()
        if not found:
            return None
        tuned = [p.tuning() for v in self.variants.values() if v is not None for p in v.parts() if hasattr(p, "tuning")]
        return tell(found, found[0].program.backend) | ({"tuning": tuned} if tuned else {})

    def reasons(self) -> list[str]:
        """Why parts of it run operator by operator."""
        out = [self.reason] if self.reason else []
        for variant in self.variants.values():
            if variant is not None:
                out += [p.reason for p in variant.parts() if isinstance(p, Unlowered)]
        return out


def backend_with(choices: Choices) -> Callable[..., Any]:
    """A backend for `torch.compile` with these choices."""

    def tapescope(gm: GraphModule, example_inputs: Sequence[Any]) -> LoweredFunction:
        return LoweredFunction(gm, example_inputs, lambda graph, specs: compile_graph(graph, specs, choices))

    return tapescope


__all__ = ["Choices", "LoweredFunction", "Unlowered", "backend_with", "compile_graph", "lower"]
