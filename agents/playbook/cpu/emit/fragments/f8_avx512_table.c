/* A table of all 256 values, gathered sixteen at a time. */
enum { UNIT = 64, VECTORS = 4 };
#define X_SCALE 1.0f
#define UNSCALE 1.0f

static const float f8_value[256] __attribute__((aligned(64))) = {
$table};

static inline int staged_from(int i) { return i; }

static inline void decode(const uint8_t *restrict w, vec out[VECTORS])
{
    for (int k = 0; k < VECTORS; k++) {
        const __m512i index = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(w + 16 * k)));
        out[k] = _mm512_i32gather_ps(index, f8_value, 4);
    }
}
