"""Time loops in machine code: integrators around the bodies of compiled kernels."""
