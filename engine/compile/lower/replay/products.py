"""Product steps of a WebGPU segment as generated kernels, with what follows them.

A product that has no kernel of its own is the engine's; its epilogue, if it has one, is then a step of its own again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..loops.form import Buffer
from ..loops.index import ix
from ..print_wgsl.epilogue import Epilogue
from ..print_wgsl.product import Follow, Operand, Product, print_product
from ..print_wgsl.text import Printed
from ..schedule.matrices import separable
from .tell import step_name

if TYPE_CHECKING:
    from .webgpu import GpuSegment


def print_product_step(segment: GpuSegment, k: int, note: Any, lanes: int, rank: int) -> Printed | None:
    """The kernel of the product at step `k`, with what follows it; None where there can be none."""
    step, assembly = segment.assembly.steps[k], segment.assembly
    v = step.value
    assert v is not None
    sizes = [n.number for n in (*v.shape, *v.args[0].shape[-1:])]
    if not lanes or v.dtype != "f32" or any(n is None or n == 0 for n in sizes):
        return None
    *layers, m, n, depth = [s or 0 for s in sizes]
    names = [f"z{i}" for i in range(len(layers))]
    origins = tuple(v.origins)
    try:
        operands = []
        for side, (own, size) in enumerate((("m", m), ("n", n))):
            seen = separable(v, side, assembly.held)
            if seen is None:
                return None
            root = assembly.root(seen[0])
            slot = assembly.slots[root]
            made = Buffer(f"b{slot}", root.dtype, root.numel(), value=root, shape=root.shape)
            operands.append(Operand(segment.buffers.setdefault(slot, made), seen[1], own, size))
        out = Buffer(f"b{assembly.slots[v]}", "f32", v.numel(), value=v, shape=v.shape)
        wanted = Product(
            step_name(k, step), operands[0], operands[1], out,
            tuple((z, s) for z, s in zip(names, layers, strict=True) if s != 1), m, n, depth,
        )  # fmt: skip
        follow = None
        if step.tail is not None:
            t = step.tail
            called = {x: z for x, z in zip(t.variables, [*names, "row", "column"], strict=True) if x}
            follow = Follow(Epilogue(t.kernel, t.product, called, t.sizes, t.store), segment._code, note)
        text = print_product(wanted, lanes, note(origins), rank=rank, follow=follow)
    except NotImplementedError:
        return None
    return Printed(
        text.shader, text.words, text.bindings, ix(text.groups * text.threads), False, text.wide, [(0, origins), *text.lines],
        text.threads, m * n * depth * math.prod(layers),
    )  # fmt: skip


__all__ = ["print_product_step"]
