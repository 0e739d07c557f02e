"""What a tensor's graph hands to a notebook front end: SVG, text and the tape itself.

The engine finds `mimebundle` through the entry point group `tapescope.renderers`, so that neither imports the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..engine.observe import TAPE_MIME


def mimebundle(snapshot: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The MIME bundle of a tensor whose tape is `snapshot` and whose `repr` is `text`."""
    return {"text/plain": text, TAPE_MIME: dict(snapshot)}
