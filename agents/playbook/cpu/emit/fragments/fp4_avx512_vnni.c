/* The codes become bytes (twice the value, plus 12, so that they are unsigned) by a byte $lookup_says; x becomes 15 bits
 * with one power of two per block of 16, split into two signed bytes. vpdpbusd multiplies 64 codes at a time with each
 * plane into int32 without rounding. The dwords of a unit are dealt out so that each block ends up in one 32-bit lane.
 * What the 12 adds is the same for every row, so it is staged with x. */
enum { UNIT = 128, BLOCKS = 16, TOP = 13 };
#define CODE_UNIT 0x1p-1f
#define UNSCALE 1.0f

struct staged {
    int8_t upper[MAX_COLUMNS] __attribute__((aligned(64)));
    int8_t lower[MAX_COLUMNS] __attribute__((aligned(64)));
    int32_t twelve[MAX_COLUMNS / 16] __attribute__((aligned(64)));
    float scale[MAX_COLUMNS / 16] __attribute__((aligned(64)));
    float tail[STEP];
};

$scales
$lookup
static inline vec multiply(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict x, int c,
                           vec sum)
{
    const __m512 front = _mm512_loadu_ps(w), back = _mm512_loadu_ps(w + 64);
    const __m512i dwords[2] = {_mm512_castps_si512(_mm512_shuffle_ps(front, back, 0x88)),
                               _mm512_castps_si512(_mm512_shuffle_ps(front, back, 0xdd))};
    __m512i high = _mm512_setzero_si512(), rest = _mm512_setzero_si512();
#pragma GCC unroll 2
    for (int d = 0; d < 2; d++) {
        const int8_t *const u = x->upper + c + 128 * d, *const l = x->lower + c + 128 * d;
        const __m512i even = low_codes(dwords[d]), odd = high_codes(dwords[d]);
        high = _mm512_dpbusd_epi32(high, even, _mm512_load_si512(u));
        rest = _mm512_dpbusd_epi32(rest, even, _mm512_load_si512(l));
        high = _mm512_dpbusd_epi32(high, odd, _mm512_load_si512(u + 64));
        rest = _mm512_dpbusd_epi32(rest, odd, _mm512_load_si512(l + 64));
    }
    const __m512i total = _mm512_add_epi32(_mm512_slli_epi32(high, 8), rest);
    const __m512i exact = _mm512_sub_epi32(total, _mm512_load_si512(x->twelve + c / 16));
    const vec scale = _mm512_mul_ps(scales(s), _mm512_load_ps(x->scale + c / 16));
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), scale, sum);
}
