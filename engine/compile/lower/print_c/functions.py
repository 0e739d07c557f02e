"""Scalar functions in C: templates by function and type, and the text of those that C's library has not, or not in a form that
compilers can run in lanes.

Single precision has own `exp`, `expm1`, `log`, `log1p`, `tanh`, `sigmoid` and `erf` without branches, within 3 units in the last place
of the exact value (`tests/compile/lower/test_functions.py` measures them); their polynomials were fitted for the interval they are used
on. All else, and double precision, is the C library's.
"""

from __future__ import annotations

TYPES = {
    "f32": "float", "f64": "double", "i64": "int64_t", "i32": "int32_t", "i16": "int16_t", "i8": "int8_t", "u8": "uint8_t",
    "bool": "uint8_t",
}  # fmt: skip
"""C's names of element types in memory."""

NAMES = {**TYPES, "bool": "int"}
"""C's names of the types of local values."""

_BINARY = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}",
    "ge": "{0} >= {1}", "eq": "{0} == {1}", "ne": "{0} != {1}", "and": "{0} & {1}", "or": "{0} | {1}", "xor": "{0} ^ {1}",
}  # fmt: skip

ANY: dict[str, str] = {
    **_BINARY, "neg": "-{0}", "invert": "~{0}", "not": "!{0}", "where": "{0} ? {1} : {2}",
    "maximum": "({0} > {1}) | ({0} != {0}) ? {0} : {1}", "minimum": "({0} < {1}) | ({0} != {0}) ? {0} : {1}",
}  # fmt: skip
"""Templates for every type."""

_LIBRARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh", "sqrt", "erf", "erfc", "lgamma", "floor", "ceil", "trunc", "atan2", "fmod", "nextafter", "copysign",
)  # fmt: skip
_OWN = {"exp", "expm1", "log", "log1p", "tanh", "erf"}

FLOATS: dict[str, dict[str, str]] = {
    **{
        name: {
            "f32": f"ts_{name}f({{0}})" if name in _OWN else f"{name}f({{0}}{', {1}' if name in ('atan2', 'fmod', 'nextafter', 'copysign') else ''})",
            "f64": f"{name}({{0}}{', {1}' if name in ('atan2', 'fmod', 'nextafter', 'copysign') else ''})",
        }
        for name in _LIBRARY
    },
    "abs": {"f32": "fabsf({0})", "f64": "fabs({0})"},
    "round": {"f32": "rintf({0})", "f64": "rint({0})"},
    "div": {"f32": "{0} / {1}", "f64": "{0} / {1}"},
    "rsqrt": {"f32": "1.0f / sqrtf({0})", "f64": "1.0 / sqrt({0})"},
    "sigmoid": {"f32": "1.0f / (1.0f + ts_expf(-{0}))", "f64": "1.0 / (1.0 + exp(-{0}))"},
    "pow": {"f32": "powf({0}, {1})", "f64": "pow({0}, {1})"},
    "sign": {
        "f32": "(float)(({0} > 0.0f) - ({0} < 0.0f))",
        "f64": "(double)(({0} > 0.0) - ({0} < 0.0))",
    },
    "remainder": {"f32": "ts_remainderf({0}, {1})", "f64": "ts_remainder({0}, {1})"},
    "floor_divide": {"f32": "ts_floor_dividef({0}, {1})", "f64": "ts_floor_divide({0}, {1})"},
    "isnan": {"f32": "{0} != {0}", "f64": "{0} != {0}"},
    "isinf": {"f32": "fabsf({0}) == INFINITY", "f64": "fabs({0}) == (double)INFINITY"},
    "isfinite": {"f32": "fabsf({0}) < INFINITY", "f64": "fabs({0}) < (double)INFINITY"},
    "signbit": {"f32": "signbit({0}) != 0", "f64": "signbit({0}) != 0"},
}  # fmt: skip
"""Templates of floating-point functions."""

INTEGERS: dict[str, str] = {
    "abs": "{0} < 0 ? -{0} : {0}", "sign": "({0} > 0) - ({0} < 0)", "shl": "ts_shl({0}, {1})", "shr": "ts_shr({0}, {1})",
    "remainder": "ts_remainderi({0}, {1})", "floor_divide": "ts_floor_dividei({0}, {1})", "fmod": "ts_fmodi({0}, {1})",
}  # fmt: skip
"""Templates of integer functions."""


def template(op: str, type: str) -> str | None:
    """The C expression of a function on operands of a type, None where there is none."""
    if op in FLOATS and type in FLOATS[op]:
        return FLOATS[op][type]
    if type[0] != "f" and op in INTEGERS:
        return INTEGERS[op]
    return ANY.get(op)


HEADER = r"""
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__)
#define ts_fma(a, b, c) __builtin_fmaf(a, b, c)
#else
#define ts_fma(a, b, c) ((a) * (b) + (c))
#endif
#define TS_INLINE static inline __attribute__((always_inline))

typedef struct ts_context ts_context;
typedef void (*ts_kernel)(ts_context *, int64_t, int64_t);
struct ts_context {
  char **m;                                             /* memory of every array */
  const int32_t *s;                                     /* which of them the running kernel uses */
  const int64_t *n;                                     /* symbolic sizes */
  const double *g;                                      /* numbers given on this call */
  int64_t bad;                                          /* set where an index was out of range */
  void (*parallel)(ts_kernel, ts_context *, int64_t);   /* runs the parts of a kernel */
  void (*sgemm)(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t, float, float *, int64_t);
  void (*dgemm)(int, int, int, int64_t, int64_t, int64_t, double, const double *, int64_t, const double *, int64_t, double, double *, int64_t);
  int (*threads)(int);                                  /* sets the threads of products, and says how many they were */
  const int64_t *places, *want, *bytes, *written;       /* of the arrays of a call: numbers in the table, layouts, sizes, which are written */
  int64_t count, given, writes, header, kind;           /* arrays, those of them given; written ones; where objects hold address and type */
  char *type;                                           /* the type that arrays must have */
};
enum { TS_DONE, TS_BAD_INDEX, TS_OTHER_LAYOUT, TS_SHARED };
#define TS_ANY INT64_MIN
/* Takes the addresses of a call's arrays; what is given must lie as the code was made for, and nothing share memory with what is written. */
static int ts_bind(ts_context *x, char **objects) {
  const int64_t *want = x->want;
  for (int64_t i = 0; i < x->count; i++) {
    const char *o = objects[i];
    if (i < x->given) {
      if (*(char **)(o + x->kind) != x->type) return TS_OTHER_LAYOUT;
      const int64_t rank = *want++, *sizes = *(int64_t **)(o + x->header + 16), *steps = *(int64_t **)(o + x->header + 24);
      if (rank != TS_ANY && *(int *)(o + x->header + 8) != rank) return TS_OTHER_LAYOUT;
      for (int64_t d = 0; d < rank; d++, want += 2)
        if (sizes[d] != want[0] || (want[1] != TS_ANY && steps[d] != want[1])) return TS_OTHER_LAYOUT;
    }
    x->m[x->places[i]] = *(char **)(o + x->header);
  }
  for (int64_t w = 0; w < x->writes; w++) {
    const int64_t i = x->written[w];
    const char *a = x->m[x->places[i]];
    int shared = 0;
    for (int64_t k = 0; k < x->given; k++) {
      const char *b = x->m[x->places[k]];
      shared |= (k != i) & (a < b + x->bytes[k]) & (b < a + x->bytes[i]);
    }
    if (shared) return TS_SHARED;
  }
  return TS_DONE;
}

TS_INLINE float ts_bits(int32_t i) { union { int32_t i; float f; } u = {i}; return u.f; }
TS_INLINE int32_t ts_word(float f) { union { float f; int32_t i; } u = {f}; return u.i; }
TS_INLINE double ts_bits64(int64_t i) { union { int64_t i; double f; } u = {i}; return u.f; }
TS_INLINE int64_t ts_word64(double f) { union { double f; int64_t i; } u = {f}; return u.i; }

/* The larger of x and 0; as a mask, since loops whose choices hang on other choices do not run in lanes. */
TS_INLINE float ts_positivef(float x) { return ts_bits(ts_word(x) & -(int32_t)!(x <= 0.0f)); }
TS_INLINE double ts_positive(double x) { return ts_bits64(ts_word64(x) & -(int64_t)!(x <= 0.0)); }

/* exp(r) - 1 for |r| <= ln(2) / 2 */
TS_INLINE float ts_expm1_part(float r) {
  float p = 1.9910252e-4f;
  p = ts_fma(p, r, 1.3935454e-3f);
  p = ts_fma(p, r, 8.3332825e-3f);
  p = ts_fma(p, r, 4.1666448e-2f);
  p = ts_fma(p, r, 1.6666667e-1f);
  p = ts_fma(p, r, 0.5f);
  return ts_fma(p * r, r, r);
}
TS_INLINE float ts_reduced(float x, float n) { return ts_fma(n, 1.4286068e-6f, ts_fma(n, -0.69314575f, x)) - n * 0.0f; }
TS_INLINE float ts_limited(float x, float low, float high) { /* a NaN stays one */
  const float c = x > high ? high : x;
  return c < low ? low : c;
}
TS_INLINE float ts_expf(float x) {
  const float c = ts_limited(x, -104.0f, 89.0f);
  const float n = rintf(c * 1.44269504f);
  const float y = 1.0f + ts_expm1_part(ts_fma(n, -1.42860677e-6f, ts_fma(n, -0.693145752f, c)));
  const int32_t k = (int32_t)n, h = k >> 1;
  return y * ts_bits((h + 127) << 23) * ts_bits((k - h + 127) << 23);
}
TS_INLINE float ts_expm1_within(float c) { /* -18 <= c <= 43 */
  const float n = rintf(c * 1.44269504f);
  const float q = ts_expm1_part(ts_fma(n, -1.42860677e-6f, ts_fma(n, -0.693145752f, c)));
  const float a = ts_bits(((int32_t)n + 127) << 23);
  return ts_fma(q, a, a - 1.0f);
}
TS_INLINE float ts_expm1f(float x) {
  const float z = ts_expm1_within(ts_limited(x, -18.0f, 43.0f)), e = ts_expf(x);
  return copysignf(x > 40.0f ? e : z, x);
}
TS_INLINE float ts_tanhf(float x) {
  const float t = ts_expm1_within(2.0f * ts_limited(fabsf(x), 0.0f, 10.0f));
  return copysignf(t / (t + 2.0f), x);
}
TS_INLINE float ts_logf(float x) {
  const int tiny = x < 1.17549435e-38f;
  const float y = tiny ? x * 8388608.0f : x;
  const int32_t u = ts_word(y) - 0x3f3504f3;
  const int32_t e = (u >> 23) - (tiny ? 23 : 0);
  const float f = ts_bits((u & 0x007fffff) + 0x3f3504f3) - 1.0f, k = (float)e;
  float p = -0.08065035f;
  p = ts_fma(p, f, 0.1292206f);
  p = ts_fma(p, f, -0.13074103f);
  p = ts_fma(p, f, 0.14172947f);
  p = ts_fma(p, f, -0.16628736f);
  p = ts_fma(p, f, 0.20002714f);
  p = ts_fma(p, f, -0.25000757f);
  p = ts_fma(p, f, 0.33333313f);
  p = ts_fma(p, f, -0.49999997f);
  const float z = ts_fma(k, 0.693145752f, ts_fma(k, 1.42860677e-6f, ts_fma(p * f, f, f)));
  const float edge = x == 0.0f ? -INFINITY : (x < 0.0f ? NAN : x); /* 0, below it, infinity, NaN */
  return (x > 0.0f) & (x < INFINITY) ? z : edge;
}
TS_INLINE float ts_log1pf(float x) {
  const float u = 1.0f + x;
  const float z = ts_logf(u) + (x - (u - 1.0f)) / u;
  const float edge = u == 0.0f ? -INFINITY : x; /* -1, infinity, and what 1 + x hides */
  return (u == 1.0f) | (u == 0.0f) | (u == INFINITY) ? edge : z;
}
TS_INLINE float ts_erff(float x) {
  const float a = fabsf(x), s = a * a;
  float p = 7.889119e-5f;
  p = ts_fma(p, s, -8.020841e-4f);
  p = ts_fma(p, s, 5.189535e-3f);
  p = ts_fma(p, s, -2.6854444e-2f);
  p = ts_fma(p, s, 0.112836003f);
  p = ts_fma(p, s, -0.37612626f);
  p = ts_fma(p, s, 1.1283791f);
  const float c = ts_limited(a, 0.0f, 4.0f);
  float q = 9.382316e-7f;
  q = ts_fma(q, c, -1.5030123e-5f);
  q = ts_fma(q, c, 8.317312e-5f);
  q = ts_fma(q, c, 2.305054e-5f);
  q = ts_fma(q, c, -3.1528317e-3f);
  q = ts_fma(q, c, 2.3478911e-2f);
  q = ts_fma(q, c, -0.10655813f);
  q = ts_fma(q, c, -0.63448334f);
  q = ts_fma(q, c, -1.1290866f);
  q = ts_fma(q, c, 1.0440412e-4f);
  const float z = 1.0f - ts_expf(q);
  return copysignf(a < 1.0f ? a * p : z, x);
}
TS_INLINE float ts_remainderf(float a, float b) {
  const float r = fmodf(a, b);
  return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : (r == 0.0f ? copysignf(0.0f, b) : r);
}
TS_INLINE double ts_remainder(double a, double b) {
  const double r = fmod(a, b);
  return r != 0.0 && (r < 0.0) != (b < 0.0) ? r + b : (r == 0.0 ? copysign(0.0, b) : r);
}
TS_INLINE double ts_floor_divide(double a, double b) {
  if (b == 0.0) return a / b;
  double r = fmod(a, b), d = (a - r) / b;
  if (r != 0.0 && (r < 0.0) != (b < 0.0)) d -= 1.0;
  if (d == 0.0) return copysign(0.0, a / b);
  double f = floor(d);
  return d - f > 0.5 ? f + 1.0 : f;
}
TS_INLINE float ts_floor_dividef(float a, float b) {
  if (b == 0.0f) return a / b;
  float r = fmodf(a, b), d = (a - r) / b;
  if (r != 0.0f && (r < 0.0f) != (b < 0.0f)) d -= 1.0f;
  if (d == 0.0f) return copysignf(0.0f, a / b);
  float f = floorf(d);
  return d - f > 0.5f ? f + 1.0f : f;
}
TS_INLINE int64_t ts_remainderi(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
TS_INLINE int64_t ts_floor_dividei(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
TS_INLINE int64_t ts_fmodi(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
TS_INLINE int64_t ts_shl(int64_t a, int64_t b) { return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b); }
TS_INLINE int64_t ts_shr(int64_t a, int64_t b) { return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b; }
"""
"""What every generated file begins with."""

HEADER = "\n".join(line for line in HEADER.splitlines() if not line.startswith("TS_INLINE float ts_reduced")) + "\n"

THREADS = r"""
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

typedef void (*ts_kernel)(void *, int64_t, int64_t);
static struct {
  pthread_mutex_t lock;
  pthread_cond_t wake;
  _Atomic uint64_t next;  /* turn << 32 | parts << 16 | next part: one word, so that no part is taken for another turn's */
  _Atomic int64_t done;
  _Atomic int sleeping;
  ts_kernel kernel;
  void *context;
  int threads;
  pid_t owner;
} pool;
static pthread_mutex_t turnstile = PTHREAD_MUTEX_INITIALIZER;

static void work(void) {
  for (;;) {
    const uint64_t v = atomic_fetch_add(&pool.next, 1);
    const int64_t part = v & 0xffff, parts = v >> 16 & 0xffff;
    if (part >= parts) return;
    pool.kernel(pool.context, part, parts);
    atomic_fetch_add(&pool.done, 1);
  }
}

static void *worker(void *unused) {
  uint64_t seen = 0;
  (void)unused;
  for (;;) {
    int spins = 0;
    while (atomic_load(&pool.next) >> 32 == seen) {
      if (++spins < 20000) continue;
      pthread_mutex_lock(&pool.lock);
      atomic_fetch_add(&pool.sleeping, 1);
      while (atomic_load(&pool.next) >> 32 == seen) pthread_cond_wait(&pool.wake, &pool.lock);
      atomic_fetch_sub(&pool.sleeping, 1);
      pthread_mutex_unlock(&pool.lock);
    }
    seen = atomic_load(&pool.next) >> 32;
    work();
  }
  return 0;
}

void ts_threads(int n) { pool.threads = n; }

/* A stand-in for ts_parallel that uses the calling thread alone. */
void ts_alone(ts_kernel kernel, void *context, int64_t parts) {
  for (int64_t c = 0; c < parts; c++) kernel(context, c, parts);
}

/* Runs one step, and tells how many nanoseconds it took. */
int64_t ts_timed(void (*step)(void *), void *context) {
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  step(context);
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (int64_t)(end.tv_sec - begin.tv_sec) * 1000000000 + (end.tv_nsec - begin.tv_nsec);
}

void ts_parallel(ts_kernel kernel, void *context, int64_t parts) {
  if (pool.threads < 2 || parts < 2 || parts > 60000 || pthread_mutex_trylock(&turnstile) != 0) {
    for (int64_t c = 0; c < parts; c++) kernel(context, c, parts);
    return;
  }
  if (pool.owner != getpid()) { /* first use, or a forked child, which has no workers */
    pool.owner = getpid();
    pthread_mutex_init(&pool.lock, 0);
    pthread_cond_init(&pool.wake, 0);
    atomic_store(&pool.next, 0);
    atomic_store(&pool.sleeping, 0);
    for (int i = 1; i < pool.threads; i++) {
      pthread_t t;
      if (pthread_create(&t, 0, worker, 0) == 0) pthread_detach(t);
    }
  }
  const uint64_t turn = (atomic_load(&pool.next) >> 32) + 1;
  pool.kernel = kernel;
  pool.context = context;
  atomic_store(&pool.done, 0);
  atomic_store(&pool.next, (turn & 0xffffffff) << 32 | (uint64_t)parts << 16);
  if (atomic_load(&pool.sleeping)) {
    pthread_mutex_lock(&pool.lock);
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
  }
  work();
  for (int spins = 0; atomic_load(&pool.done) < parts; spins++)
    if (spins > 2000) sched_yield();
  pthread_mutex_unlock(&turnstile);
}
"""
"""The threads that run the parts of kernels: they wait a moment for more work, then sleep. A child made by fork starts its own."""
