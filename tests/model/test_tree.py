"""The tree as an algorithm sees it, body by body."""

from __future__ import annotations

import pytest

import ordern as on
from ordern.errors import TraceError
from ordern.model import ConcreteTree
from ordern.spatial import Motion
from tests.random_models import ALL_JOINTS, random_robot


@pytest.fixture(scope="module")
def robot() -> on.Robot:
    """
    base - a - b - c
             \\ d
         - e
    """
    builder = on.Builder("tree").body("base")
    for name, parent in (("a", "base"), ("b", "a"), ("c", "b"), ("d", "a"), ("e", "base")):
        builder.body(name, parent=parent, joint=on.Revolute(), mass=1.0, inertia=(1, 1, 1))
    return builder.build()


@pytest.fixture
def tree(robot) -> ConcreteTree:
    return ConcreteTree(robot)


def _keys(loop) -> list[tuple[int, int]]:
    return [(i.key, p.key) for i, p in loop]


def test_outward_and_inward(tree) -> None:
    assert _keys(tree.outward()) == [(0, -1), (1, 0), (2, 1), (3, 0), (4, -1)]
    assert _keys(tree.inward()) == [(4, -1), (3, 0), (2, 1), (1, 0), (0, -1)]


def test_the_way_to_a_frame(tree) -> None:
    assert _keys(tree.path(tree.frame("c"))) == [(0, -1), (1, 0), (2, 1)]
    assert _keys(tree.path_inward(tree.frame("d"))) == [(3, 0), (0, -1)]
    assert _keys(tree.path(tree.frame("base"))) == []


def test_ancestors(tree) -> None:
    bodies = [i for i, _ in tree.outward()]
    assert _keys(tree.ancestors(bodies[2])) == [(1, 0), (0, -1)]
    assert _keys(tree.ancestors(bodies[4])) == []


def test_fields_begin_at_zero_and_at_their_base(tree) -> None:
    v, a = tree.field(Motion), tree.field(Motion, base=tree.base_acceleration)
    assert v[tree.base] == Motion.zero()
    assert a[tree.base].scalars == (0.0, 0.0, 0.0, 0.0, 0.0, 9.81)
    for i, p in tree.outward():
        v[i] = v[p] + Motion.of((0.0, 0.0, 1.0, 0.0, 0.0, 0.0))
    assert [v[i].angular[2] for i, _ in tree.outward()] == [1.0, 2.0, 3.0, 2.0, 1.0]


def test_an_own_value_is_read_only_where_it_was_set(tree) -> None:
    X = tree.own()
    with pytest.raises(TraceError, match="set"):
        for i, _ in tree.outward():
            X[i]


def test_a_parent_is_only_an_index(tree) -> None:
    (_, p), *_ = tree.outward()
    with pytest.raises(TraceError, match="a parent is only an index"):
        assert p.joint


@pytest.mark.parametrize("seed", range(3))
def test_rows_hold_each_body(seed) -> None:
    """In working frames, turned so that axes are z: mass, freedoms and armature are those of the model."""
    robot = random_robot(seed, n=9, joints=ALL_JOINTS, armature=True)
    for (i, p), body, c in zip(ConcreteTree(robot).outward(), robot.bodies, robot.joints, strict=True):
        assert p.key == c.parent < i.key
        assert i.inertia.m == body.mass
        assert i.armature == c.armature
        assert (i.joint.nq, i.joint.nv) == (c.nq, c.nv)
        assert i.joint.parameters == c.type.parameters


def test_zeros(tree) -> None:
    for i, _ in tree.outward():
        assert tree.zeros("v")[i] == (0.0,)
        assert tree.zeros("bodies")[i].scalars == (0.0,) * 6
