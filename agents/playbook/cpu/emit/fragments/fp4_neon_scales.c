/* The scales of four blocks times 2^-120. */
static inline vec scales(const uint8_t *restrict s)
{
    uint32_t four;
    memcpy(&four, s, sizeof four);
    const int16x8_t wide = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four)));
    const int32x4_t placed = vshlq_n_s32(vmovl_s16(vget_low_s16(wide)), 20);
    return vreinterpretq_f32_s32(vandq_s32(placed, vdupq_n_s32((int32_t)0x87f00000u)));
}

static inline int8x16_t doubled(uint8x16_t code)
{
    static const int8_t values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    return vqtbl1q_s8(vld1q_s8(values), code);
}
