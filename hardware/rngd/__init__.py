"""FuriosaAI's RNGD: two toolchains (tcl and visa) for one chip."""
