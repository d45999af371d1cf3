# Projection by the vector engine, scales, norm and residual: each step in a pass of its own.
def sliding_attention_output(
    ONE: Axis = 1,
    HIDDEN: Axis = ${HIDDEN},
    COLUMNS: Axis = ${HEADS*HEAD_DIM},
    a: [COLUMNS]/bf16,
    w_o: [HIDDEN, COLUMNS]/f8_e4,
    s_o: [HIDDEN]/bf16,
    w_post: [HIDDEN]/bf16,
    residual: [HIDDEN]/bf16
) -> [HIDDEN]/bf16:
    rows_bare: [HIDDEN]/f32 = tk.EinsumByVe(
        %0 = read(a, typecast_to=f32)
        %1 = read(w_o, typecast_to=f32)
        %2 = ve.exec(%0 * %1)
        %3 = ve.exec(+ t[COLUMNS] %2)
        write.to([HIDDEN]/f32)
    )
    rows: [HIDDEN]/f32 = tk.Interleaving(
        %0 = read(rows_bare)
        %1 = read(s_o, typecast_to=f32)
        %2 = ve.exec(%0 * %1)
        write.to([HIDDEN]/f32)
    )
    normed_rows_rms: []/f32 = tk.ReduceByVe(
        %0 = read(rows)
        %1 = ve.exec(%0 * %0)
        %2 = ve.exec(+ t[HIDDEN] %1)
        %3 = ve.exec(%2 * f${1/HIDDEN})
        %4 = ve.exec(%3 + f0.000001000000)
        %5 = ve.exec(sqrt %4)
        write.to([]/f32)
    )
    normed_rows: [HIDDEN]/f32 = tk.Elementwise(
        %0 = read(rows)
        %1 = read(normed_rows_rms)
        %2 = read(w_post, typecast_to=f32)
        %3 = ve.exec(%0 / %1)
        %4 = ve.exec(%3 * %2)
        write.to([HIDDEN]/f32)
    )
    result: [HIDDEN]/bf16 = tk.Interleaving(
        %0 = read(normed_rows)
        %1 = read(residual, typecast_to=f32)
        %2 = ve.exec(%0 + %1)
        write.to([HIDDEN]/bf16)
    )
    return result
