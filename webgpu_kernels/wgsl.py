"""The pieces every kernel is made of: element types, buffers, parameter words, and the text around them.

A `Kernel` is WGSL text plus what a launcher must know: how each binding is used and how many 32-bit parameter words the
kernel reads.  Parameters (sizes, strides, offsets, scalars) always come from one uniform block, the last binding,
as `array<vec4<u32>>`; they are never written into the text, so that one pipeline serves every shape.

Element types are named by short codes.  In memory each element takes 32 bits, except `f16`, which takes 16:

======================  ===========  ===============================================================
code                    stored as    computed as
======================  ===========  ===============================================================
f32                     f32          f32
f16                     f16          f32 (needs the device feature `shader-f16`)
f16w                    f32          f32, rounded to half precision on every store: the twin without that feature
bf16                    f32          f32, rounded to bfloat16 on every store
i32, i64                i32          i32 (i64 is range-checked on upload by the caller)
i16, i8, u16, u8        i32          i32, wrapped to the width of the type on every store
u32, u64                u32          u32
bool                    u32          bool; stored as 0 or 1
======================  ===========  ===============================================================

This file knows no operators.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .functions import library

MAX_WORKGROUPS = 65_535
"""Workgroups a dimension that every WebGPU device can launch."""

MAX_STORAGE_BUFFERS = 8
"""Storage buffers a stage that every WebGPU device can bind."""


SUBGROUPS = "enable subgroups;\n"
"""What a text with functions of subgroups begins with, for browsers."""

MAX_STEPS = 32_768
"""Turns of loops that a thread of one launch may take, in all of its loops together.

Mesa's software driver gives a thread 65,535 and then leaves every loop, without a word; and a thread that runs long keeps the
watchdog of a display driver waiting.  Launchers split work that would take more, or choose another form.
"""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One compute shader with entry point `main`.

    `access` has one letter for each storage binding, in order: "r" for read, "w" for read and write.  The uniform
    block stands at the binding after them and has `words` words (a multiple of 64).  `parameters` names the words in
    use, for whoever reads a dump of a launch.
    """

    name: str
    source: str
    access: str
    words: int
    parameters: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Type:
    """How one element type is stored, computed, and converted between the two ("@" stands for the value)."""

    code: str
    store: str
    compute: str
    itemsize: int
    load: str = "@"
    save: str = "@"


TYPES: dict[str, Type] = {
    t.code: t
    for t in (
        Type("f32", "f32", "f32", 4),
        Type("f16", "f16", "f32", 2, "f32(@)", "f16(@)"),
        Type("f16w", "f32", "f32", 4, "@", "round_half(@)"),
        Type("bf16", "f32", "f32", 4, "@", "round_brain(@)"),
        Type("i32", "i32", "i32", 4),
        Type("i64", "i32", "i32", 4),
        Type("i16", "i32", "i32", 4, "@", "(((@) << 16u) >> 16u)"),
        Type("i8", "i32", "i32", 4, "@", "(((@) << 24u) >> 24u)"),
        Type("u16", "i32", "i32", 4, "@", "((@) & 65535)"),
        Type("u8", "i32", "i32", 4, "@", "((@) & 255)"),
        Type("u32", "u32", "u32", 4),
        Type("u64", "u32", "u32", 4),
        Type("bool", "u32", "bool", 4, "(@ != 0u)", "select(0u, 1u, @)"),
    )
}
"""All element types by code."""

ZERO = {"f32": "0.0", "i32": "0", "u32": "0u", "bool": "false"}
"""A zero of each computing type."""


def convert(text: str, source: str, target: str) -> str:
    """WGSL text of a value of computing type `source` as computing type `target`, as PyTorch converts.

    Floats become integers by truncation; what does not fit saturates, and NaN becomes 0.
    """
    if source == target:
        return text
    if target == "bool":
        # By bits: NaN and numbers that the device flushes to zero are true.
        return f"((bitcast<u32>({text}) << 1u) != 0u)" if source == "f32" else f"({text} != {ZERO[source]})"
    if source == "bool":
        one = {"f32": "1.0", "i32": "1", "u32": "1u"}[target]
        return f"select({ZERO[target]}, {one}, {text})"
    if source == "f32":
        return f"float_to_int({text})" if target == "i32" else f"bitcast<u32>(float_to_uint({text}))"
    if target == "f32":
        return f"f32({text})"
    return f"bitcast<{target}>({text})"


@dataclass(frozen=True, slots=True)
class Buffer:
    """A storage binding of a program: an array of `type`, read four elements at a time where `wide`.

    `atomic` is for counters, of whole numbers: sums of floats would depend on the order.
    """

    name: str
    type: Type
    wide: bool = False
    atomic: bool = False

    def load(self, index: str) -> str:
        """The element at `index`, as its computing type (not for wide buffers)."""
        return self.type.load.replace("@", f"{self.name}[{index}]")

    def lane(self, vector: str, lane: int) -> str:
        """One of the four elements in `vector`, a value read from a wide buffer, as its computing type."""
        return self.type.load.replace("@", f"{vector}.{'xyzw'[lane]}")

    def save(self, index: str, value: str) -> str:
        """The statement that stores a value of the computing type at `index`."""
        return f"{self.name}[{index}] = {self.type.save.replace('@', value)};"

    def save4(self, index: str, values: list[str]) -> str:
        """The statement that stores four values at `index` (in units of four) of a wide buffer."""
        parts = ", ".join(self.type.save.replace("@", v) for v in values)
        return f"{self.name}[{index}] = vec4<{self.type.store}>({parts});"


class Program:
    """Puts a kernel together: declare bindings and parameters, add text, `build`."""

    def __init__(self, name: str, workgroup: tuple[int, int] = (64, 1)):
        self.name = name
        self.workgroup = workgroup
        self.subgroups = False
        """Whether its text has functions of subgroups, which a device must have been asked for."""
        self._buffers: list[tuple[Buffer, str]] = []
        self._words: list[str] = []
        self._top: list[str] = []
        self._main: list[str] = []

    def buffer(self, name: str, code: str, access: str = "r", *, wide: bool = False, atomic: bool = False) -> Buffer:
        """Declare the next storage binding. `access` is "r" or "w". Raises ValueError for atomic floats."""
        if atomic and TYPES[code].store == "f32":
            raise ValueError(f"buffer {name} of kernel {self.name}: no float is added atomically")
        made = Buffer(name, TYPES[code], wide, atomic)
        self._buffers.append((made, access))
        return made

    def word(self, name: str, type: str = "u32") -> str:
        """Declare the next parameter word and return the text that reads it as `type`."""
        i = len(self._words)
        self._words.append(name)
        text = f"P[{i // 4}].{'xyzw'[i % 4]}"
        if type == "bool":
            return f"({text} != 0u)"
        return text if type == "u32" else f"bitcast<{type}>({text})"

    def words(self, name: str, count: int, type: str = "u32") -> list[str]:
        """Declare `count` parameter words."""
        return [self.word(f"{name}{i}", type) for i in range(count)]

    def top(self, text: str) -> None:
        """Add text at module scope: functions, workgroup variables."""
        self._top.append(text)

    def main(self, *lines: str) -> None:
        """Add lines to the body of the entry point.

        In scope are `group` (workgroup id), `groups` (their number), `local` (invocation id), `lane` (its index).
        """
        self._main.extend(lines)

    def build(self) -> Kernel:
        """The finished kernel. Raises ValueError where it needs more bindings than every device has."""
        if len(self._buffers) > MAX_STORAGE_BUFFERS:
            raise ValueError(
                f"kernel {self.name} needs {len(self._buffers)} storage buffers; {MAX_STORAGE_BUFFERS} can be bound"
            )
        words = max(64, -(-len(self._words) // 64) * 64)
        body = "\n".join("  " + line for line in self._main)
        declarations = []
        for i, (b, access) in enumerate(self._buffers):
            element = f"vec4<{b.type.store}>" if b.wide else f"atomic<{b.type.store}>" if b.atomic else b.type.store
            mode = "read" if access == "r" else "read_write"
            declarations.append(f"@group(0) @binding({i}) var<storage, {mode}> {b.name}: array<{element}>;")
        declarations.append(f"@group(0) @binding({len(self._buffers)}) var<uniform> P: array<vec4<u32>, {words // 4}>;")
        entry = (
            f"@compute @workgroup_size({self.workgroup[0]}, {self.workgroup[1]})\n"
            "fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,\n"
            "        @builtin(local_invocation_id) local: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n"
            f"{body}\n}}\n"
        )
        text = "\n".join([*declarations, *self._top, entry])
        head = "enable f16;\n" if any(b.type.store == "f16" for b, _ in self._buffers) else ""
        if self.subgroups:
            head = SUBGROUPS + head
        return Kernel(
            self.name, head + library(text) + text, "".join(a for _, a in self._buffers), words, tuple(self._words)
        )


def fold(groups: int) -> tuple[int, int, int]:
    """A launch of at least `groups` workgroups within the limit a dimension; kernels read `FOLDED` as their number.

    Raises ValueError above 65,535 squared.
    """
    if groups <= MAX_WORKGROUPS:
        return (groups, 1, 1)
    rows = -(-groups // MAX_WORKGROUPS)
    if rows > MAX_WORKGROUPS:
        raise ValueError(f"{groups} workgroups are more than one launch can hold")
    return (-(-groups // rows), rows, 1)


FOLDED = "(group.y * groups.x + group.x)"
"""Text of the number of a workgroup in a launch made by `fold`."""
