"""Cylinders and hulls of meshes on the ground."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError

H, G = 1e-3, 9.81


def can(radius: float = 0.1, length: float = 0.3) -> on.Robot:
    """Return a free, solid cylinder along z."""
    builder = on.Builder("can")
    across = (3.0 * radius**2 + length**2) / 12.0
    builder.body("can", mass=1.0, inertia=(across, across, 0.5 * radius**2))
    builder.shape("can", "cylinder", (radius, length), role="collision")
    return builder.build(floating=True)


LYING = [np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0, 0.0, 0.0, 0.1]


@pytest.mark.slow
def test_a_cylinder_stands_and_carries_its_weight() -> None:
    robot = can().with_contacts(on.Ground(0.5), sweeps=30)
    run = robot.rollout([1, 0, 0, 0, 0, 0, 0.15], np.zeros(6), steps=300, dt=H)
    assert np.abs(run.q[-1] - run.q[0]).max() <= 1e-9
    assert run.contact_impulses[-1, :, 2].sum() / H == pytest.approx(G)
    assert not run.uncertified.any()


def test_a_cylinder_slides_and_then_rolls_at_two_thirds() -> None:
    robot = can().with_contacts(on.Ground(0.3), sweeps=20)
    run = robot.rollout(LYING, [0, 0, 0, 1, 0, 0], steps=500, dt=H)
    assert np.linalg.norm(run.v[-1, 3:]) == pytest.approx(2.0 / 3.0, abs=1e-6)
    assert abs(run.v[-1, 2]) * 0.1 == pytest.approx(2.0 / 3.0, abs=1e-6)
    assert run.certificate.penetration.max() <= 1e-4


def test_a_tilted_cylinder_touches_with_its_lowest_point() -> None:
    robot = can().with_contacts(on.Ground(0.3))
    rng = np.random.default_rng(1)
    q = np.concatenate([rng.standard_normal((20, 4)), np.zeros((20, 3))], axis=1)
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
    z = on.rotations.matrix_from_quaternion(q[:, :4])[:, :, 2]
    depth = 0.15 * np.abs(z[:, 2]) + 0.1 * np.sqrt(1.0 - z[:, 2] ** 2)
    found = robot.contact_step(q, np.zeros((20, 6)), dt=H)
    np.testing.assert_allclose(found.penetration, depth, atol=1e-12)


@pytest.mark.slow
def test_the_hull_of_a_mesh_rests(tmp_path: Path) -> None:
    k = np.arange(40) * 2.0 * np.pi / 40
    ring = np.stack([0.1 * np.cos(k), 0.1 * np.sin(k)], axis=1)
    points = np.concatenate([np.c_[ring, np.full(40, z)] for z in (-0.05, 0.05)])
    lines = [f"v {x} {y} {z}" for x, y, z in points.tolist()] + ["f 1 2 3"]
    (tmp_path / "disc.obj").write_text("\n".join(lines))
    path = tmp_path / "disc.urdf"
    path.write_text("""<robot name="disc"><link name="disc">
      <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision><geometry><mesh filename="disc.obj" scale="1 1 2"/></geometry></collision></link></robot>""")
    disc = on.load(path, floating=True)
    with pytest.raises(ArgumentError, match=r"name its body in bodies=\[...\] for the corners of its hull"):
        disc.with_contacts(on.Ground())
    robot = disc.with_contacts(on.Ground(0.5), bodies=["disc"])
    assert robot.contacts is not None
    corners = np.array([c.first.placement.position for c in robot.contacts.pairs])
    assert corners.shape == (16, 3)
    np.testing.assert_allclose(np.abs(corners[:, 2]), 0.1)
    run = robot.contact_step([1, 0, 0, 0, 0, 0, 0.1], np.zeros(6), dt=H)
    assert float(run.impulses[:, 2].sum()) / H == pytest.approx(G, rel=1e-3)
    (tmp_path / "disc.obj").unlink()
    with pytest.raises(ArgumentError, match=r"the mesh 'disc.obj', which cannot touch: no such file"):
        disc.with_contacts(on.Ground(), bodies=["disc"])
