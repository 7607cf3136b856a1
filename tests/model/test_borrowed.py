"""Bodies whose inertia is singular borrow some across their joints: nothing that is asked of the robot changes."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.model import BASE
from ordern.model.base_parameters import in_parent
from ordern.model.inertia_numbers import spatial
from ordern.model.shiftable_inertia import borrowed, lacking, singular_bodies
from ordern.model.tables import INERTIA, PLACEMENT
from tests.random_models import random_robot, random_state
from tests.tolerances import INVERSION, ROUNDING, SINGLE, assert_close

Array = np.ndarray
METHODS = (
    "virtual-work",
    "virtual-work-split",
    "virtual-work-unsplit",
    "lagrange-multipliers",
    "constraint-force",
    "divide-and-conquer",
)
OPTIONAL = ("external", "base_velocity", "base_acceleration")
BODIES: dict[str, dict[str, Any]] = {
    "turns only": {"mass": 0.0, "com": (0.0, 0.0, 0.0), "inertia": (0.1, 0.2, 0.15, 0.0, 0.0, 0.0)},
    "about one axis": {"mass": 0.0, "com": (0.0, 0.0, 0.0), "inertia": (0.0, 0.0, 0.3, 0.0, 0.0, 0.0)},
    "point": {"mass": 0.7, "com": (0.2, -0.1, 0.3), "inertia": (0.0,) * 6},
    "rod": {"mass": 0.7, "com": (0.0, 0.1, 0.2), "inertia": (0.2, 0.2, 0.0, 0.0, 0.0, 0.0)},
}


def with_singular(seed: int, kinds: tuple[str, ...], n: int = 5, **how: Any) -> on.Robot:
    """A robot of random hinges, of whose bodies every other one has a singular inertia."""
    robot = random_robot(seed, n, (on.Revolute,), **how)
    bodies = list(robot.bodies)
    for k, kind in zip(range(0, len(bodies), 2), kinds, strict=False):
        bodies[k] = replace(bodies[k], **BODIES[kind])
    return on.Robot(**{**robot.__getstate__(), "bodies": tuple(bodies)})


def universal() -> on.Robot:
    """Two hinges that cross, with a body between them that has no inertia at all."""
    builder = on.Builder("universal").body("base")
    solid = {"mass": 1.3, "com": (0.1, 0.2, 0.3), "inertia": (0.3, 0.2, 0.25)}
    builder.body("arm", parent="base", joint=on.Spherical(), **solid)
    builder.body("cross", parent="arm", joint=on.Revolute((0, 0, 1)), at=(0.0, 0.0, 0.5))
    builder.body("hand", parent="cross", joint=on.Revolute((1, 0, 0)), **solid)
    return builder.build()


def slide() -> on.Robot:
    """A turntable without inertia, and what slides on it."""
    builder = on.Builder("slide").body("base")
    builder.body("table", parent="base", joint=on.Revolute())
    builder.body("load", parent="table", joint=on.Prismatic((1, 0, 0)), mass=1.0, com=(0.5, 0, 0), inertia=np.eye(3))
    return builder.build()


def sensor() -> on.Robot:
    """A frame without mass on a fixed joint that is kept."""
    builder = on.Builder("sensor").body("base")
    solid = {"mass": 1.3, "com": (0.1, 0.2, 0.3), "inertia": (0.3, 0.2, 0.25)}
    builder.body("arm", parent="base", joint=on.Helical((0, 1, 0), 0.2), **solid)
    builder.body("sensor", parent="arm", joint=on.Fixed(), at=(0.1, 0.2, 0.0))
    builder.body("finger", parent="sensor", joint=on.Planar(), at=(0.3, 0.0, 0.0), **solid)
    return builder.build(merge=False)


ROBOTS: dict[str, on.Robot] = {
    "puma560": on.load("puma560"),
    "puma560-akb": on.load("puma560-akb"),
    "universal": universal(),
    "slide": slide(),
    "sensor": sensor(),
    "tree": with_singular(1, ("about one axis", "rod", "point")),
    "chain": with_singular(2, ("point", "turns only", "rod"), chain=True),
    "chain with armature": with_singular(3, ("turns only", "point", "rod"), chain=True, armature=True),
    "floating": with_singular(4, ("rod", "point", "turns only"), floating=True, armature=True),
}
every = pytest.mark.parametrize("name", ROBOTS)


def inputs(robot: on.Robot, count: int = 3) -> tuple[Array, ...]:
    rng = np.random.default_rng(0)
    more = rng.normal(size=(count, len(robot.bodies), 6)), *rng.normal(size=(2, count, 6))
    return (*random_state(robot, 0, (count,)), *more)


@every
def test_all_inertias_become_regular_and_joints_feel_no_difference(name: str) -> None:
    robot = ROBOTS[name]
    assert singular_bodies(robot.tables).any()
    other = borrowed(robot)
    assert not singular_bodies(other.tables).any()
    assert np.linalg.eigvalsh(spatial(other.tables.rows[:, INERTIA]))[:, 0].min() > 0.0
    q, v, a = random_state(robot, 1, (4,))
    for question in ("inverse_dynamics", "mass_matrix"):
        given = (q, v, a)[: 3 if question == "inverse_dynamics" else 1]
        found = on.Kernel(other, question, way="interpreted")(*given)
        assert_close(found, robot.kernel(question, way="interpreted")(*given), ROUNDING)


@every
def test_what_a_body_borrows_its_parent_lacks(name: str) -> None:
    robot = ROBOTS[name]
    t, other = robot.tables, borrowed(robot).tables
    expected = t.rows[:, INERTIA].copy()
    for k, parent in enumerate(t.parent.tolist()):
        given = other.rows[k, other.kinds[t.kind[k]].borrowed]
        expected[k] += given
        if parent != BASE:
            expected[parent] -= in_parent(given, t.rows[k, PLACEMENT])
    assert_close(other.rows[:, INERTIA], expected, ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@every
def test_methods_that_invert_inertias_run_on_singular_ones(method: str, name: str) -> None:
    robot = ROBOTS[name]
    q, v, _, *more = given = inputs(robot)
    a = robot.kernel("forward_dynamics", present=OPTIONAL, way="interpreted")(*given)
    wrenches = robot.kernel("joint_wrenches", present=OPTIONAL, way="interpreted")(q, v, a, *more)
    for question, expected in (("forward_dynamics", a), ("constraint_forces", wrenches)):
        kernel = robot.kernel(question, method, present=OPTIONAL, way="interpreted")
        assert_close(kernel(*given), expected, INVERSION)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_compiled_code_borrows_too(method: str) -> None:
    robot = ROBOTS["puma560"]
    q, v, tau, *_ = inputs(robot)
    a = robot.forward_dynamics(q, v, tau)
    wrenches = robot.joint_wrenches(q, v, a)
    for way in ("unrolled", "rolled"):
        assert_close(robot.kernel("forward_dynamics", method, way=way)(q, v, tau), a, INVERSION)
        assert_close(robot.kernel("constraint_forces", method, way=way)(q, v, tau), wrenches, INVERSION)
    kernel = pickle.loads(pickle.dumps(robot.kernel("constraint_forces", method)))
    assert_close(kernel(q, v, tau), wrenches, INVERSION)
    single = robot.kernel("forward_dynamics", method)(*(x.astype(np.float32) for x in (q, v, tau)))
    assert single.dtype == np.float32
    assert_close(single, a, 10 * SINGLE)


@pytest.mark.slow
def test_time_loops_borrow_too() -> None:
    """Rolled code of a time loop reads its numbers from tables, which must have what was borrowed."""
    robot = with_singular(5, ("point", "rod") * 16, 30, chain=True)
    assert robot.kernel("forward_dynamics", "virtual-work").code.way == "rolled"
    q, v, _ = random_state(robot, 2, (3,))
    found, expected = (robot.rollout(q, 0.1 * v, steps=5, dynamics=m).q for m in ("virtual-work", None))
    assert_close(found, expected, INVERSION)


def test_robots_that_need_none_borrow_none() -> None:
    robot = random_robot(1, 8)
    assert borrowed(robot) is robot and lacking(robot) is None
    kernel = robot.kernel("forward_dynamics", "virtual-work")
    assert kernel.request.model is robot


def test_a_body_that_cannot_borrow_is_named() -> None:
    builder = on.Builder("gimbal").body("base")
    builder.body("outer", parent="base", joint=on.Revolute((0, 0, 1)))
    builder.body("inner", parent="outer", joint=on.Revolute((0, 1, 0)))
    builder.body("rotor", parent="inner", joint=on.Revolute((1, 0, 0)), mass=1.0, inertia=(0.3, 0.2, 0.2))
    robot = builder.build()
    k = lacking(robot)
    assert k is not None and robot.bodies[k].name in ("outer", "inner") and borrowed(robot) is robot
    with pytest.raises(on.ArgumentError, match=f"body {robot.bodies[k].name!r} is singular.*give the body a mass"):
        robot.kernel("forward_dynamics", "virtual-work")
    builder = on.Builder("alone").body("base")
    builder.body("bob", parent="base", joint=on.Universal(), mass=1.0, com=(0.0, 0.0, 1.0))
    assert lacking(builder.build()) == 0  # nothing is known of what a universal joint does not feel
