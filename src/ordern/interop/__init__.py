"""Other people's toolchains, imported only when asked for."""
