"""The garbage collector stands still while the compiler works, and is afterwards as it was."""

from __future__ import annotations

import gc

import pytest

from tapescope import engine as torch
from tapescope.engine.compile.collector import Still


@pytest.fixture(autouse=True)
def restored():
    before = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if before else gc.disable)()


def test_nested():
    with Still():
        with Still():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_after_an_error():
    with pytest.raises(ValueError), Still():
        raise ValueError
    assert gc.isenabled()


def test_one_that_was_off_stays_off():
    gc.disable()
    with Still():
        pass
    assert not gc.isenabled()


def test_a_backend_works_in_it_and_the_graph_runs_outside():
    seen = {}

    def backend(gm, examples):
        seen["backend"] = gc.isenabled()

        def run(*inputs):
            seen["graph"] = gc.isenabled()
            return gm(*inputs)

        return run

    torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3))
    assert seen == {"backend": False, "graph": True}


def test_a_backend_that_fails_leaves_it_on():
    def backend(gm, examples):
        raise ValueError("no")

    with pytest.raises(Exception, match="no"):
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3))
    assert gc.isenabled()
