"""Contacts of convex shapes, by coal: known answers, potentials, events, and refusals."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.model.json_form import from_plain, to_plain
from ordern.simulate.contacts.compliant import Compliant
from tests.contact.convex import CORNERS, SHAPES, on_table, pair_of, posed, two
from tests.contact.robots import floating
from tests.tolerances import CONVEX_ENERGY, CONVEX_JACOBIAN, CONVEX_RATE, CONVEX_WEIGHT, ROUNDING

G = 9.81
HALF = math.sqrt(0.5)
LOOSE = {"contacts": "compliant", "rtol": 1e-8, "atol": 1e-8}
pytestmark = pytest.mark.needs("coal")


def test_spheres_touch_as_in_closed_form() -> None:
    bodies = floating([("sphere", (0.1,)), ("sphere", (0.15,))])
    closed, convex = (
        Compliant(bodies.with_contacts(pairs=[("0", "1")], friction=0.4, convex=convex)) for convex in (False, True)
    )
    rng = np.random.default_rng(0)
    v, t = 0.1 * rng.standard_normal((20, 12)), np.zeros(20)
    q = bodies.project(rng.standard_normal((20, 14)))
    apart = rng.standard_normal((20, 3))
    apart *= rng.uniform(0.249, 0.2505, (20, 1)) / np.linalg.norm(apart, axis=1, keepdims=True)
    q[:, 11:] = q[:, 4:7] + apart
    assert 0 < (closed.motion(q, v)[:, 0, 3] < 0.0).sum() < 20
    np.testing.assert_allclose(convex.motion(q, v), closed.motion(q, v), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(convex.force(q, v), closed.force(q, v), rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(convex.forces(t, q, v, v), closed.forces(t, q, v, v), rtol=1e-9, atol=1e-8)


RESTING = {
    "ellipsoid": ("ellipsoid", (0.1, 0.15, 0.05), (1, 0, 0, 0), 0.05),
    "standing cylinder": ("cylinder", (0.1, 0.3), (1, 0, 0, 0), 0.15),
    "lying cylinder": ("cylinder", (0.1, 0.3), (HALF, HALF, 0, 0), 0.1),
    "lying capsule": ("capsule", (0.1, 0.3), (HALF, HALF, 0, 0), 0.1),
    "box": ("box", (0.2, 0.3, 0.1), (1, 0, 0, 0), 0.05),
    "hull": ("mesh", (1.0, 1.0, 0.5), (1, 0, 0, 0), 0.1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RESTING)
def test_shapes_rest_on_a_fixed_box(name: str, tmp_path: Path) -> None:
    kind, size, turn, height = RESTING[name]
    robot = on_table(kind, size, tmp_path).with_contacts(pairs=[("thing", "table")], convex=True)
    result = robot.simulate([*turn, 0.05, 0.02, height - 8e-5], until=0.3, **LOOSE)
    (contact,) = robot.contacts.pairs  # type: ignore[union-attr]
    force = result[f"force.{contact.name}"][-1]
    np.testing.assert_allclose(force, [0.0, 0.0, 2.0 * G], atol=CONVEX_WEIGHT)
    assert result[f"gap.{contact.name}"][-1] == pytest.approx(-1e-4, abs=1e-9)  # one contact carries all the weight
    np.testing.assert_allclose(result.q[-1, :6], [*turn, 0.05, 0.02], atol=1e-9)
    assert result.report.energy_drift < 1e-6


@pytest.mark.slow
def test_a_box_rests_on_another_that_is_smaller_and_turned() -> None:
    """No corner of one is inside the other: four crossings of edges carry it."""
    robot = two([("box", (0.5, 0.05, 0.05)), ("box", (0.05, 0.5, 0.05))], G, table=(1.0, 1.0, 0.1))
    robot = robot.with_contacts(pairs=[("0", "hub"), ("1", "0")], convex=True)
    q0 = posed(((1, 0, 0, 0), (0, 0, 0.025 - 1e-4)), ((1, 0, 0, 0.02), (0.001, 0, 0.075 - 1.5e-4)))
    result = robot.simulate(q0, until=0.4, **LOOSE)
    assert result["force.0 - hub"][-1, 2] == pytest.approx(2.0 * G, abs=CONVEX_WEIGHT)
    assert result["force.1 - 0"][-1, 2] == pytest.approx(G, abs=CONVEX_WEIGHT)
    assert np.abs(result.v[-1]).max() < 1e-6


@pytest.mark.slow
def test_crossing_edges_touch() -> None:
    boxes = two([("box", (0.4, 0.1, 0.1)), ("box", (0.1, 0.4, 0.1))])
    c, s = math.cos(math.pi / 8.0), math.sin(math.pi / 8.0)
    height = 0.1 * math.sqrt(2.0)
    q = posed(((c, s, 0, 0), (0, 0, 0)), ((c, 0, s, 0), (0.01, 0.02, height - 1e-4)))
    v = np.zeros(12)
    both, edges = (
        Compliant(boxes.with_contacts(pairs=[("0", "1")], convex=convex, stiffness=1e7)) for convex in (False, True)
    )
    assert both.force(q, v).any()  # boxes alone know their edges as well
    assert edges.motion(q, v)[0, 3] == pytest.approx(-1e-4, rel=1e-9)
    assert edges.forces(np.zeros(1), q[None], v[None], v)[0, 0] == pytest.approx([0.0, 0.0, 10.0], rel=1e-9)
    robot = boxes.with_contacts(pairs=[("0", "1")], convex=True)
    above = posed(((c, s, 0, 0), (0, 0, 0)), ((c, 0, s, 0), (0.01, 0.02, height + 0.02)))
    result = robot.simulate(above, [0, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, -0.5], until=0.1, **LOOSE)
    names = [e.name for e in result.events]
    assert names[0] == "touching 0 - 1"
    assert names[-1] == "leaving 0 - 1"
    assert result.report.momentum_drift is not None
    assert result.report.momentum_drift < 1e-9
    assert result.report.contacts is not None
    assert result.report.contacts.touches == 1


@pytest.mark.slow
def test_a_box_slides_down_a_fixed_box_with_the_known_acceleration() -> None:
    angle, mu = math.radians(30.0), 0.2
    ramp = on_table(
        "box", (0.2, 0.2, 0.1), table=(8.0, 1.0, 0.2), gravity=(G * math.sin(angle), 0, -G * math.cos(angle))
    )
    robot = ramp.with_contacts(pairs=[("thing", "table")], convex=True, friction=mu)
    result = robot.simulate([1, 0, 0, 0, -2, 0, 0.05 - 9e-5], until=0.5, **LOOSE)
    late = np.searchsorted(result.t, 0.3) - 1
    a = (result.v[-1, 3] - result.v[late, 3]) / (result.t[-1] - result.t[late])
    assert a == pytest.approx(G * (math.sin(angle) - mu * math.cos(angle)), rel=1e-6)
    f = result["force.thing - table"][-1]
    assert np.hypot(f[0], f[1]) / f[2] == pytest.approx(mu, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("shapes", [("ellipsoid", "cylinder"), ("box", "ellipsoid")], ids="-".join)
def test_collisions_keep_momentum_and_take_energy(shapes: tuple[str, str]) -> None:
    bodies = two([(kind, SHAPES[kind]) for kind in shapes])
    q0 = posed(((0.9, 0.1, 0.2, 0.3), (0, 0, 0)), ((0.8, -0.2, 0.3, 0.1), (0.02, 0.01, 0.3)))
    v0 = [0.1, 0.2, 0, 0, 0, 0.5, 0, 0, 0.3, 0, 0, -0.5]
    robot = bodies.with_contacts(pairs=[("0", "1")], convex=True, friction=0.5)
    result = robot.simulate(q0, v0, until=0.25, **LOOSE)
    assert result.report.contacts is not None
    assert result.report.contacts.touches >= 1
    assert result.report.momentum_drift is not None
    assert result.report.momentum_drift < 1e-9
    energy = robot.kinetic_energy(result.q, result.v)
    assert energy[-1] < 0.9 * energy[0]
    elastic = bodies.with_contacts(pairs=[("0", "1")], convex=True, friction=0.0, dissipation=0.0)
    result = elastic.simulate(q0, v0, until=0.25, **LOOSE)
    energy = elastic.kinetic_energy(result.q, result.v)
    assert energy.min() < 0.999 * energy[0]
    assert energy[-1] == pytest.approx(energy[0], rel=CONVEX_ENERGY)


@pytest.mark.slow
def test_a_box_that_lands_nearly_flat_gets_its_energy_back() -> None:
    """It is tilted by half the angle over which depths are averaged, so that corners take over from each other."""
    scene = on_table("box", (0.2, 0.3, 0.1), gravity=(0.0, 0.0, 0.0))
    robot = scene.with_contacts(pairs=[("thing", "table")], convex=True, friction=0.0, dissipation=0.0)
    result = robot.simulate([1, 2.5e-5, 1.5e-5, 0, 0.05, 0.02, 0.0503], [0, 0, 0, 0, 0, -0.1], until=0.03, **LOOSE)
    energy = robot.kinetic_energy(result.q, result.v)
    assert energy.min() < 0.1 * energy[0]
    assert result.events[-1].name == "leaving thing - table"
    assert energy[-1] == pytest.approx(energy[0], rel=CONVEX_ENERGY)


@pytest.mark.parametrize("first", SHAPES)
@pytest.mark.parametrize("second", SHAPES)
def test_gaps_change_by_the_velocities_of_their_points(first: str, second: str) -> None:
    """The parts of the points are the derivatives of the averaged depth: the springs have a potential."""
    rng = np.random.default_rng([len(first), len(second)])
    pair, count = pair_of(first, second), 0
    within = CONVEX_RATE["cylinder" if "cylinder" in (first, second) else ""]
    for trial in range(12):
        pose = pair.touching(rng, aligned=trial % 2 == 0)
        if pose is None:
            continue
        count += 1
        rate, expected, size = pair.rates(pose, rng.standard_normal(6))
        assert rate == pytest.approx(expected, abs=within * size)
    assert count > 3


def test_the_jacobian_is_that_of_the_forces() -> None:
    robot = on_table("box", (0.2, 0.3, 0.1)).with_contacts(pairs=[("thing", "table")], convex=True, friction=0.5)
    contacts = Compliant(robot)
    q, v = np.array([1.0, 2e-5, -1e-5, 0.1, 0.1, 0.02, 0.05 - 1e-4]), 1e-3 * np.arange(6.0)
    q = robot.project(q)
    J, e = contacts.jacobian(q, v), 1e-8

    def force(k: int, d: float) -> np.ndarray:
        x = np.concatenate([q, v])
        x[k] += d
        return contacts.force(robot.project(x[:7]), x[7:])

    for k in range(13):
        difference = (force(k, e) - force(k, -e)) / (2.0 * e)
        part = slice(0, 7) if k < 7 else slice(7, 13)
        np.testing.assert_allclose(J[:, k], difference, atol=CONVEX_JACOBIAN * np.abs(J[:, part]).max())


def test_ellipsoids_and_hulls_touch_the_ground_without_coal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "coal", None)
    for kind, size in (("ellipsoid", (0.1, 0.15, 0.05)), ("mesh", (1.0, 1.0, 0.25))):
        free = on_table(kind, size, tmp_path, table=None)
        robot = free.with_contacts(on.Ground(0.5), convex=True, stiffness=1e7)
        contacts = Compliant(robot)
        q, v = np.array([1.0, 0, 0, 0, 0.3, 0.2, 0.05 - 1e-4]), np.zeros(6)
        assert contacts.motion(q, v)[0, 3] == pytest.approx(-1e-4, rel=0.1)
        gap = float(contacts.motion(q, v)[0, 3])
        np.testing.assert_allclose(contacts.force(q, v), [0, 0, 0, 0, 0, 1e7 * (-gap) ** 1.5], atol=1e-9)


def test_contacts_in_closed_form_go_on_beside_convex_ones() -> None:
    bodies = two([("sphere", (0.1,)), ("ellipsoid", (0.1, 0.15, 0.05))])
    robot = bodies.with_contacts(on.Ground(0.5), pairs=[("0", "1")], convex=True, stiffness=1e7)
    assert [c.name for c in robot.contacts.pairs if not c.convex] == ["0"]  # type: ignore[union-attr]
    contacts = Compliant(robot)
    q = posed(((1, 0, 0, 0), (0, 0, 0.1 - 1e-4)), ((1, 0, 0, 0), (0.2, 0, 0.1 - 1e-4)))
    v = 0.01 * np.arange(12.0)
    forces = contacts.forces(np.zeros(1), q[None], v[None], v)[0]
    assert contacts.motion(q, v)[:, 3] == pytest.approx([-1e-4, 0.05 - 1e-4, 0.0], abs=1e-12)
    alone = Compliant(bodies.with_contacts(on.Ground(0.5), bodies=["0"], stiffness=1e7))
    np.testing.assert_allclose(forces[0], alone.forces(np.zeros(1), q[None], v[None], v)[0, 0], rtol=ROUNDING)
    np.testing.assert_allclose(contacts.force(q, v), alone.force(q, v), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(contacts.jacobian(q, v), alone.jacobian(q, v), rtol=1e-9, atol=1.0)


@pytest.mark.needs("mujoco")
def test_distances_are_those_of_mujoco() -> None:
    import mujoco

    sizes = {"ellipsoid": "0.1 0.15 0.05", "cylinder": "0.08 0.1", "box": "0.1 0.075 0.05", "capsule": "0.05 0.1"}
    rng = np.random.default_rng(1)
    for first, second in (("ellipsoid", "cylinder"), ("cylinder", "box"), ("capsule", "ellipsoid"), ("box", "box")):
        geoms = "".join(f'<body><freejoint/><geom type="{k}" size="{sizes[k]}"/></body>' for k in (first, second))
        there = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{geoms}</worldbody></mujoco>")
        data = mujoco.MjData(there)
        here = pair_of(first, second)
        for _ in range(10):
            turns = rng.standard_normal((2, 4))
            turns /= np.linalg.norm(turns, axis=1, keepdims=True)
            at = rng.standard_normal(3)
            at *= 0.4 / np.linalg.norm(at)
            data.qpos[:] = [0, 0, 0, *turns[0], *at, *turns[1]]
            mujoco.mj_forward(there, data)
            expected = mujoco.mj_geomDistance(there, data, 0, 1, 10.0, None)
            R = on.rotations.matrix_from_quaternion(turns)
            assert here.gap((R[0], np.zeros(3)), (R[1], at)) == pytest.approx(expected, abs=1e-5)


def test_contacts_go_into_files_and_back(tmp_path: Path) -> None:
    robot = on_table("mesh", (1.0, 1.0, 0.5), tmp_path).with_contacts(pairs=[("thing", "table")], convex=True)
    again = from_plain(json.loads(json.dumps(to_plain(robot))), on.Robot)
    assert again.contacts == robot.contacts
    (contact,) = robot.contacts.pairs  # type: ignore[union-attr]
    assert contact.convex
    assert len(contact.first.size) == 3 * len(CORNERS)


def test_what_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = on_table("ellipsoid", (0.1, 0.15, 0.05))
    robot = scene.with_contacts(pairs=[("thing", "table")], convex=True)
    q, v = [1, 0, 0, 0, 0, 0, 0.3], np.zeros(6)
    message = (
        r"contact 'thing - table' of 'scene' is one of convex shapes.*only simulate\(contacts=\"compliant\"\) handles"
    )
    refused: list[Callable[[], object]] = [
        lambda: robot.rollout(q, v, steps=2, dt=1e-3),
        lambda: robot.contact_step(q, v),
        lambda: robot.contact_points(q),
        lambda: robot.contact_forces(q),
        lambda: robot.whole_body(q),
        lambda: robot.simulate(q, v, until=0.1, contacts="rigid"),
        lambda: robot.kernel("push contact_step by q v"),
        lambda: robot.kernel("compliant_contact"),
    ]
    for call in refused:
        with pytest.raises(on.ArgumentError, match=message):
            call()
    with pytest.raises(on.ArgumentError, match=r"is an ellipsoid, which cannot touch shape .table.*convex=True"):
        scene.with_contacts(pairs=[("thing", "table")])
    with pytest.raises(on.ArgumentError, match="convex must be True or False"):
        scene.with_contacts(pairs=[("thing", "table")], convex="yes")  # type: ignore[arg-type]
    with pytest.raises(
        on.ArgumentError, match="torsional or rolling friction, which contacts of convex shapes have not"
    ):
        on_table("ellipsoid", (0.1, 0.1, 0.2), table=None).with_contacts(on.Ground(0.5, rolling=0.01), convex=True)
    builder = on.Builder("flat").body("table").body("thing", mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.shape("table", "plane", (), role="collision").shape("thing", "sphere", (0.1,), role="collision")
    flat = builder.joint("free", on.Free(), "table", "thing").build()
    with pytest.raises(on.ArgumentError, match="shape 'table' is a plane, which is not convex and bounded"):
        flat.with_contacts(pairs=[("thing", "table")], convex=True)
    monkeypatch.setitem(sys.modules, "coal", None)
    with pytest.raises(on.OrdernError, match=r"needs coal: pip install 'ordern\[convex\]'"):
        scene.with_contacts(pairs=[("thing", "table")], convex=True)
