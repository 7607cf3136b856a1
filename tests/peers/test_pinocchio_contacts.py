"""Agreement with Pinocchio in Hessians, supported wrenches, Delassus matrices and impacts."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from tests.peers_util import CASES, Pair
from tests.robots import ROBOTS
from tests.tolerances import PEER, assert_close

pytestmark = pytest.mark.slow

AXES = {"frame": pin.LOCAL, "world": pin.LOCAL_WORLD_ALIGNED, "origin": pin.WORLD}
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]
FEET = {"FL_FOOT": "FL_ANKLE", "HR_FOOT": "HR_ANKLE"}
"""Links behind fixed joints, and the names of these."""


@cache
def quadruped() -> tuple[Pair, Any]:
    """A floating robot in both libraries, and three states."""
    pair = Pair(next(case for case in CASES if case.name == "solo12"))
    return pair, pair.states(3)


@pytest.mark.parametrize("axes", AXES)
def test_kinematic_hessian(axes: str) -> None:
    pair, s = quadruped()
    m, d, name = pair.model, pair.data, pair.robot.bodies[-1].name
    joint = m.frames[m.getFrameId(name, pin.FrameType.BODY)].parentJoint

    def hessian(q: np.ndarray, *_: Any) -> np.ndarray:
        pin.computeJointKinematicHessians(m, d, q)
        given = pin.getJointKinematicHessian(m, d, joint, AXES[axes])
        # the numbers are in the order of Fortran, the array says in the order of C
        return given.ravel().reshape(given.shape[::-1]).transpose(2, 1, 0)[ANGULAR_FIRST]

    theirs = np.einsum("nrjk,ja,kb->nrab", pair.each(s, hessian), pair.E, pair.E)
    assert_close(pair.robot.kinematic_hessian(s.q, name, axes), theirs, PEER)


@pytest.mark.parametrize("foot", FEET)
def test_supported_wrench(foot: str) -> None:
    """Of links behind fixed joints: frames of other links have no inertia in models from URDF."""
    pair, s = quadruped()
    m, d = pair.model, pair.data
    ankle = m.getFrameId(FEET[foot], pin.FrameType.FIXED_JOINT)

    def supported(q: np.ndarray, v: np.ndarray, a: np.ndarray, *_: Any) -> np.ndarray:
        pin.forwardKinematics(m, d, q, v, a)  # the function reads what rnea does not compute
        pin.rnea(m, d, q, v, a)
        force = pin.computeSupportedForceByFrame(m, d, ankle)
        return np.concatenate([force.angular, force.linear])

    robot = on.load(ROBOTS / pair.case.file, floating=True, merge=False, snap=0.0)
    assert_close(robot.supported_wrench(s.q, s.v, s.a, foot), pair.each(s, supported), PEER)


@pytest.mark.parametrize("contact", ["frame", "point"])
@pytest.mark.parametrize("axes", ["frame", "world"])
def test_delassus_matrix_and_impacts(axes: str, contact: str) -> None:
    pair, s = quadruped()
    m, d, feet = pair.model, pair.data, list(FEET)
    kind = pin.ContactType.CONTACT_6D if contact == "frame" else pin.ContactType.CONTACT_3D
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    ids = [m.getFrameId(name, pin.FrameType.BODY) for name in feet]
    for f in ids:
        models.append(pin.RigidConstraintModel(kind, m, m.frames[f].parentJoint, m.frames[f].placement, pin.LOCAL))
        datas.append(models[len(models) - 1].createData())
    rows = 6 if contact == "frame" else 3
    order = np.concatenate([np.array(ANGULAR_FIRST if rows == 6 else [0, 1, 2]) + rows * k for k in range(2)])

    def jacobian(q: np.ndarray) -> np.ndarray:
        return np.concatenate([pin.computeFrameJacobian(m, d, q, f, AXES[axes])[:rows] for f in ids])

    def matrix(q: np.ndarray, *_: Any) -> np.ndarray:
        if axes == "frame":
            found = pin.computeDelassusMatrix(m, d, q, models, datas, 0.0)
        else:  # Pinocchio's constraints have the axes of their frames only
            J = jacobian(q)
            found = J @ pin.computeMinverse(m, d, q) @ J.T
        return found[np.ix_(order, order)]

    assert_close(pair.robot.delassus_matrix(s.q, feet, axes, contact), pair.each(s, matrix), PEER)

    def after(q: np.ndarray, v: np.ndarray, *_: Any) -> np.ndarray:
        found = pin.impulseDynamics(m, d, q, v, jacobian(q), 0.3, 0.0)
        return np.concatenate([found, d.impulse_c])

    theirs = pair.each(s, after)
    hit = pair.robot.impact(s.q, s.v, feet, 0.3, axes=axes, contact=contact)
    assert_close(hit.v, pair.from_velocities(theirs[:, : m.nv]), PEER)
    assert_close(hit.impulses[..., -rows:].reshape(3, -1), theirs[:, m.nv :][:, order], PEER)
