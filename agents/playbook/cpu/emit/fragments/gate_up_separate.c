    dot_range_$rows(gate, gate_scales, x, HIDDEN, first, last, g);
    dot_range_$rows(up, up_scales, x, HIDDEN, first, last, u);
