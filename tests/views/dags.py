"""Random tapes for property tests: acyclic, with module paths, built from what hypothesis draws."""

from hypothesis import strategies as st
from views.recorded import Recorder

MODULES = ["", "net", "net.a", "net.a.b", "net.a.c", "other"]


@st.composite
def tapes(draw, size=40):
    r = Recorder()
    ops = []
    for _ in range(draw(st.integers(0, size))):
        inputs = draw(st.lists(st.sampled_from(ops), max_size=3)) if ops else []
        if draw(st.integers(0, 3)) == 0:
            inputs.append(r.leaf("weight", 3))
        module = draw(st.sampled_from(MODULES))
        ops.append(r.op(draw(st.sampled_from(["mul", "add", "relu"])), inputs, [2, 3], module, 1))
    return r.snapshot(*ops[-1:])
