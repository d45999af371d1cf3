/* The codes become bytes (twice the value, plus 12, so that they are unsigned) by a byte shuffle of a 16-entry table; x
 * becomes 15 bits with one power of two per block of 16, split into two signed bytes. vpmaddubsw multiplies 64 codes at a
 * time with each plane; no sum of theirs exceeds 24576, and the planes meet in int32 without rounding. The dwords of a
 * unit are dealt out so that each block ends up in one 32-bit lane. What the 12 adds is the same for every row, so it is
 * staged with x. */
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
/* Adds a quarter of each block's codes times each plane of x, twice: low and high nibbles. */
static inline void add_codes(__m512i codes, const int8_t *restrict upper, const int8_t *restrict lower,
                             __m512i *restrict high, __m512i *restrict rest)
{
    const __m512i low = _mm512_set1_epi8(15);
    const __m512i table =
        _mm512_broadcast_i32x4(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
    const __m512i even = _mm512_shuffle_epi8(table, _mm512_and_si512(codes, low));
    const __m512i odd = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(codes, 4), low));
    *high = _mm512_add_epi16(_mm512_maddubs_epi16(even, _mm512_load_si512(upper)),
                             _mm512_maddubs_epi16(odd, _mm512_load_si512(upper + 64)));
    *rest = _mm512_add_epi16(_mm512_maddubs_epi16(even, _mm512_load_si512(lower)),
                             _mm512_maddubs_epi16(odd, _mm512_load_si512(lower + 64)));
}

static inline vec multiply(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict x, int c,
                           vec sum)
{
    const __m512 front = _mm512_loadu_ps(w), back = _mm512_loadu_ps(w + 64);
    __m512i high[2], rest[2];
    add_codes(_mm512_castps_si512(_mm512_shuffle_ps(front, back, 0x88)), x->upper + c, x->lower + c, &high[0], &rest[0]);
    add_codes(_mm512_castps_si512(_mm512_shuffle_ps(front, back, 0xdd)), x->upper + c + 128, x->lower + c + 128,
              &high[1], &rest[1]);
    const __m512i upper = _mm512_madd_epi16(_mm512_add_epi16(high[0], high[1]), _mm512_set1_epi16(256));
    const __m512i lower = _mm512_madd_epi16(_mm512_add_epi16(rest[0], rest[1]), _mm512_set1_epi16(1));
    const __m512i exact = _mm512_sub_epi32(_mm512_add_epi32(upper, lower), _mm512_load_si512(x->twelve + c / 16));
    const vec scale = _mm512_mul_ps(scales(s), _mm512_load_ps(x->scale + c / 16));
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(exact), scale, sum);
}
