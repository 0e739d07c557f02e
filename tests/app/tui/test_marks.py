"""Marking a size as dynamic: which lines are written before a call, and the story of a person who has them written."""

from __future__ import annotations

import pytest

from tapescope.app.kernel.mark_dynamic import Call, CannotWrite, argument_of, mark_calls


@pytest.mark.parametrize(
    ("text", "call", "expected"),
    [
        ("for b in data:\n    y = f(b, w)\n", Call(2, 8, "b"),
         "for b in data:\n    torch._dynamo.mark_dynamic(b, 0)\n    y = f(b, w)\n"),
        ("y = f(torch.ones(n))", Call(1, 4, "torch.ones(n)"),
         "resized = torch.ones(n)\ntorch._dynamo.mark_dynamic(resized, 0)\ny = f(resized)"),
        ("for n in (1, 2): f(new(n))", Call(1, 17, "new(n)"),
         "for n in (1, 2): resized = new(n); torch._dynamo.mark_dynamic(resized, 0); f(resized)"),
        ("print('ä', f(x=b['k']))", Call(1, 12, "b['k']", "t"), "t._dynamo.mark_dynamic(b['k'], 0)\nprint('ä', f(x=b['k']))"),
        ("f(x)", Call(1, 0, "x", ""), "import torch\ntorch._dynamo.mark_dynamic(x, 0)\nf(x)"),
        ("resized = 1\nf(x=g(\n  2))", Call(2, 0, "g(\n  2)"), None),
    ],
)  # fmt: skip
def test_the_mark_goes_before_the_statement_that_calls(text, call, expected):
    """A name is marked as it is; an expression gets a name first; the rest of the cell stays."""
    new = mark_calls(text, [call], 0).text
    if expected is not None:
        assert new == expected
    compile(new, "cell", "exec")


@pytest.mark.parametrize(
    ("text", "call", "said"),
    [
        ("[f(x) for x in xs]", Call(1, 1, "x"), "comprehension"),
        ("while f(x): pass", Call(1, 6, "x"), "again and again"),
        ("print(a(), f(g()))", Call(1, 11, "g()"), "Give g() a name"),
        ("y = c and f(g())", Call(1, 10, "g()"), "Give g() a name"),
        ("f(x)", Call(3, 0, "x"), "edited"),
        ("%time f(x)", Call(1, 6, "x"), "more than Python"),
    ],
)  # fmt: skip
def test_where_the_meaning_would_change_nothing_is_written(text, call, said):
    """The sentence says why."""
    with pytest.raises(CannotWrite, match=said.replace("(", r"\(").replace(")", r"\)")):
        mark_calls(text, [call], 0)


def test_a_value_within_an_argument_is_named_at_the_call():
    """`x[0]` of the parameter is `batch[0]` at the call; of an expression it has no name there."""
    assert argument_of({"x": "batch"}, "x[0].data") == "batch[0].data"
    assert argument_of({"self": "net"}, "self.cache") == "net.cache"
    assert argument_of({"x": "make()"}, "x[0]") is None and argument_of({}, "x") is None


async def test_a_recompilation_is_ended_by_a_line_that_is_written_for_the_person(open_app):
    """Run, see “recompiled” in Breaks, M, W: the cells hold the line; run all again without it; Z takes it back."""
    text = (
        "# %%\nimport torch\n@torch.compile\ndef step(x):\n    return (x * 2).sum()\n\n"
        "# %%\nfor n in (8, 9):\n    batch = torch.ones(n)\n    step(batch)\n"
    )
    async with open_app(text, size=(160, 40), real=True) as user:
        await user.press("ctrl+f5")
        await user.until(lambda: user.screen.inspector.breaks.count == 1)
        await user.ready()
        await user.press("p", "b", "m")
        await user.sees("mark_dynamic(batch, 0)")
        await user.press("w")
        changed = (
            "for n in (8, 9):\n    batch = torch.ones(n)\n    torch._dynamo.mark_dynamic(batch, 0)\n    step(batch)"
        )
        assert user.sources[1] == changed and user.screen.cells.index == 1
        user.screen.restart_kernel()
        await user.press("ctrl+f5")
        await user.until(lambda: user.screen.session.captures.captures)
        await user.ready()
        assert user.screen.inspector.breaks.count == 0
        await user.press("z")
        assert "mark_dynamic" not in user.sources[1]
