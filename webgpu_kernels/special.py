"""WGSL of special functions beyond those of `functions.py`: Bessel and Airy functions, incomplete gamma functions, the zeta function,
and the orthogonal polynomials.

Near zero Bessel functions are Chebyshev series, further out amplitude and phase (Abramowitz and Stegun 9.2.5, 9.2.6, 10.4.59, 10.4.60,
9.7), whose parts are Chebyshev series in the inverse argument; each series is as long as single precision needs, and is summed by
Clenshaw's recurrence.  Polynomials go by their three-term recurrences (Abramowitz and Stegun 22.7).  Measured errors stand in
docs/numerics.md.
"""

from __future__ import annotations

from collections.abc import Sequence

SERIES: dict[str, tuple[float, ...]] = {
    "erfcx": (
        1.17757893, -0.00459005451, -0.0842491314, 0.0592099391, -0.0266586691, 0.00907499809, -0.00241316343,
        0.000490775856, -6.91697351e-05, 4.13902808e-06, 7.74038313e-07, -2.18864017e-07, 1.07649996e-08,
    ),
    "i0_near": (
        0.338397652, -0.304682672, 0.171620905, -0.0949010998, 0.0493052825, -0.0237374157, 0.0105464607,
        -0.00432430999, 0.00163947558, -0.000576375576, 0.000188502891, -5.75419508e-05, 1.64484482e-05,
        -4.41673819e-06, 1.11738757e-06, -2.67079372e-07, 6.04699508e-08, -1.30002498e-08, 2.65982369e-09,
    ),
    "i0_far": (
        0.402245194, 0.00336911646, 6.88975852e-05, 2.89137051e-06, 2.04891862e-07, 2.26666899e-08, 3.39623196e-09,
    ),
    "i1_near": (
        0.1262936, -0.176416516, 0.102643661, -0.0529459827, 0.0247264486, -0.0105640851, 0.0041564228,
        -0.00151357241, 0.000512285973, -0.000161760821, 4.78156508e-05, -1.32731639e-05, 3.47025139e-06,
        -8.5687202e-07, 2.00329481e-07, -4.44505908e-08, 9.38153732e-09, -1.88724969e-09, 3.62559038e-10,
    ),
    "i1_far": (
        0.389288127, -0.00976109784, -0.000110588939, -3.88256467e-06, -2.51223611e-07, -2.63146891e-08,
        -3.83538046e-09,
    ),
    "j0_near": (
        0.157727972, -0.00872344244, 0.265178621, -0.370094985, 0.158067107, -0.0348937698, 0.00481917989,
        -0.000460626179, 3.24603279e-05, -1.76194692e-06, 7.60816334e-08, -2.67925349e-09,
    ),
    "j0_p": (
        0.99946034, -0.000536522071, 3.07518485e-06, -5.17059462e-08,
    ),
    "j0_q": (
        -0.124446839, 0.000547081581, -5.93159893e-06, 1.43779658e-07, -5.81753268e-09,
    ),
    "j1_near": (
        0.0810448453, -0.148975149, 0.160999268, -0.0826804936, 0.0222136397, -0.00364694069, 0.000405033759,
        -3.25555484e-05, 1.98587736e-06, -9.52198462e-08, 3.68713371e-09,
    ),
    "j1_p": (
        1.00090301, 0.000898989849, -3.98728434e-06, 6.17763405e-08,
    ),
    "j1_q": (
        0.374222308, -0.000770217855, 7.31089222e-06, -1.67678252e-07, 6.58335475e-09,
    ),
    "y0_near": (
        -0.0331461132, -0.274474293, 0.179034308, 0.261567354, -0.177302018, 0.04719669, -0.00728796236,
        0.000753113593, -5.63207905e-05, 3.20653248e-06, -1.44072331e-07, 5.24879473e-09,
    ),
    "y1_near": (
        0.00253801327, -0.0160871726, -0.0959120467, 0.0844519734, -0.0283281244, 0.00528989732, -0.000641455117,
        5.5059827e-05, -3.53807991e-06, 1.7707805e-07, -7.11054993e-09, 2.34433778e-10,
    ),
    "k0_near": (
        -0.267663687, 0.344289899, 0.0359799378, 0.00126461545, 2.28621211e-05, 2.53479101e-07, 1.90451632e-09,
    ),
    "k0_far": (
        1.22015154, -0.0314480998, 0.0015698839, -0.000128495492, 1.39498134e-05, -1.83175553e-06, 2.76681362e-07,
        -4.66048995e-08, 8.57403393e-09,
    ),
    "k1_near": (
        0.762650132, -0.353155971, -0.12261118, -0.0069757239, -0.000173028893, -2.43340605e-06, -2.2133877e-08,
    ),
    "k1_far": (
        1.36031306, 0.103923738, -0.00285781687, 0.000195215514, -1.93619799e-05, 2.40648501e-06, -3.50196046e-07,
        5.74108405e-08, -1.03457625e-08,
    ),
    "airy_near": (
        0.15168947, -0.0052286922, -0.00718300743, -0.275008589, 0.152672857, 0.112997226, -0.129301637,
        0.0217179507, 0.0249118507, -0.0143358577, 0.000696689473, 0.00197439897, -0.000723039382, -1.61124153e-05,
        8.13327351e-05, -2.07753656e-05, -1.60547631e-06, 2.05601577e-06, -3.82552059e-07, -4.91387055e-08,
        3.51416851e-08, -4.84638507e-09, -8.89781193e-10, 4.32978625e-10,
    ),
    "airy_far": (
        0.984405279, -0.014792785, 0.000732717745, -6.12595395e-05, 6.83476719e-06, -9.23722951e-07, 1.43622529e-07,
        -2.48931951e-08,
    ),
    "airy_p": (
        0.999672353, -0.000325548346, 2.06974505e-06, -3.89096186e-08,
    ),
    "airy_q": (
        0.0691152811, -0.000325106026, 3.94597782e-06, -1.06892912e-07, 4.8003348e-09,
    ),
}  # fmt: skip
"""Coefficients of Chebyshev series by name."""


def _clenshaw(name: str, coefficients: Sequence[float]) -> str:
    """A WGSL function of t in [-1, 1]: the sum of c_k T_k(t)."""
    lines = [
        f"fn series_{name}(t: f32) -> f32 {{",
        "  let u = t + t;",
        "  var a = 0.0;",
        f"  var b = {coefficients[-1]!r};",
        "  var c = 0.0;",
    ]
    for k in coefficients[-2:0:-1]:
        lines.append(f"  c = u * b - a + ({k!r}); a = b; b = c;")
    return "\n".join([*lines, f"  return t * b - a + ({coefficients[0]!r});", "}", ""])


_BESSEL = """
// Amplitude sqrt(2 / (pi x)), and the parts P and Q of order 0 or 1, for x > 8.
fn waves_0(x: f32) -> vec3<f32> {
  let i = 1.0 / x;
  let t = 128.0 * i * i - 1.0;
  return vec3<f32>(sqrt(0.63661977 * i), series_j0_p(t), series_j0_q(t) * i);
}
fn waves_1(x: f32) -> vec3<f32> {
  let i = 1.0 / x;
  let t = 128.0 * i * i - 1.0;
  return vec3<f32>(sqrt(0.63661977 * i), series_j1_p(t), series_j1_q(t) * i);
}
fn bessel_j0_f(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x) || is_inf(x)) { return not_a_number(); }
  if (a <= 8.0) { return series_j0_near(a * a / 32.0 - 1.0); }
  let w = waves_0(a);
  let s = sin_f(a); let c = cos_f(a);
  return w.x * ((c + s) * 0.70710678 * w.y - (s - c) * 0.70710678 * w.z);
}
fn bessel_y0_f(x: f32) -> f32 {
  if (is_nan(x) || x < 0.0 || is_inf(x)) { return not_a_number(); }
  if (x == 0.0) { return -infinity(); }
  if (x <= 8.0) { return series_y0_near(x * x / 32.0 - 1.0) + 0.63661977 * log_f(x) * bessel_j0_f(x); }
  let w = waves_0(x);
  let s = sin_f(x); let c = cos_f(x);
  return w.x * ((s - c) * 0.70710678 * w.y + (c + s) * 0.70710678 * w.z);
}
fn bessel_j1_f(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x) || is_inf(x)) { return not_a_number(); }
  if (a <= 8.0) { return x * series_j1_near(a * a / 32.0 - 1.0); }
  let w = waves_1(a);
  let s = sin_f(a); let c = cos_f(a);
  let r = w.x * ((s - c) * 0.70710678 * w.y + (s + c) * 0.70710678 * w.z);
  return select(r, -r, x < 0.0);
}
fn bessel_y1_f(x: f32) -> f32 {
  if (is_nan(x) || x < 0.0 || is_inf(x)) { return not_a_number(); }
  if (x == 0.0) { return -infinity(); }
  if (x <= 8.0) { return x * series_y1_near(x * x / 32.0 - 1.0) + 0.63661977 * (log_f(x) * bessel_j1_f(x) - 1.0 / x); }
  let w = waves_1(x);
  let s = sin_f(x); let c = cos_f(x);
  return w.x * (-(s + c) * 0.70710678 * w.y + (s - c) * 0.70710678 * w.z);
}
fn i0e_f(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x)) { return x; }
  if (a <= 8.0) { return series_i0_near(0.25 * a - 1.0); }
  return series_i0_far(16.0 / a - 1.0) / sqrt(a);
}
fn i1e_f(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x)) { return x; }
  if (a <= 8.0) { return x * series_i1_near(0.25 * a - 1.0); }
  return with_sign(series_i1_far(16.0 / a - 1.0) / sqrt(a), x);
}
// In two steps, so that only the product may overflow.
fn i0_f(x: f32) -> f32 {
  let h = exp_f(0.5 * abs(x));
  return h * (h * i0e_f(x));
}
fn i1_f(x: f32) -> f32 {
  let h = exp_f(0.5 * abs(x));
  return h * (h * i1e_f(x));
}
fn k0e_f(x: f32) -> f32 {
  if (is_nan(x) || x < 0.0) { return not_a_number(); }
  if (x == 0.0) { return infinity(); }
  if (x <= 2.0) { return (series_k0_near(0.5 * x * x - 1.0) - log_f(0.5 * x) * i0_f(x)) * exp_f(x); }
  return series_k0_far(4.0 / x - 1.0) / sqrt(x);
}
fn k1e_f(x: f32) -> f32 {
  if (is_nan(x) || x < 0.0) { return not_a_number(); }
  if (x == 0.0) { return infinity(); }
  if (x <= 2.0) { return (log_f(0.5 * x) * i1_f(x) + series_k1_near(0.5 * x * x - 1.0) / x) * exp_f(x); }
  return series_k1_far(4.0 / x - 1.0) / sqrt(x);
}
fn k0_f(x: f32) -> f32 { return k0e_f(x) * exp_f(-x); }
fn k1_f(x: f32) -> f32 { return k1e_f(x) * exp_f(-x); }
fn spherical_j0_f(x: f32) -> f32 {
  if (x == 0.0) { return 1.0; }
  if (is_inf(x)) { return 0.0; }
  return sin_f(x) / x;
}
fn airy_f(x: f32) -> f32 {
  if (!is_finite(x)) { return not_a_number(); }
  let a = abs(x);
  let z = 0.6666667 * a * sqrt(a);
  if (x > 2.0) { return series_airy_far(3.7712362 / z - 1.0) * exp_f(-z) / (3.5449077 * sqrt(sqrt(a))); }
  if (x >= -5.0) { return series_airy_near((x + 1.5) / 3.5); }
  let q = 7.453560 / z;
  let t = 2.0 * q * q - 1.0;
  let s = sin_f(z); let c = cos_f(z);
  let w = (s + c) * 0.70710678 * series_airy_p(t) - (c - s) * 0.70710678 * series_airy_q(t) / z;
  return w / (1.7724539 * sqrt(sqrt(a)));
}

fn erfcx_positive(x: f32) -> f32 {
  let b = min(x, 1e30);
  return series_erfcx((b - 3.75) / (b + 3.75)) / (1.0 + 2.0 * x);
}
fn erfcx_f(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (x >= 0.0) { return erfcx_positive(x); }
  if (x < -9.5) { return infinity(); }
  return 2.0 / exp_minus_square(x) - erfcx_positive(-x);
}
fn log_ndtr_f(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (x < -1.0) { return log_f(0.5 * erfcx_f(x * -0.70710678)) - 0.5 * x * x; }
  return log1p_f(-0.5 * erfc_f(x * 0.70710678));
}
"""

_GAMMA = """
// Hurwitz' zeta function by Euler and Maclaurin.
fn zeta_f(s: f32, q: f32) -> f32 {
  if (is_nan(s) || is_nan(q) || s < 1.0) { return not_a_number(); }
  if (s == 1.0) { return infinity(); }
  let whole = floor(q) == q;
  if (q <= 0.0 && whole) { return infinity(); }
  if (q < 0.0 && floor(s) != s) { return not_a_number(); }
  if (is_inf(q)) { return 0.0; }
  var w = q;
  var total = 0.0;
  for (var k = 0; k < 20000 && w < 12.0; k++) {
    total = total + pow_f(w, -s);
    w = w + 1.0;
  }
  let last = pow_f(w, -s);
  if (is_inf(s)) { return total; }
  total = total + last * w / (s - 1.0) + 0.5 * last;
  let u = 1.0 / (w * w);
  var down = last / w * s;
  total = total + down * 0.083333336;
  down = down * u * (s + 1.0) * (s + 2.0);
  total = total - down * 0.0013888889;
  down = down * u * (s + 3.0) * (s + 4.0);
  total = total + down * 3.3068783e-05;
  down = down * u * (s + 5.0) * (s + 6.0);
  total = total - down * 8.2671958e-07;
  down = down * u * (s + 7.0) * (s + 8.0);
  return total + down * 2.0876757e-08;
}
fn polygamma_f(x: f32, n: f32) -> f32 {
  if (n == 0.0) { return digamma_f(x); }
  var factorial = 1.0;
  for (var k = 2.0; k <= min(n, 40.0); k = k + 1.0) { factorial = factorial * k; }
  let r = factorial * zeta_f(n + 1.0, x);
  return select(-r, r, (i32(n) & 1) == 1);
}
// x^a e^-x / Gamma(a + 1).
fn gamma_prefactor(a: f32, x: f32) -> f32 {
  if (a >= 10.0) {
    let e = (x - a) / a;
    var m = log_f(x / a) - e;
    if (abs(e) < 0.4) { m = log1p_tail(e); }
    let u = 1.0 / (a * a);
    let stirling = (0.083333336 - u * (0.0027777778 - u * 0.00079365079)) / a;
    return exp_f(a * m - stirling) / sqrt(6.2831855 * a);
  }
  return exp_f(a * log_f(x) - x - lgamma_f(a + 1.0));
}
fn gamma_lower_series(a: f32, x: f32) -> f32 {
  var total = 1.0;
  var term = 1.0;
  for (var k = 1; k < 2000; k++) {
    term = term * x / (a + f32(k));
    total = total + term;
    if (term <= total * 3e-8) { break; }
  }
  return gamma_prefactor(a, x) * total;
}
// Legendre's continued fraction by Lentz' method.
fn gamma_upper_fraction(a: f32, x: f32) -> f32 {
  var b = x + 1.0 - a;
  var c = 1e30;
  var d = 1.0 / select(b, 1e-30, b == 0.0);
  var total = d;
  for (var k = 1; k < 2000; k++) {
    let n = -f32(k) * (f32(k) - a);
    b = b + 2.0;
    d = n * d + b;
    d = 1.0 / select(d, 1e-30, abs(d) < 1e-30);
    c = b + n / c;
    c = select(c, 1e-30, abs(c) < 1e-30);
    total = total * (c * d);
    if (abs(c * d - 1.0) < 1e-7) { break; }
  }
  return gamma_prefactor(a, x) * a * total;
}
// 1 - P for small x without cancellation: 1 - x^a / Gamma(a + 1) less the rest of the series.
fn gamma_upper_near_zero(a: f32, x: f32) -> f32 {
  var total = 0.0;
  var term = 1.0;
  for (var k = 1; k < 30; k++) {
    term = -term * x / f32(k);
    total = total + term / (a + f32(k));
  }
  let l = a * log_f(x) - lgamma_f(a + 1.0);
  return -expm1_f(l) - a * exp_f(l) * total;
}
fn incomplete_gamma(a: f32, x: f32, upper: bool) -> f32 {
  if (is_nan(a) || is_nan(x) || a < 0.0 || x < 0.0) { return not_a_number(); }
  if (x == 0.0) { return select(select(0.0, 1.0, upper), not_a_number(), a == 0.0); }
  if (is_inf(a)) { return select(select(0.0, 1.0, upper), not_a_number(), is_inf(x)); }
  if (a == 0.0 || is_inf(x)) { return select(1.0, 0.0, upper); }
  if (x < a + 1.0 || x < 1.1) {
    let p = gamma_lower_series(a, x);
    if (!upper) { return p; }
    if (x < 1.1 && p > 0.5) { return gamma_upper_near_zero(a, x); }
    return 1.0 - p;
  }
  let q = gamma_upper_fraction(a, x);
  return select(1.0 - q, q, upper);
}
fn gammainc_f(a: f32, x: f32) -> f32 { return incomplete_gamma(a, x, false); }
fn gammaincc_f(a: f32, x: f32) -> f32 { return incomplete_gamma(a, x, true); }
"""

MOST_DEGREES = 30_000
"""Degrees of polynomials above this give NaN: no thread may run for ever."""


def _polynomial(name: str, first: str, step: str) -> str:
    """A WGSL function of x and the degree n: P_0 = 1, P_1 = `first`, and P_(k + 1) = `step` of k, x, here and before."""
    return f"""
fn {name}_f(x: f32, n: f32) -> f32 {{
  if (is_nan(n) || n > {float(MOST_DEGREES)}) {{ return not_a_number(); }}
  if (n <= -1.0) {{ return 0.0; }}
  if (n < 1.0) {{ return 1.0; }}
  var before = 1.0;
  var here = {first};
  let top = i32(n);
  for (var i = 1; i < top; i++) {{
    let k = f32(i);
    let next = {step};
    before = here;
    here = next;
  }}
  return here;
}}
"""


_DOUBLING = "2.0 * x * here - before"
_RECURRENCES = {
    "chebyshev_t": ("x", _DOUBLING),
    "chebyshev_u": ("2.0 * x", _DOUBLING),
    "chebyshev_v": ("2.0 * x - 1.0", _DOUBLING),
    "chebyshev_w": ("2.0 * x + 1.0", _DOUBLING),
    "hermite_h": ("2.0 * x", "2.0 * x * here - 2.0 * k * before"),
    "hermite_he": ("x", "x * here - k * before"),
    "laguerre_l": ("1.0 - x", "((2.0 * k + 1.0 - x) * here - k * before) / (k + 1.0)"),
    "legendre_p": ("x", "((2.0 * k + 1.0) * x * here - k * before) / (k + 1.0)"),
}

TEXT = (
    "".join(_clenshaw(n, c) for n, c in SERIES.items())
    + _BESSEL
    + _GAMMA
    + "".join(_polynomial(n, *r) for n, r in _RECURRENCES.items())
)
"""The definitions, for `functions.library`."""

ONE = (
    "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "i0", "i0e", "i1", "i1e", "k0", "k0e", "k1", "k1e", "spherical_j0", "airy", "erfcx",
    "log_ndtr",
)  # fmt: skip
"""Names of functions of one argument, without their suffix."""
TWO = ("zeta", "polygamma", "gammainc", "gammaincc", *_RECURRENCES)
"""Names of functions of two."""
