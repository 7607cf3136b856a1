"""States of a grasp that do not fit are errors that name contact and arm, how much, the state, and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import InconsistentStateError
from tests.grasping.systems import KINDS, arm, moving, system

Y = (0.0, 1.0, 0.0)


def state_of(name: str) -> tuple[on.Grasp, Any]:
    grasp, q = system(name)
    return grasp, moving(grasp, q)


def ask(grasp: on.Grasp, s: Any, **changed: Any) -> Any:
    """Forward dynamics of a state in which something is replaced."""
    given = {"q": s.q, "v": s.v, "pose": s.pose, "velocity": s.velocity, **changed}
    q, v, check = given.pop("q"), given.pop("v"), given.pop("check", True)
    return grasp.forward_dynamics(q, v, np.zeros(grasp.nv), **given, check=check)


SLOW = ("mixed", "few", "few-fixed")
"""Arms that take long to compile."""


@pytest.mark.parametrize("name", [pytest.param(x, marks=[pytest.mark.slow] * (x in SLOW)) for x in KINDS])
def test_tips_that_are_off_the_object_or_move_against_it_are_errors(name):
    grasp, s = state_of(name)
    assert np.isfinite(ask(grasp, s).forces).all()
    contact = "|".join(repr(c.name) for c in grasp.contacts)
    first = [s.q[0] + 0.05, *s.q[1:]]
    told = rf"contact ({contact}) of arm .* off the object by .* m and .* rad.*tolerance is 0\.001.*grasp\.project"
    with pytest.raises(InconsistentStateError, match=told):
        ask(grasp, s, q=first)
    against = rf"contact ({contact}) of arm .* moves against the object at .* m/s and .* rad/s.*tolerance is 0\.001"
    with pytest.raises(InconsistentStateError, match=against):
        ask(grasp, s, v=[s.v[0] + 0.1, *s.v[1:]])
    state = grasp.state(first, s.v, s.pose, s.velocity)
    with pytest.raises(InconsistentStateError, match=r"^grasp\.forward_dynamics: contact"):
        grasp.dynamics(state, np.zeros(grasp.nv))
    loose = grasp.dynamics(state, np.zeros(grasp.nv), check=False)
    np.testing.assert_array_equal(loose.forces, ask(grasp, s, q=first, check=False).forces)


@pytest.mark.parametrize("name", ["rigid", pytest.param("mixed", marks=pytest.mark.slow), "fingers", "points"])
def test_mistaken_frames_are_found(name):
    """A pose and a velocity in the object's axes, not the world's; a place that is two millimetres per metre off."""
    grasp, s = state_of(name)
    R = s.pose[:3, :3]
    with pytest.raises(InconsistentStateError, match="moves against the object"):
        ask(grasp, s, velocity=np.concatenate([R.T @ s.velocity[:3], R.T @ s.velocity[3:]]))
    with pytest.raises(InconsistentStateError, match="off the object"):
        ask(grasp, s, pose=np.linalg.inv(s.pose))
    X = s.pose.copy()
    X[:3, 3] += [2e-3 * grasp.sizes.length.max(), 0.0, 0.0]
    with pytest.raises(InconsistentStateError, match="off the object"):
        ask(grasp, s, pose=X)
    X[:3, 3] = s.pose[:3, 3] + [1e-4 * grasp.sizes.length.min(), 0.0, 0.0]
    assert np.isfinite(ask(grasp, s, pose=X).forces).all()


def test_the_first_state_of_a_batch_that_does_not_fit_is_named():
    grasp, s = state_of("rigid")
    q = [np.tile(x, (2, 3, 1)) for x in s.q]
    assert ask(grasp, s, q=q).forces.shape == (2, 3, 3, 6)
    q[1][1, 1] += 0.1
    q[1][1, 2] += 0.1
    with pytest.raises(InconsistentStateError, match=r"does not fit in state \(1, 1\) of the batch, the first of 2"):
        ask(grasp, s, q=q)
    v = [np.tile(x, (3, 1)) for x in s.v]
    v[2][2] += 0.1
    with pytest.raises(InconsistentStateError, match=r"47-3' does not fit in state 2 of the batch: the tip moves"):
        ask(grasp, s, v=v)


def test_where_the_object_is_does_not_follow_from_tips_that_contradict_each_other():
    grasp, s = state_of("rigid")
    bad = [s.q[0] + 0.05, *s.q[1:]]
    forces = np.zeros((3, 6))
    calls: dict[str, Any] = {
        "object_pose": lambda **c: grasp.object_pose(bad, **c),
        "object_velocity": lambda **c: grasp.object_velocity(bad, s.v, **c),
        "omega": lambda **c: grasp.omega(bad, **c),
        "grasp_matrix": lambda **c: grasp.grasp_matrix(bad, **c),
        "distribute": lambda **c: grasp.distribute(np.ones(6), bad, **c),
        "internal_forces": lambda **c: grasp.internal_forces(forces, bad, **c),
        "internal_basis": lambda **c: grasp.internal_basis(bad, **c),
        "monitor": lambda **c: grasp.monitor(forces, bad, **c),
    }
    for name, call in calls.items():
        with pytest.raises(InconsistentStateError, match=rf"^grasp\.{name}: contact .* off the object"):
            call()
        call(check=False)
        call(check=1.0)
    np.testing.assert_allclose(grasp.object_pose(s.q), s.pose, atol=1e-9)
    with pytest.raises(InconsistentStateError, match=r"^grasp\.object_velocity: contact .* moves against the object"):
        grasp.object_velocity(s.q, np.ones(grasp.nv))


@pytest.mark.slow
def test_arms_with_open_loops_are_named():
    pin = on.Revolute(Y)
    bar = {"mass": 0.5, "com": (0.2, 0, 0), "inertia": (0.001, 0.01, 0.01)}
    crane = on.Builder("crane").body("post")
    crane.body("crank", parent="post", joint=pin, at=(0, 0, 0.5), **bar)
    crane.body("beam", parent="crank", joint=pin, at=(0.4, 0, 0), **bar)
    crane.body("rocker", parent="post", joint=pin, at=(0, 0, 0.3), **bar)
    crane.loop("elbow", pin, "beam", "rocker", at=(0, 0, -0.2), child_at=(0.4, 0, 0))
    robot = crane.frame("hook", "beam", at=(0.3, 0, 0)).build()
    lift = on.grasp([(robot, "hook")], (2.0, (0, 0, 0), (0.1, 0.1, 0.1)))
    rest = np.zeros(3)
    assert np.isfinite(lift.forward_dynamics(rest, rest, rest).forces).all()
    with pytest.raises(InconsistentStateError, match=r"arm 'crane': loop 'elbow' of 'crane' is open by .* m"):
        lift.forward_dynamics([0.0, 0.0, 0.3], rest, rest)
    with pytest.raises(InconsistentStateError, match=r"arm 'crane': velocities do not keep loop 'elbow'"):
        lift.forward_dynamics(rest, [1.0, 0.0, 0.0], rest)
    assert np.isfinite(lift.forward_dynamics(rest, [1.0, 0.0, 0.0], rest, check=False).forces).all()


def test_single_precision_and_what_is_not_a_number():
    grasp, s = state_of("rigid")
    single = [x.astype(np.float32) for x in s.q]
    assert np.isfinite(ask(grasp, s, q=single).forces).all()
    with pytest.raises(InconsistentStateError, match=r"tolerance is 0\.002"):
        ask(grasp, s, q=[single[0] + np.float32(0.1), *single[1:]])
    v = [s.v[0] * np.nan, *s.v[1:]]
    np.testing.assert_array_equal(
        np.isnan(ask(grasp, s, v=v).accelerations[0]), np.isnan(ask(grasp, s, v=v, check=False).accelerations[0])
    )


@pytest.mark.parametrize("name", ["rigid", "few-fixed"])
def test_the_check_changes_no_answer(name):
    grasp, s = state_of(name)
    with_it, without = (ask(grasp, s, check=check) for check in (True, False))
    np.testing.assert_array_equal(with_it.forces, without.forces)
    np.testing.assert_array_equal(with_it.object_acceleration, without.object_acceleration)


@pytest.mark.parametrize("project", [True, False])
def test_runs_start_from_states_that_fit(project):
    two = on.grasp([(arm(7), "tool")] * 2, (2.0, (0, 0, 0), (0.1, 0.1, 0.1)), q=[np.full(7, 0.3)] * 2)
    with pytest.raises(InconsistentStateError, match=r"contact .* off the object by .*tolerance is 1e-06"):
        two.simulate([np.full(7, 0.3), np.full(7, 0.35)], until=0.01, project=project)
    with pytest.raises(InconsistentStateError, match=r"contact .* moves against the object .*tolerance is 1e-06"):
        two.simulate([np.full(7, 0.3)] * 2, np.arange(14.0), until=0.01, project=project)


def test_a_run_does_not_move_a_fixed_object():
    grasp = on.grasp([(arm(7), "tool")], None, q=[np.full(7, 0.3)])
    with pytest.raises(on.ArgumentError, match=r"fixed at the `pose` given to on\.grasp"):
        grasp.simulate([np.full(7, 0.3)], until=0.01, pose=(0.1, 0.0, 0.0))
