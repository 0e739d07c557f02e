"""What `torch.compile` calls: a level-2 graph in, something that runs it in few kernels out.

On the CPU that is compiled C where there is a compiler. Where a graph cannot be lowered it runs operator by operator, and `reason` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..graph import GraphModule
from .simplify.translate import translate


class Unlowered:
    """Runs a graph's primitives one after the other, because of `reason`."""

    def __init__(self, gm: GraphModule, reason: str):
        self.gm, self.reason = gm, reason
        self.call = gm.forward

    def __call__(self, *inputs: Any) -> Any:
        return self.call(*inputs)


def compile_graph(gm: GraphModule, specs: Sequence[Any] = (), mode: str = "default") -> Callable[..., Any]:
    """The compiled form of a graph of primitives, called with its inputs; returns what the graph returns, in tuples.

    `specs` describe the inputs, and are not needed: the graph's placeholders say the same. A result that belongs to
    `gm.meta["writes"]` (output to input) is written into that input, and the input's tensor is returned in its place.
    """
    try:
        program = translate(gm)
        return _lowered(program)
    except NotImplementedError as error:
        return Unlowered(gm, str(error))


def _lowered(program: Any) -> Callable[..., Any]:
    from .cache.compiler import find, threads
    from .replay.assemble import assemble
    from .replay.cpu import HEADER, Segment
    from .replay.numpy_program import NumpySegment
    from .schedule.fuse import Caps

    if program.backend == "webgpu":
        from .replay.webgpu import GpuSegment

        # Threads do not meet: each walks its own row, and what it needs again it computes again.
        return GpuSegment(assemble(program, Caps(buffers=7, keep=1 << 30, rows_only=True, contiguous_rows=False)))
    if program.backend != "cpu":
        raise NotImplementedError(f"there are no generated kernels for device {program.backend!r}")
    if find() is None or threads() is None or HEADER is None:
        return NumpySegment(assemble(program, Caps(keep=1)))
    return Segment(assemble(program))


__all__ = ["Unlowered", "compile_graph"]
