"""The app's themes, and the styles drawn text takes from whichever theme is on.

Dark, light, high contrast and the terminal's own colours are ours; any other Textual theme works too, since every style is derived from a
theme's roles (primary, accent, success ...) where the theme does not name it.  No widget is known here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import cycle, islice

from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from .highlight import PARTS

__all__ = ["CONTRAST", "DARK", "LIGHT", "TERMINAL", "THEMES", "Look", "look_of"]

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

CONTRAST = Theme(
    name="tapescope-contrast",
    dark=True,
    primary="#7fd4ff",
    secondary="#ffb3ff",
    accent="#ffd75f",
    foreground="#ffffff",
    background="#000000",
    surface="#101010",
    panel="#262626",
    success="#7dff9a",
    warning="#ffe066",
    error="#ff8f8f",
    variables={
        "syntax-keyword": "#ffb3ff",
        "syntax-constant": "#ffd75f",
        "syntax-string": "#7dff9a",
        "syntax-number": "#ffd75f",
        "syntax-function": "#7fd4ff",
        "syntax-class": "#ffe066",
        "syntax-builtin": "#5ffff0",
        "syntax-decorator": "#ffe066",
        "syntax-comment": "#d0d0d0",
        "scrollbar": "#7a7a7a",
        "scrollbar-hover": "#ffffff",
        "scrollbar-active": "#ffd75f",
        "scrollbar-background": "#000000",
        "scrollbar-background-hover": "#000000",
        "scrollbar-background-active": "#000000",
        "scrollbar-corner-color": "#000000",
    },
)


def _terminal(name: str, like: str, dark: bool) -> Theme:
    """A theme of the terminal's own sixteen colours, on its own ground."""
    return Theme(
        name=name, dark=dark, ansi=True, primary="ansi_blue", secondary="ansi_magenta", accent="ansi_yellow",
        foreground="ansi_default", background="ansi_default", surface="ansi_default", panel="ansi_default",
        boost="ansi_default", success="ansi_green", warning="ansi_yellow", error="ansi_red",
        variables=BUILTIN_THEMES[like].variables,
    )  # fmt: skip


TERMINAL = _terminal("tapescope-terminal", "ansi-dark", True)
TERMINAL_LIGHT = _terminal("tapescope-terminal-light", "ansi-light", False)

THEMES = (DARK, LIGHT, CONTRAST, TERMINAL, TERMINAL_LIGHT)
"""Our themes, the one of the first start first. The last two use the terminal's own sixteen colours and its ground."""

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
    found: Style = field(compare=False)
    found_here: Style = field(compare=False)
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

    soft, muted, faint = (0.95, 0.85, 0.6) if name == CONTRAST.name else (0.8, 0.6, 0.38) if dark else (0.8, 0.7, 0.45)
    role["soft"] = mix("background", "foreground", soft)
    role["muted"] = mix("background", "foreground", muted)
    role["faint"] = mix("background", "foreground", faint)

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
        found=Style(bgcolor=mix("surface", "warning", 0.35)),
        found_here=Style(color=role["background"], bgcolor=role["warning"]),
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
    look = _look(theme.name, tuple(roles.items()), theme.dark)
    return _in_terminal_colours(look) if theme.ansi else look


@lru_cache(maxsize=4)
def _in_terminal_colours(look: Look) -> Look:
    """The look in the terminal's own colours: its ground everywhere, no mixed shades."""

    def of(colour: str, bold: bool | None = None) -> Style:
        return Style(color=colour, bold=bold)

    grey = "bright_black"
    plain = Style(color="default", bgcolor="default")
    low, high = (grey, "blue") if look.dark else ("white", "cyan")
    colours = {
        "comment": grey, "keyword": "magenta", "constant": "yellow", "string": "green", "docstring": "green",
        "escape": "yellow", "number": "yellow", "builtin": "cyan", "self": grey, "class": "yellow",
        "decorator": "yellow", "function": "blue", "heading": "blue",
    }  # fmt: skip
    syntax = {
        part: Style(color=colours.get(part, "default"), italic=style.italic, bold=style.bold)
        for part, style in look.syntax.items()
    }
    return replace(
        look, ground=plain, text=of("default"), soft=of("default"), muted=of(grey), faint=of(grey),
        strong=of("default", bold=True), accent=of("yellow"), primary=of("blue"), success=of("green"),
        warning=of("yellow"), error=of("red"), code=plain, linked=Style(bgcolor=high, bold=True),
        linked_line=Style(bgcolor=low), linked_soft=Style(bgcolor=low), edit_line=Style(), cursor=Style(reverse=True),
        selection=Style(bgcolor=high), found=Style(bgcolor=low, underline=True),
        found_here=Style(color="black", bgcolor="yellow"), row_cursor=Style(color="default", bgcolor=high),
        row_cursor_idle=Style(color="default", bgcolor=low), chip=plain, syntax=syntax,
    )  # fmt: skip


def _roles_of(theme: Theme) -> dict[str, str]:
    return {
        key: str(getattr(theme, key))
        for key in (
            "background", "surface", "panel", "foreground", "primary", "secondary", "accent", "success", "warning",
            "error",
        )
    }  # fmt: skip


_FALLBACK = {True: _roles_of(DARK), False: _roles_of(LIGHT)}
