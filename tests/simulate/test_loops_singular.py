"""Runs that start at singular positions, or strike a stop exactly there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.simulate.constraints.loop_rows import LoopMechanism
from ordern.simulate.forces import External, applied
from ordern.simulate.run.problem import Problem

HINGE = on.Revolute((0, 1, 0))
ON_LINE = on.PointOnLine((0, 1, 0))


def bar(length: float) -> dict[str, Any]:
    return {"mass": length, "com": (length / 2, 0, 0), "inertia": (1e-4, length**3 / 12, length**3 / 12)}


def beam(*places: float) -> on.Robot:
    """A beam of 1 m on a crank at 0 and further ones: all but one of them are redundant, and none where it is flat."""
    builder = on.Builder("beam").body("ground").body("crank0", parent="ground", joint=HINGE, **bar(0.4))
    builder.body("beam", parent="crank0", joint=HINGE, at=(0.4, 0, 0), **bar(1.0))
    for k, x in enumerate(places, 1):
        builder.body(f"crank{k}", parent="ground", joint=HINGE, at=(x, 0, 0), **bar(0.4))
        builder.loop(f"pin{k}", ON_LINE, f"crank{k}", "beam", at=(0.4, 0, 0), child_at=(x, 0, 0))
    return builder.build()


@pytest.mark.slow
@pytest.mark.parametrize("places", [(1.0,), (0.5, 1.0), (0.3, 0.6, 1.0)])
def test_a_flat_beam_on_cranks_swings(places: tuple[float, ...]) -> None:
    """Motions that lead on are none of those that a basis of first-order freedoms happens to have."""
    robot = beam(*places)
    way = np.array([1.0, -1.0, *np.ones(len(places))])
    flat = robot.mobility(np.zeros(robot.nv))
    assert (flat.freedoms, flat.singular, flat.locked) == (2, True, False)
    exact, beside = (robot.simulate(e * way, 3.0 * way, until=[0.0, 0.3]) for e in (0.0, 1e-6))
    assert exact.report.loops is not None
    assert exact.report.loops.rank == robot.nv - 1
    assert exact.report.energy_drift < 1e-10
    assert np.abs(exact.q[-1] - beside.q[-1]).max() < 1e-5
    fallen = robot.simulate(0.0 * way, until=[0.0, 0.3])
    assert fallen.report.energy_drift < 1e-6
    assert abs(fallen.q[-1, 0]) > 0.3


@pytest.mark.slow
def test_a_grasp_of_three_cranks_swings_too() -> None:
    crank = on.Builder("crank").body("ground").body("bar", parent="ground", joint=HINGE, **bar(0.4))
    arm = crank.frame("tip", "bar", at=(0.4, 0, 0)).build()
    pose = on.Placement.xyz_rpy((0.9, 0, 0)).matrix
    q = [[0.0]] * 3
    grasp = on.grasp(
        [(arm, "tip")] * 3,
        (1.0, (0, 0, 0), (0.01, 0.1, 0.1)),
        on.contacts.Hinge(axis=(0, 1, 0)),
        bases=[(0, 0, 0), (0.5, 0, 0), (1, 0, 0)],
        q=q,
        pose=pose,
    )
    result = grasp.simulate(q, [[3.0]] * 3, until=0.2, pose=pose, velocity=[0, 0, 0, 0, 0, -1.2])
    assert result.report.stopped == "end"
    assert result.report.energy_drift < 1e-8
    assert np.abs(result.q[:, 0] - result.q[:, 2]).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("closure", [HINGE, ON_LINE])
def test_a_stop_that_is_struck_where_all_is_flat(closure: on.Joint) -> None:
    """Whether the loop is closed by a hinge, with three redundant constraints, or without: the same blow."""
    builder = on.Builder("flat").body("ground")
    builder.body("one", parent="ground", joint=HINGE, lower=-1.5, upper=0.0, **bar(0.4))
    builder.body("beam", parent="one", joint=HINGE, at=(0.4, 0, 0), **bar(1.0))
    builder.body("two", parent="ground", joint=HINGE, at=(1, 0, 0), **bar(0.4))
    robot = builder.loop("pin", closure, "two", "beam", at=(0.4, 0, 0), child_at=(1, 0, 0)).build()
    way = {"limits": "bounce", "restitution": 0.8}
    result = robot.simulate([-1.0, 1.0, -1.0], until=0.9, **way)
    assert result.report.impacts == 2
    assert result.report.energy_drift < 1e-10
    assert np.abs(result.q[:, 0] - result.q[:, 2]).max() < 1e-6  # on the branch that it came by
    first = result.events[0]
    *_, before, after = np.flatnonzero(result.t == first.time)
    assert result.v[after] == pytest.approx(-0.8 * result.v[before], rel=1e-5)
    slow = robot.simulate(np.zeros(3), [-3.0, 3.0, -3.0], until=0.5, limits="bounce", restitution=0.5)
    assert slow.report.stopped == "end"
    assert slow.report.steps < 1000
    assert slow.report.energy_drift < 1e-4


@pytest.mark.slow
def test_what_stands_still_has_no_drift() -> None:
    builder = on.Builder("truss").body("ground").body("left", parent="ground", joint=HINGE, **bar(0.5))
    builder.body("right", parent="left", joint=HINGE, at=(0.5, 0, 0), **bar(0.5))
    robot = builder.loop("pin", ON_LINE, "ground", "right", at=(0.7, 0, 0), child_at=(0.5, 0, 0)).build()
    result = robot.simulate(robot.assemble([0.8, -1.5]).q, until=0.5)
    assert result.report.energy_drift < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("start", [-0.03, -0.1, -0.15, -0.2, -0.22, -0.25])
def test_every_passage_is_told(start: float) -> None:
    """Also one in the second step, which is long."""
    chain = on.load("four-bar-chain-1")
    way = np.array([1.0, -1.0, 1.0])
    report = chain.simulate(start * way, 4.0 * way, until=0.3).report
    assert report.loops is not None
    assert len(report.loops.singular) == 1


def test_loops_without_coordinates_cannot_be_driven() -> None:
    robot = beam(1.0)
    with pytest.raises(on.ArgumentError, match=r"'pin1' of 'beam' has no coordinate of its own"):
        robot.actuation([0.5, -0.5, 0.5], np.zeros(3), np.zeros(3), ["pin1"])


def at_flat() -> tuple[Problem, np.ndarray]:
    """The equations of a beam on two cranks with a bob, and the motion along which it is singular at zero: flat."""
    builder = beam(1.0).builder()
    robot = builder.body("bob", parent="beam", joint=HINGE, at=(0.3, 0, 0), **bar(0.5)).build()
    problem = Problem(robot, applied(robot, None), External(robot, None), mechanism=LoopMechanism(robot))
    turns = {"crank0": 1.0, "beam": -1.0, "crank1": 1.0, "bob": 0.0}
    way = np.array([turns[body.name] for body in robot.bodies])
    problem.close(problem.closed, q=0.5 * way)
    return problem, way


def test_the_forces_at_a_singular_position_do_no_work() -> None:
    """Weak constraints act there by forces that are constant, not orthogonal to the motion."""
    problem, way = at_flat()
    q, v, push, force = 1e-6 * way, 4.0 * way, 3.0 * way, np.array([0.4, 0.1, -0.3, 0.2])
    problem.cross(problem.usual.rank - 1, push, np.zeros(problem.now.nc))
    a = problem.free_dynamics(q, v, force, 0.0)
    assert push @ v > 20.0
    assert abs((problem.robot.inverse_dynamics(q, v, a) - force) @ v) < 1e-9


def test_an_impact_at_a_singular_position_is_the_limit_along_the_motion() -> None:
    """From four positions beside it, to fourth order in their distance."""
    problem, way = at_flat()

    def response(h: float) -> np.ndarray:
        problem.beside = h * np.array([[-2.0], [-1.0], [1.0], [2.0]]) * way
        return problem.response(np.zeros(4), np.array([0.3, -1.0, 0.7, 0.4]), 0.0)

    exact = response(2e-3)
    errors = [np.abs(response(h) - exact).max() for h in (0.1, 0.05)]
    assert 3.5 < np.log2(errors[0] / errors[1]) < 4.5
