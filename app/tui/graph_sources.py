"""What the graph tab can show: the tape, and of each compiled function its captured graph and its kernels.

The views build the graphs, and are imported when the first one is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .graph_view import GraphView

__all__ = ["build_tape_graph", "offer_captures"]


def build_tape_graph(tape: dict[str, Any]) -> Any:
    """The graph of a tape snapshot."""
    from ...graphviz_views.tape import build_tape

    return build_tape(tape)


MOST_FUNCTIONS = 4
"""Compiled functions whose graphs the tab offers, the last captured ones."""


def offer_captures(graph: GraphView, captures: list[dict[str, Any]]) -> None:
    """Let the graph tab show the captured graphs and the kernels of compiled functions."""
    wanted: dict[str, Callable[[], Any]] = {}
    for capture in captures[-MOST_FUNCTIONS:]:
        wanted[f"graph of {capture['function']}"] = partial(_build_capture, capture)
        if any((segment.get("kernels") or {}).get("kernels") for segment in capture["segments"]):
            wanted[f"kernels of {capture['function']}"] = partial(_build_kernels, capture)
    for name in [n for n in graph.sources if n != "tape" and n not in wanted]:
        graph.offer(name, None)
    for name, build in wanted.items():
        graph.offer(name, build)


def _build_capture(capture: dict[str, Any]) -> Any:
    from ...graphviz_views.capture import build_capture

    return build_capture(capture)


def _build_kernels(capture: dict[str, Any]) -> Any:
    from ...graphviz_views.kernels import build_kernels, kernels_of

    return build_kernels(kernels_of(capture), capture)
