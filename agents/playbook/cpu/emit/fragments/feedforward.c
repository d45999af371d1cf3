enum { GRAIN = $grain, DOWN_GRAIN = $down_grain };

static float activation[INTERMEDIATE] __attribute__((aligned(64)));
static float product[HIDDEN] __attribute__((aligned(64)));

/* Rows first to last - 1 of gelu(gate) * up, rounded to bf16. */
static void gate_and_up(const struct staged *restrict x, const uint8_t *restrict gate,
                        const uint8_t *restrict gate_scales, float gate_global, const uint8_t *restrict up,
                        const uint8_t *restrict up_scales, float up_global, int first, int last)
{
    float g[GRAIN], u[GRAIN];
$gate_up
    for (int i = 0; i < last - first; i++)
        activation[first + i] = bf16_to_f32(f32_to_bf16(gelu_tanh(g[i] * gate_global) * (u[i] * up_global)));
}

/* residual = (residual + RMSNorm(product)) * layer_scalar. */
static void add_normalized(const uint16_t *restrict w_post, float layer_scalar, uint16_t *restrict residual)
{
    const float inverse = inverse_rms(product, HIDDEN);
    for (int i = 0; i < HIDDEN; i++) {
        const float normal = bf16_to_f32(f32_to_bf16(product[i] * inverse * bf16_to_f32(w_post[i])));
        residual[i] = f32_to_bf16((bf16_to_f32(residual[i]) + normal) * layer_scalar);
    }
}

void decoder_feedforward(uint16_t *restrict residual, const uint16_t *restrict w_pre, const uint16_t *restrict w_post,
                         const uint8_t *restrict gate, const uint8_t *restrict gate_scales,
                         const float *restrict gate_global, const uint8_t *restrict up,
                         const uint8_t *restrict up_scales, const float *restrict up_global,
                         const uint8_t *restrict down, const uint8_t *restrict down_scales,
                         const float *restrict down_global, const uint16_t *restrict layer_scalar)
{
$shared#pragma omp parallel
    {
$stage_x#pragma omp for schedule($schedule)
        for (int first = 0; first < INTERMEDIATE; first += GRAIN) {
            const int last = first + GRAIN < INTERMEDIATE ? first + GRAIN : INTERMEDIATE;
            gate_and_up(&staged, gate, gate_scales, *gate_global, up, up_scales, *up_global, first, last);
        }
$stage_y#pragma omp for schedule($schedule)
        for (int first = 0; first < HIDDEN; first += DOWN_GRAIN) {
            const int last = first + DOWN_GRAIN < HIDDEN ? first + DOWN_GRAIN : HIDDEN;
            dot_range_$down_rows(down, down_scales, &staged, INTERMEDIATE, first, last, product + first);
            for (int row = first; row < last; row++)
                product[row] *= *down_global;
        }
#pragma omp single nowait
        add_normalized(w_post, bf16_to_f32(*layer_scalar), residual);
    }
}
