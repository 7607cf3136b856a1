from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordern.errors import TraceError
from ordern.spatial import ArticulatedInertia, Force, Inertia, Motion, leaves
from tests.spatial.dense import I66, QUICK, articulated, f6, inertias, m6, motions, rotations, vectors
from tests.tolerances import ROUNDING, assert_close

either = st.one_of(inertias, articulated)


@pytest.mark.slow
@QUICK
@given(either, motions)
def test_momentum(I, v) -> None:
    assert_close(f6(I @ v), I66(I) @ m6(v), ROUNDING)


@pytest.mark.slow
@QUICK
@given(inertias, inertias)
def test_rigid_inertias_add(a, b) -> None:
    assert type(a + b) is Inertia
    assert_close(I66(a + b), I66(a) + I66(b), ROUNDING)


@QUICK
@given(articulated, articulated)
def test_articulated_inertias_add(a, b) -> None:
    assert type(a + b) is ArticulatedInertia
    assert_close(I66(a + b), I66(a) + I66(b), ROUNDING)


@QUICK
@given(inertias)
def test_a_rigid_inertia_as_an_articulated_one(I) -> None:
    assert (I66(I.articulated()) == I66(I)).all()


@pytest.mark.slow
@QUICK
@given(articulated)
def test_rows_and_upper_half(I) -> None:
    rows = np.array(I.rows())
    assert (rows == I66(I)).all()
    assert (rows == rows.T).all()
    assert ArticulatedInertia.of_upper({(r, c): rows[r, c] for r in range(6) for c in range(r, 6)}) == I


@QUICK
@given(either, rotations, vectors)
def test_what_moves_an_inertia_keeps_it_symmetric(I, rotation, r) -> None:
    """Exactly, not to rounding: only half of it is stored."""
    A = I66(I.turned_back(rotation).shifted(r))
    assert (A == A.T).all()


@QUICK
@given(either, vectors, vectors)
def test_shifts_add_up(I, a, b) -> None:
    both = tuple(x + y for x, y in zip(a, b, strict=True))
    assert_close(I66(I.shifted(a).shifted(b)), I66(I.shifted(both)), ROUNDING)


@QUICK
@given(st.floats(0.1, 5.0), vectors)
def test_a_point_mass_is_a_shifted_one(m, r) -> None:
    point = Inertia(m, (0.0, 0.0, 0.0), (0.0,) * 6).shifted(r)
    x = np.array(r)
    assert_close(point.h, m * x, ROUNDING)
    assert_close(I66(point)[:3, :3], m * (x @ x * np.eye(3) - np.outer(x, x)), ROUNDING)


def test_symmetric_parts_are_stored_as_halves() -> None:
    assert len(leaves(Inertia.zero())) == 10
    assert len(leaves(ArticulatedInertia.zero())) == 21


def test_zero_is_nothing() -> None:
    assert not I66(Inertia.zero()).any()
    assert not I66(ArticulatedInertia.zero()).any()


@pytest.mark.parametrize("I", [Inertia.zero(), ArticulatedInertia.zero()], ids=["rigid", "articulated"])
def test_a_force_has_no_momentum(I) -> None:
    with pytest.raises(TraceError, match="Force"):
        I @ Force.zero()


def test_kinds_of_inertia_do_not_mix() -> None:
    with pytest.raises(TraceError, match=r"Inertia \+ ArticulatedInertia"):
        Inertia.zero() + ArticulatedInertia.zero()
    with pytest.raises(TraceError, match=r"ArticulatedInertia \+ Inertia"):
        ArticulatedInertia.zero() + Inertia.zero()
    with pytest.raises(TraceError, match="Motion"):
        Inertia.zero() + Motion.zero()
