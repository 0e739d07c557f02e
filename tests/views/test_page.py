"""The JSON for the page: plain values, all boxes with their places, a version."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from views import captured
from views.dags import tapes
from views.recorded import load

from tapescope.graphviz_views.browse import GraphView
from tapescope.graphviz_views.capture import build_capture
from tapescope.graphviz_views.page import PAGE_VERSION, page_json
from tapescope.graphviz_views.picture import make_picture
from tapescope.graphviz_views.tape import build_tape


@settings(max_examples=40, deadline=None)
@given(tapes(25), st.booleans())
def test_any_picture(tape, backward):
    picture = make_picture(build_tape(tape), backward=backward)
    page = page_json(picture)
    assert json.loads(json.dumps(page, allow_nan=False)) == page
    assert page["version"] == PAGE_VERSION
    keys = [box["key"] for box in page["boxes"]]
    assert keys == list(picture.boxes)
    for thing in page["boxes"] + page["frames"]:
        x, y, width, height = thing["rect"]
        assert x >= 0 and y >= 0 and x + width <= page["width"] + 0.2 and y + height <= page["height"] + 0.2
    assert all(line["from"] in keys and line["to"] in keys and len(line["points"]) > 1 for line in page["lines"])
    drawn = {(line["from"], line["to"]) for line in page["lines"]}
    stubs = {(box["key"], to) for box in page["boxes"] for to in box["stubs"]["to"]}
    assert drawn | stubs == set(picture.lines)
    assert (page["mirror"] is not None) == backward


def test_what_a_box_says():
    page = GraphView(build_tape(load("mlp"))).page()
    box = page["boxes"][0]
    assert (box["title"], box["family"], box["node"], box["kind"]) == ("linear", "product", 3, "op")
    assert box["source"]["cell"] == "3" and box["source"]["line"] == 8 and box["source"]["text"] == "cell 3:8"
    assert {"text": "weight [32, 64]", "kind": "leaf", "node": 1} in box["badges"]
    assert page["mirror"]["boxes"][0]["title"] == "LinearBackward0" and page["mirror"]["boxes"][0]["lit"]
    assert page["mirror"]["boxes"][0]["rect"][1] == box["rect"][1]


def test_segments_and_breaks():
    page = GraphView(build_capture(captured.break_in_loop())).page()
    assert [f["title"] for f in page["frames"] if f["kind"] == "segment"] == ["segment 0", "segment 1", "segment 2"]
    assert sum(line["kind"] == "resume" for line in page["lines"]) == 2
    broken = next(box for box in page["boxes"] if box["kind"] == "break")
    assert ["reason", "print() needs the value of a tensor that is still being captured"] in broken["details"]
