"""Weighted sums of a few elements: resizing an axis by a table of taps, and sampling at coordinates.

A resize is a linear map along one axis, given as a table: result o is the sum over k of weight[o, k] x[index[o, k]]; its gradient is
the transposed table.  Sampling at coordinates (`grid_sample`) has one thread a result, which makes its corners and their weights from
the coordinates; its gradients are one thread a coordinate, and, for the image, corners with places and weights that are added up by
place elsewhere (`corners`).
"""

from __future__ import annotations

import functools

from .pointwise import FLAT_GROUP as GROUP
from .wgsl import FOLDED, Kernel, Program, convert, fold


def grid(n: int) -> tuple[int, int, int]:
    """Workgroups for one thread a result."""
    return fold(-(-n // GROUP))


@functools.cache
def taps(code: str, out_code: str, rounded: bool) -> Kernel:
    """The map of an axis of [before, size, after] to [before, count, after]. `rounded` results are whole, within [0, 255].

    Bindings: x, index (i32, [count, taps]), weight (f32), result. Parameters: offset of x, results, size, count, after, taps.
    """
    p = Program("taps", (GROUP, 1))
    x = p.buffer("x", code)
    p.buffer("index", "i32")
    p.buffer("weight", "f32")
    out = p.buffer("result", out_code, "w")
    at, n, size, count, after, each = (p.word(w) for w in ("offset", "n", "size", "count", "after", "taps"))
    value = convert(x.load("from_x + u32(index[k]) * " + after), x.type.compute, "f32")
    p.main(
        f"let i = {FOLDED} * {GROUP}u + lane;",
        f"if (i >= {n}) {{ return; }}",
        f"let rest = i / {after};",
        f"let a = i - rest * {after};",
        f"let before = rest / {count};",
        f"let o = rest - before * {count};",
        f"let from_x = {at} + before * {size} * {after} + a;",
        "var total = 0.0;",
        f"for (var k = o * {each}; k < (o + 1u) * {each}; k++) {{",
        "  let w = weight[k];",
        f"  if (w != 0.0) {{ total += w * {value}; }}",
        "}",
        *(["total = clamp(round_f(total), 0.0, 255.0);"] if rounded else []),
        out.save("i", convert("total", "f32", out.type.compute)),
    )
    return p.build()


# -- sampling at coordinates ------------------------------------------------------------------------------------

MODES = ("bilinear", "nearest", "bicubic")

_COORDINATES = """
// A place brought inside, and the factor of its slope: zeros leave it, the border clamps it, a reflection throws it back first.
fn bounded(x: f32, slope: f32, size: f32, padding: u32, corners: bool) -> vec2<f32> {
  var p = vec2<f32>(x, slope);
  if (padding == 2u) {
    let low = select(-0.5, 0.0, corners);
    let span = select(size, size - 1.0, corners);
    if (span <= 0.0) {
      p = vec2<f32>(0.0, 0.0);
    } else {
      var away = p.x - low;
      if (away < 0.0) { p.y = -p.y; away = -away; }
      let times = floor(away / span);
      let rest = away - times * span;
      let odd = (u32(min(times, 2147483520.0)) & 1u) == 1u;
      p = vec2<f32>(select(rest, span - rest, odd) + low, select(p.y, -p.y, odd));
    }
  }
  if (padding != 0u) {
    if (!(p.x > 0.0) || !(p.x < size - 1.0)) { p.y = 0.0; }
    p.x = select(clamp(p.x, 0.0, size - 1.0), 0.0, is_nan(x));
  }
  return p;
}
// A coordinate in [-1, 1] as a place in elements, with its slope; what is no place lies outside.
fn place_of(c: f32, size: f32, padding: u32, corners: bool) -> vec2<f32> {
  let half = select(size, size - 1.0, corners) * 0.5;
  let x = (c + 1.0) * half - select(0.5, 0.0, corners);
  let p = bounded(x, half, size, padding, corners);
  return vec2<f32>(select(p.x, -100.0, is_nan(p.x) || abs(p.x) > 1e9), p.y);
}
// Keys' weight of an element at distance d (a = -0.75), and its slope by the place.
fn keys(d: f32) -> vec2<f32> {
  let x = abs(d);
  let s = sign(d);
  if (x < 1.0) { return vec2<f32>((1.25 * x - 2.25) * x * x + 1.0, (3.75 * x - 4.5) * x * s); }
  return vec2<f32>(((-0.75 * x + 3.75) * x - 6.0) * x + 3.0, ((-2.25 * x + 7.5) * x - 6.0) * s);
}
"""


def _corner_text(mode: str) -> str:
    """WGSL of `corner(c, k, size, padding, corners)`: (place, weight, slope) of the k-th element along an axis."""
    if mode == "nearest":
        body = "  let p = place_of(c, size, padding, corners);\n  return vec3<f32>(round_f(p.x), 1.0, 0.0);\n"
    elif mode == "bilinear":
        body = (
            "  let p = place_of(c, size, padding, corners);\n"
            "  let low = floor(p.x);\n"
            "  let part = p.x - low;\n"
            "  if (k == 0u) { return vec3<f32>(low, 1.0 - part, -p.y); }\n"
            "  return vec3<f32>(low + 1.0, part, p.y);\n"
        )
    else:
        body = (
            "  let p = place_of(c, size, 0u, corners);\n"
            "  let low = floor(p.x);\n"
            "  let w = keys(p.x - low - (f32(k) - 1.0));\n"
            "  let at = bounded(low + f32(k) - 1.0, 1.0, size, padding, corners).x;\n"
            "  return vec3<f32>(select(at, -100.0, is_nan(at) || abs(at) > 1e9), w.x, w.y * p.y);\n"
        )
    return f"fn corner(c: f32, k: u32, size: f32, padding: u32, corners: bool) -> vec3<f32> {{\n{body}}}"


def corner_count(mode: str) -> int:
    """Elements along an axis that a sample is made of."""
    return {"nearest": 1, "bilinear": 2, "bicubic": 4}[mode]


class _Sampler:
    """The parts that the three kernels of sampling share; axes are named z, y, x (the innermost last)."""

    def __init__(self, p: Program, rank: int, mode: str):
        self.axes = "zyx"[3 - rank :]
        self.each = corner_count(mode)
        self.sizes = {a: p.word(f"size_{a}") for a in self.axes}
        self.padding, self.corners = p.word("padding"), p.word("align_corners", "bool")
        p.top(_COORDINATES)
        p.top(_corner_text(mode))

    def coordinates(self, grid: object, at: str) -> list[str]:
        """Lines that read the coordinates, which stand with the innermost axis first."""
        return [
            f"let c{a} = {grid.load(f'{at} + {i}u')};"  # type: ignore[attr-defined]
            for i, a in enumerate(reversed(self.axes))
        ]

    def loops(self, body: list[str]) -> list[str]:
        """`body` for each corner that is inside, which sees `element`, and k, weight and slope of each axis (w_x.y, w_x.z)."""
        lines, indent = [], ""
        for a in self.axes:
            size = self.sizes[a]
            lines += [
                f"{indent}for (var k{a} = 0u; k{a} < {self.each}u; k{a}++) {{",
                f"{indent}  let w_{a} = corner(c{a}, k{a}, f32({size}), {self.padding}, {self.corners});",
                f"{indent}  if (w_{a}.x < 0.0 || w_{a}.x >= f32({size})) {{ continue; }}",
            ]
            indent += "  "
        place = ""
        for a in self.axes:
            place = f"u32(w_{a}.x)" if not place else f"({place}) * {self.sizes[a]} + u32(w_{a}.x)"
        lines += [f"{indent}let element = {place};", *[indent + line for line in body]]
        for _ in self.axes:
            indent = indent[:-2]
            lines.append(f"{indent}}}")
        return lines

    def weight(self) -> str:
        """The product of the axes' weights."""
        return " * ".join(f"w_{a}.y" for a in self.axes)

    def plane(self) -> str:
        """Elements of a plane."""
        return " * ".join(self.sizes.values())


@functools.cache
def sample(code: str, rank: int, mode: str) -> Kernel:
    """Images [N, C, ...] at coordinates [N, points, axes], all contiguous, to [N, C, points]: a thread a result.

    Bindings: x, grid, result. Parameters: n, offsets of x and grid, channels, points; sizes, padding (0 zeros, 1 border, 2
    reflection), whether corners are aligned.
    """
    p = Program(f"sample_{mode}", (GROUP, 1))
    x, grid_, out = p.buffer("x", code), p.buffer("grid", code), p.buffer("result", code, "w")
    n, at, at_g, channels, points = (p.word(w) for w in ("n", "offset", "offset_grid", "channels", "points"))
    s = _Sampler(p, rank, mode)
    p.main(
        f"let i = {FOLDED} * {GROUP}u + lane;",
        f"if (i >= {n}) {{ return; }}",
        f"let plane = i / {points};",
        f"let point = i - plane * {points};",
        f"let from_x = {at} + plane * ({s.plane()});",
        *s.coordinates(grid_, f"{at_g} + (plane / {channels} * {points} + point) * {rank}u"),
        "var total = 0.0;",
        *s.loops([f"total += {x.load('from_x + element')} * ({s.weight()});"]),
        out.save("i", "total"),
    )
    return p.build()


@functools.cache
def sample_slopes(code: str, rank: int, mode: str) -> Kernel:
    """The gradient by the coordinates: a thread a point. Bindings: g [N, C, points], x, grid, result. Parameters: n (N points),
    offsets of g, x, grid, channels, points; as in `sample`.
    """
    p = Program(f"sample_slopes_{mode}", (GROUP, 1))
    g, x, grid_ = p.buffer("g", code), p.buffer("x", code), p.buffer("grid", code)
    out = p.buffer("result", code, "w")
    n, at_d, at, at_g, channels, points = (
        p.word(w) for w in ("n", "offset_g", "offset", "offset_grid", "channels", "points")
    )
    s = _Sampler(p, rank, mode)
    slopes = []
    for a in s.axes:
        factors = " * ".join(f"w_{b}.{'z' if a == b else 'y'}" for b in s.axes)
        slopes.append(f"slope_{a} += dot_ * ({factors});")
    p.main(
        f"let i = {FOLDED} * {GROUP}u + lane;",
        f"if (i >= {n}) {{ return; }}",
        f"let image = i / {points};",
        f"let point = i - image * {points};",
        *s.coordinates(grid_, f"{at_g} + i * {rank}u"),
        *[f"var slope_{a} = 0.0;" for a in s.axes],
        *s.loops(
            [
                "var dot_ = 0.0;",
                f"for (var c = 0u; c < {channels}; c++) {{",
                f"  let plane = image * {channels} + c;",
                f"  dot_ += {x.load(f'{at} + plane * ({s.plane()}) + element')} * {g.load(f'{at_d} + plane * {points} + point')};",
                "}",
                *slopes,
            ]
        ),
        *[out.save(f"i * {rank}u + {i}u", f"slope_{a}") for i, a in enumerate(reversed(s.axes))],
    )
    return p.build()


@functools.cache
def corners(code: str, rank: int, mode: str) -> Kernel:
    """For each point and corner the place in all planes of one channel, and the weight: a thread a point.

    Corners outside have the place 0 and weight 0. Bindings: grid, places (i32, [N points, corners]), weights (f32).
    Parameters: n (N points), offset of the grid, points; as in `sample`.
    """
    p = Program(f"corners_{mode}", (GROUP, 1))
    grid_ = p.buffer("grid", code)
    p.buffer("places", "i32", "w")
    p.buffer("weights", "f32", "w")
    n, at_g, points = p.word("n"), p.word("offset_grid"), p.word("points")
    s = _Sampler(p, rank, mode)
    each = s.each**rank
    number = ""
    for a in s.axes:
        number = f"k{a}" if not number else f"({number}) * {s.each}u + k{a}"
    p.main(
        f"let i = {FOLDED} * {GROUP}u + lane;",
        f"if (i >= {n}) {{ return; }}",
        *s.coordinates(grid_, f"{at_g} + i * {rank}u"),
        f"for (var k = i * {each}u; k < (i + 1u) * {each}u; k++) {{ places[k] = 0; weights[k] = 0.0; }}",
        *s.loops(
            [
                f"let k = i * {each}u + {number};",
                f"places[k] = i32(i / {points} * ({s.plane()}) + element);",
                f"weights[k] = {s.weight()};",
            ]
        ),
    )
    return p.build()


# -- distances of all pairs -------------------------------------------------------------------------------------


@functools.cache
def distances(code: str, kind: str) -> Kernel:
    """|x - y|_p of all pairs of rows: x [L, P, M], y [L, R, M], both contiguous, to [L, P, R]; kind "0", "1", "2", "inf" or "p".

    Bindings: x, y, result. Parameters: n, offsets of x and y, P, R, M, p.
    """
    p = Program(f"distances_{kind}", (GROUP, 1))
    x, y, out = p.buffer("x", code), p.buffer("y", code), p.buffer("result", code, "w")
    n, at_x, at_y, rows, cols, depth, power = (
        p.word(w, "f32" if w == "p" else "u32") for w in ("n", "offset_x", "offset_y", "rows", "cols", "depth", "p")
    )
    each, last = {
        "0": ("total + select(0.0, 1.0, unequal_f(d, 0.0))", "total"),
        "1": ("total + d", "total"),
        "2": ("total + d * d", "sqrt_f(total)"),
        "inf": ("max_nan(total, d)", "total"),
        "p": (f"total + pow_f(d, {power})", f"pow_f(total, 1.0 / {power})"),
    }[kind]
    p.main(
        f"let i = {FOLDED} * {GROUP}u + lane;",
        f"if (i >= {n}) {{ return; }}",
        f"let row = i / {cols};",
        f"let col = i - row * {cols};",
        f"let from_x = {at_x} + row * {depth};",
        f"let from_y = {at_y} + (row / {rows} * {cols} + col) * {depth};",
        "var total = 0.0;",
        f"for (var k = 0u; k < {depth}; k++) {{",
        f"  let d = abs({x.load('from_x + k')} - {y.load('from_y + k')});",
        f"  total = {each};",
        "}",
        out.save("i", last),
    )
    return p.build()
