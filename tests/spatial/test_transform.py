from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordern.errors import TraceError
from ordern.graph import Graph, cos, count, sin
from ordern.spatial import About, Chain, Force, Forces, Identity, Inertia, Motion, Pose, Transform, Turn, factors
from ordern.spatial.linear import full
from tests.graph.evaluation import evaluate
from tests.spatial.dense import (
    E33,
    I66,
    QUICK,
    T44,
    X66,
    articulated,
    chains,
    f6,
    forces,
    inertias,
    m6,
    motions,
    pose44,
    poses,
    rotations,
    transforms,
    vectors,
)
from tests.tolerances import EXACT, ROUNDING, assert_close

either = st.one_of(transforms, chains)


class TestRotation:
    @QUICK
    @given(rotations, vectors)
    def test_vectors(self, rotation, x) -> None:
        E = E33(rotation)
        assert_close(rotation.apply(x), E @ x, ROUNDING)
        assert_close(rotation.back(x), E.T @ x, ROUNDING)
        assert_close(rotation.back(rotation.apply(x)), x, ROUNDING)

    @pytest.mark.slow
    @QUICK
    @given(rotations, st.tuples(vectors, vectors, vectors))
    def test_matrices(self, rotation, A) -> None:
        E = E33(rotation)
        assert_close(rotation.back_matrix(A), E.T @ np.array(A) @ E, ROUNDING)

    @QUICK
    @given(rotations, st.tuples(*[st.floats(-3.0, 3.0)] * 6))
    def test_symmetric_matrices(self, rotation, A) -> None:
        E = E33(rotation)
        assert_close(full(rotation.back_symmetric(A)), E.T @ np.array(full(A)) @ E, ROUNDING)

    def test_about_an_axis_turns_the_right_way(self) -> None:
        """Axes turned by a quarter about z: what was y is the new x. And so on around."""
        assert About(2, 0.0, 1.0).apply((0.0, 1.0, 0.0)) == (1.0, 0.0, 0.0)
        assert About(0, 0.0, 1.0).apply((0.0, 0.0, 1.0)) == (0.0, 1.0, 0.0)
        assert About(1, 0.0, 1.0).apply((1.0, 0.0, 0.0)) == (0.0, 0.0, 1.0)

    @pytest.mark.parametrize("axis", range(3))
    def test_about_an_axis_costs_no_more_than_it_must(self, axis) -> None:
        """A vector takes four products, a symmetric matrix eight; of each four, a constant turn saves one."""
        graph = Graph()
        about = About(axis, graph.leaf("c"), graph.leaf("s"))
        x = tuple(graph.leaf(k) for k in range(6))
        assert count([graph.lift(s) for s in about.apply(x[:3])]).multiplications == 4
        assert count([graph.lift(s) for s in about.back_symmetric(x)]).multiplications == 8
        constant = About(axis, -0.6, 0.8)
        assert count([graph.lift(s) for s in constant.apply(x[:3])]).multiplications == 3
        assert count([graph.lift(s) for s in constant.back_symmetric(x)]).multiplications == 6


class TestTransform:
    @pytest.mark.slow
    @QUICK
    @given(either, motions)
    def test_motions_go_to_the_child(self, X, m) -> None:
        assert_close(m6(X @ m), X66(X) @ m6(m), ROUNDING)

    @pytest.mark.slow
    @QUICK
    @given(either, forces)
    def test_forces_go_back_to_the_parent(self, X, f) -> None:
        """The transform of motions, transposed, is that of forces, inverted."""
        assert_close(f6(X.T @ f), X66(X).T @ f6(f), ROUNDING)
        to_child = np.linalg.inv(X66(X)).T
        assert_close(to_child @ f6(X.T @ f), f6(f), ROUNDING)

    @pytest.mark.slow
    @QUICK
    @given(either, forces, forces)
    def test_several_forces_go_one_by_one(self, X, f, g) -> None:
        assert X.T @ Forces((f, g)) == Forces((X.T @ f, X.T @ g))

    @pytest.mark.slow
    @QUICK
    @given(either, st.one_of(inertias, articulated))
    def test_inertias_go_back_to_the_parent(self, X, I) -> None:
        found = X.T @ I @ X
        assert type(found) is type(I)
        assert_close(I66(found), X66(X).T @ I66(I) @ X66(X), ROUNDING)

    @pytest.mark.slow
    @QUICK
    @given(either, inertias)
    def test_a_rigid_inertia_is_an_articulated_one_wherever_it_is_seen_from(self, X, I) -> None:
        rigid, free = (X.T @ I @ X).articulated(), X.T @ I.articulated() @ X
        assert_close(I66(rigid), I66(free), ROUNDING)

    @pytest.mark.slow
    @QUICK
    @given(either, inertias, motions)
    def test_kinetic_energy_is_the_same_in_every_frame(self, X, I, v) -> None:
        there = X @ v
        assert_close((I @ there).dot(there), ((X.T @ I @ X) @ v).dot(v), ROUNDING)

    @pytest.mark.slow
    @QUICK
    @given(transforms, transforms, motions, forces)
    def test_a_chain_is_one_transform_after_the_other(self, first, then, m, f) -> None:
        X = Chain((first, then))
        assert X @ m == then @ (first @ m)
        assert X.T @ f == first.T @ (then.T @ f)
        assert_close(m6(X @ m), X66(then) @ X66(first) @ m6(m), ROUNDING)

    @QUICK
    @given(rotations, st.tuples(*[st.sampled_from([0.0, 0.3, -2.0])] * 3), motions)
    def test_factors_are_the_same_in_cheaper_pieces(self, rotation, r, m) -> None:
        x, y, z = (tuple(row) for row in E33(rotation).tolist())
        X, pieces = Transform(Turn((x, y, z)), r), Chain(factors((x, y, z), r))
        assert_close(m6(pieces @ m), m6(X @ m), ROUNDING)
        assert_close(pieces.origin, r, ROUNDING)

    @pytest.mark.slow
    @QUICK
    @given(rotations, st.sampled_from(range(3)), st.sampled_from(range(3)), motions)
    def test_factors_shift_where_it_costs_less(self, rotation, direction, more, m) -> None:
        """A shift along one of the new axes, and maybe along one that the turn keeps, is full in the old axes."""
        E = E33(rotation)
        r = tuple((0.5 * E[direction] + 0.3 * np.eye(3)[more]).tolist())
        x, y, z = (tuple(row) for row in E.tolist())
        X, pieces = Transform(Turn((x, y, z)), r), Chain(factors((x, y, z), r))
        assert_close(m6(pieces @ m), m6(X @ m), ROUNDING)
        assert_close(pieces.origin, r, ROUNDING)

    @pytest.mark.parametrize("axis", range(3))
    @pytest.mark.parametrize("quarters", range(4))
    def test_factors_see_a_turn_about_an_axis(self, axis, quarters) -> None:
        rotation = About(axis, (1.0, 0.0, -1.0, 0.0)[quarters], (0.0, 1.0, 0.0, -1.0)[quarters])
        x, y, z = (tuple(row) for row in E33(rotation).tolist())
        (found,) = factors((x, y, z), (0.0, 0.0, 0.0))
        assert found.rotation == (rotation if quarters else Identity())

    def test_a_shift(self) -> None:
        """A frame one metre along x sees a rotation about z as a motion along y."""
        X = Transform(Identity(), (1.0, 0.0, 0.0))
        assert (X @ Motion.of((0.0, 0.0, 1.0, 0.0, 0.0, 0.0))).scalars == (0.0, 0.0, 1.0, 0.0, 1.0, 0.0)
        assert (X.T @ Force.of((0.0, 0.0, 0.0, 0.0, 1.0, 0.0))).scalars == (0.0, 0.0, 1.0, 0.0, 1.0, 0.0)

    X = Transform(Identity(), (0.0, 0.0, 1.0))

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            (lambda X: X @ Force.zero(), "takes a Motion to the child, not a Force"),
            (lambda X: X @ Inertia.zero(), "takes a Motion to the child, not a Inertia"),
            (lambda X: X @ X, "takes a Motion to the child, not a Transform"),
            (lambda X: X.T @ Motion.zero(), "takes a Force or an inertia to the parent, not a Motion"),
            (lambda X: X.T @ 1.0, "takes a Force or an inertia to the parent, not a float"),
            (lambda X: X.T @ Inertia.zero() @ Transform(X.rotation, X.r), "by one X on both sides"),
        ],
        ids=["X f", "X I", "X X", "X.T m", "X.T 1", "X.T I Y"],
    )
    def test_directions_do_not_mix(self, wrong, words) -> None:
        with pytest.raises(TraceError, match=words):
            wrong(self.X)


class TestPose:
    @pytest.mark.slow
    @QUICK
    @given(either, poses)
    def test_of_the_child(self, X, P) -> None:
        assert_close(pose44(X.child(P)), pose44(P) @ T44(X), ROUNDING)

    @pytest.mark.slow
    @QUICK
    @given(either, poses)
    def test_of_the_parent(self, X, P) -> None:
        assert_close(pose44(X.parent(P)), pose44(P) @ np.linalg.inv(T44(X)), ROUNDING)
        assert_close(pose44(X.parent(X.child(P))), pose44(P), ROUNDING)
        assert_close(pose44(X.child(X.parent(P))), pose44(P), ROUNDING)

    @QUICK
    @given(poses, vectors)
    def test_points(self, P, x) -> None:
        assert_close(P.point(x), (pose44(P) @ [*x, 1.0])[:3], ROUNDING)

    @pytest.mark.slow
    @QUICK
    @given(poses, motions)
    def test_motions_in_the_reference_frame(self, P, m) -> None:
        x, y, z = (tuple(row) for row in np.array(P.rotation).T.tolist())
        to_frame = Transform(Turn((x, y, z)), P.position)
        assert_close(m6(to_frame @ (P @ m)), m6(m), ROUNDING)
        assert_close(m6(P @ m), np.linalg.solve(X66(to_frame), m6(m)), ROUNDING)

    def test_the_reference_frame_itself(self) -> None:
        m = Motion.of((1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
        assert Pose.zero() @ m == m
        assert Pose.zero().point((1.0, 2.0, 3.0)) == (1.0, 2.0, 3.0)

    def test_a_force_is_not_a_motion(self) -> None:
        with pytest.raises(TraceError, match="Force"):
            Pose.zero() @ Force.zero()


def test_over_arrays_and_graph_nodes_as_over_floats() -> None:
    """One formula for every scalar: arrays give what their numbers give, nodes evaluate to it."""
    rng = np.random.default_rng(0)
    q, r, six = rng.normal(size=4), rng.normal(size=(4, 3)), rng.normal(size=(4, 6))

    def compute(q, r, six):
        X = Transform(About(2, cos(q), sin(q)), tuple(r))
        return (X @ Motion.of(tuple(six))).scalars + (X.T @ Force.of(tuple(six))).scalars

    together = np.array(compute(q, r.T, six.T)).T
    graph = Graph()
    leaves = [graph.leaf(k) for k in range(10)]
    traced = compute(leaves[0], leaves[1:4], leaves[4:])
    for k in range(4):
        single = compute(float(q[k]), r[k].tolist(), six[k].tolist())
        assert_close(together[k], single, EXACT)
        values = dict(enumerate([float(q[k]), *r[k].tolist(), *six[k].tolist()]))
        assert_close(evaluate([graph.lift(s) for s in traced], values), single, EXACT)
