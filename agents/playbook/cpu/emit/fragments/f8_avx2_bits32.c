/* Each byte is moved to the top of a 32-bit lane; one arithmetic shift and one mask then leave sign, exponent and
 * mantissa where f32 has them. The result is the weight times 2^-120, and x carries 2^96 of that, so that neither
 * overflows and the products stay normal. Lane j of vector k holds byte 4 * j + k. */
enum { UNIT = 32, VECTORS = 4 };
#define X_SCALE 0x1p96f
#define UNSCALE 0x1p24f

static inline int staged_from(int i) { return 4 * (i % 8) + i / 8; }

static inline vec place(__m256i byte_on_top)
{
    return _mm256_castsi256_ps(
        _mm256_and_si256(_mm256_srai_epi32(byte_on_top, 4), _mm256_set1_epi32((int)0x87f00000u)));
}

static inline void decode(const uint8_t *restrict w, vec out[VECTORS])
{
    const __m256i bytes = _mm256_loadu_si256((const __m256i *)w);
    out[0] = place(_mm256_slli_epi32(bytes, 24));
    out[1] = place(_mm256_slli_epi32(bytes, 16));
    out[2] = place(_mm256_slli_epi32(bytes, 8));
    out[3] = place(bytes);
}
