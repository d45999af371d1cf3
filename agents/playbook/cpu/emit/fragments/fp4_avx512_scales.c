/* The scales of sixteen blocks times 2^-120, in the order of lane_of_block(). */
static inline vec scales(const uint8_t *restrict s)
{
    const __m128i ordered = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)s),
                                             _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    const __m512i placed = _mm512_slli_epi32(_mm512_cvtepi8_epi32(ordered), 20);
    return _mm512_castsi512_ps(_mm512_and_si512(placed, _mm512_set1_epi32((int)0x87f00000u)));
}

static inline int lane_of_block(int block) { return (block & 1) | (block & 8) >> 2 | (block & 6) << 1; }

/* Element i of a unit as staged: 64 low nibbles of first dwords, 64 high ones, then those of second dwords. */
static inline int staged_from(int i)
{
    const int second_dword = i / 128, high_nibble = i % 128 / 64, byte = i % 64, lane = byte / 4;
    const int block = (lane & 1) | (lane & 2) << 2 | (lane & 12) >> 1;
    return 16 * block + 8 * second_dword + 2 * (byte % 4) + high_nibble;
}
