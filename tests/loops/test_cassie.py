"""Cassie as shipped: two rods in each leg close loops, by balls."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from tests.robots import ROBOTS
from tests.tolerances import CASSIE, ROUNDING, assert_close

pytestmark = pytest.mark.needs("example_robot_data")

LOOPS = {f"{side}-{rod}-joint" for side in ("left", "right") for rod in ("pitch-rod", "plantar-foot")}


@pytest.fixture(scope="module")
def cassie() -> on.Robot:
    return on.load(ROBOTS / "cassie_description/robots/cassie_v2.sdf")


def test_its_loops_are_closed_where_the_file_has_it(cassie: on.Robot) -> None:
    assert {loop.name for loop in cassie.loops} == LOOPS
    assert all(isinstance(loop.type, on.Spherical) for loop in cassie.loops)
    assert cassie.nc == 12
    assert_close(cassie.loop_residual(cassie.neutral()), np.zeros(12), ROUNDING)


@pytest.mark.slow
def test_it_is_assembled_within_its_limits(cassie: on.Robot) -> None:
    """Where the file has it, feet and cranks are beyond their limits, by 35 degrees."""
    outside = (cassie.neutral() < cassie.lower) | (cassie.neutral() > cassie.upper)
    names = {c.name for c in cassie.joints if outside[c.q].any()}
    assert names == {f"{side}-{joint}" for side in ("left", "right") for joint in ("tarsus-crank-joint", "foot-op")}
    found = cassie.assemble(cassie.neutral(), tolerance=CASSIE)
    assert found.ok and found.residual < CASSIE
    assert (found.q >= cassie.lower).all() and (found.q <= cassie.upper).all()
    for loop in cassie.loops:
        ends = [
            cassie.pose(found.q, on.Frame("end", body, place))[:3, 3]
            for body, place in ((loop.parent, loop.parent_placement), (loop.child, loop.child_placement))
        ]
        np.testing.assert_allclose(ends[0], ends[1], atol=CASSIE)


@pytest.mark.slow
def test_joints_that_are_kept_stay(cassie: on.Robot) -> None:
    q = cassie.assemble(cassie.neutral(), tolerance=CASSIE).q
    q[cassie.joint("left-knee-op").q] -= 0.2
    q[cassie.joint("right-pitch-op").q] += 0.1
    keep = ("left-knee-op", "right-pitch-op", "left-foot-op")
    found = cassie.assemble(q, keep=keep, tolerance=CASSIE)
    for joint in keep:
        np.testing.assert_array_equal(found.q[cassie.joint(joint).q], q[cassie.joint(joint).q])
    assert found.ok


@pytest.mark.slow
def test_its_freedoms(cassie: on.Robot) -> None:
    """Each foot is driven by a flat four-bar, where the third equation of a ball is redundant; to the file's digits."""
    q = cassie.assemble(cassie.neutral(), tolerance=CASSIE).q
    for found in (cassie.mobility(cassie.neutral()), cassie.mobility(q, tolerance=1e2 * CASSIE)):
        assert (found.constraints, found.rank, found.freedoms) == (12, 10, 22 - 10)
        assert set(found.redundant_rows) == {f"{side}-plantar-foot-joint" for side in ("left", "right")}
