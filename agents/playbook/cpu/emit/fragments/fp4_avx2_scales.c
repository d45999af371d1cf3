/* The scales of eight blocks times 2^-120, in the order of lane_of_block(). */
static inline vec scales(const uint8_t *restrict s)
{
    int64_t eight;
    memcpy(&eight, s, sizeof eight);
    const __m256i on_top = _mm256_shuffle_epi8(
        _mm256_set1_epi64x(eight),
        _mm256_setr_epi8(-1, -1, -1, 0, -1, -1, -1, 1, -1, -1, -1, 4, -1, -1, -1, 5,
                         -1, -1, -1, 2, -1, -1, -1, 3, -1, -1, -1, 6, -1, -1, -1, 7));
    return _mm256_castsi256_ps(
        _mm256_and_si256(_mm256_srai_epi32(on_top, 4), _mm256_set1_epi32((int)0x87f00000u)));
}
