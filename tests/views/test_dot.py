"""DOT that the real Graphviz accepts, and shows letter by letter."""

import re
import subprocess
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from views.recorded import Recorder, every, graphs, load

from tapescope.graphviz_views.browse import GraphView
from tapescope.graphviz_views.dot import quoted, tape_dot
from tapescope.graphviz_views.labels import clean, trim
from tapescope.graphviz_views.tape import build_tape


def run_dot(program, text):
    """The SVG that Graphviz makes of a DOT text; it must accept it without a word."""
    done = subprocess.run([program, "-Tsvg"], input=text.encode(), capture_output=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()
    return ET.fromstring(done.stdout)


def texts(svg):
    """All lines of text that an SVG shows; Graphviz writes spaces as no-break spaces."""
    return [(e.text or "").replace("\u00a0", " ") for e in svg.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("name", every())
def test_graphviz_accepts_it(need, name, leaves):
    graph = build_tape(load(name), leaves_as_nodes=leaves)
    svg = run_dot(need("dot"), tape_dot(graph))
    groups = [e.get("class") for e in svg.iter("{http://www.w3.org/2000/svg}g")]
    dot = tape_dot(graph)
    assert groups.count("node") == len(re.findall(r"^ *n\d+ \[", dot, re.MULTILINE))
    assert groups.count("edge") == dot.count(" -> n")
    assert groups.count("cluster") == dot.count("subgraph cluster_")


@pytest.mark.parametrize("name", sorted(graphs().keys() - every().keys()))
def test_graphviz_accepts_captures_kernels_and_large_graphs(need, name):
    view = GraphView(graphs()[name]())
    svg = run_dot(need("dot"), view.dot())
    titles = {line for line in texts(svg)}
    assert all(box.title in titles for box in view.picture.boxes.values())


def test_hostile_labels_are_shown_letter_by_letter(need):
    shown = texts(run_dot(need("dot"), tape_dot(build_tape(load("hostile_labels")))))
    assert "<b>mul</b> &lt; &amp; ]]> --> <!--" in shown
    assert '("quoted" \\N \\G \\\\ back\\ [2, 3])' in shown
    assert '"; } digraph evil { a->b; } · script>.py:1' in shown
    assert "add␛[2J␊<img src=x onerror=alert(1)>" in shown
    assert any(line.startswith("(␛[31mred␛[0m ␛]8;;http://example.org␇link") for line in shown)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.text(st.characters() | st.sampled_from('\\"<>&;nNGlr{}|'), max_size=12), min_size=1, max_size=20))
def test_any_label_survives_graphviz(need, labels):
    r = Recorder()
    for label in labels:
        r.op(f"x{label}", [], [1])
    shown = texts(run_dot(need("dot"), tape_dot(build_tape(r.snapshot()), opened=["*0"])))
    for label in labels:
        # no-break spaces cannot be told from spaces in what Graphviz writes
        assert trim(clean(f"x{label}"), 40).replace("\u00a0", " ") in shown


def test_quoting():
    assert quoted('a"b\\n&lt;') == 'a\\"b\\\\n&amp;lt;'


def test_facts_and_notes():
    dot = tape_dot(build_tape(load("blocks_x12")))
    assert '"11 more like this\\l' in dot and "3 older nodes were cut from this tape.\\l" in dot
    assert "backward starts here" in dot
    assert dot == tape_dot(build_tape(load("blocks_x12")))
