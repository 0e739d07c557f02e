/* lerp, mul, addcmul, sqrt, add, addcdiv */
static void k0_lerp_addcmul_addcdiv(ts_context *x, int64_t part, int64_t parts) {
  float *restrict b0 = (float *)x->m[x->s[0]]; /* [40, 30] */
  const float *restrict b1 = (const float *)x->m[x->s[1]]; /* [40, 30] */
  float *restrict b2 = (float *)x->m[x->s[2]]; /* [40, 30] */
  float *restrict b3 = (float *)x->m[x->s[3]]; /* [40, 30] */
  const int64_t begin = part * 1200 / parts, end = (part + 1) * 1200 / parts;
  #pragma omp simd
  for (int64_t i1 = begin; i1 < end; i1++) {
    const float t0 = b0[i1];
    const float t1 = b1[i1];
    /* programs.py:31 */
    const float t2 = t1 - t0;
    const float t3 = 0.10000000149011612f * t2;
    const float t4 = t0 + t3;
    const float t5 = b2[i1];
    /* programs.py:32 */
    const float t6 = t5 * 0.9990000128746033f;
    const float t7 = 0.0010000000474974513f * t1;
    const float t8 = t7 * t1;
    const float t9 = t6 + t8;
    const float t10 = b3[i1];
    /* programs.py:33 */
    const float t11 = (-0.0010000000474974513f) * t4;
    const float t12 = sqrtf(t9);
    const float t13 = t12 + 9.99999993922529e-09f;
    const float t14 = t11 / t13;
    const float t15 = t10 + t14;
    /* programs.py:31 */
    b0[i1] = t4;
    /* programs.py:32 */
    b2[i1] = t9;
    /* programs.py:33 */
    b3[i1] = t15;
  }
}

static const int32_t s0[] = {0, 1, 2, 3};
void step_0(ts_context *x) {
  x->s = s0;
  k0_lerp_addcmul_addcdiv(x, 0, 1);
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
