# Gate, up and down by the vector engine from NVFP4, each step around them in a pass of its own.
def decoder_feedforward(
    HIDDEN: Axis = ${HIDDEN},
    INTERMEDIATE: Axis = ${INTERMEDIATE},
    GROUP: Axis = ${GROUP},
    OUTER_BYTES: Axis = ${HIDDEN/2},
    OUTER_BLOCKS: Axis = ${HIDDEN/GROUP},
    INNER_BYTES: Axis = ${INTERMEDIATE/2},
    INNER_BLOCKS: Axis = ${INTERMEDIATE/GROUP},
    residual: [HIDDEN]/bf16,
    w_pre: [HIDDEN]/bf16,
    w_post: [HIDDEN]/bf16,
    gate: [INTERMEDIATE, OUTER_BYTES]/u8,
    gate_scales: [INTERMEDIATE, OUTER_BLOCKS]/f8_e4,
    gate_global: []/f32,
    up: [INTERMEDIATE, OUTER_BYTES]/u8,
    up_scales: [INTERMEDIATE, OUTER_BLOCKS]/f8_e4,
    up_global: []/f32,
    down: [HIDDEN, INNER_BYTES]/u8,
    down_scales: [HIDDEN, INNER_BLOCKS]/f8_e4,
    down_global: []/f32,
    layer_scalar: []/bf16
) -> [HIDDEN]/bf16:
    normed_rms: []/f32 = tk.ReduceByVe(
        %0 = read(residual, typecast_to=f32)
        %1 = ve.exec(%0 * %0)
        %2 = ve.exec(+ t[HIDDEN] %1)
        %3 = ve.exec(%2 * f${1/HIDDEN})
        %4 = ve.exec(%3 + f0.000001000000)
        %5 = ve.exec(sqrt %4)
        write.to([]/f32)
    )
    normed: [HIDDEN]/bf16 = tk.Elementwise(
        %0 = read(residual, typecast_to=f32)
        %1 = read(normed_rms)
        %2 = read(w_pre, typecast_to=f32)
        %3 = ve.exec(%0 / %1)
        %4 = ve.exec(%3 * %2)
        write.to([HIDDEN]/bf16)
    )
    gate_rows_values: [INTERMEDIATE, HIDDEN]/f4_e2 = transmute(gate)
    gate_rows_groups: [INTERMEDIATE, OUTER_BLOCKS, GROUP]/f4_e2 = reshape(gate_rows_values)
    normed_groups: [OUTER_BLOCKS, GROUP]/bf16 = reshape(normed)
    gate_rows: [INTERMEDIATE]/f32 = tk.ReduceByVe(
        %0 = read(gate_rows_groups, typecast_to=f32)
        %1 = read(normed_groups, typecast_to=f32)
        %2 = read(gate_scales, typecast_to=f32)
        %3 = read(gate_global)
        %4 = ve.exec(%0 * %1)
        %5 = ve.exec(%4 * %2)
        %6 = ve.exec(+ t[OUTER_BLOCKS GROUP] %5)
        %7 = ve.exec(%6 * %3)
        write.to([INTERMEDIATE]/f32)
    )
    up_rows_values: [INTERMEDIATE, HIDDEN]/f4_e2 = transmute(up)
    up_rows_groups: [INTERMEDIATE, OUTER_BLOCKS, GROUP]/f4_e2 = reshape(up_rows_values)
    normed_groups2: [OUTER_BLOCKS, GROUP]/bf16 = reshape(normed)
    up_rows: [INTERMEDIATE]/f32 = tk.ReduceByVe(
        %0 = read(up_rows_groups, typecast_to=f32)
        %1 = read(normed_groups2, typecast_to=f32)
        %2 = read(up_scales, typecast_to=f32)
        %3 = read(up_global)
        %4 = ve.exec(%0 * %1)
        %5 = ve.exec(%4 * %2)
        %6 = ve.exec(+ t[OUTER_BLOCKS GROUP] %5)
        %7 = ve.exec(%6 * %3)
        write.to([INTERMEDIATE]/f32)
    )
    gated: [INTERMEDIATE]/bf16 = tk.Elementwise(
        %0 = read(gate_rows)
        %1 = read(up_rows)
        %2 = ve.exec(%0 * %0)
        %3 = ve.exec(%2 * f0.044715)
        %4 = ve.exec(%3 + f1.0)
        %5 = ve.exec(%4 * %0)
        %6 = ve.exec(%5 * f0.7978845608028654)
        %7 = ve.exec(tanh %6)
        %8 = ve.exec(%7 + f1.0)
        %9 = ve.exec(%8 * %0)
        %10 = ve.exec(%9 * f0.5)
        %11 = ve.exec(%10 * %1)
        write.to([INTERMEDIATE]/bf16)
    )
    down_rows_values: [HIDDEN, INTERMEDIATE]/f4_e2 = transmute(down)
    down_rows_groups: [HIDDEN, INNER_BLOCKS, GROUP]/f4_e2 = reshape(down_rows_values)
    gated_groups: [INNER_BLOCKS, GROUP]/bf16 = reshape(gated)
    down_rows: [HIDDEN]/f32 = tk.ReduceByVe(
        %0 = read(down_rows_groups, typecast_to=f32)
        %1 = read(gated_groups, typecast_to=f32)
        %2 = read(down_scales, typecast_to=f32)
        %3 = read(down_global)
        %4 = ve.exec(%0 * %1)
        %5 = ve.exec(%4 * %2)
        %6 = ve.exec(+ t[INNER_BLOCKS GROUP] %5)
        %7 = ve.exec(%6 * %3)
        write.to([HIDDEN]/f32)
    )
    added_rms: []/f32 = tk.ReduceByVe(
        %0 = read(down_rows)
        %1 = ve.exec(%0 * %0)
        %2 = ve.exec(+ t[HIDDEN] %1)
        %3 = ve.exec(%2 * f${1/HIDDEN})
        %4 = ve.exec(%3 + f0.000001000000)
        %5 = ve.exec(sqrt %4)
        write.to([]/f32)
    )
    added: [HIDDEN]/f32 = tk.Elementwise(
        %0 = read(down_rows)
        %1 = read(added_rms)
        %2 = read(w_post, typecast_to=f32)
        %3 = read(residual, typecast_to=f32)
        %4 = ve.exec(%0 / %1)
        %5 = ve.exec(%4 * %2)
        %6 = ve.exec(%5 + %3)
        write.to([HIDDEN]/f32)
    )
    result: [HIDDEN]/bf16 = tk.Elementwise(
        %0 = read(added)
        %1 = read(layer_scalar, typecast_to=f32)
        %2 = ve.exec(%0 * %1)
        write.to([HIDDEN]/bf16)
    )
    return result
