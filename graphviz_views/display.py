"""What a tensor's graph hands to a notebook front end: a picture, its text form and the tape itself.

The engine finds `mimebundle` through the entry point group `tapescope.renderers`, so that neither imports the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..engine.observe import TAPE_MIME
from .svg import tape_svg
from .tape import build_tape

MAX_EMBEDDED = 1_000
"""Of a longer tape only the newest nodes are put into a bundle, which notebooks store with their outputs."""


def mimebundle(snapshot: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The MIME bundle of a tensor whose tape is `snapshot` (`engine.observe.tape_json`) and whose `repr` is `text`.

    It holds "image/svg+xml", "text/plain" and the tape under `TAPE_MIME`.  Broken records do not raise: the picture
    shows what could be used and says what was not.
    """
    return {
        "image/svg+xml": tape_svg(build_tape(snapshot)),
        "text/plain": text,
        TAPE_MIME: _newest(snapshot),
    }


def _newest(snapshot: Mapping[str, Any]) -> Mapping[str, Any]:
    nodes = snapshot.get("nodes") if isinstance(snapshot, Mapping) else None
    if not isinstance(nodes, list) or len(nodes) <= MAX_EMBEDDED:
        return snapshot
    cut = len(nodes) - MAX_EMBEDDED
    dropped = snapshot.get("dropped")
    return {**snapshot, "nodes": nodes[cut:], "dropped": cut + (dropped if isinstance(dropped, int) else 0)}
