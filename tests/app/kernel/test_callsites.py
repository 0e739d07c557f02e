"""A recompilation tells where the function was called, and with what expressions for its parameters."""

from __future__ import annotations

from tapescope.app.kernel import messages as m
from tapescope.app.kernel.local import LocalKernel

CELL = """import torch as t
net = t.nn.Linear(4, 2)
fast = t.compile(net)
for n in (3, 4):
    fast(t.randn(n, 4))

@t.compile
def twice(x, *, scale=1):
    return x * scale
def through(a):
    return twice(scale=2,
                 x=a)
through(t.ones(2)); through(t.ones(5))
"""


def test_calls_of_a_recompilation_name_the_arguments():
    """Of a module and of a function, by position and by keyword, at the innermost cell."""
    events: list[m.Message] = []
    kernel = LocalKernel(events.append)
    kernel.start()
    kernel.send(m.Execute("a", 3, CELL))
    told = [event for event in events if isinstance(event, m.Captures)][-1]
    kernel.close()
    module, function = told.guards
    place = {"cell": "a", "revision": 3, "torch": "t"}
    of_module = {**place, "line": 5, "column": 4, "arguments": {"self": "fast", "input": "t.randn(n, 4)"}}
    of_function = {**place, "line": 11, "column": 11, "arguments": {"scale": "2", "x": "a"}}
    assert module["calls"] == [of_module, of_module]
    assert function["calls"] == [of_function, of_function]
