r"""Mathematics in TeX as readable text: `\frac{1}{n}\sum_{i=1}^n x_i^2` becomes "1/n ∑ᵢ₌₁ⁿ xᵢ²".

One line, no layout: what has a sign in Unicode gets it, what has none keeps its name.  Anything it cannot read stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["readable", "replace_in_markdown"]

_SIGNS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "vartheta": "ϑ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π",
    "rho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
    "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ",
    "Omega": "Ω", "sum": "∑", "prod": "∏", "int": "∫", "oint": "∮", "partial": "∂", "nabla": "∇", "infty": "∞",
    "cdot": "·", "times": "×", "div": "÷", "pm": "±", "mp": "∓", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠",
    "ne": "≠", "approx": "≈", "equiv": "≡", "sim": "∼", "propto": "∝", "ll": "≪", "gg": "≫", "in": "∈", "notin": "∉",
    "subset": "⊂", "subseteq": "⊆", "supset": "⊃", "cup": "∪", "cap": "∩", "emptyset": "∅", "forall": "∀", "exists": "∃",
    "to": "→", "rightarrow": "→", "leftarrow": "←", "Rightarrow": "⇒", "Leftarrow": "⇐", "leftrightarrow": "↔",
    "Leftrightarrow": "⇔", "mapsto": "↦", "gets": "←", "iff": "⇔", "implies": "⇒", "land": "∧", "wedge": "∧", "lor": "∨",
    "vee": "∨", "neg": "¬", "odot": "⊙", "otimes": "⊗", "oplus": "⊕", "circ": "∘", "ast": "∗", "star": "⋆", "bullet": "•",
    "dots": "…", "ldots": "…", "cdots": "⋯", "vdots": "⋮", "ddots": "⋱", "langle": "⟨", "rangle": "⟩", "lfloor": "⌊",
    "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "vert": "|", "Vert": "‖", "|": "‖", "mid": "|", "parallel": "∥", "perp": "⊥",
    "ell": "ℓ", "hbar": "ℏ", "Re": "ℜ", "Im": "ℑ", "prime": "′", "top": "ᵀ", "dagger": "†", "degree": "°", "angle": "∠",
    "quad": "  ", "qquad": "    ", ",": " ", ";": " ", ":": " ", "!": "", " ": " ", "{": "{", "}": "}", "%": "%", "$": "$",
    "#": "#", "&": "&", "_": "_", "backslash": "\\", "argmax": "argmax", "argmin": "argmin", "lbrace": "{", "rbrace": "}",
}  # fmt: skip

_BLACKBOARD = {"R": "ℝ", "N": "ℕ", "Z": "ℤ", "Q": "ℚ", "C": "ℂ", "E": "𝔼", "P": "ℙ", "1": "𝟙"}
_UPPER = str.maketrans("0123456789+-−=()nijkabcdefghlmoprstuvwxyzTABDEGHIJKLMNOPRUVW ",
                       "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱʲᵏᵃᵇᶜᵈᵉᶠᵍʰˡᵐᵒᵖʳˢᵗᵘᵛʷˣʸᶻᵀᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵁⱽᵂ ")  # fmt: skip
_LOWER = str.maketrans("0123456789+-−=()aehijklmnoprstuvx ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ ")
_ACCENTS = {"hat": "\u0302", "widehat": "\u0302", "bar": "\u0304", "overline": "\u0304", "tilde": "\u0303",
            "widetilde": "\u0303", "dot": "\u0307", "ddot": "\u0308", "vec": "\u20d7"}  # fmt: skip
_PLAIN = {"text", "mathrm", "mathbf", "mathit", "mathsf", "mathcal", "boldsymbol", "operatorname", "textbf", "textit",
          "mathscr", "bm", "mathfrak", "mbox"}  # fmt: skip
_DROPPED = {"left", "right", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "displaystyle", "textstyle",
            "limits", "nolimits", "nonumber", "middle"}  # fmt: skip
_TOKEN = re.compile(r"\\([A-Za-z]+)\*? ?|\\(.)|([{}^_&])|([^\\{}^_&]+)", re.DOTALL)
_DEEPEST = 30


@lru_cache(maxsize=512)
def readable(source: str) -> str:
    """A formula as a line of text."""
    tokens = [m for m in _TOKEN.finditer(source)]
    try:
        out, at = _sequence(tokens, 0, 0)
        if at < len(tokens):
            return source.strip()  # a brace that nothing opened
    except (IndexError, RecursionError):
        return source.strip()
    out = re.sub(r"[ \t\n]+", " ", unicodedata.normalize("NFC", out))
    return re.sub(r" (?=[,.;:)\]}⁾₎])", "", out).strip()


def _sequence(tokens: list[re.Match[str]], at: int, depth: int) -> tuple[str, int]:
    """What stands up to the closing brace."""
    parts: list[str] = []
    while at < len(tokens):
        token = tokens[at]
        if token[3] == "}":
            return "".join(parts), at + 1
        if token[3] in ("^", "_"):
            text, at = _argument(tokens, at + 1, depth)
            parts.append(_script(text, token[3]))
            continue
        if token[3] == "&":
            parts.append(" ")
            at += 1
            continue
        text, at = _item(tokens, at, depth)
        parts.append(text)
    return "".join(parts), at


def _item(tokens: list[re.Match[str]], at: int, depth: int) -> tuple[str, int]:
    if depth > _DEEPEST:
        raise RecursionError
    token = tokens[at]
    if token[3] == "{":
        return _sequence(tokens, at + 1, depth + 1)
    if token[4] is not None:
        return token[4], at + 1
    if token[2] is not None:
        return _SIGNS.get(token[2], " " if token[2] == "\\" else token[2]), at + 1
    name = token[1]
    if name in ("frac", "dfrac", "tfrac"):
        above, at = _argument(tokens, at + 1, depth)
        below, at = _argument(tokens, at, depth)
        return f"{_grouped(above)}/{_grouped(below)} ", at
    if name == "sqrt":
        inside, at = _argument(tokens, at + 1, depth)
        return f"√{_grouped(inside)}", at
    if name in ("mathbb", "mathds"):
        inside, at = _argument(tokens, at + 1, depth)
        return "".join(_BLACKBOARD.get(c, c) for c in inside), at
    if name in _ACCENTS:
        inside, at = _argument(tokens, at + 1, depth)
        return inside[:1] + _ACCENTS[name] + inside[1:], at
    if name in _PLAIN:
        return _argument(tokens, at + 1, depth)
    if name in ("begin", "end"):
        _, at = _argument(tokens, at + 1, depth)
        return " ", at
    if name in _DROPPED:
        return "", at + 1
    space = " " if token[0].endswith(" ") else ""
    return _SIGNS.get(name, name) + space, at + 1


def _argument(tokens: list[re.Match[str]], at: int, depth: int) -> tuple[str, int]:
    """The next braced group, command, or single character."""
    while tokens[at][4] is not None and not tokens[at][4].strip():
        at += 1
    token = tokens[at]
    if token[4] is not None and len(token[4].lstrip()) > 1:
        # One character only: the rest is put back as a token of its own.
        text = token[4].lstrip()
        rest = _TOKEN.match(text[1:])
        assert rest is not None
        tokens[at] = rest
        return text[0], at
    return _item(tokens, at, depth + 1)


def _grouped(text: str) -> str:
    text = text.strip()
    return text if len(text) <= 1 or re.fullmatch(r"[\w∂√∇′]+[⁰-⁹ⁿ₀-₉ᵢⱼₙ]*|\(.*\)", text) else f"({text})"


def _script(text: str, sign: str) -> str:
    text = text.strip()
    table = _UPPER if sign == "^" else _LOWER
    if text in ("′", "*", "∗", "ᵀ", "†", "°"):
        return text
    if text and all(ord(c) in table for c in text):
        return text.translate(table)
    if len(text) <= 1:
        return f"{sign}{text}"
    return f"{sign}({text})"


_CODE_OR_MATH = re.compile(
    r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`)"  # code stays as it is
    r"|\$\$(.+?)\$\$|\\\[(.+?)\\\]"
    r"|(?<![\\$\w])\$(?![\s$])([^$\n]*[^$\s\\])\$(?![\w$])|\\\((.+?)\\\)"
    r"|(\\begin\{(?:align|equation|gather|cases)\*?\}.+?\\end\{(?:align|equation|gather|cases)\*?\})",
    re.DOTALL,
)


def replace_in_markdown(source: str) -> str:
    """Markdown with its mathematics as readable text; displayed formulas stand in a line of their own."""

    def put(found: re.Match[str]) -> str:
        code, display, bracket, inline, parenthesis, environment = found.groups()
        if code is not None:
            return code
        block = display or bracket or environment
        if block is not None:
            rows = [readable(row) for row in re.split(r"\\\\", block)]
            return "\n\n" + "\n\n".join(f"> {_escaped(row)}" for row in rows if row) + "\n\n"
        return _escaped(readable(inline or parenthesis or ""))

    return _CODE_OR_MATH.sub(put, source) if "$" in source or "\\" in source else source


def _escaped(text: str) -> str:
    """Text in which Markdown sees no marks."""
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)
