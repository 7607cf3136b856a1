"""Joints that follow others, in every method of forward dynamics that knows them; all others say that they do not."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from tests.random_models import random_robot, random_state
from tests.tolerances import INVERSION, assert_close

NEW = ("kalman-scan", "virtual-work", "lagrange-multipliers", "articulated-body-absolute")
REFUSE = {"armstrong-general", "divide-and-conquer", "constraint-force", "virtual-work-split", "virtual-work-unsplit"}
"""Methods for which binding joints to others would take a second method."""
ROBOTS = {
    "tree": random_robot(24, 8, (on.Revolute, on.Prismatic), mimic=True),
    "tree with armature": random_robot(10, 8, (on.Revolute, on.Prismatic), mimic=True, armature=True),
    "chain": random_robot(6, 9, (on.Revolute,), mimic=True, chain=True),
    "all joints": random_robot(5, 14, mimic=True),
    "floating": random_robot(7, 8, (on.Revolute, on.Helical, on.Spherical), mimic=True, floating=True),
}


def followers(robot: on.Robot) -> int:
    return sum(c.mimic is not None for c in robot.joints)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("method", NEW)
def test_accelerations_are_those_of_the_mass_matrix(method: str, name: str) -> None:
    """M qdd = tau - bias, with the mass matrix and bias of the joints that follow none."""
    robot = ROBOTS[name]
    assert followers(robot) > 1
    q, v, tau = random_state(robot, 1, (3,))
    M, bias = (robot.kernel(x, way="interpreted") for x in ("mass_matrix", "bias_force"))
    expected = np.linalg.solve(M(q), (tau - bias(q, v))[..., None])[..., 0]
    assert_close(robot.kernel("forward_dynamics", method, way="interpreted")(q, v, tau), expected, INVERSION)


@pytest.mark.slow
@pytest.mark.parametrize("method", NEW)
def test_compiled_code_gives_the_same(method: str) -> None:
    robot = random_robot(4, 6, (on.Revolute, on.Prismatic), mimic=True)
    assert followers(robot) > 1
    q, v, tau = random_state(robot, 1, (3,))
    expected = robot.forward_dynamics(q, v, tau)
    for way in ("unrolled", "rolled"):
        assert_close(robot.kernel("forward_dynamics", method, way=way)(q, v, tau), expected, INVERSION)


def test_a_follower_without_inertia() -> None:
    """What moves with it lends it armature; methods that cannot take that say so."""
    builder = on.Builder("lent").body("base")
    builder.body("one", parent="base", joint=on.Revolute((0, 0, 1)), joint_name="a", mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.body("two", parent="one", joint=on.Revolute((0, 1, 0)), joint_name="b", mimic=("a", 0.5, 0.0))
    builder.body("three", parent="two", joint=on.Revolute((1, 0, 0)), joint_name="c", mass=1.0, inertia=(0.1, 0.1, 0.1))
    robot = builder.build()
    q, v, tau = random_state(robot, 1, (3,))
    found = robot.kernel("forward_dynamics", "kalman-scan", way="interpreted")(q, v, tau)
    assert_close(found, robot.forward_dynamics(q, v, tau), INVERSION)
    for method in ("virtual-work", "lagrange-multipliers"):
        with pytest.raises(on.ArgumentError, match=f"'{method}': .*'articulated-body' can do it"):
            robot.kernel("forward_dynamics", method)


def test_which_methods_know_them() -> None:
    robot = ROBOTS["tree"]
    ours = [m for m in on.methods("forward_dynamics") if m.function.__module__.startswith("ordern.")]
    assert {m.name for m in ours if m.refuses and "follow" in m.refuses(robot)} == REFUSE
    for method in REFUSE:
        with pytest.raises(on.ArgumentError, match=r"does not handle joints that follow others.*can do it"):
            robot.kernel("forward_dynamics", method)
