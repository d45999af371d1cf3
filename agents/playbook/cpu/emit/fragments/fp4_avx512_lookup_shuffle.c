static inline __m512i shifted_codes(__m512i code)
{
    return _mm512_shuffle_epi8(
        _mm512_broadcast_i32x4(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0)), code);
}

static inline __m512i low_codes(__m512i codes)
{
    return shifted_codes(_mm512_and_si512(codes, _mm512_set1_epi8(15)));
}

static inline __m512i high_codes(__m512i codes)
{
    return shifted_codes(_mm512_and_si512(_mm512_srli_epi16(codes, 4), _mm512_set1_epi8(15)));
}
