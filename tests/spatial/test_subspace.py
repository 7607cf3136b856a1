from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordern.errors import TraceError
from ordern.graph import Graph, Node
from ordern.spatial import (
    ArticulatedInertia,
    Columns,
    Factor,
    Force,
    Forces,
    Freedoms,
    Motion,
    Subspace,
    Units,
    eliminate,
    plus_diagonal,
)
from tests.spatial.dense import I66, QUICK, articulated, f6, forces, inertias, m6, motions, numbers
from tests.tolerances import ROUNDING, assert_close

units = st.sets(st.integers(0, 5), min_size=1).map(lambda axes: Units(tuple(sorted(axes))))
columns = st.lists(motions, min_size=1, max_size=6).map(lambda m: Columns(tuple(m)))
subspaces = st.one_of(units, columns)
seeds = st.integers(0, 2**32 - 1)


def S6(S: Subspace) -> np.ndarray:
    """The matrix whose columns are the motions; for units by definition."""
    if isinstance(S, Units):
        return np.eye(6)[:, list(S.axes)]
    return np.array([m6(m) for m in S.columns]).T


def U6(U: Forces) -> np.ndarray:
    return np.array([f6(f) for f in U.columns]).T


class TestSubspace:
    @QUICK
    @given(subspaces, st.data())
    def test_motions_of_joint_velocities(self, S, data) -> None:
        x = Freedoms(data.draw(numbers) for _ in S.columns)
        assert_close(m6(S @ x), S6(S) @ np.array(x), ROUNDING)

    @QUICK
    @given(subspaces, forces)
    def test_joint_forces_of_a_force(self, S, f) -> None:
        found = S.T @ f
        assert isinstance(found, Freedoms)
        assert_close(found, S6(S).T @ f6(f), ROUNDING)

    @QUICK
    @given(subspaces, st.lists(forces, min_size=1, max_size=4))
    def test_joint_forces_of_several_forces(self, S, several) -> None:
        """A row for each force."""
        F = Forces(tuple(several))
        assert_close(S.T @ F, U6(F).T @ S6(S), ROUNDING)

    @QUICK
    @given(subspaces, st.one_of(inertias, articulated))
    def test_under_an_inertia(self, S, I) -> None:
        assert_close(U6(S.under(I)), I66(I) @ S6(S), ROUNDING)

    @QUICK
    @given(units)
    def test_units_are_columns_of_ones(self, S) -> None:
        assert (S6(S) == np.array([m6(m) for m in S.columns]).T).all()

    def test_units_move_traced_numbers_without_computing(self) -> None:
        graph = Graph()
        x = [graph.leaf(k) for k in range(6)]
        assert (Units((2, 4)) @ Freedoms(x[:2])).scalars == (0.0, 0.0, x[0], 0.0, x[1], 0.0)
        assert Units((2, 4)).T @ Force.of(tuple(x)) == (x[2], x[4])
        assert len(graph.nodes) == 6

    @pytest.mark.parametrize("S", [Units((2,)), Columns((Motion.zero(),))], ids=["units", "columns"])
    def test_a_motion_is_not_a_force(self, S) -> None:
        with pytest.raises(TraceError, match="Motion"):
            S.T @ Motion.zero()

    @pytest.mark.parametrize("S", [Units((2,)), Columns((Motion.zero(),))], ids=["units", "columns"])
    def test_as_many_numbers_as_freedoms(self, S) -> None:
        with pytest.raises(ValueError, match="longer"):
            S @ Freedoms((1.0, 2.0))


class TestForces:
    @QUICK
    @given(st.lists(forces, min_size=1, max_size=5), motions, st.data())
    def test_products(self, several, a, data) -> None:
        F, y = Forces(tuple(several)), Freedoms(data.draw(numbers) for _ in several)
        assert_close(f6(F @ y), U6(F) @ np.array(y), ROUNDING)
        assert_close(F.T @ a, U6(F).T @ m6(a), ROUNDING)


class TestFreedoms:
    def test_arithmetic_number_by_number(self) -> None:
        a, b = Freedoms((1.0, 2.0)), Freedoms((3.0, 5.0))
        assert a + b == (4.0, 7.0)
        assert b - a == (2.0, 3.0)
        assert -a == (-1.0, -2.0)
        assert a * 3.0 == (3.0, 6.0)
        assert a * b == (3.0, 10.0)
        assert all(isinstance(x, Freedoms) for x in (a + b, b - a, -a, a * 3.0, a * b))

    def test_lengths_must_agree(self) -> None:
        for wrong in (
            lambda: Freedoms((1.0,)) + Freedoms((1.0, 2.0)),
            lambda: Freedoms((1.0,)) - Freedoms(()),
            lambda: Freedoms((1.0,)) * Freedoms((1.0, 2.0)),
        ):
            with pytest.raises(ValueError, match=r"longer|shorter"):
                wrong()

    def test_none(self) -> None:
        assert Freedoms() == ()
        assert Units(()) @ Freedoms() == Motion.zero()
        assert Units(()).T @ Force.zero() == ()


def _positive(rng: np.random.Generator, n: int) -> np.ndarray:
    A = rng.normal(size=(n, n))
    return A @ A.T + 0.1 * np.eye(n)


def _rows(A: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in A.tolist())


class TestFactor:
    @pytest.mark.parametrize("n", range(1, 7))
    def test_solve(self, n) -> None:
        rng = np.random.default_rng(n)
        for _ in range(20):
            A, b = _positive(rng, n), rng.normal(size=n)
            assert_close(Factor.of(_rows(A)).solve(tuple(b.tolist())), np.linalg.solve(A, b), ROUNDING * 100)

    def test_only_the_lower_half_is_read(self) -> None:
        A = _positive(np.random.default_rng(0), 4)
        spoilt = np.where(np.triu(np.ones((4, 4)), 1) > 0, np.nan, A)
        assert Factor.of(_rows(A)) == Factor.of(_rows(spoilt))

    def test_product_of_the_factors(self) -> None:
        A = _positive(np.random.default_rng(1), 5)
        factor = Factor.of(_rows(A))
        L = np.eye(5)
        for i, row in enumerate(factor.lower):
            L[i, : len(row)] = row
        assert_close(L @ np.diag(1.0 / np.array(factor.inverse)) @ L.T, A, ROUNDING)

    def test_nothing_to_solve(self) -> None:
        assert Factor.of(()).solve(()) == ()


def test_plus_diagonal() -> None:
    A = ((1.0, 2.0), (3.0, 4.0))
    assert plus_diagonal(A, Freedoms((10.0, 20.0))) == ((11.0, 2.0), (3.0, 24.0))


def _articulated(rng: np.random.Generator) -> ArticulatedInertia:
    A = _positive(rng, 6)
    return ArticulatedInertia.of_upper({(r, c): float(A[r, c]) for r in range(6) for c in range(r, 6)})


def _matrix(G: Forces, n: int) -> np.ndarray:
    return np.array([f6(f) for f in G.columns]).reshape(n, 6).T


def _well_posed(seed: int, n: int, kind: str) -> Subspace:
    rng = np.random.default_rng(seed)
    if kind == "units":
        return Units(tuple(sorted(rng.choice(6, n, replace=False).tolist())))
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0][:, :n]
    return Columns(tuple(Motion.of(tuple(column)) for column in (Q * rng.uniform(0.5, 2.0, n)).T.tolist()))


@pytest.mark.parametrize("kind", ["units", "columns"])
@pytest.mark.parametrize("n", range(7))
@pytest.mark.parametrize("armature", [False, True], ids=["without", "with armature"])
class TestEliminate:
    def _case(self, n: int, kind: str, armature: bool, seed: int):
        rng = np.random.default_rng(seed)
        IA, S = _articulated(rng), _well_posed(seed, n, kind)
        a = rng.uniform(0.1, 1.0, n) if armature else np.zeros(n)
        return IA, S, Freedoms(a.tolist())

    def test_dense_formula(self, n, kind, armature) -> None:
        for seed in range(10):
            IA, S, a = self._case(n, kind, armature, seed)
            G, D, Ia = eliminate(IA, S, a)
            A, S_ = I66(IA), S6(S).reshape(6, n)
            D_ = S_.T @ A @ S_ + np.diag(a)
            G_ = A @ S_ @ np.linalg.inv(D_)
            assert_close(_matrix(G, n), G_, ROUNDING * 100)
            b = np.arange(1.0, n + 1.0)
            assert_close(D.solve(tuple(b.tolist())), np.linalg.inv(D_) @ b, ROUNDING * 100)
            assert_close(I66(Ia), A - G_ @ S_.T @ A, ROUNDING * 100)

    def test_what_is_left_is_symmetric_and_not_negative(self, n, kind, armature) -> None:
        for seed in range(10):
            Ia = I66(eliminate(*self._case(n, kind, armature, seed))[2])
            assert (Ia == Ia.T).all()
            assert np.linalg.eigvalsh(Ia).min() > -ROUNDING * 100

    def test_without_armature_nothing_is_left_along_the_joint(self, n, kind, armature) -> None:
        """For unit motions not even rounding; with armature, some is."""
        IA, S, a = self._case(n, kind, armature, 3)
        G, _, Ia = eliminate(IA, S, a)
        left = I66(Ia) @ S6(S).reshape(6, n)
        given = S6(S).reshape(6, n).T @ _matrix(G, n)
        if armature and n:
            assert np.abs(left).max() > 1e-3
        elif kind == "units":
            assert not left.any()
            assert (given == np.eye(n)).all()
        else:
            assert_close(given, np.eye(n), ROUNDING * 100)
            assert_close(left, np.zeros((6, n)), ROUNDING * 100)


def test_eliminated_rows_vanish_when_traced() -> None:
    """They are numbers, not nodes: what depends on them costs nothing."""
    graph = Graph()
    IA = ArticulatedInertia.of_upper({(r, c): graph.leaf((r, c)) for r in range(6) for c in range(r, 6)})
    _, _, Ia = eliminate(IA, Units((2,)), Freedoms((0.0,)))
    rows = Ia.rows()
    assert all(x == 0.0 and isinstance(x, float) for x in rows[2])
    assert sum(isinstance(rows[r][c], Node) for r in range(6) for c in range(r, 6)) == 15
