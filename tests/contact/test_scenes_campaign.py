"""Random scenes of boxes, capsules and spheres: the certificate has every overlap that an independent test finds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.contact.overlaps import Solid, overlap, overlap_with_ground

TRAJECTORIES, STEPS, DT = 25, 1000, 2e-3
CLOSE = 1e-4
"""Edges that are parallel to a thousandth of a radian are no axis: 0.4 m times a tenth of that, at most."""


def solid(rng: np.random.Generator) -> Solid:
    kind = rng.choice(["box", "box", "capsule", "sphere"])
    sizes = {"box": rng.uniform(0.05, 0.3, 3), "capsule": rng.uniform((0.03, 0.05), (0.1, 0.4)), "sphere": [0.1]}
    return str(kind), tuple(float(x) for x in sizes[kind])


def scene(seed: int, count: int) -> tuple[on.Robot, list[Solid], Any]:
    """Return free bodies and a static box, their solids, and the placement of the box; all touch each other."""
    rng = np.random.default_rng(seed)
    solids = [solid(rng) for _ in range(count)]
    box: Solid = ("box", (0.4, 0.3, 0.2))
    frame = np.eye(4)
    frame[:3, :3] = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    frame[:3, :3] *= np.linalg.det(frame[:3, :3])
    builder = on.Builder("scene").body("hub")
    placement = on.Placement(rotation=tuple(frame[:3, :3].ravel().tolist()))
    builder.shape("hub", *box, role="collision", at=placement)
    for k, (kind, size) in enumerate(solids):
        builder.body(str(k), mass=1.0, inertia=(0.004, 0.005, 0.006))
        builder.shape(str(k), kind, size, role="collision")
        builder.joint(f"float {k}", on.Free(), "hub", str(k))
    names = ["hub", *(str(k) for k in range(count))]
    robot = builder.build().with_contacts(
        on.Ground(0.5), pairs=list(combinations(names, 2)), restitution=0.2 * (seed % 2), sweeps=15
    )
    return robot, [box, *solids], frame


def starts(count: int, seed: int) -> tuple[Any, Any]:
    """Return bodies above each other, in half of the trajectories so close that they overlap, and fast motions."""
    rng = np.random.default_rng(seed)
    q, high = rng.standard_normal((TRAJECTORIES, 7 * count)), rng.choice([0.25, 0.6], TRAJECTORIES)
    for k in range(count):
        q[:, 7 * k : 7 * k + 4] /= np.linalg.norm(q[:, 7 * k : 7 * k + 4], axis=1, keepdims=True)
        q[:, 7 * k + 4 : 7 * k + 6] = rng.uniform(-0.15, 0.15, (TRAJECTORIES, 2))
        q[:, 7 * k + 6] = 0.05 + high * (k + 1)
    return q, rng.choice([1.0, 10.0], (TRAJECTORIES, 1)) * rng.standard_normal((TRAJECTORIES, 6 * count))


@pytest.mark.campaign
def test_the_certificate_has_every_overlap(campaign: Callable[[int, int], int]) -> None:
    for seed in range(1, 1 + campaign(1, 40)):
        count = 2 + seed % 5
        robot, solids, frame = scene(seed, count)
        run = robot.rollout(*starts(count, seed), steps=STEPS, dt=DT)
        poses = robot.poses(run.q[:, :-1].reshape(-1, robot.nq))
        each = [np.broadcast_to(frame, (len(poses), 4, 4)), *poses.swapaxes(0, 1)]
        deepest = np.max([overlap_with_ground(a, A) for a, A in zip(solids[1:], each[1:], strict=True)], axis=0)
        for a, b in combinations(range(count + 1), 2):
            deepest = np.maximum(deepest, overlap(solids[a], each[a], solids[b], each[b]))
        told = run.certificate.penetration[:, 1:].ravel()
        np.testing.assert_allclose(told, np.maximum(deepest, 0.0), atol=CLOSE)
        hidden = (deepest > 1e-3 + CLOSE) & ~run.uncertified[:, 1:].ravel()
        assert not hidden.any()
        flagged, deep = run.uncertified.mean(), (deepest > 1e-3).mean()
        print(f"scene {seed}: {count} bodies, {flagged:.2%} of the states are flagged, {deep:.2%} overlap by over 1 mm")
