"""A whole C file: the functions of kernels and products, and one entry for each stretch of steps without Python between them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..loops.form import Buffer
from . import product as products
from .functions import HEADER
from .text import Printer, Text

if TYPE_CHECKING:
    from ..replay.assemble import Assembly, Step


@dataclass
class File:
    """The text, the entries by name with the steps each runs, and where the text of each step is."""

    text: str = ""
    entries: list[tuple[str, list[int]]] = field(default_factory=list)
    python: dict[int, str] = field(default_factory=dict)
    """Steps that C cannot do, with the reason."""

    parts: dict[int, Text] = field(default_factory=dict)
    functions: int = 0
    """Functions written: kernels with the same text are one."""


def notes(program: Any) -> Any:
    """A function from origins (graph nodes) to the user's line they come from, as "file:line"."""

    def note(origins: tuple[str, ...]) -> str:
        for o in origins:
            node = program.nodes.get(o)
            source = node.meta.get("source") if node is not None else None
            if source is not None:
                return f"{source.file.rsplit('/', 1)[-1]}:{source.line}"
        return ""

    return note


def write(assembly: Assembly, blas: bool) -> File:
    """The C of an assembly. Without `blas`, products are left to Python."""
    out = File()
    program = assembly.program
    symbols = {name: i for i, name in enumerate(sorted(program.sizes))}
    used = _symbols(assembly)
    note = notes(program)

    def slot(b: Buffer) -> int:
        if b in assembly.temporaries:
            return assembly.temporaries[b]
        if b.dtype == "number":
            return assembly.numbers[b.value]
        return assembly.slots[b.value]

    lines: list[str] = [HEADER]
    tables: list[str] = []
    runs: list[str] = []
    current: list[str] = []
    steps: list[int] = []
    known: dict[str, str] = {}

    def close() -> None:
        if current:
            name = f"run_{len(out.entries)}"
            label = ["end:"] if any("goto end" in line for line in current) else []
            runs.extend([f"int {name}(ts_context *x, char **objects) {{", *_BEGIN, *current, *label, *_END, "}", ""])
            out.entries.append((name, list(steps)))
            current.clear()
            steps.clear()

    def shared(text: Text, name: str) -> str:
        """The name of the function with this body: one that is there already is used again."""
        body = _COMMENT.sub("", "\n".join(text.lines)).replace(name, "NAME")
        found = known.get(body)
        if found is None:
            found = known[body] = name
            lines.extend([*text.lines, ""])
            out.functions += 1
        return found

    for k, step in enumerate(assembly.steps):
        table = f"s{k}"
        try:
            if step.kind == "kernel":
                assert step.kernel is not None
                name = f"k{k}_{step.kernel.name.split('_', 1)[-1]}"
                p = Printer(step.kernel, slot, note, name)
                p.symbol_slot = symbols.__getitem__
                text = p.print()
                text.lines.insert(0, f"/* {', '.join(step.kernel.origins)} */")
                text.nodes = [(n + 1, o) for n, o in text.nodes]
                p.name = shared(text, name)
                places, driver = [slot(b) for b in p.places], p.driver("  ", table)
            elif step.kind == "product":
                text, places, driver = _product(k, step, assembly, symbols, used, blas, table, shared)
            else:
                raise NotImplementedError("a kernel of the engine")
        except NotImplementedError as reason:
            close()
            out.python[k] = str(reason)
            continue
        out.parts[k] = text
        tables.append(f"static const int32_t {table}[] = {{{', '.join(map(str, places)) or '0'}}};")
        tables += [f"void step_{k}(ts_context *x) {{", *driver, "}"]
        if any(assembly.root(v).kind == "input" for v in step.writes) and current:
            current.append(
                "  if (x->bad) goto end; /* nothing is written to arguments where an index is out of range */"
            )
        current.append(f"  step_{k}(x);")
        steps.append(k)
    close()
    out.text = "\n".join(
        [*lines, *tables, "", "int bind(ts_context *x, char **objects) { return ts_bind(x, objects); }", *runs]
    )
    return out


_BEGIN = [
    "  const int refused = objects ? ts_bind(x, objects) : TS_DONE;",
    "  if (refused) return refused;",
    "  const int threads = x->threads ? x->threads(1) : 0; /* products are spread over the threads of kernels */",
]
_END = [
    "  if (x->threads) x->threads(threads);",
    "  const int bad = x->bad ? TS_BAD_INDEX : TS_DONE;",
    "  x->bad = 0;",
    "  return bad;",
]

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def _symbols(assembly: Assembly) -> list[str]:
    return sorted(assembly.program.sizes)


def _product(
    k: int, step: Step, assembly: Assembly, symbols: Any, used: list[str], blas: bool, table: str, shared: Any
) -> tuple[Text, list[int], list[str]]:
    v = step.value
    assert v is not None
    if not blas:
        raise NotImplementedError("there is no BLAS that C can call")
    name = f"p{k}_{'_'.join(list(v.origins)[:2])}"[:40]
    made = products.text(v, name, used, symbols, assembly.held)
    if made is None:
        raise NotImplementedError("BLAS cannot read an operand where it lies")
    places = [assembly.slots[_root(assembly, r)] for r in (*step.reads, v)]
    text = Text([f"/* {', '.join(v.origins)}: {_shape(v.args[0])} @ {_shape(v.args[1])} */", *made.lines])
    name = shared(text, name)
    call = f"  x->parallel({name}, x, {made.parts});" if made.parts > 1 else f"  {name}(x, 0, 1);"
    return text, places, [f"  x->s = {table};", call]


def _root(assembly: Assembly, v: Any) -> Any:
    return assembly.root(v)


def _shape(v: Any) -> str:
    return "[" + ", ".join(map(str, v.shape)) + "]"
