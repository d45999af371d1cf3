"""The gated feed-forward block, one matrix after the other: NVFP4 codes become float32 numbers, which meet x as such."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl

ROWS = 32
COLUMNS = 1024  # bytes of a row at a time: as many as 128 scales are for


def rounded(x):
    return x.astype(jnp.bfloat16).astype(jnp.float32)


def value(code):
    """The number that a 4-bit code stands for: sign, two bits of exponent, one of mantissa."""
    exponent, mantissa = (code >> 1) & 3, (code & 1).astype(jnp.float32)
    power = jnp.where(exponent == 3, 4.0, jnp.where(exponent == 2, 2.0, 1.0))
    magnitude = jnp.where(exponent == 0, 0.5 * mantissa, power * (1.0 + 0.5 * mantissa))
    return jnp.where(code >= 8, -magnitude, magnitude)


def project(even, odd, packed, scales, factor, y):
    """One block of rows: y[r] = factor * sum over blocks of 16 of scale * sum of value * x."""
    total = jnp.zeros(y.shape, jnp.float32)
    for start in range(0, packed.shape[1], COLUMNS):
        part = slice(start, min(start + COLUMNS, packed.shape[1]))
        codes = packed[:, part].astype(jnp.int32)
        product = value(codes & 15) * even[:, part] + value(codes >> 4) * odd[:, part]
        # Each scale is for 8 bytes in a row: a product with zeros and ones repeats it so often.
        scale = scales[:, part.start // 8 : part.stop // 8].astype(jnp.float32)
        shape = (scale.shape[1], codes.shape[1])
        block = lax.broadcasted_iota(jnp.int32, shape, 1) // 8
        repeat = (lax.broadcasted_iota(jnp.int32, shape, 0) == block).astype(jnp.float32)
        repeated = jnp.dot(scale, repeat, preferred_element_type=jnp.float32)
        total += jnp.sum(product * repeated, axis=1, keepdims=True)
    y[...] = rounded(total * factor[...])


def matrix_times(x, packed, scales, factor):
    """[rows] of an NVFP4 matrix times x."""
    rows, columns = packed.shape
    pairs = x.reshape(columns, 2)
    block = min(ROWS, rows)
    y = pl.pallas_call(
        project,
        grid=(rows // block,),
        in_specs=[
            pl.BlockSpec((1, columns), lambda i: (0, 0)),
            pl.BlockSpec((1, columns), lambda i: (0, 0)),
            pl.BlockSpec((block, columns), lambda i: (i, 0)),
            pl.BlockSpec((block, columns // 8), lambda i: (i, 0)),
            pl.BlockSpec((1, 1), lambda i: (0, 0)),
        ],
        out_specs=pl.BlockSpec((block, 1), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((rows, 1), jnp.float32),
    )(pairs[:, 0].reshape(1, columns), pairs[:, 1].reshape(1, columns), packed, scales, factor.reshape(1, 1))
    return y.reshape(1, rows)


def norm(x, w, out):
    values = x[...].astype(jnp.float32)
    out[...] = rounded(values * lax.rsqrt(jnp.mean(values * values) + 1e-6) * w[...].astype(jnp.float32))


def gated(gate, up, out):
    g = gate[...]
    gelu = 0.5 * g * (1.0 + jnp.tanh(0.7978845608028654 * (g + 0.044715 * g * g * g)))
    out[...] = rounded(rounded(gelu) * up[...])


def finish(y, w_post, residual, scalar, out):
    values = y[...]
    normed = rounded(values * lax.rsqrt(jnp.mean(values * values) + 1e-6) * w_post[...].astype(jnp.float32))
    total = rounded(residual[...].astype(jnp.float32) + normed)
    out[...] = (total * scalar[...].astype(jnp.float32)).astype(jnp.bfloat16)


def decoder_feedforward(
    residual,
    w_pre,
    w_post,
    gate,
    gate_scales,
    gate_global,
    up,
    up_scales,
    up_global,
    down,
    down_scales,
    down_global,
    layer_scalar,
):
    x = residual.reshape(1, HIDDEN)
    normed = pl.pallas_call(norm, out_shape=jax.ShapeDtypeStruct((1, HIDDEN), jnp.float32))(x, w_pre.reshape(1, HIDDEN))
    gates = matrix_times(normed, gate, gate_scales, gate_global)
    ups = matrix_times(normed, up, up_scales, up_global)
    inner = pl.pallas_call(gated, out_shape=jax.ShapeDtypeStruct((1, INTERMEDIATE), jnp.float32))(gates, ups)
    y = matrix_times(inner, down, down_scales, down_global)
    out = pl.pallas_call(finish, out_shape=jax.ShapeDtypeStruct((1, HIDDEN), jnp.bfloat16))(
        y, w_post.reshape(1, HIDDEN), x, layer_scalar.reshape(1, 1)
    )
    return out.reshape(HIDDEN)
