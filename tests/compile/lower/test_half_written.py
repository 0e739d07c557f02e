"""A compiled call that fails in its midst: the operators run instead only while nothing was written into its inputs."""

from __future__ import annotations

from typing import Any

import pytest

from tapescope import engine as torch


def step(p: Any, q: Any, x: Any) -> Any:
    p.mul_(2)
    z = torch.sort(x.reshape(-1))[0]  # a call of the engine, which parts the kernels
    q.add_(z.sum())
    return z


def failing(segment: Any, at: int, monkeypatch: Any) -> None:
    """Let the segment's step number `at` fail."""
    names = [n for n in ("_call", "_python", "_step", "_launch", "_product") if hasattr(segment, n)]
    steps = segment.assembly.steps
    for name in names:
        real = getattr(segment, name)

        def run(*args: Any, real: Any = real, **more: Any) -> Any:
            if any(a is steps[at] for a in args):
                raise OSError("out of order")
            return real(*args, **more)

        monkeypatch.setattr(segment, name, run)


@pytest.fixture
def program(device):
    """The compiled step, its arguments, its segment, and the numbers of its steps that are calls."""
    compiled = torch.compile(step)
    args = torch.ones(4, device=device), torch.ones(4, device=device), torch.randn(4, 4, device=device)
    compiled(*args)
    (segment,) = torch.compiler.explain(compiled)(*args).entries[0].compiled.segments()
    segment.recording = False
    return compiled, args, segment, [k for k, s in enumerate(segment.assembly.steps) if s.kind == "call"]


def test_a_failure_behind_a_write_is_told_and_nothing_is_written_twice(program, monkeypatch):
    compiled, args, segment, calls = program
    assert segment.first_write < calls[0]
    failing(segment, calls[0], monkeypatch)
    with pytest.raises(OSError, match="out of order") as failed:
        compiled(*args)
    assert "after it had written into its inputs" in failed.value.__notes__[0]
    assert args[0].tolist() == [8.0] * 4 and args[1].isfinite().all()
