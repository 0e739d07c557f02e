"""What the kernel tells of compiled functions: also what shows only when they have run."""

from __future__ import annotations

from tapescope.app.kernel import messages as m
from tapescope.app.kernel.local import LocalKernel

CELL = """import torch as t
x = t.ones(64, 64)
@t.compile
def f(x):
    y = (x * 2 + 1).relu()
    print("break")
    return y.sum(1)
f(x)
t.compile(lambda x: (x * 3 + 1).sum())(x)
"""


def test_kernels_and_what_follows_a_segment_are_told():
    """They are made by the first call, after the capture; of a function that nobody keeps as well."""
    events: list[m.Message] = []
    kernel = LocalKernel(events.append)
    kernel.start()
    kernel.send(m.Execute("a", 0, CELL))
    told = [event for event in events if isinstance(event, m.Captures)]
    kernel.send(m.Execute("b", 0, "f(x)"))
    assert [event for event in events if isinstance(event, m.Captures)] == told, "nothing has changed"
    kernel.close()
    kept, dropped = told[-1].captures
    assert [segment["exit"]["next"] for segment in kept["segments"]] == [["1"], []]
    assert all(segment["kernels"]["kernels"] for segment in kept["segments"] + dropped["segments"])
