"""The table of checks, in the order of the report. A new check is one function and one line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import bodies, joints, whole
from .report import Finding
from .subject import Subject

__all__ = ["CHECKS"]

CHECKS: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    bodies.inertia_negative,
    bodies.inertia_triangle,
    bodies.inertia_all_equal,
    bodies.inertia_singular,
    bodies.inertia_too_large,
    bodies.inertia_too_small,
    bodies.inertia_default,
    bodies.inertia_without_mass,
    bodies.com_far,
    bodies.mass_zero,
    bodies.mass_huge,
    joints.limit_negative,
    joints.limit_equal,
    joints.limit_range,
    joints.limit_neutral,
    joints.velocity_limit_zero,
    joints.effort_limit_zero,
    joints.mimic_zero,
    joints.mimic_limits,
    whole.mass_matrix_regular,
    whole.loop_open,
    whole.coupling_open,
    whole.coupling_constant,
    whole.floating_world,
    whole.gravity_unusual,
    whole.size_huge,
    whole.names_alike,
    whole.no_freedom,
    whole.notes,
)
