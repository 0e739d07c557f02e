"""The programs of `programs/`, each run natively and on the interpreter in this process.

`tests/compile/test_versions.py` runs the same programs under the other versions of Python.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tapescope.engine.compile import interpreter
from tapescope.engine.compile.bytecode import decode

sys.path.insert(0, str(Path(__file__).resolve().parent))
import standalone

sys.path.pop(0)

PROGRAMS = [program for program in standalone.programs() if program.version <= sys.version_info]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.name for program in PROGRAMS])
def test_program(program: standalone.Program) -> None:
    expected = standalone.native(program)
    for mode in standalone.MODES:
        problem = standalone.difference(expected, standalone.interpreted(program, interpreter, decode, mode))
        assert not problem, f"{mode}: {problem}"


def test_names_of_programs_are_different() -> None:
    names = [program.name for program in standalone.programs()]
    assert len(set(names)) == len(names) > 250


def test_a_difference_is_seen() -> None:
    one = standalone.Program("x", "print(1)\n1 / 0", 0, (3, 11))
    other = standalone.Program("x", "print(2)\n1 / 0", 0, (3, 11))
    assert "printed" in standalone.difference(standalone.native(one), standalone.native(other))
    third = standalone.Program("x", "print(1)\n2 / 0", 0, (3, 11))
    assert not standalone.difference(standalone.native(one), standalone.native(third))
    fourth = standalone.Program("x", "print(1)\n\n2 / 0", 0, (3, 11))
    assert "error" in standalone.difference(standalone.native(one), standalone.native(fourth))
