"""What of a graph is drawn: boxes for nodes and for folded parts, frames for open scopes, lines between boxes.

DOT, SVG and later the terminal draw the same `Picture`, so that folding and the limit on boxes are decided once,
here.  Places and sizes are the business of `layout.py`.  Every box stands for a contiguous range of the graph's
nodes, hence the lines between boxes never form a cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .labels import bytes_text, cell_width, clean, count_text, shape_text, trim
from .model import ROOT, Badge, Graph, Item, Node, NodeId, Scope, SourceRange
from .repeats import Repeat, find_repeats

MAX_BOXES = 150
"""How many boxes are drawn at most by default."""

MIN_PART = 12
"""A scope that does not fit whole is drawn in part where there is room for at least this many boxes."""


@dataclass(frozen=True, slots=True)
class Box:
    """One rectangle: a node, a folded scope, the further turns of a repeat, or nodes cut by the limit.

    `title`, the short `lines` of facts and the `badges` are clean and trimmed; `tooltip` says the same in full.
    It stands for nodes `start` to `stop` (exclusive) of the graph; `node_id` is set for a single node.
    """

    key: str
    kind: Literal["op", "leaf", "scope", "repeat", "cut"]
    title: str
    lines: tuple[str, ...]
    badges: tuple[Badge, ...]
    tooltip: str
    start: int
    stop: int
    node_id: NodeId | None = None
    scope: str = ROOT
    source: SourceRange | None = None
    is_root: bool = False


class Child(NamedTuple):
    """One child of a frame: a box or another frame, by its key."""

    kind: Literal["box", "frame"]
    key: str


@dataclass(frozen=True, slots=True)
class Frame:
    """An open scope, drawn as a frame around its children. The outermost has key "" and no title."""

    key: str
    title: str
    parent: str | None
    children: tuple[Child, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """Boxes in recorded order, frames (outer before inner), lines (source key, target key), and sentences."""

    title: str
    boxes: dict[str, Box]
    frames: dict[str, Frame]
    lines: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    summary: str


def make_picture(
    graph: Graph, folded: Iterable[str] = (), opened: Iterable[str] = (), *, limit: int | None = MAX_BOXES
) -> Picture:
    """The picture of a graph with at most `limit` boxes (None: no limit).

    Scopes in `folded` are single boxes, repeats in `opened` show all of their turns.  Where the limit does not
    allow all, outer scopes are opened before inner ones, of what still does not fit the newest nodes are kept, and
    a sentence in `notes` says what is not shown.  Raises ValueError for a limit below 2.
    """
    if limit is not None and limit < 2:
        raise ValueError(f"a picture needs room for at least 2 boxes, not {limit}")
    atoms = _atoms(graph, set(opened))
    first_shown, closed = _choose(graph, atoms, set(folded), limit)
    boxes: dict[str, Box] = {}
    frames: dict[str, Frame] = {}
    cut = 0
    pending: list[tuple[str, str | None]] = [(ROOT, None)]
    while pending:
        scope_id, parent = pending.pop()
        scope = graph.scopes[scope_id]
        skip = first_shown[scope_id]
        children: list[Child] = []
        inner: list[tuple[str, str | None]] = []
        if skip:
            box = _cut_box(graph, scope, _start(graph, atoms[scope_id][skip]))
            boxes[box.key] = box
            children.append(Child("box", box.key))
            cut += box.stop - box.start
        for atom in atoms[scope_id][skip:]:
            if isinstance(atom, Item) and atom.key in first_shown and atom.kind == "scope":
                children.append(Child("frame", str(atom.key)))
                inner.append((str(atom.key), scope_id))
            else:
                box = _box(graph, atom, scope_id)
                boxes[box.key] = box
                children.append(Child("box", box.key))
        frames[scope_id] = Frame(scope_id, trim(clean(graph.scope_title(scope_id))), parent, tuple(children))
        pending += reversed(inner)
    boxes = {box.key: box for box in sorted(boxes.values(), key=lambda box: box.start)}
    notes = (*graph.notes, *_limit_notes(graph, limit, cut, [s for s in closed if f"scope {s}" in boxes]))
    return Picture(graph.title, boxes, frames, _lines(graph, boxes), notes, graph.summary())


Atom = Item | Repeat
"""A child of a scope that becomes one box or frame; a `Repeat` here means its turns after the first."""


def _atoms(graph: Graph, opened: set[str]) -> dict[str, list[Atom]]:
    """The children of every scope, repeats replaced by their first turn and the rest (or by all turns if opened)."""
    found: dict[str, list[Atom]] = {}
    for scope_id, entries in find_repeats(graph).items():
        items = graph.scopes[scope_id].items
        atoms = found[scope_id] = []
        for entry in entries:
            if isinstance(entry, Item):
                atoms.append(entry)
            elif entry.id in opened:
                atoms += items[entry.first : entry.first + entry.period * entry.count]
            else:
                atoms += [*items[entry.first : entry.first + entry.period], entry]
    return found


def _choose(
    graph: Graph, atoms: dict[str, list[Atom]], folded: set[str], limit: int | None
) -> tuple[dict[str, int], list[str]]:
    """Which scopes are open, each with the number of leading atoms that are cut, and which had to stay closed."""
    first_shown: dict[str, int] = {}
    closed: dict[str, None] = {}
    total = 1
    waiting = deque([ROOT])
    late: deque[str] = deque()
    while waiting or late:
        # what fits whole comes first; only then is the room that is left given to parts of the others
        scope = waiting.popleft() if waiting else late.popleft()
        size = len(atoms[scope])
        skip = 0
        if limit is not None and total - 1 + size > limit:
            room = limit - total + 1
            if scope not in closed:
                closed[scope] = None
                late.append(scope)
                continue
            if scope != ROOT and room < MIN_PART:
                continue
            skip = size - room + 1
            del closed[scope]
            size = room
        first_shown[scope] = skip
        total += size - 1
        waiting += [
            str(atom.key)
            for atom in atoms[scope][skip:]
            if isinstance(atom, Item)
            and atom.kind == "scope"
            and atom.key not in folded
            and not graph.scopes[str(atom.key)].trivial
        ]
    return first_shown, list(closed)


def _limit_notes(graph: Graph, limit: int | None, cut: int, closed: list[str]) -> list[str]:
    """The sentences about what the limit on boxes left out."""
    notes = []
    if cut:
        notes.append(
            f"Only {limit} boxes are drawn: {count_text(cut, 'earlier node')} "
            f"{'is' if cut == 1 else 'are'} not shown one by one."
        )
    if closed:
        names = ", ".join(trim(graph.scopes[s].path, 30) for s in closed[:3]) + (", …" if len(closed) > 3 else "")
        notes.append(
            f"Only {limit} boxes are drawn: {count_text(len(closed), 'scope')} ({names}) "
            f"{'stays' if len(closed) == 1 else 'stay'} closed."
        )
    return notes


def _start(graph: Graph, atom: Atom) -> int:
    if isinstance(atom, Repeat):
        return atom.shown
    return graph.scopes[str(atom.key)].start if atom.kind == "scope" else graph.position[atom.key]


def _lines(graph: Graph, boxes: dict[str, Box]) -> tuple[tuple[str, str], ...]:
    """The lines between boxes, each once, in the order of their users."""
    owner: list[str] = []
    for box in boxes.values():
        owner += [box.key] * (box.stop - box.start)
    found: dict[tuple[str, str], None] = {}
    for edge in graph.edges:
        ends = owner[graph.position[edge.source]], owner[graph.position[edge.target]]
        if ends[0] != ends[1]:
            found[ends] = None
    return tuple(found)


# -- boxes ------------------------------------------------------------------------------------------


def _box(graph: Graph, atom: Atom, scope: str) -> Box:
    if isinstance(atom, Repeat):
        return _repeat_box(graph, atom, scope)
    if atom.kind == "node":
        return _node_box(graph, graph.node(atom.key), scope)
    inner = graph.scopes[str(atom.key)]
    return _node_box(graph, graph.nodes[inner.start], scope) if inner.trivial else _scope_box(graph, inner, scope)


def _node_box(graph: Graph, node: Node, scope: str) -> Box:
    index = graph.position[node.id]
    facts = " ".join(t for t in (node.shape_text, node.dtype_text) if t)
    place = node.source.text if node.source else ""
    # what the frame around the box says already is not repeated on it
    frame = graph.scopes[scope].path
    module = node.module.removeprefix(frame).removeprefix(".") if node.module.startswith(frame) else node.module
    badges = [Badge("backward starts here", "root")] if node.is_root else []
    badges += node.badges
    if node.saved_bytes:
        badges.append(Badge(f"saved {bytes_text(node.saved_bytes)}", "saved"))
    if node.grad is not None:
        badges.append(Badge(node.grad.text, "grad"))
    saved = (f"saved {s.name} {shape_text(s.shape)} {s.dtype}".rstrip() for s in node.saved)
    full = [f"{node.title} (node {node.id}, {node.name})" if node.name else f"{node.title} (node {node.id})", facts]
    full += [node.module, place, *(b.text for b in node.badges), *saved]
    if node.is_root:
        full.append("backward starts here")
    return Box(
        key=f"node {node.id}",
        kind=node.kind,
        title=trim(clean(node.title), 40),
        lines=tuple(trim(clean(line)) for line in (facts, " · ".join(t for t in (_tail(module), place) if t)) if line),
        badges=tuple(Badge(trim(clean(b.text)), b.kind, b.node_id) for b in badges),
        tooltip="\n".join(clean(line) for line in full if line),
        start=index,
        stop=index + 1,
        node_id=node.id,
        scope=scope,
        source=node.source,
        is_root=node.is_root,
    )


def _tail(module: str, cells: int = 28) -> str:
    """The end of a module path, which says most: "….blocks.0.attn"."""
    names = module.split(".")
    while len(names) > 1 and cell_width(".".join(names)) > cells:
        del names[0]
    tail = ".".join(names)
    return trim(tail if tail == module else "…." + tail, cells + 2)


def _group_box(
    graph: Graph, key: str, kind: Literal["scope", "repeat", "cut"], title: str, start: int, stop: int, scope: str,
    extra: str = "",
) -> Box:  # fmt: skip
    """A box for the nodes from `start` to `stop`; it shows the shape of the last, which is what leaves the group."""
    nodes = graph.nodes[start:stop]
    saved = sum(n.saved_bytes for n in nodes)
    facts = " ".join(t for t in (nodes[-1].shape_text, nodes[-1].dtype_text) if t)
    lines = [trim(line) for line in (facts, extra or count_text(len(nodes), "node")) if line]
    badges = (Badge(f"saved {bytes_text(saved)}", "saved"),) if saved else ()
    tooltip = "\n".join(clean(line) for line in (title, count_text(len(nodes), "node"), facts) if line)
    is_root = any(n.is_root for n in nodes)
    return Box(
        key,
        kind,
        trim(clean(title), 48),
        tuple(lines),
        badges,
        tooltip,
        start,
        stop,
        None,
        scope,
        nodes[0].source,
        is_root,
    )


def _scope_box(graph: Graph, inner: Scope, scope: str) -> Box:
    return _group_box(
        graph, f"scope {inner.id}", "scope", graph.scope_title(inner.id), inner.start, inner.stop, inner.id
    )


def _repeat_box(graph: Graph, repeat: Repeat, scope: str) -> Box:
    title = f"{repeat.count - 1} more like this"
    extra = f"{repeat.label} x{repeat.count}, one shown"
    return _group_box(graph, f"repeat {repeat.id}", "repeat", title, repeat.shown, repeat.stop, repeat.id, extra)


def _cut_box(graph: Graph, scope: Scope, stop: int) -> Box:
    title = count_text(stop - scope.start, "earlier node")
    return _group_box(graph, f"cut {scope.id}", "cut", title, scope.start, stop, scope.id, "not drawn one by one")
