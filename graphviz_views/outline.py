"""The outline form of a graph: an indented tree of plain rows, for terminals, screen readers and large graphs.

Rows stand in recorded order.  Scopes fold, and so do repeats of equal structure ("blocks.0 to blocks.11 x12, one
shown").  This file draws nothing: a front end shows the rows, `text` prints them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from .labels import bytes_text, cell_width, clean, count_text, pad, trim
from .model import ROOT, Graph, Node, NodeId, Scope, SourceRange, saved_bytes
from .repeats import Entry, Repeat, find_repeats

COLUMNS = ("operator", "shape", "dtype", "module", "line", "saved", "badges")
"""The text columns of a row, in the order of `OutlineRow.columns`."""


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """One row: a "scope", a "repeat", a "note", or a node with its kind. Its texts contain no control characters and are at most 60 cells wide each.

    `scope` is the id to hand to `Outline.toggle`: of the scope or repeat itself on foldable rows, of the enclosing
    scope on others.  A row stands for `span` nodes of the graph from number `index` on; `node_id` is None on rows
    that are no node.
    """

    depth: int
    kind: str
    operator: str
    shape: str = ""
    dtype: str = ""
    module: str = ""
    line: str = ""
    saved: str = ""
    badges: str = ""
    node_id: NodeId | None = None
    scope: str = ROOT
    foldable: bool = False
    folded: bool = False
    source: SourceRange | None = None
    index: int = -1
    span: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The text columns, in the order of `COLUMNS`."""
        return (self.operator, self.shape, self.dtype, self.module, self.line, self.saved, self.badges)

    @property
    def text(self) -> str:
        """The columns in one line, for a plain search."""
        return "  ".join(c for c in self.columns if c)


class Outline:
    """The rows of a graph with some scopes folded.

    `folded` holds the ids of folded scopes; `opened` those of repeats that show all of their turns (by default a
    repeat shows one).  Both are kept as sets, so that the next snapshot can be shown alike:
    `Outline(new_graph, outline.folded, outline.opened)`.
    """

    def __init__(self, graph: Graph, folded: Iterable[str] = (), opened: Iterable[str] = ()) -> None:
        self.graph = graph
        self.folded = set(folded)
        self.opened = set(opened)
        self._entries = find_repeats(graph)
        self._repeats = {e.id: e for entries in self._entries.values() for e in entries if isinstance(e, Repeat)}
        self._rows: list[OutlineRow] | None = None
        self._row_starts: list[int] = []
        self._row_numbers: list[int] = []
        self._hidden: list[tuple[int, int, int]] = []  # nodes from, to, and the row of the repeat that hides them

    @property
    def rows(self) -> list[OutlineRow]:
        """The visible rows, top to bottom; notes about broken records stand at the end."""
        if self._rows is None:
            self._rows = self._build()
            found = [(row.index, number) for number, row in enumerate(self._rows) if row.index >= 0]
            # of a scope's row and its first node's row, which share an index, the later (inner) one wins
            by_index = dict(found)
            self._row_starts = sorted(by_index)
            self._row_numbers = [by_index[i] for i in self._row_starts]
            self._hidden = sorted(
                (self._repeats[row.scope].shown, self._repeats[row.scope].stop, number)
                for number, row in enumerate(self._rows)
                if row.kind == "repeat" and row.folded
            )
        return self._rows

    def toggle(self, scope: str) -> bool:
        """Fold or unfold a scope or a repeat by its id; returns whether it is folded now. Unknown ids are ignored."""
        if scope in self._repeats:
            self.opened ^= {scope}
            self._rows = None
            return scope not in self.opened
        if scope and scope in self.graph.scopes:
            fold = not self._is_folded(scope)
            (self.folded.add if fold else self.folded.discard)(scope)
            (self.opened.discard if fold else self.opened.add)(scope)
            self._rows = None
            return fold
        return False

    def _is_folded(self, scope: str) -> bool:
        return scope in self.folded or (scope in self.graph.initially_folded and scope not in self.opened)

    def fold_all(self) -> None:
        """Fold every scope and repeat."""
        self.folded = {scope for scope in self.graph.scopes if scope}
        self.opened = set()
        self._rows = None

    def unfold_all(self) -> None:
        """Open every scope; repeats show one turn again."""
        self.folded = set()
        self.opened = set(self.graph.initially_folded)
        self._rows = None

    def reveal(self, node_id: NodeId) -> int | None:
        """Open what hides a node and return the number of its row; None where the graph has no such node."""
        for carrier in self.graph.carriers(node_id)[:1]:
            around = {scope.id for scope in self.graph.scope_chain(carrier)}
            self.folded -= around
            self.opened |= around & self.graph.initially_folded
            index = self.graph.position[carrier]
            self.opened |= {r.id for r in self._repeats.values() if r.shown <= index < r.stop}
            self._rows = None
        return self.row_of(node_id)

    def row_of(self, node_id: NodeId) -> int | None:
        """The number of the row that shows a node, or of the folded row that hides it; None for unknown nodes.

        For a leaf that is shown as a badge, the row of its first user.
        """
        carriers = self.graph.carriers(node_id)
        if not carriers:
            return None
        rows = self.rows
        index = self.graph.position[carriers[0]]
        number = self._row_numbers[bisect_right(self._row_starts, index) - 1]
        row = rows[number]
        if row.index == index or (row.folded and row.kind == "scope" and index < row.index + row.span):
            return number
        # what else is hidden is behind a folded repeat; the ranges that visible ones hide do not overlap
        return self._hidden[bisect_right(self._hidden, index, key=lambda h: h[0]) - 1][2]

    # -- rows ---------------------------------------------------------------------------------------

    def _build(self) -> list[OutlineRow]:
        rows: list[OutlineRow] = []
        pending: list[tuple[Entry, str, int]] = [(e, ROOT, 0) for e in reversed(self._entries[ROOT])]
        while pending:
            entry, within, depth = pending.pop()
            if isinstance(entry, Repeat):
                opened = entry.id in self.opened
                rows.append(self._repeat_row(entry, depth, folded=not opened))
                items = self.graph.scopes[entry.scope].items
                stop = entry.first + entry.period * (entry.count if opened else 1)
                pending += [(item, within, depth + 1) for item in reversed(items[entry.first : stop])]
            elif entry.kind == "node":
                rows.append(self._node_row(self.graph.node(entry.key), within, depth))
            else:
                scope = self.graph.scopes[str(entry.key)]
                if scope.trivial:
                    rows.append(self._node_row(self.graph.nodes[scope.start], scope.id, depth))
                    continue
                folded = self._is_folded(scope.id)
                rows.append(self._scope_row(scope, depth, folded=folded))
                if not folded:
                    pending += [(e, scope.id, depth + 1) for e in reversed(self._entries[scope.id])]
        rows += [OutlineRow(0, "note", note) for note in self.graph.notes]
        return rows

    def _node_row(self, node: Node, scope: str, depth: int) -> OutlineRow:
        badges = [*node.facts.lines, *(b.text for b in (*node.badges, *node.facts.badges))]
        if node.grad is not None:
            badges.append(node.grad.text)
        if node.is_root:
            badges.insert(0, "backward starts here")
        return OutlineRow(
            depth=depth,
            kind=node.kind,
            operator=trim(node.title),
            shape=trim(node.shape_text),
            dtype=trim(node.dtype_text),
            module=trim(node.module),
            line=trim(node.source.text) if node.source else "",
            saved=bytes_text(node.saved_bytes) if node.saved_bytes else "",
            badges=trim(", ".join(badges)),
            node_id=node.id,
            scope=scope,
            source=node.source,
            index=self.graph.position[node.id],
            span=1,
        )

    def _scope_row(self, scope: Scope, depth: int, *, folded: bool) -> OutlineRow:
        row = self._group_row(
            "scope", self.graph.scope_title(scope.id), scope.id, scope.start, scope.stop, depth, folded, scope.path
        )
        told = dict.fromkeys([*scope.facts.lines, *(b.text for b in scope.facts.badges)])
        return replace(row, module="", badges=trim(", ".join(told))) if told else row

    def _repeat_row(self, repeat: Repeat, depth: int, *, folded: bool) -> OutlineRow:
        label = f"{repeat.label} x{repeat.count}" + (", one shown" if folded else "")
        path = self.graph.scopes[repeat.scope].path
        return self._group_row("repeat", label, repeat.id, repeat.start, repeat.stop, depth, folded, path)

    def _group_row(
        self,
        kind: Literal["scope", "repeat"],
        label: str,
        group: str,
        start: int,
        stop: int,
        depth: int,
        folded: bool,
        module: str,
    ) -> OutlineRow:
        nodes = self.graph.nodes[start:stop]
        saved = saved_bytes(nodes)
        return OutlineRow(
            depth=depth,
            kind=kind,
            operator=trim(label),
            shape=trim(nodes[-1].shape_text),
            dtype=trim(nodes[-1].dtype_text),
            module=trim(module),
            line=trim(nodes[0].source.text) if nodes[0].source else "",
            saved=bytes_text(saved) if saved else "",
            badges=count_text(len(nodes), "node"),
            scope=group,
            foldable=True,
            folded=folded,
            source=nodes[0].source,
            index=start,
            span=stop - start,
        )

    # -- text ---------------------------------------------------------------------------------------

    def text(self) -> str:
        """The outline as aligned plain text, notes at the end; every line ends with a newline."""
        tree = [(row, "  " * row.depth + _marker(row) + row.operator) for row in self.rows if row.kind != "note"]
        lines = [f"{self.graph.title}: {self.graph.summary()}", *_table([(head, *r.columns[1:]) for r, head in tree])]
        lines += [f"Note: {note}" for note in self.graph.notes]
        return "\n".join(lines) + "\n"

    def text_of(self, nodes: Collection[NodeId]) -> str:
        """Some nodes as aligned plain text, each in one line that begins with its id: what a search has found."""
        graph = self.graph
        rows = [self._node_row(graph.node(n), graph.scope_of[n], 0) for n in nodes]
        lines = [f"{graph.title}: {count_text(len(rows), 'node')} found"]
        lines += _table([(clean(str(r.node_id)), *r.columns) for r in rows])
        return "\n".join(lines) + "\n"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows with their columns aligned; columns that are empty in all of them are left out."""
    widths = [max(map(cell_width, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(pad(t, w) for t, w in zip(row, widths, strict=True) if w).rstrip() for row in rows]


def _marker(row: OutlineRow) -> str:
    return ("▸ " if row.folded else "▾ ") if row.foldable else "  "
