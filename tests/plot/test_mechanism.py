"""Drawings of mechanisms have their joints, and what closes their loops, where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import plot, robots
from ordern.robots.mechanisms import MECHANISMS, five_bar, four_bar, stewart_platform
from tests.tolerances import ROUNDING, assert_close

pytestmark = pytest.mark.needs("matplotlib")


def marks(axes: Any, marker: str, edge: str) -> np.ndarray:
    """The points with such a mark, in their order."""
    lines = [x for x in axes.get_lines() if x.get_marker() == marker and x.get_markeredgecolor() == edge]
    data = [x.get_data_3d() if hasattr(x, "get_data_3d") else x.get_data() for x in lines]
    return np.concatenate([np.stack(d, axis=-1) for d in data])


@pytest.mark.slow
def test_a_flat_one_is_drawn_in_its_plane() -> None:
    q = four_bar.assembled_position(0.8)
    figure = plot.mechanism(on.load("four-bar"), q, title="A four-bar")
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "A four-bar"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x, m", "z, m")
    end = four_bar.CRANK * np.exp(1j * q[0])
    rocker = four_bar.GROUND + four_bar.ROCKER * np.exp(1j * q[2])
    assert_close(marks(axes, "o", "#26262c"), [[0, 0], [end.real, end.imag], [four_bar.GROUND, 0]], ROUNDING)
    assert_close(marks(axes, "o", "#D55E00"), [[rocker.real, rocker.imag]], ROUNDING)
    assert {t.get_text() for t in axes.texts} == {"crank", "coupler", "rocker"}


def test_one_in_space_is_drawn_in_space() -> None:
    name = "stewart-platform"
    (axes,) = plot.mechanism(on.load(name), robots.positions(name)["assembled"]).axes
    assert axes.name == "3d" and not axes.texts
    feet, hands = (np.array(x) for x in stewart_platform.anchors())
    assert_close(marks(axes, "o", "#26262c"), feet, ROUNDING)
    assert_close(marks(axes, "o", "#D55E00"), hands + np.array([0, 0, stewart_platform.HEIGHT]), ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MECHANISMS, "four-bar-chain-3", "puma560", "double-pendulum", "free-top"])
def test_all_can_be_drawn_and_saved(name: str, tmp_path: Any) -> None:
    robot = on.load(name)
    q = robots.positions(name).get("assembled")
    plot.save(plot.mechanism(robot, q, names=True), tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").stat().st_size > 1000


def test_a_plate_goes_around_its_points() -> None:
    """A body that reaches three points, and a fourth one between them."""
    builder = five_bar.five_bar()
    for k, at in enumerate([(0.1, 0.0, 0.1), (0.15, 0.0, 0.03)]):
        builder.frame(f"corner{k}", "left_upper", at=at)
    (axes,) = plot.mechanism(builder.build(), np.zeros(4)).axes
    corners = {tuple(np.round(x, 9) + 0.0) for patch in axes.patches for x in patch.get_xy()}
    assert corners == {(-0.05, 0.0), (0.15, 0.0), (0.05, 0.1)}


def test_a_wrong_position_is_an_error() -> None:
    with pytest.raises(on.ArgumentError, match=r"mechanism: q has shape \(2, 3\); expected \(3,\)"):
        plot.mechanism(on.load("four-bar"), np.zeros((2, 3)))
