"""WGSL functions that are exact enough for a tensor engine, and the text of those a kernel uses.

WGSL promises little: `sin` may be off by 2^-11, `exp` by 3 + 2|x| units in the last place, `tanh` may overflow, NaN and
infinity may be assumed away.  So the functions here reduce their arguments themselves, use polynomials fitted for
single precision (least squares reweighted to equal errors, over the interval named beside each), and test for NaN and
infinity by bits.  Measured errors stand in docs/numerics.md.

`library(text)` returns the definitions that `text` calls, each after what it needs.
"""

from __future__ import annotations

import functools
import re

from . import special

_TEXT = """
var<private> INFINITY_BITS: u32 = 0x7f800000u;
var<private> NAN_BITS: u32 = 0x7fc00000u;

fn infinity() -> f32 { return bitcast<f32>(INFINITY_BITS); }
fn not_a_number() -> f32 { return bitcast<f32>(NAN_BITS); }

fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn is_inf(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }
fn is_finite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }
fn is_negative(x: f32) -> bool { return (bitcast<u32>(x) >> 31u) != 0u; }

fn equal_f(x: f32, y: f32) -> bool { return x == y && !is_nan(x) && !is_nan(y); }
fn unequal_f(x: f32, y: f32) -> bool { return x != y || is_nan(x) || is_nan(y); }

fn with_sign(x: f32, s: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(s) & 0x80000000u));
}

// Of two numbers; NaN wins.
fn max_nan(x: f32, y: f32) -> f32 { return select(select(y, x, x > y || is_nan(x)), y, is_nan(y)); }
fn min_nan(x: f32, y: f32) -> f32 { return select(select(y, x, x < y || is_nan(x)), y, is_nan(y)); }

// 2^k for k in [-126, 127].
fn power_of_two(k: i32) -> f32 { return bitcast<f32>(u32(k + 127) << 23u); }

// x 2^k for k in [-252, 254]; in two factors, so that the result may be subnormal.
fn scale_by(x: f32, k: i32) -> f32 {
  let h = k >> 1u;
  return x * power_of_two(h) * power_of_two(k - h);
}

// Truncation; saturates, NaN gives 0. 2147483520 is the largest f32 below 2^31.
fn float_to_int(x: f32) -> i32 {
  if (is_nan(x)) { return 0; }
  if (x >= 2147483648.0) { return 2147483647; }
  if (x <= -2147483648.0) { return -2147483647 - 1; }
  return i32(x);
}
fn float_to_uint(x: f32) -> u32 {
  if (is_nan(x)) { return 0u; }
  if (x < 0.0) { return bitcast<u32>(float_to_int(x)); }
  if (x >= 4294967296.0) { return 4294967295u; }
  return u32(x);
}

// The nearest number with the precision of binary16 (ties to even), kept as f32.
fn round_half(x: f32) -> f32 {
  let a = abs(x);
  if (!is_finite(x)) { return x; }
  if (a >= 65520.0) { return with_sign(infinity(), x); }
  if (a < 6.103515625e-05) { return with_sign(round(a * 16777216.0) * 5.9604644775390625e-08, x); }
  let b = bitcast<u32>(a);
  return with_sign(bitcast<f32>((b + 0xfffu + ((b >> 13u) & 1u)) & 0xffffe000u), x);
}

// The same for bfloat16.
fn round_brain(x: f32) -> f32 {
  let b = bitcast<u32>(x);
  return select(bitcast<f32>((b + 0x7fffu + ((b >> 16u) & 1u)) & 0xffff0000u), x, is_nan(x));
}

// e^x = 2^k e^r; the polynomial is (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2.
fn exp_part(r: f32) -> f32 {
  let p = 0.5 + r * (0.16666667 + r * (0.041666254 + r * (0.0083332626 + r * (0.0013947225 + r * 0.0001991938))));
  return r + r * r * p;
}
fn exp_reduce(x: f32) -> vec2<f32> {
  let k = round(x * 1.4426950408889634);
  return vec2<f32>(k, (x - k * 0.693359375) - k * -0.00021219444005469058);
}
fn exp_f(x: f32) -> f32 {
  let q = exp_reduce(clamp(x, -104.0, 89.0));
  let e = scale_by(1.0 + exp_part(q.y), i32(q.x));
  return select(select(e, infinity(), x > 88.72284), x, is_nan(x));
}
// For arguments that are not positive, as in softmax: no overflow to look for, and results below 2^-126 become 0.
fn exp_nonpositive(x: f32) -> f32 {
  let q = exp_reduce(x);
  return select((1.0 + exp_part(q.y)) * power_of_two(i32(q.x)), 0.0, x < -87.0);
}
fn expm1_f(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (x > 88.72284) { return infinity(); }
  if (x < -20.0) { return -1.0; }
  if (abs(x) < 1e-7) { return x; }
  let q = exp_reduce(x);
  let k = i32(q.x);
  if (k == 128) { return scale_by(1.0 + exp_part(q.y), k); }
  let s = power_of_two(k);
  return exp_part(q.y) * s + (s - 1.0);
}
fn exp2_f(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (x >= 128.0) { return infinity(); }
  if (x < -150.0) { return 0.0; }
  let k = round(x);
  let r = x - k;  // the polynomial is (2^r - 1) / r on |r| <= 0.5
  let p = 0.6931472 + r * (0.24022651 + r * (0.05550411 + r * (0.009618033 + r * (0.0013333426 + r * (0.0001546839
    + r * 1.53162e-05)))));
  return scale_by(1.0 + r * p, i32(k));
}

// log(1 + f) - f for f in [sqrt(1/2) - 1, sqrt(2) - 1]; the polynomial is (log(1 + f) - f + f^2 / 2) / f^3.
fn log1p_tail(f: f32) -> f32 {
  let p = 0.33333332 + f * (-0.24999966 + f * (0.2000009 + f * (-0.16669466 + f * (0.1428521 + f * (-0.12423293
    + f * (0.11033689 + f * (-0.10825013 + f * (0.10650286 + f * -0.05987818))))))));
  let s = f * f;
  return f * s * p - 0.5 * s;
}
// A positive finite number as (exponent, mantissa - 1), the mantissa in [sqrt(1/2), sqrt(2)).
fn log_reduce(x: f32) -> vec2<f32> {
  let small = bitcast<u32>(x) < 0x00800000u;
  let b = bitcast<u32>(select(x, x * 8388608.0, small));
  let shifted = b - 0x3f3504f3u;  // the bits of sqrt(1/2)
  let k = (bitcast<i32>(shifted) >> 23u) - select(0, 23, small);
  let m = bitcast<f32>((shifted & 0x007fffffu) + 0x3f3504f3u);
  return vec2<f32>(f32(k), m - 1.0);
}
fn log_special(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (x == 0.0) { return -infinity(); }
  if (x < 0.0) { return not_a_number(); }
  return x;
}
fn log_f(x: f32) -> f32 {
  let q = log_reduce(x);
  let r = q.x * 0.693359375 + (q.y + (log1p_tail(q.y) + q.x * -0.00021219444005469058));
  if (!(x > 0.0) || !is_finite(x)) { return log_special(x); }
  return r;
}
fn log2_f(x: f32) -> f32 {
  if (!(x > 0.0) || !is_finite(x)) { return log_special(x); }
  let q = log_reduce(x);
  let t = log1p_tail(q.y);
  return q.x + (q.y + (t + (q.y + t) * 0.44269504088896339));
}
fn log10_f(x: f32) -> f32 {
  if (!(x > 0.0) || !is_finite(x)) { return log_special(x); }
  let q = log_reduce(x);
  let t = log1p_tail(q.y);
  return q.x * 0.30102539 + (q.x * 4.6050390e-06 + (q.y + t) * 0.43429448);
}
fn log1p_f(x: f32) -> f32 {
  if (is_nan(x) || x <= -1.0 || !is_finite(x)) { return log_special(1.0 + x); }
  if (x > -0.29289 && x < 0.41421) { return x + log1p_tail(x); }
  let u = 1.0 + x;
  let lost = select(1.0 - (u - x), x - (u - 1.0), x < 1.0);
  return log_f(u) + lost / u;
}

// Words of the binary fraction of 2/pi, with one word of zeros before them.
fn two_over_pi(w: u32) -> u32 {
  switch w {
    case 0u: { return 0u; }
    case 1u: { return 0xa2f9836eu; }
    case 2u: { return 0x4e441529u; }
    case 3u: { return 0xfc2757d1u; }
    case 4u: { return 0xf534ddc0u; }
    case 5u: { return 0xdb629599u; }
    default: { return 0x3c439041u; }
  }
}
// High word of a product of two 32-bit words.
fn mul_high(a: u32, b: u32) -> u32 {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let m = ah * bl + ((al * bl) >> 16u);
  let n = al * bh + (m & 0xffffu);
  return ah * bh + (m >> 16u) + (n >> 16u);
}
// x = q pi/2 + r: (r, q mod 4). Cody and Waite's three parts of pi/2 below 3000, Payne and Hanek's product above.
fn trig_reduce(x: f32) -> vec2<f32> {
  let a = abs(x);
  if (a < 3000.0) {
    let k = round(x * 0.63661977);
    var r = x - k * 1.5703125;
    r = r - k * 0.00048351287841796875;
    r = r - k * 3.1385570764541626e-07;
    r = r - k * 6.0771005065061922e-11;
    return vec2<f32>(r, f32(i32(k) & 3));
  }
  let b = bitcast<u32>(a);
  let m = ((b & 0x7fffffu) | 0x800000u) << 8u;
  let e = (b >> 23u) - 127u;               // a = m 2^(e - 31), e in [11, 127]
  let start = e - 1u;                      // from this bit on, whole multiples of four quarter turns are gone
  let w = start >> 5u;
  let s = start & 31u;
  var p0 = two_over_pi(w); var p1 = two_over_pi(w + 1u); var p2 = two_over_pi(w + 2u);
  if (s != 0u) {
    p0 = (p0 << s) | (p1 >> (32u - s));
    p1 = (p1 << s) | (p2 >> (32u - s));
    p2 = (p2 << s) | (two_over_pi(w + 3u) >> (32u - s));
  }
  // top word of m p0 wraps: only its fraction of 4 quarter turns matters
  let h0 = m * p0; let h1 = mul_high(m, p1); let l1 = m * p1; let h2 = mul_high(m, p2);
  let low = l1 + h2;
  let carry = select(0u, 1u, low < l1);
  let top = h0 + h1 + carry;
  var q = top >> 30u;
  var fraction = (top << 2u) | (low >> 30u);
  let rest = low << 2u;
  var sign = 1.0;
  var lower = rest;
  if ((fraction & 0x80000000u) != 0u) {
    q = q + 1u;
    lower = ~rest + 1u;
    fraction = ~fraction + select(0u, 1u, lower == 0u);
    sign = -1.0;
  }
  let lead = countLeadingZeros(fraction);
  var word = fraction;
  if (lead > 0u && lead < 32u) { word = (fraction << lead) | (lower >> (32u - lead)); }
  if (lead == 32u) { word = lower; }
  var r = sign * f32(word) * scale_by(1.5707964, -32 - i32(lead));
  if (x < 0.0) {
    r = -r;
    q = (4u - (q & 3u)) & 3u;
  }
  return vec2<f32>(r, f32(q & 3u));
}
// On |r| <= pi/4, the polynomials in u = r^2.
fn sin_part(r: f32) -> f32 {
  let u = r * r;
  return r + r * u * (-0.16666667 + u * (0.008333329 + u * (-0.00019839296 + u * 2.71794e-06)));
}
fn cos_part(r: f32) -> f32 {
  let u = r * r;
  return 1.0 + (u * u * (0.041666668 + u * (-0.0013888884 + u * (2.47995e-05 + u * -2.7206787e-07))) - 0.5 * u);
}
fn sin_f(x: f32) -> f32 {
  if (!is_finite(x)) { return not_a_number(); }
  let q = trig_reduce(x);
  let k = u32(q.y);
  let v = select(sin_part(q.x), cos_part(q.x), (k & 1u) == 1u);
  return select(select(v, -v, k >= 2u), x, x == 0.0);
}
fn cos_f(x: f32) -> f32 {
  if (!is_finite(x)) { return not_a_number(); }
  let q = trig_reduce(x);
  let k = u32(q.y);
  let v = select(cos_part(q.x), sin_part(q.x), (k & 1u) == 1u);
  return select(v, -v, k == 1u || k == 2u);
}
fn tan_f(x: f32) -> f32 {
  if (!is_finite(x)) { return not_a_number(); }
  let q = trig_reduce(x);
  let s = sin_part(q.x); let c = cos_part(q.x);
  if ((u32(q.y) & 1u) == 1u) { return -c / s; }
  return select(s / c, x, x == 0.0);
}

// On |x| <= 1/2, in u = x^2.
fn asin_part(x: f32) -> f32 {
  let u = x * x;
  return x + x * u * (0.1666666 + u * (0.07500511 + u * (0.04451572 + u * (0.03181761 + u * (0.014402615
    + u * 0.037565183)))));
}
fn asin_f(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x) || a > 1.0) { return not_a_number(); }
  if (a <= 0.5) { return asin_part(x); }
  return with_sign(1.5707964 - (2.0 * asin_part(sqrt(0.5 - 0.5 * a)) + 4.371139e-08), x);
}
fn acos_f(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x) || a > 1.0) { return not_a_number(); }
  if (a <= 0.5) { return 1.5707964 - (asin_part(x) + 4.371139e-08); }
  let r = 2.0 * asin_part(sqrt(0.5 - 0.5 * a));
  return select(r, 3.1415927 - (r + 8.742278e-08), x < 0.0);
}
// The polynomial on |x| <= tan(pi/8), in u = x^2.
fn atan_f(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  let a = abs(x);
  var y = a;
  var base = 0.0;
  if (a > 2.4142135) {
    y = -1.0 / a;
    base = 1.5707964;
  } else if (a > 0.41421357) {
    y = (a - 1.0) / (a + 1.0);
    base = 0.7853982;
  }
  let u = y * y;
  let p = y + y * u * (-0.33333316 + u * (0.19998434 + u * (-0.14242741 + u * (0.10587362 + u * -0.06060524))));
  return with_sign(base + p, x);
}
fn atan2_f(y: f32, x: f32) -> f32 {
  if (is_nan(x) || is_nan(y)) { return not_a_number(); }
  let ax = abs(x); let ay = abs(y);
  var r = 0.0;
  if (is_inf(x) && is_inf(y)) {
    r = 0.7853982;
  } else if (ax == 0.0 && ay == 0.0) {
    r = 0.0;
  } else if (ay > ax) {
    r = 1.5707964 - atan_f(ax / ay);
  } else {
    r = atan_f(ay / ax);
  }
  if (is_negative(x)) { r = 3.1415927 - r; }
  return with_sign(r, y);
}

fn sinh_f(x: f32) -> f32 {
  if (!is_finite(x)) { return x; }
  let a = abs(x);
  if (a < 1.0) {
    let u = x * x;
    return x + x * u * (0.16666667 + u * (0.00833335 + u * (0.00019836066 + u * 2.8174396e-06)));
  }
  if (a > 88.0) {
    let h = exp_f(0.5 * a);
    return with_sign((0.5 * h) * h, x);
  }
  let e = exp_f(a);
  return with_sign(0.5 * e - 0.5 / e, x);
}
fn cosh_f(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  let a = abs(x);
  if (a > 88.0) {
    let h = exp_f(0.5 * a);
    return (0.5 * h) * h;
  }
  let e = exp_f(a);
  return 0.5 * e + 0.5 / e;
}
// By m = e^(-2 |x|) - 1, which is exact to the last place also where it is small: -m / (2 + m). NaN is chosen before the sign: the other
// way round, lavapipe makes tanh of a product with a sigmoid a number that nothing computed.
fn tanh_f(x: f32) -> f32 {
  let q = exp_reduce(-2.0 * min(abs(x), 20.0));
  let s = power_of_two(i32(q.x));
  let m = exp_part(q.y) * s + (s - 1.0);
  return with_sign(select(m / (2.0 + m), x, is_nan(x)), x);
}
fn sigmoid_f(x: f32) -> f32 {
  let q = exp_reduce(-min(abs(x), 104.0));
  let e = scale_by(1.0 + exp_part(q.y), i32(q.x));
  return select(select(1.0, e, x < 0.0) / (1.0 + e), x, is_nan(x));
}
fn asinh_f(x: f32) -> f32 {
  if (!is_finite(x)) { return x; }
  let a = abs(x);
  if (a > 1e9) { return with_sign(log_f(a) + 0.6931472, x); }
  let s = a * a;
  return with_sign(log1p_f(a + s / (1.0 + sqrt(1.0 + s))), x);
}
fn acosh_f(x: f32) -> f32 {
  if (is_nan(x) || x < 1.0) { return not_a_number(); }
  if (x > 1e9) { return log_f(x) + 0.6931472; }
  let t = x - 1.0;
  return log1p_f(t + sqrt(t * (t + 2.0)));
}
fn atanh_f(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x) || a > 1.0) { return not_a_number(); }
  if (a == 1.0) { return with_sign(infinity(), x); }
  return with_sign(0.5 * log1p_f(2.0 * a / (1.0 - a)), x);
}

// e^(-x^2) with the rounding error of the square taken along.
fn exp_minus_square(x: f32) -> f32 {
  let h = bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
  return exp_f(-h * h) * exp_f(-(x - h) * (x + h));
}
// erfc(x) / e^(-x^2) on [0.8, 10.3], as t P(t) with t = 1 / (1 + x / 2).
fn erfc_tail(x: f32) -> f32 {
  let t = 1.0 / (1.0 + 0.5 * x);
  let p = 0.28209175 + t * (0.28217889 + t * (0.24584564 + t * (0.18268043 + t * (0.05955875 + t * (0.047220012
    + t * (-0.09841992 + t * (-0.11589118 + t * (0.17150434 + t * -0.056874538))))))));
  return t * p * exp_minus_square(x);
}
// erf(x) / x on |x| <= 0.9, in u = x^2.
fn erf_part(x: f32) -> f32 {
  let u = x * x;
  return x * (1.1283792 + u * (-0.37612635 + u * (0.11283715 + u * (-0.026860504 + u * (0.005203849
    + u * (-0.00081755407 + u * 8.512732e-05))))));
}
fn erf_f(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  let a = abs(x);
  if (a < 0.9) { return erf_part(x); }
  if (a > 4.0) { return with_sign(1.0, x); }
  return with_sign(1.0 - erfc_tail(a), x);
}
fn erfc_f(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  let a = abs(x);
  if (a < 0.9) { return 1.0 - erf_part(x); }
  if (a > 10.2) { return select(0.0, 2.0, x < 0.0); }
  let r = erfc_tail(a);
  return select(r, 2.0 - r, x < 0.0);
}

// erfinv(x) / x as a function of w = -log(1 - x^2): a polynomial in w - 2.5 below 5, in sqrt(w) - 3 above.
fn erfinv_f(x: f32) -> f32 {
  let a = abs(x);
  if (is_nan(x) || a > 1.0) { return not_a_number(); }
  if (a == 1.0) { return with_sign(infinity(), x); }
  let w = -log_f((1.0 - a) * (1.0 + a));
  let t = w - 2.5;
  let near = 1.5014094 + t * (0.24664073 + t * (-0.0041777075 + t * (-0.0012537075 + t * (0.00021860202
    + t * (-4.396808e-06 + t * (-3.5288107e-06 + t * (3.4373e-07 + t * 2.8530547e-08)))))));
  let u = sqrt(max(w, 0.0)) - 3.0;
  let far = 2.8329768 + u * (1.0016748 + u * (0.009444177 + u * (-0.0076347074 + u * (0.005696172 + u * (-0.0036094682
    + u * (0.0014615949 + u * (-3.3003936e-05 + u * (-0.00029101967 + u * 9.850039e-05))))))));
  return x * select(far, near, w < 5.0);
}

// x^y through log2 in two parts, so that large exponents keep their digits.
fn pow_positive(x: f32, y: f32) -> f32 {
  let q = log_reduce(x);
  // log(m) = 2 atanh(s) with s = f / (2 + f) = sh + sl
  let f = q.y;
  let d = 2.0 + f;
  let s = f / d;
  let sh = bitcast<f32>(bitcast<u32>(s) & 0xfffff000u);
  let dh = bitcast<f32>(bitcast<u32>(d) & 0xfffff000u);
  let dl = f - (dh - 2.0);
  let sl = ((f - sh * dh) - sh * dl) / d;
  let u = s * s;
  let tail = s * u * (0.6666667 + u * (0.40000356 + u * (0.28535882 + u * 0.23610668)));
  // log2(m) = (2 sh + 2 sl + tail) / ln 2, with 1 / ln 2 = 1.4423828125 + 0.00031222839 so that the first product is exact
  let ah = 2.0 * sh;
  let ph = ah * 1.4423828125;
  // the sum in two parts; its leading one is cut by bits, since compilers may take (a + b) - a for b
  let lead = bitcast<f32>(bitcast<u32>(q.x + ph) & 0xffffff00u);
  let rest = (ph - (lead - q.x)) + (ah * 0.00031222839 + (2.0 * sl + tail) * 1.442695);
  let lh = bitcast<f32>(bitcast<u32>(lead) & 0xfffff000u);
  let ll = (lead - lh) + rest;
  let yh = bitcast<f32>(bitcast<u32>(y) & 0xfffff000u);
  let yl = y - yh;
  let high = lh * yh;
  let low = lh * yl + ll * y;
  let whole = high + low;
  if (whole >= 128.5) { return infinity(); }
  if (whole < -151.0) { return 0.0; }
  let k = round(whole);
  let r = (high - k) + low;
  let p = 0.6931472 + r * (0.24022651 + r * (0.05550411 + r * (0.009618033 + r * (0.0013333426 + r * (0.0001546839
    + r * 1.53162e-05)))));
  return scale_by(1.0 + r * p, i32(k));
}
fn pow_f(x: f32, y: f32) -> f32 {
  if (y == 0.0 || x == 1.0) { return 1.0; }
  if (is_nan(x) || is_nan(y)) { return not_a_number(); }
  if (y == 1.0) { return x; }
  if (y == 2.0) { return x * x; }
  if (y == 3.0) { return x * x * x; }
  if (y == -1.0) { return 1.0 / x; }
  if (y == 0.5) { return select(sqrt(x), abs(x), is_inf(x)); }
  let a = abs(x);
  if (is_inf(y)) {
    if (a == 1.0) { return 1.0; }
    return select(0.0, infinity(), (a > 1.0) == (y > 0.0));
  }
  let whole = floor(y) == y;
  let odd = whole && abs(y) < 16777216.0 && (float_to_int(y) & 1) != 0;
  var r = 0.0;
  if (a == 0.0) {
    r = select(0.0, infinity(), y < 0.0);
  } else if (is_inf(x)) {
    r = select(infinity(), 0.0, y < 0.0);
  } else {
    if (x < 0.0 && !whole) { return not_a_number(); }
    r = pow_positive(a, y);
  }
  return select(r, -r, odd && is_negative(x));
}
fn pow_i(x: i32, y: i32) -> i32 {
  if (y < 0) {
    if (x == 1) { return 1; }
    if (x == -1) { return select(1, -1, (y & 1) != 0); }
    return 0;
  }
  var r = 1;
  var b = x;
  for (var e = y; e > 0; e = e >> 1u) {
    if ((e & 1) != 0) { r = r * b; }
    b = b * b;
  }
  return r;
}

// Exact remainder with the sign of x: long division of the mantissas, eight bits at a time.
fn fmod_f(x: f32, y: f32) -> f32 {
  if (is_nan(x) || is_nan(y) || is_inf(x) || y == 0.0) { return not_a_number(); }
  let a = abs(x); let b = abs(y);
  if (a < b) { return x; }
  var ma = bitcast<u32>(a); var mb = bitcast<u32>(b);
  var ea = i32(ma >> 23u); var eb = i32(mb >> 23u);
  ma = select(ma & 0x7fffffu, (ma & 0x7fffffu) | 0x800000u, ea > 0);
  mb = select(mb & 0x7fffffu, (mb & 0x7fffffu) | 0x800000u, eb > 0);
  ea = max(ea, 1); eb = max(eb, 1);
  ma = ma % mb;
  for (var d = ea - eb; d > 0; d -= 8) { ma = (ma << u32(min(d, 8))) % mb; }
  return with_sign(f32(ma) * scale_by(1.0, eb - 150), x);
}
fn remainder_f(x: f32, y: f32) -> f32 {
  let r = fmod_f(x, y);
  if (r != 0.0 && is_negative(r) != is_negative(y)) { return r + y; }
  return r;
}
fn floor_divide_f(x: f32, y: f32) -> f32 {
  if (y == 0.0) { return x / y; }
  let m = fmod_f(x, y);
  var q = (x - m) / y;
  if (m != 0.0 && is_negative(m) != is_negative(y)) { q = q - 1.0; }
  if (q == 0.0) { return with_sign(0.0, x / y); }
  let f = floor(q);
  return select(f, f + 1.0, q - f > 0.5);
}
fn divide_i(x: i32, y: i32) -> i32 { return select(x / select(y, 1, y == 0), 0, y == 0); }
fn fmod_i(x: i32, y: i32) -> i32 { return select(x % select(y, 1, y == 0 || y == -1), 0, y == 0); }
fn remainder_i(x: i32, y: i32) -> i32 {
  let r = fmod_i(x, y);
  return select(r, r + y, r != 0 && (r < 0) != (y < 0));
}
fn floor_divide_i(x: i32, y: i32) -> i32 {
  let q = divide_i(x, y);
  return select(q, q - 1, (x < 0) != (y < 0) && q * y != x);
}
fn divide_u(x: u32, y: u32) -> u32 { return select(x / select(y, 1u, y == 0u), 0u, y == 0u); }
fn remainder_u(x: u32, y: u32) -> u32 { return select(x % select(y, 1u, y == 0u), 0u, y == 0u); }

fn gcd_i(x: i32, y: i32) -> i32 {
  var a = abs(x); var b = abs(y);
  while (b != 0) {
    let r = a % b;
    a = b;
    b = r;
  }
  return a;
}
fn lcm_i(x: i32, y: i32) -> i32 { return abs(divide_i(x, gcd_i(x, y)) * y); }

// The next number after x in the direction of y.
fn nextafter_f(x: f32, y: f32) -> f32 {
  if (is_nan(x) || is_nan(y)) { return not_a_number(); }
  if (x == y) { return y; }
  if (x == 0.0) { return with_sign(bitcast<f32>(1u), y); }
  let outward = (x < y) == (x > 0.0);
  return bitcast<f32>(select(bitcast<u32>(x) - 1u, bitcast<u32>(x) + 1u, outward));
}
// x = m 2^e with |m| in [0.5, 1).
fn mantissa_f(x: f32) -> f32 {
  if (x == 0.0 || !is_finite(x)) { return x; }
  let small = abs(x) < 1.1754944e-38;
  let b = bitcast<u32>(select(x, x * 16777216.0, small));
  return bitcast<f32>((b & 0x807fffffu) | 0x3f000000u);
}
fn exponent_f(x: f32) -> i32 {
  if (x == 0.0 || !is_finite(x)) { return 0; }
  let small = abs(x) < 1.1754944e-38;
  let b = bitcast<u32>(select(x, x * 16777216.0, small));
  return i32((b >> 23u) & 255u) - 126 - select(0, 24, small);
}

// Shifts by more than the width, or by a negative count, give what shifting on and on would.
fn left_shift_i(x: i32, n: i32) -> i32 { return select(x << u32(n & 31), 0, n < 0 || n > 31); }
fn right_shift_i(x: i32, n: i32) -> i32 { return select(x >> u32(n & 31), x >> 31u, n < 0 || n > 31); }
fn left_shift_u(x: u32, n: u32) -> u32 { return select(x << (n & 31u), 0u, n > 31u); }
fn right_shift_u(x: u32, n: u32) -> u32 { return select(x >> (n & 31u), 0u, n > 31u); }

// Of NaN 0, as PyTorch has it.
fn sign_f(x: f32) -> f32 {
  if (is_nan(x)) { return 0.0; }
  return select(select(0.0, 1.0, x > 0.0), -1.0, x < 0.0);
}
fn is_negative_i(x: i32) -> bool { return x < 0; }
fn sign_u(x: u32) -> u32 { return min(x, 1u); }
fn rsqrt_f(x: f32) -> f32 {
  if (x == 0.0) { return with_sign(infinity(), x); }
  return 1.0 / sqrt_f(x);
}
fn sqrt_f(x: f32) -> f32 {
  if (x < 0.0) { return not_a_number(); }
  if (!is_finite(x)) { return x; }
  return sqrt(x);
}
// Ties to even whatever the device does.
fn round_f(x: f32) -> f32 {
  if (!(abs(x) < 8388608.0)) { return x; }
  let f = floor(x);
  let d = x - f;
  let odd = (i32(f) & 1) != 0;
  return with_sign(select(f, f + 1.0, d > 0.5 || (d == 0.5 && odd)), x);
}
fn trunc_f(x: f32) -> f32 { return with_sign(floor(abs(x)), x); }
fn ceil_f(x: f32) -> f32 { return with_sign(abs(ceil(x)), x); }
fn abs_f(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu); }
fn same_u(x: u32) -> u32 { return x; }
fn same_i(x: i32) -> i32 { return x; }

// log(Gamma(x)): Stirling's series from 8 on; below, a product brings the argument to [1.5, 2.5); reflection for
// negative arguments. Near 1 and 2, where it is zero, factors keep the relative error small.
fn lgamma_large(x: f32) -> f32 {
  let r = 1.0 / x;
  let u = r * r;
  return (x - 0.5) * (log_f(x) - 1.0) - 0.5 + 0.9189385 + r * (0.083333336 + u * (-0.0027777778 + u * 0.0007936508));
}
fn lgamma_middle(x: f32) -> f32 {
  var y = x;
  var product = 1.0;
  for (var i = 0; i < 6; i++) {
    if (y >= 2.5) {
      y = y - 1.0;
      product = product * y;
    }
  }
  return log_f(product) + (lgamma_near(y - 2.0) + log1p_f(y - 2.0));
}
// log(Gamma(1 + t)) / t is the polynomial on |t| <= 0.5.
fn lgamma_near(t: f32) -> f32 {
  let p = -0.57721565 + t * (0.8224671 + t * (-0.40069108 + t * (0.27057737 + t * (-0.20713593 + t * (0.16951235
    + t * (-0.14816322 + t * (0.12764798 + t * (-0.0815826 + t * (0.07907774 + t * (-0.1833085 + t * 0.15973788))))))))));
  return t * p;
}
fn lgamma_f(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (is_inf(x)) { return infinity(); }
  if (x <= 0.0) {
    if (floor(x) == x) { return infinity(); }
    let f = abs(x - round_f(x));
    return 1.1447299 - log_f(abs(sin_f(3.1415927 * f))) - lgamma_f_positive(1.0 - x);
  }
  return lgamma_f_positive(x);
}
fn lgamma_f_positive(x: f32) -> f32 {
  if (x < 0.5) { return lgamma_near(x) - log_f(x); }
  if (x < 1.5) { return lgamma_near(x - 1.0); }
  if (x < 2.5) { return lgamma_near(x - 2.0) + log1p_f(x - 2.0); }
  if (x < 8.0) { return lgamma_middle(x); }
  return lgamma_large(x);
}
// Digamma: reflection, recurrence to 6, asymptotic series.
fn digamma_f(x: f32) -> f32 {
  if (is_nan(x)) { return x; }
  if (is_inf(x)) { return select(infinity(), not_a_number(), x < 0.0); }
  if (x == 0.0) { return -with_sign(infinity(), x); }
  var y = x;
  var base = 0.0;
  if (x < 0.0) {
    if (floor(x) == x) { return not_a_number(); }
    let f = x - round_f(x);
    base = -3.1415927 / tan_f(3.1415927 * f);
    y = 1.0 - x;
  }
  for (var i = 0; i < 6; i++) {
    if (y < 6.0) {
      base = base - 1.0 / y;
      y = y + 1.0;
    }
  }
  let u = 1.0 / (y * y);
  return base + (log_f(y) - 0.5 / y - u * (0.083333336 - u * (0.008333334 - u * (0.003968254 - u * 0.004166667))));
}
"""


def _split(text: str) -> dict[str, str]:
    """The definitions in a WGSL text by name. A definition begins at a line that starts with `fn` or `var`."""
    out: dict[str, str] = {}
    for block in re.split(r"^(?=fn |var<)", text, flags=re.M):
        found = re.match(r"(?:fn |var<private> )(\w+)", block)
        if found:
            lines = [line for line in block.splitlines() if not line.startswith("//")]
            out[found[1]] = re.sub(r"\s*//.*", "", "\n".join(lines)).strip() + "\n"
    return out


DEFINITIONS = _split(_TEXT + special.TEXT)
"""The text of every function and variable here, by name."""

_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


@functools.cache
def _needs(name: str) -> tuple[str, ...]:
    """`name` after everything its definition uses."""
    out: dict[str, None] = {}
    for word in _WORD.findall(DEFINITIONS[name]):
        if word in DEFINITIONS and word != name:
            out.update(dict.fromkeys(_needs(word)))
    out[name] = None
    return tuple(out)


def library(text: str) -> str:
    """The definitions that `text` uses, in an order in which each comes after what it needs."""
    out: dict[str, None] = {}
    for word in _WORD.findall(text):
        if word in DEFINITIONS:
            out.update(dict.fromkeys(_needs(word)))
    return "".join(DEFINITIONS[n] for n in out)
