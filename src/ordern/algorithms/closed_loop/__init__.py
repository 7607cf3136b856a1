"""Robots with loops: what loops ask, and the motions that answer it."""
