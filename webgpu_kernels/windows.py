"""Windows over images of one to three dimensions: patches as columns and back, pooling and its gradients.

Everything is written for three dimensions (the missing ones have size 1, in front).  A workgroup of 16 x 4 threads takes 64
elements of four rows: a row is a plane (image and channel), or a row of columns; what depends on it is worked out once.

Pooling reads the extent of each window from a table, three words a window and axis: first element, end, and by how much the
axis divides a mean.  So windows of given size and adaptive ones, which overlap unevenly, are the same kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from .pointwise import ROW_LANES, ROW_ROWS, ROW_SPAN, rows_grid
from .wgsl import TYPES, Kernel, Program, convert

AXES = "zyx"


def _program(name: str) -> Program:
    return Program(name, (ROW_LANES, ROW_ROWS))


def _begin(p: Program, rows: str, inner: str, *lines: str) -> None:
    p.main(
        f"let row = (group.z * groups.y + group.y) * {ROW_ROWS}u + local.y;",
        f"if (row >= {rows}) {{ return; }}",
        *lines,
        f"let first = group.x * {ROW_SPAN}u + local.x;",
        f"for (var j = 0u; j < {ROW_SPAN}u; j += {ROW_LANES}u) {{",
        "  let i = first + j;",
        f"  if (i >= {inner}) {{ break; }}",
    )


def _split(index: str, sizes: Sequence[str], prefix: str) -> list[str]:
    """Lines that take a flat place in a plane apart: z, y, x."""
    return [
        f"let {prefix}x = {index} % {sizes[2]};",
        f"let {prefix}yz = {index} / {sizes[2]};",
        f"let {prefix}y = {prefix}yz % {sizes[1]};",
        f"let {prefix}z = {prefix}yz / {sizes[1]};",
    ]


def _numbers(p: Program, *names: str) -> list[list[str]]:
    return [[p.word(f"{n}_{a}") for a in AXES] for n in names]


@functools.cache
def columns(code: str) -> Kernel:
    """im2col: each window of a plane writes its elements below each other. Bindings: source (contiguous), result.

    Parameters: offset of the source, planes, windows, kernel elements; image sizes, kernel, windows an axis, stride, padding,
    dilation. The result is [planes * kernel elements, windows].
    """
    p = _program("im2col")
    x, out = p.buffer("source", code), p.buffer("result", code, "w")
    at, rows, inner, kernels = (p.word(w) for w in ("offset", "planes", "windows", "elements"))
    size, kernel, count, stride, pad, step = _numbers(p, "size", "kernel", "count", "stride", "pad", "step")
    _begin(
        p, rows, inner, f"let from_x = {at} + row * ({size[0]} * {size[1]} * {size[2]});", f"let windows = {inner};",
        f"let into = row * {kernels} * windows;", *[f"let step_{a} = i32({step[i]});" for i, a in enumerate(AXES)],
        *[f"let size_{a} = i32({size[i]});" for i, a in enumerate(AXES)],
    )  # fmt: skip
    p.main(*["  " + line for line in _split("i", count, "o")])
    p.main(
        *[f"  let {a}0 = i32(o{a} * {stride[i]}) - i32({pad[i]});" for i, a in enumerate(AXES)], "  var to = into + i;"
    )
    zero = {"f32": "0.0", "i32": "0", "u32": "0u", "bool": "false"}[x.type.compute]
    indent = "  "
    for i, a in enumerate(AXES):
        p.main(f"{indent}for (var k{a} = 0u; k{a} < {kernel[i]}; k{a}++) {{")
        indent += "  "
        p.main(f"{indent}let {a} = {a}0 + i32(k{a}) * step_{a};")
        inside = f"{a} >= 0 && {a} < size_{a}"
        p.main(f"{indent}let in_{a} = {inside};" if not i else f"{indent}let in_{a} = in_{AXES[i - 1]} && {inside};")
    place = "from_x + u32((z * size_y + y) * size_x + x)"
    p.main(
        f"{indent}var value = {zero};",
        f"{indent}if (in_x) {{ value = {x.load(place)}; }}",
        indent + out.save("to", "value"),
        f"{indent}to += windows;",
    )
    for _ in AXES:
        indent = indent[:-2]
        p.main(f"{indent}}}")
    p.main("}")
    return p.build()


@functools.cache
def direct(code: str, block: int) -> Kernel:
    """A convolution without columns: a thread sums `block` output channels of one window. Rows are (image, group, block of channels).

    Bindings: source (contiguous), weights (contiguous), result. Parameters: offsets of source and weights, rows, windows, channels
    of a group (in, out), groups, blocks of a group; image sizes, kernel, windows an axis, stride, padding, dilation.
    """
    p = _program(f"convolution.{block}")
    x, w, out = p.buffer("source", code), p.buffer("weights", code), p.buffer("result", code, "w")
    at, at_w, rows, inner, ins, outs, groups, blocks = (
        p.word(n) for n in ("offset", "offset_weights", "rows", "windows", "ins", "outs", "groups", "blocks")
    )
    size, kernel, count, stride, pad, step = _numbers(p, "size", "kernel", "count", "stride", "pad", "step")
    plane, elements = " * ".join(size), " * ".join(kernel)
    _begin(
        p, rows, inner, f"let windows = {inner};", f"let block = row % {blocks};", f"let both = row / {blocks};",
        f"let part = both % {groups};", f"let from_x = {at} + both * {ins} * ({plane});", f"let channel = block * {block}u;",
        f"let from_w = {at_w} + (part * {outs} + channel) * {ins} * ({elements});", f"let pace = {ins} * ({elements});",
        f"let into = (both * {outs} + channel) * windows;", *[f"let step_{a} = i32({step[i]});" for i, a in enumerate(AXES)],
        *[f"let size_{a} = i32({size[i]});" for i, a in enumerate(AXES)],
        *[f"let w{j}_ = from_w + min({j}u, {outs} - 1u - channel) * pace;" for j in range(block)],
    )  # fmt: skip
    t = x.type.compute
    p.main(*["  " + line for line in _split("i", count, "o")])
    p.main(*[f"  let {a}0 = i32(o{a} * {stride[i]}) - i32({pad[i]});" for i, a in enumerate(AXES)])
    p.main(*[f"  var a{j} = {t}(0);" for j in range(block)], "  var k = 0u;", f"  for (var c = 0u; c < {ins}; c++) {{")
    p.main(f"    let image = from_x + c * ({plane});")
    indent = "    "
    for i, a in enumerate(AXES):
        p.main(f"{indent}for (var k{a} = 0u; k{a} < {kernel[i]}; k{a}++) {{")
        indent += "  "
        p.main(f"{indent}let {a} = {a}0 + i32(k{a}) * step_{a};")
        inside = f"{a} >= 0 && {a} < size_{a}"
        p.main(f"{indent}let in_{a} = {inside};" if not i else f"{indent}let in_{a} = in_{AXES[i - 1]} && {inside};")
    p.main(f"{indent}if (in_x) {{", f"{indent}  let v = {x.load('image + u32((z * size_y + y) * size_x + x)')};")
    p.main(
        *[f"{indent}  a{j} += v * {w.load(f'w{j}_ + k')};" for j in range(block)], f"{indent}}}", f"{indent}k += 1u;"
    )
    for _ in AXES:
        indent = indent[:-2]
        p.main(f"{indent}}}")
    p.main("  }")
    for j in range(block):
        guard = f"if (channel + {j}u < {outs}) " if j else ""
        p.main(f"  {guard}{{ {out.save(f'into + {j}u * windows + i', f'a{j}')} }}")
    p.main("}")
    return p.build()


@functools.cache
def images(code: str, strided: bool) -> Kernel:
    """col2im: each element of an image is the sum of the columns that were read from it, in the order of the kernel.

    Bindings: columns (contiguous, [planes * kernel elements, windows]), result. Parameters as for `columns`, but the inner count
    is that of a plane's elements, and the offset that of the columns. Without `strided` all strides are 1.
    """
    p = _program("col2im")
    cols, out = p.buffer("source", code), p.buffer("result", code, "w")
    at, rows, inner, kernels = (p.word(w) for w in ("offset", "planes", "plane", "elements"))
    size, kernel, count, stride, pad, step = _numbers(p, "size", "kernel", "count", "stride", "pad", "step")
    _begin(
        p, rows, inner, f"let windows = {count[0]} * {count[1]} * {count[2]};", f"let base = {at} + row * {kernels} * windows;",
        *[f"let count_{a} = {count[i]};" for i, a in enumerate(AXES)], *[f"let step_{a} = {step[i]};" for i, a in enumerate(AXES)],
    )  # fmt: skip
    p.main(*["  " + line for line in _split("i", size, "p")])
    zero = {"f32": "0.0", "i32": "0", "u32": "0u"}[cols.type.compute]
    p.main(f"  var value = {zero};", "  var element = 0u;")
    indent = "  "
    for i, a in enumerate(AXES):
        # What a window must have: its corner at or before the element, a whole number of strides, and it must exist. A corner
        # behind the element wraps to a large number.
        p.main(
            f"{indent}for (var k{a} = 0u; k{a} < {kernel[i]}; k{a}++) {{",
            f"{indent}  let t{a} = p{a} + {pad[i]} - k{a} * step_{a};",
        )
        if strided:
            p.main(
                f"{indent}  let o{a} = t{a} / {stride[i]};",
                f"{indent}  let whole_{a} = o{a} * {stride[i]} == t{a} && (t{a} >> 31u) == 0u;",
            )
        else:
            p.main(f"{indent}  let o{a} = t{a};", f"{indent}  let whole_{a} = true;")
        both = f"in_{AXES[i - 1]} && " if i else ""
        p.main(f"{indent}  let in_{a} = {both}whole_{a} && o{a} < count_{a};")
        indent += "  "
    window = "(oz * count_y + oy) * count_x + ox"
    p.main(
        f"{indent}if (in_x) {{ value += {cols.load(f'base + element * windows + {window}')}; }}",
        f"{indent}element += 1u;",
    )
    for _ in AXES:
        indent = indent[:-2]
        p.main(f"{indent}}}")
    p.main("  " + out.save(f"row * {inner} + i", "value"), "}")
    return p.build()


def window_words(
    offset: int, rows: int, inner: int, elements: int, size: Sequence[int], kernel: Sequence[int], count: Sequence[int],
    stride: Sequence[int], pad: Sequence[int], step: Sequence[int],
) -> tuple[int, ...]:  # fmt: skip
    """Parameter words of `columns` and `images`."""
    return (offset, rows, inner, elements, *size, *kernel, *count, *stride, *pad, *step)


@functools.cache
def pool(kind: str, code: str) -> Kernel:
    """ "max" (with the places in the plane, i64) or "mean" of windows.

    Bindings: x (contiguous planes), table, result, places (max only). Parameters: offset of x, planes, windows, divisor (0: by
    the table); sizes, windows an axis, dilation. In the table the axes z, y, x follow each other.
    """
    p = _program(f"pool_{kind}")
    x, table, out = p.buffer("source", code), p.buffer("table", "i32"), p.buffer("result", code, "w")
    places = p.buffer("places", "i64", "w") if kind == "max" else None
    at, rows, inner = p.word("offset"), p.word("planes"), p.word("windows")
    divisor = p.word("divisor", "i32")
    size, count, step = _numbers(p, "size", "count", "step")
    _begin(p, rows, inner, f"let from_x = {at} + row * ({size[0]} * {size[1]} * {size[2]});")
    p.main(*["  " + line for line in _split("i", count, "o")])
    lead = ["0u", count[0], f"({count[0]} + {count[1]})"]
    for a, before in zip(AXES, lead):
        p.main(
            f"  let w{a} = ({before} + o{a}) * 3u;",
            f"  let s{a} = {table.name}[w{a}];",
            f"  let e{a} = {table.name}[w{a} + 1u];",
        )
    t = x.type.compute
    if kind == "max":
        lowest = {"f32": "-infinity()", "i32": "(-2147483647 - 1)", "u32": "0u"}[t]
        p.main(f"  var best = {lowest};", "  var where_ = -1;")
    else:
        p.main(f"  var total = {t}(0);")
    indent = "  "
    for i, a in enumerate(AXES):
        p.main(f"{indent}for (var {a} = s{a}; {a} < e{a}; {a} += i32({step[i]})) {{")
        indent += "  "
    place = f"(z * i32({size[1]}) + y) * i32({size[2]}) + x"
    p.main(f"{indent}let at = {place};", f"{indent}let v = {x.load('from_x + u32(at)')};")
    if kind == "max":
        larger = "v > best || is_nan(v) || where_ < 0" if t == "f32" else "v > best || where_ < 0"
        p.main(f"{indent}if ({larger}) {{ best = v; where_ = at; }}")
    else:
        p.main(f"{indent}total += v;")
    for _ in AXES:
        indent = indent[:-2]
        p.main(f"{indent}}}")
    if places is not None:
        p.main("  " + out.save(f"row * {inner} + i", "best"), "  " + places.save(f"row * {inner} + i", "where_"))
    else:
        p.main(f"  var by = {divisor};", "  if (by == 0) { by = table[wz + 2u] * table[wy + 2u] * table[wx + 2u]; }")
        mean = "total / f32(by)" if t == "f32" else "divide_i(total, by)"
        p.main("  " + out.save(f"row * {inner} + i", mean))
    p.main("}")
    return p.build()


@functools.cache
def spread(code: str) -> Kernel:
    """The gradient of the mean of windows: each element takes its share of every window it lies in.

    Bindings: g (contiguous), table of windows, table of elements (first window and end, two words an element and axis), result.
    Parameters: offset of g, planes, elements of a plane, divisor; sizes, windows an axis.
    """
    p = _program("pool_spread")
    g, windows, ranges = p.buffer("source", code), p.buffer("table", "i32"), p.buffer("ranges", "i32")
    out = p.buffer("result", code, "w")
    at, rows, inner = p.word("offset"), p.word("planes"), p.word("elements")
    divisor = p.word("divisor", "i32")
    size, count = _numbers(p, "size", "count")
    _begin(p, rows, inner, f"let from_g = {at} + row * ({count[0]} * {count[1]} * {count[2]});")
    p.main(*["  " + line for line in _split("i", size, "p")])
    lead = ["0u", size[0], f"({size[0]} + {size[1]})"]
    for a, before in zip(AXES, lead):
        p.main(f"  let r{a} = ({before} + p{a}) * 2u;")
    t = g.type.compute
    p.main(f"  var total = {t}(0);")
    indent = "  "
    for a in AXES:
        p.main(f"{indent}for (var {a} = {ranges.name}[r{a}]; {a} < {ranges.name}[r{a} + 1u]; {a}++) {{")
        indent += "  "
    by = [
        f"{windows.name}[({before}) * 3u + 2u]"
        for before in ("u32(z)", f"{count[0]} + u32(y)", f"{count[0]} + {count[1]} + u32(x)")
    ]
    value = g.load(f"from_g + (u32(z) * {count[1]} + u32(y)) * {count[2]} + u32(x)")
    share = f"{value} / f32(by)" if t == "f32" else f"divide_i({value}, by)"
    p.main(
        f"{indent}var by = {divisor};",
        f"{indent}if (by == 0) {{ by = {' * '.join(by)}; }}",
        f"{indent}total += {share};",
    )
    for _ in AXES:
        indent = indent[:-2]
        p.main(f"{indent}}}")
    p.main("  " + out.save(f"row * {inner} + i", "total"), "}")
    return p.build()


@functools.cache
def put_back(code: str, index_code: str, kind: str) -> Kernel:
    """Elements at their places in a plane. Where places are distinct ("each") there is a thread an element; else they are added
    up ("add"), or the last one is kept ("last"), by one thread a plane, so that the order is theirs.

    Bindings: g, places (both contiguous), for "last" fault (a code and a place that is none are written there), result (zeroed).
    Parameters: offsets of g and places, planes, elements a plane of g,
    elements a plane of the result, the first and the end of the elements of a plane that this launch takes, the code.
    """
    p = Program(f"put_back_{kind}", (ROW_SPAN, 1))
    g, places = p.buffer("source", code), p.buffer("places", index_code)
    if kind == "last":
        p.buffer("fault", "u32", "w")
    out = p.buffer("result", code, "w")
    at, at_places, planes, count, size, first, end, fault = (
        p.word(w) for w in ("offset", "offset_places", "planes", "count", "size", "first", "end", "code")
    )
    old = f"{out.load(f'plane * {size} + to')} + " if kind == "add" else ""
    p.main(f"let task = (group.y * groups.x + group.x) * {ROW_SPAN}u + lane;")
    if kind == "each":
        p.main(f"if (task >= {planes} * {count}) {{ return; }}", f"let plane = task / {count};", "{")
        p.main(f"  let i = task - plane * {count};")
    else:
        p.main(f"if (task >= {planes}) {{ return; }}", "let plane = task;", f"for (var i = {first}; i < {end}; i++) {{")
    p.main(
        f"  let to = u32({convert(places.load(f'{at_places} + plane * {count} + i'), places.type.compute, 'i32')});",
        f"  if (to < {size}) {{",
        "    " + out.save(f"plane * {size} + to", old + g.load(f"{at} + plane * {count} + i")),
        "  } else {" if kind == "last" else "  }",
        *([f"    fault[0] = {fault};", "    fault[1] = to;", "  }"] if kind == "last" else []),
        "}",
    )
    return p.build()


def grid(inner: int, rows: int) -> tuple[int, int, int]:
    """Workgroups of a launch. Raises ValueError where there are too many."""
    found = rows_grid(inner, rows)
    if found is None:
        raise ValueError(f"{rows} rows of {inner} elements are more than one launch can hold")
    return found


__all__ = ["AXES", "TYPES", "columns", "grid", "images", "pool", "put_back", "spread", "window_words"]
