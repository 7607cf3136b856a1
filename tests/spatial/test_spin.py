"""Angular velocity alone, against the spatial velocity that it is part of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordern.errors import TraceError
from ordern.graph import Graph, count
from ordern.spatial import Force, Inertia, Motion, Spin
from tests.spatial.dense import QUICK, T44, chains, cross3, f6, inertias, m6, motions, transforms, vectors
from tests.tolerances import ROUNDING, assert_close

spins = vectors.map(Spin)


def _classical(v: Motion, spatial: np.ndarray) -> np.ndarray:
    """The derivative in an inertial frame of the origin's velocity, from the spatial acceleration."""
    return spatial + np.concatenate([np.zeros(3), np.cross(v.angular, v.linear)])


@QUICK
@given(spins, vectors)
def test_centripetal_acceleration_of_a_point(w, r) -> None:
    assert_close(w.centripetal(r), np.cross(w.w, np.cross(w.w, r)), ROUNDING)


@QUICK
@given(spins, inertias)
def test_gyroscopic_force(w, I) -> None:
    """What is left of v x* I v when the origin stands still."""
    v = Motion(w.w, (0.0, 0.0, 0.0))
    assert_close(f6(w.gyroscopic(I)), f6(v.cross(I @ v)), ROUNDING)


@QUICK
@given(spins, motions)
def test_sum_with_the_motion_of_a_joint(w, relative) -> None:
    assert (np.array((w + relative).w) == np.array(w.w) + relative.angular).all()


@QUICK
@given(st.one_of(transforms, chains), motions)
def test_transform(X, v) -> None:
    assert_close((X @ Spin(v.angular)).w, m6(X @ v)[:3], ROUNDING)


@pytest.mark.slow
@QUICK
@given(transforms, motions, motions, motions)
def test_accelerations_are_those_of_the_spatial_algebra(X, v, relative, a) -> None:
    """A child moves with v_c = X v + r; its classical acceleration needs no linear velocity but the joint's."""
    spatial = X @ a + (X @ v + relative).cross(relative)
    wanted = _classical(X @ v + relative, m6(spatial))
    parent = Motion.of(tuple(_classical(v, m6(a)).tolist()))
    w = Spin(v.angular)
    there = X @ w + relative
    found = X @ (parent + X.centripetal(w)) + there.coriolis(relative)
    assert_close(m6(found), wanted, ROUNDING)


@QUICK
@given(st.one_of(transforms, chains), spins)
def test_centripetal_acceleration_of_a_frame(X, w) -> None:
    """That of the child's origin, wherever the factors put it, in the parent's axes."""
    found = X.centripetal(w)
    assert found.angular == (0.0, 0.0, 0.0)
    assert_close(found.linear, cross3(w.w) @ cross3(w.w) @ T44(X)[:3, 3], ROUNDING)


def test_rest() -> None:
    assert Spin.zero() + Motion.zero() == Spin.zero()
    assert Spin.zero().centripetal((1.0, 2.0, 3.0)) == (0.0, 0.0, 0.0)
    assert Spin.zero().gyroscopic(Inertia(1.0, (1.0, 2.0, 3.0), (1.0,) * 6)) == Force.zero()


def test_products_are_shared() -> None:
    """Six products of components serve the centripetal acceleration of any number of points."""
    graph = Graph()
    w = Spin(tuple(graph.leaf(("w", k)) for k in range(3)))
    points = [tuple(graph.leaf((n, k)) for k in range(3)) for n in range(4)]
    found = count([x for r in points for x in w.centripetal(r)])
    assert found.multiplications == 6 + 4 * 9


def test_a_force_is_not_a_motion() -> None:
    with pytest.raises(TraceError, match="Force"):
        Spin.zero() + Force.zero()
