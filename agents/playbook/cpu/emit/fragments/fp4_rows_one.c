/* out[i] = row (first + i) of w times x, rows first to last - 1, one at a time. */
static inline __attribute__((always_inline)) void
dot_range_1(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict x, int columns,
            int first, int last, float *restrict out)
{
    int row = first;
$single}
