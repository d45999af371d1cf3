/* out[r * apart] = row (r * apart) of w times x, for $count. */
static inline __attribute__((always_inline)) void
dot_$rows(const uint8_t *restrict w, const float *restrict x, int columns, int apart, float *restrict out)
{
$clear    int c = 0;
$unroll    for (; c + STEP <= columns; c += STEP) {
#pragma GCC unroll 16
        for (int r = 0; r < $rows; r++) {
            const uint8_t *row = w + (size_t)r * apart * columns + c;
$prefetch#pragma GCC unroll 4
            for (int unit = 0; unit < STEP; unit += UNIT) {
                vec weight[VECTORS];
                decode(row + unit, weight);
#pragma GCC unroll 16
                for (int k = 0; k < VECTORS; k++)
                    $slot = vec_fma(vec_load(x + c + unit + k * LANES), weight[k], $slot);
            }
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < $rows; r++) {
$fold        float tail = 0.0f;
        for (int t = c; t < columns; t++)
            tail += f8_to_f32(w[(size_t)r * apart * columns + t]) * x[t];
        out[r * apart] = vec_sum($total) * UNSCALE + tail;
    }
}
