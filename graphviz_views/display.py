"""What objects hand to a notebook front end: a picture, its text form and the records themselves.

The engine finds these functions through the entry point group `tapescope.renderers`, so that neither imports the other.
Broken records do not raise: the picture shows what could be used and says what was not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .browse import GraphView
from .capture import build_capture
from .kernels import build_kernels, kernels_of
from .model import Graph
from .modules import build_module
from .svg_style import Theme
from .tape import build_tape

TAPE_MIME = "application/vnd.tapescope.tape+json"
CAPTURE_MIME = "application/vnd.tapescope.capture+json"
KERNELS_MIME = "application/vnd.tapescope.kernels+json"
MODULE_MIME = "application/vnd.tapescope.module+json"
"""MIME types of the records; a test holds them against those of `engine.observe`, which this room does not import."""

MAX_EMBEDDED = 1_000
"""Of a longer tape only the newest nodes are put into a bundle, which notebooks store with their outputs."""

BUILDERS: dict[str, tuple[str, Callable[[Any], Graph]]] = {
    "tape": (TAPE_MIME, build_tape),
    "capture": (CAPTURE_MIME, build_capture),
    "kernels": (KERNELS_MIME, build_kernels),
    "module": (MODULE_MIME, build_module),
}
"""MIME type and builder of each kind of records."""


def mimebundle(snapshot: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The MIME bundle of a tensor whose tape is `snapshot` (`engine.observe.tape_json`) and whose `repr` is `text`.

    It holds "image/svg+xml", "text/plain" and the tape under `TAPE_MIME`.
    """
    return {**_bundle("tape", snapshot, text), TAPE_MIME: _newest(snapshot)}


def capture_bundle(capture: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The same of a captured function (`engine.observe.capture_json`)."""
    return _bundle("capture", capture, text)


def kernels_bundle(kernels: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The same of a list of kernels (`engine.observe.kernels_json`), or of those in a capture."""
    return _bundle("kernels", kernels, text)


def module_bundle(module: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The same of a tree of modules (`engine.display.module_json`)."""
    return _bundle("module", module, text)


def write(kind: str, data: Mapping[str, Any], ending: str, *, theme: Theme = "auto", find: str | None = None) -> str:
    """The picture of records of a kind as "svg", "dot" or "txt" (the outline). Raises ValueError for anything else.

    With `find`, the text is that of the nodes which `Graph.search` finds, a line each.
    """
    if kind not in BUILDERS:
        raise ValueError(f"unknown kind of records {kind!r}; the kinds are {', '.join(BUILDERS)}")
    view = GraphView(BUILDERS[kind][1](data))
    if ending == "svg":
        return view.svg(theme)
    if ending == "dot":
        return view.dot()
    if ending == "txt" and find is not None:
        return view.outline.text_of(view.graph.search(find))
    if ending == "txt":
        return view.outline.text()
    raise ValueError(f"unknown form {ending!r}; the forms are svg, dot and txt")


def _bundle(kind: str, data: Mapping[str, Any], text: str) -> dict[str, Any]:
    mime, build = BUILDERS[kind]
    picture = GraphView(build(data)).svg()
    if kind == "kernels" and isinstance(data, Mapping) and "kernels" not in data:  # those of a capture
        data = kernels_of(data)
    return {"image/svg+xml": picture, "text/plain": text, mime: data}


def _newest(snapshot: Mapping[str, Any]) -> Mapping[str, Any]:
    nodes = snapshot.get("nodes") if isinstance(snapshot, Mapping) else None
    if not isinstance(nodes, list) or len(nodes) <= MAX_EMBEDDED:
        return snapshot
    cut = len(nodes) - MAX_EMBEDDED
    dropped = snapshot.get("dropped")
    return {**snapshot, "nodes": nodes[cut:], "dropped": cut + (dropped if isinstance(dropped, int) else 0)}
