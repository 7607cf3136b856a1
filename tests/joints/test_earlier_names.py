"""Names that were renamed: a class or a call with the earlier name does the same."""

from __future__ import annotations

from typing import Any

import numpy as np

import ordern as on
from ordern.algorithms import registry
from ordern.spatial import Inertia

TILTED = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


class Tilted(on.Revolute):
    """A hinge with a working frame of its own, by the earlier names."""

    def turn(self) -> Any:
        return TILTED @ super().turn()

    def unfelt(self, inertia: Inertia) -> Inertia:
        return super().unfelt(inertia)


def test_a_class_with_the_earlier_names() -> None:
    joint = Tilted((0.0, 0.0, 1.0))
    expected = TILTED @ on.Revolute((0.0, 0.0, 1.0)).working_frame()
    assert (joint.working_frame() == expected).all() and (joint.turn() == expected).all()
    inertia = Inertia(1.0, (0.1, 0.2, 0.3), (1.0, 0.0, 0.0, 1.5, 0.0, 2.0))
    assert joint.shiftable_inertia(inertia) == on.Revolute().shiftable_inertia(inertia)


def test_a_library_joint_by_the_earlier_names() -> None:
    joint = on.Composite((on.Revolute((0.0, 0.0, 1.0)), on.Revolute((0.0, 1.0, 0.0))))
    assert (joint.turn() == joint.working_frame()).all()
    assert joint.stages() == joint.serial_parts()
    assert joint.unlocated == joint.why_not_locatable
    eye, here = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), (0.0, 0.0, 0.0)
    assert joint.slack(eye, here) == joint.reach_margin(eye, here)


def test_classes_with_two_names() -> None:
    assert on.JointType is on.Joint
    assert on.Connection is on.ModelJoint
    assert isinstance(on.load("puma560").joints[0], on.Connection)


def test_the_earlier_name_of_regroup() -> None:
    known = dict(registry._ALGORITHMS)
    try:
        for key in ("regroup", "joints_only"):
            option: dict[str, Any] = {key: True}
            on.algorithm("kinetic_energy", f"by {key}", **option)(lambda tree, q, qd: 0.0)
            assert on.methods("kinetic_energy") and registry.find("kinetic_energy", f"by {key}")[1].regroup
    finally:
        registry._ALGORITHMS.clear()
        registry._ALGORITHMS.update(known)
