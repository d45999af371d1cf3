/* Each byte is moved to the top of a 16-bit lane; one arithmetic shift and one mask then leave sign, exponent and
 * mantissa where fp16 has them (the weight times 2^-8), and the hardware widens it, subnormals included. The vectors hold
 * the even bytes of both halves, then the odd ones. */
enum { UNIT = 16, VECTORS = 4 };
#define X_SCALE 1.0f
#define UNSCALE 256.0f

static inline int staged_from(int i) { return 2 * (i % 8) + i / 8; }

static inline float16x8_t place(int16x8_t byte_on_top)
{
    return vreinterpretq_f16_s16(vandq_s16(vshrq_n_s16(byte_on_top, 1), vdupq_n_s16((int16_t)0xbf80)));
}

static inline void decode(const uint8_t *restrict w, vec out[VECTORS])
{
    const int16x8_t bytes = vreinterpretq_s16_u8(vld1q_u8(w));
    const float16x8_t even = place(vshlq_n_s16(bytes, 8)), odd = place(bytes);
    out[0] = vcvt_f32_f16(vget_low_f16(even));
    out[1] = vcvt_high_f32_f16(even);
    out[2] = vcvt_f32_f16(vget_low_f16(odd));
    out[3] = vcvt_high_f32_f16(odd);
}
