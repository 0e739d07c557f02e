"""What drawing costs: layout of graphs up to 10,000 nodes, the whole way from a record to a picture, and how good it is.

    python benchmarks/views.py            # all of it
    python benchmarks/views.py --turns 9

Prints medians of processor time in milliseconds on one core and holds them against their budgets; ends with code 1 where one is
missed.  Crossings and length of lines are compared with Graphviz where `dot` is installed and ends within a minute.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from tapescope.graphviz_views.beautify import NotBeautified, graphviz_layout
from tapescope.graphviz_views.browse import GraphView
from tapescope.graphviz_views.layout import Size, lay_out
from tapescope.graphviz_views.picture import make_picture
from tapescope.graphviz_views.scores import score
from tapescope.graphviz_views.tape import build_tape


def network(count: int, long_edges: int = 0, modules: bool = True) -> dict[str, Any]:
    """The tape of a network of residual blocks with `count` nodes, and lines over any distance as saved values make them."""
    chance = random.Random(0)
    nodes: list[dict[str, Any]] = []

    def op(name: str, inputs: list[int], module: str) -> int:
        outputs = [{"shape": [8, 64], "dtype": "float32", "device": "cpu"}]
        source = {"file": "net.py", "line": 1 + len(nodes) % 5, "end_line": 1 + len(nodes) % 5}
        number = len(nodes) + 1
        nodes.append({"id": number, "kind": "op", "op": name, "inputs": inputs, "outputs": outputs, "source": source,
                      "module": module if modules else ""})  # fmt: skip
        return number

    x = op("embedding", [], "net")
    while len(nodes) < count:
        block = f"net.block{len(nodes) // 6}"
        y = op("layer_norm", [x], f"{block}.norm")
        y = op("linear", [y], f"{block}.up")
        y = op("gelu", [y], block)
        y = op("linear", [y], f"{block}.down")
        x = op("add", [x, y], block)
    for _ in range(long_edges):
        target = chance.randrange(count // 10, len(nodes))
        nodes[target]["inputs"].append(chance.randrange(1, target))
    return {"version": 1, "roots": [x], "nodes": nodes, "dropped": 0}


def median(work: Callable[[], Any], turns: int) -> float:
    """The median processor time of one call, in milliseconds."""
    times = []
    for _ in range(turns):
        began = time.process_time()
        work()
        times.append((time.process_time() - began) * 1e3)
    return statistics.median(times)


def layouts(turns: int) -> bool:
    """Layout of every box of a graph, none folded."""
    print(f"{'layout of all nodes':48}{'ms':>9}{'budget':>9}")
    kept = True
    cases = [
        ("1,000 nodes", network(1_000), None), ("1,000 nodes, 500 long edges", network(1_000, 500), 100.0),
        ("1,000 nodes, 500 long edges, no modules", network(1_000, 500, False), 100.0),
        ("10,000 nodes", network(10_000), 500.0), ("10,000 nodes, 5,000 long edges", network(10_000, 5_000), 500.0),
        ("10,000 nodes, no modules", network(10_000, 0, False), 500.0),
    ]  # fmt: skip
    for name, tape, budget in cases:
        graph = build_tape(tape)
        everything = [r for r in _repeats(graph)]
        picture = make_picture(graph, opened=everything, limit=None)
        found = median(lambda p=picture: lay_out(p, lambda key, stubs: Size(90, 40)), turns)
        missed = budget is not None and found > budget
        kept = kept and not missed
        print(f"{name:48}{found:9.1f}{'' if budget is None else f'{budget:9.0f}'}{'  over' if missed else ''}")
    return kept


def _repeats(graph: Any) -> list[str]:
    from tapescope.graphviz_views.repeats import Repeat, find_repeats

    return [e.id for entries in find_repeats(graph).values() for e in entries if isinstance(e, Repeat)]


def whole_way(turns: int) -> None:
    """From a record to what is shown by default: at most 150 boxes."""
    print(f"\n{'from a record of 10,000 nodes':48}{'ms':>9}")
    tape = network(10_000, 5_000)
    graph = build_tape(tape)
    print(f"{'graph':48}{median(lambda: build_tape(tape), turns):9.1f}")
    print(f"{'picture':48}{median(lambda: make_picture(graph), turns):9.1f}")
    for name, draw in (
        ("picture as SVG", lambda v: v.svg()), ("picture as DOT", lambda v: v.dot()), ("picture in cells", lambda v: v.cells()),
        ("picture in chips", lambda v: v.cells("chips")), ("picture as JSON", lambda v: v.page()), ("outline", lambda v: v.outline.rows),
    ):  # fmt: skip
        print(f"{name:48}{median(lambda d=draw: d(GraphView(graph)), turns):9.1f}")


def quality() -> None:
    """Crossings and length of lines beside Graphviz's."""
    if shutil.which("dot") is None:
        print("\nGraphviz is not installed: no comparison.")
        return
    print(f"\n{'beside Graphviz':32}{'crossings':>11}{'dot':>6}{'length':>9}{'dot':>9}")
    for count, extra in ((30, 0), (60, 10), (60, 30), (120, 20), (120, 60), (300, 0)):
        picture = make_picture(build_tape(network(count, extra)), limit=None)
        ours = score(lay_out(picture, lambda key, stubs: Size(90, 40), max_span=10**6))
        name = f"{len(picture.boxes)} boxes, {len(picture.lines)} lines"
        try:
            theirs = score(graphviz_layout(picture, lambda key, stubs: Size(90, 40), deadline=60))
        except NotBeautified as why:
            print(f"{name:32}{ours.crossings:11}{ours.length:15.0f}  {why}")
            continue
        print(f"{name:32}{ours.crossings:11}{theirs.crossings:6}{ours.length:9.0f}{theirs.length:9.0f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    kept = layouts(turns)
    whole_way(turns)
    quality()
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
