"""SVG that is well formed, self-contained, inert and accessible."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from views.dags import tapes
from views.recorded import Recorder, every, load

from tapescope.graphviz_views.labels import cell_width
from tapescope.graphviz_views.picture import make_picture
from tapescope.graphviz_views.svg import picture_svg, tape_svg
from tapescope.graphviz_views.tape import build_tape

SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {"svg", "title", "desc", "style", "g", "rect", "path", "text", "tspan", "a"}


def parse(text):
    root = ET.fromstring(text)
    assert {e.tag.removeprefix(SVG) for e in root.iter()} <= ALLOWED
    return root


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
@pytest.mark.parametrize("name", every())
def test_it_is_well_formed_and_needs_nothing_else(name, theme):
    text = tape_svg(build_tape(load(name)), theme=theme)
    root = parse(text)
    for element in root.iter():
        assert not {a for a in element.attrib if a.startswith("on") or a in ("href", "id", "style")}
    style = root.find(f"{SVG}style")
    assert style is not None and style.text is not None
    assert "url(" not in style.text and "@import" not in style.text
    assert ("prefers-color-scheme:dark" in style.text) == (theme == "auto")
    # no rule may touch the page around the picture
    for selectors in re.findall(r"([^{}]+)\{", style.text.replace("@media (prefers-color-scheme:dark){", "")):
        assert all(s.startswith(".tapescope-picture ") for s in selectors.split(","))


def test_unknown_theme():
    with pytest.raises(ValueError, match="unknown theme 'pink'; the themes are auto, light and dark"):
        tape_svg(build_tape(load("mlp")), theme="pink")  # type: ignore[arg-type]


def test_it_says_what_it_is():
    root = parse(tape_svg(build_tape(load("blocks_x12"))))
    assert root.get("aria-label") == "Tape"
    assert root[0].tag == f"{SVG}title" and root[0].text == "Tape"
    assert root[1].tag == f"{SVG}desc" and root[1].text is not None
    assert "86 operations, 38 leaves" in root[1].text and "3 older nodes were cut" in root[1].text


def test_boxes_carry_their_facts():
    root = parse(tape_svg(build_tape(load("mlp"))))
    boxes = {g.get("data-node"): g for g in root.iter(f"{SVG}g") if g.get("data-node")}
    linear = boxes["3"]
    shown = [t.text for t in linear.iter(f"{SVG}text")]
    assert shown == [
        "linear", "[100, 32] float32", "fc1 · cell 3:8", "weight [32, 64]", "bias [32]", "saved 25.0 KiB",
    ]  # fmt: skip
    assert (linear.get("data-source"), linear.get("data-line")) == ("3", "8")
    lines = [(g.get("data-from"), g.get("data-to")) for g in root.iter(f"{SVG}g") if g.get("class") == "line"]
    assert lines == [("node 3", "node 4"), ("node 4", "node 7"), ("node 7", "node 8")]


def test_backward_stands_beside_forward_once_a_gradient_is_known():
    root = parse(tape_svg(build_tape(load("mlp"))))
    backs = [g for g in root.iter(f"{SVG}g") if "back" in (g.get("class") or "").split() and g.get("data-box")]
    assert [next(t.text for t in g.iter(f"{SVG}text")) for g in backs] == [
        "LinearBackward0", "ReluBackward0", "LinearBackward0", "CrossEntropyBackward0",
    ]  # fmt: skip
    assert all("lit" in (g.get("class") or "") for g in backs)
    assert "grad [100, 32] · norm 0.0312" in [t.text for t in backs[0].iter(f"{SVG}text")]
    places = {g.get("data-box"): g.get("transform") for g in root.iter(f"{SVG}g") if g.get("data-node")}
    for g in backs:  # level with the node that it belongs to
        assert g.get("transform", "").split()[1] == places[g.get("data-box")].split()[1]
    plain = tape_svg(build_tape(load("mlp")), backward=False)
    assert "ReluBackward0" not in [t.text for t in parse(plain).iter(f"{SVG}text")]
    assert "grad [100, 32], norm 0.0312" in plain


def test_titles_lead_to_the_source_where_the_host_says_how():
    picture = make_picture(build_tape(load("mlp")))
    root = parse(picture_svg(picture, link=lambda source: f'open?"{source.cell}"&line={source.line}'))
    assert next(a.get("href") for a in root.iter(f"{SVG}a")) == 'open?"3"&line=8'
    assert not list(parse(picture_svg(picture, link=lambda source: None)).iter(f"{SVG}a"))
    assert not list(parse(picture_svg(picture)).iter(f"{SVG}a"))


def test_hostile_labels_are_text():
    text = tape_svg(build_tape(load("hostile_labels")))
    root = parse(text)
    shown = "\n".join("".join(e.itertext()) for e in root.iter(f"{SVG}text"))
    assert "<b>mul</b> &lt; &amp; ]]> --> <!--" in shown
    assert "add␛[2J␊<img src=x onerror=alert(1)>" in shown
    assert not set(text) & set(map(chr, [*range(10), *range(11, 32), 0x7F, *range(0x80, 0xA0), 0x202E, 0x2028]))
    assert all(cell_width("".join(e.itertext())) <= 62 for e in root.iter(f"{SVG}text"))


def test_a_long_line_is_named_at_both_ends():
    r = Recorder()
    first = x = r.op("start", [], [1])
    for n in range(12):
        x = r.op(f"op{n}", [x], [1])
    r.op("end", [x, first], [1])
    r.op("other", [x, first], [1])
    text = tape_svg(build_tape(r.snapshot()))
    assert text.count("↖ from start (1)") == 2 and text.count("↘ to 2 users below") == 1


def test_texts_lie_within_the_picture():
    for name in every():
        root = parse(tape_svg(build_tape(load(name))))
        width = float(root.get("width", 0))
        for element in root.findall(f"{SVG}text"):
            assert float(element.get("x", 0)) + cell_width(element.text or "") * 6.6 <= width + 1


@settings(max_examples=60, deadline=None)
@given(tapes())
def test_random_graphs(tape):
    text = tape_svg(build_tape(tape))
    parse(text)
    assert text == tape_svg(build_tape(tape))
