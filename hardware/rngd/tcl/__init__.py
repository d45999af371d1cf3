"""The tcl toolchain: designs in TCL, Furiosa's tensor language, compiled and estimated by ``furiosa-tcc``."""
