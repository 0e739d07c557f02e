"""The .ipynb format against the library nbformat, what is preserved, and what is refused in which words."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapescope.app.notebook import ipynb
from tapescope.app.notebook.document import Cell, Notebook
from tapescope.app.notebook.errors import NotebookError

CONTENT: dict[str, Any] = {
    "cells": [
        {
            "cell_type": "markdown", "id": "intro", "metadata": {"custom": {"b": 1, "a": [None]}},
            "source": ["# Überschrift\n", "line\u2028separator ![x](attachment:p.png)"],
            "attachments": {"p.png": {"image/png": "iVBORw0="}, "t.txt": {"text/plain": ["a\n", "b"]}},
        },
        {
            "cell_type": "code", "id": "c-1_X", "metadata": {"tags": ["t"], "jupyter": {"source_hidden": True}},
            "execution_count": 3, "source": ["x = 1\n", "x"],
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\r\n", "three"]},
                {"output_type": "execute_result", "execution_count": 3, "metadata": {"isolated": True},
                 "data": {"text/plain": ["1\n", "2"], "image/png": "AAAA\nBBBB\n",
                          "image/svg+xml": ["<svg>\n", "</svg>"], "application/json": ["a\n", "b"],
                          "application/vnd.x+json": {"list": ["a\n", "b"]}}},
                {"output_type": "display_data", "data": {}, "metadata": {}},
                {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u001b[31ma", "b"]},
            ],
        },
        {"cell_type": "raw", "id": "r", "metadata": {"format": "text/latex"}, "source": []},
    ],
    "metadata": {"kernelspec": {"display_name": "P", "name": "p", "language": "python"}, "zeta": 1,
                 "alpha": {"x": "é"}},
    "nbformat": 4, "nbformat_minor": 5,
}  # fmt: skip


def text_of(content: Any) -> str:
    return json.dumps(content)


def jupyter(text: str) -> str:
    """What Jupyter's own library makes of the text (it leaves the last newline to its caller)."""
    return nbformat.writes(nbformat.reads(text, as_version=4)) + "\n"


def changed(**changes: Any) -> str:
    return text_of({**CONTENT, **changes})


def test_the_text_is_that_of_jupyter_byte_for_byte():
    text = text_of(CONTENT)
    assert ipynb.writes(ipynb.reads(text)) == jupyter(text)


def test_reading_what_was_written_changes_nothing():
    text = jupyter(text_of(CONTENT))
    assert ipynb.writes(ipynb.reads(text)) == text
    ipynb.check(ipynb.reads(text), text)


def test_sources_and_text_outputs_are_single_strings_in_memory():
    document = ipynb.reads(text_of(CONTENT))
    assert document.cells[0].source == "# Überschrift\nline\u2028separator ![x](attachment:p.png)"
    stream, result = document.cells[1].outputs[:2]
    assert stream["text"] == "one\ntwo\r\nthree"
    assert result["data"]["text/plain"] == "1\n2"
    assert result["data"]["application/json"] == ["a\n", "b"]
    assert document.cells[1].execution_count == 3


def test_the_result_is_valid_for_jupyter():
    document = ipynb.reads(text_of(CONTENT))
    document.insert(0, "code", "print(1)")
    document.change_type(1, "code")  # was markdown with attachments, which code cells may not have
    nbformat.validate(nbformat.reads(ipynb.writes(document), as_version=4))
    again = ipynb.reads(ipynb.writes(document))
    assert again.cells[1].extra["attachments"] == document.cells[1].extra["attachments"]
    assert "tapescope" not in again.cells[1].metadata


def test_unknown_keys_are_kept_on_every_level():
    content = json.loads(text_of(CONTENT))
    content["top"] = {"x": 1}
    content["cells"][1]["cell_key"] = [1]
    content["cells"][1]["outputs"][1]["output_key"] = "y"
    content["cells"][1]["outputs"].append({"output_type": "from_the_future", "stuff": {"a": 1}})
    written = json.loads(ipynb.writes(ipynb.reads(text_of(content))))
    assert written["top"] == {"x": 1}
    assert written["cells"][1]["cell_key"] == [1]
    assert written["cells"][1]["outputs"][1]["output_key"] == "y"
    assert written["cells"][1]["outputs"][-1] == {"output_type": "from_the_future", "stuff": {"a": 1}}


def test_transient_values_do_not_enter_the_file():
    document = ipynb.reads(text_of(CONTENT))
    document.cells[1].outputs[2]["transient"] = {"display_id": "d"}
    document.cells[1].metadata["trusted"] = True
    document.metadata["orig_nbformat"] = 2
    written = ipynb.writes(document)
    assert "transient" not in written and "trusted" not in written and "orig_nbformat" not in written


@pytest.mark.parametrize("minor", [0, 1, 2, 4])
def test_older_minor_versions_get_ids(minor: int):
    content = json.loads(changed(nbformat_minor=minor))
    for cell in content["cells"]:
        del cell["id"]
    document = ipynb.reads(text_of(content))
    ids = [cell.id for cell in document]
    assert len(set(ids)) == 3 and document.warnings == []
    nbformat.validate(nbformat.reads(ipynb.writes(document), as_version=4))
    assert json.loads(ipynb.writes(document))["nbformat_minor"] == 5


def test_a_newer_minor_version_is_kept():
    assert json.loads(ipynb.writes(ipynb.reads(changed(nbformat_minor=7))))["nbformat_minor"] == 7


@pytest.mark.parametrize("bad", ["intro", "", "with space", "x" * 65, 5, "a\n", ["x"]])
def test_bad_and_repeated_ids_are_minted_anew(bad: Any):
    content = json.loads(text_of(CONTENT))
    content["cells"][2]["id"] = bad
    document = ipynb.reads(text_of(content))
    assert [cell.id for cell in document][:2] == ["intro", "c-1_X"]
    assert isinstance(document.cells[2].id, str) and document.cells[2].id not in ("intro", bad)
    assert "Cell 3 had a bad or repeated id" in document.warnings[0]


def test_the_header_of_a_percent_file_travels_in_the_metadata():
    document = Notebook([Cell(id="a")], {"tapescope": {"other": 1}})
    document.header = "# ---\n# x\n# ---\n"
    again = ipynb.reads(ipynb.writes(document))
    assert again.header == document.header and again.metadata == {"tapescope": {"other": 1}}
    document.metadata = {}
    assert ipynb.reads(ipynb.writes(document)).metadata == {}


def test_half_a_surrogate_pair_is_written_as_an_escape():
    document = Notebook([Cell(id="a", source="x\ud83dy")])
    text = ipynb.writes(document)
    text.encode()
    assert "\\ud83d" in text
    ipynb.check(document, text)


def cell(**changes: Any) -> str:
    return changed(cells=[{**CONTENT["cells"][1], **changes}])


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "The file is empty"),
        ("  \n", "The file is empty"),
        ('{"cells": [\n  1,,\n]}', "no JSON.* at line 2, column 5"),
        ("# %%\nx = 1", "no JSON.* at line 1, column 1"),
        ("[]", "it is a list, not an object"),
        ('"text"', "it is text,"),
        ("3", "it is a number"),
        ("{}", 'neither "nbformat" nor "cells"'),
        ('{"a": 1}', 'neither "nbformat" nor "cells"'),
        ('{"cells": []}', '"nbformat" is None, not a version number'),
        ('{"nbformat": "4"}', "\"nbformat\" is '4'"),
        ('{"nbformat": true}', '"nbformat" is True'),
        ('{"nbformat": 4}', '"cells" are missing'),
        ('{"nbformat": 4, "cells": {}}', '"cells" are missing or no list'),
        ('{"nbformat": 3, "nbformat_minor": 0, "worksheets": []}', "old format 3; only format 4 is read.* nbconvert"),
        ('{"nbformat": 2, "nbformat_minor": 0, "worksheets": []}', "old format 2"),
        ('{"nbformat": 5, "cells": []}', "format 5, newer than"),
        (changed(metadata=[]), "the notebook's metadata is a list"),
        (changed(cells=["x"]), "cell 1 is text, not an object"),
        (cell(cell_type="heading"), "cell 1 has the type 'heading', not code, markdown or raw"),
        (cell(source=3), "the source of cell 1 is a number"),
        (cell(source=["a", None]), "the source of cell 1 is a list, not text or a list of lines"),
        (cell(metadata=None), "the metadata of cell 1 is null, not an object"),
        (cell(outputs={}), "the outputs of cell 1 are an object, not a list"),
        (cell(outputs=[{}]), 'output 1 of cell 1 has no "output_type"'),
        (cell(outputs=[{"output_type": "stream"}]), 'output 1 of cell 1 is a stream without "name" or "text"'),
        (cell(outputs=[{"output_type": "display_data", "data": []}]), 'output 1 of cell 1 has no "data"'),
        (cell(execution_count="3"), "the execution count of cell 1 is '3'"),
        (cell(attachments=[]), "the attachments of cell 1 is a list"),
        ("[" * 100_000, "no notebook|nested too deeply"),
        (changed(metadata={"deep": json.loads("[" * 400 + "]" * 400)}), "nested more than 200 levels deep"),
        ('{"nbformat": 4, "cells": [], "n": ' + "9" * 9999 + "}", "This is no notebook: Exceeds the limit"),
    ],
)  # fmt: skip
def test_what_is_no_notebook_is_refused_with_a_sentence(text: str, words: str):
    with pytest.raises(NotebookError, match=words):
        ipynb.reads(text)


def test_what_json_cannot_hold_is_a_sentence():
    document = Notebook([Cell(outputs=[{"output_type": "display_data", "data": {"x": object()}, "metadata": {}}])])
    with pytest.raises(NotebookError, match="holds something that JSON cannot"):
        ipynb.writes(document)


def test_check_sees_a_text_that_is_not_the_notebook():
    document = ipynb.reads(text_of(CONTENT))
    text = ipynb.writes(document)
    with pytest.raises(NotebookError, match="Cell 2 would not read back"):
        ipynb.check(document, text.replace("x = 1", "x = 2"))
    with pytest.raises(NotebookError, match="would not read back"):
        ipynb.check(document, text.replace('"zeta"', '"beta"'))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=5,
)
MIMES = st.sampled_from(["text/plain", "text/html", "image/png", "image/svg+xml", "application/javascript"])
BUNDLES = st.dictionaries(MIMES, TEXT, max_size=3)
METADATA = st.dictionaries(st.sampled_from(["a", "b", "é"]), JSON, max_size=2)
OUTPUTS = st.one_of(
    st.fixed_dictionaries(
        {"output_type": st.just("stream"), "name": st.sampled_from(["stdout", "stderr"]), "text": TEXT}
    ),
    st.fixed_dictionaries({"output_type": st.just("display_data"), "data": BUNDLES, "metadata": METADATA}),
    st.fixed_dictionaries(
        {"output_type": st.just("error"), "ename": TEXT, "evalue": TEXT, "traceback": st.lists(TEXT, max_size=2)}
    ),
)


@given(st.lists(st.tuples(st.sampled_from(["code", "markdown", "raw"]), TEXT, METADATA, st.lists(OUTPUTS, max_size=2))))
def test_any_notebook_is_written_as_jupyter_writes_it(found: list[tuple]):
    document = Notebook(
        [
            Cell(
                id=f"c{n}", cell_type=kind, source=source, metadata=metadata, outputs=outputs if kind == "code" else []
            )
            for n, (kind, source, metadata, outputs) in enumerate(found)
        ]
    )
    text = ipynb.writes(document)
    assert text == jupyter(text)
    again = ipynb.reads(text)
    assert again.cells == document.cells
    ipynb.check(document, text)
