/* The codes become bf16 numbers by vpermw, which looks at five bits, so that a table that repeats needs no mask; x stays
 * bf16, times 2^96, which with the scale's 2^-120 keeps the sums normal, and vdpbf16ps multiplies pairs of them into f32. Four lanes belong to each block, which is scaled once. */
enum { UNIT = 32 };
#define X_SCALE 0x1p96f
#define UNSCALE 0x1p24f

struct staged {
    uint16_t x[MAX_COLUMNS] __attribute__((aligned(64)));
    float tail[STEP];
};

/* 32 even elements, which are low nibbles, then 32 odd ones. */
static inline int staged_from(int i) { return 2 * (i % 32) + i / 32; }

static const uint16_t bf16_of_code[32] __attribute__((aligned(64))) = {
    0x0000, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0x4040, 0x4080, 0x40c0, 0x8000, 0xbf00, 0xbf80,
    0xbfc0, 0xc000, 0xc040, 0xc080, 0xc0c0, 0x0000, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0x4040,
    0x4080, 0x40c0, 0x8000, 0xbf00, 0xbf80, 0xbfc0, 0xc000, 0xc040, 0xc080, 0xc0c0};

static inline vec multiply(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict staged,
                           int c, vec sum)
{
    const __m512i table = _mm512_load_si512(bf16_of_code);
    const __m512i codes = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)w));
    const __m512i even = _mm512_permutexvar_epi16(codes, table);
    const __m512i odd = _mm512_permutexvar_epi16(_mm512_srli_epi16(codes, 4), table);
    const __m512i x_even = _mm512_load_si512(staged->x + c), x_odd = _mm512_load_si512(staged->x + c + 32);
    vec products = _mm512_dpbf16_ps(vec_zero(), (__m512bh)even, (__m512bh)x_even);
    products = _mm512_dpbf16_ps(products, (__m512bh)odd, (__m512bh)x_odd);
    int32_t four;
    memcpy(&four, s, sizeof four);
    const __m128i dealt = _mm_shuffle_epi8(_mm_cvtsi32_si128(four),
                                           _mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
    const __m512i placed = _mm512_slli_epi32(_mm512_cvtepi8_epi32(dealt), 20);
    const vec scale = _mm512_castsi512_ps(_mm512_and_si512(placed, _mm512_set1_epi32((int)0x87f00000u)));
    return _mm512_fmadd_ps(products, scale, sum);
}
