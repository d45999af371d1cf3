/* The codes become integers (twice the value) by a byte shuffle of a 16-entry table; x becomes int16 with one power of
 * two per block of 16, exact for every element within 2^-7 of the largest of its block. vpmaddwd multiplies and adds in
 * int32 without rounding, and each block's sum is scaled once. A lane of 16 bits holds two bytes, so four code
 * positions: even byte low and high nibble, odd byte low and high nibble. */
enum { UNIT = 64, BLOCKS = 8, TOP = 14 };
#define CODE_UNIT 0x1p-9f /* half a code, in the upper byte of 16 bits */
#define UNSCALE 1.0f

struct staged {
    int16_t q[MAX_COLUMNS] __attribute__((aligned(64)));
    float scale[MAX_COLUMNS / 16] __attribute__((aligned(64)));
    float tail[STEP];
};

/* Byte 2 j of 32 holds elements 4 j and 4 j + 1, byte 2 j + 1 elements 4 j + 2 and 4 j + 3. */
static inline int staged_from(int i) { return i / 64 * 64 + 4 * (i % 16) + i % 64 / 16; }

static inline int lane_of_block(int block) { return (block & 1) | (block & 2) << 1 | (block & 4) >> 1; }

$scales
static inline __m256i half_unit(const uint8_t *restrict w, const int16_t *restrict x)
{
    const __m256i low = _mm256_set1_epi8(15), upper = _mm256_set1_epi16((short)0xff00);
    const __m256i table = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12));
    const __m256i *const q = (const __m256i *)x;
    const __m256i codes = _mm256_loadu_si256((const __m256i *)w);
    const __m256i lo = _mm256_shuffle_epi8(table, _mm256_and_si256(codes, low));
    const __m256i hi = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(codes, 4), low));
    const __m256i p0 = _mm256_madd_epi16(_mm256_slli_epi16(lo, 8), q[0]);
    const __m256i p1 = _mm256_madd_epi16(_mm256_slli_epi16(hi, 8), q[1]);
    const __m256i p2 = _mm256_madd_epi16(_mm256_and_si256(lo, upper), q[2]);
    const __m256i p3 = _mm256_madd_epi16(_mm256_and_si256(hi, upper), q[3]);
    return _mm256_add_epi32(_mm256_add_epi32(p0, p1), _mm256_add_epi32(p2, p3));
}

static inline vec multiply(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict x, int c,
                           vec sum)
{
    const __m256i total = _mm256_hadd_epi32(half_unit(w, x->q + c), half_unit(w + 32, x->q + c + 64));
    const vec scale = _mm256_mul_ps(scales(s), _mm256_load_ps(x->scale + c / 16));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(total), scale, sum);
}
