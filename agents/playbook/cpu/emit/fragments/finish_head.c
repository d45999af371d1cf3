/* Scales one head's products and normalizes them (v has no norm weight and keeps its place); q and k are then rotated. */
static void finish_head(const float *restrict sum, const uint16_t *restrict scale, const uint16_t *restrict norm,
                        const uint16_t *restrict cos, const uint16_t *restrict sin, uint16_t *restrict out)
{
    enum { HALF = HEAD_DIM / 2 };
    float v[HEAD_DIM];
    for (int i = 0; i < HEAD_DIM; i++)
        v[i] = sum[i] * bf16_to_f32(scale[i]);
    const float inverse = inverse_rms(v, HEAD_DIM);
    if (norm == NULL) {
        for (int i = 0; i < HEAD_DIM; i++)
            out[i] = f32_to_bf16(v[i] * inverse);
        return;
    }
    for (int i = 0; i < HEAD_DIM; i++)
        v[i] = bf16_to_f32(f32_to_bf16(v[i] * inverse * bf16_to_f32(norm[i])));
    for (int i = 0; i < HALF; i++) {
        const float first = v[i], second = v[i + HALF];
        out[i] = f32_to_bf16(first * bf16_to_f32(cos[i]) - second * bf16_to_f32(sin[i]));
        out[i + HALF] = f32_to_bf16(second * bf16_to_f32(cos[i + HALF]) + first * bf16_to_f32(sin[i + HALF]));
    }
}
