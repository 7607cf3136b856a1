"""Coriolis matrix: Coriolis and centrifugal forces are this matrix times the velocity."""
