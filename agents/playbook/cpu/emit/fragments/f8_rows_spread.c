/* out[i] = row (first + i) of w times x, rows first to last - 1; the range is read as $rows streams, each of them contiguous. */
static inline __attribute__((always_inline)) void
dot_range(const uint8_t *restrict w, const float *restrict x, int columns, int first, int last, float *restrict out)
{
    const int apart = (last - first) / $rows;
    int row = first;
    for (; row < first + apart; row++)
        dot_$rows(w + (size_t)row * columns, x, columns, apart, out + row - first);
    row = first + $rows * apart;
$single}
