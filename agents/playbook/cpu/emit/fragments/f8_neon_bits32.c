/* Each byte is moved to the top of a 32-bit lane; one arithmetic shift and one mask then leave sign, exponent and
 * mantissa where f32 has them. The result is the weight times 2^-120, and x carries 2^96 of that, so that neither
 * overflows and the products stay normal. Lane j of vector k holds byte 4 * j + k. */
enum { UNIT = 16, VECTORS = 4 };
#define X_SCALE 0x1p96f
#define UNSCALE 0x1p24f

static inline int staged_from(int i) { return 4 * (i % 4) + i / 4; }

static inline vec place(int32x4_t byte_on_top)
{
    return vreinterpretq_f32_s32(vandq_s32(vshrq_n_s32(byte_on_top, 4), vdupq_n_s32((int32_t)0x87f00000u)));
}

static inline void decode(const uint8_t *restrict w, vec out[VECTORS])
{
    const int32x4_t bytes = vreinterpretq_s32_u8(vld1q_u8(w));
    out[0] = place(vshlq_n_s32(bytes, 24));
    out[1] = place(vshlq_n_s32(bytes, 16));
    out[2] = place(vshlq_n_s32(bytes, 8));
    out[3] = place(bytes);
}
