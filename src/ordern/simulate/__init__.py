"""Simulation: integrators on the configuration manifold, events, results."""
