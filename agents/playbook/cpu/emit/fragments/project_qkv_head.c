/* The matrix, scales, norm and destination of one of the HEADS + 2 * KV_HEADS heads: those of q, then k, then v. */
struct head {
    const uint8_t *w;
    const uint16_t *scale, *norm;
    uint16_t *out;
    int first;
};

void sliding_project_qkv(const uint16_t *restrict x, const uint16_t *restrict w_in, const uint8_t *restrict w_q,
                         const uint16_t *restrict s_q, const uint8_t *restrict w_k, const uint16_t *restrict s_k,
                         const uint8_t *restrict w_v, const uint16_t *restrict s_v, const uint16_t *restrict q_norm,
                         const uint16_t *restrict k_norm, const uint16_t *restrict cos, const uint16_t *restrict sin,
                         const int32_t *restrict position, uint16_t *restrict k_cache, uint16_t *restrict v_cache,
                         uint16_t *restrict q)
{
    enum { ALL_HEADS = HEADS + 2 * KV_HEADS };
    const uint16_t *const cos_row = cos + (size_t)*position * HEAD_DIM;
    const uint16_t *const sin_row = sin + (size_t)*position * HEAD_DIM;
    const size_t slot = (size_t)(*position % WINDOW) * KV_HEADS * HEAD_DIM;
    struct head heads[ALL_HEADS];
    for (int h = 0; h < HEADS; h++)
        heads[h] = (struct head){w_q, s_q, q_norm, q + h * HEAD_DIM, h * HEAD_DIM};
    for (int h = 0; h < KV_HEADS; h++) {
        const int first = h * HEAD_DIM;
        heads[HEADS + h] = (struct head){w_k, s_k, k_norm, k_cache + slot + first, first};
        heads[HEADS + KV_HEADS + h] = (struct head){w_v, s_v, NULL, v_cache + slot + first, first};
    }
#pragma omp parallel
    {
