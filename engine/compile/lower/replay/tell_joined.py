"""The records of launches that several steps share: one kernel that names all their nodes and source lines."""

from __future__ import annotations

from typing import Any

from .....webgpu_kernels.wgsl import fold


def share(segment: Any, kernels: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records of a segment's steps (`tell.describe`), in the order of its launches, with one record for those that share one."""
    plan = segment.joined() if hasattr(segment, "joined") else None
    if plan is None:
        return kernels
    out = [kernels[k] for k in range(len(kernels)) if k not in segment.printed]
    for launch in plan.launches:
        mine = [kernels[k] for k in launch.steps]
        out.append(mine[0] if launch.joined is None else _one(launch.joined, mine))
    return out


def refused(segment: Any) -> list[dict[str, Any]]:
    """Why steps of a segment that are alike share no launch."""
    plan = segment.joined() if hasattr(segment, "joined") else None
    return [] if plan is None else plan.refused


def _one(joined: Any, kernels: list[dict[str, Any]]) -> dict[str, Any]:
    """One record of several."""
    printed = joined.printed

    def every(name: str) -> list[Any]:
        return [x for k in kernels for x in k[name]]

    def total(name: str) -> Any:
        values = [k[name] for k in kernels]
        return None if any(v is None for v in values) else sum(values)

    sources = {(s["file"], s["line"]): s for s in every("sources")}
    groups = sum(-(-n // printed.group) for n in joined.threads)
    return kernels[0] | {
        "name": printed.shader.name, "text": printed.shader.source, "nodes": list(dict.fromkeys(every("nodes"))), "steps": every("steps"),
        "tape": list(dict.fromkeys(every("tape"))), "sources": list(sources.values()), "lines": [[n, list(o)] for n, o in printed.lines],
        "launch": {"grid": list(fold(groups)), "block": [printed.group, 1, 1]}, "inputs": every("inputs"), "outputs": every("outputs"),
        "bytes": total("bytes"), "operations": total("operations"), "seconds": total("seconds"), "ceiling": total("ceiling"),
    }  # fmt: skip


__all__ = ["refused", "share"]
