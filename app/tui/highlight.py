"""Which parts of a cell's text are keywords, strings, comments and so on, cached by text.

Lexing is Pygments'; the names of the parts are ours (`PARTS`), so that a theme gives each a colour once.
It knows no colours and no widgets.
"""

from __future__ import annotations

from functools import lru_cache

from pygments.lexer import Lexer
from pygments.token import (
    Comment,
    Error,
    Generic,
    Keyword,
    Literal,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Token,
)

__all__ = ["LARGE", "PARTS", "Span", "part_of", "spans"]

Span = tuple[int, int, str]
"""Start and end character within one line, and the name of the part."""

LARGE = 3000
"""Texts with more lines than this are not highlighted: lexing them would be felt while typing."""

_TOKENS = {
    Comment: "comment",
    Keyword: "keyword",
    Keyword.Constant: "constant",
    Keyword.Type: "class",
    Literal: "string",
    String: "string",
    String.Doc: "docstring",
    String.Escape: "escape",
    String.Interpol: "escape",
    String.Affix: "keyword",
    Number: "number",
    Name.Builtin: "builtin",
    Name.Builtin.Pseudo: "self",
    Name.Class: "class",
    Name.Exception: "class",
    Name.Decorator: "decorator",
    Name.Function: "function",
    Name.Function.Magic: "function",
    Name.Namespace: "namespace",
    Name.Tag: "keyword",
    Operator: "operator",
    Operator.Word: "keyword",
    Punctuation: "punctuation",
    Generic.Heading: "heading",
    Generic.Subheading: "heading",
    Generic.Emph: "emphasis",
    Generic.Strong: "strong",
    Error: "error",
}

PARTS = tuple(dict.fromkeys(_TOKENS.values()))
"""The names of the parts that a theme colours."""


@lru_cache(maxsize=4)
def _lexer(language: str) -> Lexer:
    if language == "markdown":
        from pygments.lexers.markup import MarkdownLexer

        return MarkdownLexer(stripnl=False, ensurenl=False)
    from pygments.lexers.python import PythonLexer

    return PythonLexer(stripnl=False, ensurenl=False)


@lru_cache(maxsize=256)
def part_of(token: object) -> str:
    kind = token
    while kind is not None and kind is not Token:
        if kind in _TOKENS:
            return _TOKENS[kind]  # type: ignore[index]
        kind = getattr(kind, "parent", None)
    return ""


@lru_cache(maxsize=512)
def spans(source: str, language: str) -> tuple[tuple[Span, ...], ...]:
    """For each line of `source` (split at newlines) its coloured parts. `language` is "python" or "markdown"."""
    lines: list[list[Span]] = [[]]
    if language not in ("python", "markdown") or source.count("\n") > LARGE:
        return tuple(() for _ in range(source.count("\n") + 1))
    column = 0
    for token, text in _lexer(language).get_tokens(source):
        part = part_of(token)
        for number, piece in enumerate(text.split("\n")):
            if number:
                lines.append([])
                column = 0
            if piece and part:
                lines[-1].append((column, column + len(piece), part))
            column += len(piece)
    wanted = source.count("\n") + 1
    lines.extend([] for _ in range(wanted - len(lines)))
    return tuple(tuple(line) for line in lines[:wanted])
