"""Kernels on a GPU: `prepare` writes them on any machine, `measure` runs them on one with a GPU and NumPy alone."""
