/* A table of all 256 values, gathered eight at a time. */
enum { UNIT = 32, VECTORS = 4 };
#define X_SCALE 1.0f
#define UNSCALE 1.0f

static const float f8_value[256] __attribute__((aligned(64))) = {
$table};

static inline int staged_from(int i) { return i; }

static inline void decode(const uint8_t *restrict w, vec out[VECTORS])
{
    for (int k = 0; k < VECTORS; k++) {
        const __m256i index = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(w + 8 * k)));
        out[k] = _mm256_i32gather_ps(f8_value, index, 4);
    }
}
