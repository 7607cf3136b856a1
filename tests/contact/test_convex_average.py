"""Depths that are averaged over tilts: known answers, samples, and derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ordern.simulate.contacts.convex.averaging import averaged
from ordern.simulate.contacts.convex.regions import overlap
from tests.tolerances import FINITE_DIFFERENCE, ROUNDING

TILT = 1e-4


def test_corners_of_a_flat_face_share_by_their_exterior_angles() -> None:
    x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, math.sqrt(3.0)]])  # 90, 60 and 30 degrees
    found = averaged(x, np.full(3, 1e-3), TILT)
    shares = dict(zip(found.kept.tolist(), found.w, strict=True))
    assert [shares[k] for k in range(3)] == pytest.approx([90 / 360, 120 / 360, 150 / 360], abs=1e-9)


def test_a_square_is_deeper_by_its_mean_width() -> None:
    a = 0.3
    x = a * np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0], [1.0, 0.0], [0.2, 0.1], [1.0, 1.0]])
    found = averaged(x, np.full(7, 1e-4), TILT)
    assert found.depth - 1e-4 == pytest.approx(TILT * a * 8.0 / (3.0 * math.pi), rel=1e-9)  # |cos| + |sin|, and |u|
    assert found.w.sum() == pytest.approx(1.0, abs=ROUNDING)


def test_a_corner_that_is_deeper_than_all_tilts_carries_all() -> None:
    x = np.array([[0.1, 0.0], [-0.1, 0.0]])
    found = averaged(x, np.array([1e-4, 7e-5]), TILT)
    assert (found.depth, found.kept.tolist(), found.w.tolist()) == (1e-4, [0], [1.0])


def test_an_edge_shares_by_areas_of_the_disc() -> None:
    x, lower = np.array([[0.1, 0.0], [-0.1, 0.0]]), 1e-5
    found = averaged(x, np.array([1e-4, 1e-4 - lower]), TILT)
    c = lower / (0.2 * TILT)  # the chord's distance from the centre
    part = (math.acos(c) - c * math.sqrt(1.0 - c * c)) / math.pi
    assert found.w == pytest.approx([1.0 - part, part], rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_depths_and_parts_are_means_over_tilts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 9))
    x, h = rng.standard_normal((m, 2)), 3e-5 * rng.standard_normal(m)
    found = averaged(x, h, TILT)
    r = np.sqrt((np.arange(400) + 0.5) / 400)  # equal areas
    phi = (np.arange(700) + 0.5) * 2.0 * math.pi / 700
    u = TILT * np.stack([np.outer(r, np.cos(phi)).ravel(), np.outer(r, np.sin(phi)).ravel()])
    values = h[:, None] + x @ u
    assert found.depth == pytest.approx(values.max(axis=0).mean(), abs=1e-5 * TILT)
    parts = np.bincount(values.argmax(axis=0), minlength=m) / u.shape[1]
    full = np.zeros(m)
    full[found.kept] = found.w
    np.testing.assert_allclose(full, parts, atol=2e-3)

    def moved(k: int, d: float) -> tuple[float, np.ndarray]:
        other = averaged(x, h + d * np.eye(m)[k], TILT)
        w = np.zeros(m)
        w[other.kept] = other.w
        return other.depth, w

    S, e = np.zeros((m, m)), 1e-9
    S[np.ix_(found.kept, found.kept)] = found.S
    for k in range(m):
        (up, w_up), (down, w_down) = moved(k, e), moved(k, -e)
        assert (up - down) / (2.0 * e) == pytest.approx(full[k], abs=FINITE_DIFFERENCE)
        np.testing.assert_allclose((w_up - w_down) / (2.0 * e), S[:, k], atol=1e-4 * np.abs(S).max())


def test_squares_that_are_turned_overlap_in_an_octagon() -> None:
    square = np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [1.0, -1.0, 0.0]])
    c = math.sqrt(0.5)
    turned = square @ np.array([[c, c, 0.0], [-c, c, 0.0], [0.0, 0.0, 1.0]])
    x, depths = overlap(turned + np.array([0.0, 0.0, -1e-3]), square, 0.0)
    assert len(np.unique(np.round(x, 9), axis=0)) == 8
    np.testing.assert_allclose(np.abs(x).max(axis=1), 1.0)
    np.testing.assert_allclose(depths, 1e-3)


def test_edges_cross_or_lie_side_by_side() -> None:
    along, across = np.array([[-1.0, 0, 0], [1.0, 0, 0]]), np.array([[0.3, -1.0, 0.1], [0.3, 1.0, 0.1]])
    x, depths = overlap(along, across, 0.0)
    np.testing.assert_allclose(x, [[0.3, 0.0]], atol=ROUNDING)
    np.testing.assert_allclose(depths, [0.1])
    x, depths = overlap(along, along + np.array([0.5, 0.0, 0.1]), 0.2)
    assert sorted({round(float(p), 9) for p in x[:, 0]}) == [-0.5, 1.0]
    np.testing.assert_allclose(depths, 0.1)
    x, depths = overlap(along, np.array([[0.0, 0.0, 0.1]]), 0.0)
    np.testing.assert_allclose(x, [[0.0, 0.0]])
    apart = overlap(along, np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 2.0, 0.0]]), 0.0)
    assert not len(apart[1])
