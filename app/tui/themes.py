"""The app's themes, and the styles drawn text takes from whichever theme is on.

Two themes are ours (dark and light); any other Textual theme works too, since every style is derived from a
theme's roles (primary, accent, success ...) where the theme does not name it.  No widget is known here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import cycle, islice

from rich.style import Style
from textual.color import Color
from textual.theme import Theme

from .highlight import PARTS

__all__ = ["DARK", "LIGHT", "THEMES", "Look", "look_of"]

DARK = Theme(
    name="tapescope-dark",
    dark=True,
    primary="#6cb6ff",
    secondary="#b99cf5",
    accent="#f2a65a",
    foreground="#d6dae1",
    background="#12151b",
    surface="#1b1f27",
    panel="#242a34",
    success="#7fcf8f",
    warning="#e8c268",
    error="#f27a7a",
    variables={
        "syntax-keyword": "#c49bf0",
        "syntax-constant": "#f2a65a",
        "syntax-string": "#98cf88",
        "syntax-number": "#f2a65a",
        "syntax-function": "#6cb6ff",
        "syntax-class": "#e8c268",
        "syntax-builtin": "#63c5cf",
        "syntax-decorator": "#e8c268",
        "syntax-comment": "#858f9d",
        "plot-1": "#6cb6ff",
        "plot-2": "#f2a65a",
        "plot-3": "#7fcf8f",
        "plot-4": "#f27a7a",
        "plot-5": "#b99cf5",
        "plot-6": "#63c5cf",
        "plot-7": "#e8c268",
        "scrollbar": "#333b48",
        "scrollbar-hover": "#465163",
        "scrollbar-active": "#6cb6ff",
        "scrollbar-background": "#12151b",
        "scrollbar-background-hover": "#12151b",
        "scrollbar-background-active": "#12151b",
        "scrollbar-corner-color": "#12151b",
    },
)

LIGHT = Theme(
    name="tapescope-light",
    dark=False,
    primary="#0b61c9",
    secondary="#7440c4",
    accent="#ae5100",
    foreground="#23292f",
    background="#fcfcfb",
    surface="#f1f2f4",
    panel="#e3e6ea",
    success="#1a7a37",
    warning="#8a6100",
    error="#c42532",
    variables={
        "syntax-keyword": "#7a30b8",
        "syntax-constant": "#ae5100",
        "syntax-string": "#1a7a37",
        "syntax-number": "#ae5100",
        "syntax-function": "#0b61c9",
        "syntax-class": "#8a6100",
        "syntax-builtin": "#0d7078",
        "syntax-decorator": "#8a6100",
        "syntax-comment": "#616a74",
        "plot-1": "#0b61c9",
        "plot-2": "#c75b00",
        "plot-3": "#1a7a37",
        "plot-4": "#c42532",
        "plot-5": "#7440c4",
        "plot-6": "#0d7078",
        "plot-7": "#8a6100",
        "scrollbar": "#c6ccd4",
        "scrollbar-hover": "#aab3be",
        "scrollbar-active": "#0b61c9",
        "scrollbar-background": "#fcfcfb",
        "scrollbar-background-hover": "#fcfcfb",
        "scrollbar-background-active": "#fcfcfb",
        "scrollbar-corner-color": "#fcfcfb",
    },
)

THEMES = (DARK, LIGHT)

_ROLE_OF_PART = {
    "comment": "muted",
    "docstring": "syntax-string",
    "keyword": "secondary",
    "constant": "warning",
    "string": "success",
    "escape": "accent",
    "number": "warning",
    "builtin": "primary",
    "self": "muted",
    "class": "accent",
    "decorator": "accent",
    "function": "primary",
    "namespace": "foreground",
    "operator": "foreground",
    "punctuation": "soft",
    "heading": "primary",
    "emphasis": "foreground",
    "strong": "foreground",
    "error": "foreground",
}


@dataclass(frozen=True)
class Look:
    """Resolved styles for drawn text. Two looks of one theme are equal, so a look can be part of a cache key."""

    name: str
    dark: bool
    background: str
    surface: str
    panel: str
    ground: Style = field(compare=False)
    text: Style = field(compare=False)
    soft: Style = field(compare=False)
    muted: Style = field(compare=False)
    faint: Style = field(compare=False)
    strong: Style = field(compare=False)
    accent: Style = field(compare=False)
    primary: Style = field(compare=False)
    success: Style = field(compare=False)
    warning: Style = field(compare=False)
    error: Style = field(compare=False)
    code: Style = field(compare=False)
    linked: Style = field(compare=False)
    linked_line: Style = field(compare=False)
    linked_soft: Style = field(compare=False)
    edit_line: Style = field(compare=False)
    cursor: Style = field(compare=False)
    selection: Style = field(compare=False)
    row_cursor: Style = field(compare=False)
    row_cursor_idle: Style = field(compare=False)
    chip: Style = field(compare=False)
    syntax: dict[str, Style] = field(compare=False)
    plot: tuple[str, ...] = field(compare=False)

    def __hash__(self) -> int:
        return hash((self.name, self.background, self.surface))


@lru_cache(maxsize=8)
def _look(name: str, roles: tuple[tuple[str, str], ...], dark: bool) -> Look:
    role = dict(roles)

    def mix(below: str, above: str, amount: float) -> str:
        return Color.parse(role[below]).blend(Color.parse(role[above]), amount).hex6.lower()

    role["soft"] = mix("background", "foreground", 0.8)
    role["muted"] = mix("background", "foreground", 0.6 if dark else 0.7)
    role["faint"] = mix("background", "foreground", 0.38 if dark else 0.45)

    def of(key: str, bold: bool | None = None) -> Style:
        return Style(color=role[key], bold=bold)

    syntax = {}
    for part in PARTS:
        key = f"syntax-{part}"
        while key not in role:
            key = _ROLE_OF_PART.get(key.removeprefix("syntax-"), "foreground")
        syntax[part] = Style(
            color=role[key],
            italic=part in ("comment", "emphasis") or None,
            bold=part in ("heading", "strong") or None,
        )
    named = [role[key] for key in (f"plot-{n}" for n in range(1, 10)) if key in role]
    plot = named or [role[key] for key in ("primary", "accent", "success", "error", "secondary", "warning")]
    return Look(
        name=name,
        dark=dark,
        background=role["background"],
        surface=role["surface"],
        panel=role["panel"],
        ground=Style(color=role["foreground"], bgcolor=role["background"]),
        text=of("foreground"),
        soft=of("soft"),
        muted=of("muted"),
        faint=of("faint"),
        strong=of("foreground", bold=True),
        accent=of("accent"),
        primary=of("primary"),
        success=of("success"),
        warning=of("warning"),
        error=of("error"),
        code=Style(color=role["foreground"], bgcolor=role["surface"]),
        linked=Style(bgcolor=mix("surface", "accent", 0.42)),
        linked_line=Style(bgcolor=mix("surface", "accent", 0.17)),
        linked_soft=Style(bgcolor=mix("background", "accent", 0.2)),
        edit_line=Style(bgcolor=mix("surface", "foreground", 0.05)),
        cursor=Style(color=role["background"], bgcolor=role["foreground"]),
        selection=Style(bgcolor=mix("surface", "primary", 0.35)),
        row_cursor=Style(color=role["foreground"], bgcolor=mix("background", "primary", 0.4)),
        row_cursor_idle=Style(color=role["foreground"], bgcolor=role["panel"]),
        chip=Style(color=role["foreground"], bgcolor=role["panel"]),
        syntax=syntax,
        plot=tuple(islice(cycle(plot), 10)),
    )


def look_of(theme: Theme, variables: dict[str, str]) -> Look:
    """The look of `theme`; `variables` are the app's resolved CSS variables (`App.theme_variables`)."""
    generated = theme.to_color_system().generate()
    roles: dict[str, str] = {}
    for key in (
        "background", "surface", "panel", "foreground", "primary", "secondary", "accent", "success", "warning", "error",
    ):  # fmt: skip
        colour = Color.parse(variables.get(key) or generated[key])
        # The terminal's own colours have no value that could be mixed.
        roles[key] = _FALLBACK[theme.dark][key] if colour.ansi is not None else colour.hex6.lower()
    roles.update({key: value for key, value in theme.variables.items() if key.startswith(("syntax-", "plot-"))})
    return _look(theme.name, tuple(roles.items()), theme.dark)


def _roles_of(theme: Theme) -> dict[str, str]:
    return {
        key: str(getattr(theme, key))
        for key in (
            "background", "surface", "panel", "foreground", "primary", "secondary", "accent", "success", "warning",
            "error",
        )
    }  # fmt: skip


_FALLBACK = {True: _roles_of(DARK), False: _roles_of(LIGHT)}
