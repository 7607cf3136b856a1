"""Methods of forward dynamics that form or factorise the mass matrix, and what they have in common inside."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import ordern as on
from ordern.algorithms.factors.linear import symmetric_inverse
from ordern.algorithms.forward_dynamics.articulated_body import articulated_sweeps
from ordern.algorithms.forward_dynamics.denoc import denoc
from ordern.algorithms.forward_dynamics.triangularized import triangularized
from ordern.algorithms.forward_dynamics.walker_orin import composite_body, symmetric, unit_acceleration
from ordern.algorithms.registry import find
from ordern.model import ConcreteTree
from ordern.spatial import Identity, Transform
from tests.random_models import ALL_JOINTS, random_robot, random_state
from tests.tolerances import INVERSION, ROUNDING, SINGLE, assert_close

METHODS = ("composite-body", "unit-acceleration", "symmetric", "triangularized", "denoc")
ALIASES = ("featherstone", "rodriguez", "brandl-johanni-otter", "rosenthal")
OPTIONAL = ("external", "base_velocity", "base_acceleration")
SINGLE_FREEDOM = (on.Revolute, on.Prismatic, on.Helical)

TREES: dict[str, dict[str, Any]] = {
    "tree": {"seed": 11, "n": 13},
    "tree of all joints": {"seed": 12, "n": 14, "armature": True},
    "chain": {"seed": 13, "chain": True},
    "chain with armature": {"seed": 14, "chain": True, "armature": True},
    "floating": {"seed": 15, "floating": True},
    "floating with armature": {"seed": 16, "floating": True, "armature": True},
    "fixed joints kept": {"seed": 17, "n": 14, "merge": False},
    "fixed and floating": {"seed": 18, "merge": False, "floating": True, "armature": True},
    "revolute": {"seed": 19, "joints": (on.Revolute,), "n": 12},
    "spherical": {"seed": 20, "joints": (on.Spherical,), "n": 6},
    "sliding": {"seed": 21, "joints": (on.Prismatic,), "n": 5},
    "one body": {"seed": 22, "n": 1, "joints": (on.Revolute,)},
    "followers": {"seed": 23, "mimic": True, "n": 13},
    "followers in a chain": {"seed": 24, "mimic": True, "chain": True, "armature": True, "joints": SINGLE_FREEDOM},
    "followers afloat": {"seed": 25, "mimic": True, "floating": True, "joints": (*SINGLE_FREEDOM, on.Universal)},
}


def robot_of(name: str) -> on.Robot:
    arguments = dict(TREES[name])
    return random_robot(arguments.pop("seed"), **arguments)


def drawn(robot: on.Robot, *shape: int) -> tuple[np.ndarray, ...]:
    """A state, joint forces, external forces and the base's motion."""
    rng = np.random.default_rng(3)
    q, v, tau = random_state(robot, 3, shape)
    return q, v, 10 * tau, rng.normal(size=(*shape, len(robot.bodies), 6)), *rng.normal(size=(2, *shape, 6))


def answer(robot: on.Robot, method: str | None, *arguments: Any, way: str = "interpreted") -> np.ndarray:
    present = OPTIONAL[: len(arguments) - 3]
    return robot.kernel("forward_dynamics", method, present=present, way=way)(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize("name", TREES)
def test_methods_agree(name: str) -> None:
    robot = robot_of(name)
    arguments = drawn(robot, 3)
    expected = answer(robot, None, *arguments)
    for method in METHODS:
        assert_close(answer(robot, method, *arguments), expected, INVERSION)


def test_every_type_of_joint_is_there() -> None:
    seen = {type(c.type) for name in TREES for c in robot_of(name).joints}
    assert seen == set(ALL_JOINTS)


SMALL = {
    "tree": random_robot(31, 3, (on.Revolute, on.Universal, on.Prismatic), armature=True),
    "followers": random_robot(34, 4, (on.Revolute, on.Prismatic), mimic=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("robot", SMALL.values(), ids=SMALL)
@pytest.mark.parametrize("method", METHODS)
def test_ways_of_running_agree(robot: on.Robot, method: str) -> None:
    arguments = drawn(robot, 5)[:4]
    expected = answer(robot, None, *arguments)
    for way in ("unrolled", "rolled"):
        assert_close(answer(robot, method, *arguments, way=way), expected, INVERSION)
    single = answer(robot, method, *(x.astype(np.float32) for x in arguments), way="rolled")
    assert single.dtype == np.float32
    assert_close(single, expected, SINGLE)


@pytest.mark.slow
def test_order_n_as_loops_on_a_long_chain() -> None:
    robot = random_robot(33, 150, (on.Revolute, on.Spherical), chain=True)
    arguments = drawn(robot)[:3]
    assert_close(answer(robot, "denoc", *arguments, way="rolled"), robot.forward_dynamics(*arguments), INVERSION)


@pytest.mark.parametrize("method", METHODS)
def test_any_scalar_will_do(method: str) -> None:
    robot = SMALL["tree"]
    arguments = drawn(robot)[:4]
    exact = [np.vectorize(mpmath.mpf, otypes=[object])(x) for x in arguments]
    found = answer(robot, method, *exact)
    assert isinstance(found[0], mpmath.mpf)
    assert_close(found.astype(float), answer(robot, None, *arguments), INVERSION)


@pytest.mark.parametrize("method", METHODS)
def test_a_body_without_mass(method: str) -> None:
    builder = on.Builder("light").body("base").body("light", parent="base", joint=on.Revolute((0, 0, 1)))
    builder.body("heavy", parent="light", joint=on.Revolute((1, 0, 0)), mass=1.0, com=(0.1, 0.2, 0.3))
    robot = builder.build()
    arguments = drawn(robot, 3)
    assert_close(answer(robot, method, *arguments), answer(robot, None, *arguments), INVERSION)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_that_moves(method: str) -> None:
    robot = on.Builder("block").body("base").build()
    assert answer(robot, method, *np.zeros((3, 2, 0))).shape == (2, 0)


@pytest.mark.parametrize("name", ALIASES)
def test_names_of_the_articulated_body_recursion(name: str) -> None:
    found, meant = find("forward_dynamics", name)[1], find("forward_dynamics", "articulated-body")[1]
    assert found.alias_of == "articulated-body" and found.function is meant.function
    assert "Jain 1991" in found.paper and found.sweeps
    arguments = drawn(SMALL["tree"], 2)
    assert (answer(SMALL["tree"], name, *arguments) == answer(SMALL["tree"], None, *arguments)).all()


# What the methods compute on the way


def inside(function: Callable[..., Any], robot: on.Robot, q: Any, v: Any, tau: Any) -> tuple[ConcreteTree, Any]:
    """Run an algorithm on one state; the tree, and the function's own variables by name at its end."""
    tree, found = ConcreteTree(robot), {}
    inputs = [tree.input(kind, x.tolist()) for kind, x in (("q", q), ("v", v), ("f", tau))]

    def look(frame: Any, event: str, _: Any) -> None:
        if event == "return" and frame.f_code is function.__code__:
            found.update(frame.f_locals)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        function(tree, *inputs, *(tree.zeros(kind) for kind in ("bodies", "motion", "motion")))
    finally:
        sys.setprofile(before)
    return tree, found


def inverted(D: Any) -> np.ndarray:
    """The inverse of a factorised block."""
    return np.array([D.solve(e) for e in np.eye(len(D.inverse))])


def columns(forces: Any) -> np.ndarray:
    return np.array([f.scalars for f in forces.columns])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tree of all joints", "floating", "followers"])
def test_the_mass_matrix_of_unit_accelerations(name: str) -> None:
    """Jain 1991, sec. 3: three ways to one matrix, which is eliminated in its place, from the tips inward."""
    robot = robot_of(name)
    q, v, tau = random_state(robot, 0)
    M = robot.kernel("mass_matrix", way="interpreted")(q)
    U, d = eliminated(M)
    for function in (unit_acceleration, symmetric, composite_body):
        _, found = inside(function, robot, q, v, tau)
        left = np.array(found["M"].scalars).reshape(M.shape)
        assert_close(np.diag(left), d, INVERSION)
        assert_close(np.tril(left, -1).T, np.triu(U, 1), INVERSION)


def eliminated(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """U and d of M = U diag(d) U^T, with U unit upper triangular: Cholesky's factor from the last row to the first."""
    L = np.linalg.cholesky(M[::-1, ::-1])[::-1, ::-1]
    return L / np.diag(L), np.diag(L) ** 2


def innovations(robot: on.Robot, tree: ConcreteTree, found: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """1 + H phi K and D as matrices, from the blocks of the triangularized method."""
    F, D = np.eye(robot.nv), np.zeros((robot.nv, robot.nv))
    for i, _ in tree.outward():
        at = robot.joints[i.key].v
        D[at, at] = np.linalg.inv(inverted(found["D"][i]))
        for j, _ in tree.ancestors(i):
            block = found["F"][i, j]
            F[robot.joints[j.key].v, at] = np.array(block).reshape(len(block), -1).T
    return F, D


@pytest.mark.parametrize("name", ["tree of all joints", "chain with armature", "floating"])
def test_innovations_factors_of_the_mass_matrix(name: str) -> None:
    """Jain 1991, Lemma 6.2: M = (1 + H phi K) D (1 + H phi K)*, here upper triangular."""
    robot = robot_of(name)
    q, v, tau = random_state(robot, 0)
    F, D = innovations(robot, *inside(triangularized, robot, q, v, tau))
    assert (np.triu(F) == F).all()
    assert_close(F @ D @ F.T, robot.kernel("mass_matrix", way="interpreted")(q), ROUNDING)


@pytest.mark.parametrize("chain", [False, True])
def test_pivots_and_multipliers_of_elimination(chain: bool) -> None:
    """Elimination from the tip has D(k) for pivots (not its inverse) and the entries of 1 + H phi K for multipliers.

    Jain 1991, sec. 4, of Rosenthal's m_kk and m_kj / m_kk; Saha 1999, (46): alpha_ik = p_i^T psi_ik.
    """
    robot = random_robot(41, 9, SINGLE_FREEDOM, chain=chain, armature=True)
    q, v, tau = random_state(robot, 0)
    M = robot.kernel("mass_matrix", way="interpreted")(q)
    U, d = eliminated(M)
    F, D = innovations(robot, *inside(triangularized, robot, q, v, tau))
    assert_close(U, F, INVERSION)
    assert_close(d, np.diag(D), INVERSION)
    tree, saha = inside(denoc, robot, q, v, tau)
    U = np.eye(robot.nv)
    for k, _ in tree.outward():
        psi = saha["B"][k].T @ saha["psi"][k]
        for i, _ in tree.ancestors(k):
            ((U[robot.joints[i.key].v, robot.joints[k.key].v],),) = saha["P"][i].T @ psi
            psi = saha["B"][i].T @ psi
        assert_close(1 / saha["m"][k].inverse[0], D[k.key, k.key], INVERSION)
    assert_close(U, F, INVERSION)


@pytest.mark.parametrize("name", ["tree of all joints", "chain", "floating with armature"])
def test_quantities_of_table_1(name: str) -> None:
    """Jain 1991, table 1: articulated and joint inertias, correction forces and accelerations are the same in all.

    Saha's are about mass centres. The correction force is that of a robot at rest, which the bias-free joint forces
    T - C move: the articulated-body recursion gets those, the others compute them.
    """
    robot = robot_of(name)
    q, v, tau = random_state(robot, 0)
    free = tau - robot.kernel("bias_force", way="interpreted")(q, v)
    resting = dataclasses.replace(robot, gravity=(0.0, 0.0, 0.0))
    tree, jain = inside(articulated_sweeps, resting, q, np.zeros_like(v), free)
    _, rosenthal = inside(triangularized, robot, q, v, tau)
    _, saha = inside(denoc, robot, q, v, tau)
    for i, _ in tree.outward():
        C = Transform(Identity(), saha["C"][i])
        P = np.array(jain["IA"][i].rows())
        assert_close(rosenthal["P"][i].rows(), P, ROUNDING)
        assert_close((C.T @ saha["M"][i] @ C).rows(), P, ROUNDING)
        assert_close((C.T @ saha["eta"][i]).scalars, jain["pA"][i].scalars, INVERSION)
        assert_close((C @ jain["a"][i]).scalars, saha["mu"][i].scalars, INVERSION)
        assert_close(saha["tau_"][i], jain["nu"][i], INVERSION)
        assert_close(rosenthal["x"][i], jain["nu"][i], INVERSION)
        assert_close(inverted(saha["m"][i]), inverted(jain["D"][i]), INVERSION)
        assert_close(inverted(rosenthal["D"][i]), inverted(jain["D"][i]), INVERSION)
        assert_close(columns(rosenthal["G"][i]), columns(jain["G"][i]), INVERSION)
        assert_close(columns(C.T @ saha["psi"][i]), columns(jain["G"][i]), INVERSION)


# Dense linear algebra


def rows(A: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, A.tolist()))


@pytest.mark.parametrize("n", [0, 1, 5])
def test_inverses_are_exactly_symmetric(n: int) -> None:
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n + 2))
    A = A @ A.T + np.eye(n)
    found = np.array(symmetric_inverse(rows(A))).reshape(n, n)
    assert (found == found.T).all()
    assert_close(found, np.linalg.inv(A), ROUNDING)


def test_elimination_from_the_tips_keeps_the_zeros_of_branches() -> None:
    robot = random_robot(42, 12, SINGLE_FREEDOM)
    q = random_state(robot, 0)[0]
    M, U = (robot.kernel(*asked, way="interpreted")(q) for asked in (("mass_matrix",), ("mass_matrix_factor", "ltdl")))
    assert (M == 0.0).sum() > 40
    assert ((U != 0.0) == (np.triu(M) != 0.0)).all()
