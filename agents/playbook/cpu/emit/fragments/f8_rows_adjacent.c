/* out[i] = row (first + i) of w times x, rows first to last - 1; rows in flight together are adjacent. */
static inline __attribute__((always_inline)) void
dot_range(const uint8_t *restrict w, const float *restrict x, int columns, int first, int last, float *restrict out)
{
    int row = first;
    for (; row + $rows <= last; row += $rows)
        dot_$rows(w + (size_t)row * columns, x, columns, 1, out + row - first);
$single}
