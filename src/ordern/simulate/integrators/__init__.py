"""Integrators: one step each, in Python or in machine code."""
