"""Benchmarks of ordern, side by side with Pinocchio: `python -m benchmarks [regex]`."""
