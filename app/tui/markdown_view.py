"""Markdown as lines of styled text in a given width.

Parsing and layout are Rich's, mathematics is made readable first (`notebook.mathematics`); headings, code and links
are drawn in the look of the app.  What an author folds away (`<details>`, as the lessons' solutions) is a line with its
summary: opening the cell shows its text.  Links are shown as text with their address and never become live terminal links: a
notebook may come from anybody.
"""

from __future__ import annotations

import io
import re
from functools import lru_cache
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from rich.theme import Theme

from ..notebook.mathematics import replace_in_markdown
from .ansi import inert
from .highlight import spans
from .themes import Look

__all__ = ["render"]


class _Heading(Heading):
    """A heading at the left edge, without boxes."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text
        if self.tag == "h1":
            yield Text("━" * min(self.text.cell_len, options.max_width), console.get_style("markdown.h1"))


class _CodeBlock(CodeBlock):
    """A fenced block, coloured as code cells are."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        source = str(self.text).rstrip("\n").expandtabs(4)
        language = "python" if self.lexer_name in ("python", "py", "python3", "pycon", "ipython") else ""
        text = Text(source, style=console.get_style("markdown.code_block"), no_wrap=False)
        if language:
            position = 0
            for line, parts in zip(source.split("\n"), spans(source, language), strict=True):
                for start, end, part in parts:
                    text.stylize(console.get_style(f"syntax.{part}"), position + start, position + end)
                position += len(line) + 1
        yield Padding(text, (0, 0, 0, 2))


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
    }


@lru_cache(maxsize=4)
def _console(look: Look) -> Console:
    code = look.syntax["string"]
    styles = {
        "markdown.h1": look.strong + look.accent,
        "markdown.h2": look.strong + look.primary,
        "markdown.h3": look.strong,
        "markdown.h4": look.strong + look.soft,
        "markdown.h5": look.soft,
        "markdown.h6": look.soft,
        "markdown.h7": look.soft,
        "markdown.code": code,
        "markdown.code_block": look.soft,
        "markdown.item.bullet": look.accent,
        "markdown.item.number": look.accent,
        "markdown.block_quote": look.muted,
        "markdown.link": look.primary,
        "markdown.link_url": look.muted + Style(underline=True),
        "markdown.hr": look.faint,
        "markdown.table.border": look.faint,
        "markdown.table.header": look.strong,
        "markdown.em": Style(italic=True),
        "markdown.strong": Style(bold=True),
        **{f"syntax.{part}": style for part, style in look.syntax.items()},
    }
    return Console(
        file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False, theme=Theme(styles)
    )


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SUMMARY = re.compile(r"<summary[^>]*>(.*?)</summary>", re.IGNORECASE | re.DOTALL)


def folded(source: str) -> str:
    """`source` with each `<details>` block, which begins a line outside of code, as a line with its summary."""
    out: list[str] = []
    inside: list[str] | None = None
    fence = ""
    for line in source.split("\n"):
        found = _FENCE.match(line)
        if found is not None and (not fence or (found[1].startswith(fence) and not line.strip(" `~"))):
            fence = "" if fence else found[1]
        if inside is None and not fence and line.lower().startswith("<details"):
            inside = []
        if inside is None:
            out.append(line)
            continue
        inside.append(line)
        if not fence and "</details>" in line.lower():
            summary = _SUMMARY.search("\n".join(inside))
            out += ["", f"▸ **{summary[1].strip() if summary else 'Details'}** *(folded away; Enter shows it)*", ""]
            inside = None
    return "\n".join([*out, *(inside or ())])


@lru_cache(maxsize=512)
def render(source: str, width: int, look: Look) -> tuple[tuple[Segment, ...], ...]:
    """The drawn lines of `source`; none for an empty text."""
    if not source.strip():
        return ()
    console = _console(look)
    markdown = _Markdown(replace_in_markdown(folded(inert(source))), hyperlinks=False, style=look.text)
    options = console.options.update(width=max(width, 10), height=None)
    lines = [tuple(line) for line in console.render_lines(markdown, options, pad=False)]
    while lines and not "".join(segment.text for segment in lines[0]).strip():
        lines.pop(0)
    while lines and not "".join(segment.text for segment in lines[-1]).strip():
        lines.pop()
    return tuple(lines)
