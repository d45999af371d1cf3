/* Nearest integer, ties to even, of a value within int16: adding 1.5 * 2^23 leaves it in the low bits of the sum. */
static inline int16_t round_to_int16(float value)
{
    const float shifted = value + 12582912.0f;
    int32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    return (int16_t)bits;
}

static inline float power_of_two(int exponent)
{
    const uint32_t bits = (uint32_t)(exponent + 127) << 23;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The exponent of the largest of 16 magnitudes (that of 2^-95 when all are smaller). */
static inline int block_exponent(const float *x)
{
    uint32_t largest = 32u << 23;
    for (int i = 0; i < 16; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffffu;
        largest = bits > largest ? bits : largest;
    }
    return (int)(largest >> 23) - 127;
}

/* x as integers below 2^(TOP + 1) and powers of two, whose product with the decoded scale undoes its 2^-120. */
static void stage(const float *restrict x, struct staged *restrict staged, int columns)
{
${guard}    for (int t = 0; t < columns % STEP; t++)
        staged->tail[t] = x[columns / STEP * STEP + t];
${share}    for (int c = 0; c <= columns - STEP; c += STEP) {
        int16_t q[STEP];
        for (int b = 0; b < STEP / 16; b++) {
            const int exponent = block_exponent(x + c + 16 * b);
            const float up = power_of_two(TOP - exponent);
            for (int i = 16 * b; i < 16 * b + 16; i++)
                q[i] = round_to_int16(x[c + i] * up);
            const int lane = c / 16 + b / BLOCKS * BLOCKS + lane_of_block(b % BLOCKS);
            staged->scale[lane] = power_of_two(exponent - TOP) * CODE_UNIT * 0x1p120f;
$per_block        }
        for (int i = 0; i < STEP; i++) {
            const int16_t value = q[staged_from(i)];
$per_element        }
    }
}
