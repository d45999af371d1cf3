/* The codes become bytes (twice the value, plus 12, so that they are unsigned) by a byte shuffle of a 16-entry table; x
 * becomes 15 bits with one power of two per block of 16, split into two signed bytes. vpmaddubsw multiplies 32 codes at a
 * time with each plane, and the sums of the planes meet in int32 without rounding. What the 12 adds is the same for every
 * row, so it is staged with x. */
enum { UNIT = 64, BLOCKS = 8, TOP = 13 };
#define CODE_UNIT 0x1p-1f
#define UNSCALE 1.0f

struct staged {
    int8_t upper[MAX_COLUMNS] __attribute__((aligned(64)));
    int8_t lower[MAX_COLUMNS] __attribute__((aligned(64)));
    int32_t twelve[MAX_COLUMNS / 16] __attribute__((aligned(64)));
    float scale[MAX_COLUMNS / 16] __attribute__((aligned(64)));
    float tail[STEP];
};

/* Even elements, which are low nibbles, of half a unit, then odd ones. */
static inline int staged_from(int i) { return i / 64 * 64 + 2 * (i % 32) + i % 64 / 32; }

static inline int lane_of_block(int block) { return (block & 1) | (block & 2) << 1 | (block & 4) >> 1; }

$scales
static inline __m256i half_unit(const uint8_t *restrict w, const int8_t *restrict upper, const int8_t *restrict lower)
{
    const __m256i low = _mm256_set1_epi8(15);
    const __m256i table = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
    const __m256i codes = _mm256_loadu_si256((const __m256i *)w);
    const __m256i even = _mm256_shuffle_epi8(table, _mm256_and_si256(codes, low));
    const __m256i odd = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(codes, 4), low));
    const __m256i *const u = (const __m256i *)upper, *const l = (const __m256i *)lower;
    const __m256i high = _mm256_add_epi16(_mm256_maddubs_epi16(even, u[0]), _mm256_maddubs_epi16(odd, u[1]));
    const __m256i rest = _mm256_add_epi16(_mm256_maddubs_epi16(even, l[0]), _mm256_maddubs_epi16(odd, l[1]));
    return _mm256_add_epi32(_mm256_madd_epi16(high, _mm256_set1_epi16(256)),
                            _mm256_madd_epi16(rest, _mm256_set1_epi16(1)));
}

static inline vec multiply(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict x, int c,
                           vec sum)
{
    const __m256i total = _mm256_hadd_epi32(half_unit(w, x->upper + c, x->lower + c),
                                            half_unit(w + 32, x->upper + c + 64, x->lower + c + 64));
    const __m256i exact = _mm256_sub_epi32(total, _mm256_load_si256((const __m256i *)(x->twelve + c / 16)));
    const vec scale = _mm256_mul_ps(scales(s), _mm256_load_ps(x->scale + c / 16));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), scale, sum);
}
