/* out[i] = row (first + i) of w times x, rows first to last - 1; the range is read as $rows streams, each contiguous. */
static inline __attribute__((always_inline)) void
dot_range_$rows(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict x, int columns,
            int first, int last, float *restrict out)
{
    const int apart = (last - first) / $rows;
    int row = first;
    for (; row < first + apart; row++) {
        const uint8_t *rows[$rows], *scale_rows[$rows];
        float sums[$rows];
        for (int r = 0; r < $rows; r++) {
            rows[r] = w + (size_t)(row + r * apart) * (columns / 2);
            scale_rows[r] = s + (size_t)(row + r * apart) * (columns / 16);
        }
        dot_$rows(rows, scale_rows, x, columns, ${ahead}sums);
        for (int r = 0; r < $rows; r++)
            out[row - first + r * apart] = sums[r];
    }
    row = first + $rows * apart;
$single}
