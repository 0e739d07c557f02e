"""The list of variables: short, and safe against whatever the values do."""

from __future__ import annotations

import math
import sys
import types

import numpy as np
import pytest

from tapescope import engine as torch
from tapescope.app.kernel.variables import MAX_VALUE, MAX_VARIABLES, describe_variable, list_variables, summary


class Hostile:
    """Every question to it is a trap."""

    def _trap(self, *args):
        raise SystemExit("the user's code was run")

    __repr__ = __str__ = __len__ = __iter__ = __getattribute__ = __hash__ = __eq__ = __bool__ = __format__ = _trap  # type: ignore[assignment]
    __class__ = property(_trap)  # type: ignore[assignment]


class HostileType(type):
    def __repr__(cls):
        raise SystemExit

    @property
    def __name__(cls):  # type: ignore[override]
        raise SystemExit


def test_what_is_no_variable_is_left_out():
    hidden = {"exit": exit, "Out": {}}
    namespace = {"math": math, "_": 1, "__x": 2, "exit": hidden["exit"], "Out": "mine now", "x": 1}
    assert [v["name"] for v in list_variables(namespace, hidden)] == ["Out", "x"]


@pytest.mark.parametrize(
    "value, text",
    [
        (1, "1"),
        (-2.5, "-2.5"),
        (None, "None"),
        (True, "True"),
        ("short", "'short'"),
        ("x" * 1000, f"'{'x' * 40}'… (1,000 characters)"),
        (b"ab", "b'ab'"),
        ([], "[]"),
        ([1, "a", None], "[1, 'a', None]"),
        (list(range(100)), "[0, 1, 2, 3, 4, 5, … 100 items]"),
        ((1,), "(1,)"),
        (set(), "set()"),
        ({3}, "{3}"),
        (frozenset({3}), "frozenset({3})"),
        ({"a": [1]}, "{'a': [1]}"),
        ([[[[1]]]], "[[[…]]]"),
        (range(3), "range(0, 3)"),
        (10**1000, "int of about 1,001 digits"),
        (len, "function len"),
        (Hostile, "class Hostile"),
        (Hostile(), "<Hostile>"),
        ([Hostile()], "[<Hostile>]"),
        ({"h": Hostile()}, "{'h': <Hostile>}"),
        (HostileType("Odd", (), {})(), "<Odd>"),
        (HostileType("Odd", (), {}), "class Odd"),
        (ValueError("x"), "ValueError (an exception)"),
        (slice(Hostile(), 1), "slice"),
    ],
    ids=lambda v: v if type(v) is str else "value",
)
def test_summaries_are_short_and_ask_nobody(value, text):
    assert summary(value) == text and len(text) <= MAX_VALUE


def test_a_list_that_holds_itself_ends():
    circle: list[object] = []
    circle.append(circle)
    assert summary(circle) == "[[[…]]]"


def test_huge_and_growing_namespaces_are_bounded():
    variables = list_variables({f"v{i}": "x" * 10_000 for i in range(MAX_VARIABLES + 50)}, {})
    assert len(variables) == MAX_VARIABLES and all(len(v["value"]) < 100 for v in variables)


def test_arrays_and_tensors_have_their_facts():
    assert describe_variable("a", np.zeros((2, 3), np.int16)) == {
        "name": "a", "type": "ndarray", "value": "int16[2, 3]", "shape": [2, 3], "dtype": "int16", "device": "cpu", "bytes": 12,
    }  # fmt: skip
    assert describe_variable("t", torch.zeros(2, 3, requires_grad=True)) == {
        "name": "t", "type": "Tensor", "value": "float32[2, 3]", "shape": [2, 3], "dtype": "float32", "device": "cpu",
        "bytes": 24, "requires_grad": True,
    }  # fmt: skip
    assert summary([torch.ones(4)]) == "[float32[4]]"
    assert summary(torch.device("cpu")) == "cpu" and "float32" in summary(torch.float32)
    assert summary(torch.ones(2, 3).shape) == "torch.Size([2, 3])"


def test_networks_are_told_by_their_parameters():
    assert summary(torch.nn.Linear(3, 2)) == "Linear with 8 parameters"


def test_a_name_that_is_a_module_object_of_another_kind_is_left_out():
    class Lazy(types.ModuleType):
        pass

    assert list_variables({"lazy": Lazy("lazy"), "sys": sys}, {}) == []
