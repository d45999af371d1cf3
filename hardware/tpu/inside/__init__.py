"""Programs that run inside a toolchain's environment, with its Python and its jax: nothing here imports the rest of the
package, and every module works under old versions of jax as under new ones."""
