"""A picture with its places as plain JSON, for a client that draws it itself (the page's canvas).

`docs/views.md` describes the form for those who write such a client.  Sizes are the ones that the SVG writer uses, so
that a client with the same font draws the same picture.
"""

from __future__ import annotations

from typing import Any

from .labels import clean
from .layout import Layout, Rect, Route
from .model import Badge, SourceRange
from .picture import Box, Picture
from .svg import measured

PAGE_VERSION = 1
"""Version of the form; it moves when a field changes its meaning or goes away."""

PAGE_MIME = "application/vnd.tapescope.picture+json"


def page_json(picture: Picture, layout: Layout | None = None) -> dict[str, Any]:
    """The dictionary of a picture.

    ===========  ==================================================================================
    version      `PAGE_VERSION`
    kind         "tape", "capture", "kernels" or "module"
    title        of the picture; `summary` is one line about it, `notes` are sentences
    width        of the whole in pixels, with `height`
    boxes        list of {"key", "kind", "family", "title", "lines", "badges", "rect", "node", "scope", "source", "root",
                 "share", "details", "tooltip", "stubs", "span", "opens"}, in recorded order
    frames       list of {"key", "kind", "title", "badges", "lines", "details", "rect", "parent"}, outer before inner
    lines        list of {"from", "to", "kind", "points", "curved"}; keys of boxes
    mirror       None, or {"boxes": [{"key", "title", "lines", "badges", "lit", "rect"}], "frames": [{"key", "rect"}], "lines"}
    ===========  ==================================================================================

    A `rect` is [x, y, width, height] from the upper left corner; `points` are [x, y] pairs, corners of the line or,
    where `curved`, control points of cubic Bezier curves (the first, then three for each curve).  A badge is {"text",
    "kind", "node"}; `source` is None or {"file", "line", "end_line", "column", "end_column", "cell", "revision",
    "text"}; `opens` says whether a click opens the box; `span` is [first, end) in the graph's nodes.
    """
    layout = layout or measured(picture)
    mirror = None
    if picture.mirrored:
        mirror = {
            "boxes": [
                {
                    "key": key, "title": box.back.title, "lines": list(box.back.lines),
                    "badges": _badges(box.back.badges), "lit": box.back.lit, "rect": _rect(layout.mirrors[key]),
                }
                for key, box in picture.boxes.items()
                if box.back is not None and key in layout.mirrors
            ],
            "frames": [{"key": key, "rect": _rect(rect)} for key, rect in layout.mirror_frames.items()],
            "lines": [_line(picture, route) for route in layout.mirror_routes],
        }  # fmt: skip
    return {
        "version": PAGE_VERSION, "kind": picture.kind, "title": clean(picture.title), "summary": clean(picture.summary),
        "notes": [clean(note) for note in picture.notes], "width": _n(layout.width), "height": _n(layout.height),
        "boxes": [_box(picture.boxes[key], rect, layout) for key, rect in layout.boxes.items()],
        "frames": [
            {
                "key": key, "kind": frame.kind, "title": frame.title, "badges": _badges(frame.badges),
                "lines": [clean(line) for line in frame.lines], "details": _details(frame.details),
                "rect": _rect(layout.frames[key]), "parent": frame.parent,
            }
            for key, frame in picture.frames.items()
            if key in layout.frames
        ],
        "lines": [
            _line(picture, route)
            for route in layout.routes
            if picture.line_kinds.get((route.source, route.target)) != "below"
        ],
        "mirror": mirror,
    }  # fmt: skip


def _box(box: Box, rect: Rect, layout: Layout) -> dict[str, Any]:
    return {
        "key": box.key, "kind": box.kind, "family": box.family, "title": box.title, "lines": list(box.lines),
        "badges": _badges(box.badges), "rect": _rect(rect), "node": box.node_id, "scope": box.scope,
        "source": _source(box.source), "root": box.is_root, "share": box.share, "details": _details(box.details),
        "tooltip": box.tooltip, "span": [box.start, box.stop], "opens": box.kind in ("scope", "repeat", "cut"),
        "stubs": {
            "from": layout.stubs.inputs.get(box.key, []),
            "to": layout.stubs.users.get(box.key, []),
        },
    }  # fmt: skip


def _line(picture: Picture, route: Route) -> dict[str, Any]:
    kind = picture.line_kinds.get((route.source, route.target), "value")
    return {
        "from": route.source, "to": route.target, "kind": kind, "curved": route.curved,
        "points": [[_n(x), _n(y)] for x, y in route.points],
    }  # fmt: skip


def _badges(badges: tuple[Badge, ...]) -> list[dict[str, Any]]:
    return [{"text": clean(b.text), "kind": b.kind, "node": b.node_id} for b in badges]


def _details(details: tuple[tuple[str, str], ...]) -> list[list[str]]:
    return [[clean(name), clean(text)] for name, text in details]


def _source(source: SourceRange | None) -> dict[str, Any] | None:
    if source is None:
        return None
    return {
        "file": source.file, "line": source.line, "end_line": source.end_line, "column": source.column,
        "end_column": source.end_column, "cell": source.cell, "revision": source.revision, "text": source.text,
    }  # fmt: skip


def _rect(rect: Rect) -> list[float]:
    return [_n(rect.x), _n(rect.y), _n(rect.width), _n(rect.height)]


def _n(value: float) -> float:
    return round(value, 1)
