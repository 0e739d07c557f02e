"""A run stepped forwards and backwards: nodes appear, gradients light up, memory rises and falls."""

from hypothesis import given, settings
from views.recorded import Recorder, load
from views.test_capture import json_values

from tapescope import engine as torch
from tapescope.engine.autograd.snapshot import snapshot
from tapescope.engine.observe import bus
from tapescope.graphviz_views.browse import GraphView
from tapescope.graphviz_views.timeline import Timeline


def record():
    """A small run with everything that the bus says about it."""
    records = []
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    bus.norms = True
    stop = bus.subscribe(lambda r: records.append(r.to_json()), ("op", "node", "backward"))
    try:
        loss = model(torch.ones(3, 4)).pow(2).sum()
        tape = snapshot(loss)
        loss.backward()
    finally:
        stop()
        bus.norms = False
    return tape, records, model


def test_a_recorded_run():
    tape, records, model = record()
    timeline = Timeline(tape, records)
    phases = [timeline.at(n).phase for n in range(len(timeline) + 1)]
    assert phases == ["start"] + ["forward"] * 7 + ["backward"] * 7
    sizes = [timeline.at(n).bytes for n in range(len(timeline) + 1)]
    assert sizes[7] == max(sizes) == timeline.peak > 0 and sizes[-1] == 0
    shown = [timeline.at(n).shown for n in range(len(timeline) + 1)]
    assert shown == sorted(shown) and shown[0] == 0 and shown[-1] == len(tape["nodes"])
    end = timeline.at(len(timeline))
    weight = next(n["id"] for n in tape["nodes"] if n["label"].endswith("2.weight"))
    t = next(n["id"] for n in tape["nodes"] if n["inputs"] == [weight])
    norm = float(model[2].weight.grad.norm())
    assert abs(end.gradients[t].norm - norm) < 1e-5 and end.gradients[weight].shape == (2, 8)
    assert end.text.startswith("backward: TBackward0 got grad")


def test_forwards_and_backwards_give_the_same():
    tape, records, _ = record()
    timeline = Timeline(tape, records)
    forwards = [timeline.at(n) for n in range(len(timeline) + 1)]
    assert [timeline.at(n) for n in reversed(range(len(timeline) + 1))] == forwards[::-1]
    assert timeline.at(-3) == forwards[0] and timeline.at(10_000) == forwards[-1]
    assert not forwards[8].gradients.keys() - forwards[9].gradients.keys()
    assert len(forwards[0].gradients) == 0


def test_the_tape_grows_and_lights_up():
    tape, records, _ = record()
    timeline = Timeline(tape, records)
    assert [len(timeline.graph(n).nodes) for n in (0, 2, 7)] == [0, 1, 5]
    assert not any(n.is_root for n in timeline.graph(7).nodes) and any(n.is_root for n in timeline.graph(8).nodes)
    view = GraphView(timeline.graph(9))
    view.light(timeline.at(9).gradients)
    lit = [b.title for b in view.picture.boxes.values() if b.back.lit]
    assert lit == ["linear", "pow", "sum"]
    assert timeline.step_of(tape["roots"][0]) == 7 and timeline.step_of(tape["roots"][0], "backward") == 8
    assert timeline.step_of(10**9) is None


def test_a_tape_alone_tells_its_order():
    timeline = Timeline(load("mlp"))
    assert [timeline.at(n).node for n in range(1, len(timeline) + 1)] == [3, 4, 7, 8, 8, 7, 4, 3]
    assert timeline.at(6).gradients[7].norm == 0.0875 and timeline.at(4).bytes == 43_680


def test_the_memory_of_a_device_where_it_was_recorded():
    r = Recorder()
    a = r.op("mul", [], [4])
    records = [
        {"kind": "op", "node": a, "op": "mul"}, {"kind": "buffer", "total": 640},
        {"kind": "node", "node": a, "op": "MulBackward0", "grads": []}, {"kind": "buffer", "total": 128},
    ]  # fmt: skip
    timeline = Timeline(r.snapshot(a), records)
    assert [timeline.at(n).bytes for n in range(3)] == [0, 640, 128] and timeline.peak == 640


def test_long_runs_are_played_from_kept_moments():
    r = Recorder()
    x = []
    for _ in range(3_000):
        x = [r.op("relu", x, [1], saved={"result": [1]})]
    timeline = Timeline(r.snapshot(*x))
    assert len(timeline) == 6_000 and timeline.at(3_000).bytes == 12_000 == timeline.peak
    assert timeline.at(4_567).bytes == 12_000 - 4 * 1_567


@settings(max_examples=100, deadline=None)
@given(json_values, json_values)
def test_any_json(value, other):
    for snapshot_, records in (
        (value, None),
        ({"nodes": value, "roots": other}, value if isinstance(value, list) else [value]),
    ):
        timeline = Timeline(snapshot_, records)
        timeline.graph(len(timeline))
