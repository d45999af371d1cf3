/* Each byte is moved to the top of a 16-bit lane; one arithmetic shift and one mask then leave sign, exponent and
 * mantissa where fp16 has them (the weight times 2^-8), and vcvtph2ps widens it, subnormals included. The vectors hold
 * the even bytes of both halves, then the odd ones. */
enum { UNIT = 64, VECTORS = 4 };
#define X_SCALE 1.0f
#define UNSCALE 256.0f

static inline int staged_from(int i) { return 2 * (i % 32) + i / 32; }

static inline __m512i place(__m512i byte_on_top)
{
    return _mm512_and_si512(_mm512_srai_epi16(byte_on_top, 1), _mm512_set1_epi16((short)0xbf80));
}

static inline void decode(const uint8_t *restrict w, vec out[VECTORS])
{
    const __m512i bytes = _mm512_loadu_si512(w);
    const __m512i even = place(_mm512_slli_epi16(bytes, 8)), odd = place(bytes);
    out[0] = _mm512_cvtph_ps(_mm512_castsi512_si256(even));
    out[1] = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(even, 1));
    out[2] = _mm512_cvtph_ps(_mm512_castsi512_si256(odd));
    out[3] = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(odd, 1));
}
