"""Virtual work for closed chains: the bundled mechanisms, the matrix that it solves with, and what it costs."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.errors import ModelError
from ordern.model.shiftable_inertia import singular_bodies
from tests.loops.closed_systems import closed_robot, motion_state
from tests.tolerances import CLOSED_DYNAMICS, INVERSION, LEAST_NORM, SINGLE, assert_close

LONG = ("delta-robot", "flyball-governor", "stewart-platform")
MECHANISMS = [
    pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in robots.names() if on.load(name).nc
]


def state(robot: on.Robot, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A closed position, a velocity that keeps it closed, and joint forces."""
    known = robots.positions(name)
    q = robot.assemble(known.get("assembled"), restarts=20).q
    rng = np.random.default_rng(0)
    return q, robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_bundled_mechanisms(name: str) -> None:
    robot = on.load(name)
    q, v, tau = state(robot, name)
    expected = robot.closed_dynamics(q, v, tau, method="null-space")
    found = robot.closed_dynamics(q, v, tau, method="virtual-work")
    scale = 1.0 + np.abs(expected.a).max()
    assert np.abs(found.a - expected.a).max() < CLOSED_DYNAMICS * scale
    size = 1.0 + np.abs(expected.multipliers).max()
    assert np.abs(found.multipliers - expected.multipliers).max() < LEAST_NORM * size
    assert_close(found.joint_wrenches, expected.joint_wrenches, LEAST_NORM)
    assert np.array_equal(robot.forward_dynamics(q, v, tau, method="virtual-work"), found.a)
    assert_close(robot.joint_wrenches(q, v, tau=tau, method="virtual-work"), found.joint_wrenches, INVERSION)


def test_it_is_there_for_the_rest_that_can_be_given() -> None:
    robot = on.load("four-bar")
    q, v, tau = state(robot, "four-bar")
    rng = np.random.default_rng(1)
    more = {
        "external": rng.normal(size=(4, len(robot.bodies), 6)),
        "base_velocity": rng.normal(size=6),
        "base_acceleration": rng.normal(size=6),
        "stabilise": (3.0, 5.0),
    }
    a, b = (robot.closed_dynamics(q, v, tau, method=m, **more) for m in ("virtual-work", "kkt"))
    assert a.a.shape == (4, robot.nv)
    assert_close(a.a, b.a, INVERSION)
    single = robot.forward_dynamics(*(x.astype(np.float32) for x in (q, v, tau)), method="virtual-work")
    assert single.dtype == np.float32
    assert_close(single, robot.forward_dynamics(q, v, tau), SINGLE)


@pytest.mark.slow
def test_couplings_are_joints_too() -> None:
    tree = on.Builder("geared").body("base")
    body = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.3, 0.2, 0.25), "at": (0.1, 0.2, 0.3)}
    tree.body("one", parent="base", joint=on.Revolute((0, 0, 1)), joint_name="a", **body)
    tree.body("two", parent="one", joint=on.Spherical(), joint_name="b", **body)
    tree.body("three", parent="two", joint=on.Prismatic((0, 1, 0)), joint_name="c", **body)
    tree.body("four", parent="one", joint=on.Revolute((1, 0, 0)), joint_name="d", **body)
    tree.couple("gear", "c", "a", (0.0, 0.7, 0.2))
    tree.couple("held", "d", None, (0.3,))
    robot = tree.build()
    assert robot.nc == 2
    q = robot.assemble().q
    v, tau = motion_state(robot, q, 1)
    expected = robot.closed_dynamics(q, v, tau, method="kkt")
    found = robot.closed_dynamics(q, v, tau, method="virtual-work")
    assert_close(found.a, expected.a, INVERSION)
    assert_close(found.multipliers, expected.multipliers, INVERSION)


@pytest.mark.slow
def test_rods_without_thickness_borrow_inertia() -> None:
    builder = on.Builder("rods", gravity=(0.0, 0.0, -9.81)).body("ground")
    about = (0.0, -1.0, 0.0)
    rod = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.0, 1 / 12, 1 / 12)}
    builder.body("left", parent="ground", joint=on.Revolute(about), **rod)
    builder.body("top", parent="left", joint=on.Revolute(about), at=(1.0, 0.0, 0.0), **rod)
    builder.body("right", parent="ground", joint=on.Revolute(about), at=(1.5, 0.0, 0.0), **rod)
    builder.loop("pin", on.PointOnLine(about), "right", "top", at=(1.0, 0.0, 0.0), child_at=(1.0, 0.0, 0.0))
    robot = builder.build()
    assert singular_bodies(robot.tables).all()
    q = robot.assemble([1.2, -1.0, 1.3]).q
    v, tau = motion_state(robot, q, 2)
    expected = robot.closed_dynamics(q, v, tau, method="kkt")
    found = robot.closed_dynamics(q, v, tau, method="virtual-work")
    assert_close(found.a, expected.a, INVERSION)
    assert_close(found.joint_wrenches, expected.joint_wrenches, INVERSION)


@pytest.mark.slow
def test_in_every_way_of_running() -> None:
    robot, q = closed_robot(5, 5, ("universal",))
    v, tau = motion_state(robot, q, 0)
    expected = robot.closed_dynamics(q, v, tau, method="kkt")
    for way in ("interpreted", "unrolled"):
        found = robot.kernel("closed_dynamics", "virtual-work", way=way)(q, v, tau)
        assert_close(found[: robot.nv], expected.a, CLOSED_DYNAMICS)
        assert_close(found[robot.nv : -1], expected.multipliers, CLOSED_DYNAMICS)


def test_joints_that_move_no_mass_are_refused() -> None:
    builder = on.Builder("rod").body("ground")
    builder.body("left", parent="ground", joint=on.Revolute(), mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.body("rod", parent="left", joint=on.Revolute(), at=(1.0, 0.0, 0.0))
    builder.loop("pin", on.PointOnLine((0, 0, 1)), "ground", "rod", at=(1.0, 1.0, 0.0), child_at=(1.0, 0.0, 0.0))
    robot = builder.build()
    with pytest.raises(ModelError, match="moves no mass, so that the method 'virtual-work'"):
        robot.closed_dynamics(robot.neutral(), np.zeros(2), np.zeros(2), method="virtual-work")


def test_operations_grow_with_links_and_constraints_and_are_counted() -> None:
    robot = on.load("four-bar")
    counts = robot.kernel("closed_dynamics", "virtual-work").counts().total
    usual = robot.kernel("closed_dynamics", "multipliers").counts().total
    assert usual < counts < 3 * usual
