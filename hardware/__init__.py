"""Targets: toolchains, sandboxes, leases and paired measurement."""
