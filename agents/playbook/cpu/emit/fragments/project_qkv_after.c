#pragma omp for schedule($schedule)
        for (int part = 0; part < ALL_HEADS * PARTS; part++) {
            const struct head head = heads[part / PARTS];
            const int from = part % PARTS * GRAIN, to = from + GRAIN < HEAD_DIM ? from + GRAIN : HEAD_DIM;
            dot_range(head.w, staged, HIDDEN, head.first + from, head.first + to, product[part / PARTS] + from);
        }
#pragma omp for schedule(static) nowait
        for (int h = 0; h < ALL_HEADS; h++) {
            const struct head head = heads[h];
            finish_head(product[h], head.scale + head.first, head.norm, cos_row, sin_row, head.out);
        }
    }
}
