"""Every form that a graph goes through as Python text with shapes in comments, and which pass did what.

captured graph -> primitives -> partition (forward, backward) -> values -> steps -> loops -> kernels. The text is for people: it parses as
Python, but only graphs can be run as they stand here. The last form is in the language of the device.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from .loops.form import python
from .loops.index import Ix, text
from .loops.scalar import Scalar, show
from .replay.tell import source_text, step_name
from .schedule.anchors import live
from .simplify.algebra import MEETING, RULES
from .simplify.translate import Program
from .values import Value

PASSES: dict[str, Iterable[str]] = {
    "algebra": RULES,
    "algebra in kernels": MEETING,
    "layout": ("transposed products", "long reductions in two stages"),
    "values": ("common subexpressions", "scatter of one element a row to a comparison"),
}
"""The names of rules by the pass that they belong to. Decompositions and views are counted by primitive (`Program.applied`)."""


def pass_of(rule: str) -> str:
    """The pass that a rule belongs to; "rewrites" for one that is in no table."""
    return next((name for name, rules in PASSES.items() if rule in rules), "rewrites")


def done(lowered: Any) -> list[dict[str, Any]]:
    """What each pass did to the graphs of a function: {"pass", "name" of the rule, "rewrites"}, passes in the order in which they run."""
    count: Counter[tuple[str, str]] = Counter()
    for variant in lowered.variants.values():
        if variant is None:
            continue
        for name, n in (variant.joint.meta.get("rewrites") or {}).items() if variant.joint is not None else ():
            count["primitives", name] += n
        for d in variant.decisions:
            count["partition", {"save": "saved", "recompute": "computed again", "keep": "kept"}[d.action]] += 1
    for segment in lowered.segments():
        count.update(segment.program.applied)
        for name, n in segment.program.rewrites.items():
            count[pass_of(name), name] += n
    order = ["primitives", "partition", "decompositions", "views", *PASSES]
    at = {name: i for i, name in enumerate(order)}
    entries = sorted((e for e in count.items() if e[1]), key=lambda e: at.get(e[0][0], len(order)))
    return [{"pass": p, "name": name, "rewrites": n} for (p, name), n in entries]


def forms(lowered: Any) -> list[dict[str, str]]:
    """The forms of a compiled graph: {"form", "part" ("forward", "backward"), "language", "text"}, in the order in which they come about."""
    out: list[dict[str, str]] = []

    def add(form: str, part: str, body: str, language: str = "python") -> None:
        out.append({"form": form, "part": part, "language": language, "text": body})

    for variant in lowered.variants.values():
        if variant is None:
            continue
        if variant.joint is not None:
            add("primitives", "", variant.joint.code)
        decided = "".join(f"# {d.node}: {d.action}, {d.bytes} bytes: {d.reason}\n" for d in variant.decisions)
        add("partition", "forward", variant.forward_graph.code)
        if variant.backward_graph is not None:
            add("partition", "backward", decided + variant.backward_graph.code)
        for number, segment in enumerate(lowered.segments_of(variant)):
            part = "backward" if number else "forward"
            assembly = segment.assembly
            add("values", part, values(assembly.program, part))
            add("steps", part, steps(segment, part))
            kernels = [s.kernel for s in assembly.steps if s.kernel is not None]
            add("loops", part, "\n".join(python(k) for k in kernels))
            for k, step in enumerate(assembly.steps):
                if step.kind != "call":
                    language, body, _ = source_text(segment, k, step)
                    add("kernels", part, body, language)
    return out


def spec(v: Value) -> str:
    """What a value is, for a comment: f32[32, 128]."""
    return f"{v.dtype}[{', '.join(map(text, v.shape))}]"


def name_of(v: Value) -> str:
    """The name of a value in these texts: the last node that it computes, and a number of its own."""
    word = next(reversed(v.origins), v.kind)
    return f"{word}_v{v.id}"


def values(program: Program, name: str = "program") -> str:
    """A program as formulas, after simplification: what is not needed any more does not stand there."""
    given = [v for v in program.inputs if v is not None]
    roots = [o.value for o in program.outputs if o.value is not None]
    lines = [f"def {name}({', '.join(name_of(v) for v in given)}):"]
    lines += [f"    # {name_of(v)}: {spec(v)}" for v in given]
    for v in live(roots):
        if v in given:
            continue
        lines.append(f"    {name_of(v)} = {_formula(v)}  # {spec(v)}")
    lines.append(f"    return {_sequence(name_of(v) for v in roots)}")
    return "\n".join(lines) + "\n"


def steps(segment: Any, name: str = "program") -> str:
    """What runs in which order: a kernel, a product or a call a line, what it reads and writes, and why values stand in no kernel together."""
    assembly = segment.assembly
    lines = [f"def {name}({', '.join(name_of(v) for v in assembly.program.inputs if v is not None)}):"]
    for k, step in enumerate(assembly.steps):
        reads = ", ".join(name_of(v) for v in dict.fromkeys(step.reads))
        writes = ", ".join(name_of(v) for v in dict.fromkeys(step.writes))
        note = ", ".join(spec(v) for v in dict.fromkeys(step.writes))
        kind = "" if step.kind == "kernel" else f"  ({step.kind})"
        lines.append(f"    {writes + ' = ' if writes else ''}{step_name(k, step)}({reads})  # {note}{kind}")
    results = [r for r in assembly.schedule.results if r is not None]
    lines += [
        f"    # {r['first']} and {r['second']} apart: {r['reason']}".replace("\n", " ")
        for r in assembly.schedule.refused
    ]
    lines.append(f"    return {_sequence(name_of(r) for r in results)}")
    return "\n".join(lines) + "\n"


def _sequence(parts: Iterable[str]) -> str:
    inside = list(parts)
    return f"({', '.join(inside)}{',' * (len(inside) == 1)})"


def _sizes(numbers: Iterable[Ix]) -> str:
    return _sequence(text(n) for n in numbers)


def _formula(v: Value) -> str:
    """How an element of a value is found, as one expression."""
    names = [name_of(a) for a in v.args]
    if v.kind == "point":
        return _scalar(v.data, names)
    if v.kind == "view":
        strides, offset = v.data
        return f"view({names[0]}, {_sizes(v.shape)}, {_sizes(strides)}, {text(offset)})"
    if v.kind == "reduce":
        return f"{v.data[0]}({names[0]}, {tuple(v.data[1])!r})"
    if v.kind == "product":
        return f"{names[0]} @ {names[1]}"
    if v.kind == "item":
        return f"{names[0]}[{v.data}]"
    if v.kind == "call":
        op = v.data.op
        return f"call({getattr(op, 'name', getattr(op, '__name__', 'function'))!r}{''.join(', ' + n for n in names)})"
    if v.kind == "constant":
        return f"constant({v.id})"
    if v.kind == "number":
        return f"number({str(v.data)!r}{''.join(', ' + n for n in names)})"
    if v.kind == "cat":
        return f"cat({_sequence(names)}, {v.data})"
    return f"{v.kind}({', '.join(names)}, {str(v.data)!r})"


def _scalar(formula: Scalar, names: list[str]) -> str:
    def known(x: Scalar) -> str | None:
        if x.op == "arg":
            return names[x.data]
        if x.op in ("ix", "size"):
            return f"({text(x.data)})"
        if isinstance(x.data, Ix):
            return f"{x.op}({', '.join([*(_scalar(a, names) for a in x.args), text(x.data)])})"
        return None

    return show(formula, known)


__all__ = ["PASSES", "done", "forms", "pass_of", "steps", "values"]
