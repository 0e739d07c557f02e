"""How objects of the engine show themselves in a notebook: text, and a picture where a renderer is installed.

Renderers are found by the entry point group `tapescope.renderers`, so that the engine imports no view: one for each kind
of records ("tape", "capture", "kernels", "module": called with the records and the text), and "write" (called with
kind, records and the ending of a file).  A renderer that fails costs the picture, never the output.
"""

from __future__ import annotations

import functools
from typing import Any

MODULE_VERSION = 1

SHOWN_NODES = 5_000
"""Of a longer tape only the newest nodes are drawn beside a tensor, so that showing one stays quick."""


@functools.cache
def renderer(name: str) -> Any:
    """The installed renderer of that name, or None."""
    from importlib.metadata import entry_points

    for point in entry_points(group="tapescope.renderers", name=name):
        try:
            return point.load()
        except (ImportError, AttributeError):
            return None
    return None


def bundle(kind: str, records: Any, text: str) -> dict[str, Any]:
    """The MIME bundle of records of a kind: "text/plain", and what the kind's renderer adds. `records` may be a function."""
    draw = renderer(kind)
    if draw is None:
        return {"text/plain": text}
    try:
        return {**draw(records() if callable(records) else records, text), "text/plain": text}
    except Exception:  # a picture is an extra: without it the text still stands
        return {"text/plain": text}


def tensor_bundle(tensor: Any) -> dict[str, Any]:
    """The MIME bundle of a tensor: `text/plain`, and its tape as SVG and JSON where it has one."""
    text = repr(tensor)
    if not tensor.requires_grad or tensor.grad_fn is None:
        return {"text/plain": text}
    from .autograd import snapshot

    return bundle("tape", lambda: snapshot(tensor, SHOWN_NODES), text)


def module_json(module: Any) -> dict[str, Any]:
    """A tree of modules as plain data.

    {"version", "root"}; each module is {"name", "path", "class", "extra", "training", "ordered" (its children run one
    after the other), "parameters" and "buffers" (lists of {"name", "shape", "dtype", "trains"}), "children"}.  A module
    that stands in several places is described in each; one that contains itself is cut there.
    """

    def tensors(named: Any) -> list[dict[str, Any]]:
        return [
            {
                "name": name, "shape": [int(n) for n in t.shape], "dtype": str(t.dtype).removeprefix("torch."),
                "trains": bool(t.requires_grad),
            }
            for name, t in named.items()
            if t is not None and hasattr(t, "shape") and not getattr(t, "_is_uninitialized", False)
        ]  # fmt: skip

    from .nn import Sequential

    def describe(own: Any, name: str, path: str) -> dict[str, Any]:
        return {
            "name": name, "path": path, "class": type(own).__name__, "extra": own.extra_repr(), "training": own.training,
            "ordered": isinstance(own, Sequential), "parameters": tensors(own._parameters),
            "buffers": tensors(own._buffers), "children": [],
        }  # fmt: skip

    root = describe(module, "", "")
    pending: list[tuple[Any, dict[str, Any], tuple[int, ...]]] = [(module, root, (id(module),))]
    while pending:
        own, record, above = pending.pop()
        for name, child in own._modules.items():
            if child is None:
                continue
            path = f"{record['path']}.{name}" if record["path"] else name
            inner = describe(child, name, path)
            record["children"].append(inner)
            if id(child) not in above:
                pending.append((child, inner, (*above, id(child))))
    return {"version": MODULE_VERSION, "root": root}
