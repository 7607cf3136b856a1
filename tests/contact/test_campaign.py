"""Random motions of robots with contacts: no step is lost, and what is not exact is flagged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ordern as on
from tests.contact.robots import ball, block, floating, hopper

FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")


def _capsule() -> on.Robot:
    return floating([("capsule", (0.05, 0.4))], 9.81).with_contacts(on.Ground(0.6, restitution=0.3))


def _arm(name: str, frame: str) -> on.Robot:
    return on.load(name).with_contacts(on.Ground(0.5, height=-0.5), points={frame: 0.05}, sweeps=30)


ROBOTS: dict[str, Callable[[], on.Robot]] = {
    "ball": lambda: ball().with_contacts(on.Ground(0.4, restitution=0.7)),
    "block": lambda: block().with_contacts(on.Ground(0.7), sweeps=20),
    "block on a slope": lambda: block().with_contacts(on.Ground(0.3, normal=(0.3, 0.1, 1.0)), sweeps=20),
    "capsule": _capsule,
    "hopper": lambda: hopper().with_contacts(on.Ground(0.8), points={"foot": 0.02}, sweeps=30),
    "quadruped": lambda: on.load("quadruped").with_contacts(on.Ground(0.8), points=FEET, sweeps=20),
    "quadruped on ice": lambda: on.load("quadruped").with_contacts(on.Ground(0.05), points=FEET, sweeps=20),
    "puma560": lambda: _arm("puma560", "flange"),
    "planar-3r": lambda: _arm("planar-3r", on.load("planar-3r").bodies[-1].name),
    "two balls": lambda: floating([("sphere", (0.1,))] * 2, 9.81).with_contacts(
        on.Ground(0.5), pairs=[("0", "1")], sweeps=20
    ),
}


@pytest.mark.campaign
@pytest.mark.parametrize("name", ROBOTS)
def test_random_motions(name: str, campaign: Callable[[int, int], int]) -> None:
    robot, steps, dt = ROBOTS[name](), 1000, 1e-3
    count = campaign(4, 100)
    rng = np.random.default_rng(7)
    q = robot.integrate(robot.neutral(), 0.3 * rng.standard_normal((count, robot.nv)))
    q = robot.integrate(q, np.zeros(robot.nv))
    low = _lowest(robot, q)
    for joint in robot.independent:  # lift what floats above the ground
        if joint.type.nq == 7:
            q[:, joint.q.start + 6] += np.maximum(0.0, 0.05 - low)
    v, tau = rng.standard_normal((count, robot.nv)), rng.standard_normal((count, steps, robot.nv))
    for joint in robot.independent:
        if joint.type.nq == 7:
            tau[..., joint.v] = 0.0
    run = robot.rollout(q, v, tau, dt=dt)
    assert np.isfinite(run.q).all() and np.isfinite(run.v).all()  # limbs without limits spin fast on ice
    deep = -_lowest(robot, run.q[:, 1:]) > 1e-3 + 1e-9  # at the end of a step, told by the next one
    told = run.uncertified[:, 1:] | np.roll(run.uncertified[:, 1:], -1, axis=1)
    started = _lowest(robot, q) < -1e-3
    assert not (deep[:, :-1] & ~told[:, :-1] & ~started[:, None]).any()
    unsolved, penetrates = run.certificate.residual > 1e-6, run.certificate.penetration > 1e-3
    shares = f"{unsolved.mean():.3%} have a residual above 1e-6 m/s, {penetrates.mean():.3%} penetrate by over 1 mm"
    print(f"{name}: of {unsolved.size} states {shares}")  # limbs that spin at 50 rad/s penetrate in one step
    assert unsolved[~started].mean() <= 0.03


def _lowest(robot: on.Robot, q: np.ndarray) -> np.ndarray:
    """Return the lowest height of all solids above the ground, from the poses of their bodies."""
    assert robot.contacts is not None and robot.contacts.ground is not None
    found = np.full(q.shape[:-1], np.inf)
    poses = robot.poses(q)
    normal, height = np.array(robot.contacts.ground.normal), robot.contacts.ground.height
    for c in robot.contacts.pairs:
        if c.second is None:
            P = poses[..., c.first.body, :, :]
            centre = P[..., :3, :3] @ np.array(c.first.placement.position) + P[..., :3, 3]
            found = np.minimum(found, centre @ normal - height - c.first.size[0])
    return found
