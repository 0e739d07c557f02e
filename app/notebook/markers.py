"""The marker lines of the percent format: `# %% Title [markdown] key="value"`, to metadata and back.

Titles and `key=value` pairs (values are JSON) are read and written as jupytext does; metadata that this form cannot
hold is written as one JSON object, which jupytext reads too. It knows nothing of the text of cells.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, field
from typing import Any

from .document import CellType
from .magics import LANGUAGES

MARKER = re.compile(r"#[ \t]*%%(?P<depth>%*)(?:[ \t]+(?P<rest>.*))?\Z")
"""A line that starts a cell; `%%time` and the like, without a space, is a cell magic."""

_TYPES: dict[str, CellType] = {"markdown": "markdown", "md": "markdown", "raw": "raw"}
_TYPE = re.compile(r"\[(markdown|md|raw)\]")
_KEY = re.compile(r"[A-Za-z0-9_.@/-]+")
_EQUALS = re.compile(r"\s*=\s*")
_OPTIONS = re.compile(r"(?:^|(?<=\s))(?=\{|[A-Za-z0-9_.@/-]+\s*=)")
_PYTHON_VALUE = re.compile(r"'(?:[^'\\]|\\.)*'|True\b|False\b|None\b")
_JSON = json.JSONDecoder()


@dataclass(slots=True)
class Marker:
    """What a marker line says. `language` and `magic_args` stand for the first line of a cell such as `%%bash -x`."""

    cell_type: CellType = "code"
    metadata: dict[str, Any] = field(default_factory=dict)
    language: str = ""
    magic_args: str = ""


def parse(line: str) -> Marker:
    """The marker in a line that `MARKER` matches."""
    match = MARKER.match(line)
    if match is None:
        raise ValueError(f"no marker of a cell: {line!r}")
    text = (match["rest"] or "").strip()
    title, options, as_object = _split_options(text)
    marker = Marker()
    if found := _TYPE.search(title):
        marker.cell_type = _TYPES[found[1]]
        title = f"{title[: found.start()].strip()} {title[found.end() :].strip()}".strip()
    if not as_object and marker.cell_type == "code":
        language, arguments = options.get("language"), options.get("magic_args", "")
        if isinstance(language, str) and isinstance(arguments, str) and language in LANGUAGES:
            marker.language = options.pop("language")
            marker.magic_args = arguments
            options.pop("magic_args", None)
    if title:
        marker.metadata["title"] = title
    if match["depth"]:
        marker.metadata["cell_depth"] = len(match["depth"])
    marker.metadata.update(options)
    return marker


def write(marker: Marker) -> str:
    """The line for a marker. `parse` gives it back, except for a language beside metadata that needs the JSON form."""
    metadata = dict(marker.metadata)
    depth = metadata.pop("cell_depth", 0)
    words = ["# %%" + "%" * depth if type(depth) is int and 0 <= depth <= 9 else "# %%"]
    if isinstance(metadata.get("title"), str):
        words.append(metadata.pop("title"))
    if marker.cell_type != "code":
        words.append(f"[{marker.cell_type}]")
    if marker.language:
        metadata["language"] = marker.language
    if marker.magic_args:
        metadata["magic_args"] = marker.magic_args
    words += [f"{key}={_dumps(value)}" for key, value in metadata.items()]
    line = " ".join(words)
    if MARKER.match(line) and "\n" not in line and "\r" not in line and same(parse(line), marker):
        return line
    words = ["# %%"] + ([f"[{marker.cell_type}]"] if marker.cell_type != "code" else [])
    return " ".join([*words, _dumps(marker.metadata)])


def same(one: Marker, other: Marker) -> bool:
    """Equal in everything; metadata compared as JSON, so that 1 and True differ and NaN equals itself."""
    return (one.cell_type, one.language, one.magic_args) == (
        other.cell_type,
        other.language,
        other.magic_args,
    ) and canonical(one.metadata) == canonical(other.metadata)


def canonical(value: Any) -> str:
    """One text for equal JSON values."""
    return json.dumps(value, sort_keys=True)


def _dumps(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: only an escape can hold it
        return json.dumps(value)
    return text


def _split_options(text: str) -> tuple[str, dict[str, Any], bool]:
    """(title, options, whether these are one JSON object).

    Options begin at the first place from which everything up to the end of the line is well formed.
    """
    for place in _OPTIONS.finditer(text):
        start = place.start()
        if text[start] == "{":
            value, end = _value(text, start)
            if isinstance(value, dict) and end == len(text):
                return text[:start].strip(), value, True
        elif (options := _pairs(text, start)) is not None:
            return text[:start].strip(), options, False
    return text, {}, False


def _pairs(text: str, position: int) -> dict[str, Any] | None:
    """The `key=value` pairs (and keys alone, which mean None) that fill the text from `position` on, or None."""
    result: dict[str, Any] = {}
    while position < len(text):
        key = _KEY.match(text, position)
        if key is None:
            return None
        equals = _EQUALS.match(text, key.end())
        value, position = _value(text, equals.end()) if equals else (None, key.end())
        if position > len(text) or (position < len(text) and not text[position].isspace()):
            return None
        result[key[0]] = value
        while position < len(text) and text[position].isspace():
            position += 1
    return result


def _value(text: str, position: int) -> tuple[Any, int]:
    """The JSON value (or Python string or constant) at `position`, and where it ends (past the text: there is none)."""
    try:
        return _JSON.raw_decode(text, position)
    except (ValueError, RecursionError):
        pass
    if literal := _PYTHON_VALUE.match(text, position):
        try:
            return ast.literal_eval(literal[0]), literal.end()
        except (ValueError, SyntaxError):
            pass
    return None, len(text) + 1
