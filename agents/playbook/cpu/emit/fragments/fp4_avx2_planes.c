/* The codes become bytes (twice the value, plus 12, so that they are unsigned) by a byte shuffle of a 16-entry table; x
 * becomes 15 bits with one power of two per block of 16, split into two signed bytes. vpmaddubsw multiplies 32 codes at a
 * time with each plane; no sum of theirs exceeds 24576, and the planes meet in int32 without rounding. The dwords of a
 * unit are dealt out so that each block ends up in one 32-bit lane. What the 12 adds is the same for every row, so it is
 * staged with x. */
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

static inline int lane_of_block(int block) { return (block & 1) | (block & 2) << 1 | (block & 4) >> 1; }

/* Element i of a unit as staged: 32 low nibbles of first dwords, 32 high ones, then those of second dwords. */
static inline int staged_from(int i)
{
    static const int block_of_lane[8] = {0, 1, 4, 5, 2, 3, 6, 7};
    const int second_dword = i / 64, high_nibble = i % 64 / 32, byte = i % 32;
    return 16 * block_of_lane[byte / 4] + 8 * second_dword + 2 * (byte % 4) + high_nibble;
}

$scales
/* Adds a quarter of each block's codes times each plane of x, twice: low and high nibbles. */
static inline void add_codes(__m256i codes, const int8_t *restrict upper, const int8_t *restrict lower,
                             __m256i *restrict high, __m256i *restrict rest)
{
    const __m256i low = _mm256_set1_epi8(15);
    const __m256i table = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
    const __m256i even = _mm256_shuffle_epi8(table, _mm256_and_si256(codes, low));
    const __m256i odd = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(codes, 4), low));
    const __m256i *const u = (const __m256i *)upper, *const l = (const __m256i *)lower;
    *high = _mm256_add_epi16(_mm256_maddubs_epi16(even, u[0]), _mm256_maddubs_epi16(odd, u[1]));
    *rest = _mm256_add_epi16(_mm256_maddubs_epi16(even, l[0]), _mm256_maddubs_epi16(odd, l[1]));
}

static inline vec multiply(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict x, int c,
                           vec sum)
{
    const __m256 front = _mm256_loadu_ps((const float *)w), back = _mm256_loadu_ps((const float *)(w + 32));
    __m256i high[2], rest[2];
    add_codes(_mm256_castps_si256(_mm256_shuffle_ps(front, back, 0x88)), x->upper + c, x->lower + c, &high[0], &rest[0]);
    add_codes(_mm256_castps_si256(_mm256_shuffle_ps(front, back, 0xdd)), x->upper + c + 64, x->lower + c + 64, &high[1],
              &rest[1]);
    const __m256i upper = _mm256_madd_epi16(_mm256_add_epi16(high[0], high[1]), _mm256_set1_epi16(256));
    const __m256i lower = _mm256_madd_epi16(_mm256_add_epi16(rest[0], rest[1]), _mm256_set1_epi16(1));
    const __m256i twelve = _mm256_load_si256((const __m256i *)(x->twelve + c / 16));
    const __m256i exact = _mm256_sub_epi32(_mm256_add_epi32(upper, lower), twelve);
    const vec scale = _mm256_mul_ps(scales(s), _mm256_load_ps(x->scale + c / 16));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), scale, sum);
}
