"""Tapes of 10,000 nodes: everything completes, nothing recurses, the pictures stay small."""

import gc
import random
import sys

import pytest
from views.recorded import Recorder

from tapescope.graphviz_views.dot import tape_dot
from tapescope.graphviz_views.layout import Size, lay_out
from tapescope.graphviz_views.outline import Outline
from tapescope.graphviz_views.picture import make_picture
from tapescope.graphviz_views.svg import tape_svg
from tapescope.graphviz_views.tape import build_tape

COUNT = 10_000


def chain():
    """One value through everything, in one module."""
    r = Recorder()
    x: list[int] = []
    for n in range(COUNT):
        x = [r.op("relu" if n % 7 else f"op{n}", x, [1], "net", n + 1)]
    return r.snapshot(*x)


def tangle():
    """Modules in no order, and a line over any distance from every second node."""
    r = Recorder()
    chance = random.Random(0)
    module = ""
    for n in range(1, COUNT + 1):
        inputs = [chance.randrange(max(1, n - 10), n) for _ in range(min(2, n - 1))]
        if n % 2 == 0:
            inputs.append(chance.randrange(1, n))
        if chance.random() < 0.2:
            module = chance.choice(["", "a", "a.b", "a.b.c", "d"])
        r.op(chance.choice(["mul", "add", "sum"]), inputs, [2, 2], module)
    return r.snapshot(COUNT)


def fan():
    """One value that everything uses, and a sum of it all."""
    r = Recorder()
    top = r.op("top", [], [1])
    r.op("stack", [r.op(f"op{n % 3}", [top], [1]) for n in range(COUNT - 2)], [1])
    return r.snapshot(COUNT)


def deep():
    """Scopes as deep as they go, again and again."""
    r = Recorder()
    for n in range(COUNT):
        r.op("mul", [n] if n else [], [1], ".".join(f"m{i}" for i in range(n % 60)))
    return r.snapshot(COUNT)


def cycle():
    """One ring, which is no tape at all."""
    r = Recorder()
    for n in range(COUNT):
        r.op("mul", [n or COUNT], [1])
    return r.snapshot(COUNT)


@pytest.mark.parametrize("make", [chain, tangle, fan, deep, cycle])
def test_ten_thousand_nodes(make):
    snapshot = make()
    limit = sys.getrecursionlimit()
    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(depth + 60)  # enough for calls, far too little for a walk by recursion
    try:
        graph = build_tape(snapshot)
        outline = Outline(graph)
        rows = outline.rows
        text = outline.text()
        svg = tape_svg(graph)
        dot = tape_dot(graph)
        layout = lay_out(make_picture(graph, limit=None), lambda key, stubs: Size(50, 20))
    finally:
        sys.setrecursionlimit(limit)
    assert len(graph.nodes) == COUNT
    assert len(rows) == text.count("\n") - 1
    assert svg.count('<g class="box') <= 150 and len(svg) < 400_000
    assert dot.count("tooltip=") <= 151
    assert 0 < len(layout.boxes) <= COUNT
    assert all(
        layout.boxes[r.source].y + layout.boxes[r.source].height <= layout.boxes[r.target].y + 1e-6
        for r in layout.routes
    )


def test_only_the_newest_hundred_thousand_nodes_are_read():
    nodes = [{"id": n, "kind": "op", "op": "mul", "inputs": []} for n in range(100_010)]
    graph = build_tape({"version": 1, "nodes": nodes, "roots": []})
    assert len(graph.nodes) == 100_000 and graph.nodes[0].id == 10
    assert graph.notes == ("The tape has 100,010 nodes; only the newest 100,000 are shown.",)


def test_the_collector_runs_again_after_a_large_layout():
    picture = make_picture(build_tape(chain()), limit=None)
    assert gc.isenabled()

    def measure(key, stubs):
        assert not gc.isenabled()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lay_out(picture, measure)
    assert gc.isenabled()
