"""Which kernels of a segment share one launch, and in what order all of its launches run.

Kernels that are alike (`loops/alike.py`) and do not need one another wait until as many of them as possible are ready, and run together: the
steps of an optimizer, sums of columns, what sets many things to zero. Each array that differs among them has a *role*, and the arrays of a
role lie in one buffer, a *bank*: inputs that are written are moved there once and stay (a slab), intermediate results have their place there,
and small inputs and results are copied there and back in each call. Nothing here is special to optimizers.

What a launch binds as written may not be in the bank that it only reads; a group for which some launch would do so is taken apart again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ....dtypes import DTYPES
from ..loops.alike import outline, rounded
from ..loops.scalar import NUMPY
from ..print_c.program import notes
from ..print_wgsl.joined import MEMBERS, Joined, JoinedPrinter, Member, member
from ..print_wgsl.rows import row_printer
from ..print_wgsl.text import Printer, Unprintable

if TYPE_CHECKING:
    from .webgpu import GpuSegment

MOVED_BYTES = 8 << 20
"""The largest input that is moved into a slab: above, a launch is nothing beside the kernel's work."""

KEPT_BYTES = 1 << 20
"""The largest intermediate result that waits in a bank until the others of its role are there."""

COPIED_BYTES = 128 << 10
"""The largest input or result that is copied to or from a bank in each call. A copy takes an eighth of a launch's time, and its bytes."""

BANK_BYTES = 64 << 20
"""What the arrays of a role may take together."""


@dataclass
class Launch:
    """One launch of a recording: the steps that it does, and what they share a kernel with."""

    steps: tuple[int, ...]
    joined: Joined | None = None
    roles: list[list[int]] = field(default_factory=list)
    """For each binding the slots of the members, or the one slot that all share."""


@dataclass
class Horizontal:
    """The launches in order, and the banks: slots that lie in one buffer."""

    launches: list[Launch]
    banks: list[list[int]]
    refused: list[dict[str, str]]
    kinds: dict[int, str]
    """Of each slot in a bank: "slab", "kept", "in" or "out"."""


def plain(segment: GpuSegment) -> list[Launch]:
    """A launch for each step."""
    return [Launch((k,)) for k in segment.printed]


def join(segment: GpuSegment) -> Horizontal:
    """The launches of a segment of known sizes whose steps are all generated."""
    return _Joiner(segment).run()


class _Joiner:
    def __init__(self, segment: GpuSegment):
        self.segment, self.assembly = segment, segment.assembly
        a = self.assembly
        self.slots: dict[int, list[int]] = {}
        """For each step the slots that it binds, in the order of the bindings."""
        self.access: dict[int, str] = {}
        for k, p in segment.printed.items():
            self.slots[k] = [a.slots[a.root(b.value)] for b in p.bindings]
            self.access[k] = p.shader.access[: len(p.bindings)]
        self.steps = list(self.slots)
        self.note = notes(segment.program)
        self.refused: list[dict[str, str]] = []
        self.values = {s: v for v, s in a.slots.items() if a.root(v) is v}
        self.inputs = {s for _, s in segment.bound}
        self.direct = {a.slots[a.root(segment.program.inputs[i])] for i in a.direct.values()}  # type: ignore[index]
        self.inner = {s for slots in segment.last.values() for s in slots}
        self.kinds = {s: self._kind(s) for slots in self.slots.values() for s in slots}

    def run(self) -> Horizontal:
        families = self._families()
        groups = self._ordered(families)
        launches = [Launch(g, roles=self._roles(g)) for g in groups]
        banks = self._banks(launches)
        for i, launch in enumerate(launches):
            if len(launch.steps) > 1:
                launches[i].joined = self._print(i, [self.members[k] for k in launch.steps])
        return Horizontal(launches, banks, self.refused, self.kinds)

    # -- what may share a launch ----------------------------------------------------------------

    def _kind(self, s: int) -> str:
        """How an array comes to lie in a bank."""
        v = self.values[s]
        if v.kind == "constant" or v in self.segment.program.host:
            return "constant"
        if s in self.inputs:
            return "slab" if s in self.direct else "in"
        return "kept" if s in self.inner else "out"

    def _bytes(self, s: int) -> int:
        v = self.values[s]
        return (v.numel().number or 0) * self.segment.backend.itemsize(DTYPES[NUMPY[v.dtype]])

    def _families(self) -> dict[int, int]:
        """The family of each step that has one, as a number."""
        self.members: dict[int, Member] = {}
        keys: dict[int, Any] = {}
        numbers: dict[Any, int] = {}
        code = self.segment._code
        for k in self.steps:
            kernel = self.assembly.steps[k].kernel
            if kernel is None or kernel.checks or not (self.segment.printed[k].threads.number or 0):
                continue
            if len(set(self.slots[k])) != len(self.slots[k]):
                continue
            small = all(self.segment.backend.itemsize(DTYPES[NUMPY[self.values[s].dtype]]) == 4 for s in self.slots[k])
            form = rounded(kernel, 4) if small else kernel
            found = outline(form)
            if found is None:
                continue
            self.members[k] = member(form, found, code, self.segment.printed[k].group)
            access = self.access[k]
            key = (self.members[k].key, access, tuple([code(b) for b in found.memory]))
            keys[k] = numbers.setdefault(key, len(numbers))
        count: dict[Any, int] = {}
        for key in keys.values():
            count[key] = count.get(key, 0) + 1
        keys = {k: key for k, key in keys.items() if count[key] > 1}
        for key in set(keys.values()):
            mine = [k for k, other in keys.items() if other == key]
            for k in mine:
                reason = self._unfit(k, mine)
                if reason:
                    del keys[k]
                    self._refuse(k, next(x for x in mine if x != k), reason)
        return keys

    def _unfit(self, k: int, family: Sequence[int]) -> str:
        """Why a step shares no launch with those that are alike, or nothing."""
        copied = 0
        for r, s in enumerate(self.slots[k]):
            if all(self.slots[x][r] == s for x in family):
                continue
            kind, n, name = (
                self.kinds[s],
                self._bytes(s),
                next(iter(self.values[s].origins), f"input {self.values[s].data}"),
            )
            if kind == "constant":
                return f"{name} is a constant, which is not moved"
            limit = {"slab": MOVED_BYTES, "kept": KEPT_BYTES}.get(kind, COPIED_BYTES)
            if n > limit:
                what = (
                    "moved into one buffer with the others"
                    if kind in ("slab", "in")
                    else "kept until the others are ready"
                )
                return f"{name} of {n >> 10} KiB is too large to be {what}"
            if self.values[s].strides is not None and kind != "kept":
                return f"{name} does not lie row by row"
            copied += kind in ("in", "out")
        if copied > 3:
            return "more than three of its arrays would have to be copied in each call"
        kernel = self.assembly.steps[k].kernel
        assert kernel is not None
        usual = row_printer(kernel, self.segment._code, self.note, "", self.segment.lanes)
        source = usual.print().shader.source
        if (
            type(usual) is not Printer
            or usual.across
            or usual.turns > 1
            or source != self.segment.printed[k].shader.source
        ):
            return "alone it runs in a form that suits this device better"
        return ""

    def _refuse(self, first: int, second: int, reason: str) -> None:
        from .tell import origins

        names = [next(reversed(origins(self.assembly.steps[k])), f"step {k}") for k in (first, second)]
        self.refused.append({"first": names[0], "second": names[1], "reason": f"they share no launch: {reason}"})

    # -- order ------------------------------------------------------------------------------------

    def _before(self) -> dict[int, int]:
        """For each step, as bits, those that must be done before it."""
        before: dict[int, int] = {}
        writer: dict[int, int] = {}
        readers: dict[int, int] = {}
        for k in self.steps:
            need = 0
            for s, a in zip(self.slots[k], self.access[k], strict=True):
                need |= writer.get(s, 0)
                if a == "w":
                    need |= readers.get(s, 0)
            full, left = need, need
            while left:
                low = left & -left
                full |= before[low.bit_length() - 1]
                left ^= low
            before[k] = full
            for s, a in zip(self.slots[k], self.access[k], strict=True):
                if a == "w":
                    writer[s] = 1 << k
                    readers[s] = 0
                readers[s] = readers.get(s, 0) | 1 << k
        return before

    def _ordered(self, keys: dict[int, Any]) -> list[tuple[int, ...]]:
        """The steps in launches: others as soon as they can, members of families when no others are ready."""
        before = self._before()
        left, done = list(self.steps), 0
        out: list[tuple[int, ...]] = []
        while left:
            ready = [k for k in left if before[k] & ~done == 0]
            alone = next((k for k in ready if k not in keys), None)
            group = (alone,) if alone is not None else self._group(ready, left, keys, before)
            out.append(group)
            for k in group:
                left.remove(k)
                done |= 1 << k
        return out

    def _group(
        self, ready: list[int], left: list[int], keys: dict[int, Any], before: dict[int, int]
    ) -> tuple[int, ...]:
        """Ready members of one family: of one for which nothing is won by waiting, if there is any."""
        families: dict[Any, list[int]] = {}
        for k in ready:
            families.setdefault(keys[k], []).append(k)
        chosen = next(iter(families.values()))
        for key, mine in families.items():
            bits = sum(1 << k for k in mine)
            if all(k in mine or before[k] & bits for k in left if keys.get(k) == key):
                chosen = mine
                break
        out: list[int] = []
        total = 0
        for k in chosen:
            total += max(self._bytes(s) for s in self.slots[k])
            if out and (len(out) == MEMBERS or total > BANK_BYTES):
                break
            out.append(k)
        return tuple(out)

    # -- banks --------------------------------------------------------------------------------------

    def _roles(self, group: Sequence[int]) -> list[list[int]]:
        out = []
        for r in range(len(self.slots[group[0]])):
            mine = [self.slots[k][r] for k in group]
            out.append(mine[:1] if len(set(mine)) == 1 else mine)
        return out

    def _banks(self, launches: list[Launch]) -> list[list[int]]:
        """The slots that must lie together; groups that cannot be are taken apart, in place."""
        while True:
            bank = self._united(launches)
            bad = self._conflict(launches, bank)
            if bad is None:
                break
            launch, reason = bad
            i = next(i for i, x in enumerate(launches) if x is launch)
            self._refuse(launch.steps[0], launch.steps[1], reason)
            launches[i : i + 1] = [Launch((k,), roles=self._roles((k,))) for k in launch.steps]
        out: dict[int, list[int]] = {}
        for s, b in bank.items():
            out.setdefault(b, []).append(s)
        return list(out.values())

    def _united(self, launches: Iterable[Launch]) -> dict[int, int]:
        """The bank of each slot that is in one, by one of its slots."""
        head: dict[int, int] = {}

        def find(s: int) -> int:
            while head[s] != s:
                s = head[s]
            return s

        for launch in launches:
            for role in launch.roles:
                if len(role) > 1:
                    for s in role:
                        head.setdefault(s, s)
                        head[find(s)] = find(role[0])
        return {s: find(s) for s in head}

    def _conflict(self, launches: list[Launch], bank: dict[int, int]) -> tuple[Launch, str] | None:
        """A group that cannot stay, and why."""
        groups = [x for x in launches if len(x.steps) > 1]
        members: dict[int, list[int]] = {}
        for s, b in bank.items():
            members.setdefault(b, []).append(s)
        for b, mine in members.items():
            slabs = {self.kinds[s] == "slab" for s in mine}
            if len(slabs) > 1 or sum(map(self._bytes, mine)) > BANK_BYTES:
                why = (
                    "what they bind in one place is partly inputs that are written, partly not"
                    if len(slabs) > 1
                    else "together their arrays are too large for one buffer"
                )
                return self._smallest(groups, bank, b), why
        for launch in groups:
            copies = len({s for role in launch.roles if len(role) > 1 for s in role if self.kinds[s] in ("in", "out")})
            if copies and len(launch.steps) - 1 <= 1 + copies / 8:
                return launch, "copying what they bind together would take as long as the launches that are saved"
        for launch in launches:
            access = self.access[launch.steps[0]]
            joined = len(launch.steps) > 1
            written: set[int] = set()
            read: set[int] = set()
            for role, a in zip(launch.roles, access, strict=True):
                b = bank.get(role[0])
                if b is None or (not joined and self.kinds[role[0]] == "in"):
                    continue  # alone it is read where it is
                if a == "w" and joined and b in written:
                    return launch, "two arrays that each of them writes would lie in one buffer"
                (written if a == "w" else read).add(b)
            for b in written & read:
                name = self.segment.printed[launch.steps[0]].shader.name
                return self._smallest(
                    groups, bank, b
                ), f"{name} would read and write the buffer in which their arrays lie together"
        return None

    def _smallest(self, groups: Sequence[Launch], bank: dict[int, int], b: int) -> Launch:
        mine = [g for g in groups if any(len(r) > 1 and bank[r[0]] == b for r in g.roles)]
        return min(mine, key=lambda g: len(g.steps))

    def _print(self, i: int, members: list[Member]) -> Joined:
        code, note = self.segment._code, self.note
        name = f"h{i}_{members[0].kernel.name.split('_', 1)[-1]}_x{len(members)}"
        try:
            return JoinedPrinter(members, code, note, name).joined()
        except Unprintable as error:  # each of them could be printed
            raise AssertionError(str(error)) from None


__all__ = ["Horizontal", "Launch", "join", "plain"]
