"""A notebook as one HTML page that needs nothing else: text, code, outputs, figures and the views of tapes.

The page runs no script of the notebook's: HTML outputs are shown in a sandboxed frame, so that a page made from a
notebook of somebody else's can be opened.  Figures bring plotly's library with them, once, where there are any.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

from .document import Cell, Notebook
from .export import text_of, title_of

__all__ = ["html_page"]

_FIGURE = "application/vnd.plotly.v1+json"
_TAPE = "application/vnd.tapescope.tape+json"
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")

_STYLE = """
:root { color-scheme: light dark; --ground: #fcfcfb; --text: #23292f; --muted: #616a74; --code: #f1f2f4; --line: #d9dde2;
  --error: #c42532; --accent: #ae5100; --key: #7a30b8; --string: #1a7a37; --number: #ae5100; --name: #0b61c9; }
@media (prefers-color-scheme: dark) { :root { --ground: #12151b; --text: #d6dae1; --muted: #8f98a5; --code: #1b1f27;
  --line: #2c333f; --error: #f27a7a; --accent: #f2a65a; --key: #c49bf0; --string: #98cf88; --number: #f2a65a;
  --name: #6cb6ff; } }
body { background: var(--ground); color: var(--text); font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 58rem;
  padding: 2rem 1rem 4rem; }
h1, h2, h3, h4 { line-height: 1.25; margin: 1.6em 0 .5em; } h1 { margin-top: .2em; }
pre, code { font: 14px/1.5 ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
p code, li code, td code { background: var(--code); border-radius: 3px; padding: .1em .3em; }
pre { margin: 0; overflow-x: auto; padding: .7rem .9rem; white-space: pre; }
.cell { margin: .9rem 0; } .code { background: var(--code); border-radius: 6px; position: relative; }
.count { color: var(--muted); font: 12px ui-monospace, monospace; position: absolute; right: .7rem; top: .5rem; }
.output { border-left: 3px solid var(--line); margin: .35rem 0 0 .2rem; }
.output pre { padding: .3rem .9rem; max-height: 40rem; } .error { border-color: var(--error); }
.output img, .output svg { max-width: 100%; height: auto; margin: .4rem .9rem; }
iframe { border: 0; width: 100%; background: #fff; border-radius: 4px; margin: .4rem 0; }
table { border-collapse: collapse; } td, th { border: 1px solid var(--line); padding: .25em .6em; text-align: left; }
blockquote { border-left: 3px solid var(--line); color: var(--muted); margin-left: 0; padding-left: 1rem; }
.k { color: var(--key); } .s { color: var(--string); } .m { color: var(--number); } .n { color: var(--name); }
.c { color: var(--muted); font-style: italic; } .math { font-family: 'STIX Two Math', Cambria Math, serif; font-style: italic; }
details > summary { color: var(--muted); cursor: pointer; padding: .3rem .9rem; }
"""


def html_page(notebook: Notebook) -> str:
    """The whole page."""
    title = title_of(notebook)
    cells = "\n".join(_cell(cell) for cell in notebook.cells)
    library = ""
    if any(_FIGURE in _data(output) for cell in notebook.cells for output in cell.outputs):
        library = _plotly()
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n{library}</head>\n<body>\n<main>\n{cells}\n</main>\n"
        "</body>\n</html>\n"
    )


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        return ""
    return f"<script>{get_plotlyjs()}</script>\n"


def _data(output: dict[str, Any]) -> dict[str, Any]:
    data = output.get("data")
    return data if isinstance(data, dict) else {}


def _cell(cell: Cell) -> str:
    if cell.cell_type == "markdown":
        return f"<section class='cell'>{_markdown(cell.source)}</section>"
    if cell.cell_type == "raw":
        return f"<section class='cell'><pre>{html.escape(cell.source)}</pre></section>"
    if not cell.source.strip() and not cell.outputs:
        return ""
    count = f"<span class='count'>[{cell.execution_count}]</span>" if cell.execution_count is not None else ""
    outputs = "".join(_output(output) for output in cell.outputs)
    return f"<section class='cell'><div class='code'>{count}<pre>{_code(cell.source)}</pre></div>{outputs}</section>"


def _code(source: str) -> str:
    from pygments.lexers.python import PythonLexer
    from pygments.token import Comment, Keyword, Name, Number, String

    classes = ((Comment, "c"), (Keyword, "k"), (String, "s"), (Number, "m"), (Name.Function, "n"), (Name.Class, "n"))
    parts = []
    for token, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens(source):
        name = next((c for kind, c in classes if token in kind), "")
        parts.append(f"<span class='{name}'>{html.escape(text)}</span>" if name else html.escape(text))
    return "".join(parts)


def _markdown(source: str) -> str:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    math: list[str] = []

    def keep(found: re.Match[str]) -> str:
        math.append(found.group(0))
        return f"\x02{len(math) - 1}\x03"

    marked = re.sub(r"\$\$.+?\$\$|(?<![\\$\w])\$(?!\s)[^$\n]+?(?<!\s)\$(?![\w$])", keep, source, flags=re.DOTALL)
    shown = parser.render(marked)
    return re.sub(
        r"\x02(\d+)\x03", lambda m: f"<span class='math'>{html.escape(_formula(math[int(m[1])]))}</span>", shown
    )


def _formula(text: str) -> str:
    from .mathematics import readable

    return readable(text.strip("$"))


def _output(output: dict[str, Any]) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        return _pre(text_of(output.get("text")))
    if kind == "error":
        return _pre(text_of("\n".join(map(text_of, output.get("traceback") or []))), "error")
    data = _data(output)
    if _FIGURE in data:
        return _figure(data[_FIGURE])
    if _TAPE in data:
        return _tape(data)
    for mime in _IMAGES:
        if mime in data:
            code = "".join(text_of(data[mime]).split())
            return f"<div class='output'><img alt='output' src='data:{mime};base64,{html.escape(code)}'></div>"
    if "image/svg+xml" in data:
        return _svg(text_of(data["image/svg+xml"]))
    if "text/html" in data:
        page = f"<base target='_blank'><body style='font:14px system-ui'>{text_of(data['text/html'])}"
        return (
            f"<div class='output'><iframe sandbox srcdoc='{html.escape(page, quote=True)}' title='output' "
            "style='height:22rem'></iframe></div>"
        )
    if "text/markdown" in data:
        return f"<div class='output'>{_markdown(text_of(data['text/markdown']))}</div>"
    text = text_of(data.get("text/plain"))
    return _pre(text) if text.strip() else ""


def _pre(text: str, kind: str = "") -> str:
    return f"<div class='output {kind}'><pre>{html.escape(text.rstrip())}</pre></div>" if text.strip() else ""


def _svg(source: str) -> str:
    """An image of a drawing: inside an img element no script of it runs."""
    import base64

    code = base64.b64encode(source.encode("utf-8", "replace")).decode("ascii")
    return f"<div class='output'><img alt='drawing' src='data:image/svg+xml;base64,{code}'></div>"


def _figure(figure: Any) -> str:
    # "</" would end the script element, whatever the JSON says.
    text = json.dumps(figure).replace("</", "<\\/").replace("<!--", "<\\!--")
    return (
        "<div class='output'><div class='figure'></div><script>(function () { const place = "
        "document.currentScript.previousElementSibling; const figure = "
        f"{text}; if (window.Plotly) Plotly.newPlot(place, figure.data, figure.layout, {{responsive: true}}); }})();"
        "</script></div>"
    )


def _tape(data: dict[str, Any]) -> str:
    """The view of a tape as it was drawn when it ran, else its text."""
    drawn = _svg(text_of(data["image/svg+xml"])) if "image/svg+xml" in data else ""
    text = text_of(data.get("text/plain"))
    if not drawn:
        return _pre(text)
    return f"{drawn}<details class='output'><summary>as text</summary><pre>{html.escape(text)}</pre></details>"
