"""Restitution beside friction: impacts never add energy, and keep as much of the restitution as that allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms.contact.restitution import kept_part
from tests.contact.robots import ball
from tests.tolerances import IMPACT_WORK

H = 1e-9


def rod(joint: bool, restitution: float = 1.0) -> on.Robot:
    """Return a free rod, or two that a hinge connects, that bounce on their ends, without gravity."""
    builder = on.Builder("rod").body("rod", mass=1.0, inertia=(1.0 / 12.0, 1.0 / 12.0, 1e-3))
    builder.frame("low", "rod", (0.0, 0.0, -0.5))
    builder.frame("high", "rod", (0.0, 0.0, 0.5))
    if joint:
        builder.body("other", mass=0.6, com=(0.0, 0.0, 0.4), inertia=(0.04, 0.05, 1e-3))
        limits = {"lower": -1.0, "upper": 2.0, "friction": 0.1}
        builder.joint("hinge", on.Revolute((0.0, 1.0, 0.0)), "rod", "other", at=(0.0, 0.0, 0.5), **limits)
        builder.frame("end", "other", (0.0, 0.0, 0.8))
    builder.gravity = (0.0, 0.0, 0.0)
    points = ["low", "end"] if joint else ["low", "high"]
    ground = on.Ground(0.5, restitution=restitution)
    return builder.build(floating=True).with_contacts(ground, points=points, sweeps=60)


def impacts(robot: on.Robot, count: int, seed: int = 0) -> dict[str, Any]:
    """Return the arguments of steps from random states in which a point touches the ground."""
    rng, nv = np.random.default_rng(seed), robot.nv
    q = robot.integrate(np.tile(robot.neutral(), (count, 1)), rng.uniform(-2.0, 2.0, (count, nv)))
    q[:, 7:] = rng.uniform(-1.0, 2.0, (count, nv - 6))
    q[:, 6] -= robot.contact_points(q).gap.min(-1)
    v = rng.standard_normal((count, nv)) * [*([3.0] * 3), *([1.0] * (nv - 3))]
    surfaces = np.stack(
        [rng.uniform(0.0, 1.5, (count, 2)), rng.uniform(0.5, 1.0, (count, 2)), np.zeros((count, 2))], -1
    )
    zeros = np.zeros((count, nv))
    return {
        **{"q": q, "v": v, "tau": zeros, "dt": np.full(count, H), "drag": zeros, "lower": robot.lower},
        **{"upper": robot.upper, "impulses": np.zeros((count, 2, 3)), "stops": zeros, "surfaces": surfaces},
    }


@pytest.mark.campaign
@pytest.mark.parametrize("joint", [False, True])
def test_impacts_never_add_energy(joint: bool, campaign: Callable[[int, int], int]) -> None:
    robot = rod(joint)
    given = impacts(robot, campaign(4000, 50_000))
    found = robot.kernel("contact_step")(*given.values())
    q, v = found[:, : robot.nq], found[:, robot.nq : robot.nq + robot.nv]
    before = robot.kinetic_energy(given["q"], given["v"])
    gain = (robot.kinetic_energy(q, v) - before) / before
    assert (gain < -1e-3).mean() > 0.3  # many states are impacts, and most of them take energy
    assert found[:, -1].max() <= IMPACT_WORK
    assert gain.max() <= 1e3 * H  # it turns a little within the step
    assert (found[:, -4] < 1e-9).mean() > 0.99


def test_the_largest_part_is_kept() -> None:
    """Impulses stay in their cones; where Newton's law adds energy, the impact takes none, and parts more slowly."""
    robot, given = kane()
    assert len(given["q"]) >= 100
    found = robot.kernel("contact_step")(*given.values())
    p = found[:, 13:19].reshape(-1, 2, 3)
    slack = given["surfaces"][..., 0] * p[..., 2] - np.linalg.norm(p[..., :2], axis=-1)
    assert slack.min() >= -1e-12 and p[..., 2].min() >= 0.0
    plastic = {**given, "surfaces": given["surfaces"] * [1.0, 0.0, 1.0]}
    assert robot.kernel("contact_step")(*plastic.values())[:, -1].max() < 0.0


def test_without_friction_energy_is_conserved() -> None:
    robot = rod(False)
    given = impacts(robot, 1000, 1)
    given["surfaces"][:] = [0.0, 1.0, 0.0]
    found = robot.kernel("contact_step")(*given.values())
    one = np.count_nonzero(np.abs(found[:, 13:19].reshape(-1, 2, 3)[..., 2]) > 0.0, axis=-1) == 1
    assert one.sum() > 300
    np.testing.assert_allclose(found[one, -1], 0.0, atol=1e-12)


def test_the_part_of_a_parabola() -> None:
    """W = -1 - t + 3 t^2 is zero at (1 + sqrt(13)) / 6; with W(0) > 0 it may not grow."""
    assert kept_part(-1.0, 1.0, 3.0) == pytest.approx((1.0 + np.sqrt(13.0)) / 6.0)
    assert kept_part(-1.0, 1.0, 0.5) == pytest.approx(-1.5 + np.sqrt(4.25))
    assert kept_part(0.5, 1.5, 3.0) == pytest.approx(2.0 / 3.0)
    assert kept_part(-1.0, 0.0, 3.0) == 1.0 and kept_part(0.0, 1.0, 0.5) == 0.0


def kane() -> tuple[on.Robot, dict[str, Any]]:
    """Return a rod, and states in which it keeps a part of its restitution: friction acts and takes nothing."""
    robot = rod(False)
    given = impacts(robot, 3000)
    given["surfaces"][..., 0], given["surfaces"][..., 1] = given["surfaces"][:, :1, 0], 1.0
    found = robot.kernel("contact_step")(*given.values())
    rubs = np.abs(found[:, 13:19].reshape(-1, 2, 3)[..., :2]).max((-1, -2)) > 0.05
    listed = np.flatnonzero(rubs & (np.abs(found[:, -1]) < IMPACT_WORK) & (found[:, -4] < 1e-12))
    return robot, {name: x if name in ("lower", "upper") else x[listed] for name, x in given.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["v", "surfaces"])
def test_derivatives_where_a_part_is_kept(name: str) -> None:
    robot, given = kane()
    kernel, n, eps = robot.kernel("contact_step"), robot.nq + 2 * robot.nv, 1e-6
    along = np.random.default_rng(2).standard_normal(given[name].shape)
    if name == "surfaces":
        along = along * [1.0, -1.0, 0.0] * np.sign(along)  # restitution stays below one
    sides = [kernel(*(given | {name: given[name] + e * along}).values())[:, :n] for e in (eps, 0.0)]
    found = robot.jvp("contact_step", given, {name: along})[:, :n]
    expected = (sides[0] - sides[1]) / eps
    size = 1.0 + np.abs(expected).max(-1)
    close = np.abs(found - expected).max(-1) <= 1e-4 * size
    assert close.mean() >= 0.9  # others are next to a switch


@pytest.mark.slow
def test_rigid_contact_has_the_same_law() -> None:
    robot, given = kane()
    found = robot.kernel("contact_step")(*given.values())
    for k in range(4):
        ground = on.Ground(float(given["surfaces"][k, 0, 0]), restitution=1.0)
        other = robot.with_contacts(ground, points=["low", "high"])
        result = other.simulate(given["q"][k], given["v"][k], until=1e-6, contacts="rigid")
        np.testing.assert_allclose(result.v[-1], found[k, 7:13], atol=1e-4)
        energy = robot.kinetic_energy(result.q, result.v)
        assert energy[-1] <= energy[0] * (1.0 + 1e-9)


def test_a_ball_bounces_as_before() -> None:
    robot = ball().with_contacts(on.Ground(0.3, restitution=0.8))
    step = robot.contact_step([1, 0, 0, 0, 0, 0, 0.1], [0, 0, 0, 0, 0, -2.0], dt=1e-3)
    assert step.v[5] == pytest.approx(1.6)
