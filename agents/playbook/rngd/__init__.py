"""The playbook's space for RNGD's tcl toolchain: designs of the decode kernels as TCL programs."""
