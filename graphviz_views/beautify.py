"""Let Graphviz place the boxes of a small picture, in the background and with a deadline.

The `dot` program gets boxes, frames and lines without any text, so nothing that a record holds reaches it.  Where it is
missing, too slow, crashes or answers nonsense, the own layout stays and a sentence says why.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from .layout import Layout, Measure, Rect, Route, Size, Spacing, Stubs, with_mirror
from .picture import Picture

MAX_BOXES = 300
DEADLINE = 2.0
"""Seconds that `dot` has."""

_POINTS = 72.0
_SPACING = Spacing()


class NotBeautified(Exception):
    """Why Graphviz placed nothing; its text is a sentence for people."""


def graphviz_layout(
    picture: Picture,
    measure: Measure,
    spacing: Spacing = _SPACING,
    *,
    deadline: float = DEADLINE,
    program: str = "dot",
) -> Layout:
    """The picture as Graphviz lays it out, with curved routes. Raises NotBeautified, and nothing else.

    `measure` and `spacing` are those of `lay_out`; the program is ended when the deadline (in seconds) has passed.
    """
    if len(picture.boxes) > MAX_BOXES:
        raise NotBeautified(f"Graphviz is asked for up to {MAX_BOXES} boxes; this picture has {len(picture.boxes)}.")
    path = shutil.which(program)
    if path is None:
        raise NotBeautified(f"The program {program!r} of Graphviz is not installed; the own layout is shown.")
    sizes = {key: measure(key, Stubs({}, {})) for key in picture.boxes}
    text = _plain_dot(picture, sizes, spacing)
    try:
        done = subprocess.run(
            [path, "-Tjson"],
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=deadline,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotBeautified(f"Graphviz needed more than {deadline:g} seconds; the own layout is shown.") from None
    except (OSError, UnicodeError) as error:
        raise NotBeautified(f"Graphviz could not be run ({error}); the own layout is shown.") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise NotBeautified(
            f"Graphviz ended with code {done.returncode}{': ' + said[0][:120] if said else ''}; the own layout is shown."
        )
    try:
        layout = _read(json.loads(done.stdout), picture, sizes)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise NotBeautified("Graphviz answered something that is no layout; the own layout is shown.") from None
    return with_mirror(layout, picture, spacing.mirror) if picture.mirrored else layout


def in_background(
    picture: Picture,
    measure: Measure,
    done: Callable[[Layout | None, str], None],
    spacing: Spacing = _SPACING,
    *,
    deadline: float = DEADLINE,
    program: str = "dot",
) -> threading.Thread:
    """`graphviz_layout` in a thread, which is returned; it calls `done(layout, "")` or `done(None, sentence)`."""

    def work() -> None:
        try:
            layout = graphviz_layout(picture, measure, spacing, deadline=deadline, program=program)
        except NotBeautified as why:
            done(None, str(why))
        else:
            done(layout, "")

    thread = threading.Thread(target=work, name="tapescope-beautify", daemon=True)
    thread.start()
    return thread


def _plain_dot(picture: Picture, sizes: dict[str, Size], spacing: Spacing) -> str:
    """Boxes by number with their sizes, frames as clusters, lines; no text of any record."""
    number = {key: n for n, key in enumerate(picture.boxes)}
    frames = {key: n for n, key in enumerate(picture.frames)}
    out = [
        "digraph {",
        f"graph [rankdir=TB, nodesep={spacing.across / _POINTS:.3f}, ranksep={spacing.down / _POINTS:.3f}];",
        'node [shape=box, fixedsize=true, label=""]; edge [arrowhead=none];',
    ]
    pending: list[tuple[str, str]] = [("frame", "")]
    while pending:
        kind, key = pending.pop()
        if kind == "end":
            out.append("}")
        elif kind == "box":
            size = sizes[key]
            out.append(f"n{number[key]} [width={size.width / _POINTS:.4f}, height={size.height / _POINTS:.4f}];")
        else:
            frame = picture.frames[key]
            if frame.parent is not None:
                margin = spacing.padding
                out.append(f'subgraph cluster_{frames[key]} {{ graph [margin={margin:.1f}, label=" ", fontsize=16];')
                pending.append(("end", ""))
            pending += [(child.kind, child.key) for child in reversed(frame.children)]
    out += [f"n{number[a]}:s -> n{number[b]}:n;" for a, b in picture.lines]
    out.append("}")
    return "\n".join(out) + "\n"


def _read(answer: dict[str, Any], picture: Picture, sizes: dict[str, Size]) -> Layout:
    """The layout in Graphviz's JSON; y grows upwards there."""
    left, bottom, right, top = (float(v) for v in answer["bb"].split(","))
    boxes: dict[str, Rect] = {}
    frames: dict[str, Rect] = {}
    keys = list(picture.boxes)
    named: dict[int, str] = {}
    frame_keys = list(picture.frames)
    for thing in answer["objects"]:
        name = thing["name"]
        if name.startswith("cluster_"):
            x, low, far, high = (float(v) for v in thing["bb"].split(","))
            frames[frame_keys[int(name.removeprefix("cluster_"))]] = Rect(x - left, top - high, far - x, high - low)
        else:
            key = keys[int(name[1:])]
            named[thing["_gvid"]] = key
            x, y = (float(v) for v in thing["pos"].split(","))
            size = sizes[key]
            boxes[key] = Rect(x - left - size.width / 2, top - y - size.height / 2, size.width, size.height)
    routes = []
    for edge in answer.get("edges", ()):
        points = [tuple(float(v) for v in p.split(",")[-2:]) for p in edge["pos"].split() if p[0] not in "se"]
        if len(points) < 4 or (len(points) - 1) % 3:
            raise ValueError("an edge of Graphviz is no row of Bezier curves")
        source, target = named[edge["tail"]], named[edge["head"]]
        routes.append(Route(source, target, tuple((x - left, top - y) for x, y in points), True))
    ordered = {key: boxes[key] for key in picture.boxes}
    held = {key: frames[key] for key in picture.frames if key in frames}
    return Layout(right - left, top - bottom, ordered, held, tuple(routes), Stubs({}, {}))
