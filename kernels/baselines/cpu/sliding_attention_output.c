/* Output projection of sliding-window attention with its post-norm and residual, in plain portable C.
 *
 * Weights are f8e4m3 with one bf16 scale per output row; sums are kept in f32.
 */
#include "kernel.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EPSILON 1e-6f
#define COLUMNS (HEADS * HEAD_DIM)

static float attention[COLUMNS];
static float projected[HIDDEN];

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

void sliding_attention_output(const uint16_t *restrict a, const uint8_t *restrict w_o,
                              const uint16_t *restrict s_o, const uint16_t *restrict w_post,
                              uint16_t *restrict residual)
{
    for (size_t i = 0; i < COLUMNS; i++)
        attention[i] = bf16_to_float(a[i]);

#pragma omp parallel for
    for (size_t row = 0; row < HIDDEN; row++)
        projected[row] = dot_row(w_o + row * COLUMNS, attention, COLUMNS) * bf16_to_float(s_o[row]);

    float squares = 0.0f;
    for (size_t i = 0; i < HIDDEN; i++)
        squares += projected[i] * projected[i];
    float factor = 1.0f / sqrtf(squares / HIDDEN + EPSILON);
    for (size_t i = 0; i < HIDDEN; i++) {
        float normalized = bf16_to_float(float_to_bf16(projected[i] * factor * bf16_to_float(w_post[i])));
        residual[i] = float_to_bf16(bf16_to_float(residual[i]) + normalized);
    }
}
