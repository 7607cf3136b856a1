"""Arms that have closed loops of their own."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.grasping.maximal import Maximal
from tests.grasping.systems import arm, forces, moving
from tests.tolerances import GRASPED, KEPT_ENERGY

C = on.contacts
BAR: dict[str, Any] = {"mass": 0.6, "com": (0.2, 0.01, 0.02), "inertia": (0.01, 0.02, 0.03)}


@cache
def crane(closure: str = "hinge") -> on.Robot:
    """A turning post with a parallelogram on it, and two more joints: four freedoms in seven joints.

    Closed by a hinge the loop is redundant, with 2 of 5 rows independent; by a ball, 2 of 3.
    """
    y = on.Revolute((0, 1, 0))
    return (
        on.Builder("crane")
        .body("ground")
        .body("post", parent="ground", joint=on.Revolute((0, 0, 1)), mass=2.0, inertia=(0.1, 0.1, 0.1))
        .body("crank", parent="post", joint=y, at=(0, 0, 0.5), **BAR)
        .body("beam", parent="crank", joint=y, at=(0.4, 0, 0), **BAR)
        .body("rocker", parent="post", joint=y, at=(0, 0, 0.3), **BAR)
        .body("wrist", parent="beam", joint=on.Revolute((1, 0, 0)), at=(0.3, 0, 0), **BAR)
        .body("hand", parent="wrist", joint=on.Revolute((0, 0, 1)), at=(0.2, 0, 0), **BAR)
        .frame("tool", "hand", at=((0.1, 0.05, 0.0), (0.3, 0.2, 0.1)))
        .loop(
            "pin", y if closure == "hinge" else on.Spherical(), "beam", "rocker", at=(0, 0, -0.2), child_at=(0.4, 0, 0)
        )
        .build()
    )


def position(angle: float, *rest: float) -> np.ndarray:
    """The parallelogram at an angle; post, wrist and hand elsewhere."""
    post, wrist, hand = rest
    return np.array([post, angle, -angle, wrist, hand, angle])


def pair(kinds: Any, closure: str = "hinge", held: Any = (2.0, (0.1, 0.0, 0.05), (0.1, 0.2, 0.15))) -> Any:
    """Two cranes and a chain of seven joints that hold one object."""
    rng = np.random.default_rng(5)
    q = [position(0.3, 0.2, 1.3, -0.3), position(-0.4, -0.3, 1.1, 0.5), arm(7).random(rng)]
    arms = [(crane(closure), "tool"), (crane(closure), "tool"), (arm(7), "tool")]
    bases = [(0, 0, 0), ((1.0, 0.4, 0.1), (0, 0, 2.5)), ((0.5, -0.5, 0.0), (0, 0, 1.0))]
    contacts = [k() for k in kinds]
    return on.grasp(arms, held, contacts, bases=bases, q=q, pose=(0.5, 0.2, 0.6), gravity=(0, 0, -9.81)), q


def same(a: np.ndarray, b: np.ndarray) -> None:
    assert np.abs(a - b).max() <= GRASPED * max(1.0, np.abs(b).max())


@pytest.mark.slow
@pytest.mark.parametrize("closure", ["hinge", "ball"])
@pytest.mark.parametrize("kinds", [(C.Point, C.Point, C.Rigid), (C.Rigid, C.Rigid, C.Hinge), (C.SoftFinger,) * 3])
def test_against_maximal_coordinates(kinds: Any, closure: str) -> None:
    for held in ((2.0, (0.1, 0.0, 0.05), (0.1, 0.2, 0.15)), None):
        grasp, q = pair(kinds, closure, held)
        state, (tau, wrench) = moving(grasp, q), forces(grasp)
        truth = Maximal(grasp, list(state.q), list(state.v), state.pose, state.velocity).solve(
            [tau[a.v] for a in grasp.arms], wrench
        )
        assert truth["violation"] < GRASPED  # of loops and contacts: the library made the velocities fit
        load = wrench if held else None
        for more in ({}, {"solver": "dense"}, {"arm_method": "kkt"}, {"arm_method": "null-space"}):
            motion = grasp.dynamics(state, tau, wrench=load, **more)
            same(np.concatenate(motion.accelerations), np.concatenate(truth["accelerations"]))
            same(motion.object_acceleration, truth["object"])
            assert motion.rank == truth["rank"]
            assert motion.residual < GRASPED
            if motion.rank == motion.rows and held:
                f = motion.forces
                same(np.concatenate([f[:, :3] + np.cross(state.levers, f[:, 3:]), f[:, 3:]], axis=1), truth["forces"])


@pytest.mark.slow
def test_a_coupling_does_as_a_joint_that_follows() -> None:
    """The same arm twice: by a joint that follows another, and by a coupling, which is a constraint."""

    def finger(coupled: bool) -> on.Robot:
        y, b = on.Revolute((0, 1, 0)), on.Builder("finger").body("palm")
        b.body("a", parent="palm", joint=y, joint_name="a", **BAR)
        b.body(
            "b", parent="a", joint=y, joint_name="b", at=(0.4, 0, 0), mimic=None if coupled else ("a", 0.5, 0.1), **BAR
        )
        b.body("c", parent="b", joint=on.Prismatic((1, 0, 0)), joint_name="c", at=(0.3, 0, 0), **BAR)
        return b.couple("tendon", "b", "a", (0.1, 0.5)).build() if coupled else b.build()

    found = []
    for coupled in (False, True):
        q = [[0.4, 0.3, 0.05] if coupled else [0.4, 0.05]] * 2
        v, tau = ([[0.2, 0.1, 0.3]] * 2, [[1.0, 0.0, 2.0]] * 2) if coupled else ([[0.2, 0.3]] * 2, [[1.0, 2.0]] * 2)
        bases = [(0, 0, 0), ((1.0, 0.3, 0), (0, 0, 3.0))]
        grasp = on.grasp([finger(coupled)] * 2, (1.0, (0, 0, 0), (0.1, 0.1, 0.1)), C.Point(), bases=bases, q=q)
        motion = grasp.forward_dynamics(q, v, tau, pose=np.eye(4), velocity=np.full(6, 0.1), check=False)
        a = [x[[0, 2]] if coupled else x for x in motion.accelerations]
        found.append(np.concatenate([*a, motion.object_acceleration, motion.forces.ravel()]))
    same(found[1], found[0])


@pytest.mark.slow
def test_methods_for_trees_are_refused_by_name() -> None:
    grasp, q = pair((C.Rigid,) * 3)
    state, (tau, _) = moving(grasp, q), forces(grasp)
    for method in ("rccfd1", "rccfd2", "rccfd3", "rccfd-fd4"):
        with pytest.raises(on.ArgumentError, match=rf"{method}.*'crane-1'.*loops.*\(pin\).*'general'"):
            grasp.dynamics(state, tau, method)
    for method in ("direct", "reduced", "closed-form", "appendix-b"):
        with pytest.raises(on.ArgumentError, match=rf"{method}.*'crane-1'.*\(pin\).*'general'"):
            grasp.dynamics(state, tau, method)
    with pytest.raises(on.ArgumentError, match=r"'composite-body' is for trees.*'crane-1'.*\(pin\).*multipliers"):
        grasp.dynamics(state, tau, arm_method="composite-body")
    with pytest.raises(on.ArgumentError, match=r"'kkt' is for method='general'"):
        grasp.dynamics(state, tau, "rccfd2", arm_method="kkt")
    tree = on.grasp([(arm(7), "tool")], None)
    with pytest.raises(on.ArgumentError, match="'kkt' is for arms with closed loops"):
        tree.forward_dynamics(np.zeros(7), np.zeros(7), np.zeros(7), arm_method="kkt")


@pytest.mark.slow
def test_loops_that_are_open_are_named() -> None:
    q = [position(0.3, 0.2, 0.4, -0.3)]
    off = [q[0] + np.array([0, 0, 0.01, 0, 0, 0])]
    with pytest.raises(on.ArgumentError, match=r"'crane'.*loop 'pin'.*open by.*assemble"):
        on.grasp([(crane(), "tool")], (1.0, (0, 0, 0), (0.1,) * 3), q=off)
    grasp = on.grasp([(crane(), "tool")], (1.0, (0, 0, 0), (0.1,) * 3), q=q)
    with pytest.raises(on.ArgumentError, match=r"grasp.simulate: arm 'crane'.*loop 'pin'.*open by"):
        grasp.simulate(off, until=0.1)
    closed = grasp.project(off)
    assert np.abs(grasp.arms[0].robot.loop_residual(closed.q[0])).max() < 1e-12
    driven = crane().builder().loop("drive", on.Driven(on.Prismatic((0, 0, 1)), (0.0, 0.1)), "ground", "hand").build()
    with pytest.raises(on.ArgumentError, match="loop 'drive' of arm 'crane' is driven by time"):
        on.grasp([(driven, "tool")], None, q=q)


@pytest.mark.slow
def test_energy_loops_and_contacts_are_kept() -> None:
    grasp, q = pair((C.Rigid, C.Point, C.Point))
    result = grasp.simulate(q, until=0.3, rtol=1e-9, atol=1e-9)
    assert result.report.ok
    assert result.report.energy_error < 10.0 * KEPT_ENERGY * result.report.kinetic
    assert result["residual"].max() < 1e-11
    for name in ("crane-1/pin", "crane-2/pin"):
        assert np.abs(result.loop_residuals[name]).max() < 1e-11
    t = np.linspace(0.0, 0.3, 41)
    between, _ = result.at(t)
    assert np.abs(result.robot.loop_residual(between)).max() < 1e-11


@pytest.mark.slow
def test_a_crane_that_holds_falls_as_one_robot() -> None:
    """The same closed mechanism as one robot with a loop: the object is a body that is fixed to the hand."""
    q = position(0.3, 0.2, 0.4, -0.3)
    block = (2.0, (0.1, 0.0, 0.05), (0.1, 0.2, 0.15))
    grasp = on.grasp([(crane(), "tool")], block, q=[q])
    X = crane().pose(q, "hand")
    at = on.Placement.of(X[:3, :3], X[:3, 3]).inverse
    mass, com, inertia = block
    whole = (
        crane()
        .builder()
        .body("block", parent="hand", joint=on.Fixed(), at=at, mass=mass, com=com, inertia=inertia)
        .build()
    )
    t = [0.0, 0.25, 0.5]  # at 0.355 s the parallelogram is flat
    result, truth = (f(x, until=t, rtol=1e-10, atol=1e-10) for f, x in ((grasp.simulate, [q]), (whole.simulate, q)))
    off = np.abs(result.q[:, :6] - truth.q).max(axis=1)
    assert off[1] < 1e-8
    assert off[2] < 1e-6
    (passed,), (theirs,) = result.report.loops.singular, truth.report.loops.singular
    assert passed.time == pytest.approx(theirs.time, abs=1e-6)
    assert (passed.usual - passed.rank, theirs.usual - theirs.rank) == (1, 1)


@pytest.mark.slow
def test_limits_of_a_joint_that_closes_a_loop_act() -> None:
    """The pin of the parallelogram strikes its stop, and rests on it in the end, as in one robot with a loop."""
    q = position(0.3, 0.2, 0.4, -0.3)
    block = (2.0, (0.1, 0.0, 0.05), (0.1, 0.2, 0.15))
    limited = on.Robot.of(replace(crane(), loops=(replace(crane().loops[0], lower=(-0.6,), upper=(0.6,)),)))
    X = limited.pose(q, "hand")
    at = on.Placement.of(X[:3, :3], X[:3, 3]).inverse
    mass, com, inertia = block
    hand = {"mass": mass, "com": com, "inertia": inertia}
    whole = limited.builder().body("block", parent="hand", joint=on.Fixed(), at=at, **hand).build()
    way = {"until": [0.0, 0.3, 0.55], "limits": "bounce", "restitution": 0.5}
    result = on.grasp([(limited, "tool")], block, q=[q]).simulate([q], **way)
    truth = whole.simulate(q, **way)
    assert result.report.impacts == truth.report.impacts > 5
    assert np.abs(result.q[:, :6] - truth.q).max() < 1e-9
    assert result.events[0].time == pytest.approx(truth.events[0].time, abs=1e-9)
    assert "limit of crane/pin" in result.events[0].name
    assert result.robot.loop_coordinates(result.q[-1])[0] == pytest.approx(0.6, abs=1e-9)
