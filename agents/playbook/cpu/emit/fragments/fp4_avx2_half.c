/* The codes become upper bytes of fp16 numbers by a byte shuffle of a 16-entry table, vcvtph2ps widens them, and each
 * block's products are scaled once. x stays in f32, times 2^96, which with the scale's
 * 2^-120 keeps the sums normal: within a block, the even elements and then the odd ones. */
enum { UNIT = 32 };
#define X_SCALE 0x1p96f
#define UNSCALE 0x1p24f

struct staged {
    float x[MAX_COLUMNS] __attribute__((aligned(64)));
    float tail[STEP];
};

static inline int staged_from(int i) { return i / 16 * 16 + 2 * (i % 8) + i % 16 / 8; }

/* One block: its even and odd codes as fp16, times x, times its scale. */
static inline vec add_block(__m128i even, __m128i odd, const float *restrict x, __m256 scale, vec sum)
{
    const vec products = _mm256_mul_ps(_mm256_cvtph_ps(even), _mm256_load_ps(x));
    return _mm256_fmadd_ps(_mm256_fmadd_ps(_mm256_cvtph_ps(odd), _mm256_load_ps(x + 8), products), scale, sum);
}

static inline vec multiply(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict staged,
                           int c, vec sum)
{
    const __m256i low = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    const __m256i table = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0x00, 0x38, 0x3c, 0x3e, 0x40, 0x42, 0x44, 0x46, (char)0x80, (char)0xb8, (char)0xbc, (char)0xbe, (char)0xc0,
        (char)0xc2, (char)0xc4, (char)0xc6));
    const float *const x = staged->x + c;
    const __m256i codes = _mm256_loadu_si256((const __m256i *)w);
    const __m256i even = _mm256_shuffle_epi8(table, _mm256_and_si256(codes, low));
    const __m256i odd = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(codes, 4), low));
    const __m256i even02 = _mm256_unpacklo_epi8(zero, even), even13 = _mm256_unpackhi_epi8(zero, even);
    const __m256i odd02 = _mm256_unpacklo_epi8(zero, odd), odd13 = _mm256_unpackhi_epi8(zero, odd);
    int32_t four;
    memcpy(&four, s, sizeof four);
    const __m128i wide = _mm_slli_epi32(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(four)), 20);
    const __m128 scale = _mm_castsi128_ps(_mm_and_si128(wide, _mm_set1_epi32((int)0x87f00000u)));
    const __m256 scales = _mm256_broadcast_ps(&scale);
    sum = add_block(_mm256_castsi256_si128(even02), _mm256_castsi256_si128(odd02), x, _mm256_permute_ps(scales, 0x00),
                    sum);
    sum = add_block(_mm256_castsi256_si128(even13), _mm256_castsi256_si128(odd13), x + 16,
                    _mm256_permute_ps(scales, 0x55), sum);
    sum = add_block(_mm256_extracti128_si256(even02, 1), _mm256_extracti128_si256(odd02, 1), x + 32,
                    _mm256_permute_ps(scales, 0xaa), sum);
    return add_block(_mm256_extracti128_si256(even13, 1), _mm256_extracti128_si256(odd13, 1), x + 48,
                     _mm256_permute_ps(scales, 0xff), sum);
}
