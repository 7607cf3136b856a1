"""Dynamics as a frame feels it: operational space."""
