"""Operational space: dynamics at a frame."""
