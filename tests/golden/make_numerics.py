"""Freezes values of special functions, right to the last digit of a double: tests/golden/ops/numerics.json.

python tests/golden/make_numerics.py          # with mpmath installed
"""

from __future__ import annotations

import json
from pathlib import Path

import mpmath as mp

mp.mp.dps = 50
REAL = [-12.75, -3.5, -1.25, -0.3, 1e-8, 0.2, 0.9, 1.4616, 2.5, 4.75, 7.9, 8.3, 17.5, 30.25]
POSITIVE = [x for x in REAL if x > 0]
UNIT = [1e-12, 0.02, 0.2, 0.3, 0.6, 0.9, 0.999999]


def lgamma(x):
    return mp.log(abs(mp.gamma(x)))


FUNCTIONS = {
    "error.erf": (mp.erf, REAL), "error.erfc": (mp.erfc, [x for x in REAL if x < 26]),
    "error.erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), [x for x in REAL if -5 < x < 26]),
    "error.erfinv": (mp.erfinv, [*UNIT, -0.5]), "error.ndtri": (lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), UNIT),
    "error.log_ndtr": (lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), [x for x in REAL if x < 5]),
    "gamma.lgamma": (lgamma, REAL), "gamma.digamma": (mp.digamma, REAL),
    "bessel.i0": (lambda x: mp.besseli(0, x), REAL), "bessel.i1": (lambda x: mp.besseli(1, x), REAL),
    "bessel.j0": (lambda x: mp.besselj(0, x), REAL), "bessel.j1": (lambda x: mp.besselj(1, x), REAL),
    "bessel.y0": (lambda x: mp.bessely(0, x), POSITIVE), "bessel.y1": (lambda x: mp.bessely(1, x), POSITIVE[1:]),
    "bessel.k0": (lambda x: mp.besselk(0, x), POSITIVE), "bessel.k1": (lambda x: mp.besselk(1, x), POSITIVE),
    "bessel.airy": (mp.airyai, [x for x in REAL if x < 10]),
}  # fmt: skip
PAIRS = {
    "gamma.zeta": (lambda s, q: mp.zeta(s, q), [(2, 0.25), (1.5, 3), (3, -0.5), (20, 1.5), (1.01, 40)]),
    "gamma.gammainc": (lambda a, x: mp.gammainc(a, 0, x, regularized=True), [(0.5, 0.1), (3, 2), (3, 9), (40, 30), (200, 210)]),
    "gamma.gammaincc": (lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), [(0.5, 0.1), (3, 2), (3, 9), (40, 60), (200, 210)]),
    "gamma.polygamma": (lambda x, n: mp.polygamma(n, x), [(0.5, 1), (3.25, 2), (-1.5, 1), (12, 4)]),
}  # fmt: skip


def main() -> None:
    frozen = {n: [[x, float(f(mp.mpf(x)))] for x in points] for n, (f, points) in FUNCTIONS.items()}
    frozen |= {
        n: [[*p, float(f(*[mp.mpf(v) for v in p]))] for p in points]
        for n, (f, points) in PAIRS.items()
        if n != "gamma.polygamma"
    }
    f, points = PAIRS["gamma.polygamma"]
    frozen["gamma.polygamma"] = [[x, n, float(f(mp.mpf(x), n))] for x, n in points]
    rows = ",\n".join(f"{json.dumps(n)}: {json.dumps(v)}" for n, v in frozen.items())
    (Path(__file__).parent / "ops" / "numerics.json").write_text("{\n" + rows + "\n}\n")


if __name__ == "__main__":
    main()
