/* Each byte is moved to the top of a 32-bit lane; one arithmetic shift and one mask then leave sign, exponent and
 * mantissa where f32 has them. The result is the weight times 2^-120, and x carries 2^96 of that, so that neither
 * overflows and the products stay normal. Lane j of vector k holds byte 4 * j + k of a little-endian machine. */
enum { UNIT = 32, VECTORS = 4 };
#define X_SCALE 0x1p96f
#define UNSCALE 0x1p24f

typedef int32_t words __attribute__((vector_size(32)));

static inline int staged_from(int i) { return 4 * (i % 8) + i / 8; }

static inline vec place(words byte_on_top)
{
    return (vec)((byte_on_top >> 4) & (int32_t)0x87f00000u);
}

static inline void decode(const uint8_t *restrict w, vec out[VECTORS])
{
    words bytes;
    memcpy(&bytes, w, sizeof bytes);
    out[0] = place(bytes << 24);
    out[1] = place(bytes << 16);
    out[2] = place(bytes << 8);
    out[3] = place(bytes);
}
