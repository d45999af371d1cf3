"""The visa toolchain: Rust kernels for RNGD, compiled by ``cargo furiosa-opt``, read on an Arena account."""
