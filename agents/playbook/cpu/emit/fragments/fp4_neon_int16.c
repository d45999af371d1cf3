/* The codes become integers (twice the value) by a table lookup; x becomes int16 with one power of two per block of 16,
 * exact for every element within 2^-7 of the largest of its block. smlal multiplies and adds in int32 without rounding,
 * and each block's sum is scaled once. */
enum { UNIT = 32, BLOCKS = 4, TOP = 14 };
#define CODE_UNIT 0x1p-1f
#define UNSCALE 1.0f

struct staged {
    int16_t q[MAX_COLUMNS] __attribute__((aligned(64)));
    float scale[MAX_COLUMNS / 16] __attribute__((aligned(64)));
    float tail[STEP];
};

static inline int lane_of_block(int block) { return block; }

/* Within each block, the even elements and then the odd ones. */
static inline int staged_from(int i) { return i / 16 * 16 + 2 * (i % 8) + i % 16 / 8; }

$scales
static inline int32x4_t block_sum(int8x8_t even, int8x8_t odd, const int16_t *restrict q)
{
    const int16x8_t wide_even = vmovl_s8(even), wide_odd = vmovl_s8(odd);
    const int16x8_t x_even = vld1q_s16(q), x_odd = vld1q_s16(q + 8);
    int32x4_t sum = vmull_s16(vget_low_s16(wide_even), vget_low_s16(x_even));
    sum = vmlal_high_s16(sum, wide_even, x_even);
    sum = vmlal_s16(sum, vget_low_s16(wide_odd), vget_low_s16(x_odd));
    return vmlal_high_s16(sum, wide_odd, x_odd);
}

static inline vec multiply(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict x, int c,
                           vec sum)
{
    int32x4_t block[4];
    for (int half = 0; half < 2; half++) {
        const uint8x16_t codes = vld1q_u8(w + 16 * half);
        const int8x16_t even = doubled(vandq_u8(codes, vdupq_n_u8(15))), odd = doubled(vshrq_n_u8(codes, 4));
        const int16_t *const q = x->q + c + 32 * half;
        block[2 * half] = block_sum(vget_low_s8(even), vget_low_s8(odd), q);
        block[2 * half + 1] = block_sum(vget_high_s8(even), vget_high_s8(odd), q + 16);
    }
    const int32x4_t total = vpaddq_s32(vpaddq_s32(block[0], block[1]), vpaddq_s32(block[2], block[3]));
    return vfmaq_f32(sum, vcvtq_f32_s32(total), vmulq_f32(scales(s), vld1q_f32(x->scale + c / 16)));
}
