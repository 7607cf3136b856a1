"""Robots with closed loops: assembling them, their mobility, their motion and the forces that it takes."""
