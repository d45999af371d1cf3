/* RMSNorm(x) * weight, rounded to bf16 and kept as f32. */
static void normalize(const uint16_t *restrict x, const uint16_t *restrict weight, float *restrict out)
{
    for (int i = 0; i < HIDDEN; i++)
        out[i] = bf16_to_f32(x[i]);
    const float inverse = inverse_rms(out, HIDDEN);
    for (int i = 0; i < HIDDEN; i++)
        out[i] = bf16_to_f32(f32_to_bf16(out[i] * inverse * bf16_to_f32(weight[i])));
}
