"""What of a graph is drawn: boxes for nodes and for folded parts, frames for open scopes, lines between boxes.

DOT, SVG and later the terminal draw the same `Picture`, so that folding and the limit on boxes are decided once,
here.  Places and sizes are the business of `layout.py`.  Every box stands for a contiguous range of the graph's
nodes, hence the lines between boxes never form a cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from .families import family
from .labels import bytes_text, cell_width, clean, count_text, seconds_text, shape_text, shapes_text, trim
from .model import NO_FACTS, ROOT, Badge, Gradient, Graph, Item, Node, NodeId, Scope, SourceRange, saved_bytes
from .repeats import Repeat, find_repeats

MAX_BOXES = 150
"""How many boxes are drawn at most by default."""

MIN_PART = 12
"""A scope that does not fit whole is drawn in part where there is room for at least this many boxes."""


@dataclass(frozen=True, slots=True)
class Box:
    """One rectangle: a node (with its kind), or a "scope", a "repeat" (its further turns) or a "cut" (by the limit).

    `title`, the short `lines` of facts and the `badges` are clean and trimmed; `tooltip` says the same in full.
    It stands for nodes `start` to `stop` (exclusive) of the graph; `node_id` is set for a single node.
    """

    key: str
    kind: str
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
    family: str = "other"
    share: float | None = None
    details: tuple[tuple[str, str], ...] = ()
    back: Back | None = None


@dataclass(frozen=True, slots=True)
class Back:
    """What stands in the mirror for a box: the step of backward that belongs to it, and the gradients known of it.

    It is `lit` once a gradient has arrived.
    """

    title: str
    lines: tuple[str, ...] = ()
    badges: tuple[Badge, ...] = ()
    lit: bool = False


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
    kind: str = "module"
    badges: tuple[Badge, ...] = ()
    lines: tuple[str, ...] = ()
    details: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """Boxes in recorded order, frames (outer before inner), lines (source key, target key), and sentences.

    A `mirrored` picture shows each box's `back` beside it.  `line_kinds` names the lines that are no plain values.
    """

    title: str
    boxes: dict[str, Box]
    frames: dict[str, Frame]
    lines: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    summary: str
    kind: str = "tape"
    mirrored: bool = False
    line_kinds: dict[tuple[str, str], str] = field(default_factory=dict)


def make_picture(
    graph: Graph,
    folded: Iterable[str] = (),
    opened: Iterable[str] = (),
    *,
    limit: int | None = MAX_BOXES,
    backward: bool | None = False,
    gradients: Mapping[NodeId, Gradient] | None = None,
) -> Picture:
    """The picture of a graph with at most `limit` boxes (None: no limit).

    `opened` also names scopes that are folded until somebody opens them (`Graph.initially_folded`).  `backward` puts
    the steps of backward beside a tape (None: where a gradient is known), with `gradients` in place of recorded ones.

    Scopes in `folded` are single boxes, repeats in `opened` show all of their turns.  Where the limit does not
    allow all, outer scopes are opened before inner ones, of what still does not fit the newest nodes are kept, and
    a sentence in `notes` says what is not shown.  Raises ValueError for a limit below 2.
    """
    if limit is not None and limit < 2:
        raise ValueError(f"a picture needs room for at least 2 boxes, not {limit}")
    opened = set(opened)
    atoms = _atoms(graph, opened)
    first_shown, closed = _choose(graph, atoms, set(folded) | (graph.initially_folded - opened), limit)
    if graph.kind != "tape":
        backward = False
    elif backward is None:
        known = bool(gradients) or any(n.grad is not None or any(b.known for b in n.badges) for n in graph.nodes)
        backward = known and not any(n.kind == "error" for n in graph.nodes)
    draw = _Boxes(graph, mirrored=backward, gradients=gradients or {})
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
            box = draw.cut(scope, _start(graph, atoms[scope_id][skip]))
            boxes[box.key] = box
            children.append(Child("box", box.key))
            cut += box.stop - box.start
        for atom in atoms[scope_id][skip:]:
            if isinstance(atom, Item) and atom.key in first_shown and atom.kind == "scope":
                children.append(Child("frame", str(atom.key)))
                inner.append((str(atom.key), scope_id))
            else:
                box = draw.atom(atom, scope_id)
                boxes[box.key] = box
                children.append(Child("box", box.key))
        frames[scope_id] = Frame(
            scope_id, trim(clean(graph.scope_title(scope_id))), parent, tuple(children), scope.kind,
            scope.facts.badges, scope.facts.lines, scope.facts.details,
        )  # fmt: skip
        pending += reversed(inner)
    boxes = {box.key: box for box in sorted(boxes.values(), key=lambda box: box.start)}
    notes = (*graph.notes, *_limit_notes(graph, limit, cut, [s for s in closed if f"scope {s}" in boxes]))
    lines = _lines(graph, boxes)
    kinds = {ends: kind for ends, kind in lines.items() if kind != "value"}
    return Picture(graph.title, boxes, frames, tuple(lines), notes, graph.summary(), graph.kind, backward, kinds)


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


def _lines(graph: Graph, boxes: dict[str, Box]) -> dict[tuple[str, str], str]:
    """The lines between boxes with their kinds, each once, in the order of their users."""
    owner: list[str] = []
    for box in boxes.values():
        owner += [box.key] * (box.stop - box.start)
    position = graph.position
    found: dict[tuple[str, str], str] = {}
    for edge in graph.edges:
        ends = owner[position[edge.source]], owner[position[edge.target]]
        if ends[0] != ends[1] and found.get(ends) != "value":
            found[ends] = edge.kind
    return found


# -- boxes ------------------------------------------------------------------------------------------


class _Boxes:
    """Makes the boxes of one picture."""

    def __init__(self, graph: Graph, *, mirrored: bool, gradients: Mapping[NodeId, Gradient]) -> None:
        self.graph, self.mirrored, self.gradients = graph, mirrored, gradients

    def atom(self, atom: Atom, scope: str) -> Box:
        """The box of a node, of a scope or of a repeat inside `scope`."""
        graph = self.graph
        if isinstance(atom, Repeat):
            title = f"{atom.count - 1} more like this"
            extra = f"{atom.label} x{atom.count}, one shown"
            return self._group(f"repeat {atom.id}", "repeat", title, atom.shown, atom.stop, atom.id, extra)
        if atom.kind == "node":
            return self.node(graph.node(atom.key), scope)
        inner = graph.scopes[str(atom.key)]
        return self.node(graph.nodes[inner.start], scope) if inner.trivial else self.scope(inner)

    def node(self, node: Node, scope: str) -> Box:
        """The box of one node."""
        index = self.graph.position[node.id]
        facts = " ".join(t for t in (node.shape_text, node.dtype_text) if t)
        place = node.source.text if node.source else ""
        # what the frame around the box says already is not repeated on it
        frame = self._module_path(scope)
        module = node.module.removeprefix(frame).removeprefix(".") if node.module.startswith(frame) else node.module
        if self.graph.kind == "module":
            module = ""
        grad = self.gradients.get(node.id, node.grad)
        badges = [Badge("backward starts here", "root")] if node.is_root else []
        badges += [*node.badges, *node.facts.badges]
        if node.saved_bytes:
            badges.append(Badge(f"saved {bytes_text(node.saved_bytes)}", "saved"))
        if grad is not None and not self.mirrored:
            badges.append(Badge(grad.text, "grad"))
        saved = (f"saved {s.name} {shape_text(s.shape)} {s.dtype}".rstrip() for s in node.saved)
        title = clean(node.title)
        full = [f"{title} (node {node.id}, {node.name})" if node.name else f"{title} (node {node.id})", facts]
        full += [node.module, place, *(b.text for b in node.badges), *saved]
        details = self._details(node, grad)
        full += [f"{name}: {text}" for name, text in node.facts.details]
        if node.is_root:
            full.append("backward starts here")
        lines = (facts, *node.facts.lines, " · ".join(t for t in (_tail(module), place) if t))
        return Box(
            key=f"node {node.id}",
            kind=node.kind,
            title=trim(title, 40),
            lines=tuple(trim(clean(line)) for line in lines if line),
            badges=tuple(Badge(trim(clean(b.text)), b.kind, b.node_id) for b in badges),
            tooltip="\n".join(clean(line) for line in full if line),
            start=index,
            stop=index + 1,
            node_id=node.id,
            scope=scope,
            source=node.source,
            is_root=node.is_root,
            family=family(node.kind, node.op),
            share=node.facts.share,
            details=details,
            back=self._back(node, grad) if self.mirrored else None,
        )

    @staticmethod
    def _details(node: Node, grad: Gradient | None) -> tuple[tuple[str, str], ...]:
        """All that is known of a node, for a panel: (name, text) pairs, clean and in full."""
        pairs = [("shape", node.shape_text), ("dtype", node.dtype_text)]
        pairs.append(("bytes", bytes_text(node.bytes) if node.bytes else ""))
        if node.facts.seconds is not None:
            pairs.append(("time", seconds_text(node.facts.seconds)))
        pairs += [
            ("module", node.module),
            ("line", node.source.text if node.source else ""),
            ("on the tape", node.name),
        ]
        pairs += [("uses", badge.text) for badge in node.badges if badge.kind == "leaf"]
        pairs += [
            ("saves", f"{s.name} {shape_text(s.shape)} {s.dtype} {bytes_text(s.bytes) if s.bytes else ''}".strip())
            for s in node.saved
        ]
        pairs.append(("gradient", grad.text.removeprefix("grad ") if grad is not None else ""))
        known = {name for name, _ in node.facts.details}
        pairs = [(name, text) for name, text in pairs if name not in known]
        return tuple((name, clean(text)) for name, text in (*pairs, *node.facts.details) if text)

    def _module_path(self, scope: str) -> str:
        names: list[str] = []
        at: str | None = scope
        while at:
            inner = self.graph.scopes[at]
            if inner.kind == "module":
                names.append(inner.name)
            at = inner.parent
        return ".".join(reversed(names))

    def _back(self, node: Node, grad: Gradient | None) -> Back | None:
        """The step of backward that belongs to a node: what it is called, the gradient that came, who gets one."""
        if node.kind == "error":
            return None
        if node.kind == "leaf":
            return Back("AccumulateGrad", (grad.text if grad else f"grad {node.shape_text}",), (), grad is not None)
        leaves = [b for b in node.badges if b.kind == "leaf"]
        into = [self._leaf_grad(b) for b in leaves]
        into = [Badge(trim(clean(b.text)), b.kind, b.node_id) for b in into]
        if grad is not None:
            line = f"grad {shape_text(grad.shape)}" + ("" if grad.norm is None else f" · norm {grad.norm:.4g}")
        else:
            line = f"grad {_gradient_shapes(node)}"
        return Back(
            trim(clean(node.name or f"backward of {node.title}"), 40),
            (trim(clean(line)),),
            tuple(into),
            grad is not None,
        )

    def _leaf_grad(self, badge: Badge) -> Badge:
        """The badge of the gradient that a leaf gathers."""
        grad = None if badge.node_id is None else self.gradients.get(badge.node_id)
        norm = "" if grad is None or grad.norm is None else f", norm {grad.norm:.4g}"
        return Badge(f"grad of {badge.text}{norm}", "grad" if badge.known or grad else "leaf", badge.node_id)

    def scope(self, inner: Scope) -> Box:
        """The box of a folded scope."""
        box = self._group(
            f"scope {inner.id}", "scope", self.graph.scope_title(inner.id), inner.start, inner.stop, inner.id
        )
        facts = inner.facts
        if facts is NO_FACTS:
            return box
        lines = tuple(trim(clean(line)) for line in facts.lines) or box.lines
        badges = (*(Badge(trim(clean(b.text)), b.kind, b.node_id) for b in facts.badges), *box.badges)
        tooltip = "\n".join([box.tooltip, *(clean(f"{name}: {text}") for name, text in facts.details)])
        return replace(
            box, lines=lines, badges=badges, tooltip=tooltip, share=facts.share, details=facts.details,
            family=family(inner.kind, ""),
        )  # fmt: skip

    def cut(self, scope: Scope, stop: int) -> Box:
        """The box for what the limit leaves out at the beginning of a scope."""
        title = count_text(stop - scope.start, "earlier node")
        return self._group(f"cut {scope.id}", "cut", title, scope.start, stop, scope.id, "not drawn one by one")

    def _group(self, key: str, kind: str, title: str, start: int, stop: int, scope: str, extra: str = "") -> Box:
        """A box for the nodes from `start` to `stop`; it shows the shape of the last, which is what leaves the group."""
        nodes = self.graph.nodes[start:stop]
        saved = saved_bytes(nodes)
        facts = " ".join(t for t in (nodes[-1].shape_text, nodes[-1].dtype_text) if t)
        lines = [trim(line) for line in (facts, extra or count_text(len(nodes), "node")) if line]
        badges = (Badge(f"saved {bytes_text(saved)}", "saved"),) if saved else ()
        errors = [n for n in nodes if n.kind == "error"]
        if errors:
            badges = (Badge("fails inside", "error"), *badges)
        tooltip = "\n".join(clean(line) for line in (title, count_text(len(nodes), "node"), facts) if line)
        back = None
        if self.mirrored:
            grad = self.gradients.get(nodes[-1].id, nodes[-1].grad)
            line = grad.text if grad else f"grad {_gradient_shapes(nodes[-1])}"
            back = Back(trim(f"backward of {clean(title)}", 48), (trim(clean(line)),), (), grad is not None)
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
            any(n.is_root for n in nodes),
            back=back,
        )


def _gradient_shapes(node: Node) -> str:
    """The shapes of the outputs that can have a gradient: no integers, and no statistics beside a normalised value."""
    outputs = [t for t in node.outputs if not t.dtype.startswith(("int", "uint", "bool"))]
    return shapes_text([t.shape for t in (outputs[:1] if node.op.startswith("native_") else outputs)])


def _tail(module: str, cells: int = 28) -> str:
    """The end of a module path, which says most: "….blocks.0.attn"."""
    names = module.split(".")
    while len(names) > 1 and cell_width(".".join(names)) > cells:
        del names[0]
    tail = ".".join(names)
    return trim(tail if tail == module else "…." + tail, cells + 2)
