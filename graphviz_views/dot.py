"""Write a picture in Graphviz's DOT language, to paste elsewhere or to hand to the `dot` program.

Open scopes become clusters.  Every string is quoted so that Graphviz shows it letter by letter: no escape sequence,
HTML entity or HTML-like label comes from a record.  This file writes text and starts no program.
"""

from __future__ import annotations

from collections.abc import Iterable

from .labels import clean
from .model import Graph
from .picture import MAX_BOXES, Box, Picture, make_picture

_NAMES = ("tape", "capture", "kernels", "module")
_OTHER = 'style="rounded,filled", fillcolor="#ffffff"'

_LINES = {
    "order": ' [style=dotted]', "resume": ' [style=dashed]', "error": ' [color="#cf222e", penwidth=2]',
    "below": ' [style=invis]',
}  # fmt: skip

_LOOKS = {
    "op": 'style="rounded,filled", fillcolor="#ffffff"',
    "leaf": 'style="rounded,filled", fillcolor="#ddf4ff"',
    "break": 'style="rounded,filled,dashed", fillcolor="#fff8f2", color="#e16f24"',
    "guard": 'style="rounded,filled,dashed", fillcolor="#fff8f2", color="#bf8700"',
    "error": 'style="rounded,filled", fillcolor="#fff5f4", color="#cf222e", penwidth=2',
    "kernel": 'style="rounded,filled", fillcolor="#f5f0ff"',
    "scope": 'style="rounded,filled", fillcolor="#eaeef2"',
    "repeat": 'style="rounded,filled,dashed", fillcolor="#eaeef2", peripheries=2',
    "cut": 'style="rounded,filled,dashed", fillcolor="#eaeef2"',
}


def tape_dot(
    graph: Graph, *, folded: Iterable[str] = (), opened: Iterable[str] = (), limit: int | None = MAX_BOXES
) -> str:
    """The DOT text of a graph; folding and the limit on boxes as in `make_picture`."""
    return picture_dot(make_picture(graph, folded, opened, limit=limit))


def picture_dot(picture: Picture) -> str:
    """The DOT text of a picture."""
    number = {key: n for n, key in enumerate(picture.boxes)}
    notes = "".join(quoted(note) + "\\l" for note in picture.notes)
    out = [
        f"digraph {picture.kind if picture.kind in _NAMES else 'picture'} {{",
        f'  graph [label="{quoted(picture.title)}: {quoted(picture.summary)}\\l{notes}", labelloc=b, labeljust=l,'
        ' rankdir=TB, fontname="monospace", fontsize=10, tooltip="", charset="UTF-8"];',
        '  node [shape=box, fontname="monospace", fontsize=10, color="#818b98", margin="0.12,0.06"];',
        '  edge [color="#818b98", arrowsize=0.6];',
    ]
    # a stack of lines to write, innermost last: frames nest without recursion
    pending: list[tuple[str, str, int]] = [("frame", "", 0)]
    clusters = 0
    while pending:
        kind, key, depth = pending.pop()
        indent = "  " * (depth + 1)
        if kind == "end":
            out.append(f"{indent}}}")
        elif kind == "box":
            out.append(f"{indent}{_box(picture.boxes[key], number[key])}")
        else:
            frame = picture.frames[key]
            if frame.parent is not None:
                out.append(f"{indent}subgraph cluster_{clusters} {{")
                out.append(
                    f'{indent}  label="{quoted(frame.title)}\\l"; labelloc=t; labeljust=l; style="rounded,filled";'
                    f' color="#d1d9e0"; fillcolor="{"#f6f8fa" if depth % 2 else "#ffffff"}";'
                )
                clusters += 1
                pending.append(("end", "", depth))
                depth += 1
            pending += [(child.kind, child.key, depth) for child in reversed(frame.children)]
    out += [
        f"  n{number[a]} -> n{number[b]}{_LINES.get(picture.line_kinds.get((a, b), ''), '')};" for a, b in picture.lines
    ]
    out.append("}")
    return "\n".join(out) + "\n"


def quoted(text: str) -> str:
    """`text` for the inside of a quoted DOT string that is shown as a label.

    Graphviz reads such a string twice, for escape sequences and for HTML entities: both are taken away.
    """
    return clean(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


def _box(box: Box, number: int) -> str:
    share = [] if box.share is None else [f"{box.share:.0%} of the time"]
    grads = [f"({line})" for line in box.back.lines] if box.back is not None and box.back.lit else []
    lines = [box.title, *box.lines, *share, *grads, *(f"({badge.text})" for badge in box.badges)]
    label = "".join(quoted(line) + "\\l" for line in lines)
    tooltip = "\\n".join(quoted(line) for line in box.tooltip.split("\n"))
    looks = _LOOKS["kernel" if box.family == "kernel" else box.kind] if box.kind in _LOOKS else _OTHER
    root = ', color="#bf3989", penwidth=2' if box.is_root else ""
    return f'n{number} [label="{label}", tooltip="{tooltip}", {looks}{root}];'
