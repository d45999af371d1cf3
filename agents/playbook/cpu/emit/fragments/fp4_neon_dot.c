/* The codes become bytes (twice the value) by a table lookup; x becomes 15 bits with one power of two per block of 16,
 * split into two signed bytes. sdot multiplies 16 codes at a time with each plane into int32 without rounding. The dwords
 * of a unit are dealt out so that each block ends up in one 32-bit lane. */
enum { UNIT = 32, BLOCKS = 4, TOP = 13 };
#define CODE_UNIT 0x1p-1f
#define UNSCALE 1.0f

struct staged {
    int8_t upper[MAX_COLUMNS] __attribute__((aligned(64)));
    int8_t lower[MAX_COLUMNS] __attribute__((aligned(64)));
    float scale[MAX_COLUMNS / 16] __attribute__((aligned(64)));
    float tail[STEP];
};

static inline int lane_of_block(int block) { return block; }

/* Element i of a unit as staged: 16 low nibbles of first dwords, 16 high ones, then those of second dwords. */
static inline int staged_from(int i)
{
    const int second_dword = i % 64 / 32, high_nibble = i % 32 / 16, byte = i % 16;
    return i / 64 * 64 + 16 * (byte / 4) + 8 * second_dword + 2 * (byte % 4) + high_nibble;
}

$scales
static inline vec multiply(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict x, int c,
                           vec sum)
{
    const uint32x4_t front = vreinterpretq_u32_u8(vld1q_u8(w)), back = vreinterpretq_u32_u8(vld1q_u8(w + 16));
    const uint8x16_t dwords[2] = {vreinterpretq_u8_u32(vuzp1q_u32(front, back)),
                                  vreinterpretq_u8_u32(vuzp2q_u32(front, back))};
    int32x4_t high = vdupq_n_s32(0), rest = vdupq_n_s32(0);
    for (int d = 0; d < 2; d++) {
        const int8x16_t even = doubled(vandq_u8(dwords[d], vdupq_n_u8(15))), odd = doubled(vshrq_n_u8(dwords[d], 4));
        const int8_t *const u = x->upper + c + 32 * d, *const l = x->lower + c + 32 * d;
        high = vdotq_s32(vdotq_s32(high, even, vld1q_s8(u)), odd, vld1q_s8(u + 16));
        rest = vdotq_s32(vdotq_s32(rest, even, vld1q_s8(l)), odd, vld1q_s8(l + 16));
    }
    const int32x4_t total = vaddq_s32(vshlq_n_s32(high, 8), rest);
    return vfmaq_f32(sum, vcvtq_f32_s32(total), vmulq_f32(scales(s), vld1q_f32(x->scale + c / 16)));
}
