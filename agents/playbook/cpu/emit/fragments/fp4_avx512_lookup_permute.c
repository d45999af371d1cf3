/* vpermb looks at six bits, so a table that repeats four times needs no mask of the bits above a code. */
static inline __m512i low_codes(__m512i codes)
{
    return _mm512_permutexvar_epi8(
        codes, _mm512_broadcast_i32x4(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0)));
}

static inline __m512i high_codes(__m512i codes) { return low_codes(_mm512_srli_epi16(codes, 4)); }
