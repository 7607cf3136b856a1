"""Mechanisms and a grasp beside MuJoCo in motion, with constraints that are made stiffer and stiffer there.

With time constants of two steps, a constraint that MuJoCo keeps by springs is open by the square of the step. So the
motion differs from that of a rigid mechanism by the square of the step too, until rounding is all that is left.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.grasping.as_one_robot import to_whole
from ordern.robots.mechanisms import (
    andrews_squeezer,
    bricard,
    delta_robot,
    double_parallelogram,
    five_bar,
    flyball_governor,
    four_bar,
    four_bar_chain,
    slider_crank,
    spatial_slider_crank,
    stewart_platform,
)
from tests.loops.mujoco_twin import Twin
from tests.tolerances import HARD_PEER, LOOP_CLOSED, STIFF_MOTION

UNTIL = 0.3
STEPS = (1e-3, 5e-4, 2.5e-4)
SETTLED = 1e-9
"""Differences below this are those of our own tolerances, and need not shrink."""
BALL = on.Spherical()


def _bricard(closure: on.Joint) -> on.Builder:
    """Its last hinge as two balls along its axis."""
    builder = bricard.bricard(closure=closure)
    (loop,) = builder.build().loops
    step = on.Placement(position=(0.5, 0.0, 0.0))
    ends = {"at": loop.parent_placement @ step, "child_at": loop.child_placement @ step}
    return builder.loop("beside", closure, "ground", "rod5", **ends)


MECHANISMS: dict[str, Callable[..., on.Builder]] = {
    "four-bar": four_bar.four_bar,
    "slider-crank": slider_crank.slider_crank,
    "spatial-slider-crank": spatial_slider_crank.spatial_slider_crank,
    "five-bar": five_bar.five_bar,
    "stewart-platform": stewart_platform.stewart_platform,
    "delta-robot": delta_robot.delta_robot,
    "double-parallelogram": double_parallelogram.double_parallelogram,
    "bricard": _bricard,
    "four-bar-chain-4": lambda closure: four_bar_chain.four_bar_chain(4, closure=closure),
    "andrews-squeezer": andrews_squeezer.andrews_squeezer,
    "flyball-governor": flyball_governor.flyball_governor,
}
"""MuJoCo has balls and welds only; rows of a ball that a flat mechanism's pin does not have are redundant."""


@cache
def moving(name: str) -> tuple[on.Robot, np.ndarray, np.ndarray]:
    """The bundled mechanism, closed and in motion, at 2 rad/s or m/s where it is fastest."""
    robot = on.load(name)
    q = np.array(robots.positions(name)["assembled"], float)
    v = robot.project_velocity(q, np.random.default_rng(0).normal(size=robot.nv))
    return robot, q, v * (2.0 / np.abs(v).max())


def in_mujoco(name: str) -> Twin:
    """The mechanism closed by balls."""
    return Twin(on.Robot.of(MECHANISMS[name](closure=BALL).build()))


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_accelerations_in_motion(name: str) -> None:
    """With springs and dampers, where the mechanism has such (the governor)."""
    robot, q, v = moving(name)
    tau = 0.1 * np.random.default_rng(1).normal(size=robot.nv)
    a = robot.forward_dynamics(q, v, tau + robot.passive_force(q, v))
    known = in_mujoco(name).harden(1e-6).accelerations(q, v, tau)
    assert np.abs(a - known).max() < HARD_PEER * np.abs(a).max()


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in MECHANISMS if n not in ("andrews-squeezer", "flyball-governor")])
def test_motions(name: str) -> None:
    robot, q, v = moving(name)
    ours = robot.simulate(q, v, until=UNTIL)
    assert ours.report.ok
    assert np.abs(ours.q[-1] - q).max() > 0.1
    assert_approaches(robot, ours.q[-1], in_mujoco(name), q, v)


@pytest.mark.slow
def test_motion_of_a_governor_with_rigid_couplers() -> None:
    """That with springs is too stiff for explicit steps of this length."""
    robot, balls = (on.Robot.of(flyball_governor.flyball_governor(rigid=True, closure=c).build()) for c in (None, BALL))
    q = np.array(flyball_governor.assembled_position(rigid=True))
    v = np.array(flyball_governor.initial_velocity(rigid=True))
    assert_approaches(robot, robot.simulate(q, v, until=UNTIL).q[-1], Twin(balls), q, v)


def assert_approaches(robot: on.Robot, ours: np.ndarray, twin: Twin, q: np.ndarray, v: np.ndarray) -> None:
    """As the square of the step: MuJoCo's motion comes near ours, and what it tends to is ours."""
    twin.harden(1e-3)
    ends = [twin.end(q, v, UNTIL, h) for h in STEPS]
    apart = [np.abs(robot.difference(ours, x)).max() for x in ends]
    assert apart[-1] < max(apart[0] / 9.0, SETTLED), apart
    assert apart[-1] < STIFF_MOTION, apart
    limit = robot.integrate(ends[-1], robot.difference(ends[-2], ends[-1]), 1.0 / 3.0)  # Richardson's extrapolation
    assert np.abs(robot.difference(ours, limit)).max() < max(apart[-1] / 2.0, SETTLED)


# ---------------------------------------------------------------- arms that hold an object

HOLDS = {
    "welds": ((on.contacts.Rigid(), on.contacts.Rigid()), (on.Fixed(), on.Fixed())),
    "weld-and-ball": ((on.contacts.Rigid(), on.contacts.Point()), (on.Fixed(), on.Spherical())),
}


@cache
def held(how: str) -> tuple[on.Grasp, Any, on.Robot]:
    """Two arms that hold a box, a state in motion, and the same as one robot with loops, for its MJCF."""
    contacts, loops = HOLDS[how]
    arm, start = on.load("kuka-kr5"), np.array([0.3, 0.7, -0.9, 0.8, 1.0, 0.1])
    bases = [(0.0, 0.0, 0.0), ((1.2, 0.0, 0.0), (0.0, 0.0, np.pi))]
    box = (2.0, (0.0, 0.0, 0.05), (0.02, 0.03, 0.04))
    grasp = on.grasp([arm, arm], box, contacts, bases=bases, q=[start, start], pose=(0.6, 0.0, 0.3))
    builder = grasp.robot.builder()
    for one, contact, loop in zip(grasp.arms, grasp.contacts, loops, strict=True):
        (tip,) = one.tips
        hand = f"{one.name}/{one.robot.bodies[tip.body].name}"
        builder.loop(contact.name, loop, hand, grasp.object.name, at=tip.placement, child_at=contact.at)
    rng = np.random.default_rng(0)
    state = grasp.project([start, start], 0.5 * rng.normal(size=12), velocity=0.5 * rng.normal(size=6))
    robot = builder.build()
    assert np.abs(robot.loop_residual(to_whole(state)[0])).max() < LOOP_CLOSED
    return grasp, state, robot


@pytest.mark.slow
@pytest.mark.parametrize("how", HOLDS)
def test_accelerations_of_a_grasp(how: str) -> None:
    grasp, state, robot = held(how)
    (q, v), tau = to_whole(state), 5.0 * np.random.default_rng(1).normal(size=12)
    known = Twin(robot).harden(1e-10).accelerations(q, v, np.concatenate([tau, np.zeros(6)]))
    for method in ("rccfd1", "rccfd2", "rccfd3", "direct"):
        motion = grasp.dynamics(state, tau, method)
        w, u = state.velocity[:3], state.velocity[3:]
        alpha, back = motion.object_acceleration, state.R.T
        a = np.concatenate([*motion.accelerations, back @ alpha[:3], back @ (alpha[3:] - np.cross(w, u))])
        assert np.abs(a - known).max() < HARD_PEER * np.abs(a).max(), method


@pytest.mark.slow
@pytest.mark.parametrize("how", HOLDS)
def test_motions_of_a_grasp(how: str) -> None:
    grasp, state, robot = held(how)
    fall = grasp.simulate(state.q, state.v, until=UNTIL, pose=state.pose, velocity=state.velocity)
    assert fall.report.ok
    assert_approaches(grasp.robot, fall.q[-1], Twin(robot), *to_whole(state))
