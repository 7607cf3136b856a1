"""Factors of the mass matrix, its inverse, and products: against dense matrices, and the papers' identities."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from ordern.algorithms.factors.articulated import articulated
from ordern.algorithms.factors.udu import _eliminated
from ordern.model import BASE, ConcreteTree
from ordern.spatial import Inertia
from tests.algorithms.trees import ask, times
from tests.peers_util import CASES, Pair
from tests.random_models import random_robot, random_state
from tests.tolerances import INVERSION, PEER_INVERSE, ROUNDING, SINGLE, assert_close

Array = np.ndarray
STATES = 4
SEEDS = range(15)
METHODS = ("innovations", "udu", "ltdl", "ltl")


@cache
def tree(seed: int) -> on.Robot:
    """A tree or chain, with or without a floating base, armature, and fixed joints that are kept."""
    return random_robot(
        seed, 8, floating=seed % 3 == 0, chain=seed % 4 == 1, armature=seed % 2 == 0, merge=seed % 5 != 0
    )


@cache
def coupled(seed: int) -> on.Robot:
    """A tree in which joints follow others."""
    joints = (on.Revolute, on.Prismatic, on.Helical, on.Universal)
    robot = random_robot(seed, 9, joints, floating=seed % 2 == 0, armature=True, mimic=True)
    assert any(c.mimic for c in robot.joints)
    return robot


def transpose(A: Array) -> Array:
    return A.swapaxes(-1, -2)


def blocks(robot: on.Robot) -> Array:
    """Which pairs of freedoms belong to one joint."""
    joint = np.array([k for k, c in enumerate(robot.joints) for _ in range(c.nv)])
    return joint[:, None] == joint


def related(robot: on.Robot) -> Array:
    """Which pairs of freedoms are on one path: the row's joint carries the column's, or is the same."""
    above = []
    for k in range(len(robot.joints)):
        path = {k}
        while (p := robot.joints[min(path)].parent) != BASE:
            path.add(p)
        above.append(path)
    joint = [k for k, c in enumerate(robot.joints) for _ in range(c.nv)]
    return np.array([[r in above[c] for c in joint] for r in joint])


@pytest.mark.parametrize("seed", SEEDS)
def test_factors_multiply_to_the_mass_matrix(seed: int) -> None:
    robot = tree(seed)
    q = random_state(robot, seed, (STATES,))[0]
    M, same, on_path = ask(robot, "mass_matrix", q), blocks(robot), related(robot)
    found = {}
    for method in METHODS:
        F = ask(robot, "mass_matrix_factor", q, method=method)
        D = ask(robot, "mass_matrix_pivots", q, method=method)
        assert_close(F @ D @ transpose(F), M, ROUNDING)
        assert not F[:, ~on_path].any(), "nothing is filled in"
        assert not np.tril(F, -1).any()
        assert not D[:, ~same].any()
        assert (transpose(D) == D).all()
        found[method] = F, D
        if method == "ltl":
            assert (np.eye(robot.nv) == D).all()
            assert np.einsum("nii->ni", F).min() > 0.0
        else:
            assert (F[:, same] == np.eye(robot.nv)[same]).all()
    for method in ("udu", "ltdl"):
        for one, other in zip(found[method], found["innovations"], strict=True):
            assert_close(one, other, INVERSION)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_products_and_solutions(seed: int) -> None:
    robot = tree(seed)
    q, x, _ = random_state(robot, seed, (STATES,))
    M, inverse = ask(robot, "mass_matrix", q), ask(robot, "mass_matrix_inverse", q)
    assert (inverse == transpose(inverse)).all()
    assert_close(inverse, np.linalg.inv(M), INVERSION)
    assert_close(ask(robot, "mass_matrix_product", q, x), times(M, x), ROUNDING)
    assert_close(ask(robot, "mass_matrix_solve", q, x), np.linalg.solve(M, x[..., None])[..., 0], INVERSION)
    at_rest = ask(robot, "forward_dynamics", q, 0 * x, x + ask(robot, "gravity_force", q))
    assert_close(ask(robot, "mass_matrix_solve", q, x), at_rest, INVERSION)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_square_roots(seed: int) -> None:
    robot = tree(seed)
    q, x, _ = random_state(robot, seed, (STATES,))
    y = ask(robot, "mass_matrix_root_product", q, x)
    F, D = (ask(robot, f"mass_matrix_{name}", q) for name in ("factor", "pivots"))
    assert_close(y, times(F @ np.linalg.cholesky(D), x), ROUNDING)
    assert_close(ask(robot, "mass_matrix_root_solve", q, y), x, INVERSION)
    R = ask(robot, "mass_matrix_root_product", q[:1], np.eye(robot.nv)).T
    assert_close(R @ R.T, ask(robot, "mass_matrix", q[0]), ROUNDING)
    white = ask(robot, "mass_matrix_root_solve", q, x)
    assert_close((white**2).sum(-1), (x * ask(robot, "mass_matrix_solve", q, x)).sum(-1), INVERSION)


@pytest.mark.parametrize("seed", range(5))
def test_joints_that_follow_others(seed: int) -> None:
    robot = coupled(seed)
    q, x, _ = random_state(robot, seed, (STATES,))
    M = ask(robot, "mass_matrix", q)
    assert_close(ask(robot, "mass_matrix_inverse", q), np.linalg.inv(M), INVERSION)
    assert_close(ask(robot, "mass_matrix_product", q, x), times(M, x), ROUNDING)
    assert_close(ask(robot, "mass_matrix_solve", q, x), np.linalg.solve(M, x[..., None])[..., 0], INVERSION)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("question", ["mass_matrix_factor", "mass_matrix_pivots"])
def test_factors_refuse_joints_that_follow_others(question: str, method: str) -> None:
    if method in ("ltdl", "ltl"):
        coupled(0).kernel(question, method)
        return
    words = f"'{method}': it eliminates body by body.* with a joint that follows another.*; 'ltdl' can do it"
    with pytest.raises(on.ArgumentError, match=words):
        coupled(0).kernel(question, method)


@pytest.mark.parametrize("question", ["mass_matrix_root_product", "mass_matrix_root_solve"])
def test_roots_refuse_joints_that_follow_others(question: str) -> None:
    with pytest.raises(on.ArgumentError, match=r"it eliminates body by body.*'ltl' can do it"):
        coupled(0).kernel(question)


@pytest.mark.parametrize("seed", range(12))
def test_factors_of_the_coordinates_that_are_left(seed: int) -> None:
    """With joints that follow others the factors fill in, but still multiply to the mass matrix of what is left."""
    robot = coupled(seed)
    q, x, _ = random_state(robot, seed, (STATES,))
    M = ask(robot, "mass_matrix", q)
    for method in ("ltdl", "ltl"):
        F = ask(robot, "mass_matrix_factor", q, method=method)
        D = ask(robot, "mass_matrix_pivots", q, method=method)
        assert not np.tril(F, -1).any()
        assert_close(F @ D @ transpose(F), M, ROUNDING)
    R = F  # of ltl
    assert_close(ask(robot, "mass_matrix_root_product", q, x, method="ltl"), times(R, x), ROUNDING)
    assert_close(times(R, ask(robot, "mass_matrix_root_solve", q, x, method="ltl")), x, INVERSION)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_roots_of_trees(seed: int) -> None:
    robot = tree(seed)
    q, x, _ = random_state(robot, seed, (STATES,))
    R = np.stack([ask(robot, "mass_matrix_root_product", q, e, method="ltl") for e in np.eye(robot.nv)], axis=-1)
    assert_close(R @ transpose(R), ask(robot, "mass_matrix", q), ROUNDING)
    assert_close(times(R, ask(robot, "mass_matrix_root_solve", q, x, method="ltl")), x, INVERSION)


SMALL = random_robot(3, 3, (on.Revolute, on.Universal), floating=True, armature=True)
CHAIN = random_robot(5, 2, (on.Revolute, on.Spherical), chain=True)
COMPILED = [
    *(("mass_matrix_factor", method) for method in METHODS),
    *(("mass_matrix_pivots", method) for method in METHODS),
    ("mass_matrix_inverse", "innovations"),
    ("mass_matrix_product", "newton-euler"),
    ("mass_matrix_solve", "innovations"),
    ("mass_matrix_root_product", "innovations"),
    ("mass_matrix_root_solve", "innovations"),
    ("mass_matrix_root_product", "ltl"),
    ("mass_matrix_root_solve", "ltl"),
]


@pytest.mark.slow
@pytest.mark.parametrize("question, method", COMPILED)
def test_compiled_as_interpreted(question: str, method: str) -> None:
    asked, _ = on.algorithms.find(question, method)
    for robot, way in ((SMALL, "unrolled"), (SMALL, "rolled"), (CHAIN, "rolled")):
        if robot is CHAIN and question != "mass_matrix_factor":
            continue
        given = random_state(robot, 1, (3,))[: len(asked.inputs)]
        kernel = robot.kernel(question, method, way=way)
        assert_close(kernel(*given), ask(robot, question, *given, method=method), INVERSION)


@pytest.mark.parametrize("question", ["mass_matrix_factor", "mass_matrix_inverse", "mass_matrix_solve"])
def test_single_precision(question: str) -> None:
    given = random_state(CHAIN, 1, (3,))[: len(on.algorithms.find(question)[0].inputs)]
    single = CHAIN.kernel(question)(*(x.astype(np.float32) for x in given))
    assert single.dtype == np.float32
    assert_close(single, ask(CHAIN, question, *given), SINGLE)


@pytest.mark.parametrize("way", ["unrolled", "rolled"])
def test_solve_with_couplings_compiled(way: str) -> None:
    robot = random_robot(1, 3, (on.Revolute,), mimic=True)
    q, x, _ = random_state(robot, 1, (3,))
    kernel = robot.kernel("mass_matrix_solve", way=way)
    assert_close(kernel(q, x), ask(robot, "mass_matrix_solve", q, x), INVERSION)
    inverse = robot.kernel("mass_matrix_inverse", way=way)
    assert_close(inverse(q), ask(robot, "mass_matrix_inverse", q), INVERSION)


def test_factors_through_the_robot() -> None:
    robot = CHAIN
    q = random_state(robot, 2)[0]
    F, D = robot.mass_matrix_factors(q)
    assert_close(F @ D @ F.T, robot.mass_matrix(q), ROUNDING)


def test_through_the_robot() -> None:
    robot = CHAIN
    q, x, _ = random_state(robot, 2)
    M = robot.mass_matrix(q)
    assert_close(robot.mass_matrix_inverse(q) @ M, np.eye(robot.nv), INVERSION)
    assert_close(robot.mass_matrix_solve(q, robot.mass_matrix_product(q, x)), x, INVERSION)
    assert_close(robot.mass_matrix_root_solve(q, robot.mass_matrix_root_product(q, x)), x, INVERSION)


def test_more_digits() -> None:
    robot = tree(4)
    q, x, _ = (a.astype(np.longdouble) for a in random_state(robot, 4))
    for question, given in [("mass_matrix_inverse", (q,)), ("mass_matrix_solve", (q, x))]:
        exact = ask(robot, question, *given)
        assert exact.dtype == np.longdouble
        assert_close(ask(robot, question, *(a.astype(float) for a in given)), exact, INVERSION)


class Operators:
    """The operators of Jain and of Rodriguez and Kreutz, dense, for one state; bodies are numbered from the base."""

    def __init__(self, robot: on.Robot, seed: int) -> None:
        self.q = random_state(robot, seed)[0]
        concrete = ConcreteTree(robot)
        X, S, P, G, D = articulated(concrete, concrete.input("q", list(self.q)))
        bodies = list(concrete.outward())
        n, nv = len(bodies), robot.nv
        self.P, self.M = np.zeros((2, 6 * n, 6 * n))
        self.E_phi, self.E_psi = np.zeros((2, 6 * n, 6 * n))
        self.H, self.K = np.zeros((nv, 6 * n)), np.zeros((6 * n, nv))
        self.D, self.armature = np.zeros((nv, nv)), np.zeros((nv, nv))
        for k, (i, p) in enumerate(bodies):
            b, v = slice(6 * k, 6 * k + 6), robot.joints[k].v
            self.P[b, b], self.M[b, b] = P[i].rows(), i.inertia.articulated().rows()
            self.H[v, b] = np.array([m.scalars for m in S[i].columns]).reshape(-1, 6)
            if robot.joints[k].nv:
                self.armature[v, v] = np.diag(i.armature)
                self.D[v, v] = np.linalg.inv([D[i].solve(e) for e in np.eye(robot.joints[k].nv)])
            if p.key == BASE:
                continue
            parent = slice(6 * int(p.key), 6 * int(p.key) + 6)
            phi = np.array([(X[i] @ on.spatial.Motion.of(tuple(e))).scalars for e in np.eye(6)])  # X, transposed
            gain = np.array([f.scalars for f in G[i].columns]).reshape(-1, 6).T
            self.K[parent, v] = phi @ gain
            self.E_phi[parent, b] = phi
            self.E_psi[parent, b] = phi @ (np.eye(6) - gain @ self.H[v, b])
        one = np.eye(6 * n)
        self.phi, self.psi = np.linalg.inv(one - self.E_phi), np.linalg.inv(one - self.E_psi)


@pytest.mark.parametrize("seed", range(4))
def test_lemmas_of_jain(seed: int) -> None:
    """Lemmas 6.1 to 6.4, with the armature in D, and the Riccati equation (42)."""
    robot = tree(seed)
    o = Operators(robot, seed)
    one, M = np.eye(robot.nv), ask(robot, "mass_matrix", o.q)
    factor, inverse_factor = one + o.H @ o.phi @ o.K, one - o.H @ o.psi @ o.K
    assert_close(np.linalg.inv(o.psi), np.linalg.inv(o.phi) + o.K @ o.H, INVERSION)
    assert_close(o.H @ o.phi @ o.M @ o.phi.T @ o.H.T + o.armature, M, ROUNDING)
    assert_close(o.H @ o.P @ o.H.T * blocks(robot) + o.armature, o.D, INVERSION)
    assert_close(factor @ o.D @ factor.T, M, INVERSION)
    assert_close(factor @ inverse_factor, one, INVERSION)
    assert_close(inverse_factor.T @ np.linalg.inv(o.D) @ inverse_factor, np.linalg.inv(M), INVERSION)
    assert_close(factor, ask(robot, "mass_matrix_factor", o.q), INVERSION)
    assert_close(o.D, ask(robot, "mass_matrix_pivots", o.q), INVERSION)
    # (42), where a drive's inertia adds K armature K^*
    assert_close(o.E_psi @ o.P @ o.E_psi.T + o.K @ o.armature @ o.K.T + o.M, o.P, INVERSION)


@pytest.mark.parametrize("seed", range(4))
def test_reverse_gaussian_elimination_of_saha(seed: int) -> None:
    """Eqs. (40)-(45) and (51)-(55), on the elements of the mass matrix, column by column from the last."""
    robot = random_robot(seed, 7, (on.Revolute, on.Prismatic, on.Helical), chain=True)
    q = random_state(robot, seed)[0]
    n = robot.nv
    L, E = ask(robot, "mass_matrix", q), np.eye(n)
    for k in reversed(range(1, n)):
        E_k = np.eye(n)
        E_k[:k, k] = -L[:k, k] / L[k, k]
        L, E = E_k @ L, E_k @ E
    U, D = (ask(robot, f"mass_matrix_{name}", q, method="udu") for name in ("factor", "pivots"))
    assert_close(np.triu(L, 1), 0.0 * L, ROUNDING)
    assert_close(U @ E, np.eye(n), INVERSION)
    assert_close(D, np.diag(np.diag(L)), INVERSION)
    assert_close(D @ U.T, L, INVERSION)


def test_articulated_inertia_of_saha() -> None:
    """Eq. (49) put right: M^_i is the composite M~_i less the sum of psi^_il psi_il^T over all bodies l beyond i."""
    robot = random_robot(2, 6, (on.Revolute, on.Prismatic), chain=True)
    concrete = ConcreteTree(robot)
    B, p, M, psi = _eliminated(concrete, concrete.input("q", list(random_state(robot, 2)[0])))
    bodies = [i for i, _ in concrete.outward()]
    for number, i in enumerate(bodies):
        composite: Any = Inertia.zero().articulated()
        hidden = np.zeros((6, 6))
        for l in reversed(bodies[number:]):
            own = l.inertia
            c = np.array(own.h) / own.m
            about = Inertia(own.m, (0.0, 0.0, 0.0), own.shifted(tuple((-c).tolist())).I).articulated()
            composite = composite + about
            if l is not i:
                composite = B[l].T @ composite @ B[l]
                hat, unit = p[l].under(M[l]), psi[l]
                for j in reversed(bodies[number + 1 : bodies.index(l) + 1]):
                    hat, unit = B[j].T @ hat, B[j].T @ unit
                hidden += np.outer(hat.columns[0].scalars, unit.columns[0].scalars)
        assert_close(np.array(M[i].rows()), np.array(composite.rows()) - hidden, INVERSION)


@pytest.mark.parametrize("name", ["ur5", "solo12", "talos", "panda"])
def test_inverse_as_pinocchio(name: str) -> None:
    pair = Pair(next(c for c in CASES if c.name == name))
    s = pair.states(3)
    theirs = pair.each(s, lambda q, v, a, tau, k: pin.computeMinverse(pair.model, pair.data, q))
    theirs = np.triu(theirs) + transpose(np.triu(theirs, 1))
    expected = np.linalg.inv(pair.masses(s)) if pair.coupled else pair.free.T @ theirs @ pair.free
    found = ask(pair.robot, "mass_matrix_inverse", s.q)
    assert_close(found, expected, PEER_INVERSE)
