/* A table of the two values of each byte. */
enum { UNIT = 32 };
#define X_SCALE 1.0f
#define UNSCALE 1.0f

struct staged {
    float x[MAX_COLUMNS] __attribute__((aligned(64)));
    float tail[STEP];
};

static const float pair_values[256][2] __attribute__((aligned(64))) = {
$table};

static inline int staged_from(int i) { return i; }

static inline __attribute__((always_inline)) vec
multiply(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict staged, int c, vec sum)
{
    for (int b = 0; b < 4; b++) {
        const float *const x = staged->x + c + 16 * b;
        float value[16];
        for (int i = 0; i < 8; i++)
            memcpy(value + 2 * i, pair_values[w[8 * b + i]], sizeof pair_values[0]);
        vec first, second;
        memcpy(&first, value, sizeof first);
        memcpy(&second, value + 8, sizeof second);
        const float scale = f8_to_f32(s[b]);
        sum = vec_fma(vec_fma(second, vec_load(x + 8), first * vec_load(x)), vec_zero() + scale, sum);
    }
    return sum;
}
