/* Each byte is moved to the top of a 16-bit lane; one arithmetic shift and one mask then leave sign, exponent and
 * mantissa where fp16 has them (the weight times 2^-8), and vcvtph2ps widens it, subnormals included. The vectors hold
 * the even bytes of both halves, then the odd ones. */
enum { UNIT = 32, VECTORS = 4 };
#define X_SCALE 1.0f
#define UNSCALE 256.0f

static inline int staged_from(int i) { return 2 * (i % 16) + i / 16; }

static inline __m256i place(__m256i byte_on_top)
{
    return _mm256_and_si256(_mm256_srai_epi16(byte_on_top, 1), _mm256_set1_epi16((short)0xbf80));
}

static inline void decode(const uint8_t *restrict w, vec out[VECTORS])
{
    const __m256i bytes = _mm256_loadu_si256((const __m256i *)w);
    const __m256i even = place(_mm256_slli_epi16(bytes, 8)), odd = place(bytes);
    out[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(even));
    out[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(even, 1));
    out[2] = _mm256_cvtph_ps(_mm256_castsi256_si128(odd));
    out[3] = _mm256_cvtph_ps(_mm256_extracti128_si256(odd, 1));
}
