static inline float bf16_to_f32(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds to nearest, ties to even; the values here are finite. */
static inline uint16_t f32_to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/* f8e4m3 put where f32 keeps sign, exponent and mantissa: right up to 2^120, subnormals included. */
static inline float f8_to_f32(uint8_t byte)
{
    const uint32_t bits = (uint32_t)(byte & 0x80) << 24 | (uint32_t)(byte & 0x7f) << 20;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value * 0x1p120f;
}
