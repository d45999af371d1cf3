/* Vectors are passed among static functions only, so how a call would pass them does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"

/* Eight floats that the compiler keeps in as many vector registers as the machine needs. */
typedef float vec __attribute__((vector_size(32), aligned(32)));
enum { LANES = 8 };

static inline vec vec_zero(void) { return (vec){0}; }
static inline vec vec_load(const float *p) { return *(const vec *)p; }
static inline vec vec_add(vec a, vec b) { return a + b; }
static inline vec vec_fma(vec a, vec b, vec c) { return a * b + c; }

static inline float vec_sum(vec v)
{
    return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]));
}
