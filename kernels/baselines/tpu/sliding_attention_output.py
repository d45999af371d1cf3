"""residual += RMSNorm((a . W_o^T) * s_o, w_post): a product in tiles of 128 by 128, then scales, norm and residual."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl

COLUMNS = HEADS * HEAD_DIM
TILE = 128


def rounded(x):
    return x.astype(jnp.bfloat16).astype(jnp.float32)


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


def norm(y, s_o, w_post, residual, out):
    """out = residual + RMSNorm(y * s_o) * w_post."""
    values = rounded(y[...] * s_o[...].astype(jnp.float32))
    scale = lax.rsqrt(jnp.mean(values * values) + 1e-6)
    normed = rounded(values * scale * w_post[...].astype(jnp.float32))
    out[...] = (residual[...].astype(jnp.float32) + normed).astype(jnp.bfloat16)


def sliding_attention_output(a, w_o, s_o, w_post, residual):
    y = matrix_times(a.reshape(1, COLUMNS), w_o)
    out = pl.pallas_call(norm, out_shape=jax.ShapeDtypeStruct((1, HIDDEN), jnp.bfloat16))(
        y, s_o.reshape(1, HIDDEN), w_post.reshape(1, HIDDEN), residual.reshape(1, HIDDEN)
    )
    return out.reshape(HIDDEN)
