"""One rule for the steps of rollouts: limits, damping, gains and dry friction act with and without contacts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.tolerances import FINITE_DIFFERENCE, METHODS, ROUNDING, assert_close

DT = 4e-3
FAR = on.Ground(0.5, height=-50.0)


def finger(**terms: Any) -> on.Robot:
    """Return a light link on a revolute joint, between limits."""
    b = on.Builder("finger").body("base").body("link", mass=0.1, com=(0.1, 0, 0), inertia=(1e-4, 1e-4, 1e-4))
    return b.joint("knuckle", on.Revolute((0, 1, 0)), "base", "link", **{"lower": -0.5, "upper": 1.0, **terms}).build()


@pytest.mark.parametrize(
    "terms", [{}, {"damping": 50.0}, {"friction": 0.05}, {"lower": -np.inf, "upper": np.inf}, {"stiffness": 0.3}]
)
@pytest.mark.parametrize("fed", [False, True])
def test_a_distant_ground_changes_nothing(terms: dict[str, float], fed: bool) -> None:
    robot = finger(**terms)
    more: dict[str, Any] = {"feedback": (300.0, 20.0, np.array([0.3]))} if fed else {}
    here = robot.rollout([0.2], [3.0], steps=200, dt=DT, **more)
    there = robot.with_contacts(FAR, points={"link": 0.01}).rollout([0.2], [3.0], steps=200, dt=DT, **more)
    assert_close(here.q, there.q, METHODS)
    assert not here.diverged and here.notes == ()


def test_stiff_gains_and_damping_are_stable() -> None:
    run = finger(damping=1e3).rollout([0.2], [3.0], steps=500, dt=DT, feedback=(1e5, 1e3, np.array([0.3])))
    assert np.abs(run.v).max() < 5.0 and abs(run.q[-1, 0] - 0.3) < 0.01


def test_joints_stop_at_their_limits() -> None:
    run = finger().rollout([[0.2], [0.9]], [[0.0], [40.0]], steps=300, dt=DT)
    assert run.q.max() < 1.0 + 1e-9 and not run.uncertified.any()
    assert_close(run.q[:, -1], np.ones((2, 1)), METHODS)  # gravity pulls down, which is up for the angle
    weight = 0.1 * 9.81 * 0.1 * np.cos(1.0)
    assert_close(run.stop_impulses[:, -1] / DT, np.full((2, 1), -weight), METHODS)


def test_limits_may_be_ignored() -> None:
    robot = finger()
    assert robot.rollout([0.2], [0.0], steps=300, dt=DT, limits="ignore").q.max() > 1.5
    touching = robot.with_contacts(FAR, points={"link": 0.01})
    assert touching.rollout([0.2], [0.0], steps=300, dt=DT, limits="ignore").q.max() > 1.5
    loose = robot.with_contacts(FAR, points={"link": 0.01}, limits=False)
    assert loose.rollout([0.2], [0.0], steps=300, dt=DT).q.max() > 1.5
    assert loose.rollout([0.2], [0.0], steps=300, dt=DT, limits="active").q.max() < 1.0 + 1e-9


def test_a_start_outside_is_pushed_back_slowly() -> None:
    run = finger().rollout([1.4], [0.0], steps=400, dt=DT)
    assert np.abs(run.v).max() <= 1.0 + 1e-9 and abs(run.q[-1, 0] - 1.0) < 1e-3
    assert run.uncertified[1] and not run.uncertified[-1]


def test_dry_friction_holds_and_brakes() -> None:
    held = finger(friction=0.2, lower=-9.0, upper=9.0).rollout([0.0], [0.0], steps=500, dt=DT)
    assert np.abs(held.q).max() < 1e-12  # gravity pulls with 0.098 N m
    b = on.Builder("wheel", gravity=(0, 0, 0)).body("base").body("rim", mass=1.0, inertia=(1.0, 1.0, 1.0))
    wheel = b.joint("axle", on.Revolute((0, 0, 1)), "base", "rim", friction=0.5).build()
    run = wheel.rollout([0.0], [1.0], steps=1000, dt=DT)  # stops after 2 s and 1 rad
    assert abs(run.q[-1, 0] - 1.0) < DT and np.abs(run.v[510:]).max() < 1e-12


def test_steps_with_explicit_forces_say_so() -> None:
    robot = finger(damping=0.1)
    run = robot.rollout([0.2], [0.0], steps=3, method="rk4")
    assert any("limits do not act" in x and "'knuckle'" in x for x in run.notes)
    assert any("explicit forces" in x and "damping" in x for x in run.notes)
    with pytest.raises(on.ArgumentError, match=r"limits='active' is not possible.*method='rk4'"):
        robot.rollout([0.2], [0.0], steps=3, method="rk4", limits="active")
    with pytest.raises(on.UnknownNameError, match="limits"):
        robot.rollout([0.2], [0.0], steps=3, limits="stop")


@pytest.mark.parametrize("steps", [20, 120])
def test_derivatives_with_and_without_limits_reached(steps: int) -> None:
    robot, e = finger(damping=0.01), 1e-6
    run = robot.rollout([0.2], [1.0], steps=steps, dt=DT)
    assert (run.stop_impulses != 0.0).any() == (steps == 120)
    ends = [robot.rollout([0.2], [1.0 + s * e], steps=steps, dt=DT).q for s in (1, -1)]
    assert_close(run.jvp(v0=np.ones(1)).q, (ends[0] - ends[1]) / (2 * e), FINITE_DIFFERENCE)
    weights = np.ones_like(run.q)
    assert_close(run.vjp(q=weights).v0, (ends[0] - ends[1]).sum(0) / (2 * e), 1e2 * FINITE_DIFFERENCE)


@pytest.mark.slow
@pytest.mark.needs("jax")
@pytest.mark.parametrize("more", [{}, {"limits": "ignore"}])
def test_other_libraries_take_the_same_steps(more: dict[str, Any]) -> None:
    import jax
    import torch

    from tests.worlds.jax_precision import precision

    robot = finger(damping=0.1, friction=0.01)
    expected = robot.rollout([0.2], [3.0], steps=100, dt=DT, **more)
    q, v = torch.tensor([0.2], dtype=torch.float64), torch.tensor([3.0], dtype=torch.float64)
    v.requires_grad_()
    found = robot.rollout(q, v, steps=100, dt=DT, **more).q
    assert_close(found.detach().numpy(), expected.q, ROUNDING)
    found[-1].sum().backward()
    with precision(True):
        roll = lambda v: robot.rollout(jax.numpy.array([0.2]), v, steps=100, dt=DT, **more).q  # noqa: E731
        assert_close(np.asarray(roll(jax.numpy.array([3.0]))), expected.q, METHODS)
        slope = jax.grad(lambda v: roll(v)[-1, 0])(jax.numpy.array([3.0]))
    assert_close(np.asarray(slope), v.grad.numpy(), METHODS)


def test_events_are_found_in_implicit_steps() -> None:
    lands = on.Event(lambda t, q, v: q[0] - 0.7, name="lands", terminal=True)
    run = finger(damping=0.01).rollout([0.2], [0.0], steps=400, dt=1e-3, events=[lands])
    fine = finger(damping=0.01).simulate([0.2], until=1.0, events=[lands])
    assert abs(run.events["lands"].time - fine.events[0].time) < 2e-3 and abs(run.q[-1, 0] - 0.7) < 1e-9


def test_float32_and_varied_parameters() -> None:
    single = finger().rollout(np.float32([0.2]), np.float32([3.0]), steps=200, dt=DT)
    assert single.q.dtype == np.float32 and single.q.max() < 1.0 + 1e-5
    many = finger(damping=0.1).vary(damping=np.array([[0.01], [10.0]]))
    run = many.rollout([0.2], [3.0], steps=50, dt=DT)
    one = finger(damping=10.0).rollout([0.2], [3.0], steps=50, dt=DT)
    assert_close(run.q[1], one.q, METHODS)


def test_plain_euler_has_explicit_forces() -> None:
    robot, q, v = finger(damping=2.0), np.array([0.2]), np.array([3.0])
    run = robot.rollout(q, v, steps=1, dt=DT, method="plain-euler")
    after = v + DT * robot.forward_dynamics(q, v, -2.0 * v)
    assert_close(run.v[1], after, ROUNDING)
    assert_close(run.q[1], q + DT * after, ROUNDING)
    assert any("damping" in note for note in run.notes) and any("limits" in note for note in run.notes)
    with pytest.raises(on.ArgumentError, match="'plain-euler'"):
        robot.rollout(q, v, steps=1, method="plain-euler", limits="active")


@pytest.mark.parametrize("method", ["semi-implicit-euler", "plain-euler"])
def test_a_free_box_keeps_its_energy_unless_forces_are_explicit(method: str) -> None:
    box = on.Builder("box", gravity=(0, 0, 0)).body("box", mass=2.0, inertia=(0.3, 0.2, 0.1)).build(floating=True)
    run = box.rollout(box.neutral(), [6.0, 7.0, 4.0, 1.0, 0.0, 0.0], steps=2500, dt=2e-3, method=method)
    energy = box.kinetic_energy(run.q, run.v)
    kept = np.abs(energy / energy[0] - 1.0).max() < 1e-4
    assert kept == (method == "semi-implicit-euler")


def locked_arm(**terms: Any) -> on.Robot:
    """Return two links; the first joint is held by equal limits, and gravity does not load it."""
    link: dict[str, Any] = {"mass": 1.0, "com": (0.2, 0, 0), "inertia": (0.01, 0.02, 0.02)}
    b = on.Builder("arm").body("base").body("first", **link).body("second", **link)
    b.joint("yaw", on.Revolute((0, 0, 1)), "base", "first", lower=0.0, upper=0.0)
    return b.joint("pitch", on.Revolute((0, 1, 0)), "first", "second", at=(0.3, 0, 0), **terms).build()


def test_derivatives_know_joints_that_equal_limits_hold() -> None:
    robot, tau = locked_arm(), np.zeros((5, 2))
    run = robot.rollout([0.0, 0.0], [0.0, 0.0], tau, dt=0.01)
    assert_close(run.jvp(tau=np.tile([1.0, 0.0], (5, 1))).q[-1], np.zeros(2), ROUNDING)
    assert_close(locked_arm(damping=0.1).linearise([0.0, 0.3], dt=0.01).B[2], np.zeros(2), ROUNDING)


def test_linearized_steps_know_the_limits_of_joints_that_follow() -> None:
    link: dict[str, Any] = {"mass": 1.0, "com": (0.2, 0, 0), "inertia": (0.01, 0.02, 0.02)}
    b = on.Builder("pair").body("base").body("leader", **link).body("follower", **link)
    b.joint("a", on.Revolute((0, 0, 1)), "base", "leader", lower=-1.0, upper=1.0)
    b.joint("b", on.Revolute((0, 0, 1)), "base", "follower", mimic=("a", 2.0, 0.1), lower=-0.5, upper=0.5)
    found = b.build().linearise([0.199], [3.0], dt=0.01)
    assert_close(found.v, b.build().rollout([0.199], [3.0], steps=1, dt=0.01).v[-1], ROUNDING)
    assert_close(found.A[1], np.array([-100.0, 0.0]), METHODS)
