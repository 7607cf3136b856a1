"""Masses of OBJ meshes: MuJoCo's polygons, groups and numbers of vertices."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import ordern as on
from tests.tolerances import ROUNDING, assert_close

Array = np.ndarray
KINDS = ("legacy", "exact", "convex", "shell")
MODEL = """<mujoco><asset><mesh name="m" file="m.obj" inertia="{}"/></asset><worldbody><body name="b"><freejoint/>
  <geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""


def vertices(points: Array) -> str:
    return "".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in np.asarray(points, float).tolist())


def pyramid(rim: Array) -> str:
    """A polygon, and triangles from its edges to a point above it."""
    n = len(rim)
    normal = np.cross(rim, np.roll(rim, -1, axis=0)).sum(axis=0)
    apex = rim.mean(axis=0) + normal / np.linalg.norm(normal)
    base = "f " + " ".join(str(n - k) for k in range(n)) + "\n"
    return vertices([*rim, apex]) + base + "".join(f"f {k + 1} {(k + 1) % n + 1} {n + 1}\n" for k in range(n))


def cube(first: int, x: float) -> tuple[str, str]:
    """A cube of one metre that starts at x, its vertices from the number `first` on."""
    points = [(x + i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return vertices(np.array(points)), "".join(f"f {' '.join(str(first + k) for k in s)}\n" for s in sides)


def agree(text: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "m.obj").write_text(text)
    (tmp_path / "m.xml").write_text(MODEL.format(kind))
    theirs = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    (body,) = on.load(tmp_path / "m.xml", snap=0.0).bodies
    assert_close(np.array([body.mass]), theirs.body_mass[1:], ROUNDING)
    assert_close(np.array(body.com), theirs.body_ipos[1], ROUNDING)
    assert_close(np.linalg.eigvalsh(body.inertia_matrix), np.sort(theirs.body_inertia[1]), ROUNDING)


@pytest.mark.parametrize("corners", [100, 101])
def test_polygons_of_more_than_100_corners_are_left_out(corners: int, tmp_path: Path) -> None:
    angle = 2 * np.pi * np.arange(corners) / corners
    rim = np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    for kind in ("legacy", "shell"):
        agree(pyramid(rim), kind, tmp_path)


@pytest.mark.parametrize("corners", [4, 5, 6, 7, 8])
@pytest.mark.parametrize("seed", range(6))
def test_polygons_that_are_neither_flat_nor_convex(corners: int, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng((corners, seed))
    angle = 2 * np.pi * (np.arange(corners) + rng.uniform(-0.4, 0.4, corners)) / corners
    radius = rng.uniform(0.3, 1.0, corners) if seed % 2 else np.ones(corners)  # star-shaped, or convex
    rim = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 0.1 * rng.normal(size=corners)])
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn[:, 2] *= np.linalg.det(turn)
    place = rng.normal(size=3) * (seed // 2)  # ears are found otherwise where the origin is outside
    for kind in ("legacy", "shell"):
        agree(pyramid(rim @ turn.T + place), kind, tmp_path)


def test_a_dart_is_split_along_its_shorter_diagonal(tmp_path: Path) -> None:
    dart = np.array([[0, 0, 0.1], [1, 1, 0], [0.2, 0, 0.1], [1, -1, 0.0]]) - [0.4, 0, 0]
    agree(pyramid(dart), "shell", tmp_path)
    agree(pyramid(dart[[1, 2, 3, 0]]), "shell", tmp_path)


(A, SIDES), (B, OTHERS) = cube(1, 0.0), cube(9, 3.0)
GROUPS = {
    "none": A + SIDES + B + OTHERS,
    "objects": f"o a\n{A}{SIDES}o b\n{B}{OTHERS}",
    "groups": f"{A}{B}g a\n{SIDES}  g\tb\n{OTHERS}",
    "the second has faces": f"o a\n{A}o b\n{B}{OTHERS}",
    "materials": f"mtllib x.mtl\n{A}usemtl x\n{SIDES}usemtl y\n{B}{OTHERS}",
    "smoothing": f"{A}s 1\n{SIDES}s off\n{B}{OTHERS}",
    "no name": f"{A}{SIDES}g\no\n{B}{OTHERS}",
    "lines": f"{A}{B}g a\nl 1 2 3\ng b\n{OTHERS}",
    "points": f"{A}g a\np 1 2 3\no b\n{SIDES}",
    "edges": f"o a\n{A}f 1 2\no b\n{B}{OTHERS}",
    "wrong afterwards": f"o a\n{A}{SIDES}o b\n{B}f 1 2 99\n{OTHERS}",
    "vertices alone": f"o a\n{A}o b\n{B}",
    "old line ends": f"o a\n{A}{SIDES}o b\n{B}{OTHERS}".replace("\n", "\r"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", GROUPS)
def test_groups(case: str, kind: str, tmp_path: Path) -> None:
    agree(GROUPS[case], kind, tmp_path)


def test_textures_normals_and_numbers_from_the_end(tmp_path: Path) -> None:
    points, sides = cube(1, 0.5)
    textures, normals = "vt 0 0\n", "vn 0 0 1\nvn 1 0 0\n"
    for form, more in {
        "{0}": "",
        "{0}/1": textures,
        "{0}//2": normals,
        "{0}/1/1": textures + normals,
        "{1}": "",
        "{1}/-1/-2": textures + normals,
        "{1}//-1": normals,
    }.items():
        faces = [
            " ".join(["f", *(form.format(word, int(word) - 9) for word in line.split()[1:])])
            for line in sides.splitlines()
        ]
        agree("\n".join([points + more, *faces, ""]), "legacy", tmp_path)


def test_a_first_group_of_lines_alone_is_refused_by_both(tmp_path: Path) -> None:
    (tmp_path / "m.obj").write_text(f"{A}o a\nl 1 2 3\no b\n{SIDES}")
    (tmp_path / "m.xml").write_text(MODEL.format("legacy"))
    with pytest.raises(ValueError, match="too small"):
        mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    with pytest.raises(on.ModelError, match=r"'m\.obj' is broken"):
        on.load(tmp_path / "m.xml")
