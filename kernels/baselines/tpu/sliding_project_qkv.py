"""RMSNorm, three f8 products in tiles of 128 by 128, then scales, norms and rotation of each head."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

TILE = 64 if HIDDEN % 128 or HEADS * HEAD_DIM % 128 or KV_HEADS * HEAD_DIM % 128 else 128


def rounded(x):
    return x.astype(jnp.bfloat16).astype(jnp.float32)


def norm(x, w, out):
    values = x[...].astype(jnp.float32)
    out[...] = (values * lax.rsqrt(jnp.mean(values * values) + 1e-6) * w[...].astype(jnp.float32)).astype(jnp.bfloat16)


def product(x, w, y):
    """One tile of W: y[r] += sum_k w[r, k] x[k]."""

    @pl.when(pl.program_id(1) == 0)
    def _():
        y[...] = jnp.zeros_like(y)

    y[...] += lax.dot_general(
        x[...], w[...].astype(jnp.bfloat16), (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32
    )


def matrix_times(x, w):
    """[1, rows] of W times x [1, columns]."""
    rows, columns = w.shape
    return pl.pallas_call(
        product,
        grid=(rows // TILE, columns // TILE),
        in_specs=[pl.BlockSpec((1, TILE), lambda i, k: (0, k)), pl.BlockSpec((TILE, TILE), lambda i, k: (i, k))],
        out_specs=pl.BlockSpec((1, TILE), lambda i, k: (0, i)),
        out_shape=jax.ShapeDtypeStruct((1, rows), jnp.float32),
    )(x, w)


def head_norm(y):
    return y * lax.rsqrt(jnp.mean(y * y, axis=1, keepdims=True) + 1e-6)


def rotated(y, cos, sin):
    half = HEAD_DIM // 2
    return y * cos + jnp.concatenate([-y[:, half:], y[:, :half]], axis=1) * sin


def finish(
    position,
    q,
    s_q,
    k,
    s_k,
    v,
    s_v,
    q_norm,
    k_norm,
    cos,
    sin,
    k_cache,
    v_cache,
    k_out,
    v_out,
    q_out,
    k_row,
    v_row,
    done,
):
    """Scales, norms and rotation; the new rows of both caches go straight to their slots in HBM."""
    own = lax.broadcasted_iota(jnp.int32, cos.shape, 0) == lax.rem(position[0], cos.shape[0])
    c = jnp.sum(jnp.where(own, cos[...].astype(jnp.float32), 0.0), axis=0, keepdims=True)
    s = jnp.sum(jnp.where(own, sin[...].astype(jnp.float32), 0.0), axis=0, keepdims=True)

    def scaled(y, scales):
        return rounded(y[...] * scales[...].astype(jnp.float32))

    def weighted(y, w):
        return rounded(head_norm(y) * w[...].astype(jnp.float32))

    q_out[...] = rotated(weighted(scaled(q, s_q), q_norm), c, s).astype(jnp.bfloat16)
    k_row[...] = rotated(weighted(scaled(k, s_k), k_norm), c, s).astype(jnp.bfloat16)
    v_row[...] = head_norm(scaled(v, s_v)).astype(jnp.bfloat16)
    slot = lax.rem(position[0], WINDOW)
    for row, cache, number in ((k_row, k_out, 0), (v_row, v_out, 1)):
        copy = pltpu.make_async_copy(row, cache.at[slot], done.at[number])
        copy.start()
        copy.wait()


def sliding_project_qkv(x, w_in, w_q, s_q, w_k, s_k, w_v, s_v, q_norm, k_norm, cos, sin, position, k_cache, v_cache):
    normed = pl.pallas_call(norm, out_shape=jax.ShapeDtypeStruct((1, HIDDEN), jnp.bfloat16))(
        x.reshape(1, HIDDEN), w_in.reshape(1, HIDDEN)
    )

    def whole(*shape):
        return pl.BlockSpec(shape, lambda i, position: (0, 0))

    queries, keys, weight = (HEADS, HEAD_DIM), (KV_HEADS, HEAD_DIM), (1, HEAD_DIM)
    table = pl.BlockSpec((8, HEAD_DIM), lambda i, position: (lax.div(position[0], 8), 0))
    in_place = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        finish,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(1,),
            in_specs=[
                *(whole(*shape) for shape in (queries, queries, keys, keys, keys, keys, weight, weight)),
                table,
                table,
                in_place,
                in_place,
            ],
            out_specs=[in_place, in_place, whole(*queries)],
            scratch_shapes=[
                pltpu.VMEM(keys, jnp.bfloat16),
                pltpu.VMEM(keys, jnp.bfloat16),
                pltpu.SemaphoreType.DMA((2,)),
            ],
        ),
        out_shape=[
            jax.ShapeDtypeStruct(k_cache.shape, jnp.bfloat16),
            jax.ShapeDtypeStruct(v_cache.shape, jnp.bfloat16),
            jax.ShapeDtypeStruct(queries, jnp.bfloat16),
        ],
        input_output_aliases={11: 0, 12: 1},
    )(
        position.reshape(1),
        matrix_times(normed, w_q).reshape(queries),
        s_q.reshape(queries),
        matrix_times(normed, w_k).reshape(keys),
        s_k.reshape(keys),
        matrix_times(normed, w_v).reshape(keys),
        s_v.reshape(keys),
        q_norm.reshape(weight),
        k_norm.reshape(weight),
        cos,
        sin,
        k_cache,
        v_cache,
    )
