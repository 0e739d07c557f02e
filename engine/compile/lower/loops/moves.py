"""Kernels that are not made from groups: scattered writes, and the parts of a concatenation."""

from __future__ import annotations

from collections.abc import Callable

from ..values import Value, canonical
from .form import Buffer, Kernel, Let, Loop, Store, Update
from .index import ONE, ZERO, Ix, var
from .scalar import Scalar, lit

Buffers = Callable[[Value], Buffer]


def _offset(v: Value, index: list[Ix]) -> Ix:
    out = v.start
    for i, s in zip(index, v.strides if v.strides is not None else canonical(v.shape), strict=True):
        out = out + i * s
    return out


def _nest(shape: tuple[Ix, ...]) -> tuple[list[Loop], list[Ix]]:
    """Loops over a shape, outermost first, and the coordinates in them."""
    loops: list[Loop] = []
    index: list[Ix] = []
    for d, n in enumerate(shape):
        if n == ONE:
            index.append(ZERO)
        else:
            loops.append(Loop(f"i{d}", n))
            index.append(var(f"i{d}"))
    return loops, index


def _closed(loops: list[Loop], bodies: list[list[object]]) -> list[object]:
    """The statements of every depth put into their loops."""
    for k in range(len(loops) - 1, -1, -1):
        loops[k].body = bodies[k + 1]
        bodies[k].append(loops[k])
    return bodies[0]


def scatter(v: Value, name: str, buffer: Buffers) -> Kernel:
    """The elements of a source written, or added, at places that index values say, in the source's order."""
    source, indices = v.args[1], v.args[2:]
    function, places = v.data
    loops, index = _nest(source.shape)
    depth = {loop.variable: k + 1 for k, loop in enumerate(loops)}
    bodies: list[list[object]] = [[] for _ in range(len(loops) + 1)]
    where: list[Ix] = []
    used: list[Buffer] = []
    out = buffer(v)
    for k, (p, n) in enumerate(zip(places, v.shape, strict=True)):
        if p[0] == "dim":
            where.append(ZERO if n == ONE else index[p[1]])
            continue
        a = indices[p[1]]
        at = [ZERO if m == ONE else index[d] for d, m in zip(p[2], a.shape, strict=True)]
        level = max((depth[name] for i in at for name in i.variables()), default=0)
        used.append(buffer(a))
        bodies[level].append(Let(f"q{k}", Scalar("load", (), "i64", (buffer(a), _offset(a, at)))))
        bodies[level].append(Let(f"p{k}", Scalar("place", (Scalar("name", (), "i64", f"q{k}"),), "i64", n)))
        where.append(Ix({(("r", f"p{k}"),): 1}))
    origins = tuple(v.origins)
    bodies[-1].append(Let("v", Scalar("load", (), source.dtype, (buffer(source), _offset(source, index)))))
    value = Scalar("name", (), source.dtype, "v")
    target = _offset(v, where)
    if function == "set":
        bodies[-1].append(Store(out, target, value, origins))
    else:
        bodies[-1].append(Update(out, target, function, value, origins))
    inner = loops[-1] if loops else None
    if inner is not None and inner.variable in target.variables():
        inner.lanes = True
    kernel = Kernel(name, [out, buffer(source), *dict.fromkeys(used)], _closed(loops, bodies))
    kernel.reads, kernel.writes = [buffer(source), *dict.fromkeys(used)], [out]
    kernel.origins = list(v.origins)
    kernel.checks = True
    kernel.work = source.numel()
    return kernel


def copy(source: Value, target: Value, name: str, buffer: Buffers, firsts: dict[int, Ix] | None = None) -> Kernel:
    """The elements of `source` written into `target`, beginning at `firsts` in the dimensions named there."""
    loops, index = _nest(source.shape)
    at = [i + (firsts or {}).get(d, ZERO) for d, i in enumerate(index)]
    bodies: list[list[object]] = [[] for _ in range(len(loops) + 1)]
    bodies[-1].append(Let("v", Scalar("load", (), source.dtype, (buffer(source), _offset(source, index)))))
    place = _offset(target, at)
    bodies[-1].append(Store(buffer(target), place, Scalar("name", (), source.dtype, "v"), tuple(target.origins)))
    if loops:
        loops[-1].lanes = True
        loops[0].grid = True
    kernel = Kernel(name, [buffer(source), buffer(target)], _closed(loops, bodies), loops[0] if loops else None)
    kernel.reads, kernel.writes = [buffer(source)], [buffer(target)]
    kernel.origins = list(target.origins)
    kernel.work = source.numel()
    n = source.numel().number
    if loops and (n is None or n > 1 << 16):
        kernel.chunks = min(4, loops[0].size.number or 4)
    return kernel


def fill(target: Value, value: float, name: str, buffer: Buffers) -> Kernel:
    """Every element of `target` set to a number."""
    loop = Loop("i0", target.numel(), lanes=True, grid=True)
    loop.body.append(Store(buffer(target), var("i0"), lit(value, target.dtype), tuple(target.origins)))
    kernel = Kernel(name, [buffer(target)], [loop], loop)
    kernel.writes = [buffer(target)]
    kernel.origins = list(target.origins)
    kernel.work = target.numel()
    return kernel
