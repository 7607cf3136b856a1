"""A hand on an arm: the same dynamics as Pinocchio's of the two models in one."""

from __future__ import annotations

import warnings

import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from tests.robots import ROBOTS
from tests.tolerances import PEER, assert_close

ARM = ROBOTS / "ur_description/urdf/ur5_robot.urdf"
HAND = ROBOTS / "allegro_hand_description/urdf/allegro_right_hand.urdf"


@pytest.mark.slow
@pytest.mark.parametrize("floating", [False, True])
def test_a_hand_on_an_arm(floating: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", on.ModelWarning)
        arm, hand = on.load(ARM, snap=0.0), on.load(HAND, snap=0.0, floating=floating)
    place = on.Placement(position=(0.01, 0.02, 0.05))
    robot = arm.attach(hand, to="tool0", at=place, prefix="")
    models = [pin.buildModelFromUrdf(str(file)) for file in (ARM, HAND)]
    tool = models[0].getFrameId("tool0")
    at = pin.SE3(np.eye(3), place.p)
    model = pin.appendModel(*models, pin.GeometryModel(), pin.GeometryModel(), tool, at)[0]
    c = on.convert(robot, model)
    rng = np.random.default_rng(0)
    q, v, a = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    theirs = pin.rnea(model, model.createData(), *c.to_peer(q, v, a))
    assert_close(robot.inverse_dynamics(q, v, a), c.velocity_matrix(q).T @ theirs, PEER)
    palm = hand.bodies[0] if floating else hand.ground
    assert palm is not None and palm.mass > 0.1  # what was fixed to the ground counts
