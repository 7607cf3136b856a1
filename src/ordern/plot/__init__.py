"""Plots that one would put in a paper."""
