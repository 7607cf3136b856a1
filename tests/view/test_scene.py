"""What is drawn, and where, against the dynamics' own kinematics and closed forms."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.model import BASE, Body
from ordern.model.poses import body_poses
from ordern.rotations import exp_pose, log_pose, quaternion_from_matrix
from ordern.view.charts import Charts, factors
from ordern.view.looks import Looks, colours
from ordern.view.meshes import creased
from ordern.view.skeleton import equivalent
from ordern.view.solids import Solid, along, box, capsule, cylinder, ellipsoid, round_box
from tests.random_models import ALL_JOINTS, random_robot
from tests.tolerances import ROUNDING, assert_close

pytestmark = pytest.mark.needs("viser")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_poses_are_the_robots(seed: int) -> None:
    robot = random_robot(seed, 14, mimic=True)
    q = robot.random(seed, 5)
    expected = np.stack([robot.pose(q, body.name) for body in robot.bodies], axis=1)
    assert_close(body_poses(robot, q), expected, ROUNDING)


def test_quaternions_turn_as_their_matrices() -> None:
    q = np.random.default_rng(0).normal(size=(50, 4))
    q = np.concatenate([q, np.eye(4), -np.eye(4)])
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    w, x, y, z = q.T
    R = np.stack(  # by columns: what the rotation does to x, y and z
        [
            np.stack([w * w + x * x - y * y - z * z, 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=-1),
            np.stack([2 * (x * y - w * z), w * w - x * x + y * y - z * z, 2 * (y * z + w * x)], axis=-1),
            np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z], axis=-1),
        ],
        axis=-1,
    )
    assert_close(np.abs(np.sum(quaternion_from_matrix(R) * q, axis=1)), np.ones(len(q)), ROUNDING)


def test_twists_are_screws() -> None:
    quarter = exp_pose(math.pi / 2 * np.array([0.0, 0.0, 1.0, 0.0, -1.0, 0.3]))  # about the axis through (1, 0)
    expected = [[0, -1, 0, 1], [1, 0, 0, -1], [0, 0, 1, 0.15 * math.pi], [0, 0, 0, 1]]
    assert_close(quarter, np.array(expected), ROUNDING)
    for twist in np.random.default_rng(1).uniform(-1.5, 1.5, (20, 6)):
        assert_close(log_pose(exp_pose(twist)), twist, ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize(
    "joint", [t for t in ALL_JOINTS if t is not on.Fixed], ids=lambda t: f"{t.__module__}.{t.__name__}"
)
def test_sliders_reach_every_position(joint: type[on.Joint]) -> None:
    robot = random_robot(4, 3, [joint], chain=True)
    charts = Charts(robot, 1.0)
    for q in robot.random(5, 10):
        values = charts.values(q)
        assert len(values) == len(charts.sliders)
        assert_close(body_poses(robot, charts.position(values)[None]), body_poses(robot, q[None]), ROUNDING)


@pytest.mark.parametrize(
    "joint",
    [
        on.Revolute((1, 2, 3)),
        on.Prismatic((0, 1, 1)),
        on.Helical((0, 0, 1), 0.1),
        on.Cylindrical((1, 0, 0)),
        on.Universal(),
        on.Planar(),
        on.Spherical(),
        on.Free(),
        on.RollingDisc(0.3),
        on.Composite((on.Revolute((0, 0, 1)), (on.Revolute((0, 1, 0)), (0, 0, 0.1)))),
    ],
    ids=lambda j: type(j).__name__,
)
def test_joints_are_products_of_screws(joint: on.Joint) -> None:
    found = factors(joint)
    assert found is not None
    assert sorted(f.slider for f in found) == list(range(len(found)))


def test_sliders_keep_within_limits() -> None:
    robot = on.load("puma560")
    for slider, lower, upper in zip(Charts(robot, 1.0).sliders, robot.lower, robot.upper, strict=True):
        assert lower <= slider.lower < slider.upper <= upper
        assert slider.upper - slider.lower > 0.99 * (upper - lower)


def volume(solid: Solid) -> float:
    """Of a closed surface whose faces are seen from outside: by the theorem of Gauss."""
    a, b, c = (solid.vertices[solid.faces[:, k]] for k in range(3))
    return float(np.einsum("ni,ni->", a, np.cross(b, c)) / 6)


@pytest.mark.parametrize(
    ("solid", "expected"),
    [
        (box((1, 2, 3)), 6.0),
        (cylinder(1.0, 2.0), 2 * math.pi),
        (capsule(1.0, 2.0), 2 * math.pi + 4 / 3 * math.pi),
        (ellipsoid((1, 2, 3)), 8 * math.pi),
        (cylinder(1.0, 2.0).at(along(np.zeros(3), np.array([1.0, 2.0, -1.0]))), 2 * math.pi),
    ],
    ids=["box", "cylinder", "capsule", "ellipsoid", "placed"],
)
def test_solids_are_closed_and_face_outward(solid: Solid, expected: float) -> None:
    assert abs(volume(solid) / expected - 1) < 0.03  # they are polyhedra, inside of what they stand for


def test_bevelled_box_loses_its_edges() -> None:
    b = 0.1
    # 12 prisms along the edges between the bevelled corners, and 8 corners, each a cube less a tetrahedron's rest
    lost = 4 * b * b / 2 * ((1 - 2 * b) + (2 - 2 * b) + (3 - 2 * b)) + 8 * (b**3 - b**3 / 6)
    assert abs(volume(round_box((1, 2, 3), b)) - (6 - lost)) < ROUNDING


@pytest.mark.parametrize("sides", [(0.1, 0.2, 0.3), (1.0, 1.0, 0.1)])
def test_equivalent_box_of_a_box(sides: tuple[float, float, float]) -> None:
    a, b, c = sides
    m = 3.0
    body = Body(
        "b", m, (0.1, 0.2, 0.3), (*(m / 12 * x for x in (b * b + c * c, a * a + c * c, a * a + b * b)), 0, 0, 0)
    )
    found = equivalent(body)
    assert found is not None
    assert_close(np.sort(found[0]), np.sort(sides), ROUNDING)
    assert_close(found[1][:3, 3], np.array([0.1, 0.2, 0.3]), 0)


def test_no_box_of_nothing() -> None:
    assert equivalent(Body("b", 0.0, (0, 0, 0), (0,) * 6)) is None
    assert equivalent(Body("b", 1.0, (0, 0, 0), (0,) * 6)) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", [*robots.names(), "spherical-star-4"])
def test_every_bundled_robot_has_looks(name: str) -> None:
    robot = on.load(name)
    looks = Looks(robot)
    shown = {part.body for part in looks.parts}
    ground = {BASE} if type(robot.joints[0].type) is on.Free else set()  # a floating robot has nothing there
    assert shown | ground == {BASE, *range(len(robot.bodies))}
    assert not looks.missing
    assert all(np.isfinite(part.solid.vertices).all() for part in looks.parts)
    reach = np.ptp(looks.corners(robot.neutral()[None]), axis=0).max()
    assert 0.05 < reach < 10


def test_colours_are_different() -> None:
    assert len(set(colours(8))) == 8
    assert len(colours(1)) == 1 and colours(0) == []


STL = """solid tetra
facet normal 0 0 -1\nouter loop\nvertex 0 0 0\nvertex 0 1 0\nvertex 1 0 0\nendloop\nendfacet
facet normal 0 -1 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 0 1\nendloop\nendfacet
facet normal -1 0 0\nouter loop\nvertex 0 0 0\nvertex 0 0 1\nvertex 0 1 0\nendloop\nendfacet
facet normal 1 1 1\nouter loop\nvertex 1 0 0\nvertex 0 1 0\nvertex 0 0 1\nendloop\nendfacet
endsolid tetra
"""
URDF = """<robot name="r"><link name="a"/><link name="b">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{}</link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
MESH = '<visual><geometry><mesh filename="{}" scale="{}"/></geometry></visual>'


def robot_with(folder: Path, *visuals: str) -> on.Robot:
    path = folder / "r.urdf"
    path.write_text(URDF.format("".join(visuals)))
    return on.load(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["meshes/t.stl", "package://mine/meshes/t.stl", "file"])
@pytest.mark.parametrize(("scale", "size"), [("1 1 1", 1 / 6), ("2 1 1", 1 / 3), ("-1 1 1", 1 / 6)])
def test_meshes_are_found_and_face_outward(tmp_path: Path, name: str, scale: str, size: float) -> None:
    (tmp_path / "mine" / "meshes").mkdir(parents=True)
    file = tmp_path / "mine" / "meshes" / "t.stl"
    file.write_text(STL)
    given = file.as_uri() if name == "file" and not str(file).startswith("C:") else name
    looks = Looks(robot_with(tmp_path / "mine", MESH.format(given, scale)))
    (part,) = looks.parts
    assert not looks.missing
    assert abs(volume(part.solid) - size) < ROUNDING


def test_a_missing_mesh_is_listed_once_and_replaced_by_bones(tmp_path: Path) -> None:
    missing = MESH.format("no/such.stl", "1 1 1")
    bad = MESH.format("bad.glb", "1 1 1")
    far = MESH.format("http://example.org/x.stl", "1 1 1")
    (tmp_path / "bad.glb").write_bytes(b"no mesh at all")
    looks = Looks(robot_with(tmp_path, missing, missing, bad, far))
    assert list(looks.missing) == ["no/such.stl", "bad.glb", "http://example.org/x.stl"]
    assert looks.missing["no/such.stl"] == "no such file"
    assert "cannot be read" in looks.missing["bad.glb"]
    assert "only files are read" in looks.missing["http://example.org/x.stl"]
    assert 0 in {part.body for part in looks.parts}


def test_collision_shapes_stand_in_for_looks(tmp_path: Path) -> None:
    shape = "<collision><geometry><box size='1 2 3'/></geometry></collision>"
    looks = Looks(robot_with(tmp_path, shape))
    (part,) = looks.parts
    assert not part.collision
    assert abs(volume(part.solid) - 6) < ROUNDING


def test_edges_are_kept_and_round_surfaces_are_smooth() -> None:
    cube = box((1, 1, 1))
    separate = Solid(cube.vertices[cube.faces.ravel()], np.arange(cube.faces.size).reshape(-1, 3))
    assert len(creased(separate.vertices, separate.faces).vertices) == 24  # four for each of six faces
    ball = ellipsoid((1, 1, 1))
    separate = Solid(ball.vertices[ball.faces.ravel()], np.arange(ball.faces.size).reshape(-1, 3))
    smooth = creased(separate.vertices, separate.faces)
    assert len(smooth.vertices) < 0.4 * len(separate.vertices)
    assert abs(volume(smooth) - volume(ball)) < ROUNDING


@pytest.mark.slow
def test_long_chains_are_quick_to_draw() -> None:
    looks = Looks(on.load("spherical-chain-300"))
    assert {part.body for part in looks.parts} == {BASE, *range(300)}
