"""Boxes on boxes, capsules on boxes: their overlaps by an independent test, and bodies that rest on each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.errors import ModelError
from ordern.model.json_form import from_plain, to_plain
from tests.contact.overlaps import Solid, overlap
from tests.contact.robots import floating

G, DT = 9.81, 1e-3
BOX: Solid = ("box", (0.2, 0.3, 0.1))
CUBE: Solid = ("box", (0.15, 0.15, 0.15))
PLATE: Solid = ("box", (0.5, 0.4, 0.01))
BAR: Solid = ("capsule", (0.05, 0.4))


def turn(axis: tuple[float, float, float], angle: float) -> list[float]:
    n = np.array(axis) / np.linalg.norm(axis)
    return [math.cos(0.5 * angle), *(math.sin(0.5 * angle) * n).tolist()]


def at(place: tuple[float, float, float], axis: tuple[float, float, float] = (0, 0, 1), angle: float = 0.0) -> Any:
    return [*turn(axis, angle), *place]


def random_positions(count: int, reach: float) -> Any:
    rng = np.random.default_rng(3)
    q = rng.standard_normal((count, 14))
    for k in (0, 7):
        q[:, k : k + 4] /= np.linalg.norm(q[:, k : k + 4], axis=1, keepdims=True)
    q[:, 4:7], q[:, 11:] = 0.0, rng.uniform(-reach, reach, (count, 3))
    return q


def _depth(robot: on.Robot, solids: tuple[Solid, Solid], q: Any) -> Any:
    poses = robot.poses(q)
    return overlap(solids[0], poses[:, 0], solids[1], poses[:, 1])


def on_a_fixed_one(lower: Solid, upper: Solid, where: on.Placement) -> on.Robot:
    """Return a body of 1 kg that can lie on a fixed box."""
    builder = on.Builder("pair")
    builder.body("table")
    builder.shape("table", *lower, role="collision", at=where)
    builder.body("upper", mass=1.0, inertia=(0.004,) * 3)
    builder.shape("upper", *upper, role="collision")
    builder.joint("float", on.Free(), "table", "upper")
    return builder.build().with_contacts(pairs=[("upper", "table")], friction=0.6)


def test_contacts_of_solids_that_meet_are_whole() -> None:
    robot = floating([BOX, BAR, CUBE]).with_contacts(pairs=[("0", "1"), ("2", "0"), ("1", "2")])
    assert [c.part for c in robot.contacts.pairs] == [0, 1, *range(12), 0, 1]  # type: ignore[union-attr]
    data = to_plain(robot)
    assert from_plain(data, type(robot)).contacts == robot.contacts
    del data["contacts"]["pairs"][5]
    with pytest.raises(ModelError, match=r"contact '2 - 0.1' is of solids that meet at several points"):
        from_plain(data, type(robot))


@pytest.mark.slow
@pytest.mark.parametrize("solids", [(BOX, CUBE), (PLATE, BOX), (BAR, CUBE), (PLATE, BAR)], ids=str)
def test_the_certificate_has_the_overlap_of_two_solids(solids: tuple[Solid, Solid]) -> None:
    robot = floating(solids).with_contacts(pairs=[("0", "1")])
    q = random_positions(3000, 0.25)
    q[::3, 7:11] = q[::3, :4]  # aligned
    depth = _depth(robot, solids, q)
    assert (depth > 1e-3).mean() > 0.3
    found = robot.contact_step(q, np.zeros((len(q), 12)), dt=DT).penetration
    np.testing.assert_allclose(found, np.maximum(depth, 0.0), atol=2e-5)  # edges that are nearly parallel


SQUARE: Solid = ("box", (0.2, 0.2, 0.1))
RESTS = {  # two solids, and the position of the upper one
    "turned by 45 degrees": (SQUARE, CUBE, at((0, 0, 0.075), angle=math.pi / 4)),
    "a large plate on a small box": (CUBE, PLATE, at((0.01, 0.02, 0.005), angle=0.5)),
    "crossed bars": (("box", (0.5, 0.05, 0.05)), ("box", (0.05, 0.5, 0.05)), at((0, 0, 0.025))),
    "a capsule across a beam": (("box", (0.1, 0.5, 0.1)), BAR, at((0.02, 0, 0.05), (0, 1, 0), math.pi / 2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RESTS)
def test_what_lies_on_a_box_rests(name: str) -> None:
    """Corners of a turned box or a bar, and the ends of a capsule, are outside of the other box."""
    lower, upper, place = RESTS[name]
    robot = on_a_fixed_one(lower, upper, on.Placement(position=(0.0, 0.0, -0.5 * lower[1][2])))
    run = robot.rollout(place, np.zeros(6), steps=500, dt=DT)
    assert np.abs(run.q[-1] - run.q[0]).max() <= 1e-6
    assert np.abs(run.v[-1]).max() <= 1e-9
    assert not run.uncertified.any()
    np.testing.assert_allclose(run.contact_impulses[-1].sum(axis=0), [0.0, 0.0, G * DT], atol=1e-9)  # type: ignore[index]


@pytest.mark.slow
@pytest.mark.parametrize("angle", [0.0, 0.3])
def test_equal_boxes_are_a_stack(angle: float) -> None:
    """With a yaw of 0.3, no corner of one lies inside of the other."""
    robot = floating([SQUARE, SQUARE], G).with_contacts(on.Ground(0.6), pairs=[("0", "1")])
    run = robot.rollout([*at((0, 0, 0.05)), *at((0, 0, 0.15), angle=angle)], np.zeros(12), steps=500, dt=DT)
    assert run.q[-1, 13] == pytest.approx(0.15, abs=1e-9)
    assert np.abs(run.q[-1] - run.q[0]).max() <= 1e-6
    assert not run.uncertified[20:].any()


@pytest.mark.slow
def test_edges_that_cross_hold_each_other() -> None:
    """A bar that stands on its edge on a fixed one, across it, is in equilibrium, and pushes with its weight."""
    turned = on.Placement(on.rotations.matrix_from_quaternion(turn((1, 0, 0), math.pi / 4)).ravel())
    robot = on_a_fixed_one(("box", (1.0, 0.1, 0.1)), ("box", (0.1, 1.0, 0.1)), turned)
    q = [*turn((0, 1, 0), math.pi / 4), 0.0, 0.0, 0.1 * math.sqrt(2.0) - 1e-6]
    step = robot.contact_step(q, np.zeros(6), dt=DT)
    assert float(step.penetration) == pytest.approx(1e-6, abs=1e-12)
    np.testing.assert_allclose(step.impulses.sum(axis=0), [0.0, 0.0, G * DT + 0.2e-6 / DT], atol=1e-9)
    assert np.abs(step.v[:3]).max() <= 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("solids", [(BOX, CUBE), (BAR, BOX)], ids=["boxes", "capsule"])
def test_derivatives_are_those_of_differences(solids: tuple[Solid, Solid]) -> None:
    """Steps of two solids about each other, all of them finite; away from switches, rates are those of differences."""
    robot = floating(solids, G).with_contacts(pairs=[("0", "1")], friction=0.7, sweeps=200)
    q = random_positions(200, 0.15)
    depth = _depth(robot, solids, q)
    q[:, 11:] *= 1.0 + (depth / np.linalg.norm(q[:, 11:], axis=1))[:, None]  # nearly touching
    rng = np.random.default_rng(2)
    v, along = rng.standard_normal((2, len(q), 12))
    surfaces = np.tile([0.7, 0.0, 0.0], (len(robot.contacts.pairs), 1))  # type: ignore[union-attr]
    given = {"q": q, "v": v, "tau": 0.0 * v, "dt": np.full(len(q), DT), "drag": 0.0 * v, "surfaces": surfaces}
    given |= {"lower": robot.lower, "upper": robot.upper, "impulses": 0.0 * surfaces, "stops": np.zeros(12)}
    found = robot.jvp("contact_step", given, {"q": along})
    assert np.isfinite(found).all()
    before, here, after = (robot.contact_step(robot.integrate(q, by * along), v, dt=DT) for by in (-1e-6, 0.0, 1e-6))
    size = np.maximum(1.0, np.abs(found[:, 14:26]).max(axis=1, keepdims=True))
    bend = np.abs(after.v + before.v - 2.0 * here.v) / size
    smooth = (bend.max(axis=1) < 1e-9) & (here.residual < 1e-10) & (here.impulses[..., 2] > 0.0).any(axis=1)
    assert smooth.mean() > 0.3
    assert (np.abs(found[:, 14:26] - (after.v - before.v) / 2e-6) / size)[smooth].max() <= 1e-4
