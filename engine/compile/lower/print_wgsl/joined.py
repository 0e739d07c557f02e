"""One launch of several kernels that are alike: which of them a workgroup runs stands in a table among the parameter words.

A record of the table has a member's first workgroup and its threads, then what differs: the places of its arrays in the bindings, sizes, and
numbers. A workgroup finds its record by halving. A binding holds the arrays of one role of all members, or one array that all share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .....webgpu_kernels.wgsl import FOLDED
from ..loops.alike import Outline, general
from ..loops.form import Buffer, Kernel, Loop
from ..loops.index import Ix, evaluate
from .text import Printed, Printer

Code = Callable[[Buffer], str]
Note = Callable[[tuple[str, ...]], str]

MEMBERS = 128
"""Kernels that one launch may take: their records fit into the smallest uniform block that devices have."""


@dataclass
class Member:
    """A kernel of a launch: its form, and how its loops are printed."""

    kernel: Kernel
    outline: Outline
    wide: tuple[bool, ...]
    """For each of its loops whether it takes four elements a turn."""

    wide_buffers: frozenset[int]
    """Which of its memory is bound in fours."""

    group: int
    """Threads of a workgroup."""

    @property
    def key(self) -> Any:
        """Equal for members of one launch."""
        return (self.outline.key, self.wide, self.wide_buffers, self.group)


@dataclass
class Joined:
    """The launch. `columns` say what stands in a record: ("first" | "threads" | "offset" | "offset4" | "size" | "number", which)."""

    printed: Printed
    columns: list[tuple[str, Any]]
    sizes: dict[str, list[int]]
    members: list[Member]
    threads: list[int]
    record: int
    """Words of a record."""


def member(kernel: Kernel, outline: Outline, code: Code, group: int) -> Member:
    """How a kernel's loops are printed where it is alone."""
    p = Printer(kernel, code, lambda origins: "", "")
    p._choose_wide(outline.loops, {b.name: code(b) for b in outline.memory})
    wide = tuple([id(s) in p.wide for s in outline.loops])
    return Member(
        kernel, outline, wide, frozenset(i for i, b in enumerate(outline.memory) if b.name in p.wide_buffers), group
    )


class JoinedPrinter(Printer):
    """Prints the launch of members with equal keys."""

    def __init__(self, members: Sequence[Member], code: Code, note: Note, name: str):
        self.members = list(members)
        kernel, self.values, self.loops = general([m.kernel for m in members], [m.outline for m in members])
        super().__init__(kernel, code, note, name)
        self.columns: list[tuple[str, Any]] = []
        self.place = {b.name: i for i, b in enumerate(members[0].outline.memory)}
        self.given = {b.name: i for i, b in enumerate(members[0].outline.given)}

    def joined(self) -> Joined:
        """The shader and its table."""
        printed = self.print()
        record = -(-len(self.columns) // 4) * 4
        counts = []
        for k in range(len(self.members)):
            counts.append(evaluate(printed.threads, {name: column[k] for name, column in self.values.items()}))
        return Joined(printed, self.columns, self.values, self.members, counts, record)

    def _choose_wide(self, loops: list[Loop], codes: dict[str, str]) -> None:
        first = self.members[0]
        self.wide = {id(s) for s, w in zip(self.loops, first.wide, strict=True) if w}
        self.wide_buffers = {b.name for i, b in enumerate(first.outline.memory) if i in first.wide_buffers}

    def _group(self, threads: Ix) -> int:
        return self.members[0].group

    def _begin(self, group: int) -> None:
        first = self._word("first", None)
        total = self._word("threads", None)
        count = len(self.members)
        self.line(f"let whole = {FOLDED};")
        self.line("var member = 0u;")
        step = 1 << max(0, (count - 1).bit_length() - 1)
        while step:
            self.line(f"let next{step} = min(member + {step}u, {count - 1}u);")
            self.line(f"if (P[next{step} * @fours@].x <= whole) {{ member = next{step}; }}")
            step >>= 1
        self.line("@records@")
        self.line(f"let id = (whole - {first}) * {group}u + lane;")
        self.line(f"if (id >= {total}) {{ return; }}")

    def _end(self) -> None:
        fours = -(-len(self.columns) // 4)
        loads = " ".join(f"let record{i} = P[member * {fours}u + {i}u];" for i in range(fours))
        lines = self.p._main
        for i, line in enumerate(lines):
            lines[i] = line.replace("@fours@", f"{fours}u").replace("@records@", loads)
        for i in range(fours * 4 * len(self.members)):
            self.p.word(f"table{i}")

    def _word(self, kind: str, what: Any, type: str = "u32") -> str:
        if kind in ("offset", "offset4"):
            what = self.place[what.name]
        elif kind == "number":
            what = self.given[what.name]
        elif kind == "code":
            raise NotImplementedError("a kernel that checks indices shares no launch")
        if (kind, what) not in self.texts:
            k = len(self.columns)
            self.columns.append((kind, what))
            text = f"record{k // 4}.{'xyzw'[k % 4]}"
            self.texts[kind, what] = text if type == "u32" else f"bitcast<{type}>({text})"
        return self.texts[kind, what]


__all__ = ["MEMBERS", "Joined", "JoinedPrinter", "Member", "member"]
