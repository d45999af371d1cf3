/* Nearest integer, ties to even, of a value within int16: adding 1.5 * 2^23 leaves it in the low bits of the sum. */
static inline int16_t round_to_int16(float value)
{
    const float shifted = value + 12582912.0f;
    int32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    return (int16_t)bits;
}

/* x as int16 and powers of two. 2^112 of the decode's 2^120 comes with them, and 2^-9 for the doubled code in a high byte. */
static void stage(const float *restrict x, struct staged *restrict staged, int columns)
{
    const int whole = columns / STEP * STEP;
    for (int unit = 0; unit < whole; unit += 2 * UNIT) {
        float multiplier[2 * UNIT / 16];
        for (int b = 0; b < 2 * UNIT / 16; b++) {
            uint32_t largest = 0;
            for (int i = 0; i < 16; i++) {
                uint32_t bits;
                memcpy(&bits, x + unit + 16 * b + i, sizeof bits);
                bits &= 0x7fffffffu;
                largest = bits > largest ? bits : largest;
            }
            uint32_t exponent = largest >> 23;
            exponent = exponent < 32 ? 32 : exponent;
            const uint32_t up = (127 + 14 + 127 - exponent) << 23, down = (exponent - 14 + $down) << 23;
            memcpy(&multiplier[b], &up, sizeof up);
            for (int lane = 0; lane < $lanes_per_block; lane++)
                memcpy(&staged->scale[(unit / 16 + b) * $lanes_per_block + lane], &down, sizeof down);
        }
        for (int i = 0; i < 2 * UNIT; i++) {
            const int from = staged_from(i);
            staged->q[unit + i] = round_to_int16(x[unit + from] * multiplier[from / 16]);
        }
    }
    for (int c = whole; c < columns; c++)
        staged->tail[c - whole] = x[c];
}
