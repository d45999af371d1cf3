/* 1 / sqrt(mean(v^2) + eps), summed in lanes that the compiler can keep in vector registers. */
static inline float inverse_rms(const float *v, int n)
{
    float lane[16] = {0.0f};
    int i = 0;
    for (; i + 16 <= n; i += 16)
        for (int j = 0; j < 16; j++)
            lane[j] += v[i + j] * v[i + j];
    for (; i < n; i++)
        lane[i & 15] += v[i] * v[i];
    for (int width = 8; width > 0; width /= 2)
        for (int j = 0; j < width; j++)
            lane[j] += lane[j + width];
    return 1.0f / sqrtf(lane[0] / (float)n + 1e-6f);
}
