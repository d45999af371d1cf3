/* A table of all 256 values. */
enum { UNIT = 32, VECTORS = 4 };
#define X_SCALE 1.0f
#define UNSCALE 1.0f

static const float f8_value[256] __attribute__((aligned(64))) = {
$table};

static inline int staged_from(int i) { return i; }

static inline void decode(const uint8_t *restrict w, vec out[VECTORS])
{
    float value[VECTORS * LANES];
    for (int i = 0; i < VECTORS * LANES; i++)
        value[i] = f8_value[w[i]];
    memcpy(out, value, sizeof value);
}
