"""Mechanisms with closed loops: where they are closed, how they can move, what they weigh, by formulas on paper."""

from __future__ import annotations

from math import acos, atan2, cos, hypot, pi, radians, sin, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import ordern as on
from ordern import robots
from ordern.model import BASE
from ordern.model.poses import body_poses
from ordern.robots.mechanisms import (
    MECHANISMS,
    bricard,
    delta_robot,
    door,
    double_parallelogram,
    five_bar,
    flyball_governor,
    four_bar,
    four_bar_chain,
    slider_crank,
    spatial_slider_crank,
    stewart_platform,
)
from ordern.robots.mechanisms.parts import ABOUT
from tests.tolerances import CHAIN_STEPS, CLOSED_FORM, MECHANISM, ROUNDING, assert_close

NAMES = (*MECHANISMS, "four-bar-chain-1", "four-bar-chain-5")
ANGLES = np.linspace(0.0, 2.0 * pi, 25).tolist()
G = 9.81


def gaps(model: Any, q: Any) -> np.ndarray:
    """For each loop the distance of its frames, and by how much the axis of a hinge is turned."""
    at = {BASE: np.eye(4), **dict(enumerate(body_poses(model, np.array(q, float))))}
    found = []
    for loop in model.loops:
        parent, child = at[loop.parent] @ loop.parent_placement.matrix, at[loop.child] @ loop.child_placement.matrix
        turned = 0.0
        if isinstance(loop.type, on.Revolute):
            turned = float(np.linalg.norm((parent - child)[:3, :3] @ loop.type.axis))
        found.append((float(np.linalg.norm((parent - child)[:3, 3])), turned))
    return np.array(found)


def closed(model: Any, q: Any) -> None:
    assert len(model.loops) > 0
    assert_close(gaps(model, q), np.zeros((len(model.loops), 2)), ROUNDING)


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", NAMES)
def test_loops_are_closed_in_the_assembled_position(name: str) -> None:
    robot, q = on.load(name), robots.positions(name)["assembled"]
    closed(robot, q)
    assert_close(robot.loop_residual(q), np.zeros(robot.nc), ROUNDING)


PLANE = {
    "four-bar": (3, 4),
    "slider-crank": (3, 4),
    "five-bar": (4, 5),
    "andrews-squeezer": (7, 10),
    "double-parallelogram": (4, 6),
    "four-bar-chain-1": (3, 4),
    "four-bar-chain-5": (11, 16),
}
"""Bodies, and joints with one freedom, those that close loops among them."""
SPACE = {
    "spatial-slider-crank": (3, (1, 1, 2, 3)),
    "stewart-platform": (13, (2, 1, 3) * 6),
    "delta-robot": (10, (1,) * 3 + (2, 3) * 6),
    "bricard": (5, (1,) * 6),
    "door": (1, (1, 1)),
}
"""Bodies, and the freedoms of all joints."""
MORE = {"double-parallelogram": 1, "bricard": 1, "door": 5}
"""Freedoms beyond Gruebler's count."""


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_freedoms_are_those_that_gruebler_counts(name: str) -> None:
    """But for three mechanisms, which have redundant constraints; the governor has two freedoms, and two springs."""
    robot, q = on.load(name), robots.positions(name)["assembled"]
    if name in PLANE:
        bodies, joints = PLANE[name]
        count = 3 * bodies - 2 * joints
    elif name in SPACE:
        bodies, freedoms = SPACE[name]
        count = 6 * bodies - sum(6 - f for f in freedoms)
    else:
        assert name == "flyball-governor"
        bodies, count = 8, 2 + 2
    found = robot.mobility(q)
    assert len(robot.bodies) == bodies
    assert found.freedoms == count + MORE.get(name, 0)
    assert found.redundant == MORE.get(name, 0)
    assert found.rank == robot.nv - found.freedoms
    K = robot.loop_jacobian(q)
    assert_close(K @ found.motions, np.zeros((robot.nc, found.freedoms)), ROUNDING)


MASSES = {
    "andrews-squeezer": 0.04325 + 0.00365 + 0.02373 + 0.00706 + 0.0705 + 0.00706 + 0.05498,
    "bricard": 5.0,
    "delta-robot": 0.5 + 3 * (0.4 + 2 * 0.05),
    "door": 25.0,
    "double-parallelogram": 3 * 0.2 + 0.6,
    "five-bar": 2 * (0.2 + 0.3),
    "flyball-governor": 0.3 + 3.0 + 2 * (0.3 + 5.0) + 2 * 0.15,
    "four-bar": 0.1 + 0.35 + 0.3,
    "slider-crank": 0.1 + 0.3 + 0.5,
    "spatial-slider-crank": 0.08 + 0.3 + 0.5,
    "stewart-platform": 10.0 + 6 * (2.0 + 1.0),
}
HEIGHTS = {
    "bricard": (0.0 - 0.5 - 1.0 - 1.0 - 0.5) / 5.0,  # along y, against gravity
    "double-parallelogram": (0.6 * 0.1 + 0.6 * 0.2) / 1.2 * sin(pi / 3),
    "flyball-governor": (0.3 * 0.5 + 3.0 * 0.5 + 2 * (0.3 * 0.75 + 5.0 * 0.5 + 0.15 * 0.625)) / 14.2,
    "slider-crank": (0.1 * 0.05 + 0.3 * 0.05) * sin(pi / 3) / 0.9,
    "spatial-slider-crank": (0.08 * (0.12 + 0.04 * sin(pi / 3)) + 0.3 * (0.06 + 0.04 * sin(pi / 3))) / 0.88,
}
"""Of the mass centre of all moving bodies, in the assembled position."""


@pytest.mark.parametrize("name", MECHANISMS)
def test_masses_and_mass_centres(name: str) -> None:
    robot, q = on.load(name), robots.positions(name)["assembled"]
    assert robot.mass == pytest.approx(MASSES[name], rel=ROUNDING)
    if name in HEIGHTS:
        height = robot.potential_energy(q) / (G * robot.mass)
        assert height == pytest.approx(HEIGHTS[name], abs=CLOSED_FORM)


@pytest.mark.slow
@pytest.mark.parametrize("make", [four_bar.four_bar, slider_crank.slider_crank, five_bar.five_bar])
def test_a_hinge_in_space_asks_for_nothing_new_in_the_plane(make: Any) -> None:
    usual, hinged = (on.Robot.of(make(closure=x).build()) for x in (None, on.Revolute(ABOUT)))
    q = robots.positions(usual.name)["assembled"]
    one, other = usual.mobility(q), hinged.mobility(q)
    assert (one.constraints, other.constraints) == (2, 5)
    assert (one.freedoms, one.rank, one.redundant) == (other.freedoms, other.rank, other.redundant - 3)
    v = usual.project_velocity(q, np.arange(1.0, usual.nv + 1))
    tau = np.linspace(-1.0, 1.0, usual.nv)
    assert_close(hinged.forward_dynamics(q, v, tau), usual.forward_dynamics(q, v, tau), CLOSED_FORM)


@pytest.mark.parametrize(
    ("make", "wrong", "says"),
    [
        (four_bar.four_bar, {"crank": 0.0}, "four-bar: crank must be a finite number above zero, not 0.0"),
        (door.door, {"mass": "heavy"}, "door: mass must be a finite number above zero, not 'heavy'"),
        (bricard.bricard, {"length": float("nan")}, "bricard: length must be a finite number above zero, not nan"),
        (four_bar.assembled_position, {"ground": 0.9}, "four-bar cannot be assembled there: two of its joints are"),
        (slider_crank.assembled_position, {"rod": 0.01}, "slider-crank cannot be assembled there: the slider's line"),
        (spatial_slider_crank.assembled_position, {"rod": 0.1}, "spatial-slider-crank cannot be assembled there"),
        (five_bar.inverse_kinematics, {"tool": (0.0, 0.6)}, "five-bar cannot be assembled there"),
        (flyball_governor.assembled_position, {"coupler": 0.1}, "flyball-governor cannot be assembled there"),
        (stewart_platform.inverse_kinematics, {"position": (0, 0, -1)}, "a leg would not point up"),
        (delta_robot.inverse_kinematics, {"position": (1, 0, -1)}, r"delta-robot cannot reach \(1, 0, -1\)"),
        (bricard.assembled_position, {"drive": -1.0}, "bricard cannot be assembled with its first hinge at -1 rad"),
        (four_bar_chain.four_bar_chain, {"n": 0}, "n must be"),
    ],
)
def test_what_cannot_be_is_an_error(make: Any, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(on.ModelError, match=says):
        make(**wrong)


# ---------------------------------------------------------------- flat ones


@pytest.mark.parametrize("crossed", [False, True])
def test_four_bar_obeys_freudensteins_equation(crossed: bool) -> None:
    """For a full turn of the crank; the rocker stays within less than half a turn."""
    d, a, b, c = four_bar.GROUND, four_bar.CRANK, four_bar.COUPLER, four_bar.ROCKER
    model, rocks = four_bar.four_bar().build(), []
    for theta in ANGLES:
        q = four_bar.assembled_position(theta, crossed=crossed)
        closed(model, q)
        phi = q[2]
        k1, k2, k3 = d / a, d / c, (a * a - b * b + c * c + d * d) / (2 * a * c)
        assert k1 * cos(phi) - k2 * cos(theta) + k3 == pytest.approx(cos(theta - phi), abs=CLOSED_FORM)
        rocks.append(phi)
    ends = [pi - acos((d * d + c * c - x * x) / (2 * d * c)) for x in (b - a, b + a)]
    sign = -1.0 if crossed else 1.0
    assert (
        max(ends) + CLOSED_FORM
        >= max(sign * x for x in rocks)
        > min(sign * x for x in rocks)
        >= min(ends) - CLOSED_FORM
    )
    assert a + d < b + c and a == min(a, b, c, d)


def test_four_bar_of_other_sizes() -> None:
    sizes = {"ground": 0.5, "crank": 0.2, "coupler": 0.45, "rocker": 0.4}
    model = four_bar.four_bar(**sizes, density=2.0).build()
    closed(model, four_bar.assembled_position(1.0, **sizes))
    assert model.mass == pytest.approx(2.0 * (0.2 + 0.45 + 0.4))
    with pytest.raises(AssertionError):
        closed(model, four_bar.assembled_position(1.0))


@pytest.mark.parametrize("offset", [0.0, 0.05])
def test_slider_crank(offset: float) -> None:
    r, l = slider_crank.CRANK, slider_crank.ROD
    model = slider_crank.slider_crank(offset=offset).build()
    for theta in ANGLES:
        q = slider_crank.assembled_position(theta, offset=offset)
        closed(model, q)
        assert q[2] == pytest.approx(r * cos(theta) + sqrt(l * l - (offset - r * sin(theta)) ** 2), abs=CLOSED_FORM)


def test_slider_cranks_speed_is_the_textbooks() -> None:
    """dx/dtheta = -r sin(theta) (1 + r cos(theta) / sqrt(l^2 - r^2 sin^2(theta)))."""
    r, l = slider_crank.CRANK, slider_crank.ROD
    robot = on.load("slider-crank")
    for theta in (0.3, 1.1, 4.0):
        q = np.array(slider_crank.assembled_position(theta))
        (motion,) = robot.mobility(q).motions.T
        rate = -r * sin(theta) * (1.0 + r * cos(theta) / sqrt(l * l - (r * sin(theta)) ** 2))
        assert motion[2] / motion[0] == pytest.approx(rate, abs=CLOSED_FORM)


def test_five_bar_reaches_points_by_the_law_of_cosines() -> None:
    robot, rng = on.load("five-bar"), np.random.default_rng(2)
    u, f, half = five_bar.UPPER, five_bar.FOREARM, five_bar.SPAN / 2
    for x, z in rng.uniform((-0.15, 0.2), (0.15, 0.4), (20, 2)).tolist():
        q = five_bar.inverse_kinematics((x, z))
        closed(robot, q)
        assert_close(robot.pose(np.array(q), "tool")[:3, 3], [x, 0.0, z], CLOSED_FORM)
        for drive, foot, side in ((q[0], -half, 1.0), (q[2], half, -1.0)):
            d = hypot(x - foot, z)
            wanted = atan2(z, x - foot) + side * acos((u * u + d * d - f * f) / (2 * u * d))
            assert cos(drive - wanted) == pytest.approx(1.0, abs=CLOSED_FORM)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 6])
def test_chain_of_four_bars(n: int) -> None:
    """Its one motion, its energy, and the freedoms that it gains when it lies flat."""
    robot = on.load(f"four-bar-chain-{n}")
    q, v = robots.positions(robot.name)["assembled"], np.array(four_bar_chain.initial_velocity(n))
    assert (len(robot.bodies), robot.nc, robot.mass) == (2 * n + 1, 2 * n, 2 * n + 1.0)
    assert_close(robot.loop_rate(q, v), np.zeros(2 * n), ROUNDING)
    assert_close(
        robot.velocity(q, v, on.Frame("end", 0, on.Placement(position=(1, 0, 0))), axes="world")[3:],
        [1, 0, 0],
        ROUNDING,
    )
    assert robot.kinetic_energy(q, v) == pytest.approx((n + 1) / 6 + n / 2, rel=ROUNDING)
    assert robot.potential_energy(q) == pytest.approx(G * ((n + 1) / 2 + n), rel=ROUNDING)
    for angle in (0.4, 2.0):
        assert robot.mobility(four_bar_chain.assembled_position(n, angle)).freedoms == 1
    for angle in (0.0, pi):
        q = four_bar_chain.assembled_position(n, angle)
        closed(robot, q)
        found = robot.mobility(q)
        assert (found.freedoms, found.singular) == (n + 1, True)


@pytest.mark.slow
def test_a_long_chain_of_four_bars() -> None:
    n = 40
    robot = on.load(f"four-bar-chain-{n}")
    assert (len(robot.bodies), robot.nc) == (81, 80)
    for angle, freedoms in ((0.4, 1), (0.0, n + 1)):
        q = four_bar_chain.assembled_position(n, angle)
        closed(robot, q)
        assert robot.mobility(q).freedoms == freedoms


def test_a_chain_of_four_bars_begins_to_fall_as_one() -> None:
    """All posts turn with w' = -M / I: from the work of gravity, and the kinetic energy, of posts and beams."""
    n, angle = 3, 1.0
    robot, q = on.load(f"four-bar-chain-{n}"), np.array(four_bar_chain.assembled_position(3, angle))
    a = robot.forward_dynamics(q, np.zeros(robot.nv), np.zeros(robot.nv))
    inertia, moment = (n + 1) / 3 + n, G * cos(angle) * ((n + 1) / 2 + n)
    assert_close(a, np.array(four_bar_chain.assembled_position(n, -moment / inertia)), CLOSED_FORM)


@pytest.mark.parametrize("n", [2, 10])
def test_a_chain_of_four_bars_passes_flat_positions(n: int) -> None:
    """For a turn and more, by the Runge-Kutta method of fourth order, whose errors are all that the energy shows.

    All bars keep the same angle, with one freedom: (I w^2) / 2 + m sin(angle) stays, and the angle is that of a
    pendulum. Flat positions are passed twice, to within the last steps before and behind them.
    """
    robot, h = on.load(f"four-bar-chain-{n}"), 5e-3
    q, v = robots.positions(robot.name)["assembled"], np.array(four_bar_chain.initial_velocity(n))
    total = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    inertia, moment, tau = (n + 1) / 3 + n, G * ((n + 1) / 2 + n), np.zeros(robot.nv)

    def f(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return robot.forward_dynamics(q, v, tau)

    nearest = 1.0
    for _ in range(400):
        a1 = f(q, v)
        a2 = f(q + h / 2 * v, v + h / 2 * a1)
        a3 = f(q + h / 2 * v + h * h / 4 * a1, v + h / 2 * a2)
        a4 = f(q + h * v + h * h / 2 * a2, v + h * a3)
        q, v = q + h * v + h * h / 6 * (a1 + a2 + a3), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        nearest = min(nearest, abs(sin(q[0])))
    pendulum = solve_ivp(
        lambda t, y: [y[1], -moment / inertia * np.cos(y[0])], (0, 2), [pi / 2, -1], "DOP853", rtol=1e-12, atol=1e-12
    )
    assert q[0] < -pi and nearest < 0.01
    assert_close(q, four_bar_chain.assembled_position(n, pendulum.y[0, -1]), CHAIN_STEPS)
    assert abs(robot.kinetic_energy(q, v) + robot.potential_energy(q) - total) < CHAIN_STEPS * total


def test_double_parallelogram() -> None:
    robot = on.load("double-parallelogram")
    for angle in ANGLES[1:12]:
        q = double_parallelogram.assembled_position(angle)
        closed(robot, q)
        assert robot.mobility(q).freedoms == 1
        assert_close(robot.pose(np.array(q), "beam")[:3, :3], np.eye(3), ROUNDING)
    assert robot.mobility(double_parallelogram.assembled_position(0.0)).freedoms == 2
    crank, beam = double_parallelogram.CRANK, 2 * double_parallelogram.SPAN
    q = np.array(double_parallelogram.assembled_position(0.7))
    a = robot.forward_dynamics(q, np.zeros(4), np.zeros(4))[0]
    inertia, moment = crank**3 + beam * crank**2, G * cos(0.7) * crank * (3 * crank / 2 + beam)
    assert a == pytest.approx(-moment / inertia, rel=MECHANISM)


def test_door() -> None:
    """Hung plumb it stays where it is; a push on its handle turns it as one body about its hinges."""
    robot = on.load("door")
    for angle in (0.0, 0.5, -2.0):
        q = np.array(door.assembled_position(angle))
        closed(robot, q)
        found = robot.mobility(q)
        assert (found.freedoms, found.rank, found.redundant) == (1, 0, 5)
        assert_close(robot.forward_dynamics(q, [1.0], [0.0]), [0.0], ROUNDING)
        I = door.MASS * (door.WIDTH**2 / 3 + door.THICKNESS**2 / 12)
        assert_close(robot.forward_dynamics(q, [0.0], [3.0]), [3.0 / I], CLOSED_FORM)


# ---------------------------------------------------------------- in space


def test_spatial_slider_crank() -> None:
    model = spatial_slider_crank.spatial_slider_crank().build()
    y, z = spatial_slider_crank.AXIS
    for theta in ANGLES:
        q = spatial_slider_crank.assembled_position(theta)
        closed(model, q)
        r, l = spatial_slider_crank.CRANK, spatial_slider_crank.ROD
        assert q[1] ** 2 + (y + r * cos(theta)) ** 2 + (z + r * sin(theta)) ** 2 == pytest.approx(
            l * l, abs=CLOSED_FORM
        )


@pytest.mark.slow
def test_stewart_platform_has_the_leg_lengths_of_its_pose() -> None:
    robot, rng = on.load("stewart-platform"), np.random.default_rng(3)
    feet, hands = (np.array(x) for x in stewart_platform.anchors())
    for _ in range(10):
        position = rng.uniform((-0.1, -0.1, 0.5), (0.1, 0.1, 0.7))
        turn = Rotation.from_rotvec(rng.uniform(-0.3, 0.3, 3))
        quaternion = np.roll(turn.as_quat(), 1)
        q = stewart_platform.inverse_kinematics(position, quaternion)
        closed(robot, q)
        lengths = np.linalg.norm(turn.apply(hands) + position - feet, axis=1)
        assert_close(np.array(q)[9::3], lengths, CLOSED_FORM)
        assert robot.mobility(np.array(q)).freedoms == 6
    assert_close(np.hypot(feet[:, 0], feet[:, 1]), np.full(6, stewart_platform.BASE_RADIUS), ROUNDING)


@pytest.mark.slow
def test_stewart_platform_drives_hold_its_weight() -> None:
    """By virtual work, as the level platform is lifted: on it, and on cylinders and rods, 0.2 m from ends of legs."""
    robot, q = on.load("stewart-platform"), robots.positions("stewart-platform")["assembled"]
    length = q[9]
    c = stewart_platform.HEIGHT / length
    swing = 0.2 * (1 - c * c) / length
    share = stewart_platform.PLATFORM / 6 + stewart_platform.CYLINDER * swing + stewart_platform.ROD * (1 - swing)
    tau = np.zeros(robot.nv)
    tau[8::3] = G * share / c
    assert_close(robot.forward_dynamics(q, np.zeros(robot.nv), tau), np.zeros(robot.nv), MECHANISM)


@pytest.mark.slow
def test_delta_robot_stands_where_three_spheres_meet() -> None:
    """Forward kinematics on paper: spheres around the elbows, each shifted inward by the platform's radius."""
    robot, rng = on.load("delta-robot"), np.random.default_rng(4)
    for position in rng.uniform((-0.12, -0.12, -0.6), (0.12, 0.12, -0.42), (10, 3)):
        q = delta_robot.inverse_kinematics(position)
        closed(robot, q)
        assert robot.mobility(np.array(q)).freedoms == 3
        reach = np.array(
            [delta_robot.BASE_RADIUS - delta_robot.PLATFORM_RADIUS + delta_robot.UPPER * cos(x) for x in q[7::5]]
        )
        height = np.array([-delta_robot.UPPER * sin(x) for x in q[7::5]])
        turns = np.radians([0.0, 120.0, 240.0])
        centres = np.stack([reach * np.cos(turns), reach * np.sin(turns), height], axis=1)
        assert_close(_below(centres, delta_robot.FOREARM), position, CLOSED_FORM)


def _below(centres: np.ndarray, radius: float) -> np.ndarray:
    """Where three equal spheres meet, the lower point: under the centre of the circle through their middles."""
    a, b, c = centres
    u, v = b - a, c - a
    normal = np.cross(u, v)
    middle = a + np.cross(u @ u * v - v @ v * u, normal) / (2 * normal @ normal)
    down = normal / np.linalg.norm(normal)
    down = down if down[2] < 0 else -down
    return np.asarray(middle + down * sqrt(radius**2 - float((middle - a) @ (middle - a))))


def test_bricards_ring_moves_along_its_curve() -> None:
    """Cut at its sixth hinge, five equations have the rank four, all along."""
    robot = on.load("bricard")
    for drive in np.radians(np.linspace(-29.0, 209.0, 18)).tolist():
        q = np.array(bricard.assembled_position(drive))
        closed(robot, q)
        assert sin(q[0]) + sin(q[1]) + sin(q[0]) * sin(q[1]) == pytest.approx(0.0, abs=CLOSED_FORM)
        found = robot.mobility(q)
        assert (robot.nc, found.rank, found.freedoms) == (5, 4, 1)
        (motion,) = found.motions.T
        slope = -cos(q[0]) * (1 + sin(q[1])) / (cos(q[1]) * (1 + sin(q[0])))
        assert_close(motion / motion[0], [1.0, slope, 1.0, slope, 1.0], MECHANISM)
    closed(robot, [-radians(30.0), pi / 2] * 2 + [-radians(30.0)])


def test_flyball_governor() -> None:
    """Masses by the benchmark's table; and the spin that holds the arms of a rigid one at an angle.

    Then, on each side, the centrifugal forces do as much work as the weights of arm, ball, coupler and half of the
    slider.
    """
    stiff = on.load("flyball-governor")
    closed(stiff, robots.positions("flyball-governor")["assembled"])
    masses = {b.name: b.mass for b in stiff.bodies}
    assert masses["shaft"] == pytest.approx(0.3) and masses["slider"] == pytest.approx(3.0)
    assert masses["left_arm"] == masses["right_arm"] == pytest.approx(5.3)
    assert stiff.mass == pytest.approx(0.3 + 3.0 + 2 * 5.3 + 2 * 0.15)
    assert stiff.joint("left_piston_joint").stiffness == (8e5,)
    assert stiff.joint("right_piston_joint").rest == (0.5,)
    assert_close(
        stiff.passive_force(robots.positions("flyball-governor")["assembled"], np.zeros(8)), np.zeros(8), ROUNDING
    )

    rigid = on.Robot.of(flyball_governor.flyball_governor(rigid=True).build())
    for degrees in (20.0, 30.0, 75.0):
        alpha = radians(degrees)
        q = np.array(flyball_governor.assembled_position(alpha, rigid=True))
        closed(rigid, q)
        assert rigid.mobility(q).freedoms == 2
        c, s = cos(alpha), sin(alpha)
        arm, coupler = (m * (l * l / 4 + (l * l - 0.01**2) / 12) for m, l in ((0.3, 1.0), (0.15, 0.5)))
        pull = (5.0 + arm + coupler) * c * s  # arms and couplers both have an end on the shaft
        weight = G * c * (0.3 * 0.5 + 5.0 + 0.15 * 0.75 + 3.0 / 2)
        spin = sqrt(weight / pull)
        v = np.array(flyball_governor.initial_velocity(spin, rigid=True))
        a = rigid.forward_dynamics(q, v, np.zeros(6))
        assert_close(a, np.zeros(6), MECHANISM)
