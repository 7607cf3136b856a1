"""Closed loops, joint limits and stops during a simulation."""
