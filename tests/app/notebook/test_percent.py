"""The percent format: what is read, what is written, and that nothing is changed on the way."""

from __future__ import annotations

import ast
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapescope.app.notebook import magics, markers, percent
from tapescope.app.notebook.document import CELL_TYPES, Cell, Notebook
from tapescope.app.notebook.errors import NotebookError

SAMPLE = '''\
#!/usr/bin/env python
# -*- coding: utf-8 -*-
# ---
# jupyter:
#   kernelspec:
#     name: python3
# ---

# %% [markdown]
# # Title
#
# Some *text*

# %% Load data tags=["a", "b"] name="x"
import os
# %matplotlib inline
# !ls -l
# ?os
# files = !ls
"""
%time
!ls
"""


# %% [markdown] slideshow={"slide_type": "slide"}
"""
Text in
a docstring
"""
# %% [raw]
# raw text

#%%   Odd   spacing \t
# %% language="bash" magic_args="-x"
# ls
#
# echo hi

# %%
# %%time
y = 2

# %%
'''


def cells(text: str) -> list[tuple[str, str, dict]]:
    return [(c.cell_type, c.source, c.metadata) for c in percent.reads(text)]


def fresh(*these: Cell) -> str:
    """The text for cells that no file has held before."""
    return percent.writes(Notebook(these))


def test_every_kind_of_cell_is_read():
    assert cells(SAMPLE) == [
        ("markdown", "# Title\n\nSome *text*", {}),
        ("code", 'import os\n%matplotlib inline\n!ls -l\n?os\nfiles = !ls\n"""\n%time\n!ls\n"""',
         {"title": "Load data", "tags": ["a", "b"], "name": "x"}),
        ("markdown", "Text in\na docstring", {"slideshow": {"slide_type": "slide"}}),
        ("raw", "raw text", {}),
        ("code", "", {"title": "Odd   spacing"}),
        ("code", "%%bash -x\nls\n\necho hi", {}),
        ("code", "%%time\ny = 2", {}),
        ("code", "", {}),
    ]  # fmt: skip


def test_what_nobody_edited_is_written_byte_for_byte():
    assert percent.writes(percent.reads(SAMPLE)) == SAMPLE


def test_an_edit_changes_its_own_lines_only():
    document = percent.reads(SAMPLE)
    document.set_source(document.cells[1].id, "import sys\n%time sys")
    before, after = SAMPLE.split("import os")[0], SAMPLE.split('!ls\n"""\n')[2]
    assert percent.writes(document) == f"{before}import sys\n# %time sys\n{after}"


def test_the_file_stays_a_python_program():
    ast.parse(SAMPLE)
    ast.parse(fresh(Cell(source="%%bash\nls |"), Cell(source="!pip install \\\n  numpy\nx = !ls\n%time f()\nf?")))


@pytest.mark.parametrize(
    "text",
    ["", "\n", "\n\n\n\n", "x", "x\n", "x = 1\n\n\n\n\n", "# ---\n# a: 1\n# ---", "# ---\n# a: 1\n# ---\n",
     "# ---\n# a\n", "# %%", "# %%\n", "# %%\n\n\n# %%\n\n\n\n\n# %%", "\n\n# %%\nx\n", "x\n\n# %%\ny", "#!/bin/sh\n",
     "# %% [md]\n# a\n", "# %% a=b=c\nx\n", "# %% {\n", "# %%%% deep\n", "# %% [markdown]\nnot commented\n",
     "#!x\n# %%\n#!y\n", " # %%\nx\n", "#!a\n%%bash\n", "%%bash\nls\n", "# %%\n%%bash\nls\n",
     '# %% [markdown]\n"""\nopen\n', "# %% \t\n", "# %% language='bash'\nls\n", "x\n# %% [raw]\n\n\n\n\n\n# %%\n"],
)  # fmt: skip
def test_odd_files_keep_their_text(text: str):
    assert percent.writes(percent.reads(text)) == text


def test_a_file_without_markers_is_one_cell():
    assert cells("import os\n\n\ndef f():\n    pass\n") == [("code", "import os\n\n\ndef f():\n    pass", {})]
    assert cells("") == [("code", "", {})]


def test_text_above_the_first_marker_is_a_cell_and_blank_lines_are_not():
    assert [c[1] for c in cells("import os\n\n# %%\nx\n")] == ["import os", "x"]
    assert [c[1] for c in cells("\n\n# %%\nx\n")] == ["x"]


def test_a_cell_without_marker_gets_one_where_it_needs_it():
    document = percent.reads("import os\n\n# %%\nx = 1\n")
    document.move(0, 1)
    assert percent.writes(document) == "# %%\nx = 1\n\n# %%\nimport os\n"
    document.undo_operation()
    document.set_source(document.cells[0].id, "# ---\n# ---\nx")
    assert cells(percent.writes(document))[0][1] == "# ---\n# ---\nx"


def test_blank_lines_at_the_end_of_a_cell_belong_to_it_when_there_are_more_than_two():
    assert [c[1] for c in cells("# %%\na\n\n\n# %%\nb\n\n\n\n# %%\nc\n")] == ["a", "b\n", "c"]
    assert fresh(Cell(source="a\n\n"), Cell(source="b")) == "# %%\na\n\n\n\n\n# %%\nb\n"


def test_a_moved_cell_is_separated_by_a_blank_line():
    document = percent.reads("# %%\na\n\n# %%\nb\n")
    document.move(1, 0)
    assert percent.writes(document) == "# %%\nb\n\n# %%\na\n"


@pytest.mark.parametrize(
    "source", ["# %%\nx", "# # %% [markdown]", "#%%", "%%\n%", "s = '''\n# %%\n'''", "!ls \\\n%% x"]
)
@pytest.mark.parametrize("kind", CELL_TYPES)
def test_a_line_that_looks_like_a_marker_stays_in_its_cell(kind, source: str):
    text = fresh(Cell(cell_type=kind, source=source), Cell(source="next"))
    assert [c[:2] for c in cells(text)] == [(kind, source), ("code", "next")]


@pytest.mark.parametrize(
    "source, lines",
    [
        ("%time f()", "# %time f()"),
        ("    %time f()", "    # %time f()"),
        ("# %time f()", "# # %time f()"),
        ("!ls", "# !ls"),
        ("?x", "# ?x"),
        ("x??", "# x??"),
        ("a = %who_ls", "# a = %who_ls"),
        ("!echo \\\n  a \\\n\nx", "# !echo \\\n#   a \\\n# \nx"),
        ("f(\n%b\n)", "f(\n%b\n)"),
        ("x = a \\\n%b", "x = a \\\n%b"),
        ('s = """\n!ls\n"""\n!ls', 's = """\n!ls\n"""\n# !ls'),
        ("s = '''a\\'''\n!ls\n'''", "s = '''a\\'''\n!ls\n'''"),
        ("x = 'it''s'  # ( ''' \n!ls", "x = 'it''s'  # ( ''' \n# !ls"),
        ("# a comment? yes", "# a comment? yes"),
        ("# 50 % of it", "# 50 % of it"),
        ("x = y % z", "x = y % z"),
        ("print(1) # !", "print(1) # !"),
        ("#!shebang", "#!shebang"),
    ],
)
def test_magics_are_commented_and_back(source: str, lines: str):
    assert "\n".join(magics.comment(source.split("\n"))) == lines
    assert "\n".join(magics.uncomment(lines.split("\n"))) == source


def test_an_editor_may_strip_the_space_of_a_continued_magic():
    assert magics.uncomment(["# !a \\", "#", "x"]) == ["!a \\", "", "x"]


def test_a_magic_that_was_never_commented_is_left_alone():
    text = "# %%\n!ls \\\n# a comment\n"
    assert cells(text) == [("code", "!ls \\\n# a comment", {})]


@pytest.mark.parametrize(
    "line, kind, metadata",
    [
        ("# %%", "code", {}),
        ("#%% Title", "code", {"title": "Title"}),
        ("# %% [markdown] Title after", "markdown", {"title": "Title after"}),
        ("# %% Before [raw]", "raw", {"title": "Before"}),
        ("# %%% Deep", "code", {"title": "Deep", "cell_depth": 1}),
        ('# %% T a="x=1" b.c=[1, {"d": null}] e=true f', "code",
         {"title": "T", "a": "x=1", "b.c": [1, {"d": None}], "e": True, "f": None}),
        ("# %% a='single' b=True", "code", {"a": "single", "b": True}),
        ('# %% {"a b": 1, "language": "bash"}', "code", {"a b": 1, "language": "bash"}),
        ('# %% T {"title": "inner"}', "code", {"title": "inner"}),
        ("# %% x = 1 holds", "code", {"x": 1, "holds": None}),
        ("# %% a=b", "code", {"title": "a=b"}),
        ("# %% {not json}", "code", {"title": "{not json}"}),
        ('# %% language="klingon"', "code", {"language": "klingon"}),
        ("# %% language=[1]", "code", {"language": [1]}),
        ("# %% " + "[" * 9999, "code", {"title": "[" * 9999}),
    ],
)  # fmt: skip
def test_marker_lines(line: str, kind: str, metadata: dict):
    marker = markers.parse(line)
    assert (marker.cell_type, marker.metadata, marker.language) == (kind, metadata, "")
    assert markers.same(markers.parse(markers.write(marker)), marker)


@pytest.mark.parametrize(
    "metadata",
    [{"title": "a=1"}, {"title": "x [markdown]"}, {"title": 5}, {"title": " spaced "}, {"title": "a\nb"}, {"a b": 1},
     {"language": "bash"}, {"cell_depth": 3, "title": "t"}, {"cell_depth": True}, {"cell_depth": 0}, {"é": "ü"},
     {"x": float("nan")}, {"one": "\ud800"}, {"": None}],
)  # fmt: skip
def test_any_metadata_can_be_written(metadata: dict):
    text = fresh(Cell(metadata=metadata))
    assert markers.canonical(cells(text)[0][2]) == markers.canonical(metadata)


def test_lines_that_are_no_marker():
    for line in ("# %%time", "x # %%", "  # %%", "# % %", "## %%"):
        assert not markers.MARKER.match(line)
    with pytest.raises(ValueError, match="no marker"):
        markers.parse("x = 1")


def test_a_language_cell_is_commented_whole():
    assert fresh(Cell(source="%%bash\nls\n\n# c")) == '# %% language="bash"\n# ls\n#\n# # c\n'
    assert fresh(Cell(source="%%writefile x\nls")) == "# %%\n# %%writefile x\nls\n"
    # Where the shorthand would be mistaken for metadata that were there before, it is not used.
    assert cells(fresh(Cell(source="%%bash\nls", metadata={"language": "x"}))) == [
        ("code", "%%bash\nls", {"language": "x"})
    ]


def test_check_sees_a_text_that_is_not_the_notebook():
    document = percent.reads("# %%\na\n\n# %%\nb\n")
    percent.check(document, "# %%\na\n# %%\nb")
    with pytest.raises(NotebookError, match="Cell 2 would not read back"):
        percent.check(document, "# %%\na\n\n# %%\nc\n")
    with pytest.raises(NotebookError, match="2 cells would read back as 1"):
        percent.check(document, "# %%\na\n")


def test_sources_with_carriage_returns_are_written_with_newlines():
    assert fresh(Cell(source="a\r\nb\rc")) == "# %%\na\nb\nc\n"


TOKENS = st.sampled_from(
    ["# %%", "# ", "#", "%%", "%", " [markdown]", " [raw]", " title", " k=1", ' language="bash"', " {", "}", "\n", "\n",
     "\n", "\n\n\n", "x", "'''", '"""', "!ls", "?x", "%%bash", "# ---", "#!a", "# coding: x", " ", "=", "\\", "é", "("]
)  # fmt: skip
TEXTS = st.lists(TOKENS, max_size=25).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(["[markdown]", "a=1", "{"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
KEYS = st.sampled_from(["title", "language", "magic_args", "cell_depth", "tags", "a b", "k"]) | st.text(max_size=3)
CELLS = st.builds(
    Cell,
    cell_type=st.sampled_from(CELL_TYPES),
    source=st.lists(TOKENS, max_size=8).map("".join) | st.text(max_size=6),
    metadata=st.dictionaries(KEYS, JSON, max_size=3),
)


@given(TEXTS)
def test_reading_and_writing_is_the_identity(text: str):
    assert percent.writes(percent.reads(text)) == text


@given(st.lists(CELLS, max_size=4))
def test_writing_and_reading_gives_the_same_cells(these: list[Cell]):
    text = fresh(*these)
    percent.check(Notebook(these), text)
    assert percent.writes(percent.reads(text)) == text


@settings(max_examples=200)
@given(TEXTS, st.lists(CELLS, max_size=3), st.randoms())
def test_edits_of_a_file_read_back(text: str, more: list[Cell], rng: random.Random):
    document = percent.reads(text)
    document.cells += more
    rng.shuffle(document.cells)
    for cell in document:
        if rng.random() < 0.3:
            cell.source = rng.choice(document.cells).source
        if rng.random() < 0.3:
            cell.cell_type = rng.choice(CELL_TYPES)
        if rng.random() < 0.3:
            cell.metadata = rng.choice(document.cells).metadata
    written = percent.writes(document)
    percent.check(document, written)
    assert percent.writes(percent.reads(written)) == written


LINES = st.lists(st.lists(TOKENS.filter(lambda t: "\n" not in t) | st.just("# "), max_size=5).map("".join), max_size=6)


@given(LINES)
def test_uncommenting_undoes_commenting(lines: list[str]):
    assert magics.uncomment(magics.comment(lines)) == lines
