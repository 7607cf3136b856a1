from __future__ import annotations

import math

import numpy as np
import pytest

import ordern as on
from ordern.joints.axis import turned_frame, unit_axis
from tests.joints.custom import Helical
from tests.tolerances import EXACT, assert_close

WITH_AXIS = (on.Revolute, on.Continuous, on.Prismatic, Helical)
with_axis = pytest.mark.parametrize("type", WITH_AXIS, ids=lambda t: t.__name__)


@with_axis
def test_an_axis_is_a_direction(type) -> None:
    assert type((0, 0, 5)).axis == (0.0, 0.0, 1.0)
    assert type([3.0, 0.0, -4.0]).axis == (0.6, 0.0, -0.8)
    assert type(np.array([0.0, 2.0, 0.0])) == type((0, 1, 0))


@with_axis
def test_the_axis_is_z_unless_given(type) -> None:
    assert type().axis == (0.0, 0.0, 1.0)


@with_axis
@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ((0, 0, 0), r"must have a direction, but it is \(0, 0, 0\)"),
        ((math.nan, 0, 1), "must have a direction"),
        ((math.inf, 0, 1), "must have a direction"),
        ((1, 2), r"must be three numbers, not \(1, 2\)"),
        ((1, 2, 3, 4), "must be three numbers"),
        ("xyz", "must be three numbers, not 'xyz'"),
        (5, "must be three numbers, not 5"),
        (None, "must be three numbers, not None"),
    ],
)
def test_what_is_no_axis(type, axis, words) -> None:
    with pytest.raises(on.ModelError, match=f"a joint's axis {words}"):
        type(axis)


def test_extreme_lengths_have_a_direction() -> None:
    assert_close(unit_axis((1e-200, 0.0, 1e-200)), (math.sqrt(0.5), 0.0, math.sqrt(0.5)), EXACT)
    assert_close(unit_axis((1e200, 1e200, 0.0)), (math.sqrt(0.5), math.sqrt(0.5), 0.0), EXACT)


def test_what_is_zero_but_for_rounding_becomes_zero() -> None:
    assert unit_axis((1e-14, 0.0, -1.0)) == (0.0, 0.0, -1.0)
    assert unit_axis((1e-9, 0.0, -1.0))[0] != 0.0


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_frame_turned_to_a_coordinate_axis_only_permutes(axis, sign) -> None:
    """So that bodies keep their zeros."""
    Q = turned_frame(tuple(sign * x for x in axis))
    assert set(np.abs(Q).ravel().tolist()) == {0.0, 1.0}
    assert (Q[:, 2] == sign * np.array(axis)).all()
    assert np.linalg.det(Q) == 1.0


def test_any_other_frame_is_turned_to_its_axis() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        axis = unit_axis(rng.normal(size=3).tolist())
        Q = turned_frame(axis)
        assert_close(Q @ Q.T, np.eye(3), EXACT * 4)
        assert np.linalg.det(Q) > 0
        assert (Q[:, 2] == axis).all()


def test_axes_do_not_tell_kinds_apart() -> None:
    assert on.Revolute((1, 0, 0)).kind == on.Revolute((0, 1, 1)).kind != on.Continuous().kind
    assert on.Prismatic((1, 0, 0)).kind == on.Prismatic().kind != on.Revolute().kind
