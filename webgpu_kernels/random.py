"""Random numbers by counter: Philox 4x32-10 (Salmon et al., 2011), each thread four numbers from a counter of its own.

A stream is a 64-bit seed; a launch takes the counters from `start` on, one for every four elements, so that what is drawn
depends on seed, start and place alone, on every machine and whatever the launch looks like.

Parameters: offset of the output, n, seed (low, high), start (low, high), two numbers: bounds of a uniform draw, mean and
standard deviation of a normal one, probability of a true one, probability and value of what a mask does not make 0, the first
and the number of the integers to draw (i32, u32).
"""

from __future__ import annotations

import functools

from .pointwise import FLAT_GROUP as GROUP
from .wgsl import FOLDED, TYPES, Kernel, Program, convert, fold

KINDS = ("uniform", "normal", "bernoulli", "mask", "integers")

_ROUNDED = {"f16": "round_half({})", "f16w": "round_half({})", "bf16": "round_brain({})"}
"""How a number is rounded that will be stored with fewer digits."""

_PHILOX = """fn philox(counter: vec4<u32>, seed: vec2<u32>) -> vec4<u32> {
  var c = counter;
  var k = seed;
  for (var i = 0; i < 10; i++) {
    let h0 = mul_high(0xd2511f53u, c.x);
    let h1 = mul_high(0xcd9e8d57u, c.z);
    c = vec4<u32>(h1 ^ c.y ^ k.x, 0xcd9e8d57u * c.z, h0 ^ c.w ^ k.y, 0xd2511f53u * c.x);
    k = k + vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  }
  return c;
}
fn unit(w: u32) -> f32 { return f32(w >> 8u) * 5.9604644775390625e-08; }
"""


@functools.cache
def build(kind: str, code: str) -> Kernel:
    """The kernel of a distribution. Raises ValueError for one that is not among `KINDS`."""
    if kind not in KINDS:
        raise ValueError(f"no distribution {kind!r}; there are {', '.join(KINDS)}")
    p = Program(f"random_{kind}")
    result = p.buffer("result", code, "w")
    start, n = p.word("offset"), p.word("n")
    low, high, first, carry = p.word("seed_low"), p.word("seed_high"), p.word("start_low"), p.word("start_high")
    whole = kind == "integers"
    a, b = p.word("a", "i32" if whole else "f32"), p.word("b", "u32" if whole else "f32")
    p.top(_PHILOX)
    p.main(
        f"let block = {FOLDED} * {GROUP}u + lane;",
        f"if (block * 4u >= {n}) {{ return; }}",
        f"let counter = block + {first};",
        f"let above = {carry} + select(0u, 1u, counter < block);",
        f"let w = philox(vec4<u32>(counter, above, 0u, 0u), vec2<u32>({low}, {high}));",
    )
    kept = TYPES[code].compute
    if kind == "normal":  # Box and Muller's pairs, from radii in (0, 1] and angles in [0, 1)
        for j in (0, 2):
            radius = f"sqrt(-2.0 * log_f((f32(w.{'xyzw'[j]} >> 8u) + 1.0) * 5.9604644775390625e-08))"
            p.main(
                f"let r{j} = {radius};",
                f"let t{j} = unit(w.{'xyzw'[j + 1]}) * 6.2831855;",
                f"let v{j} = {a} + {b} * (r{j} * cos_f(t{j}));",
                f"let v{j + 1} = {a} + {b} * (r{j} * sin_f(t{j}));",
            )
    for j in range(4):
        word = f"w.{'xyzw'[j]}"
        if kind == "uniform":  # rounding may reach the upper bound, which is not to be drawn
            rounded = _ROUNDED.get(code, "{}").format(f"{a} + unit({word}) * ({b} - {a})")
            p.main(f"let u{j} = {rounded};", f"let v{j} = select(u{j}, {a}, u{j} >= {b});")
        elif kind == "bernoulli":
            p.main(f"let v{j} = unit({word}) < {a};")
        elif kind == "mask":
            p.main(f"let v{j} = select(0.0, {b}, unit({word}) < {a});")
        elif whole:
            p.main(f"let v{j} = {a} + bitcast<i32>({word} % {b});")
        value = convert(f"v{j}", "bool" if kind == "bernoulli" else "i32" if whole else "f32", kept)
        p.main(f"if (block * 4u + {j}u < {n}) {{ {result.save(f'{start} + block * 4u + {j}u', value)} }}")
    return p.build()


def words(offset: int, n: int, seed: int, start: int, a: int, b: int) -> tuple[int, ...]:
    """Parameter words; `a` and `b` as the bits of f32 (or as integers, where those are drawn)."""
    mask = 0xFFFFFFFF
    return (offset, n, seed & mask, seed >> 32 & mask, start & mask, start >> 32 & mask, a, b)


def counters(n: int) -> int:
    """How many counters a draw of n numbers uses up."""
    return -(-n // 4)


def grid(n: int) -> tuple[int, int, int]:
    """Workgroups of a launch."""
    return fold(-(-counters(n) // GROUP))
