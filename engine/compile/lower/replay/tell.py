"""What segments tell the bus, and the form of their kernels for views: `observe.kernels_json`."""

from __future__ import annotations

import functools
import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .....webgpu_kernels.wgsl import fold
from ....observe import KernelBuilt, KernelLaunched, bus, kernels_json
from ...graph import TensorSpec
from ...graph.printing import target_text
from ..loops.form import python
from ..loops.index import Ix, evaluate, product
from ..loops.scalar import BYTES, NUMPY
from . import tell_joined

if TYPE_CHECKING:
    from .assemble import Assembly, Step


def step_name(k: int, step: Step) -> str:
    """A name that says where in the order it stands and what it computes."""
    if step.kernel is not None:
        return f"k{k}_{step.kernel.name.split('_', 1)[-1]}"
    assert step.value is not None
    names = list(step.value.origins)[:2]
    if step.tail is not None:
        names += [step.tail.kernel.name.partition("_")[2]]
    return f"k{k}_{'_'.join(n for n in names if n)}"[:48]


def origins(step: Step) -> list[str]:
    """The graph nodes that a step computes."""
    if step.kernel is not None:
        return step.kernel.origins
    assert step.value is not None
    after = step.tail.kernel.origins if step.tail is not None else ()
    return list(dict.fromkeys((*step.value.origins, *after)))


def source_text(segment: Any, k: int, step: Step) -> tuple[str, str, list[tuple[int, tuple[str, ...]]]]:
    """Language, text, and which lines compute which nodes."""
    file = getattr(segment, "file", None)
    if file is not None and k in file.parts:
        part = file.parts[k]
        return ("library" if step.kind == "product" else "c"), "\n".join(part.lines), part.nodes
    texts = getattr(segment, "texts", None)
    if texts is not None and k in texts:
        return "numpy", texts[k], segment.nodes[k]
    printed = getattr(segment, "printed", None)
    if printed is not None and k in printed:
        return "wgsl", printed[k].shader.source, printed[k].lines
    if step.kernel is not None:
        return "numpy", python(step.kernel), []
    assert step.value is not None
    operands = ", ".join(_shape(a.shape) for a in step.value.args)
    return "library", f"{step.kind} {', '.join(step.value.origins)}: {operands}", []


def tell_built(segment: Any, device: str) -> None:
    """Publish a record for every kernel that was generated."""
    if not bus.kernel:
        return
    steps = segment.assembly.steps
    each = getattr(segment, "seconds", 0.0) / max(1, len(steps))
    for k, step in enumerate(steps):
        if step.kind == "kernel":
            bus.publish(KernelBuilt(step_name(k, step), device, source_text(segment, k, step)[1], each))


def tell_launch(step: Step, k: int, device: str, seconds: float | None) -> None:
    """Publish one launch."""
    parts = step.kernel.chunks if step.kernel is not None else 1
    bus.publish(KernelLaunched(step_name(k, step), ", ".join(origins(step)[:8]), device, (parts, 1, 1), seconds))


def _number(e: Ix) -> int | str:
    n = e.number
    return n if n is not None else str(e)


def _known(e: Ix, values: dict[str, int]) -> int | None:
    """A size as a number, with the symbolic sizes of the last call; None before one."""
    if e.number is not None:
        return e.number
    try:
        return evaluate(e, values)
    except KeyError:
        return None


def _shape(shape: Iterable[Ix]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


_SIZES = (1 << 16, 1 << 20, 1 << 25)
"""Bytes of the arrays whose copying is measured: they lie in the nearest cache, in a farther one, in memory."""


@functools.cache
def bandwidth(size: int = _SIZES[-1]) -> float:
    """Bytes a second that this machine copies where both arrays have `size` bytes: the best of some tries, measured once."""
    import numpy as np

    a = np.zeros(size, np.uint8)
    b = np.empty_like(a)
    return 2 * size / _best(lambda: np.copyto(b, a), 24 if size < _SIZES[-1] else 6)


@functools.cache
def arithmetic() -> float:
    """Floating-point operations a second that all cores of this machine can do in float32, measured once.

    One core's best in a product of matrices that is too small to be split, times the cores: others' work disturbs that less.
    """
    import numpy as np

    a = np.ones((64, 64), np.float32)
    out = np.empty_like(a)
    return 2 * 64**3 / _best(lambda: np.dot(a, a, out), 60) * (os.cpu_count() or 1)


def _best(work: Callable[[], Any], turns: int) -> float:
    """The least seconds that one call of `work` took."""
    best = float("inf")
    for _ in range(turns):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return max(best, 1e-9)


def ceiling(moved: int | None, operations: int | None, device: Any = None) -> float | None:
    """The least seconds for so many bytes and operations, on the CPU or an open WebGPU device; None where neither is known."""
    moved, operations = moved or 0, operations or 0
    if not moved and not operations:
        return None
    if device is not None:
        from ....backends.webgpu.bench import least

        return least(device, moved, operations)
    size = next((n for n in _SIZES if moved <= n), _SIZES[-1])
    return max(moved / bandwidth(size), operations / arithmetic())


def tape_nodes(segments: Iterable[Any]) -> dict[str, list[int]]:
    """The tape nodes of each captured node, by its name: those that the nodes of backward in these segments were made by."""
    out: dict[str, dict[int, None]] = {}
    for s in segments:
        for node in s.program.nodes.values():
            if node.meta.get("tape") is not None and node.meta.get("origin"):
                out.setdefault(node.meta["origin"], {})[node.meta["tape"]] = None
    return {name: list(numbers) for name, numbers in out.items()}


def describe(segment: Any, segment_id: str = "", made: Mapping[str, list[int]] | None = None) -> list[dict[str, Any]]:
    """The kernels of a segment as dictionaries of `kernels_json`, in launch order. `made`: `tape_nodes` of all segments."""
    made = tape_nodes([segment]) if made is None else made
    assembly: Assembly = segment.assembly
    program = assembly.program
    tuned = getattr(segment, "tried", {})
    times, values = getattr(segment, "times", {}), segment.known_sizes()
    device = segment.device or segment.backend.device if program.backend == "webgpu" else None
    out: list[dict[str, Any]] = []
    for k, step in enumerate(assembly.steps):
        language, text, lines = source_text(segment, k, step)
        nodes = origins(step)
        sources: dict[Any, Any] = {}
        tape: dict[int, None] = {}
        steps: list[dict[str, Any]] = []
        for n in nodes:
            node = program.nodes.get(n)
            if node is None:
                continue
            steps.append(_step(node))
            source = node.meta.get("source")
            if source is not None:
                sources.setdefault((source.file, source.line), source.to_json())
            if node.meta.get("tape") is not None:
                tape[node.meta["tape"]] = None
            else:  # of forward: the nodes that it left on the tape
                tape.update(dict.fromkeys(made.get(node.meta.get("origin") or "", ())))
        moved: int | None = 0
        arrays: dict[str, list[dict[str, Any]]] = {"inputs": [], "outputs": []}
        for side, members in (("inputs", step.reads), ("outputs", step.writes)):
            for v in dict.fromkeys(members):
                n = _known(v.numel(), values)
                moved = None if n is None or moved is None else moved + n * BYTES.get(v.dtype, 8)
                name = next(iter(v.origins), f"value_{v.id}")
                arrays[side].append(
                    {"name": name, "shape": [_number(d) for d in v.shape], "dtype": NUMPY.get(v.dtype, v.dtype)}
                )
        work = step.kernel.work if step.kernel is not None else _multiplications(step)
        launch: dict[str, Any]
        if language == "wgsl":
            p = segment.printed[k]
            threads = _known(p.threads, values)
            launch = {
                "grid": list(fold(-(-threads // p.group))) if threads is not None else [str(p.threads), 1, 1],
                "block": [p.group, 1, 1],
            }
        else:
            loops = [] if step.kernel is None else [_number(s) for s in _loops(step.kernel.body)]
            launch = {"loops": loops or [_number(d) for v in step.writes[:1] for d in v.shape]}
        operations = _known(work, values)
        measured = times.get(k)
        out.append({
            "id": str(k), "name": step_name(k, step), "language": language, "text": text, "nodes": nodes, "steps": steps,
            "segment": segment_id, "tape": list(tape), "sources": list(sources.values()),
            "lines": [[n, list(o)] for n, o in lines], "launch": launch, **arrays, "bytes": moved,
            "operations": operations, "seconds": statistics.median(measured) if measured else None,
            "ceiling": ceiling(moved, operations, device), "launches": segment.launches, "tuned": tuned.get(k),
        })  # fmt: skip
    return out


def _step(node: Any) -> dict[str, Any]:
    """One node of the lowered graph: what it is, what it uses, and the captured node that it was made of."""
    val = node.meta.get("val")
    known = isinstance(val, TensorSpec)
    return {
        "name": node.name, "target": target_text(node).rpartition(".")[2],
        "inputs": [n.name for n in node.all_input_nodes], "captured": node.meta.get("origin") or "",
        "backward": bool(node.meta.get("backward")),
        "shape": [n if type(n) is int else str(n) for n in val.shape] if known else [],
        "dtype": val.dtype.name if known else "",
    }  # fmt: skip


def _multiplications(step: Step) -> Ix:
    v = step.value
    if v is None or v.kind != "product":
        return Ix({})
    after = step.tail.kernel.work if step.tail is not None else Ix({})
    return product((*v.shape, v.args[0].shape[-1])) * 2 + after


def _loops(body: list[Any]) -> list[Ix]:
    """The sizes of the outermost nest of loops."""
    from ..loops.form import Loop

    for s in body:
        if isinstance(s, Loop):
            return [s.size, *_loops(s.body)]
    return []


def split(segment: Any) -> list[dict[str, Any]]:
    """Where a call cuts the generated code in two: the steps before and after it, and why it is no kernel."""
    out: list[dict[str, Any]] = []
    for k, step in enumerate(segment.assembly.steps):
        if step.kind != "call" or step.value is None:
            continue
        target = step.value.data.op
        name = getattr(target, "name", getattr(target, "__name__", "a function"))
        reason = _WHY.get(getattr(target, "kind", ""), "has no formula of single elements for kernels")
        if any(BYTES.get(v.dtype) is None for v in (*step.reads, *step.writes)):
            reason = "has elements of a type that generated code does not compute with"
        around = segment.assembly.steps[max(0, k - 1) : k + 2]
        out.append({
            "first": next(iter(origins(around[0])), name), "second": next(iter(origins(around[-1])), name),
            "reason": f"{name} stands between them: it {reason}, and is a call of the engine",
        })  # fmt: skip
    return out


_WHY = {"random": "draws from a generator whose numbers come in the program's order"}


def tell(
    segments: Iterable[Any],
    device: str,
    planned: int | None = None,
    eager: int | None = None,
    passes: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """`kernels_json` of several segments, such as a forward and a backward pass; `planned` and `eager` are their peak bytes, `passes` says
    what each pass did."""
    kernels: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    segments = list(segments)
    made = tape_nodes(segments)
    for i, s in enumerate(segments):
        kernels += tell_joined.share(s, describe(s, str(i), made))
        refused += s.assembly.schedule.refused + tell_joined.refused(s)
        refused += [
            {"first": n, "second": n, "reason": "the engine's own kernel was measured to be faster than generated ones"}
            for n in dict.fromkeys(s.program.kept)
        ]
        refused += split(s)
    for i, k in enumerate(kernels):
        k["id"] = str(i)
    return kernels_json(
        device, kernels, refused, peak_bytes=planned, eager_peak_bytes=eager,
        passes=passes,
    )  # fmt: skip
