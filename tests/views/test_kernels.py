"""Kernels in launch order: what went into which, what it costs, and why neighbours were not fused."""

import pytest
from hypothesis import given, settings
from views import captured
from views.test_capture import json_values

from tapescope.engine import observe
from tapescope.graphviz_views import kernels as kernels_file
from tapescope.graphviz_views.browse import GraphView
from tapescope.graphviz_views.kernels import build_kernels, kernels_of


@pytest.fixture(scope="module")
def graph():
    return build_kernels(captured.training_step())


def scopes(graph):
    return [s for s in graph.scopes.values() if s.kind == "kernel"]


def test_it_reads_the_version_that_the_engine_writes():
    assert kernels_file.KERNELS_VERSION == observe.KERNELS_VERSION


def test_launch_order_and_what_is_inside(graph):
    assert [s.facts.title for s in scopes(graph)] == [
        "1  matmul",
        "2  k1_gelu_add",
        "3  k2_sub_mul_mean",
        "4  k3_argmax",
    ]
    assert [[n.op for n in graph.nodes[s.start : s.stop]] for s in scopes(graph)] == [
        ["linear"], ["gelu", "add"], ["sub", "mul", "mean"], ["argmax"],
    ]  # fmt: skip
    assert graph.notes == ("Simplified before (rewrites): common subexpressions 2.",)
    assert graph.summary() == (
        "4 kernels on Test GPU, 1.64 ms in all, 1.0 MiB moved, peak 320.0 KiB (eager: 448.0 KiB)"
    )


def test_cost_share_and_distance_to_the_ceiling(graph):
    shares = [s.facts.share for s in scopes(graph)]
    assert sum(shares) == pytest.approx(1) and shares[0] == pytest.approx(8.4 / 16.4)
    assert scopes(graph)[2].facts.lines[0] == "47 µs · 256.0 KiB · 5.2 GiB/s"
    assert "4.3x the device's least time" in [b.text for b in scopes(graph)[2].facts.badges]
    details = dict(scopes(graph)[2].facts.details)
    assert details["least possible"] == "11 µs" and details["launch"] == "64x1x1 groups of 256"
    assert [graph.node(n).op for n in graph.ranked("seconds")] == ["linear", "sub", "gelu", "argmax"]


def test_why_neighbours_were_not_fused(graph):
    details = [dict(s.facts.details) for s in scopes(graph)]
    assert details[1]["not fused with 1 matmul"].startswith("a matmul is a library call")
    assert details[2]["not fused with 2 k1_gelu_add (add)"].startswith("add is read by two kernels")
    said = " ".join(b.text for b in scopes(graph)[1].facts.badges if b.kind == "refused")
    assert said == "not fused with 1 matmul: a matmul is a library call and takes no epilogue here"


def test_values_and_launch_order(graph):
    kinds = {(str(e.source).split("/")[1], str(e.target).split("/")[1]): e.kind for e in graph.edges}
    assert kinds["kernel 0", "kernel 1"] == "value" and kinds["kernel 1", "kernel 2"] == "value"
    assert kinds["kernel 1", "kernel 3"] == "value" and kinds["kernel 2", "kernel 3"] == "order"


def test_without_a_capture_buffers_connect_the_kernels():
    alone = build_kernels(kernels_of(captured.training_step()))
    assert [n.op for n in alone.nodes][:3] == ["linear", "gelu", "add"]
    kinds = {(str(e.source).split("/")[1], str(e.target).split("/")[1]): e.kind for e in alone.edges}
    assert kinds == {
        ("kernel 0", "kernel 1"): "value", ("kernel 1", "kernel 2"): "value", ("kernel 1", "kernel 3"): "value",
        ("kernel 2", "kernel 3"): "order",
    }  # fmt: skip


def test_a_kernel_without_nodes_or_times():
    graph = build_kernels(
        {"version": 1, "device": "cpu", "kernels": [{"id": "0", "name": "fill"}, {"id": "1", "name": "copy"}]}
    )
    assert [n.kind for n in graph.nodes] == ["kernel", "kernel"] and graph.summary() == "2 kernels on cpu"
    assert [e.kind for e in graph.edges] == ["order"]
    assert "▸ 1  fill" in GraphView(graph).cells().text()


@pytest.mark.parametrize(
    ("record", "note"),
    [
        (3, "These are no kernels"),
        ({"version": 2, "kernels": []}, "version 2"),
        ({"version": 1, "kernels": 5}, "no list of kernels"),
        ({"version": 1, "kernels": [{}, {"id": "0"}, {"id": "0"}]}, "no id of their own"),
    ],
)
def test_what_cannot_be_used_is_said(record, note):
    assert any(note in n for n in build_kernels(record).notes)


@settings(max_examples=150, deadline=None)
@given(json_values)
def test_any_json_gives_a_picture(value):
    for record in (
        value,
        {"version": 1, "kernels": value},
        {"version": 1, "kernels": [value, {"id": "0", "nodes": value}], "refused": value},
    ):
        view = GraphView(build_kernels(record))
        assert view.svg().startswith("<svg") and view.cells().text() and view.dot()


def test_kernels_of_several_segments_stand_in_frames_of_their_own():
    capture = captured.training_step()
    capture["segments"].append({**capture["segments"][0], "id": "1"})
    found = build_kernels(capture)
    segments = [s for s in found.scopes.values() if s.kind == "segment"]
    assert [s.name for s in segments] == ["segment 0", "segment 1"]
    assert [found.scope_title(str(item.key)).split()[0] for item in segments[1].items] == ["5", "6", "7", "8"]


def test_a_refusal_is_said_once_and_small_kernels_are_not_called_slow():
    kernels = kernels_of(captured.training_step())
    kernels["refused"] *= 3
    kernels["kernels"][3] |= {"seconds": 4e-6, "ceiling": 1e-9}
    facts = [s.facts for s in scopes(build_kernels(kernels))]
    assert sum(b.text.startswith("not fused with") for b in facts[1].badges) == 1
    assert next((b.text, b.kind) for b in facts[3].badges) == ("4,000x the device's least time", "note")


def test_what_was_tuned_is_shown():
    capture = captured.training_step()
    own = next(s["kernels"] for s in capture["segments"] if s["kernels"])
    tried = [{"choice": "usual", "seconds": 2e-5}, {"choice": "tiling 2", "seconds": None, "error": "it is refused"}]
    own["kernels"][1] = {**own["kernels"][1], "tuned": {"chosen": "usual", "tried": tried}}
    own["tuning"] = [{"chosen": "one thread", "settled": True, "tried": [{"choice": "one thread", "seconds": 1e-3}]}]
    graph = build_kernels(capture)
    assert "Tuned: one thread (tried: one thread 1 ms)." in graph.notes
    details = dict(scopes(graph)[1].facts.details)
    assert details["tuned"] == "usual (tried: usual 20 µs, tiling 2 it is refused)"
    assert "tuned" not in dict(scopes(graph)[0].facts.details)
