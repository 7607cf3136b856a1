"""Uneven ground is drawn where contacts are: in scenes, pictures and recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.view.camera import Camera
from ordern.view.lens import Lens
from ordern.view.render import Renderer
from ordern.view.stage import Stage
from ordern.view.terrain import Terrain, terrain
from tests.contact.robots import ball

RNG = np.random.default_rng(3)
STAIRS = {"steps": [(-0.2, 0.1), (0.1, 0.25), (0.45, 0.3), (5.0, 1.0)]}
FIELD = {"heights": 0.2 * RNG.random((7, 5)), "size": (1.2, 0.9), "centre": (0.1, -0.2)}
TILTED = {"normal": (0.3, -0.2, 1.0), "height": 0.7}
GROUNDS: list[dict[str, Any]] = [STAIRS, FIELD, {**STAIRS, **TILTED}, {**FIELD, **TILTED}]


def height_at(piece: Terrain, axes: np.ndarray, x: float, y: float) -> float:
    """Return the highest point of the triangles over a place, along the normal of the ground."""
    found = []
    for corners in piece.solid.vertices[piece.solid.faces] @ axes.T:
        system = np.vstack([corners[:, :2].T, np.ones(3)])
        if abs(np.linalg.det(system)) < 1e-12:
            continue
        part = np.linalg.solve(system, [x, y, 1.0])
        if (part > -1e-9).all():
            found.append(float(part @ corners[:, 2]))
    return max(found)


@pytest.mark.parametrize("ground", GROUNDS, ids=["stairs", "field", "tilted stairs", "tilted field"])
def test_the_surface_is_that_of_contacts(ground: dict[str, Any]) -> None:
    """The gap of a point at each place of the drawn surface is zero; the grid ends within the piece."""
    own = on.Ground(0.5, **ground)
    point = on.Builder("point")
    point.body("point", mass=1.0, inertia=(0.1, 0.1, 0.1))
    robot = point.build(floating=True).with_contacts(own, points=["point"])
    axes = np.array(own.axes)
    for lift in (own.height, own.height + 0.4):
        piece = terrain(own, lift, np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 0.5]]), 0.5)
        for x, y in RNG.uniform(-1.2, 1.2, (25, 2)):
            z = height_at(piece, axes, x, y)
            q = np.array([1.0, 0.0, 0.0, 0.0, *(np.array([x, y, z + 1e-9]) @ axes)])
            assert robot.contact_points(q, height=lift).gap[0] == pytest.approx(0.0, abs=1e-8)


def test_cells_are_cut_as_contacts_cut_them() -> None:
    """A single cell whose diagonal is a ridge or a valley, by how it is cut."""
    own = on.Ground(heights=[[1.0, 0.0], [0.0, 1.0]], size=(1.0, 1.0))
    piece = terrain(own, 0.0, np.array([[-0.2, -0.2, 0.0], [0.2, 0.2, 0.0]]), 0.5)
    assert height_at(piece, np.eye(3), 0.0, 0.0) == pytest.approx(1.0)
    assert height_at(piece, np.eye(3), 3 * 0.2, 0.1) == pytest.approx(0.6)  # beyond the grid
    assert piece.lines[..., 2].max() > 1.0


def test_a_large_field_is_cut_around_the_motion() -> None:
    own = on.Ground(heights=np.zeros((600, 600)), size=(60.0, 60.0))
    piece = terrain(own, 0.0, np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 0.0]]), 1.0)
    assert 5.0 > np.abs(piece.solid.vertices[:, :2]).max() > 1.5
    fine = terrain(
        on.Ground(heights=np.zeros((600, 600)), size=(3.0, 3.0)), 0.0, np.array([[-0.1, -0.1, 0], [0.1, 0.1, 0]]), 1.0
    )
    assert len(fine.solid.vertices) < 45_000
    away = terrain(own, 0.0, np.array([[99.0, 0.0, 0.0], [100.0, 1.0, 0.0]]), 1.0)  # the border goes on
    assert away.solid.vertices[:, 0].max() > 100.0


@pytest.fixture(scope="module")
def robot() -> on.Robot:
    return ball().with_contacts(on.Ground(0.8, steps=[(0.3, 0.2), (0.6, 0.4)]))


@pytest.mark.slow
@pytest.mark.needs("viser")
def test_the_page_has_the_stairs_of_the_motion(robot: on.Robot, tmp_path: Path) -> None:
    from ordern.view.server import start, stop

    run = robot.rollout([1.0, 0, 0, 0, 0, 0, 0.7], np.zeros(6), steps=20, dt=1e-2, ground_height=0.5)
    server = start("ball")
    try:
        mesh, lines = Stage(robot, run).scene(server, collision=False).groups["ground"]
        high = np.unique(np.round(mesh.vertices[:, 2], 6))
        np.testing.assert_allclose(high[-2:], [0.5, 0.7], rtol=1e-6)  # the second step is far away
        assert len(lines.points)
    finally:
        stop(server)
    robot.view(motion=run, save=tmp_path / "stairs.html")
    assert '"ground":["/ground","/ground lines"]' in (tmp_path / "stairs.html").read_text("utf-8")


def test_a_picture_has_steps_that_hide_what_is_behind(robot: on.Robot) -> None:
    """Seen from the low side, along the ground, a ball behind the stairs is hidden; before them it is not."""
    seen = []
    for x in (-0.3, 1.0):
        q = np.array([1.0, 0, 0, 0, x, 0, 0.1])
        stage = Stage(robot, (np.array([0.0, 1.0]), np.array([[1.0, 0, 0, 0, y, 0, 0.1] for y in (-0.3, 1.0)])), q)
        renderer = Renderer(stage, (160, 120), (-1.0, 0.0, 0.05))
        bare = renderer._floor.empty.reshape(120, 2, 160, 2, 3).mean(axis=(1, 3))
        picture = renderer.still() / 255.0
        seen.append(int((np.abs(picture - bare).max(axis=-1) > 0.15).sum()))
    assert seen[0] > 200 > 5 * seen[1]


def test_the_shadow_is_on_the_step_below(robot: on.Robot) -> None:
    q = np.array([1.0, 0, 0, 0, 0.45, 0, 0.5])
    renderer = Renderer(Stage(robot, q=q), (160, 120), (0.0, -0.5, 1.0))
    dark = renderer._floor.empty.copy()
    mesh = renderer._solid
    poses = np.concatenate([renderer._stage.poses(q)[0], np.eye(4)[None]])
    renderer._floor.shade(dark, mesh.placed(poses, renderer._stage.looks)[mesh.faces])
    places = renderer._floor._points[(renderer._floor.empty - dark)[renderer._floor._seen, 0] > 0.1]  # type: ignore[attr-defined]
    expected = q[4:] - renderer._sun * 0.3 / renderer._sun[2]  # on the first tread
    if abs(expected[0] - 0.3) > 0.1:
        np.testing.assert_allclose(places.mean(axis=0)[1:], [expected[1], 0.2], atol=0.03)
    assert set(np.round(places[:, 2], 3)) <= {0.0, 0.2}


def test_triangles_behind_the_camera_are_cut() -> None:
    camera = Camera(np.zeros(3), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]), 0.7, 1.0)
    lens = Lens(camera, 64, 48)
    triangles = np.array(
        [
            [[1, 0, 0], [2, 1, 0], [2, 0, 1]],
            [[1, 0, 0], [-1, 1, 0], [-1, 0, 1]],
            [[1, 0, 0], [1, 1, 0], [-1, 0, 1]],
            [[-1, 0, 0], [-1, 1, 0], [-2, 0, 1]],
        ],
        float,
    )
    found = lens.in_front(triangles)
    assert len(found) == 1 + 1 + 2
    assert (found[..., 0] > 1e-3).all()
    areas = np.linalg.norm(np.cross(found[:, 1] - found[:, 0], found[:, 2] - found[:, 0]), axis=1)
    np.testing.assert_allclose([areas[1], areas[2:].sum()], [np.sqrt(9.0) / 4, 0.75 * np.sqrt(5.0)], rtol=1e-2)


def test_a_simulation_shows_its_contact_forces(robot: on.Robot, tmp_path: Path) -> None:
    result = robot.simulate([1.0, 0, 0, 0, 0, 0, 0.1], until=0.1, contacts="rigid")
    result.save(tmp_path / "rest.npz")
    read = on.load_result(tmp_path / "rest.npz")
    stage = Stage(read.robot, read)
    assert stage.motion.contact_forces is not None
    np.testing.assert_allclose(stage.motion.contact_forces[-1, 0], [0.0, 0.0, 9.81 * robot.mass], atol=1e-6)
    assert len(stage.arrows(stage.motion)["contact forces"][-1]) == 1
    assert stage.friction.tolist() == [0.8, 0.8]


@pytest.mark.slow
@pytest.mark.needs("mcap")
def test_a_recording_has_the_ground(robot: on.Robot, tmp_path: Path) -> None:
    from mcap.reader import make_reader

    result = robot.simulate([1.0, 0, 0, 0, 0, 0, 0.1], until=0.1, contacts="rigid")
    result.save(tmp_path / "motion.mcap")
    with open(tmp_path / "motion.mcap", "rb") as file:
        first = next(json.loads(m.data) for _, c, m in make_reader(file).iter_messages() if c.topic == "/scene")
    ground = next(x for x in first["entities"] if x["id"] == "ground")
    assert ground["frame_id"] == "world"
    assert max(p["z"] for p in ground["triangles"][0]["points"]) == 0.2
