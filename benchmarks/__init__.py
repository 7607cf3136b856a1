"""How fast ordern is, side by side with Pinocchio: `python -m benchmarks [regex]`."""
