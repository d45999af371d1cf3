#pragma omp for schedule($schedule) nowait
        for (int h = 0; h < ALL_HEADS; h++) {
            const struct head head = heads[h];
            float product[HEAD_DIM] __attribute__((aligned(64)));
            dot_range(head.w, staged, HIDDEN, head.first, head.first + HEAD_DIM, product);
            finish_head(product, head.scale + head.first, head.norm, cos_row, sin_row, head.out);
        }
    }
}
