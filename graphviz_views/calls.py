"""Scopes for what one call records: many operators in a row that all come from one place in the source.

An optimizer's step makes a dozen operators for every parameter, and the user has written none of them.  Such a stretch is
one closed box, called by the text of its line where the record holds it.  Nodes get the scope at the end of their `path`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .labels import count_text, trim
from .model import ONE_CALL, Badge, Facts, Node, Outer, SourceRange, module_path

ALIKE = 4
"""So many operators of one name from one place are a call as well."""

_NAMED = 5


def with_calls(nodes: Sequence[Node], texts: Mapping[str, str]) -> tuple[list[Node], dict[tuple[Outer, ...], Facts]]:
    """The nodes with calls among their scopes, and what is told of those. `texts` are lines of source by `SourceRange.text`."""
    found: list[Node] = []
    facts: dict[tuple[Outer, ...], Facts] = {}
    numbers: Counter[SourceRange] = Counter()
    for _, group in itertools.groupby(nodes, lambda n: (n.kind == "op", n.source, n.path)):
        stretch = list(group)
        source, operators = stretch[0].source, Counter(n.op for n in stretch)
        many = len(stretch) >= ONE_CALL or (len(stretch) >= ALIKE and len(operators) == 1)
        if stretch[0].kind != "op" or source is None or not many:
            found += stretch
            continue
        numbers[source] += 1
        number = numbers[source]
        path = stretch[0].path if stretch[0].path is not None else module_path(stretch[0].module)
        path = (*path, Outer("call", source.text if number == 1 else f"{source.text} ({number})"))
        found += [replace(n, path=path) for n in stretch]
        names = [f"{name} x{count}" if count > 1 else name for name, count in operators.most_common(_NAMED)]
        more = f", … {len(operators) - _NAMED} more" if len(operators) > _NAMED else ""
        text = texts.get(source.text, "")
        facts[path] = Facts(
            title=trim(text, 44) or f"{count_text(len(stretch), 'operator')} of one call",
            lines=(trim(", ".join(names) + more), source.text),
            badges=(Badge(count_text(len(stretch), "operator"), "note"),),
            details=(("line", source.text), ("operators", ", ".join(f"{n} x{c}" for n, c in operators.most_common()))),
            folded=True,
        )
    return found, facts
