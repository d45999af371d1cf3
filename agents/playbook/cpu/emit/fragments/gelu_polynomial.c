/* t, but no further from zero than 87; by its bits, so that loops vectorize. */
static inline float clamped(float t)
{
    uint32_t bits;
    memcpy(&bits, &t, sizeof bits);
    const uint32_t size = bits & 0x7fffffffu, bound = 0x42ae0000u;
    bits = (bits & 0x80000000u) | (size < bound ? size : bound);
    memcpy(&t, &bits, sizeof t);
    return t;
}

/* e^t, t clamped: 2^n times a polynomial on |r| <= ln(2) / 2, without a call or a branch. ln(2) is split in two so that
 * n * ln(2) is exact to f32; the coefficients are those of the Taylor series to r^7. */
static inline float exponential(float exponent)
{
    const float t = clamped(exponent);
    const float shifted = t * 1.4426950408889634f + 12582912.0f;
    const float n = shifted - 12582912.0f;
    const float r = (t - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

/* 0.5 v (1 + tanh(z)) = v / (1 + e^(-2 z)). */
static inline float gelu_tanh(float v)
{
    return v / (1.0f + exponential(-1.5957691216057308f * (v + 0.044715f * v * v * v)));
}
