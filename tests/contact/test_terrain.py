"""Steps and height fields: spheres and points on them, with known answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from ordern.model.json_form import from_plain, to_plain
from tests.contact.robots import ball

H, R = 1e-3, 0.1
STEPS = ((0.5, 0.15), (0.8, 0.3), (1.1, 0.45))


def test_balls_rest_on_the_treads_below_them() -> None:
    robot = ball().with_contacts(on.Ground(0.8, steps=STEPS, rolling=0.01))
    x = np.array([0.0, 0.65, 0.95, 3.0])
    q0 = np.zeros((4, 7))
    q0[:, 0], q0[:, 4] = 1.0, x
    q0[:, 6] = np.array([0.0, 0.15, 0.3, 0.45]) + R + 0.05
    lifted = np.array([[0.0], [0.0], [0.02], [0.0]])
    run = robot.rollout(q0, np.zeros((4, 6)), steps=500, dt=H, ground_height=lifted)
    np.testing.assert_allclose(run.q[:, -1, 6], q0[:, 6] - 0.05 + lifted[:, 0], atol=1e-9)
    assert not run.uncertified.any()


def test_a_ball_stops_at_a_riser() -> None:
    robot = ball().with_contacts(on.Ground(0.0, steps=STEPS))
    run = robot.rollout([1, 0, 0, 0, 0, 0, R], [0, 0, 0, 1, 0, 0], steps=1000, dt=H)
    assert run.q[-1, 4] == pytest.approx(0.5 - R, abs=1e-9)
    assert np.abs(run.v[-1]).max() <= 1e-9
    assert not run.uncertified.any()


def test_a_ball_falls_off_an_edge() -> None:
    """Over the nose of a step the normal points from the edge to the ball, which leaves to the lower side."""
    robot = ball().with_contacts(on.Ground(0.0, steps=STEPS))
    run = robot.rollout([1, 0, 0, 0, 0.45, 0, 0.15 + R], np.zeros(6), steps=400, dt=H)
    centre = run.q[:, 4:]
    apart = np.hypot(centre[:, 0] - np.maximum(centre[:, 0], 0.5), centre[:, 2] - np.minimum(centre[:, 2], 0.15))
    assert apart.min() >= R - 1e-4
    assert centre[-1, 0] < 0.4
    assert centre[:, 2].min() == pytest.approx(R, abs=1e-6)
    assert not run.uncertified.any()


def heights_at(heights: Any, size: tuple[float, float], x: Any, y: Any) -> Any:
    """Return the heights of two triangles for each cell, computed on their own."""
    n, m = heights.shape
    i = np.clip((x / size[0] + 0.5) * (n - 1), 0.0, n - 1.0)
    j = np.clip((y / size[1] + 0.5) * (m - 1), 0.0, m - 1.0)
    a, b = np.minimum(i.astype(int), n - 2), np.minimum(j.astype(int), m - 2)
    u, v = i - a, j - b
    h00, h10, h01, h11 = heights[a, b], heights[a + 1, b], heights[a, b + 1], heights[a + 1, b + 1]
    return np.where(u > v, h00 + u * (h10 - h00) + v * (h11 - h10), h00 + v * (h01 - h00) + u * (h11 - h01))


def test_the_depth_in_a_height_field() -> None:
    rng = np.random.default_rng(0)
    heights, size = rng.uniform(0.0, 0.2, (7, 5)), (3.0, 2.0)
    builder = on.Builder("point")
    builder.body("point", mass=1.0, inertia=(1.0, 1.0, 1.0))
    robot = builder.build(floating=True).with_contacts(on.Ground(0.5, heights=heights, size=size), points=["point"])
    q = np.zeros((300, 7))
    q[:, 0] = 1.0
    q[:, 4:6] = rng.uniform(-1.0, 1.0, (300, 2)) * (1.7, 1.2)  # also beside the field
    depth = heights_at(heights, size, q[:, 4], q[:, 5]) + 1.0
    q[:, 6] = -1.0
    e = 1e-6
    found = robot.contact_step(q, np.zeros((300, 6)), dt=H).penetration
    gx, gy = ((heights_at(heights, size, q[:, 4] + e * k, q[:, 5] + e * (1 - k)) - (depth - 1.0)) / e for k in (1, 0))
    np.testing.assert_allclose(found, depth / np.sqrt(1.0 + gx**2 + gy**2), rtol=1e-4)
    given = [q[:9], np.ones((9, 6)), np.zeros(6), H, np.zeros(6), robot.lower, robot.upper]
    given += [np.zeros((1, 3)), np.zeros(6), np.array([[0.5, 0.0, 0.0]])]
    expected = robot.kernel("contact_step", way="interpreted")(*given)
    np.testing.assert_allclose(robot.kernel("contact_step")(*given), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_field_that_is_a_slope_is_that_slope(dtype: Any) -> None:
    x = np.linspace(-2.0, 2.0, 9)
    field = on.Ground(0.3, heights=np.tile(-0.2 * x[:, None], (1, 4)), size=(4.0, 4.0))
    slope = on.Ground(0.3, normal=(0.2, 0.0, 1.0))
    n = np.array(slope.normal)
    start = np.array([1, 0, 0, 0, *(R * n)], dtype)
    runs = [ball().with_contacts(g).rollout(start, np.zeros(6, dtype), steps=500, dt=H) for g in (field, slope)]
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-9 if dtype is np.float64 else 1e-3)
    np.testing.assert_allclose(
        runs[0].contact_impulses[-1], runs[1].contact_impulses[-1], atol=1e-9 if dtype is np.float64 else 1e-4
    )


def test_grounds_are_checked_and_stored() -> None:
    for bad, message in (
        ({"steps": [(0.5, 0.2), (0.4, 0.3)]}, "both must rise"),
        ({"steps": [(0.5, -0.2)]}, "both must rise"),
        ({"heights": [[1.0, np.nan], [0.0, 0.0]], "size": (1, 1)}, "heights must be finite"),
        ({"heights": [[1.0, 1.0]], "size": (1, 1)}, "at least"),
        ({"heights": np.zeros((2, 2))}, "size must be the two lengths"),
        ({"heights": "high"}, "heights an array"),
    ):
        with pytest.raises(ArgumentError, match=message):
            on.Ground(**bad)  # type: ignore[arg-type]
    robot = ball().with_contacts(on.Ground(0.5, heights=np.eye(3), size=(1, 2)))
    assert from_plain(to_plain(robot), on.Model).contacts == robot.contacts
    with pytest.raises(ArgumentError, match="points and spheres on a plane"):
        robot.contact_forces(robot.neutral())


FIELD = """<mujoco><asset>
  <hfield name="h" nrow="3" ncol="4" size="2 1 0.5 0.1" elevation="0 1 2 3  4 5 6 7  8 9 10 20"/></asset>
  <worldbody><geom type="hfield" hfield="h" pos="0.3 0.1 0.2" friction="0.7"/>
  <body><freejoint/><geom name="ball" size="0.1"/></body></worldbody></mujoco>"""


@pytest.mark.needs("mujoco")
def test_height_fields_of_mjcf(tmp_path: Path) -> None:
    import mujoco

    (tmp_path / "field.xml").write_text(FIELD)
    on.load(tmp_path / "field.xml").save(tmp_path / "again.xml")
    for name in ("field.xml", "again.xml"):
        text = (tmp_path / name).read_text()
        model: Any = mujoco.MjModel.from_xml_string(text)
        data: Any = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        robot = on.load(tmp_path / name).with_contacts()
        assert robot.contacts is not None
        assert robot.contacts.pairs[0].friction == 1.0  # the larger one
        ground = robot.contacts.ground
        assert ground is not None
        rng = np.random.default_rng(0)
        for x, y in rng.uniform(-0.95, 0.95, (20, 2)) * (2.0, 1.0) + (0.3, 0.1):
            ray = mujoco.mj_ray(model, data, [x, y, 5.0], [0.0, 0.0, -1.0], None, 1, -1, np.zeros(1, np.int32))
            found = heights_at(np.array(ground.heights), ground.size, x - 0.3, y - 0.1) + ground.height
            assert found == pytest.approx(5.0 - ray, abs=1e-6)
        q = np.array([1, 0, 0, 0, 0.7, -0.3, 0.0])
        depth = float(robot.contact_step(q, np.zeros(6), dt=H).penetration)
        flat = heights_at(np.array(ground.heights), ground.size, 0.4, -0.4) + 0.2
        assert 0.5 * flat <= depth - R <= flat


def test_height_fields_that_cannot_be_read_are_left_out() -> None:
    for bad in ('nrow="1"', 'elevation="1 2"', 'size="2 0 0.5 0.1"', 'file="gone.bin"', 'file="hills.png"'):
        key = bad.split("=")[0]
        given = {"nrow": 'nrow="3"', "elevation": "", "size": 'size="2 1 0.5 0.1"', "file": ""} | {key: bad}
        text = f"""<mujoco><asset><hfield name="h" ncol="4" {" ".join(given.values())}/></asset>
          <worldbody><geom type="hfield" hfield="h"/><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""
        robot = on.load(text)
        assert "shape of a geom of type hfield" in " ".join(n.message for n in robot.notes if n.quiet)
        with pytest.raises(ArgumentError, match="nothing of 'mujoco' can touch"):
            robot.with_contacts()
