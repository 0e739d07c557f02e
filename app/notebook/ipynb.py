"""The `.ipynb` format, nbformat 4.5: read with everything unknown kept, written with stable diffs.

`reads` and `writes` turn JSON text into a notebook and back; they touch no file. Text that Jupyter wrote comes back
byte for byte. In memory sources and text outputs are single strings; in the file they are lists of lines. What only a
percent file has (its header) travels in the notebook's metadata under "tapescope".
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from .document import CELL_TYPES, Cell, CellType, Notebook, Output, new_cell_id
from .errors import NotebookError

MINOR = 5
"""The minor version of nbformat 4 that is written; a newer one is kept."""

_MAX_DEPTH = 200  # deeper nesting is no notebook, and would exhaust the stack of whatever reads it
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TRANSIENT = ("orig_nbformat", "orig_nbformat_minor", "signature")
_CELL_KEYS = {"cell_type", "id", "metadata", "source", "outputs", "execution_count"}
_TOP_KEYS = {"cells", "metadata", "nbformat", "nbformat_minor"}
_OURS = "tapescope"


def reads(text: str) -> Notebook:
    """The notebook in the JSON text. NotebookError, saying where, if it is no JSON, or no notebook of version 4."""
    content = parse_object(text)
    minor = _check_version(content)
    metadata = _dictionary(content.get("metadata", {}), "the notebook's metadata")
    notebook = Notebook(
        metadata={key: value for key, value in metadata.items() if key not in _TRANSIENT}, format="ipynb"
    )
    notebook.extra = {key: value for key, value in content.items() if key not in _TOP_KEYS}
    if minor > MINOR:
        notebook.extra["nbformat_minor"] = minor
    ours = notebook.metadata.get(_OURS)
    if isinstance(ours, dict) and isinstance(ours.get("header"), str):
        notebook.header = ours["header"]
        rest = {key: value for key, value in ours.items() if key != "header"}
        notebook.metadata = {**notebook.metadata, _OURS: rest} if rest else _without(notebook.metadata, _OURS)
    cells = content.get("cells")
    if not isinstance(cells, list):
        raise NotebookError('This is no notebook: its "cells" are missing or no list.')
    ids: set[str] = set()
    for number, found in enumerate(cells, start=1):
        cell = _read_cell(found, number)
        if not isinstance(cell.id, str) or not _ID.match(cell.id) or cell.id in ids:
            if cell.id is not None:
                notebook.warnings.append(f"Cell {number} had a bad or repeated id ({cell.id!r}); it has a new one.")
            while (fresh := new_cell_id()) in ids:
                pass
            cell.id = fresh
        ids.add(cell.id)
        notebook.cells.append(cell)
    return notebook


def writes(notebook: Notebook) -> str:
    """The JSON text: sorted keys, one space of indent, characters as they are, a newline at the end."""
    metadata = _without(notebook.metadata, *_TRANSIENT)
    if notebook.header:
        ours = metadata.get(_OURS)
        metadata[_OURS] = {**(ours if isinstance(ours, dict) else {}), "header": notebook.header}
    minor = notebook.extra.get("nbformat_minor", MINOR)
    content = {
        **_without(notebook.extra, "nbformat_minor"),
        "cells": [_cell_content(cell) for cell in notebook.cells],
        "metadata": metadata,
        "nbformat": 4,
        "nbformat_minor": minor,
    }
    try:
        text = json.dumps(content, indent=1, sort_keys=True, separators=(",", ": "), ensure_ascii=False) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise NotebookError(
            f"The notebook holds something that JSON cannot ({error}); clear the outputs and save again."
        ) from error
    # Half of a surrogate pair is no character that UTF-8 could hold; JSON writes it as an escape.
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def check(notebook: Notebook, text: str) -> None:
    """Raise NotebookError unless `text` reads back as `notebook`."""
    again = reads(text)
    for number, (ours, read) in enumerate(zip(notebook.cells, again.cells), start=1):
        if (ours.id, ours.cell_type, ours.source) != (read.id, read.cell_type, read.source):
            raise NotebookError(f"Cell {number} would not read back as it is.")
    if len(notebook.cells) != len(again.cells) or writes(again) != text:
        raise NotebookError("The notebook would not read back as it is.")


# -- reading --------------------------------------------------------------------------------------------


def parse_object(text: str) -> dict[str, Any]:
    """The JSON object in a text. NotebookError where it is none, or nested without measure."""
    if not text.strip():
        raise NotebookError("The file is empty, and so no notebook. Delete it and make a new one with `tapescope new`.")
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise NotebookError(
            f"This is no JSON, and so no notebook: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from error
    except RecursionError as error:
        raise NotebookError("This is no notebook: its JSON is nested too deeply.") from error
    except ValueError as error:  # an integer of thousands of digits
        raise NotebookError(f"This is no notebook: {error}.") from error
    if not isinstance(content, dict):
        raise NotebookError(f"This is JSON but no notebook: it is {_kind(content)}, not an object with cells.")
    _check_depth(content)
    return content


def _check_depth(content: Any) -> None:
    level = [content]
    for _ in range(_MAX_DEPTH):
        level = [
            child
            for value in level
            if isinstance(value, dict | list)
            for child in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    raise NotebookError(f"This is no notebook: its JSON is nested more than {_MAX_DEPTH} levels deep.")


def _check_version(content: dict[str, Any]) -> int:
    major, minor = content.get("nbformat"), content.get("nbformat_minor", 0)
    if "cells" not in content and "worksheets" not in content and major is None:
        raise NotebookError('This is JSON but no notebook: it has neither "nbformat" nor "cells".')
    if type(major) is not int or type(minor) is not int:
        raise NotebookError(f'This is JSON but no notebook: its "nbformat" is {major!r}, not a version number.')
    if major < 4:
        raise NotebookError(
            f"This notebook has the old format {major}; only format 4 is read. "
            "Convert it first: jupyter nbconvert --to notebook --nbformat 4 FILE."
        )
    if major > 4:
        raise NotebookError(f"This notebook has format {major}, newer than format 4, the newest known here.")
    return minor


def _read_cell(found: Any, number: int) -> Cell:
    where = f"cell {number}"
    content = _dictionary(found, where)
    cell_type = content.get("cell_type")
    if cell_type not in CELL_TYPES:
        raise NotebookError(f"This is no valid notebook: {where} has the type {cell_type!r}, not {_or(CELL_TYPES)}.")
    cell = Cell(
        id=content.get("id"),  # type: ignore[arg-type]  # `reads` replaces what is no id
        cell_type=cast(CellType, cell_type),
        source=_joined(content.get("source", ""), f"the source of {where}"),
        metadata=_without(_dictionary(content.get("metadata", {}), f"the metadata of {where}"), "trusted"),
    )
    known = _CELL_KEYS if cell_type == "code" else _CELL_KEYS - {"outputs", "execution_count"}
    cell.extra = {key: value for key, value in content.items() if key not in known}
    if "attachments" in cell.extra:
        attachments = _dictionary(cell.extra["attachments"], f"the attachments of {where}")
        cell.extra["attachments"] = {name: _join_bundle(bundle) for name, bundle in attachments.items()}
    if cell_type == "code":
        outputs = content.get("outputs", [])
        if not isinstance(outputs, list):
            raise NotebookError(f"This is no valid notebook: the outputs of {where} are {_kind(outputs)}, not a list.")
        cell.outputs = [_read_output(output, f"output {n} of {where}") for n, output in enumerate(outputs, start=1)]
        count = content.get("execution_count")
        if count is not None and type(count) is not int:
            raise NotebookError(f"This is no valid notebook: the execution count of {where} is {count!r}.")
        cell.execution_count = count
        ours = cell.metadata.get(_OURS)
        if isinstance(ours, dict) and isinstance(attachments := ours.get("attachments"), dict):
            cell.extra["attachments"] = {name: _join_bundle(bundle) for name, bundle in attachments.items()}
            rest = _without(ours, "attachments")
            cell.metadata = {**cell.metadata, _OURS: rest} if rest else _without(cell.metadata, _OURS)
    return cell


def _read_output(found: Any, where: str) -> Output:
    output = dict(_dictionary(found, where))
    kind = output.get("output_type")
    if not isinstance(kind, str):
        raise NotebookError(f'This is no valid notebook: {where} has no "output_type".')
    output.pop("transient", None)
    if isinstance(output.get("data"), dict):
        output["data"] = _join_bundle(output["data"])
    if isinstance(text := output.get("text"), list) and all(isinstance(line, str) for line in text):
        output["text"] = "".join(text)
    if kind == "stream" and not (isinstance(output.get("text"), str) and isinstance(output.get("name"), str)):
        raise NotebookError(f'This is no valid notebook: {where} is a stream without "name" or "text".')
    if kind in ("display_data", "execute_result") and not isinstance(output.get("data"), dict):
        raise NotebookError(f'This is no valid notebook: {where} has no "data".')
    return output


def _joined(value: Any, where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "".join(value)
    raise NotebookError(f"This is no valid notebook: {where} is {_kind(value)}, not text or a list of lines.")


def _join_bundle(bundle: Any) -> Any:
    if not isinstance(bundle, dict):
        return bundle
    return {
        mime: "".join(value)
        if isinstance(value, list) and not _is_json(mime) and all(isinstance(line, str) for line in value)
        else value
        for mime, value in bundle.items()
    }


def _is_json(mime: str) -> bool:
    return mime.startswith("application/") and (mime == "application/json" or mime.endswith("+json"))


def _dictionary(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NotebookError(f"This is no valid notebook: {where} is {_kind(value)}, not an object.")
    return value


def _kind(value: Any) -> str:
    names = {"list": "a list", "str": "text", "dict": "an object", "bool": "a truth value", "int": "a number"}
    return "a number" if isinstance(value, float) else names.get(type(value).__name__, "null")


def _or(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _without(dictionary: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in dictionary.items() if key not in keys}


# -- writing --------------------------------------------------------------------------------------------


def _cell_content(cell: Cell) -> dict[str, Any]:
    metadata, extra = _without(cell.metadata, "trusted"), dict(cell.extra)
    if "attachments" in extra:
        attachments = {name: _split_bundle(bundle) for name, bundle in extra.pop("attachments").items()}
        if cell.cell_type == "code":
            # nbformat forbids them here; a markdown cell that became code must not lose its pictures.
            ours = metadata.get(_OURS)
            metadata[_OURS] = {**(ours if isinstance(ours, dict) else {}), "attachments": attachments}
        else:
            extra["attachments"] = attachments
    content = {
        **extra,
        "cell_type": cell.cell_type,
        "id": cell.id,
        "metadata": metadata,
        "source": cell.source.splitlines(keepends=True),
    }
    if cell.cell_type == "code":
        content["execution_count"] = cell.execution_count
        content["outputs"] = [output_content(output) for output in cell.outputs]
    return content


def output_content(output: Output) -> Output:
    """The output as a file has it: without "transient", text split into lines."""
    content = _without(output, "transient")
    if output.get("output_type") in ("display_data", "execute_result") and isinstance(output.get("data"), dict):
        content["data"] = _split_bundle(output["data"])
    if output.get("output_type") == "stream" and isinstance(output.get("text"), str):
        content["text"] = output["text"].splitlines(keepends=True)
    return content


def read_output(content: Any) -> Output:
    """The output that `output_content` wrote. NotebookError where it is none."""
    return _read_output(content, "an output")


def _split_bundle(bundle: Any) -> Any:
    if not isinstance(bundle, dict):
        return bundle
    return {
        mime: value.splitlines(keepends=True)
        if isinstance(value, str) and (mime.startswith("text/") or mime in _SPLIT)
        else value
        for mime, value in bundle.items()
    }


_SPLIT = ("application/javascript", "image/svg+xml")
