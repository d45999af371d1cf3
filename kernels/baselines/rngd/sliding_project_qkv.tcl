# Norm, projections, norms of the heads, rotary embedding, caches: each step in a pass of its own, products by the
# vector engine.
def sliding_project_qkv(
    ONE: Axis = 1,
    HIDDEN: Axis = ${HIDDEN},
    Q_ROWS: Axis = ${HEADS*HEAD_DIM},
    KV_ROWS: Axis = ${KV_HEADS*HEAD_DIM},
    HEADS: Axis = ${HEADS},
    KV_HEADS: Axis = ${KV_HEADS},
    HEAD_DIM: Axis = ${HEAD_DIM},
    WINDOW: Axis = ${WINDOW},
    POSITIONS: Axis = ${POSITIONS},
    HALF: Axis = ${HEAD_DIM/2},
    x: [HIDDEN]/bf16,
    w_in: [HIDDEN]/bf16,
    w_q: [Q_ROWS, HIDDEN]/f8_e4,
    s_q: [Q_ROWS]/bf16,
    w_k: [KV_ROWS, HIDDEN]/f8_e4,
    s_k: [KV_ROWS]/bf16,
    w_v: [KV_ROWS, HIDDEN]/f8_e4,
    s_v: [KV_ROWS]/bf16,
    q_norm: [HEAD_DIM]/bf16,
    k_norm: [HEAD_DIM]/bf16,
    cos: [POSITIONS, HEAD_DIM]/bf16,
    sin: [POSITIONS, HEAD_DIM]/bf16,
    position: []/i32,
    k_cache: [WINDOW, KV_HEADS, HEAD_DIM]/bf16,
    v_cache: [WINDOW, KV_HEADS, HEAD_DIM]/bf16
) -> [HEADS, HEAD_DIM]/bf16:
    normed_rms: []/f32 = tk.ReduceByVe(
        %0 = read(x, typecast_to=f32)
        %1 = ve.exec(%0 * %0)
        %2 = ve.exec(+ t[HIDDEN] %1)
        %3 = ve.exec(%2 * f${1/HIDDEN})
        %4 = ve.exec(%3 + f0.000001000000)
        %5 = ve.exec(sqrt %4)
        write.to([]/f32)
    )
    normed: [HIDDEN]/bf16 = tk.Elementwise(
        %0 = read(x, typecast_to=f32)
        %1 = read(normed_rms)
        %2 = read(w_in, typecast_to=f32)
        %3 = ve.exec(%0 / %1)
        %4 = ve.exec(%3 * %2)
        write.to([HIDDEN]/bf16)
    )
    place: [ONE]/i32 = reshape(position)
    cos_at: [ONE, HEAD_DIM]/bf16 = gather(cos, place, POSITIONS)
    sin_at: [ONE, HEAD_DIM]/bf16 = gather(sin, place, POSITIONS)
    cos_at_row: [HEAD_DIM]/bf16 = reshape(cos_at)
    sin_at_row: [HEAD_DIM]/bf16 = reshape(sin_at)
    q_flat_bare: [Q_ROWS]/f32 = tk.EinsumByVe(
        %0 = read(normed, typecast_to=f32)
        %1 = read(w_q, typecast_to=f32)
        %2 = ve.exec(%0 * %1)
        %3 = ve.exec(+ t[HIDDEN] %2)
        write.to([Q_ROWS]/f32)
    )
    q_flat: [Q_ROWS]/f32 = tk.Interleaving(
        %0 = read(q_flat_bare)
        %1 = read(s_q, typecast_to=f32)
        %2 = ve.exec(%0 * %1)
        write.to([Q_ROWS]/f32)
    )
    q_heads: [HEADS, HEAD_DIM]/f32 = reshape(q_flat)
    k_flat_bare: [KV_ROWS]/f32 = tk.EinsumByVe(
        %0 = read(normed, typecast_to=f32)
        %1 = read(w_k, typecast_to=f32)
        %2 = ve.exec(%0 * %1)
        %3 = ve.exec(+ t[HIDDEN] %2)
        write.to([KV_ROWS]/f32)
    )
    k_flat: [KV_ROWS]/f32 = tk.Interleaving(
        %0 = read(k_flat_bare)
        %1 = read(s_k, typecast_to=f32)
        %2 = ve.exec(%0 * %1)
        write.to([KV_ROWS]/f32)
    )
    k_heads: [KV_HEADS, HEAD_DIM]/f32 = reshape(k_flat)
    v_flat_bare: [KV_ROWS]/f32 = tk.EinsumByVe(
        %0 = read(normed, typecast_to=f32)
        %1 = read(w_v, typecast_to=f32)
        %2 = ve.exec(%0 * %1)
        %3 = ve.exec(+ t[HIDDEN] %2)
        write.to([KV_ROWS]/f32)
    )
    v_flat: [KV_ROWS]/f32 = tk.Interleaving(
        %0 = read(v_flat_bare)
        %1 = read(s_v, typecast_to=f32)
        %2 = ve.exec(%0 * %1)
        write.to([KV_ROWS]/f32)
    )
    v_heads: [KV_HEADS, HEAD_DIM]/f32 = reshape(v_flat)
    q_normed_rms: [HEADS]/f32 = tk.ReduceByVe(
        %0 = read(q_heads)
        %1 = ve.exec(%0 * %0)
        %2 = ve.exec(+ t[HEAD_DIM] %1)
        %3 = ve.exec(%2 * f${1/HEAD_DIM})
        %4 = ve.exec(%3 + f0.000001000000)
        %5 = ve.exec(sqrt %4)
        write.to([HEADS]/f32)
    )
    q_normed: [HEADS, HEAD_DIM]/f32 = tk.Elementwise(
        %0 = read(q_heads)
        %1 = read(q_normed_rms)
        %2 = read(q_norm, typecast_to=f32)
        %3 = ve.exec(%0 / %1)
        %4 = ve.exec(%3 * %2)
        write.to([HEADS, HEAD_DIM]/f32)
    )
    q_low: [HEADS, HALF]/f32 = slice(q_normed, HEAD_DIM, 0)
    q_high: [HEADS, HALF]/f32 = slice(q_normed, HEAD_DIM, ${HEAD_DIM/2})
    q_negated: [HEADS, HALF]/f32 = tk.Elementwise(
        %0 = read(q_high)
        %1 = ve.exec(%0 * f-1.0)
        write.to([HEADS, HALF]/f32)
    )
    q_turned: [HEADS, HEAD_DIM]/f32 = concat([q_negated, q_low])
    q_sine: [HEADS, HEAD_DIM]/f32 = tk.Elementwise(
        %0 = read(q_turned)
        %1 = read(sin_at_row, typecast_to=f32)
        %2 = ve.exec(%0 * %1)
        write.to([HEADS, HEAD_DIM]/f32)
    )
    q_rotated: [HEADS, HEAD_DIM]/bf16 = tk.Elementwise(
        %0 = read(q_normed)
        %1 = read(cos_at_row, typecast_to=f32)
        %2 = read(q_sine)
        %3 = ve.exec(%0 * %1)
        %4 = ve.exec(%3 + %2)
        write.to([HEADS, HEAD_DIM]/bf16)
    )
    k_normed_rms: [KV_HEADS]/f32 = tk.ReduceByVe(
        %0 = read(k_heads)
        %1 = ve.exec(%0 * %0)
        %2 = ve.exec(+ t[HEAD_DIM] %1)
        %3 = ve.exec(%2 * f${1/HEAD_DIM})
        %4 = ve.exec(%3 + f0.000001000000)
        %5 = ve.exec(sqrt %4)
        write.to([KV_HEADS]/f32)
    )
    k_normed: [KV_HEADS, HEAD_DIM]/f32 = tk.Elementwise(
        %0 = read(k_heads)
        %1 = read(k_normed_rms)
        %2 = read(k_norm, typecast_to=f32)
        %3 = ve.exec(%0 / %1)
        %4 = ve.exec(%3 * %2)
        write.to([KV_HEADS, HEAD_DIM]/f32)
    )
    k_low: [KV_HEADS, HALF]/f32 = slice(k_normed, HEAD_DIM, 0)
    k_high: [KV_HEADS, HALF]/f32 = slice(k_normed, HEAD_DIM, ${HEAD_DIM/2})
    k_negated: [KV_HEADS, HALF]/f32 = tk.Elementwise(
        %0 = read(k_high)
        %1 = ve.exec(%0 * f-1.0)
        write.to([KV_HEADS, HALF]/f32)
    )
    k_turned: [KV_HEADS, HEAD_DIM]/f32 = concat([k_negated, k_low])
    k_sine: [KV_HEADS, HEAD_DIM]/f32 = tk.Elementwise(
        %0 = read(k_turned)
        %1 = read(sin_at_row, typecast_to=f32)
        %2 = ve.exec(%0 * %1)
        write.to([KV_HEADS, HEAD_DIM]/f32)
    )
    k_rotated: [KV_HEADS, HEAD_DIM]/bf16 = tk.Elementwise(
        %0 = read(k_normed)
        %1 = read(cos_at_row, typecast_to=f32)
        %2 = read(k_sine)
        %3 = ve.exec(%0 * %1)
        %4 = ve.exec(%3 + %2)
        write.to([KV_HEADS, HEAD_DIM]/bf16)
    )
    v_normed_rms: [KV_HEADS]/f32 = tk.ReduceByVe(
        %0 = read(v_heads)
        %1 = ve.exec(%0 * %0)
        %2 = ve.exec(+ t[HEAD_DIM] %1)
        %3 = ve.exec(%2 * f${1/HEAD_DIM})
        %4 = ve.exec(%3 + f0.000001000000)
        %5 = ve.exec(sqrt %4)
        write.to([KV_HEADS]/f32)
    )
    v_normed: [KV_HEADS, HEAD_DIM]/bf16 = tk.Elementwise(
        %0 = read(v_heads)
        %1 = read(v_normed_rms)
        %2 = ve.exec(%0 / %1)
        write.to([KV_HEADS, HEAD_DIM]/bf16)
    )
    slot: []/i32 = tk.Elementwise(
        %0 = read(position)
        %1 = ve.exec(%0 &_i i${WINDOW-1})
        write.to([]/i32)
    )
    index: [ONE]/i32 = reshape(slot)
    k_row: [ONE, KV_HEADS, HEAD_DIM]/bf16 = reshape(k_rotated)
    k_new: [WINDOW, KV_HEADS, HEAD_DIM]/bf16 = scatter(k_row, index, WINDOW, init=k_cache)
    k_kept: [WINDOW, KV_HEADS, HEAD_DIM]/bf16 = copy(src=k_new, dst=k_cache)
    v_row: [ONE, KV_HEADS, HEAD_DIM]/bf16 = reshape(v_normed)
    v_new: [WINDOW, KV_HEADS, HEAD_DIM]/bf16 = scatter(v_row, index, WINDOW, init=v_cache)
    v_kept: [WINDOW, KV_HEADS, HEAD_DIM]/bf16 = copy(src=v_new, dst=v_cache)
    return q_rotated
