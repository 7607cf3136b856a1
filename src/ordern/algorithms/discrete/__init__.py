"""Mechanics in steps of time: momenta of a motion from one position to the next, and the step that momenta make."""
