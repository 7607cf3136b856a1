from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordern.graph import Graph
from ordern.spatial import (
    About,
    ArticulatedInertia,
    Chain,
    Columns,
    Factor,
    Force,
    Forces,
    Freedoms,
    Identity,
    Inertia,
    Motion,
    Pose,
    Real,
    Spin,
    Transform,
    Turn,
    Units,
    leaves,
    rebuild,
)
from tests.spatial.dense import QUICK, articulated, chains, forces, inertias, motions, poses, transforms

M = Motion.of((1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
F = Force.of((1.5, 2.5, 3.5, 4.5, 5.5, 6.5))


@QUICK
@given(st.one_of(motions, forces, inertias, articulated, transforms, chains, poses))
def test_taken_apart_and_put_together(x) -> None:
    scalars = leaves(x)
    assert all(isinstance(s, float) for s in scalars)
    assert rebuild(x, iter(scalars)) == x


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (M, 6),
        (F, 6),
        (Pose.zero(), 12),
        (Inertia.zero(), 10),
        (ArticulatedInertia.zero(), 21),
        (Transform(Identity(), (1.0, 2.0, 3.0)), 3),
        (Transform(About(1, 0.6, 0.8), (1.0, 2.0, 3.0)), 5),
        (Transform(Turn(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))), (1.0, 2.0, 3.0)), 12),
        (Chain((Transform(Identity(), (1.0, 2.0, 3.0)), Transform(About(1, 0.6, 0.8), (4.0, 5.0, 6.0)))), 8),
        (Spin((1.0, 2.0, 3.0)), 3),
        (Units((2, 5)), 0),
        (Columns((M, M)), 12),
        (Forces((F, F, F)), 18),
        (Factor.of(((2.0, 1.0), (1.0, 3.0))), 3),
        (Freedoms((1.0, 2.0)), 2),
        ((M, (F, 3.0)), 13),
        (("a name", 3, None, 2.0), 1),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, int) else str(x),
)
def test_every_value(value, size) -> None:
    assert len(leaves(value)) == size
    assert rebuild(value, iter(leaves(value))) == value
    graph = Graph()
    others = [graph.leaf(k) for k in range(size)]
    changed = rebuild(value, iter(others))
    assert type(changed) is type(value)
    assert all(a is b for a, b in zip(leaves(changed), others, strict=True))


def test_a_scalar_is_its_own_leaf() -> None:
    x = Graph().leaf("x")
    assert leaves(x) == [x]
    assert rebuild(7.0, iter([x])) is x


def test_structure_is_no_scalar() -> None:
    """Which axes a subspace has is known when tracing; it does not move through memory."""
    assert rebuild(Units((2, 5)), iter(())) == Units((2, 5))


def test_too_few_scalars_are_an_error() -> None:
    with pytest.raises((StopIteration, RuntimeError)):
        rebuild(M, iter([1.0]))


def test_zero_of_every_type_of_field() -> None:
    for type in (Motion, Force, Spin, Inertia, ArticulatedInertia):
        assert all(s == 0.0 and isinstance(s, float) for s in leaves(type.zero()))
    assert Real.zero() == 0.0
    assert isinstance(Real.zero(), float)
