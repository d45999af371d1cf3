    for (; row < last; row++) {
        const uint8_t *rows[1] = {w + (size_t)row * (columns / 2)}, *scale_rows[1] = {s + (size_t)row * (columns / 16)};
        dot_1(rows, scale_rows, x, columns, ${ahead}out + row - first);
    }
