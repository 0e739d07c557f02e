"""IPython's own syntax in the cells of a percent file: commented there, so that the file stays a Python program.

`%time f()` in a cell is `# %time f()` in the file, as jupytext writes it; `uncomment` undoes `comment`
exactly. A line that already reads like a commented magic gets one more `# `. Lines inside triple-quoted strings
and open brackets are left alone: there a `%` or `!` is data. It reads nothing but lines of code cells.
"""

from __future__ import annotations

import re

LANGUAGES = {
    "R", "bash", "coconut", "cython", "gnuplot", "haskell", "html", "idl", "javascript", "js", "latex", "markdown",
    "matlab", "octave", "perl", "pypy", "python", "python2", "python3", "robotframework", "ruby", "sas", "script", "sh",
    "spark", "sql", "svg", "tcl",
}  # fmt: skip
"""Cell magics whose cells hold another language: their whole text is commented in a percent file."""

_MAGIC = re.compile(
    r"""(?P<indent>\s*)(?P<comments>(?:\#\ )*)(?:
        %{1,3}[A-Za-z_]                             # %magic, %%magic
      | [?!]{1,2}\s*[A-Za-z.~$\\/{}"']              # !command, ?name
      | [A-Za-z_]\w*\s*=\s*(?:%|!){1,2}[A-Za-z_]    # name = %magic, name = !command
      | [A-Za-z_][\w.]*\?{1,2}\s*\Z                 # name?
    )""",
    re.VERBOSE,
)


def comment(lines: list[str]) -> list[str]:
    """The lines of a code cell as they stand in a percent file."""
    if not _may_hold_magics(lines):
        return list(lines)
    code, result, continued = _Code(), [], False
    for line in lines:
        magic = None if continued or code.open else _MAGIC.match(line)
        if continued or magic:
            start = magic.end("indent") if magic else 0
            result.append(f"{line[:start]}# {line[start:]}")
            continued = line.endswith("\\")
        else:
            result.append(line)
            code.read(line)
    return result


def uncomment(lines: list[str]) -> list[str]:
    """The lines of a code cell from those of a percent file."""
    if not _may_hold_magics(lines):
        return list(lines)
    code, result, continued = _Code(), [], False
    for line in lines:
        magic = None if continued or code.open else _MAGIC.match(line)
        if continued or (magic and magic["comments"]):
            result.append(_without_comment(line, magic.end("indent") if magic else 0))
            continued = line.endswith("\\")
        else:
            result.append(line)
            if not magic:
                code.read(line)
    return result


def _may_hold_magics(lines: list[str]) -> bool:
    """Whether any line is a magic at its start. Most cells have none, and then nothing needs to be read token by token."""
    return any(_MAGIC.match(line) for line in lines if "%" in line or "?" in line or "!" in line)


def _without_comment(line: str, start: int) -> str:
    if line.startswith("# ", start):
        return line[:start] + line[start + 2 :]
    return line[:start] if line[start:] == "#" else line  # an editor has removed the space at the end of the line


class _Code:
    """Whether the next line of Python starts inside a triple-quoted string, an open bracket or a continued line."""

    _TOKENS = re.compile(r"""\\.|'{3}|"{3}|['"\#()\[\]{}]""", re.DOTALL)

    def __init__(self) -> None:
        self._string = ""
        self._depth = 0
        self._continued = False

    @property
    def open(self) -> bool:
        return bool(self._string) or self._depth > 0 or self._continued

    def read(self, line: str) -> None:
        self._continued = line.endswith("\\")
        for token in self._TOKENS.findall(line):
            if self._string:
                # Three quotes in a string of single ones are its end and an empty string.
                if token == self._string or (len(token) == 3 and token[0] == self._string):
                    self._string = ""
            elif token == "#":
                self._continued = False
                break
            elif token[0] in "'\"":
                self._string = token
            elif token in "([{":
                self._depth += 1
            elif token in ")]}":
                self._depth = max(self._depth - 1, 0)
        if len(self._string) == 1:
            self._string = ""
