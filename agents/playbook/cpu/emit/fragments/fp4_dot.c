/* out[r] = row r of w (packed codes) with row r of s (block scales) times x, for $count. */
static inline __attribute__((always_inline)) void
dot_$rows(const uint8_t *const w[$rows], const uint8_t *const s[$rows], const struct staged *restrict x, int columns,
      ${ahead}float *restrict out)
{
$clear$scale_prefetch    int c = 0;
$unroll    for (; c + STEP <= columns; c += STEP) {
#pragma GCC unroll 16
        for (int r = 0; r < $rows; r++) {
            const uint8_t *row = w[r] + c / 2;
$prefetch#pragma GCC unroll 4
            for (int unit = 0; unit < STEP / 2; unit += UNIT)
                $slot = multiply(row + unit, s[r] + (c + 2 * unit) / 16, x, c + 2 * unit, $slot);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < $rows; r++) {
$fold        float tail = 0.0f;
        for (int t = 0; t < columns % STEP; t++) {
            const unsigned code = w[r][(c + t) / 2] >> (t % 2 * 4);
            tail += 0.5f * (float)f4_doubled(code) * f8_to_f32(s[r][(c + t) / 16]) * x->tail[t];
        }
        out[r] = vec_sum($total) * UNSCALE + tail;
    }
}
