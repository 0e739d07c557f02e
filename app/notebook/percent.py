"""The percent format: a Python file whose cells start with `# %%` lines, as jupytext and editors write it.

`reads` and `writes` turn text into a notebook and back; files and line endings are the business of files.py. A cell
remembers the lines it was read from, so that what nobody edited is written back byte for byte. A marker is a marker
wherever it starts a line; a line of a cell that looks like one gets one more `# ` in the file. Outputs, cell ids and
attachments are not part of the format (see sidecar.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from . import magics, markers
from .document import Cell, Notebook, new_cell_id, with_newlines
from .errors import NotebookError
from .markers import MARKER, Marker

_LOOKS_LIKE_MARKER = re.compile(r"(?:# )*#[ \t]*%%+(?:[ \t]|\Z)")
_CODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+")
_QUOTED = re.compile(r"""[rR]?(?P<quotes>\"{3}|'{3})(?P<text>.*)(?P=quotes)[ \t]*\Z""", re.DOTALL)


Coding = Literal["code", "text", "language"]


@dataclass(frozen=True, slots=True)
class _Text:
    """A cell as lines of a file. `kept` counts the blank lines at the end that belong to the source.

    `coding` says how the lines hold the source: as they are ("code"), or commented ("text" and "language").
    """

    marker: str
    lines: list[str]
    coding: Coding
    kept: int


@dataclass(frozen=True, slots=True)
class _Origin:
    """The lines a cell was read from, beside the lines `_encode` made of it then.

    Where `_encode` still makes the same, the lines that were read are written. `marker` is None for text above the
    first marker; `blanks` counts the blank lines that followed.
    """

    marker: str | None
    lines: list[str]
    coding: Coding
    blanks: int
    last: bool
    final_newline: bool
    encoded: _Text


def reads(text: str) -> Notebook:
    """The notebook in the text of a percent file. Every text is one; without markers it is a single cell."""
    header, rest = _split_header(text)
    lines = rest.split("\n")
    final_newline = lines[-1] == ""
    if final_newline:
        lines.pop()
    starts = [number for number, line in enumerate(lines) if MARKER.match(line)]
    notebook = Notebook(format="py")
    above = lines[: starts[0]] if starts else lines
    pieces: list[tuple[str | None, list[str]]] = []
    if starts and not any(above):
        header += "\n" * len(above)
    else:
        pieces.append((None, above))
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        pieces.append((lines[start], lines[start + 1 : end]))
    notebook.header = header
    ids: set[str] = set()
    for number, (marker, body) in enumerate(pieces):
        while (cell_id := new_cell_id()) in ids:
            pass
        ids.add(cell_id)
        notebook.cells.append(_read_cell(cell_id, marker, body, number == len(pieces) - 1, final_newline))
    return notebook


def writes(notebook: Notebook) -> str:
    """The text of the percent file; `reads` gives the same cells again. Lines end with a bare newline."""
    header = notebook.header
    lines: list[str] = []
    final_newline = True
    for number, cell in enumerate(notebook.cells):
        last = number == len(notebook.cells) - 1
        marker, body, blanks, final_newline = _lines_of(cell, header if number == 0 else None, last)
        lines += [*([] if marker is None else [marker]), *body, *[""] * blanks]
    if lines and header and not header.endswith("\n"):
        header += "\n"
    return header + "\n".join(lines) + ("\n" if lines and final_newline else "")


def check(notebook: Notebook, text: str) -> None:
    """Raise NotebookError unless `text` reads back as the cells of `notebook`."""
    again = reads(text)
    ours, read = _essence(notebook), _essence(again)
    for number, (one, other) in enumerate(zip(ours, read), start=1):
        if one != other:
            raise NotebookError(f"Cell {number} would not read back as it is; save as .ipynb, which can hold it.")
    if len(ours) != len(read):
        raise NotebookError(f"{len(ours)} cells would read back as {len(read)}; save as .ipynb, which can hold them.")


def _essence(notebook: Notebook) -> list[tuple[str, str, str]]:
    cells = [(c.cell_type, with_newlines(c.source), markers.canonical(c.metadata)) for c in notebook.cells]
    return cells or [("code", "", "{}")]


# -- the top of the file --------------------------------------------------------------------------------


def _split_header(text: str) -> tuple[str, str]:
    """(header, rest): an interpreter line, an encoding line, and a block of comments between two `# ---` lines."""
    lines = text.split("\n")
    count = 0
    if lines[0].startswith("#!"):
        count = 1
    if count < len(lines) and _CODING.match(lines[count]) and not MARKER.match(lines[count]):
        count += 1
    if count < len(lines) and lines[count].rstrip() == "# ---":
        for number in range(count + 1, len(lines)):
            if lines[number].rstrip() == "# ---":
                count = number + 1
                break
            if not lines[number].startswith("#") or MARKER.match(lines[number]):
                break
    if count == len(lines):
        return text, ""
    header = "".join(line + "\n" for line in lines[:count])
    return header, text[len(header) :]


def _starts_unmarked(header: str, body: list[str]) -> bool:
    """Whether these lines, below the header and without a marker, would be read as a cell and not as part of it."""
    return _split_header(header + "\n".join([*body, ""]))[0] == header


# -- one cell -------------------------------------------------------------------------------------------


def _read_cell(cell_id: str, marker: str | None, body: list[str], last: bool, final_newline: bool) -> Cell:
    lines = list(body)
    while lines and not lines[-1]:
        lines.pop()
    blanks = len(body) - len(lines)
    says = Marker() if marker is None else markers.parse(marker)
    cell = Cell(id=cell_id, cell_type=says.cell_type, metadata=says.metadata)
    plain = [line[2:] if line.startswith("# ") and _LOOKS_LIKE_MARKER.match(line, 2) else line for line in lines]
    coding: Coding = "language" if says.language else "code" if cell.cell_type == "code" else "text"
    if coding == "language":
        cell.source = "\n".join([_magic_line(says.language, says.magic_args), *map(_uncommented, plain)])
    elif coding == "code":
        # One or two blank lines separate cells; of more, the others belong to the source (see `writes`).
        cell.source = "\n".join(magics.uncomment(plain)) + "\n" * (blanks - 2 if blanks > 2 else 0)
    elif quoted := _QUOTED.match("\n".join(plain)):
        cell.source = quoted["text"].removeprefix("\n").removesuffix("\n")
    else:
        cell.source = "\n".join(map(_uncommented, plain))
    cell.origin = _Origin(marker, lines, coding, blanks, last, final_newline, _encode(cell))
    return cell


def _lines_of(cell: Cell, header: str | None, last: bool) -> tuple[str | None, list[str], int, bool]:
    """(marker, lines, blank lines below, newline at the end): as they were read where that still says the same.

    `header` is that of the file for its first cell, which may stand there without a marker, and None for the others.
    """
    text = _encode(cell)
    blanks = text.kept + 2 if text.kept else int(not last)
    origin = cell.origin
    if not isinstance(origin, _Origin):
        return text.marker, text.lines, blanks, True
    then = origin.encoded
    same_lines = (text.coding, text.lines) == (then.coding, then.lines)
    # Lines and marker may be taken from different times only if both hold the source in the same way.
    same_coding = text.coding == origin.coding
    marker, body = text.marker, text.lines
    if text.marker == then.marker and (same_lines or same_coding):
        if origin.marker is not None:
            marker = origin.marker
        elif header is not None and (text.lines or last):
            marker = None if _starts_unmarked(header, origin.lines if same_lines else text.lines) else marker
        if same_lines and marker == origin.marker:
            body = origin.lines
    if same_lines and same_coding:
        body = origin.lines
    if (text.coding, text.kept, last) == (then.coding, then.kept, origin.last):
        blanks = origin.blanks
    return marker, body, blanks, origin.final_newline or not (last and origin.last and not blanks)


def _encode(cell: Cell) -> _Text:
    source = with_newlines(cell.source)
    if cell.cell_type != "code":
        lines = _commented(source.split("\n")) if source else []
        return _Text(markers.write(Marker(cell.cell_type, cell.metadata)), lines, "text", 0)
    first, *others = source.split("\n")
    language, _, arguments = first.removeprefix("%%").partition(" ")
    if language in magics.LANGUAGES and first == _magic_line(language, arguments):
        says = Marker("code", cell.metadata, language, arguments)
        marker = markers.write(says)
        if markers.same(markers.parse(marker), says):
            return _Text(marker, _commented(others), "language", 0)
    content = source.rstrip("\n")
    lines = [_escaped(line) for line in magics.comment(content.split("\n") if content else [])]
    return _Text(markers.write(Marker("code", cell.metadata)), lines, "code", len(source) - len(content))


def _magic_line(language: str, arguments: str) -> str:
    return f"%%{language} {arguments}" if arguments else f"%%{language}"


def _commented(lines: list[str]) -> list[str]:
    return [_escaped(f"# {line}" if line else "#") for line in lines]


def _uncommented(line: str) -> str:
    return line[2:] if line.startswith("# ") else line.removeprefix("#")


def _escaped(line: str) -> str:
    return f"# {line}" if _LOOKS_LIKE_MARKER.match(line) else line
