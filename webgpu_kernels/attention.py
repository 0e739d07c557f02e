"""Scaled dot product attention without the matrix of weights: softmax(q k^T scale + mask) v with running maxima and sums.

Forward, a thread walks the keys of one query; whenever a score exceeds the largest so far, what was gathered is scaled down (the
online softmax of Milakov and Gimelshein, 2018; Dao et al., 2022).  Backward makes the weights anew from the logarithm of each row's
sum: one kernel has a thread a query, for its gradient, another a thread a key, for those of keys and values.  Nothing of size queries x keys
is ever stored, and every sum has one order.

q [planes, L, E], k and v [planes, S, E], contiguous, f32, E a multiple of four up to `MOST_WIDTH`, which is in the text: a row
of E numbers lives in registers.  A mask is read through strides; "bool" says who may be looked at, "f32" is added.

Parameters: rows (threads), L, S, heads, whether causal, scale; offsets of q, k, v, g, out, mask; strides of the mask (batch, head, row,
column).
"""

from __future__ import annotations

import functools

from .wgsl import FOLDED, Kernel, Program, fold

GROUP = 64
MOST_WIDTH = 128


class _Parts:
    """What the three kernels share."""

    def __init__(self, p: Program, mask: str | None, width: int):
        self.p, self.mask, self.fours = p, mask, width // 4
        names = ("rows", "queries", "keys", "heads")
        self.rows, self.queries, self.keys, self.heads = (p.word(n) for n in names)
        self.causal, self.scale = p.word("causal", "bool"), p.word("scale", "f32")
        self.at = {n: p.word(f"offset_{n}") for n in ("q", "k", "v", "g", "out", "mask")}
        self.steps = [p.word(f"mask_{n}") for n in ("batch", "head", "row", "column")]

    def begin(self, each: str) -> None:
        """The thread's plane, and its row `mine` of a plane's `each`."""
        self.p.main(
            f"let task = {FOLDED} * {GROUP}u + lane;",
            f"if (task >= {self.rows}) {{ return; }}",
            f"let plane = task / {each};",
            f"let mine = task - plane * {each};",
        )
        if self.mask:
            b, h, _, _ = self.steps
            self.p.main(f"let from_mask = {self.at['mask']} + plane / {self.heads} * {b} + plane % {self.heads} * {h};")

    def load(self, to: str, name: str, row: str, factor: str = "") -> list[str]:
        """Lines that read a row of `name` into to0, to1, ..."""
        d = self.fours
        return [f"let {to}_at = {self.at[name]} / 4u + ({row}) * {d}u;"] + [
            f"let {to}{i} = {name}[{to}_at + {i}u]{factor};" for i in range(d)
        ]

    def dot(self, x: str, y: str) -> str:
        """The inner product of two rows in registers."""
        return " + ".join(f"dot({x}{i}, {y}{i})" for i in range(self.fours))

    def masked(self, row: str, column: str) -> list[str]:
        """Lines that apply the mask to `score`, or go on to the next."""
        if self.mask is None:
            return []
        _, _, r, c = self.steps
        value = f"mask[from_mask + {row} * {r} + {column} * {c}]"
        if self.mask == "bool":
            return [f"  if ({value} == 0u) {{ continue; }}"]
        return [f"  score += {value};", "  if (is_inf(score) && score < 0.0) { continue; }"]


def _program(name: str, arrays: str, mask: str | None, written: dict[str, str]) -> Program:
    p = Program(name, (GROUP, 1))
    for a in arrays.split():
        p.buffer(a, "f32", "w" if a in written else "r", wide=written.get(a, "wide") == "wide")
        if mask and a == arrays.split()[-1]:
            p.buffer("mask", "bool" if mask == "bool" else "f32")
    return p


@functools.cache
def forward(width: int, mask: str | None) -> Kernel:
    """Bindings: q, k, v, mask (if any), result, stats (two numbers a query, of which the first is written: the logarithm of the sum)."""
    p = _program("attention", "q k v", mask, {})
    p.buffer("result", "f32", "w", wide=True)
    p.buffer("stats", "f32", "w")
    s = _Parts(p, mask, width)
    s.begin(s.queries)
    p.main(
        *s.load("q", "q", "task", f" * {s.scale}"),
        *[f"var a{i} = vec4<f32>();" for i in range(s.fours)],
        "var top = -infinity();",
        "var total = 0.0;",
        f"let end = select({s.keys}, min({s.keys}, mine + 1u), {s.causal});",
        "for (var j = 0u; j < end; j++) {",
        *["  " + line for line in s.load("k", "k", f"plane * {s.keys} + j")],
        f"  var score = {s.dot('q', 'k')};",
        *s.masked("mine", "j"),
        "  if (score > top) {",
        "    let less = exp_nonpositive(top - score);",
        "    total *= less;",
        *[f"    a{i} *= less;" for i in range(s.fours)],
        "    top = score;",
        "  }",
        "  let weight = select(exp_nonpositive(score - top), score, is_nan(score));",
        "  total += weight;",
        *["  " + line for line in s.load("v", "v", f"plane * {s.keys} + j")],
        *[f"  a{i} += weight * v{i};" for i in range(s.fours)],
        "}",
        "let by = select(1.0 / total, 0.0, total == 0.0);",
        *[f"result[task * {s.fours}u + {i}u] = a{i} * by;" for i in range(s.fours)],
        "stats[2u * task] = select(top + log_f(total), infinity(), total == 0.0);",
    )
    return p.build()


@functools.cache
def of_queries(width: int, mask: str | None) -> Kernel:
    """The gradient by the queries. Bindings: q, k, v, g, out, mask (if any), stats (the second number of each query is written: g . out),
    result."""
    p = _program("attention_queries", "q k v g out", mask, {})
    p.buffer("stats", "f32", "w")
    p.buffer("result", "f32", "w", wide=True)
    s = _Parts(p, mask, width)
    s.begin(s.queries)
    p.main(
        *s.load("q", "q", "task", f" * {s.scale}"),
        *s.load("g", "g", "task"),
        *s.load("o", "out", "task"),
        f"let delta = {s.dot('g', 'o')};",
        "stats[2u * task + 1u] = delta;",
        "let level = stats[2u * task];",
        *[f"var a{i} = vec4<f32>();" for i in range(s.fours)],
        f"let end = select({s.keys}, min({s.keys}, mine + 1u), {s.causal});",
        "for (var j = 0u; j < end; j++) {",
        *["  " + line for line in s.load("k", "k", f"plane * {s.keys} + j")],
        f"  var score = {s.dot('q', 'k')};",
        *s.masked("mine", "j"),
        *["  " + line for line in s.load("v", "v", f"plane * {s.keys} + j")],
        f"  let slope = exp_f(score - level) * (({s.dot('g', 'v')}) - delta) * {s.scale};",
        *[f"  a{i} += slope * k{i};" for i in range(s.fours)],
        "}",
        *[f"result[task * {s.fours}u + {i}u] = a{i};" for i in range(s.fours)],
    )
    return p.build()


@functools.cache
def of_keys(width: int, mask: str | None) -> Kernel:
    """The gradients by keys and values. Bindings: q, k, v, g, mask (if any), stats, and the results for k and v."""
    p = _program("attention_keys", "q k v g", mask, {})
    p.buffer("stats", "f32")
    p.buffer("result_k", "f32", "w", wide=True)
    p.buffer("result_v", "f32", "w", wide=True)
    s = _Parts(p, mask, width)
    s.begin(s.keys)
    p.main(
        *s.load("k", "k", "task"),
        *s.load("v", "v", "task"),
        *[f"var dk{i} = vec4<f32>();" for i in range(s.fours)],
        *[f"var dv{i} = vec4<f32>();" for i in range(s.fours)],
        f"for (var i = select(0u, mine, {s.causal}); i < {s.queries}; i++) {{",
        f"  let row = plane * {s.queries} + i;",
        *["  " + line for line in s.load("q", "q", "row", f" * {s.scale}")],
        f"  var score = {s.dot('q', 'k')};",
        *s.masked("i", "mine"),
        *["  " + line for line in s.load("g", "g", "row")],
        "  let weight = exp_f(score - stats[2u * row]);",
        f"  let slope = weight * (({s.dot('g', 'v')}) - stats[2u * row + 1u]);",
        *[f"  dk{i} += slope * q{i};" for i in range(s.fours)],
        *[f"  dv{i} += weight * g{i};" for i in range(s.fours)],
        "}",
        *[f"result_k[task * {s.fours}u + {i}u] = dk{i};" for i in range(s.fours)],
        *[f"result_v[task * {s.fours}u + {i}u] = dv{i};" for i in range(s.fours)],
    )
    return p.build()


def grid(rows: int) -> tuple[int, int, int]:
    """Workgroups of a launch."""
    return fold(-(-rows // GROUP))
