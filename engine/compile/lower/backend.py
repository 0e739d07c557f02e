"""What `torch.compile` calls: a level-2 graph in, something that runs it in few kernels out.

On the CPU that is compiled C where there is a compiler, numpy programs elsewhere; on WebGPU it is WGSL. Where a graph cannot be
lowered it runs operator by operator, and `reason` says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..aot.function import AotFunction
from ..graph import GraphModule
from .memory.arena import Arena
from .replay.check import Checked
from .simplify.translate import Program, translate

if TYPE_CHECKING:
    from .schedule.fuse import Caps

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


FAST_MATH = ("-fassociative-math", "-fno-signed-zeros", "-freciprocal-math", "-ffp-contract=fast")
"""Flags of the C compiler that change last digits."""

_OPTIONS = {"fast_math", "max_autotune", "check"}
_ELSEWHERE = ("triton.", "cuda.", "cpp.", "rocm.", "trace.")
_NO_CHOICE = {"epilogue_fusion", "shape_padding", "max_autotune_gemm", "coordinate_descent_tuning"}
"""Options for other compilers' code generators: groups of them, and single ones."""


@dataclass(frozen=True)
class Choices:
    """How to compile. `check` compares every run with the graph's operators; `printer` names one ("c", "numpy", "wgsl")."""

    mode: str = "default"
    check: bool = False
    printer: str | None = None
    fast_math: bool = False
    """Whether C may reorder floating-point arithmetic and contract it to fused operations; infinities and NaN stay what they are."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"there is no mode {self.mode!r} for torch.compile; the modes are {', '.join(MODES)}")

    @classmethod
    def of(cls, mode: str | None, check: bool = False, options: dict[str, Any] | None = None) -> Choices:
        """The choices of `torch.compile`'s arguments. Raises ValueError for an unknown mode, RuntimeError for an unknown option."""
        options = dict(options or {})
        for name in options:
            if name not in _OPTIONS | _NO_CHOICE and not name.startswith(_ELSEWHERE):
                raise RuntimeError(
                    f"Unexpected optimization option {name}, known options are {', '.join(sorted(_OPTIONS))}"
                )
        mode = mode or ("max-autotune" if options.get("max_autotune") else "default")
        return cls(mode, check or bool(options.get("check")), fast_math=bool(options.get("fast_math")))


MISS: Any = object()
"""What a hot path answers where it does not fit; nothing was done then."""


class Unlowered:
    """Runs a graph's primitives one after the other, because of `reason`."""

    def __init__(self, gm: GraphModule, reason: str):
        self.gm, self.reason = gm, reason
        self.call = gm.forward

    def __call__(self, *inputs: Any) -> Any:
        return self.call(*inputs)


def compile_graph(
    gm: GraphModule, specs: Sequence[Any] = (), choices: Choices | None = None, arena: Arena | None = None
) -> Callable[..., Any]:
    """The compiled form of a graph of primitives, called with its inputs; returns what the graph returns, in tuples.

    `specs` describe the inputs, and are not needed: the graph's placeholders say the same. A result that belongs to
    `gm.meta["writes"]` (output to input) is written into that input, and the input's tensor is returned in its place. Graphs that
    never run at the same time may share an `arena`.
    """
    choices = choices or Choices()
    try:
        made = (
            _tuned(gm, choices, arena)
            if choices.mode.startswith("max-autotune")
            else lower(translate(gm, _printer(gm, choices)), choices, arena)
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


def lower(program: Program, choices: Choices | None = None, arena: Arena | None = None) -> Any:
    """The segment of a program. Raises NotImplementedError for devices and graphs that have no generated kernels."""
    from .replay.assemble import assemble
    from .schedule.fuse import Caps

    choices = choices or Choices()
    if program.backend == "webgpu":
        from .replay.webgpu import GpuSegment

        return GpuSegment(assemble(program, _gpu_caps()), arena)
    if program.backend != "cpu":
        raise NotImplementedError(f"there are no generated kernels for device {program.backend!r}")
    if choices.printer == "numpy" or not have_c():
        from .replay.numpy_program import NumpySegment

        return NumpySegment(assemble(program, Caps(keep=1, short=2)), arena)
    from .replay.cpu import Segment

    return Segment(assemble(program), FAST_MATH if choices.fast_math else (), arena=arena)


def _tuned(gm: GraphModule, choices: Choices, arena: Arena | None = None) -> Any:
    """A segment of which several forms are measured on the first call; the plain one where there is nothing to choose."""
    from .autotune.choices import BLOCKS, CANDIDATES, Candidate, Tuned
    from .replay.assemble import assemble
    from .schedule.fuse import Caps

    # Each form has memory of its own: it is measured while others run.
    more = FAST_MATH if choices.fast_math else ()
    printer = _printer(gm, choices)
    program = translate(gm, printer)
    inputs = [f"{n.name}: {n.meta.get('val')!r}" for n in gm.graph if n.op == "placeholder"]
    identity = "\n".join([printer, *more, gm.code, *inputs])
    if program.backend == "webgpu":
        from ...backends.base import backend
        from ...backends.webgpu.tuning import key
        from .autotune.gpu import TunedGpu
        from .replay.webgpu import GpuSegment

        def gpu(candidate: Candidate) -> GpuSegment:
            made = GpuSegment(assemble(translate(gm, printer), _gpu_caps(candidate.merge)))
            made.fallback = gm.forward
            return made

        return TunedGpu(gpu, identity, key(backend("webgpu").device.gpu.info))  # type: ignore[attr-defined]
    if program.backend != "cpu":
        return lower(program, choices, arena)
    if printer == "numpy":
        from .replay.numpy_program import NumpySegment

        def blocks(candidate: Candidate) -> NumpySegment:
            caps = Caps(keep=1, short=2, merge=candidate.merge)
            return NumpySegment(assemble(translate(gm, printer), caps), block=candidate.block)

        return Tuned(blocks, identity, BLOCKS)
    from .replay.cpu import Segment

    def make(candidate: Candidate) -> Segment:
        caps = Caps(keep=candidate.keep, merge=candidate.merge)
        return Segment(assemble(translate(gm, printer), caps), (*candidate.flags, *more), candidate.alone)

    return Tuned(make, identity, CANDIDATES)


def _gpu_caps(merge: bool = True) -> Caps:
    """What kernels for the open device may use."""
    from .replay.webgpu import shared_lanes
    from .schedule.fuse import Caps

    # Threads do not meet: each walks its own row, and what it needs again it computes again.
    caps = Caps(buffers=7, keep=1 << 30, lend=True, rows_only=True, contiguous_rows=False, merge=merge)
    caps.gathers = caps.epilogues = shared_lanes() > 0
    return caps


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
            if variant is not None:
                out += self.segments_of(variant)
        return out

    @staticmethod
    def segments_of(variant: Any) -> list[Any]:
        """The segments of one variant, forward first."""
        out: list[Any] = []
        for part in variant.parts():
            part = getattr(part, "segment", part)
            part = getattr(part, "chosen", None) or part
            if hasattr(part, "assembly"):
                out.append(part)
        return out

    def peaks(self) -> tuple[int | None, int | None]:
        """Most bytes that are held beside arguments from forward to the end of backward, compiled and eager: of the variant that holds
        most. None where a part of it runs operator by operator."""
        from .memory.peak import eager_peak, peak

        found: list[tuple[int, int]] = []
        for variant in self.variants.values():
            if variant is None or variant.joint is None:
                continue
            segments = self.segments_of(variant)
            if len(segments) != len(variant.parts()):
                return None, None
            forward, *backwards = [s.use() for s in segments]
            written = {o: i for i, o, _ in variant.mutated}
            found.append((peak(forward, backwards), eager_peak(variant.joint, written)))
        return max(found, default=(None, None), key=lambda pair: pair[1])

    def kernels_json(self) -> dict[str, Any] | None:
        """The kernels in the form that views read; None before anything was compiled."""
        from .forms import done
        from .replay.tell import tell

        found = self.segments()
        if not found:
            return None
        tuned = [p.tuning() for v in self.variants.values() if v is not None for p in v.parts() if hasattr(p, "tuning")]
        return tell(found, found[0].program.backend, *self.peaks(), done(self)) | ({"tuning": tuned} if tuned else {})

    def forms(self) -> list[dict[str, str]]:
        """Every form that the graph went through, as text; see `forms.py`."""
        from .forms import forms

        return forms(self)

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
        arena = Arena()
        return LoweredFunction(gm, example_inputs, lambda graph, specs: compile_graph(graph, specs, choices, arena))

    return tapescope


__all__ = ["Choices", "LoweredFunction", "Unlowered", "backend_with", "compile_graph", "lower"]
