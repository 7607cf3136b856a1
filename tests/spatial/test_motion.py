from __future__ import annotations

import pytest
from hypothesis import given

from ordern.errors import TraceError
from ordern.graph import Graph
from ordern.spatial import Force, Inertia, Motion
from tests.spatial.dense import QUICK, X66, crf, crm, f6, forces, m6, motions, numbers, transforms
from tests.tolerances import EXACT, ROUNDING, assert_close

M = Motion.of((1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
F = Force.of((1.0, 2.0, 3.0, 4.0, 5.0, 6.0))


@QUICK
@given(motions, motions, forces, forces, numbers)
def test_motions_and_forces_are_vectors(a, b, f, g, s) -> None:
    assert (m6(a + b) == m6(a) + m6(b)).all()
    assert (m6(a - b) == m6(a) - m6(b)).all()
    assert (m6(-a) == -m6(a)).all()
    assert (m6(a * s) == m6(a) * s).all()
    assert (f6(f + g) == f6(f) + f6(g)).all()
    assert (f6(f - g) == f6(f) - f6(g)).all()
    assert (f6(-f) == -f6(f)).all()
    assert (f6(f * s) == f6(f) * s).all()


@pytest.mark.slow
@QUICK
@given(motions, forces)
def test_power(m, f) -> None:
    assert_close(f.dot(m), f6(f) @ m6(m), ROUNDING)
    assert m.dot(f) == f.dot(m)


@QUICK
@given(motions, motions, forces)
def test_rates_of_change(v, m, f) -> None:
    assert_close(m6(v.cross(m)), crm(m6(v)) @ m6(m), ROUNDING)
    assert_close(f6(v.cross(f)), crf(m6(v)) @ f6(f), ROUNDING)


@QUICK
@given(motions, motions, forces)
def test_power_does_not_change_when_all_moves_together(v, m, f) -> None:
    assert_close(v.cross(f).dot(m) + f.dot(v.cross(m)), 0.0, ROUNDING * 1e3)


@QUICK
@given(motions, motions, motions)
def test_the_product_of_motions_is_a_lie_bracket(a, b, c) -> None:
    assert_close(m6(a.cross(a)), [0.0] * 6, EXACT * 1e3)
    assert_close(m6(a.cross(b)), -m6(b.cross(a)), EXACT)
    jacobi = a.cross(b.cross(c)) + b.cross(c.cross(a)) + c.cross(a.cross(b))
    assert_close(m6(jacobi), [0.0] * 6, ROUNDING * 1e3)


@QUICK
@given(transforms, motions, motions)
def test_the_product_of_motions_is_the_same_in_every_frame(X, a, b) -> None:
    assert_close(m6(X @ a.cross(b)), m6((X @ a).cross(X @ b)), ROUNDING)


@QUICK
@given(transforms, motions, forces)
def test_power_is_the_same_in_every_frame(X, m, f) -> None:
    assert_close(f.dot(X @ m), (X.T @ f).dot(m), ROUNDING)
    assert_close(f.dot(X @ m), f6(f) @ X66(X) @ m6(m), ROUNDING)


def test_parts_and_wholes() -> None:
    six = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert M.scalars == F.scalars == six
    assert (M.angular, M.linear) == ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    assert Motion.zero().scalars == Force.zero().scalars == (0.0,) * 6


def test_equality_is_by_kind_and_numbers() -> None:
    assert Motion.of(M.scalars) == M
    assert Force.of(M.scalars) != M


def test_immutable() -> None:
    with pytest.raises(AttributeError):
        M.angular = (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: M + F, r"Motion \+ Force: only vectors of one kind"),
        (lambda: F + M, r"Force \+ Motion: only vectors of one kind"),
        (lambda: M - F, "Motion - Force: only vectors of one kind"),
        (lambda: M + 1.0, r"Motion \+ float: only vectors of one kind"),
        (lambda: F.dot(F), r"Force \. Force: a force has power along a Motion only"),
        (lambda: M.dot(M), r"Motion \. Motion"),
        (lambda: M * F, "Force"),
        (lambda: M * M, "Motion"),
        (lambda: M.cross(Inertia.zero()), "Inertia"),
    ],
    ids=["m+f", "f+m", "m-f", "m+1", "f.f", "m.m", "m*f", "m*m", "m x I"],
)
def test_kinds_do_not_mix(wrong, words) -> None:
    with pytest.raises(TraceError, match=words):
        wrong()


def test_six_numbers_are_needed() -> None:
    with pytest.raises(ValueError, match="unpack"):
        Motion.of((1.0, 2.0))


def test_zeros_vanish_when_traced() -> None:
    x = Graph().leaf("x")
    turning = Motion((0.0, 0.0, x), (0.0, 0.0, 0.0))
    sliding = Motion((0.0, 0.0, 0.0), (0.0, 0.0, x))
    assert turning.cross(sliding).scalars == (0.0,) * 6
    assert turning.cross(Motion.of((1.0, 0.0, 0.0, 0.0, 0.0, 0.0))).scalars == (0.0, x, 0.0, 0.0, 0.0, 0.0)
