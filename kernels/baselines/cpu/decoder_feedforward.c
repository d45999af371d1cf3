/* The gated feed-forward block of a decoder layer with both its norms, in plain portable C.
 *
 * Matrices are NVFP4: two e2m1 values per byte, the low nibble first, one f8e4m3 scale for each GROUP values along a
 * row, one f32 scale per matrix. Sums are kept in f32.
 */
#include "kernel.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EPSILON 1e-6f

static float normed[HIDDEN];
static float inner[INTERMEDIATE];
static float projected[HIDDEN];

static const float F4_VALUES[16] = {
    0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f, -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f,
};

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

/* One row of an NVFP4 matrix with `count` columns times a vector, without the scale of the matrix. */
static float dot_row(const uint8_t *restrict values, const uint8_t *restrict scales, const float *restrict vector,
                     size_t count)
{
    float sum = 0.0f;
    for (size_t group = 0; group < count / GROUP; group++) {
        float part = 0.0f;
        for (size_t i = 0; i < GROUP; i += 2) {
            uint8_t pair = values[(group * GROUP + i) / 2];
            part += F4_VALUES[pair & 15u] * vector[group * GROUP + i];
            part += F4_VALUES[pair >> 4] * vector[group * GROUP + i + 1];
        }
        sum += part * f8_to_float(scales[group]);
    }
    return sum;
}

static inline float gelu_tanh(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x)));
}

void decoder_feedforward(uint16_t *restrict residual, const uint16_t *restrict w_pre, const uint16_t *restrict w_post,
                         const uint8_t *restrict gate, const uint8_t *restrict gate_scales,
                         const float *restrict gate_global,
                         const uint8_t *restrict up, const uint8_t *restrict up_scales,
                         const float *restrict up_global,
                         const uint8_t *restrict down, const uint8_t *restrict down_scales,
                         const float *restrict down_global, const uint16_t *restrict layer_scalar)
{
    float squares = 0.0f;
    for (size_t i = 0; i < HIDDEN; i++) {
        normed[i] = bf16_to_float(residual[i]);
        squares += normed[i] * normed[i];
    }
    float factor = 1.0f / sqrtf(squares / HIDDEN + EPSILON);
    for (size_t i = 0; i < HIDDEN; i++)
        normed[i] = bf16_to_float(float_to_bf16(normed[i] * factor * bf16_to_float(w_pre[i])));

#pragma omp parallel for
    for (size_t row = 0; row < INTERMEDIATE; row++) {
        float gated = dot_row(gate + row * (HIDDEN / 2), gate_scales + row * (HIDDEN / GROUP), normed, HIDDEN);
        float raised = dot_row(up + row * (HIDDEN / 2), up_scales + row * (HIDDEN / GROUP), normed, HIDDEN);
        inner[row] = gelu_tanh(gated * *gate_global) * (raised * *up_global);
    }
#pragma omp parallel for
    for (size_t row = 0; row < HIDDEN; row++)
        projected[row] = *down_global * dot_row(down + row * (INTERMEDIATE / 2),
                                                down_scales + row * (INTERMEDIATE / GROUP), inner, INTERMEDIATE);

    squares = 0.0f;
    for (size_t i = 0; i < HIDDEN; i++)
        squares += projected[i] * projected[i];
    factor = 1.0f / sqrtf(squares / HIDDEN + EPSILON);
    for (size_t i = 0; i < HIDDEN; i++) {
        float normalized = bf16_to_float(float_to_bf16(projected[i] * factor * bf16_to_float(w_post[i])));
        residual[i] = float_to_bf16((bf16_to_float(residual[i]) + normalized) * bf16_to_float(*layer_scalar));
    }
}
