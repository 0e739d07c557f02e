"""Writes the pages of docs/reference/ that follow from tables: keys, options, records, messages.

    python docs/make_reference.py           # write them
    python docs/make_reference.py --check   # fail where one is not up to date

`keys.md` comes from the terminal app's table of actions, `options.md` from the parsers of the command line, `records.md` from
`engine/observe.py` and `messages.md` from `app/kernel/messages.py`. Descriptions are the docstrings and help texts that stand there.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tapescope.app import cli
from tapescope.app.kernel import messages
from tapescope.app.tui import actions
from tapescope.engine import observe

FOLDER = Path(__file__).parent / "reference"


def cell(text: str) -> str:
    """Text for a table cell: one line, nothing that ends the cell or begins markup."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def keys() -> str:
    """The keys of the terminal app."""
    lines = [
        "# Keys",
        "",
        "Everything the terminal app can do, in the order of its help screen (`F1`). Keys work in *command mode* (cells are selected),",
        "in *edit mode* (the cursor is in a text) or in the *panel*; what has no key is in the list of commands (`Ctrl+P`). The name in the",
        "last column is what [a key file of your own](../terminal-app.md#looks-and-keys) uses. Made from the table of actions by",
        "`docs/make_reference.py`.",
    ]
    for group in actions.GROUPS:
        lines += [
            "",
            f"## {group}",
            "",
            "| command | command mode | edit mode | panel | what it does | name |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for action in actions.ACTIONS:
            if action.group == group:
                shown = [
                    f"`{t}`".replace(", ", "`, `") if (t := actions.key_text(action, m)) else ""
                    for m in ("command", "edit", "inspector")
                ]
                lines.append(
                    f"| {cell(action.label)} | {' | '.join(map(_bars, shown))} | {cell(action.help)} | `{action.name}` |"
                )
    return "\n".join(lines) + "\n"


def _bars(text: str) -> str:
    return text.replace("|", "\\|")


def options() -> str:
    """Every command's arguments."""
    lines = [
        "# Options of every command",
        "",
        "What stands behind `tapescope COMMAND --help`; [the command line](../command-line.md) explains what the commands do. Made from the",
        "parsers by `docs/make_reference.py`.",
        "",
        "## `tapescope [FILE]`",
        "",
        "Opens the terminal app.",
        "",
        *_arguments(cli._main_parser()),
    ]
    for word in cli.COMMANDS:
        parser = cli._command_parser(word)
        lines += ["", f"## `tapescope {word}`", "", parser.description or "", "", *_arguments(parser)]
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, inner in action.choices.items():
                    lines += ["", f"### `tapescope {word} {name}`", "", inner.description or "", "", *_arguments(inner)]
    return "\n".join(lines) + "\n"


def _arguments(parser: argparse.ArgumentParser) -> list[str]:
    lines = ["| argument | meaning |", "| --- | --- |"]
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction | argparse._SubParsersAction):
            continue
        name = ", ".join(action.option_strings) or str(action.metavar or action.dest)
        if action.option_strings and action.nargs != 0:
            name += f" {action.metavar or action.dest.upper()}"
        if not action.option_strings and action.nargs == "?":
            name = f"[{name}]"
        lines.append(f"| `{_bars(name)}` | {cell(action.help or '')} |")
    return lines if len(lines) > 2 else ["No arguments."] if not parser._subparsers else []


def records() -> str:
    """The records of the engine, and the three forms that gather them."""
    lines = [
        "# Records",
        "",
        "What the engine tells about itself: a record an event, on one bus. `tapescope trace FILE` prints them as JSON, one a line, and a program",
        "subscribes to them:",
        "",
        "```python",
        "from tapescope import engine as torch",
        "from tapescope.engine.observe import bus",
        "",
        "seen = []",
        'stop = bus.subscribe(seen.append, ["op", "node"])  # no kinds: all of them',
        "x = torch.ones(2, requires_grad=True)",
        "(x * 3).sum().backward()",
        "stop()",
        "print([(r.kind, r.op) for r in seen])",
        "```",
        "",
        "```text",
        "[('op', 'mul'), ('op', 'sum'), ('op', 'view'), ('op', 'expand'), ('node', 'SumBackward0'), ('op', 'mul'), ('node', 'MulBackward0')]",
        "```",
        "",
        "Nobody listening costs nothing that can be measured. `to_json()` gives a record as plain values; fields that begin with `_` (live",
        "objects) stay out of it. Made from `engine/observe.py` by `docs/make_reference.py`.",
        "",
        "## Parts of records",
    ]
    for part in (observe.Source, observe.Meta):
        lines += ["", f"### {part.__name__}", "", prose(part), "", *_fields(part)]
    lines += ["", "## Kinds of records"]
    for kind, record in observe.RECORDS.items():
        lines += ["", f"### `{kind}`", "", prose(record), "", *_fields(record)]
    lines += [
        "",
        "## Gathered forms",
        "",
        "Versioned dictionaries that views read; also what the MIME types of a displayed object hold.",
    ]
    for function, mime in (
        (observe.tape_json, observe.TAPE_MIME), (observe.capture_json, observe.CAPTURE_MIME), (observe.kernels_json, observe.KERNELS_MIME),
    ):  # fmt: skip
        lines += ["", f"### `{mime}`", "", *_documented(function)]
    return "\n".join(lines) + "\n"


def protocol() -> str:
    """The messages between a front end and a kernel."""
    lines = [
        "# Messages",
        "",
        "The whole contract between a front end and a kernel: commands go in, events come out, each a line of JSON with its `kind` and the",
        "fields below. Shapes follow the contents of Jupyter's messages. [The kernel room](../rooms/kernel.md) explains how they travel.",
        "Made from `app/kernel/messages.py` by `docs/make_reference.py`.",
        "",
        "```python",
        "from tapescope.app.kernel.messages import Execute, decode, encode",
        "",
        'print(encode(Execute(cell="a", revision=1, code="1 + 1")))',
        'print(decode(\'{"kind": "status", "state": "idle"}\'))',
        "```",
        "",
        "```text",
        '{"kind": "execute", "cell": "a", "revision": 1, "code": "1 + 1", "store": true}',
        "Status(state='idle', cell=None)",
        "```",
    ]
    for title, table in (("Commands", messages.COMMANDS), ("Events", messages.EVENTS)):
        lines += ["", f"## {title}"]
        for kind, message in table.items():
            lines += ["", f"### `{kind}`", "", prose(message), *(["", *fields] if (fields := _fields(message)) else [])]
    return "\n".join(lines) + "\n"


def prose(thing: Any) -> str:
    """A docstring as running text."""
    return "\n\n".join(" ".join(p.split()) for p in (inspect.getdoc(thing) or "").split("\n\n"))


def _fields(thing: Any) -> list[str]:
    shown = [f for f in dataclasses.fields(thing) if not f.name.startswith("_")]
    if not shown:
        return []
    return [
        "| field | type | default |",
        "| --- | --- | --- |",
        *(f"| `{f.name}` | `{_bars(str(f.type))}` | {_default(f)} |" for f in shown),
    ]


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return f"`{field.default!r}`"
    if field.default_factory is not dataclasses.MISSING:
        return f"`{field.default_factory()!r}`"
    return ""


def _documented(function: Callable[..., Any]) -> list[str]:
    """A docstring with the ruled tables in it turned into Markdown's."""
    out: list[str] = []
    for paragraph in (inspect.getdoc(function) or "").split("\n\n"):
        rows = paragraph.splitlines()
        ruled = [i for i, r in enumerate(rows) if re.fullmatch(r"=+ +=+", r.strip())]
        if not ruled:
            out += [" ".join(paragraph.split()), ""]
            continue
        width = rows[ruled[0]].index(" ")
        entries: list[list[str]] = []
        for row in rows[ruled[0] + 1 : ruled[-1]]:
            name, text = row[:width].strip(), row[width:].strip()
            if name:
                entries.append([name, text])
            else:
                entries[-1][1] += " " + text
        out += ["| entry | content |", "| --- | --- |", *(f"| `{n}` | {cell(t)} |" for n, t in entries), ""]
    return out[:-1]


PAGES: dict[str, Callable[[], str]] = {
    "keys.md": keys,
    "options.md": options,
    "records.md": records,
    "messages.md": protocol,
}
"""The pages, and what makes them."""


def main(arguments: list[str]) -> int:
    """Write all pages, or with --check name those that are not up to date."""
    stale = []
    for name, make in PAGES.items():
        text, page = make(), FOLDER / name
        if "--check" not in arguments:
            FOLDER.mkdir(exist_ok=True)
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            stale.append(name)
    if stale:
        raise SystemExit(f"docs/reference/{stale[0]} is not up to date: run python docs/make_reference.py")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
