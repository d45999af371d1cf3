$loop
        const uint8_t *rows[$rows], *scale_rows[$rows];
        float out[$rows];
        for (int r = 0; r < $half; r++) {
            rows[r] = gate + (size_t)(row + r * apart) * (HIDDEN / 2);
            rows[$half + r] = up + (size_t)(row + r * apart) * (HIDDEN / 2);
            scale_rows[r] = gate_scales + (size_t)(row + r * apart) * (HIDDEN / 16);
            scale_rows[$half + r] = up_scales + (size_t)(row + r * apart) * (HIDDEN / 16);
        }
        dot_$rows(rows, scale_rows, x, HIDDEN, ${ahead}out);
        for (int r = 0; r < $half; r++) {
            g[row - first + r * apart] = out[r];
            u[row - first + r * apart] = out[$half + r];
        }
    }
$rest    dot_range_1(gate, gate_scales, x, HIDDEN, row, last, g + row - first);
    dot_range_1(up, up_scales, x, HIDDEN, row, last, u + row - first);
