/* mul, amax, sub, exp, sum_1, div */
static void k0_amax_exp_sum_div(ts_context *x, int64_t part, int64_t parts) {
  const float *restrict b0 = (const float *)x->m[x->s[0]]; /* [32, 100] */
  float *restrict s0 = (float *)x->m[x->s[1]] + part * 100; /* [100] */
  float *restrict b2 = (float *)x->m[x->s[2]]; /* [32, 100] */
  const int64_t begin = part * 32 / parts, end = (part + 1) * 32 / parts;
  for (int64_t i0 = begin; i0 < end; i0++) {
    float r0 = -INFINITY;
    int r0_nan = 0;
    #pragma omp simd reduction(max:r0) reduction(|:r0_nan)
    for (int64_t i1 = 0; i1 < 100; i1++) {
      const float t0 = b0[i0 * 100 + i1];
      /* programs.py:11 */
      const float t1 = t0 * 0.5f;
      /* programs.py:12 */
      r0 = t1 > r0 ? t1 : r0;
      r0_nan |= t1 != t1;
    }
    if (r0_nan) r0 = NAN;
    float r1 = 0.0f;
    #pragma omp simd reduction(+:r1)
    for (int64_t i1 = 0; i1 < 100; i1++) {
      const float t2 = b0[i0 * 100 + i1];
      /* programs.py:11 */
      const float t3 = t2 * 0.5f;
      /* programs.py:12 */
      const float t4 = t3 - r0;
      const float t5 = ts_expf(t4);
      r1 = r1 + t5;
      s0[i1] = t5;
    }
    #pragma omp simd
    for (int64_t i1 = 0; i1 < 100; i1++) {
      const float t6 = s0[i1];
      const float t7 = t6 / r1;
      b2[i0 * 100 + i1] = t7;
    }
  }
}

static const int32_t s0[] = {0, 2, 1};
void step_0(ts_context *x) {
  x->s = s0;
  k0_amax_exp_sum_div(x, 0, 1);
}

int bind(ts_context *x, char **objects) { return ts_bind(x, objects); }
int run_0(ts_context *x, char **objects) {
  const int refused = objects ? ts_bind(x, objects) : TS_DONE;
  if (refused) return refused;
  const int threads = x->threads ? x->threads(1) : 0; /* products are spread over the threads of kernels */
  step_0(x);
  if (x->threads) x->threads(threads);
  const int bad = x->bad ? TS_BAD_INDEX : TS_DONE;
  x->bad = 0;
  return bad;
}
