static void stage_input(const uint16_t *restrict a, float *restrict staged)
{
    float wide[HEADS * HEAD_DIM];
    for (int i = 0; i < HEADS * HEAD_DIM; i++)
        wide[i] = bf16_to_f32(a[i]);
    stage(wide, staged, HEADS * HEAD_DIM);
}

/* residual += RMSNorm(product) over all of HIDDEN. */
static void add_normalized(const uint16_t *restrict w_post, uint16_t *restrict residual)
{
    const float inverse = inverse_rms(product, HIDDEN);
    for (int i = 0; i < HIDDEN; i++) {
        const float normal = bf16_to_f32(f32_to_bf16(product[i] * inverse * bf16_to_f32(w_post[i])));
        residual[i] = f32_to_bf16(bf16_to_f32(residual[i]) + normal);
    }
}

void sliding_attention_output(const uint16_t *restrict a, const uint8_t *restrict w_o, const uint16_t *restrict s_o,
                              const uint16_t *restrict w_post, uint16_t *restrict residual)
{
    enum { COLUMNS = HEADS * HEAD_DIM, GRAIN = $grain };
#pragma omp parallel
    {
${staged}${once}        stage_input(a, staged);
#pragma omp for schedule($schedule)
        for (int first = 0; first < HIDDEN; first += GRAIN) {
            const int last = first + GRAIN < HIDDEN ? first + GRAIN : HIDDEN;
            dot_range(w_o, staged, COLUMNS, first, last, product + first);
            for (int row = first; row < last; row++)
                product[row] *= bf16_to_f32(s_o[row]);
        }
#pragma omp single nowait
        add_normalized(w_post, residual);
    }
}
