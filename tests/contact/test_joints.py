"""Joints in steps with contacts: limits on both sides, joints that are held, and dry friction with known answers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.model.contacts import Contacts
from tests.contact.test_derivatives import difference_by
from tests.tolerances import JOINT_LAW

H = 1e-3
G = 9.81


def slide(*, axis: tuple[float, float, float] = (1.0, 0.0, 0.0), **terms: Any) -> on.Robot:
    """Return a mass of 2 kg on a slide, with a ground that it never reaches."""
    builder = on.Builder("slide").body("base")
    builder.body("mass", mass=2.0, inertia=(0.1, 0.1, 0.1))
    builder.joint("slide", on.Prismatic(axis), "base", "mass", **terms)
    builder.frame("tip", "mass")
    return builder.build().with_contacts(on.Ground(height=-50.0), points=["tip"])


def pendulum(**terms: Any) -> on.Robot:
    """Return a rod of 1 kg on a hinge, with its center of mass 0.5 m below it and an inertia of 0.35 kg m^2."""
    builder = on.Builder("pendulum").body("base")
    builder.body("rod", mass=1.0, com=(0.0, 0.0, -0.5), inertia=(0.1, 0.1, 0.01))
    builder.joint("hinge", on.Revolute((0.0, 1.0, 0.0)), "base", "rod", **terms)
    builder.frame("tip", "rod", (0.0, 0.0, -1.0))
    return builder.build().with_contacts(on.Ground(height=-5.0), points=["tip"])


@pytest.mark.parametrize("speed", [30.0, -30.0])
def test_a_fast_joint_stops_at_the_farther_limit(speed: float) -> None:
    robot = slide(lower=-0.01, upper=0.01)
    run = robot.rollout([-0.004 * np.sign(speed)], [speed], steps=20, dt=H)
    np.testing.assert_allclose(run.q[1:, 0], 0.01 * np.sign(speed), rtol=0.0, atol=JOINT_LAW)
    assert not run.uncertified.any()


def test_a_violated_limit_is_in_the_certificate() -> None:
    robot = slide(lower=-0.01, upper=0.01)
    step = robot.contact_step([0.06], [0.0], dt=H)
    assert float(step.penetration) == pytest.approx(float(step.q[0]) - 0.01, abs=JOINT_LAW)
    assert float(step.q[0]) == pytest.approx(0.059)  # at most 1 m/s
    assert robot.rollout([0.06], [0.0], steps=5, dt=H).uncertified[1:].all()


def test_a_joint_with_equal_limits_is_held() -> None:
    robot = pendulum(lower=0.3, upper=0.3)
    run = robot.rollout([0.3], [2.0], steps=500, dt=H)
    np.testing.assert_allclose(run.q[1:], 0.3, rtol=0.0, atol=JOINT_LAW)
    torque = G * 0.5 * math.sin(0.3)
    np.testing.assert_allclose(run.stop_impulses[2:] / H, torque, rtol=1e-9)


def test_dry_friction_sticks_and_slips() -> None:
    """A mass on a slope of friction 5 N: it slows down by 2.5 m/s^2, stops, and stays where it is."""
    robot = slide(friction=5.0)
    run = robot.rollout([0.0], [1.0], steps=600, dt=H)
    rest = round(1.0 / 2.5 / H)
    np.testing.assert_allclose(run.v[:rest, 0], 1.0 - 2.5 * run.t[:rest], rtol=0.0, atol=1e-12)
    assert np.ptp(run.q[rest + 1 :]) <= JOINT_LAW and np.abs(run.v[rest + 1 :]).max() <= JOINT_LAW
    np.testing.assert_allclose(run.certificate.work.sum(), -0.5 * 2.0, rtol=1e-9)
    assert run.certificate.residual.max() <= JOINT_LAW
    still = slide(axis=(0.0, 0.0, 1.0), friction=20.0).rollout([0.0], [0.0], steps=2000, dt=H)
    assert np.abs(still.q).max() <= JOINT_LAW  # a weight of 19.62 N
    falls = slide(axis=(0.0, 0.0, 1.0), friction=19.0).rollout([0.0], [0.0], steps=1000, dt=H)
    assert falls.v[-1, 0] == pytest.approx(-(G - 9.5), rel=1e-9)


def test_friction_and_limits_share_an_impulse() -> None:
    """A weight that falls onto its lower limit: the limit carries what friction does not."""
    robot = slide(axis=(0.0, 0.0, 1.0), friction=4.0, lower=-0.1, upper=1.0)
    run = robot.rollout([0.0], [0.0], steps=1000, dt=H)
    assert run.q.min() >= -0.1 - JOINT_LAW and run.q[-1, 0] == pytest.approx(-0.1, abs=JOINT_LAW)
    assert run.stop_impulses[-1, 0] / H == pytest.approx(2.0 * G)
    assert run.stop_impulses[10, 0] / H == pytest.approx(4.0)
    assert not run.uncertified.any()


def test_friction_of_each_degree_of_freedom() -> None:
    """A ball joint has friction in each of its degrees of freedom."""
    builder = on.Builder("wrist").body("base").body("hand", mass=1.0, inertia=(0.1, 0.2, 0.3))
    builder.body("tool", mass=0.1, inertia=(0.01, 0.01, 0.01))
    builder.joint("ball", on.Spherical(), "base", "hand", friction=0.2)
    builder.joint("tool", on.Revolute((1.0, 0.0, 0.0)), "hand", "tool", friction=0.05)
    builder.frame("tip", "tool")
    builder.gravity = (0.0, 0.0, 0.0)
    robot = builder.build().with_contacts(on.Ground(height=-5.0), points=["tip"])
    run = robot.rollout(robot.neutral(), [0.5, -0.4, 0.3, 1.0], steps=1500, dt=H)
    assert np.abs(run.v[-1]).max() <= JOINT_LAW and np.abs(run.v[300]).max() > 0.05
    assert run.certificate.residual.max() <= 1e-9


def arm() -> on.Robot:
    """Return four links: with limits and dry friction, with limits, held, and with dry friction."""
    builder, parent = on.Builder("arm").body("base"), "base"
    terms: list[dict[str, Any]] = [
        {"friction": 0.6, "lower": -0.5, "upper": 0.5},
        {"lower": -0.5, "upper": 0.5, "damping": 0.1},
        {"lower": 0.2, "upper": 0.2},
        {"friction": 0.1},
    ]
    for k, own in enumerate(terms):
        builder.body(f"link {k}", mass=1.0, com=(0.0, 0.0, -0.1), inertia=(0.01, 0.01, 0.005))
        axis = (1.0, 0.0, 0.0) if k % 2 else (0.0, 1.0, 0.0)
        builder.joint(f"joint {k}", on.Revolute(axis), parent, f"link {k}", at=(0.0, 0.0, -0.2 * (k > 0)), **own)
        parent = f"link {k}"
    builder.frame("tip", parent, (0.0, 0.0, -0.2))
    return builder.build().with_contacts(on.Ground(height=-5.0), points=["tip"], sweeps=100, settled=0.0)


def joint_states(robot: on.Robot, count: int) -> dict[str, Any]:
    """Return the arguments of steps in which joints are free, stick, slip, are at a limit, and are held."""
    rng = np.random.default_rng(4)
    q = rng.uniform(-0.5, 0.5, (count, 4))
    q[:, :2] = np.where(rng.random((count, 2)) < 0.4, 0.499 * np.sign(q[:, :2]), q[:, :2])
    q[:, 2] = 0.2 + 1e-4 * rng.standard_normal(count)
    v, tau = rng.standard_normal((2, count, 4)) * rng.choice([0.01, 2.0], (2, count, 1))
    zeros = np.zeros((count, 4))
    return {
        **{
            "q": q,
            "v": v,
            "tau": tau,
            "dt": np.full(count, H),
            "drag": zeros,
            "lower": np.tile(robot.lower, (count, 1)),
        },
        **{"upper": np.tile(robot.upper, (count, 1)), "impulses": np.zeros((1, 3)), "stops": zeros},
        "surfaces": np.array([[0.5, 0.0, -5.0]]),
    }


def joint_modes(found: Any, given: dict[str, Any]) -> set[tuple[int, int]]:
    """Return which joints were free (0), stuck (1), slipped (2) or were at a limit (3)."""
    q, v, p = found[:, :4], found[:, 4:8], found[:, 11:15]
    dry = np.array([0.6, 0.0, 0.0, 0.1]) * H
    at = np.minimum(np.abs(q - given["lower"]), np.abs(q - given["upper"])) < 1e-9
    mode = np.where(at & (p != 0.0), 3, np.where(np.abs(v) < 1e-9, 1, np.where(dry > 0.0, 2, 0)))
    return {(k, int(m)) for k in range(4) for m in mode[:, k]}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["q", "v", "tau", "dt", "upper"])
def test_derivatives_of_joints_at_limits_and_with_friction(name: str) -> None:
    robot = arm()
    given = joint_states(robot, 60)
    answer = robot.kernel("contact_step")(*given.values())
    assert answer[:, -4].max() <= 1e-12
    assert {(0, 1), (0, 2), (0, 3), (1, 0), (1, 3), (2, 3), (3, 1), (3, 2)} <= joint_modes(answer, given)
    rng = np.random.default_rng(0)
    along = rng.standard_normal(np.shape(given[name])) * (H if name == "dt" else 1e-2)
    if name == "upper":
        along = np.where(np.isfinite(given["upper"]), along, 0.0)
    found, expected = difference_by(robot, name, given, along)
    close = np.abs(found - expected).max(-1) <= 1e-6 * (1.0 + np.abs(expected).max(-1))
    assert close.mean() >= 0.9  # others are next to a switch
    weights = rng.standard_normal(answer.shape) * (np.arange(answer.shape[-1]) < 15)
    gradient = getattr(robot.vjp("contact_step", given, weights, wrt=(name,)), name)
    pushed = robot.jvp("contact_step", given, {name: along})
    np.testing.assert_allclose(
        (gradient * along).reshape(60, -1).sum(-1), (weights * pushed).sum(-1), rtol=1e-9, atol=1e-9
    )


def fingers(mimic: bool) -> on.Robot:
    """Return two fingers with friction and limits; the second follows the first, as a mimic joint or by a coupling."""
    builder = on.Builder("fingers").body("palm")
    along = on.Prismatic((0.0, 0.0, 1.0))
    for name, mass in (("left", 0.2), ("right", 0.3)):
        builder.body(name, mass=mass, inertia=(1e-3,) * 3)
    builder.joint("a", along, "palm", "left", friction=0.4, lower=-0.2, upper=0.5)
    follows = {"mimic": ("a", -2.0, 0.05)} if mimic else {}
    builder.joint("b", along, "palm", "right", friction=0.3, lower=-0.15, upper=0.25, **follows)
    if not mimic:
        builder.couple("both", "b", "a", (0.05, -2.0))
    builder.frame("tip", "left")
    return builder.build().with_contacts(on.Ground(height=-5.0), points=["tip"], sweeps=200)


def test_friction_and_limits_of_a_mimic_joint_act_through_its_leader() -> None:
    """Limits of b are -0.1 and 0.1 of a; friction of both is 0.4 + 2 * 0.3 N of a, and so is a coupling's."""
    robot = fingers(True)
    for speed, end in ((3.0, 0.1), (-3.0, -0.1)):
        run = robot.rollout([0.0], [speed], [0.3 * 9.81 * -2.0 + 0.2 * 9.81], steps=100, dt=H)
        np.testing.assert_allclose(run.q[-1], end, atol=JOINT_LAW)
        assert not run.uncertified.any()
    held = 0.2 * 9.81 - 2.0 * 0.3 * 9.81
    mass = 0.2 + 4.0 * 0.3
    for force in (0.99, 1.3):
        step = robot.contact_step([0.0], [0.0], [held + force], dt=H)
        assert step.v[0] == pytest.approx(H * max(0.0, force - 1.0) / mass, abs=JOINT_LAW)
    tied = fingers(False)
    q0, v0 = np.array([0.0, 0.05]), np.array([0.4, -0.8])
    other = tied.rollout(q0, v0, [held, 0.0], steps=300, dt=H)
    run = robot.rollout([0.0], [0.4], [held], steps=300, dt=H)
    np.testing.assert_allclose(run.q[:, 0], other.q[:, 0], atol=1e-8)


def test_varied_friction_of_joints_is_that_of_each_robot() -> None:
    dry = np.array([[0.0], [2.0], [6.0]])
    robot = slide(friction=1.0).vary(joint_friction=dry)
    run = robot.rollout(np.zeros((3, 1)), np.full((3, 1), 1.0), steps=100, dt=H)
    np.testing.assert_allclose(run.v[:, -1], 1.0 - dry / 2.0 * 0.1, rtol=0.0, atol=1e-12)
    found = run.vjp(v=np.ones_like(run.v) * (np.arange(101) == 100)[:, None], wrt="joint_friction").joint_friction
    np.testing.assert_allclose(found[1:], -0.1 / 2.0, rtol=1e-9)


def test_smoothed_limits_push_from_both_sides() -> None:
    """With s = 0.05 m/s: the acceleration of each limit is s^2 over the distance after the step."""
    builder = on.Builder("slide").body("base").body("mass", mass=2.0, inertia=(0.1, 0.1, 0.1))
    builder.joint("slide", on.Prismatic((0.0, 0.0, 1.0)), "base", "mass", lower=-0.01, upper=0.01)
    builder.frame("tip", "mass")
    builder.gravity = (0.0, 0.0, 0.0)
    robot = builder.build().with_contacts(on.Ground(height=-1e6), points=["tip"], smooth=0.05)
    for q in (-0.008, 0.0, 0.006):
        step = robot.contact_step([q], [0.0], dt=H)
        law = 0.05**2 / (float(step.q[0]) + 0.01) - 0.05**2 / (0.01 - float(step.q[0]))
        assert float(step.v[0]) / H == pytest.approx(law, rel=1e-3, abs=1e-4) and float(step.residual) <= 1e-12
    fast = robot.rollout([-0.004], [30.0], steps=40, dt=H)
    assert np.abs(fast.q).max() <= 0.01 and not fast.uncertified.any()


def four_bar(friction: float, of_loop: float) -> tuple[on.Robot, np.ndarray]:
    """Return four bars that hang on a hinge without friction, and a closed position."""
    axis, length = on.Revolute((0.0, 1.0, 0.0)), (0.4, 0.3, 0.4, 0.3)
    builder = on.Builder("bars").body("world")
    for k in range(4):
        builder.body(f"bar {k}", mass=1.0 + 0.2 * k, com=(0.5 * length[k], 0.0, 0.0), inertia=(0.002, 0.015, 0.015))
    builder.joint("root", axis, "world", "bar 0")
    for k in range(3):
        builder.joint(f"hinge {k}", axis, f"bar {k}", f"bar {k + 1}", at=(length[k], 0.0, 0.0), friction=friction)
    builder.loop("last", axis, "bar 3", "bar 0", at=(0.3, 0.0, 0.0), friction=of_loop)
    builder.frame("tip", "bar 1", (0.3, 0.0, 0.0))
    robot = builder.build()
    q = robot.assemble(np.array([0.2, *(-0.5 * np.pi + np.array([0.3, -0.3, 0.3]))]), keep=("root", "hinge 0")).q
    return robot.with_contacts(on.Ground(height=-9.0), points=["tip"], sweeps=100), q


@pytest.mark.slow
def test_friction_of_joints_of_a_loop() -> None:
    """Enough friction makes one body of four bars; friction of the joint that closes the loop is smoothed."""
    robot, q = four_bar(50.0, 0.0)
    run = robot.rollout(q, np.zeros(4), steps=300, dt=H)
    np.testing.assert_allclose(run.q[:, 1:], np.broadcast_to(q[1:], (301, 3)), atol=1e-9)
    assert abs(run.q[-1, 0] - q[0]) > 0.1 and run.certificate.residual.max() <= 1e-9
    (robot, q), energy = four_bar(0.0, 0.6), []
    for some in (robot, four_bar(0.0, 0.0)[0]):
        run = some.rollout(q, np.zeros(4), steps=300, dt=H)
        energy.append(robot.kinetic_energy(run.q[-1], run.v[-1]) + robot.potential_energy(run.q[-1]))
    assert energy[0] < energy[1] - 0.1


def test_steps_without_any_contact() -> None:
    """Limits and friction of joints alone: the same steps, also compiled."""
    robot = pendulum(friction=2.0, lower=-0.5, upper=0.4)
    alone = on.Robot.of(replace(robot, contacts=Contacts(None, (), (0,))))
    found, expected = (x.rollout([0.3], [3.0], steps=100, dt=H) for x in (alone, robot))
    np.testing.assert_array_equal(found.q, expected.q)
    given = {
        p.name: np.zeros(alone.kernel("contact_step").request.shape(p.kind)) for p in alone.kernel("contact_step").ports
    }
    given |= {"q": np.array([[0.3], [-0.4]]), "dt": np.array(H), "lower": robot.lower, "upper": robot.upper}
    kernel, text = alone.kernel("contact_step"), alone.kernel("contact_step", way="interpreted")
    assert not kernel.is_interpreted
    np.testing.assert_allclose(kernel(*given.values()), text(*given.values()), rtol=0.0, atol=1e-13)
    assert kernel(*(x[:0] if k == 0 else x for k, x in enumerate(given.values()))).shape[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("library", [pytest.param(x, marks=pytest.mark.needs(x)) for x in ("jax", "torch")])
def test_other_array_libraries_have_the_same_law(library: str) -> None:
    import importlib

    from tests.worlds.jax_precision import precision

    robot = pendulum(friction=2.0, damping=0.1, lower=-0.5, upper=0.4)
    q, v = np.array([[0.3], [-0.2]]), np.array([[3.0], [0.5]])
    expected = robot.rollout(q, v, steps=150, dt=H)
    with precision(True):
        array = (
            importlib.import_module("jax.numpy").asarray
            if library == "jax"
            else importlib.import_module(library).tensor
        )
        found = robot.rollout(array(q), array(v), steps=150, dt=H)
        np.testing.assert_allclose(np.asarray(found.q), expected.q, rtol=0.0, atol=1e-12)


@pytest.mark.slow
def test_derivatives_of_a_rollout_with_limits_and_friction() -> None:
    robot = pendulum(friction=2.0, damping=0.1, lower=-0.5, upper=0.4)
    q, v = np.array([[0.3], [-0.2]]), np.array([[3.0], [4.5]])
    run, eps = robot.rollout(q, v, np.zeros((2, 80, 1)), dt=H), 1e-6
    push = np.random.default_rng(0).standard_normal((2, 80, 1))
    found = run.jvp(v0=np.ones((2, 1)), tau=push)
    sides = [robot.rollout(q, v + e, e * push, dt=H).q for e in (eps, -eps)]
    np.testing.assert_allclose(found.q, (sides[0] - sides[1]) / (2.0 * eps), rtol=1e-5, atol=1e-9)
    weights = np.random.default_rng(1).standard_normal(run.q.shape)
    gradient = run.vjp(q=weights, wrt=("v0", "tau"))
    np.testing.assert_allclose(gradient.v0.sum() + (gradient.tau * push).sum(), (weights * found.q).sum(), rtol=1e-9)
