/* The scales of eight blocks times 2^-120, in the order in which a horizontal add of two halves leaves their sums. */
static inline vec scales(const uint8_t *restrict s)
{
    const __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)s));
    const __m256i ordered = _mm256_permute4x64_epi64(wide, 0xd8);
    return _mm256_castsi256_ps(
        _mm256_and_si256(_mm256_slli_epi32(ordered, 20), _mm256_set1_epi32((int)0x87f00000u)));
}
