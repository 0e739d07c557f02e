"""How good the layout is beside Graphviz's on a fixed set of graphs: at most 1.5 times its crossings in all."""

import random

import pytest
from conftest import need
from views import captured
from views.recorded import Recorder, load

from tapescope.graphviz_views.beautify import graphviz_layout
from tapescope.graphviz_views.capture import build_capture
from tapescope.graphviz_views.layout import Layout, Rect, Route, Size, Stubs, lay_out
from tapescope.graphviz_views.picture import make_picture
from tapescope.graphviz_views.scores import Scores, score
from tapescope.graphviz_views.tape import build_tape


def measure(key, stubs):
    return Size(110, 50)


def tangle(seed, size, most, modules=1):
    """A random graph in which each node uses some of the eight before it."""
    r, chance = Recorder(), random.Random(seed)
    for n in range(1, size + 1):
        inputs = [chance.randrange(max(1, n - 8), n) for _ in range(chance.choice([1, 1, 2, most]))] if n > 1 else []
        r.op(
            chance.choice(["mul", "add", "sum", "exp"]),
            inputs,
            [2],
            f"m{n * modules // (size + 1)}" if modules > 1 else "",
        )
    return build_tape(r.snapshot(size))


def graphs():
    found = {name: build_tape(load(name)) for name in ("residual_cnn", "two_losses", "blocks_x12", "attention_x12")}
    found |= {"break": build_capture(captured.break_in_loop()), "step": build_capture(captured.training_step())}
    found |= {f"tangle {n}": tangle(n, 20 + 10 * n, 2 + n % 2) for n in range(6)}
    found |= {f"modules {n}": tangle(100 + n, 30 + 10 * n, 2, 4 + n) for n in range(4)}
    return found


def test_crossings_beside_graphviz():
    need("dot")
    ours, theirs = [], []
    for graph in graphs().values():
        picture = make_picture(graph, limit=None)
        if len(picture.boxes) > 120:
            picture = make_picture(graph)
        ours.append(score(lay_out(picture, measure, max_span=10**6)))
        theirs.append(score(graphviz_layout(picture, measure, deadline=60)))
    assert sum(s.crossings for s in ours) <= 1.5 * sum(s.crossings for s in theirs)
    assert sum(s.length for s in ours) <= 1.5 * sum(s.length for s in theirs)
    assert all(s.sideways < 0.9 for s in ours)


@pytest.mark.parametrize("name", ["residual_cnn", "two_losses", "blocks_x12", "mlp"])
def test_ordinary_networks_have_no_crossing(name):
    assert score(lay_out(make_picture(build_tape(load(name))), measure)).crossings == 0


def test_how_scores_are_counted():
    boxes = {key: Rect(x, y, 10, 10) for key, x, y in (("a", 0, 0), ("b", 40, 0), ("c", 0, 100), ("d", 40, 100))}
    routes = [
        Route("a", "d", ((5, 10), (45, 100))),
        Route("b", "c", ((45, 10), (5, 100))),
        Route("a", "c", ((5, 10), (5, 100))),
    ]
    layout = Layout(50, 110, boxes, {}, tuple(routes), Stubs({}, {}))
    found = score(layout)
    assert found.crossings == 1 and found.length == pytest.approx(2 * (40**2 + 90**2) ** 0.5 + 90)
    assert found.sideways == pytest.approx(80 / found.length)
    curve = Route("a", "d", ((5, 10), (5, 55), (45, 55), (45, 100)), True)
    other = Route("b", "c", ((45, 12), (5, 100)))
    assert score(Layout(50, 110, boxes, {}, (curve, other), Stubs({}, {}))).crossings == 1
    assert score(Layout(0, 0, {}, {}, (), Stubs({}, {}))) == Scores(0, 0.0, 0.0)
