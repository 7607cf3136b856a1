"""One run: problem, chunks of steps, events, energy balance, checkpoints."""
