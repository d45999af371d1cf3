typedef float32x4_t vec;
enum { LANES = 4 };

static inline vec vec_zero(void) { return vdupq_n_f32(0.0f); }
static inline vec vec_load(const float *p) { return vld1q_f32(p); }
static inline vec vec_add(vec a, vec b) { return vaddq_f32(a, b); }
static inline vec vec_fma(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
static inline float vec_sum(vec v) { return vaddvq_f32(v); }
