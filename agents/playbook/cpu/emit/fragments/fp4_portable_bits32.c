/* Each code is moved to the top of a 32-bit lane; one arithmetic shift and one mask then leave sign, exponent and
 * mantissa where f32 has them. The result is the value times 2^-126, half being a subnormal, and x carries 2^96 of that.
 * Lane j holds the codes of dword j of a unit (of a little-endian machine), so lanes 2 b and 2 b + 1 belong to block b. */
enum { UNIT = 32 };
#define X_SCALE 0x1p96f
#define UNSCALE 0x1p30f

typedef int32_t words __attribute__((vector_size(32)));

struct staged {
    float x[MAX_COLUMNS] __attribute__((aligned(64)));
    float tail[STEP];
};

static inline int staged_from(int i) { return 8 * (i % 8) + i / 8; }

static inline __attribute__((always_inline)) vec
multiply(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict staged, int c, vec sum)
{
    words codes;
    memcpy(&codes, w, sizeof codes);
    vec products = vec_zero();
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++) {
        const words placed = ((codes << (28 - 4 * k)) >> 6) & (int32_t)0x81c00000u;
        products = vec_fma((vec)placed, vec_load(staged->x + c + 8 * k), products);
    }
    float pair[LANES];
    for (int lane = 0; lane < LANES; lane++)
        pair[lane] = f8_to_f32(s[lane / 2]);
    vec scale;
    memcpy(&scale, pair, sizeof scale);
    return vec_fma(products, scale, sum);
}
