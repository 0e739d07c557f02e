/* mean, sub, sub_1, mul, mean_1, add, rsqrt, mul_3, view_1, mul_4, mul_5, mean_2, mean_3, full, full_1, mul_7, div_1, sub_2, sub_3, mul_6, div, add_2, mul_8, sub_4, mul_9, mul_10, sum_1, sum_2 */
static void k0_mean_rsqrt_mul_sum(ts_context *x, int64_t part, int64_t parts) {
  const float *restrict b0 = (const float *)x->m[x->s[0]]; /* [48, 64] */
  const float *restrict b1 = (const float *)x->m[x->s[1]]; /* [48, 64] */
  const float *restrict b2 = (const float *)x->m[x->s[2]]; /* [64] */
  float *restrict b3 = (float *)x->m[x->s[3]]; /* [64] */
  float *restrict w0 = (float *)x->m[x->s[4]] + part * 64; /* [64] */
  float *restrict b5 = (float *)x->m[x->s[5]]; /* [64] */
  float *restrict w1 = (float *)x->m[x->s[6]] + part * 64; /* [64] */
  float *restrict s0 = (float *)x->m[x->s[7]] + part * 64; /* [64] */
  float *restrict b8 = (float *)x->m[x->s[8]]; /* [48, 64] */
  const int64_t begin = part * 48 / parts, end = (part + 1) * 48 / parts;
  for (int64_t i = 0; i < 64; i++) w0[i] = 0.0f;
  for (int64_t i = 0; i < 64; i++) w1[i] = 0.0f;
  for (int64_t i0 = begin; i0 < end; i0++) {
    float r0 = 0.0f;
    float r1 = 0.0f;
    #pragma omp simd reduction(+:r0) reduction(+:r1)
    for (int64_t i1 = 0; i1 < 64; i1++) {
      const float t0 = b0[i0 * 64 + i1];
      /* programs.py:16 */
      r0 = r0 + t0;
      const float t1 = b1[i0 * 64 + i1];
      const float t2 = b2[i1];
      const float t3 = t1 * t2;
      r1 = r1 + t3;
      w0[i1] = w0[i1] + t1;
    }
    const float t5 = r0 / 64.0f;
    float r2 = 0.0f;
    #pragma omp simd reduction(+:r2)
    for (int64_t i1 = 0; i1 < 64; i1++) {
      const float t4 = b0[i0 * 64 + i1];
      const float t6 = t4 - t5;
      const float t7 = t6 * t6;
      r2 = r2 + t7;
    }
    const float t8 = r2 / 64.0f;
    const float t9 = t8 + 9.999999747378752e-06f;
    const float t10 = 1.0f / sqrtf(t9);
    float r3 = 0.0f;
    #pragma omp simd reduction(+:r3)
    for (int64_t i1 = 0; i1 < 64; i1++) {
      const float t11 = b1[i0 * 64 + i1];
      const float t12 = b2[i1];
      const float t13 = t11 * t12;
      const float t14 = b0[i0 * 64 + i1];
      const float t15 = t14 - t5;
      const float t16 = t15 * t10;
      const float t17 = t13 * t16;
      r3 = r3 + t17;
      const float t18 = t11 * t16;
      w1[i1] = w1[i1] + t18;
      s0[i1] = t16;
    }
    const float t22 = r1 / 64.0f;
    const float t23 = t10 * 64.0f;
    const float t24 = 0.0f / t23;
    const float t25 = t22 - t24;
    const float t28 = r3 / 64.0f;
    const float t29 = 0.0f * t10;
    const float t30 = t29 / 64.0f;
    const float t31 = t28 + t30;
    #pragma omp simd
    for (int64_t i1 = 0; i1 < 64; i1++) {
      const float t19 = b1[i0 * 64 + i1];
      const float t20 = b2[i1];
      const float t21 = t19 * t20;
      const float t26 = t21 - t25;
      const float t27 = s0[i1];
      const float t32 = t27 * t31;
      const float t33 = t26 - t32;
      const float t34 = t33 * t10;
      b8[i0 * 64 + i1] = t34;
    }
  }
}

static const int32_t s0[] = {0, 1, 2, 4, 6, 5, 7, 8, 3};
void step_0(ts_context *x) {
  x->s = s0;
  {
    k0_mean_rsqrt_mul_sum(x, 0, 1);
    const float *restrict w0 = (const float *)x->m[6];
    float *restrict b3_ = (float *)x->m[4];
    for (int64_t i = 0; i < 64; i++) {
      float v = w0[i];
      b3_[i] = (float)v;
    }
    const float *restrict w1 = (const float *)x->m[7];
    float *restrict b5_ = (float *)x->m[5];
    for (int64_t i = 0; i < 64; i++) {
      float v = w1[i];
      b5_[i] = (float)v;
    }
  }
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
