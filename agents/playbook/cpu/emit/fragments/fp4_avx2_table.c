/* A table of the two values of each byte, gathered four bytes at a time. */
enum { UNIT = 32 };
#define X_SCALE 1.0f
#define UNSCALE 1.0f

struct staged {
    float x[MAX_COLUMNS] __attribute__((aligned(64)));
    float tail[STEP];
};

static const float pair_values[256][2] __attribute__((aligned(64))) = {
$table};

static inline int staged_from(int i) { return i; }

static inline vec pairs(const uint8_t *restrict w)
{
    int32_t four;
    memcpy(&four, w, sizeof four);
    const __m128i index = _mm_cvtepu8_epi32(_mm_cvtsi32_si128(four));
    return _mm256_castpd_ps(_mm256_i32gather_pd((const double *)pair_values, index, 8));
}

static inline vec multiply(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict staged,
                           int c, vec sum)
{
    for (int b = 0; b < 4; b++) {
        const float *const x = staged->x + c + 16 * b;
        const vec first = _mm256_mul_ps(pairs(w + 8 * b), _mm256_load_ps(x));
        const vec both = _mm256_fmadd_ps(pairs(w + 8 * b + 4), _mm256_load_ps(x + 8), first);
        sum = _mm256_fmadd_ps(both, _mm256_set1_ps(f8_to_f32(s[b])), sum);
    }
    return sum;
}
