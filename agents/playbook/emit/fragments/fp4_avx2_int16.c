/* The codes become integers (twice the value) by a byte shuffle of a 16-entry table; x becomes int16 with one power of
 * two per block of 16, exact for every element within 2^-7 of the largest of its block. vpmaddwd multiplies and adds in
 * int32 without rounding, and each block's sum is scaled once. A lane of 32 bits holds two bytes, so four code
 * positions: even byte low and high nibble, odd byte low and high nibble. Lanes 2 b and 2 b + 1 belong to block b. */
enum { UNIT = 32 };
#define UNSCALE 1.0f

struct staged {
    int16_t q[MAX_COLUMNS] __attribute__((aligned(64)));
    float scale[MAX_COLUMNS / 8] __attribute__((aligned(64)));
    float tail[STEP];
};

/* Byte 2 j of 32 holds elements 4 j and 4 j + 1, byte 2 j + 1 elements 4 j + 2 and 4 j + 3. */
static inline int staged_from(int i) { return 4 * (i % 16) + i / 16; }

/* The block scales of a unit, each in both lanes of its block, times 2^-120. */
static inline vec scales(const uint8_t *restrict s)
{
    int32_t four;
    memcpy(&four, s, sizeof four);
    const __m256i on_top = _mm256_shuffle_epi8(
        _mm256_set1_epi32(four),
        _mm256_setr_epi8(-1, -1, -1, 0, -1, -1, -1, 0, -1, -1, -1, 1, -1, -1, -1, 1,
                         -1, -1, -1, 2, -1, -1, -1, 2, -1, -1, -1, 3, -1, -1, -1, 3));
    return _mm256_castsi256_ps(
        _mm256_and_si256(_mm256_srai_epi32(on_top, 4), _mm256_set1_epi32((int)0x87f00000u)));
}

static inline vec multiply(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict x,
                           int c, vec sum)
{
    const __m256i low = _mm256_set1_epi8(15), even = _mm256_set1_epi16((short)0xff00);
    const __m256i table = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12));
    const __m256i codes = _mm256_loadu_si256((const __m256i *)w);
    const __m256i lo = _mm256_shuffle_epi8(table, _mm256_and_si256(codes, low));
    const __m256i hi = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(codes, 4), low));
    const __m256i *q = (const __m256i *)(x->q + c);
    const __m256i p0 = _mm256_madd_epi16(_mm256_slli_epi16(lo, 8), q[0]);
    const __m256i p1 = _mm256_madd_epi16(_mm256_slli_epi16(hi, 8), q[1]);
    const __m256i p2 = _mm256_madd_epi16(_mm256_and_si256(lo, even), q[2]);
    const __m256i p3 = _mm256_madd_epi16(_mm256_and_si256(hi, even), q[3]);
    const __m256i total = _mm256_add_epi32(_mm256_add_epi32(p0, p1), _mm256_add_epi32(p2, p3));
    const vec scale = _mm256_mul_ps(scales(s), _mm256_load_ps(x->scale + c / 8));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(total), scale, sum);
}
