"""Links to other toolchains, each imported at its first use."""
