"""Robots with loops: constraint equations and dynamics."""
