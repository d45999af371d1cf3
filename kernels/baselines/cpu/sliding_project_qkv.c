/* Query, key and value projections of one decoded token, in plain portable C.
 *
 * Weights are f8e4m3 with one bf16 scale per output row; sums are kept in f32.
 */
#include "kernel.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EPSILON 1e-6f
#define Q_ROWS (HEADS * HEAD_DIM)
#define KV_ROWS (KV_HEADS * HEAD_DIM)

static float hidden[HIDDEN];
static float rows[Q_ROWS + 2 * KV_ROWS];

static inline float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float bf16_to_float(uint16_t value)
{
    return from_bits((uint32_t)value << 16);
}

static inline uint16_t float_to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16); /* to nearest, ties to even */
}

static inline float round_to_bf16(float value)
{
    return bf16_to_float(float_to_bf16(value));
}

/* e4m3 has its fields where the top of an f32 has them, with an exponent bias of 7 instead of 127. */
static inline float f8_to_float(uint8_t value)
{
    return from_bits((uint32_t)(value & 0x80u) << 24 | (uint32_t)(value & 0x7fu) << 20) * 0x1p120f;
}

static float dot_row(const uint8_t *restrict weights, const float *restrict vector, size_t count)
{
    float sum = 0.0f;
    for (size_t i = 0; i < count; i++)
        sum += f8_to_float(weights[i]) * vector[i];
    return sum;
}

/* RMS-normalizes one head in place; weight may be NULL. */
static void normalize_head(float *head, const uint16_t *weight)
{
    float squares = 0.0f;
    for (size_t i = 0; i < HEAD_DIM; i++)
        squares += head[i] * head[i];
    float factor = 1.0f / sqrtf(squares / HEAD_DIM + EPSILON);
    for (size_t i = 0; i < HEAD_DIM; i++)
        head[i] = round_to_bf16(head[i] * factor * (weight ? bf16_to_float(weight[i]) : 1.0f));
}

static void rotate_head(const float *head, const uint16_t *cos_row, const uint16_t *sin_row, uint16_t *out)
{
    const size_t half = HEAD_DIM / 2;
    for (size_t i = 0; i < HEAD_DIM; i++) {
        float partner = i < half ? -head[i + half] : head[i - half];
        out[i] = float_to_bf16(head[i] * bf16_to_float(cos_row[i]) + partner * bf16_to_float(sin_row[i]));
    }
}

void sliding_project_qkv(const uint16_t *restrict x, const uint16_t *restrict w_in,
                         const uint8_t *restrict w_q, const uint16_t *restrict s_q,
                         const uint8_t *restrict w_k, const uint16_t *restrict s_k,
                         const uint8_t *restrict w_v, const uint16_t *restrict s_v,
                         const uint16_t *restrict q_norm, const uint16_t *restrict k_norm,
                         const uint16_t *restrict cos, const uint16_t *restrict sin,
                         const int32_t *restrict position,
                         uint16_t *restrict k_cache, uint16_t *restrict v_cache, uint16_t *restrict q)
{
    float squares = 0.0f;
    for (size_t i = 0; i < HIDDEN; i++) {
        hidden[i] = bf16_to_float(x[i]);
        squares += hidden[i] * hidden[i];
    }
    float factor = 1.0f / sqrtf(squares / HIDDEN + EPSILON);
    for (size_t i = 0; i < HIDDEN; i++)
        hidden[i] = round_to_bf16(hidden[i] * factor * bf16_to_float(w_in[i]));

#pragma omp parallel for
    for (size_t row = 0; row < Q_ROWS; row++)
        rows[row] = dot_row(w_q + row * HIDDEN, hidden, HIDDEN) * bf16_to_float(s_q[row]);
#pragma omp parallel for
    for (size_t row = 0; row < KV_ROWS; row++) {
        rows[Q_ROWS + row] = dot_row(w_k + row * HIDDEN, hidden, HIDDEN) * bf16_to_float(s_k[row]);
        rows[Q_ROWS + KV_ROWS + row] = dot_row(w_v + row * HIDDEN, hidden, HIDDEN) * bf16_to_float(s_v[row]);
    }

    const uint16_t *cos_row = cos + (size_t)*position * HEAD_DIM;
    const uint16_t *sin_row = sin + (size_t)*position * HEAD_DIM;
    size_t slot = (size_t)*position % WINDOW * KV_ROWS;
    for (size_t head = 0; head < HEADS; head++) {
        normalize_head(rows + head * HEAD_DIM, q_norm);
        rotate_head(rows + head * HEAD_DIM, cos_row, sin_row, q + head * HEAD_DIM);
    }
    for (size_t head = 0; head < KV_HEADS; head++) {
        float *key = rows + Q_ROWS + head * HEAD_DIM;
        float *value = rows + Q_ROWS + KV_ROWS + head * HEAD_DIM;
        normalize_head(key, k_norm);
        rotate_head(key, cos_row, sin_row, k_cache + slot + head * HEAD_DIM);
        normalize_head(value, NULL);
        for (size_t i = 0; i < HEAD_DIM; i++)
            v_cache[slot + head * HEAD_DIM + i] = float_to_bf16(value[i]);
    }
}
