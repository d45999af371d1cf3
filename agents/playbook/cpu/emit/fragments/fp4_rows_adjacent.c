/* out[i] = row (first + i) of w times x, rows first to last - 1, $count. */
static inline __attribute__((always_inline)) void
dot_range_$rows(const uint8_t *restrict w, const uint8_t *restrict s, const struct staged *restrict x, int columns,
            int first, int last, float *restrict out)
{
    int row = first;
    for (; row + $rows <= last; row += $rows) {
        const uint8_t *rows[$rows], *scale_rows[$rows];
        for (int r = 0; r < $rows; r++) {
            rows[r] = w + (size_t)(row + r) * (columns / 2);
            scale_rows[r] = s + (size_t)(row + r) * (columns / 16);
        }
        dot_$rows(rows, scale_rows, x, columns, ${ahead}out + row - first);
    }
$single}
