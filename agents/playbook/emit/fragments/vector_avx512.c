typedef __m512 vec;
enum { LANES = 16 };

static inline vec vec_zero(void) { return _mm512_setzero_ps(); }
static inline vec vec_load(const float *p) { return _mm512_load_ps(p); }
static inline vec vec_add(vec a, vec b) { return _mm512_add_ps(a, b); }
static inline vec vec_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
static inline float vec_sum(vec v) { return _mm512_reduce_add_ps(v); }
