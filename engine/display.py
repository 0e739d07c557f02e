"""How tensors show themselves in a notebook: text, and a picture of their tape where a renderer is installed.

Renderers are found by the entry point group `tapescope.renderers`, so that the engine imports no view.
"""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def renderer(name: str) -> Any:
    """The installed renderer of that name, or None."""
    from importlib.metadata import entry_points

    for point in entry_points(group="tapescope.renderers", name=name):
        try:
            return point.load()
        except ImportError:
            return None
    return None


def tensor_bundle(tensor: Any) -> dict[str, Any]:
    """The MIME bundle of a tensor: `text/plain`, and its tape as SVG and JSON where it has one and it is small."""
    text = repr(tensor)
    draw = renderer("tape") if tensor.requires_grad and tensor.grad_fn is not None else None
    if draw is None:
        return {"text/plain": text}
    from .autograd import snapshot

    return {**draw(snapshot(tensor), text), "text/plain": text}
