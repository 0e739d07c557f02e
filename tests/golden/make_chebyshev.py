"""Makes `engine/numerics/coefficients.py`: Chebyshev series of special functions, from 60-digit values.

    python tests/golden/make_chebyshev.py

It needs mpmath (a measuring tool here, not a dependency). Each entry is a smooth function of t in [-1, 1]; the comments say what it
stands for. Series end where the rest is below a hundredth of a unit in the last place of the largest value.
"""

from __future__ import annotations

from pathlib import Path

import mpmath as mp

mp.mp.dps = 60
HALF = mp.mpf(1) / 2
OUT = Path(__file__).resolve().parent.parent.parent / "engine" / "numerics" / "coefficients.py"


def chebyshev(f, points=96):
    """Coefficients of f on [-1, 1] by interpolation in Chebyshev points, cut where they no longer matter."""
    angles = [mp.pi * (k + HALF) / points for k in range(points)]
    values = [mp.mpf(f(mp.cos(a))) for a in angles]
    c = [2 * mp.fsum(v * mp.cos(j * a) for v, a in zip(values, angles, strict=True)) / points for j in range(points)]
    c[0] /= 2
    limit = max(abs(v) for v in values) * mp.mpf(2) ** -59
    last = max(j for j in range(points) if abs(c[j]) > limit)
    if last > points - 8:
        raise ValueError("the series has not converged")
    return [float(v) for v in c[: last + 1]]


def at(low, high, t):
    """t in [-1, 1] as a point of [low, high]."""
    return low + (high - low) * (t + 1) / 2


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def erfcx_far(t):
    """x = 3.75 (1 + t) / (1 - t): all of [0, inf)."""
    if t > 1 - mp.mpf(10) ** -40:
        return 2 / mp.sqrt(mp.pi)
    x = mp.mpf("3.75") * (1 + t) / (1 - t)
    with mp.workdps(80):
        value = erfcx(x) if x < 50 else _erfcx_fraction(x)
        return (1 + 2 * x) * value


def _erfcx_fraction(x):
    """Laplace's continued fraction, for large x."""
    f = x
    for k in range(200, 0, -1):
        f = x + mp.mpf(k) / 2 / f
    return 1 / (mp.sqrt(mp.pi) * f)


def small(f):
    """A quotient with a removable singularity at 0, taken a little beside it."""
    return lambda x: f(x if abs(x) > mp.mpf(10) ** -25 else mp.mpf(10) ** -25)


def erfc_inverse(p):
    """The x with erfc(x) = p, for small p."""
    goal = mp.log(p)
    x = mp.sqrt(-goal)
    for _ in range(60):
        value = mp.erfc(x)
        step = (mp.log(value) - goal) * value * mp.sqrt(mp.pi) / (-2 * mp.exp(-x * x))
        x -= step
        if abs(step) < mp.mpf(10) ** -50 * x:
            break
    return x


PSI_ROOT = mp.findroot(mp.digamma, 1.46)


def bessel_far(order, which):
    """P or x Q of J = A (P cos - Q sin), Y = A (P sin + Q cos) with A = sqrt(2 / (pi x)), angle x - (order/2 + 1/4) pi; t = 128/x^2 - 1."""

    def f(t):
        s = (t + 1) / 128
        if s < mp.mpf(10) ** -24:
            s = mp.mpf(10) ** -24
        x = 1 / mp.sqrt(s)
        if x > 200:
            return _bessel_series(order, x, which)
        angle = x - (mp.mpf(order) / 2 + mp.mpf(1) / 4) * mp.pi
        scale = mp.sqrt(mp.pi * x / 2)
        j, y = mp.besselj(order, x) * scale, mp.bessely(order, x) * scale
        if which == "p":
            return j * mp.cos(angle) + y * mp.sin(angle)
        return x * (y * mp.cos(angle) - j * mp.sin(angle))

    return f


def _bessel_series(order, x, which):
    mu, total, term = 4 * order * order, mp.mpf(0), mp.mpf(1)
    for k in range(60):
        if k:
            term *= (mu - (2 * k - 1) ** 2) / (k * 8 * x)
        if (k % 2 == 0) == (which == "p"):
            total += (-1) ** (k // 2) * term
    return total if which == "p" else x * total


def airy_oscillating(which):
    """P or zeta Q of Ai(-z) = A (sin P - cos Q / zeta), Bi(-z) = A (cos P + sin Q / zeta); t = 2 (zeta(5) / zeta)^2 - 1."""
    start = mp.mpf(2) / 3 * mp.mpf(5) ** (mp.mpf(3) / 2)

    def f(t):
        s = max((t + 1) / 2, mp.mpf(10) ** -8)
        zeta = start / mp.sqrt(s)
        z = (3 * zeta / 2) ** (mp.mpf(2) / 3)
        scale = mp.sqrt(mp.pi) * z ** (mp.mpf(1) / 4)
        with mp.workdps(90):
            a, b, angle = mp.airyai(-z) * scale, mp.airybi(-z) * scale, zeta + mp.pi / 4
            if which == "p":
                return a * mp.sin(angle) + b * mp.cos(angle)
            return zeta * (b * mp.sin(angle) - a * mp.cos(angle))

    return f


def airy_decaying(t):
    start = mp.mpf(2) / 3 * mp.mpf(2) ** (mp.mpf(3) / 2)
    zeta = 2 * start / max(t + 1, mp.mpf(10) ** -20)
    if zeta > 1000:
        u, total = mp.mpf(1), mp.mpf(1)
        for k in range(1, 20):
            u *= mp.mpf((6 * k - 5) * (6 * k - 3) * (6 * k - 1)) / (216 * k * (2 * k - 1))
            total += (-1) ** k * u / zeta**k
        return total
    x = (3 * zeta / 2) ** (mp.mpf(2) / 3)
    return mp.airyai(x) * 2 * mp.sqrt(mp.pi) * x ** (mp.mpf(1) / 4) * mp.exp(zeta)


def exponential_far(f, start):
    """sqrt(x) f(x), x = 2 start / (t + 1): all of [start, inf)."""

    def g(t):
        x = 2 * mp.mpf(start) / max(t + 1, mp.mpf(10) ** -12)
        return mp.sqrt(x) * f(x)

    return g


def scaled_i(order):
    def f(x):
        if x > 500:
            term, total = mp.mpf(1), mp.mpf(1)
            for k in range(1, 40):
                term *= -(mp.mpf(4 * order * order) - (2 * k - 1) ** 2) / (k * 8 * x)
                total += term
            return total / mp.sqrt(2 * mp.pi * x)
        return mp.exp(-x) * mp.besseli(order, x)

    return f


def scaled_k(order):
    def f(x):
        if x > 500:
            term, total = mp.mpf(1), mp.mpf(1)
            for k in range(1, 40):
                term *= (mp.mpf(4 * order * order) - (2 * k - 1) ** 2) / (k * 8 * x)
                total += term
            return total * mp.sqrt(mp.pi / (2 * x))
        return mp.exp(x) * mp.besselk(order, x)

    return f


def root(t, top):
    """The x with t = 2 x^2 / top^2 - 1."""
    return mp.mpf(top) * mp.sqrt((t + 1) / 2)


SERIES = {
    "ERF": ("erf(x) / x, t = 2 x^2 - 1, for |x| <= 1", lambda t: small(lambda x: mp.erf(x) / x)(root(t, 1))),
    "ERFCX": ("(1 + 2 x) exp(x^2) erfc(x), t = (x - 3.75) / (x + 3.75), for x >= 0", erfcx_far),
    "ERFINV": (
        "erfinv(x) / x, t = 2 x^2 / 0.5625 - 1, for |x| <= 0.75",
        lambda t: small(lambda x: mp.erfinv(x) / x)(root(t, "0.75")),
    ),
    "ERFCINV_NEAR": (
        "x / r with erfc(x) = exp(-r^2), r in [1.1, 3]",
        lambda t: (lambda r: erfc_inverse(mp.exp(-r * r)) / r)(at(mp.mpf("1.1"), 3, t)),
    ),
    "ERFCINV_MIDDLE": ("the same, r in [3, 8]", lambda t: (lambda r: erfc_inverse(mp.exp(-r * r)) / r)(at(3, 8, t))),
    "ERFCINV_FAR": ("the same, r in [8, 28]", lambda t: (lambda r: erfc_inverse(mp.exp(-r * r)) / r)(at(8, 28, t))),
    "LGAMMA": (
        "lgamma(x) / ((x - 1) (x - 2)), t = x - 2",
        lambda t: mp.loggamma(2 + t) / ((1 + t) * t) if abs(t) > mp.mpf(10) ** -20 else 1 - mp.euler,
    ),
    "DIGAMMA": (
        "digamma(x) / (x - root), t = 2 x - 3",
        lambda t: (
            lambda x: mp.digamma(x) / (x - PSI_ROOT) if abs(x - PSI_ROOT) > 1e-20 else mp.polygamma(1, PSI_ROOT)
        )((t + 3) / 2),
    ),
    "I0_NEAR": ("exp(-x) I0(x), t = x / 4 - 1, for 0 <= x <= 8", lambda t: scaled_i(0)(4 * (t + 1))),
    "I0_FAR": ("sqrt(x) exp(-x) I0(x), t = 16 / x - 1, for x >= 8", exponential_far(scaled_i(0), 8)),
    "I1_NEAR": (
        "exp(-x) I1(x) / x, t = x / 4 - 1, for 0 <= x <= 8",
        lambda t: small(lambda x: scaled_i(1)(x) / x)(4 * (t + 1)),
    ),
    "I1_FAR": ("sqrt(x) exp(-x) I1(x), t = 16 / x - 1, for x >= 8", exponential_far(scaled_i(1), 8)),
    "J0_NEAR": ("J0(x), t = x^2 / 32 - 1, for x <= 8", lambda t: mp.besselj(0, root(t, 8))),
    "J0_P": ("the part P of J0 and Y0 for x >= 8, t = 128 / x^2 - 1", bessel_far(0, "p")),
    "J0_Q": ("x times the part Q of J0 and Y0", bessel_far(0, "q")),
    "J1_NEAR": ("J1(x) / x, t = x^2 / 32 - 1, for x <= 8", lambda t: small(lambda x: mp.besselj(1, x) / x)(root(t, 8))),
    "J1_P": ("the part P of J1 and Y1 for x >= 8, t = 128 / x^2 - 1", bessel_far(1, "p")),
    "J1_Q": ("x times the part Q of J1 and Y1", bessel_far(1, "q")),
    "Y0_NEAR": (
        "Y0(x) - 2/pi log(x) J0(x), t = x^2 / 32 - 1, for x <= 8",
        lambda t: small(lambda x: mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x))(root(t, 8)),
    ),
    "Y1_NEAR": (
        "(Y1(x) - 2/pi (log(x) J1(x) - 1/x)) / x, t = x^2 / 32 - 1, for x <= 8",
        lambda t: (lambda x: (mp.bessely(1, x) - 2 / mp.pi * (mp.log(x) * mp.besselj(1, x) - 1 / x)) / x)(
            max(root(t, 8), mp.mpf(10) ** -9)
        ),
    ),
    "K0_NEAR": (
        "K0(x) + log(x/2) I0(x), t = x^2 / 2 - 1, for x <= 2",
        lambda t: small(lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x))(root(t, 2)),
    ),
    "K0_FAR": ("sqrt(x) exp(x) K0(x), t = 4 / x - 1, for x >= 2", exponential_far(scaled_k(0), 2)),
    "K1_NEAR": (
        "x (K1(x) - log(x/2) I1(x)), t = x^2 / 2 - 1, for x <= 2",
        lambda t: small(lambda x: x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x)))(root(t, 2)),
    ),
    "K1_FAR": ("sqrt(x) exp(x) K1(x), t = 4 / x - 1, for x >= 2", exponential_far(scaled_k(1), 2)),
    "AIRY_NEAR": (
        "Ai(x), t = (x + 1.5) / 3.5, for -5 <= x <= 2",
        lambda t: mp.airyai(mp.mpf("3.5") * t - mp.mpf("1.5")),
    ),
    "AIRY_FAR": ("2 sqrt(pi) x^(1/4) exp(z) Ai(x), z = 2/3 x^(3/2), t = 2 z(2) / z - 1, for x >= 2", airy_decaying),
    "AIRY_P": ("the part P of Ai(-x), t = 2 (z(5) / z)^2 - 1, for x >= 5", airy_oscillating("p")),
    "AIRY_Q": ("z times the part Q of Ai(-x)", airy_oscillating("q")),
}


def rational(f, top, numerator, denominator, points=60):
    """P and Q, lowest degree first, with P(s) / Q(s) near f(s) on [0, top]: least squares of the relative error, reweighted."""
    nodes = [top * (1 - mp.cos(mp.pi * (k + HALF) / points)) / 2 for k in range(points)]
    values = [f(s) for s in nodes]
    weights = [1 / v for v in values]
    solution = None
    for _ in range(6):
        rows = [
            [w * s**j for j in range(numerator + 1)] + [-w * v * s**j for j in range(1, denominator + 1)]
            for s, v, w in zip(nodes, values, weights, strict=True)
        ]
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix([w * v for w, v in zip(weights, values, strict=True)]))
        q = [mp.mpf(1), *solution[numerator + 1 :]]
        weights = [1 / (v * abs(mp.polyval(q[::-1], s))) for s, v in zip(nodes, values, strict=True)]
    p, q = list(solution[: numerator + 1]), [mp.mpf(1), *solution[numerator + 1 :]]
    worst = max(
        abs(mp.polyval(p[::-1], s) / mp.polyval(q[::-1], s) / f(s) - 1)
        for s in [top * mp.mpf(k) / 400 for k in range(401)]
    )
    print("rational, relative error", mp.nstr(worst, 3))
    return [float(v) for v in p], [float(v) for v in q]


def main():
    parts = [
        '"""Chebyshev series of special functions on [-1, 1], lowest degree first, made by tests/golden/make_chebyshev.py from 60-digit',
        'values.  Each line above a series says what function of which t it stands for."""',
        "",
        f"DIGAMMA_ROOT = ({float(PSI_ROOT)!r}, {float(PSI_ROOT - mp.mpf(float(PSI_ROOT)))!r})",
        '"""The positive zero of digamma, as a sum of two numbers."""',
        "",
    ]
    over = small(lambda s: mp.erf(mp.sqrt(s)) / mp.sqrt(s))
    for name, c in zip(("ERF_SINGLE_P", "ERF_SINGLE_Q"), rational(over, mp.mpf(16), 5, 5), strict=True):
        parts += [
            f"# erf(x) / x = P(x^2) / Q(x^2) in single precision, for |x| <= 4: {name[-1]}, lowest power first",
            f"{name} = (",
        ]
        parts += [*[f"    {v!r}," for v in c], ")"]
    for name, (meaning, f) in SERIES.items():
        c = chebyshev(f)
        print(name, len(c))
        parts += [f"# {meaning}", f"{name} = (", *[f"    {v!r}," for v in c], ")"]
    OUT.write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
