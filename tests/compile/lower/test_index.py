"""Index arithmetic: quotients and remainders disappear where reshapes only merge or split dimensions."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapescope.engine.compile.lower.loops.index import Arithmetic, evaluate, ix, size, var


def value(e, values):
    """The number that a polynomial is, with values for loop variables."""
    from tapescope.engine.compile.lower.loops.index import Ix, replace

    return (
        evaluate(replace(e, lambda a: ix(values[a[1]]) if a[0] == "v" else None, Arithmetic({})), {})
        if isinstance(e, Ix)
        else e
    )


def test_split_and_merged():
    a = Arithmetic({"b": ix(12), "t": ix(64), "c": ix(128)})
    flat = a.flatten((var("b"), var("t"), var("c")), (12, 64, 128))
    assert a.unflatten(flat, (768, 128)) == (var("b") * 64 + var("t"), var("c"))
    assert a.unflatten(flat, (12, 64, 128)) == (var("b"), var("t"), var("c"))


def test_symbolic_sizes():
    n = size("s0")
    a = Arithmetic({"b": n, "t": ix(64), "c": ix(128)})
    flat = a.flatten((var("b"), var("t"), var("c")), (n, 64, 128))
    assert a.unflatten(flat, (n * 64, 128)) == (var("b") * 64 + var("t"), var("c"))
    assert a.unflatten(flat, (n, 64 * 128)) == (var("b"), var("t") * 128 + var("c"))


@settings(deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.randoms())
def test_any_reshape_is_the_place(sizes, random):
    names = [f"v{i}" for i in range(len(sizes))]
    a = Arithmetic({n: ix(s) for n, s in zip(names, sizes, strict=True)})
    total = 1
    for s in sizes:
        total *= s
    divisors = [d for d in range(1, total + 1) if total % d == 0]
    first = random.choice(divisors)
    out = (first, total // first)
    flat = a.flatten([var(n) for n in names], sizes)
    made = a.unflatten(flat, out)
    for place, at in enumerate(itertools.product(*map(range, sizes))):
        values = dict(zip(names, at, strict=True))
        assert [value(e, values) for e in made] == [place // out[1], place % out[1]]


@pytest.mark.parametrize(("n", "d"), [(10, 3), (12, 4), (7, 7)])
def test_quotients_of_sums(n, d):
    a = Arithmetic({"i": ix(n), "j": ix(d)})
    e = var("i") * d + var("j")
    assert a.quotient(e, d) == var("i")
    assert a.remainder(e, d) == var("j")


def test_places_of_several_reshapes_merge():
    sums = Arithmetic({"i": ix(144)})
    i = var("i")
    flat = sums.unflatten(i, (16, 3, 3))
    assert sums.flatten(flat, (16, 3, 3)) == i
