"""The tape of the running cell, sent while it runs and once more when it is over.

Listens for the beginning of backward passes and takes a snapshot at most ten times a second, however fast the loop
is; between two snapshots a backward pass costs a look at the clock.  A cell without a backward pass shows the tape of
the newest tensor it made, and one that an operator ended the tape up to there.  What a snapshot holds is the engine's
subject; here each node's source gets its cell.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from .cellnames import parse_cell_filename
from .hints import Backwards
from .import_hooks import when_imported
from .messages import Message, Stream, Tape
from .torch_name import ENGINE

INTERVAL = 0.1
"""Seconds between two live tapes at least."""

SHARE = 20
"""A snapshot that took t seconds is followed by at least SHARE * t seconds without one: about 5 percent of the time."""

LIVE_NODES = 2_000
"""Nodes of a live tape at most; the final one has the engine's own, larger limit."""


class TapeStream:
    """Sends `Tape` events of one kernel. `namespace` is the user's, for the names of leaves."""

    def __init__(
        self,
        send: Callable[[Message], None],
        namespace: Mapping[str, Any],
        *,
        interval: float = INTERVAL,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._send = send
        self._namespace = namespace
        self._interval = interval
        self._clock = clock
        self._cell: str | None = None
        self._next = 0.0
        self._roots: tuple[Any, ...] | None = None
        self._live: dict[str, Any] | None = None
        self._mark = -1
        self._failed = False
        self.watch = Backwards()
        """What the backward passes of the cell showed, for the hints."""
        self.last: dict[str, Any] | None = None
        """The cell's last snapshot."""
        self._engine: Any = None
        self._disconnect: Callable[[], None] = lambda: None
        self._forget = when_imported(ENGINE, self._connect)

    def _connect(self, engine: Any) -> None:
        from ...engine import autograd
        from ...engine.observe import bus

        self._engine = autograd
        self._disconnect = bus.subscribe(self._on_backward, ["backward"])

    def close(self) -> None:
        """Listen no more."""
        self._forget()
        self._disconnect()

    def begin(self, cell: str) -> None:
        """A cell is about to run."""
        self._cell = cell
        self._next = 0.0
        self._roots = self._live = None
        self._failed = False
        self.watch, self.last = Backwards(), None
        self._mark = max(self._mark, self._newest()[0])

    def end(self, failure: BaseException | None = None) -> None:
        """The cell is over (`failure` ended it): send its final tape, if it has one."""
        cell, self._cell = self._cell, None
        roots, self._roots = self._roots, None
        live, self._live = self._live, None
        if self._engine is None or self._failed or cell is None:
            return
        if failure is not None and self._send_failed(cell, failure):
            return
        number, newest = self._newest()
        if roots is None:
            if newest is None or number <= self._mark:
                return
            roots = (newest,)
        try:
            tape = self._snapshot(roots)
        except Exception as error:
            self._fail(cell, error)
            return
        if live is not None:
            _keep_saved(tape, live)
        self.last = tape
        self._send(Tape(cell, tape, False))

    def _send_failed(self, cell: str, failure: BaseException) -> bool:
        """Send the tape up to the operator that failed; False where no operator on tensors did."""
        try:
            from ...engine.autograd.failure import failed_tape

            tape = failed_tape(failure)
            if tape is None:
                return False
            tape["error"]["source"] = _in_cell(tape["error"]["source"])
            self.last = self._named(tape)
        except Exception as error:
            self._fail(cell, error)
            return True
        self._send(Tape(cell, self.last, False))
        return True

    def _on_backward(self, record: Any) -> None:
        if self._cell is None:
            return
        self._roots = record._roots
        with suppress(Exception):  # hints are extra: what they stumble over must not stop the user's program
            self.watch.began(record)
        now = self._clock()
        if now < self._next or self._failed:
            return
        try:
            # Now and not later: the pass that begins here frees what the nodes have saved.
            self._live = self._snapshot(record._roots, LIVE_NODES)
            self.watch.look(record._roots)
        except Exception as error:
            self._fail(self._cell, error)
            return
        self._send(Tape(self._cell, self._live, True))
        done = self._clock()
        self._next = done + max(self._interval, SHARE * (done - now))

    def _fail(self, cell: str, error: Exception) -> None:
        self._failed = True  # once a cell is enough
        text = f"[the tape of this cell cannot be shown: {type(error).__name__}: {error}]\n"
        self._send(Stream(cell, "stderr", text))

    def _snapshot(self, roots: tuple[Any, ...], limit: int | None = None) -> dict[str, Any]:
        return self._named(self._engine.snapshot(roots) if limit is None else self._engine.snapshot(roots, limit))

    def _named(self, tape: dict[str, Any]) -> dict[str, Any]:
        """The tape with cells at its sources and the user's names at its leaves."""
        names: dict[int, str] | None = None
        for node in tape["nodes"]:
            if _in_cell(node["source"]) is None and node["kind"] == "leaf" and not node["label"]:
                if names is None:
                    names = self._leaf_names()
                node["label"] = names.get(node["id"], "")
        return tape

    def _leaf_names(self) -> dict[int, str]:
        """The user's names of the tensors that gather a gradient, by the id of their node."""
        from ...engine.tensor import Tensor, gradient_edge

        names: dict[int, str] = {}
        for name, value in dict(self._namespace).items():
            if isinstance(name, str) and not name.startswith("_") and issubclass(type(value), Tensor):
                if value.requires_grad and value.is_leaf:
                    names.setdefault(gradient_edge(value)[0].sequence_nr, name)
        return names

    def _newest(self) -> tuple[int, Any]:
        """The namespace's tensor that was recorded last, with its node's number; (-1, None) where there is none."""
        if self._engine is None:
            return -1, None
        from ...engine.tensor import Tensor

        tensors = [v for v in dict(self._namespace).values() if issubclass(type(v), Tensor)]
        newest = self._engine.newest_root(tensors)
        node = None if newest is None else newest.grad_fn
        return (-1, None) if node is None else (node.sequence_nr, newest)


def _in_cell(source: dict[str, Any] | None) -> dict[str, Any] | None:
    """The source with the cell and the revision that its file's name tells, where it tells of one."""
    if source is not None and (place := parse_cell_filename(source["file"])) is not None:
        source["cell"], source["revision"] = place
    return source


def _keep_saved(final: dict[str, Any], live: dict[str, Any]) -> None:
    """Put what the nodes had saved for backward into a tape that was taken after backward freed it.

    The two may come from different turns of a loop: they are taken for the same where they have the same operators.
    """
    nodes, before = final["nodes"], live["nodes"]
    if len(nodes) == len(before) and all(a["op"] == b["op"] for a, b in zip(nodes, before)):
        for node, earlier in zip(nodes, before):
            if not node["saved"]:
                node["saved"] = earlier["saved"]
