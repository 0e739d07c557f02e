"""The colours and the style sheet of SVG pictures: a light and a dark scheme, limited to the picture's own class.

Every rule is plain (no variables), since not every reader of SVG knows more.
"""

from __future__ import annotations

from typing import Literal

from .families import FAMILIES, KINDS

Theme = Literal["auto", "light", "dark"]

TITLE, FACT, BADGE = 13.0, 11.0, 10.5
"""Font sizes in pixels."""

BADGES = {
    "leaf": "leaf", "constant": "note", "saved": "saved", "kept": "keeper", "grad": "grad", "root": "root",
    "error": "error", "break": "break", "note": "note",
    "hint": "grad", "good": "grad", "slow": "saved", "refused": "break",
}  # fmt: skip
"""Whose colours a kind of badge has; any other is a stub."""

_LIGHT = {
    "page": "#ffffff", "ink": "#1f2328", "muted": "#59636e", "line": "#818b98", "box": "#ffffff", "edge": "#afb8c1",
    "frame": "#f6f8fa", "border": "#d1d9e0", "group": "#eaeef2", "root": "#bf3989",
    "product": "#0969da", "activation": "#e16f24", "norm": "#8250df", "reduction": "#1a7f37", "shape": "#818b98",
    "other": "#1b7c83", "leaf": "#0969da",
    "leaf-fill": "#ddf4ff", "leaf-ink": "#0550ae", "saved-fill": "#fff8c5", "saved-ink": "#7d4e00",
    "keeper-fill": "none", "keeper-ink": "#7d4e00",
    "grad-fill": "#dafbe1", "grad-ink": "#116329", "root-fill": "#ffeff7", "root-ink": "#99286e",
    "error-fill": "#ffcecb", "error-ink": "#a40e26", "break-fill": "#ffe3cc", "break-box": "#fff8f2", "break-ink": "#953800",
    "note-fill": "#eaeef2", "note-ink": "#424a53",
    "input": "#57606a", "output": "#57606a", "call": "#57606a", "break": "#e16f24", "guard": "#bf8700",
    "kernel": "#6639ba", "error": "#cf222e", "error-box": "#fff5f4",
    "back": "#f6fbf7", "back-edge": "#a6d1b0", "back-ink": "#1a7f37", "lit": "#e6f7ea",
    "bar": "#8c959f", "bar-rest": "#eaeef2",
}  # fmt: skip
_DARK = {
    "page": "#0d1117", "ink": "#e6edf3", "muted": "#9198a1", "line": "#6e7681", "box": "#161b22", "edge": "#484f58",
    "frame": "#11161d", "border": "#30363d", "group": "#21262d", "root": "#db61a2",
    "product": "#4493f8", "activation": "#f0883e", "norm": "#a371f7", "reduction": "#3fb950", "shape": "#6e7681",
    "other": "#39c5cf", "leaf": "#4493f8",
    "leaf-fill": "#0c2d6b", "leaf-ink": "#a5d6ff", "saved-fill": "#3b2300", "saved-ink": "#f2cc60",
    "keeper-fill": "none", "keeper-ink": "#f2cc60",
    "grad-fill": "#04260f", "grad-ink": "#7ee787", "root-fill": "#42062a", "root-ink": "#ffbedd",
    "error-fill": "#67060c", "error-ink": "#ffb3ad", "break-fill": "#4a2208", "break-box": "#23150b", "break-ink": "#ffc680",
    "note-fill": "#21262d", "note-ink": "#b1bac4",
    "input": "#8b949e", "output": "#8b949e", "call": "#8b949e", "break": "#f0883e", "guard": "#d29922",
    "kernel": "#a371f7", "error": "#f85149", "error-box": "#2a0d0f",
    "back": "#0f1c14", "back-edge": "#2b5a38", "back-ink": "#56d364", "lit": "#143a20",
    "bar": "#8b949e", "bar-rest": "#30363d",
}  # fmt: skip


def style(theme: Theme) -> str:
    """The style sheet; plain rules instead of variables, which not every SVG reader knows."""
    fonts = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace'
    shape = _scoped(
        [
            f"text{{font-family:{fonts};font-size:{FACT:g}px;white-space:pre}}",
            f"text.title{{font-size:{TITLE:g}px;font-weight:600}}",
            f"text.badge{{font-size:{BADGE:g}px}}",
            "text.name{font-weight:600}",
            ".line path{fill:none;stroke-width:1.4}",
            ".box.root .body{stroke-width:2}",
            ".box.repeat rect,.box.cut .body{stroke-dasharray:5 3}",
            ".pill.stub,.pill.keeper{fill:none;stroke-dasharray:2 2}",
            "tspan.note{font-weight:400}",
            ".line.order path,.line.resume path{stroke-dasharray:2 4}",
            ".line.resume path{stroke-dasharray:6 4}",
            ".line path.tip{stroke-dasharray:none}",
            ".line.error path{stroke-width:2}",
            ".kept{fill:none;stroke-width:1.2;stroke-dasharray:1.5 4;stroke-linecap:round}",
            ".box.break .body,.box.guard .body{stroke-dasharray:6 3}",
            ".box.error .body{stroke-width:2}",
            ".box.kernel-box .body{stroke-dasharray:none}",
        ]
    )
    if theme != "auto":
        return shape + _scoped(_colours(_DARK if theme == "dark" else _LIGHT))
    dark = _scoped(_colours(_DARK))
    return f"{shape}{_scoped(_colours(_LIGHT))}@media (prefers-color-scheme:dark){{{dark}}}"


def _scoped(rules: list[str]) -> str:
    scoped = []
    for rule in rules:
        selectors, _, body = rule.partition("{")
        scoped.append(",".join(f".tapescope-picture {s}" for s in selectors.split(",")) + "{" + body)
    return "".join(scoped)


def _colours(c: dict[str, str]) -> list[str]:
    rules = [
        f".page{{fill:{c['page']}}}",
        f"text{{fill:{c['ink']}}}",
        f"text.fact{{fill:{c['muted']}}}",
        f"text.name{{fill:{c['muted']}}}",
        f".ground{{fill:{c['frame']}}}",
        f".ground.mirror{{fill:{c['back']}}}",
        f".frame{{fill:{c['frame']};stroke:{c['border']}}}",
        f".body{{fill:{c['box']};stroke:{c['edge']}}}",
        f".behind,.box.scope .body,.box.repeat .body,.box.cut .body{{fill:{c['group']};stroke:{c['edge']}}}",
        f".box.root .body{{stroke:{c['root']}}}",
        f".line path{{stroke:{c['line']}}}",
        f".line path.tip{{fill:{c['line']};stroke:none}}",
        f".pill.stub{{stroke:{c['line']}}}",
        f".pill.keeper{{stroke:{c['keeper-ink']}}}",
        f"text.stub{{fill:{c['muted']}}}",
    ]
    rules += [
        f".box.break .body,.box.guard .body{{fill:{c['break-box']};stroke:{c['break']}}}",
        f".box.error .body{{fill:{c['error-box']};stroke:{c['error']}}}",
        f".box.kernel-box .body{{fill:{c['box']};stroke:{c['edge']}}}",
        f".box.back .body{{fill:{c['back']};stroke:{c['back-edge']}}}",
        f".box.back.lit .body{{fill:{c['lit']};stroke:{c['back-ink']}}}",
        f".box.back text.title{{fill:{c['back-ink']}}}",
        f".frame.mirror{{fill:{c['back']};stroke:{c['back-edge']}}}",
        f"text.name.back{{fill:{c['back-ink']}}}",
        f".kept{{stroke:{c['saved-ink']}}}",
        f".line.back path{{stroke:{c['back-ink']}}}",
        f".line.back path.tip{{fill:{c['back-ink']};stroke:none}}",
        f".line.error path{{stroke:{c['error']}}}",
        f".line.error path.tip{{fill:{c['error']};stroke:none}}",
        f".bar{{fill:{c['bar']}}}",
        f".bar-rest{{fill:{c['bar-rest']}}}",
    ]
    rules += [f"rect.{family}{{fill:{c[family]}}}" for family in (*FAMILIES, "other", *KINDS)]
    for kind in dict.fromkeys(BADGES.values()):
        rules += [f".pill.{kind}{{fill:{c[kind + '-fill']}}}", f"text.{kind}{{fill:{c[kind + '-ink']}}}"]
    return rules
