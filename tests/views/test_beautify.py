"""Graphviz in the background: its layout where it answers in time, a sentence where it does not."""

import stat
import threading

import pytest
from conftest import need
from views.recorded import Recorder, every, load

from tapescope.graphviz_views.beautify import NotBeautified, graphviz_layout, in_background
from tapescope.graphviz_views.layout import Size
from tapescope.graphviz_views.picture import make_picture
from tapescope.graphviz_views.svg import picture_svg
from tapescope.graphviz_views.tape import build_tape


def measure(key, stubs):
    return Size(100, 40)


def picture(name="residual_cnn", **options):
    return make_picture(build_tape(load(name)), **options)


@pytest.fixture
def program(tmp_path):
    """Makes a program in place of `dot` from the lines of a shell script."""

    def make(script):
        path = tmp_path / "dot"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make


@pytest.mark.parametrize("name", every())
def test_graphviz_places_the_boxes(name):
    need("dot")
    shown = picture(name, backward=None)
    layout = graphviz_layout(shown, measure, deadline=60)
    assert list(layout.boxes) == list(shown.boxes) and set(layout.frames) == set(shown.frames) - {""}
    assert {(r.source, r.target) for r in layout.routes} == set(shown.lines)
    rects = list(layout.boxes.values())
    for i, a in enumerate(rects):
        assert a.x >= -1 and a.y >= -1 and a.x + a.width <= layout.width + 1 and a.y + a.height <= layout.height + 1
        for b in rects[i + 1 :]:
            assert (
                a.x + a.width <= b.x + 1
                or b.x + b.width <= a.x + 1
                or a.y + a.height <= b.y + 1
                or b.y + b.height <= a.y + 1
            )
    for route in layout.routes:
        (x, y), (right, down) = route.points[0], route.points[-1]
        a, b = layout.boxes[route.source], layout.boxes[route.target]
        assert (
            abs(y - a.y - a.height) < 3
            and abs(down - b.y) < 3
            and a.x < x < a.x + a.width
            and b.x < right < b.x + b.width
        )
    assert set(layout.mirrors) == (set(shown.boxes) if shown.mirrored else set())
    assert picture_svg(shown, layout=layout).count('class="line') >= len(shown.lines)


def test_no_text_of_a_record_reaches_it(program, tmp_path):
    path = program(f"cat > {tmp_path}/seen; exit 3")
    with pytest.raises(NotBeautified, match="code 3"):
        graphviz_layout(picture("hostile_labels"), measure, program=path)
    seen = (tmp_path / "seen").read_text()
    assert "mul" not in seen and "evil" not in seen and seen.startswith("digraph {")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("sleep 30", "more than 0.2 seconds"),
        ("echo 'syntax error' >&2; exit 1", "code 1: syntax error"),
        ("kill -SEGV $$", "code -11"),
        ("echo '{}'", "no layout"),
        ("echo not json", "no layout"),
        ('echo \'{"bb": "0,0,1,1", "objects": [{"name": "n99", "_gvid": 0, "pos": "1,1"}]}\'', "no layout"),
    ],
)
def test_a_graphviz_that_does_not_do_its_work(program, script, why):
    with pytest.raises(NotBeautified, match=why) as error:
        graphviz_layout(picture(), measure, program=program(script), deadline=0.2 if "sleep" in script else 60)
    assert str(error.value).endswith("the own layout is shown.")


def test_no_graphviz():
    with pytest.raises(NotBeautified, match="is not installed"):
        graphviz_layout(picture(), measure, program="no-such-program-here")


def test_too_large():
    r = Recorder()
    for n in range(301):
        r.op(f"op{n}", [], [1])
    with pytest.raises(NotBeautified, match="this picture has 301"):
        graphviz_layout(make_picture(build_tape(r.snapshot()), limit=None), measure)


def test_in_the_background(program):
    answers = []
    told = threading.Event()

    def done(layout, why):
        answers.append((layout, why))
        told.set()

    in_background(picture(), measure, done, program=program("exit 1"))
    assert told.wait(60)
    assert answers[0][0] is None and "code 1" in answers[0][1]
    need("dot")
    told.clear()
    in_background(picture(), measure, done, deadline=60)
    assert told.wait(60)
    assert answers[1][1] == "" and len(answers[1][0].boxes) == 21
