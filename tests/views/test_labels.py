"""Labels are inert and never wider than they may be."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapescope.graphviz_views.labels import (
    bytes_text,
    cell_width,
    clean,
    count_text,
    pad,
    shape_text,
    shapes_text,
    trim,
)


@given(st.text(st.characters()))
def test_nothing_active_is_left(text):
    for character in clean(text):
        assert character in "\u200c\u200d" or unicodedata.category(character) not in (
            "Cc", "Cf", "Cs", "Cn", "Zl", "Zp",
        )  # fmt: skip


@given(st.text(st.characters()))
def test_cleaning_twice_changes_nothing_more(text):
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain [2, 3]", "plain [2, 3]"),
        ("\x1b[31mred", "␛[31mred"),
        ("a\nb\r\tc\x00", "a␊b␍␉c␀"),
        ("\x7f\x9b", "␡\\x9b"),
        ("\u202eevil\u2028", "\\u202eevil\\u2028"),
        ("\ud800\uffff\U000e0001", "\\ud800\\uffff\\U000e0001"),
        ("naïve 張量 👩\u200d🔬 a\u00a0b", "naïve 張量 👩\u200d🔬 a\u00a0b"),
        (None, "None"),
    ],
)
def test_clean(raw, shown):
    assert clean(raw) == shown


def test_endless_strings_are_cut():
    assert len(clean("x" * 1_000_000)) == 2_000


@given(st.text(st.characters()), st.integers(1, 80))
def test_trimmed_to_cells_not_characters(text, cells):
    text = clean(text)
    short = trim(text, cells)
    assert cell_width(short) <= cells
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))


def test_wide_characters_count_two():
    assert cell_width("張量") == 4
    assert trim("張" * 40) == "張" * 29 + "…"
    assert trim("e\u0301" * 60) == "e\u0301" * 60
    assert pad("張", 4) == "張  "


def test_facts_in_short():
    assert shape_text((10, 64)) == "[10, 64]"
    assert shape_text(()) == "[]"
    assert [bytes_text(n) for n in (0, 1023, 1536, 2**31, 2**50)] == [
        "0 B", "1023 B", "1.5 KiB", "2.0 GiB", "1.0 PiB",
    ]  # fmt: skip
    assert count_text(1, "leaf", "leaves") == "1 leaf"
    assert count_text(1200, "leaf", "leaves") == "1,200 leaves"


def test_many_equal_shapes_are_counted():
    assert shapes_text([[2, 3]] * 2) == "[2, 3], [2, 3]" and shapes_text([]) == ""
    assert shapes_text([[1], *[[3, "s0"]] * 20, [], []]) == "[1], [3, s0] x20, [], []"
