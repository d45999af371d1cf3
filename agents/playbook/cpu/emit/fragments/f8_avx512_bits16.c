/* Each byte is moved to the top of a 16-bit lane; one arithmetic shift puts sign, exponent and mantissa where bf16, and so
 * the upper half of an f32, has them. Splitting the two halves of each 32-bit lane then costs a mask for one and a shift
 * and a mask for the other. The result is the weight times 2^-120, and x carries 2^96 of that, so that neither overflows
 * and the products stay normal. Lane j of vector k holds byte 4 * j + k. */
enum { UNIT = 64, VECTORS = 4 };
#define X_SCALE 0x1p96f
#define UNSCALE 0x1p24f

static inline int staged_from(int i) { return 4 * (i % 16) + i / 16; }

static inline vec keep(__m512i placed)
{
    return _mm512_castsi512_ps(_mm512_and_si512(placed, _mm512_set1_epi32((int)0x87f00000u)));
}

static inline void decode(const uint8_t *restrict w, vec out[VECTORS])
{
    const __m512i bytes = _mm512_loadu_si512(w);
    const __m512i odd = _mm512_srai_epi16(bytes, 4), even = _mm512_srai_epi16(_mm512_slli_epi16(bytes, 8), 4);
    out[0] = keep(_mm512_slli_epi32(even, 16));
    out[1] = keep(_mm512_slli_epi32(odd, 16));
    out[2] = keep(even);
    out[3] = keep(odd);
}
