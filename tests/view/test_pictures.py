"""Pictures and films without a browser: the right pixels, the right tempo, and errors that say what is missing."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.view.raster import covered, nearest
from ordern.view.render import Renderer
from ordern.view.stage import Stage

RED, BLUE = (1.0, 0.1, 0.1, 1.0), (0.1, 0.1, 1.0, 1.0)


def balls() -> on.Robot:
    """Return two balls on a slide along y: a red one at the base, and a blue one that slides towards -y."""
    builder = on.Builder("balls", gravity=(0, 0, -9.81)).body("base")
    builder.body("ball", parent="base", joint=on.Prismatic((0, 1, 0)), mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.shape("base", "sphere", (0.2,), at=(0, 0, 0.5), color=RED)
    builder.shape("ball", "sphere", (0.2,), at=(0, 0, 0.5), color=BLUE)
    return builder.build()


@pytest.fixture(scope="module")
def robot() -> on.Robot:
    return balls()


def read_png(path: Path) -> np.ndarray:
    """Read a PNG file without filters."""
    data, at, pixels = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + size]
        assert int.from_bytes(data[at + 8 + size : at + 12 + size], "big") == zlib.crc32(kind + body)
        if kind == b"IHDR":
            width, height = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big")
        pixels += body if kind == b"IDAT" else b""
        at += 12 + size
    rows = np.frombuffer(zlib.decompress(pixels), np.uint8).reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


def where(picture: np.ndarray, channel: int) -> np.ndarray:
    """Return the pixels (row, column) of which one colour is far the strongest."""
    others = np.delete(picture.astype(int), channel, axis=-1).max(axis=-1)
    return np.argwhere(picture[..., channel] > others + 60)


def test_triangles_cover_the_pixels_whose_centres_they_contain() -> None:
    rng = np.random.default_rng(0)
    corners = np.concatenate([rng.uniform(-8, 40, (60, 3, 2)), rng.uniform(0.5, 1.0, (60, 3, 1))], axis=-1)
    corners[3, 1, 2] = 0.0  # behind the camera
    width, height = 32, 24
    row, column = np.divmod(np.arange(width * height), width)
    points = np.stack([column + 0.5, row + 0.5, np.ones(width * height)])
    expected = np.full(width * height, -1)
    best = np.zeros(width * height)
    for k, triangle in enumerate(corners):
        weights = np.linalg.solve(np.concatenate([triangle[:, :2].T, np.ones((1, 3))]), points)
        inside = (weights > 0).all(axis=0) & (k != 3)
        inverse = triangle[:, 2] @ weights
        front = inside & (inverse > best)
        expected[front], best[front] = k, inverse[front]
    np.testing.assert_array_equal(nearest(corners, width, height), expected)
    assert sum(len(pixel) for pixel, _, _ in covered(corners[:0], width, height)) == 0


@pytest.mark.parametrize(("look_from", "front"), [((1, 0, 0), None), ((0, -1, 0), 2), ((0, 1, 0), 0)])
def test_near_parts_hide_far_ones(robot: on.Robot, look_from: Any, front: int | None, tmp_path: Path) -> None:
    robot.view([-0.6], save=tmp_path / "balls.png", size=(160, 120), look_from=look_from)
    picture = read_png(tmp_path / "balls.png")
    assert picture.shape == (120, 160, 3)
    red, blue = where(picture, 0), where(picture, 2)
    if front is None:  # side by side: seen from x, the axis y points to the right
        assert len(red) > 300 and len(blue) > 300
        assert blue[:, 1].max() < red[:, 1].min()
        np.testing.assert_allclose(red[:, 0].mean(), blue[:, 0].mean(), atol=1.0)
        np.testing.assert_allclose(np.ptp(red, axis=0), np.ptp(blue, axis=0), atol=2)
    else:
        found = (red, blue) if front == 0 else (blue, red)
        assert len(found[0]) > 300 and len(found[1]) < 0.5 * len(found[0])


def test_the_ground_has_lines_and_a_shadow(robot: on.Robot) -> None:
    picture = Renderer(Stage(robot), (160, 120)).still()
    grey = (np.ptp(picture.astype(int), axis=-1) <= 3) & (picture[..., 0] < 250)
    assert grey.mean() > 0.05 and picture[0].min() > 240  # the sky is white


@pytest.mark.needs("PIL", "imageio_ffmpeg")
@pytest.mark.parametrize("suffix", [".gif", ".webp", ".apng", ".mp4"])
def test_films_have_the_length_of_the_motion(robot: on.Robot, suffix: str, tmp_path: Path) -> None:
    t = np.linspace(0.0, 1.0, 5)
    path = tmp_path / f"film{suffix}"
    told: list[float] = []
    motion = on.Result(robot, t, -0.5 - 0.6 * t[:, None], *(np.zeros((5, 1)) for _ in range(3)))
    motion.animate(path, fps=10.0, speed=0.5, size=(81, 60), look_from=(1, 0, 0), progress=told.append)
    assert told == [(k + 1) / 21 for k in range(21)]
    if suffix == ".mp4":
        import imageio_ffmpeg

        count, seconds = imageio_ffmpeg.count_frames_and_secs(str(path))
        assert count == 21 and seconds == pytest.approx(2.1, abs=0.05)
        return
    from PIL import Image

    with Image.open(path) as film:
        assert film.n_frames == 21 and film.size == (81, 60)
        places = []
        for k in (0, 10, 20):
            film.seek(k)
            places.append(where(np.asarray(film.convert("RGB")), 2)[:, 1].mean())
            assert film.info["duration"] == pytest.approx(100.0)
    assert places[0] - places[1] == pytest.approx(places[1] - places[2], abs=2.0) and places[0] - places[2] > 10


def test_what_cannot_be_written_says_why(robot: on.Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    t, q = [0.0, 1.0], [[0.0], [0.1]]
    motion = on.Result(robot, t, q, q, q, q)
    with pytest.raises(on.ArgumentError, match="is a film, and nothing moves"):
        robot.view(save=tmp_path / "film.gif")
    with pytest.raises(on.ArgumentError, match=r"must end in \.gif"):
        motion.animate(tmp_path / "film.avi")
    for options, words in (({"size": (3, 4)}, "size must be"), ({"look_from": (0, 0, 0)}, "look_from must be")):
        with pytest.raises(on.ArgumentError, match=words):
            robot.view(save=tmp_path / "still.png", **options)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setenv("PATH", "")
    for name, words in (("film.gif", "Pillow"), ("film.mp4", "ffmpeg"), ("still.jpg", "Pillow")):
        with pytest.raises(ImportError, match=rf"{words}.*pip install\s+'ordern\[film\]'"):
            robot.view(motion=motion if "film" in name else None, save=tmp_path / name)
    assert not list(tmp_path.iterdir())
