"""What a stranger can put into a notebook, a link or an output: none of it runs, loads anything, or reaches the page."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable

import pytest

SCRIPT = "document.documentElement.dataset.hacked='yes'"
HTML = [
    f"<script>{SCRIPT}</script>",
    f'<img src="x" onerror="{SCRIPT}">',
    f'<svg onload="{SCRIPT}"><script>{SCRIPT}</script></svg>',
    f'<svg><a xlink:href="javascript:{SCRIPT}"><text y="20">press</text></a></svg>',
    f'<a href="javascript:{SCRIPT}">press</a>',
    f'<iframe srcdoc="<script>parent.{SCRIPT}</script>"></iframe>',
    f'<form action="https://example.org"><input name="q"><button formaction="javascript:{SCRIPT}">press</button></form>',
    '<img src="https://example.org/pixel.png"><img srcset="https://example.org/2.png 2x" src="data:,">',
    '<style>@import url(https://example.org/a.css); * { background: url("https://example.org/b.png") !important }</style>',
    '<div style="position:fixed;inset:0;z-index:9999;background:red;background-image:url(https://example.org/c.png)">over</div>',
    '<link rel="stylesheet" href="https://example.org/d.css"><meta http-equiv="refresh" content="0;url=https://example.org">',
    f"<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror={SCRIPT}&gt;'>",
    f'<details open ontoggle="{SCRIPT}">x</details><video><source onerror="{SCRIPT}"></video>',
    '<base href="https://example.org/"><a href="/x">x</a><object data="https://example.org/e"></object>',
    f'<svg><use href="data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg><image href=1 onerror={SCRIPT} /></svg>#x"/></svg>',
    f'<svg><animate attributeName="href" values="javascript:{SCRIPT}"/><set attributeName="onmouseover" to="{SCRIPT}"/></svg>',
    '<input id="app" name="title"><a id="defaultView" name="cookie">x</a><b id="main">x</b>',
]  # fmt: skip


TEX = [
    rf"$\href{{javascript:{SCRIPT}}}{{press}}$ $\url{{https://example.org}}$ $\includegraphics{{https://example.org/f.png}}$",
    r"$$\def\a{\a\a}\a$$ $\rule{9999em}{9999em}$ $\style{position:fixed}{x}$ $\class{cell}{x}$ $\id{main}{x}$",
    rf"$\text{{<img src=x onerror={SCRIPT}>}}$ $$" + "{" * 5000 + "}" * 5000 + "$$",
]


def figure(text: str) -> dict:
    return {"data": [{"type": "scatter", "y": [1], "name": text}], "layout": {"title": {"text": text}}}


def hostile_notebook() -> str:
    cells = [
        {"cell_type": "markdown", "id": f"m{n}", "metadata": {}, "source": text} for n, text in enumerate(HTML + TEX)
    ]
    cells.append(
        {
            "cell_type": "markdown",
            "id": "links",
            "metadata": {},
            "source": f"[a](javascript:{SCRIPT}) ![b](https://example.org/i.png) <x onclick={SCRIPT}>",
        }
    )
    for n, text in enumerate(HTML):
        outputs = [
            {"output_type": "display_data", "metadata": {}, "data": {mime: text}}
            for mime in ("text/html", "image/svg+xml", "text/markdown")
        ]
        outputs += [
            {"output_type": "display_data", "metadata": {}, "data": {"image/png": f'" onerror="{SCRIPT}', "text/plain": text}},
            {"output_type": "stream", "name": text, "text": f"\x1b]8;;javascript:{SCRIPT}\x07link\x1b[38;2;1;2;3;x;url(m{text}"},
            {"output_type": "error", "ename": text, "evalue": text, "traceback": [text]},
            {"output_type": text, "data": {"application/javascript": SCRIPT, "application/vnd.plotly.v1+json": figure(text)}},
        ]  # fmt: skip
        cells.append(
            {
                "cell_type": "code",
                "id": f"c{n}",
                "metadata": {"x": text},
                "source": text,
                "execution_count": None,
                "outputs": outputs,
            }
        )
    return json.dumps(
        {
            "cells": cells,
            "metadata": {"__proto__": {"polluted": 1}, "title": HTML[0]},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


def check(page) -> None:
    """No script ran, no other host was asked, and the page's own parts are where they were."""
    page.page.wait_for_timeout(700)
    assert page.page.get_attribute("html", "data-hacked") is None
    assert page.page.evaluate_handle("({}).polluted === undefined").json_value() is True
    foreign = [u for u in page.requests if not u.startswith((page.address, "blob:", "data:"))]
    assert foreign == []
    assert page.page.locator("header.top .run-all, header.top .stop").first.is_visible()
    at_centre = page.page.evaluate("document.elementFromPoint(innerWidth / 2, 20)?.closest('header.top') !== null")
    assert at_centre, "something lies over the head of the page"
    bad = page.page.evaluate(
        """() => {
            const found = [];
            const walk = root => { for (const e of root.querySelectorAll("*")) {
                const active = [...e.attributes ?? []].some(a => /^on/i.test(a.name) || /^\\s*javascript:/i.test(a.value));
                if (active || /^(script|iframe|object|embed|base|form|link|meta)$/i.test(e.nodeName)) found.push(e.outerHTML.slice(0, 200));
                if (e.shadowRoot) walk(e.shadowRoot);
            } };
            walk(document.getElementById("app"));
            return found;
        }"""
    )
    assert bad == []


@pytest.fixture(scope="module")
def page(open_page: Callable):
    return open_page()


def test_a_hostile_notebook_does_nothing(page):
    page.load("hostile.ipynb", hostile_notebook())
    page.page.evaluate("document.querySelector('.document').scrollTop = 1e6")
    check(page)
    page.page.evaluate(
        "document.querySelectorAll('a').forEach(a => a.getAttribute('href')?.startsWith('http') || a.click())"
    )
    check(page)


def test_a_hostile_link_does_nothing(open_page):
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = squeezer.compress(hostile_notebook().encode()) + squeezer.flush()
    page = open_page("?device=cpu#doc=" + base64.urlsafe_b64encode(packed).decode().rstrip("="))
    page.page.wait_for_selector('.banner:has-text("nothing in it runs")')
    check(page)
    page.ready()
    assert page.page.locator('.cell[data-run="running"], .cell[data-run="waiting"], .cell[data-run="ok"]').count() == 0


def test_a_link_that_unpacks_to_gigabytes_is_refused(open_page):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = packer.compress(b"[" * 50_000_000) + packer.flush()
    page = open_page("?device=cpu#doc=" + base64.urlsafe_b64encode(bomb).decode().rstrip("="))
    page.page.wait_for_selector('.notice:has-text("cannot be read")')


def test_hostile_records_are_drawn_as_text(page):
    nodes = [
        {"id": 1, "kind": "leaf", "label": HTML[0], "inputs": [1, 99],
         "outputs": [{"shape": ["x" * 500, {}], "dtype": HTML[1]}]},
        {"id": 2, "kind": "op", "op": HTML[1], "module": ".".join(["a"] * 500), "inputs": ["1", None],
         "source": {"line": "x"}, "saved": [{"bytes": "many"}]},
        {"id": 2, "op": 7}, None, [],
        {"id": 3, "op": "\u202eevil", "inputs": "1", "source": {"line": 1e9, "end_line": 1e12, "cell": "a"}},
    ]  # fmt: skip
    recording = {
        "format": "tapescope-recording", "version": 1, "title": HTML[0],
        "runs": {"a": {"seconds": "long", "status": HTML[0]}},
        "notebook": {"cells": [{"cell_type": "code", "id": "a", "source": "x", "outputs": [{}]}], "nbformat": 4},
        "tapes": {"a": {"nodes": nodes, "roots": "no", "dropped": HTML[0]}},
        "captures": [{"function": HTML[0], "segments": [None, {"nodes": 5}]}], "breaks": [{"reason": HTML[1]}, 3], "guards": "x",
        "costs": {"a": {"lines": [None, {"cell": "a", "line": HTML[0]}]}}, "hints": {"a": [{"text": HTML[0], "line": "x"}]},
        "steps": {"a": [None, {"op": HTML[0], "shape": "x"}]},
        "variables": [{"name": HTML[0], "type": HTML[1], "value": HTML[2]}], "kernel": {"device": HTML[0]},
    }  # fmt: skip
    page.load("hostile.json", json.dumps(recording))
    page.page.locator("#panel-tape .row").first.wait_for()
    for tab in ("graph", "breaks", "kernels", "variables", "device", "tape"):
        page.page.click(f"#tab-{tab}")
    page.page.click('.segmented button:has-text("Picture"):visible')
    check(page)


def test_what_a_cell_shows_is_cleaned_too(page):
    page.new(
        "from IPython.display import HTML, SVG, Javascript, display\n"
        + "\n".join(f"display(HTML({text!r}))" for text in HTML)
        + f"\ndisplay(Javascript({SCRIPT!r}))"
    )
    page.ready()
    page.run().done()
    check(page)
    assert page.errors == []
