"""A whole C file: the functions of kernels and products, and one entry for each stretch of steps without Python between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..loops.form import Buffer
from ..loops.index import product
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
    runs: list[str] = []
    current: list[str] = []
    steps: list[int] = []

    def close() -> None:
        if current:
            name = f"run_{len(out.entries)}"
            runs.extend([f"void {name}(ts_context *x) {{", "  ts_bind(x);", *current, "}", ""])
            out.entries.append((name, list(steps)))
            current.clear()
            steps.clear()

    for k, step in enumerate(assembly.steps):
        made = _step(k, step, assembly, slot, symbols, used, note, blas)
        if isinstance(made, str):
            close()
            out.python[k] = made
            continue
        text, driver = made
        out.parts[k] = text
        lines += [*text.lines, ""]
        current += driver
        steps.append(k)
    close()
    out.text = "\n".join([*lines, *runs])
    return out


def _symbols(assembly: Assembly) -> list[str]:
    return sorted(assembly.program.sizes)


def _step(k: int, step: Step, assembly: Assembly, slot: Any, symbols: Any, used: list[str], note: Any, blas: bool) -> Any:
    if step.kind == "kernel":
        assert step.kernel is not None
        p = Printer(step.kernel, slot, note)
        p.symbol_slot = symbols.__getitem__
        try:
            text = p.print()
        except NotImplementedError as reason:
            return str(reason)
        text.lines.insert(0, f"/* {', '.join(step.kernel.origins)} */")
        text.nodes = [(n + 1, o) for n, o in text.nodes]
        return text, p.driver("  ")
    if step.kind == "product":
        v = step.value
        assert v is not None
        if not blas:
            return "there is no BLAS that C can call"
        name = f"p{k}_{'_'.join(list(v.origins)[:2])}"[:40]
        at = (assembly.slots[_root(assembly, step.reads[0])], assembly.slots[_root(assembly, step.reads[1])])
        lines = products.text(v, name, assembly.slots[_root(assembly, v)], at, used, symbols, assembly.held)
        if lines is None:
            return "BLAS cannot read an operand where it lies"
        count = product(v.shape[:-2]).number
        flops = product((*v.shape, v.args[0].shape[-1])).number
        parts = 1 if count is not None and count < 2 else 8
        if flops is not None and flops < 1 << 16:
            parts = 1
        parts = min(parts, count) if count is not None else parts
        call = f"  x->parallel({name}, x, {parts});" if parts > 1 else f"  {name}(x, 0, 1);"
        head = f"/* {', '.join(v.origins)}: {_shape(v.args[0])} @ {_shape(v.args[1])} */"
        return Text([head, *lines]), [call]
    return "a kernel of the engine"


def _root(assembly: Assembly, v: Any) -> Any:
    return assembly.root(v)


def _shape(v: Any) -> str:
    return "[" + ", ".join(map(str, v.shape)) + "]"
