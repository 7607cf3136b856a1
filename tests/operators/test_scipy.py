"""Operators in SciPy's hands: its solvers take them as they are, and its algebra combines them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg, eigsh, gmres, lobpcg, svds

from ordern.operators import Operators
from tests.random_models import random_robot, random_state
from tests.tolerances import INVERSION, ROUNDING, assert_close


@pytest.fixture(scope="module")
def ops() -> Operators:
    robot = random_robot(4, 10, floating=True, armature=True)
    q, v, _ = random_state(robot, 1)
    return robot.operators(q, v)


@pytest.mark.parametrize("name", ["H", "phi", "psi", "M", "P", "D", "K", "mass_matrix", "J", "E_phi"])
def test_as_linear_operators(ops: Operators, name: str) -> None:
    ours = getattr(ops, name)
    theirs = aslinearoperator(ours)
    assert isinstance(theirs, LinearOperator)
    assert (theirs.shape, theirs.dtype) == (ours.shape, np.float64)
    A, rng = ours.dense(), np.random.default_rng(0)
    x, y, X = rng.normal(size=A.shape[1]), rng.normal(size=A.shape[0]), rng.normal(size=(A.shape[1], 3))
    assert_close(theirs @ x, A @ x, ROUNDING)
    assert_close(theirs.matmat(x[:, None]), A @ x[:, None], ROUNDING)
    assert_close(ours.matvec(x[:, None]), A @ x[:, None], ROUNDING)  # SciPy's own takes no columns from 1.20 on
    assert_close(theirs @ X, A @ X, ROUNDING)
    assert_close(theirs.rmatvec(y), A.T @ y, ROUNDING)
    assert_close(theirs.T @ y, A.T @ y, ROUNDING)
    assert_close(theirs.H @ y, A.T @ y, ROUNDING)
    assert_close(theirs.adjoint() @ y, A.T @ y, ROUNDING)


def test_their_algebra(ops: Operators) -> None:
    H, phi, M, armature = (aslinearoperator(x) for x in (ops.H, ops.phi, ops.M, ops.mass_matrix))
    x = np.random.default_rng(1).normal(size=H.shape[0])
    by_them = H @ phi @ M @ phi.T @ H.T
    by_us = ops.H @ ops.phi @ ops.M @ ops.phi.T @ ops.H.T
    assert_close(by_them @ x, by_us @ x, ROUNDING)
    assert_close((2.0 * by_them - 3.0 * armature) @ x, 2.0 * (by_us @ x) - 3.0 * (ops.mass_matrix @ x), ROUNDING)
    assert_close((-by_them) @ x, -(by_us @ x), ROUNDING)
    assert_close(armature**2 @ x, ops.mass_matrix @ (ops.mass_matrix @ x), ROUNDING)


def test_their_solvers(ops: Operators) -> None:
    """Operators are handed over as they are; the inverse, which is order n too, is the perfect preconditioner."""
    A, rng = ops.mass_matrix, np.random.default_rng(2)
    M, b = A.dense(), rng.normal(size=A.shape[0])
    expected = np.linalg.solve(M, b)
    steps: list[int] = []
    x, flag = cg(A, b, rtol=1e-13, maxiter=20 * len(b), callback=lambda _: steps.append(1))
    assert flag == 0
    assert_close(x, expected, 1e3 * INVERSION)
    free = len(steps)
    steps.clear()
    x, flag = cg(A, b, rtol=1e-12, M=aslinearoperator(A.inv()), callback=lambda _: steps.append(1))
    assert flag == 0 and len(steps) <= 3 < free
    assert_close(x, expected, INVERSION)
    x, flag = gmres(A, b, rtol=1e-12, M=aslinearoperator(A.inv()))
    assert flag == 0
    assert_close(x, expected, INVERSION)


def test_their_eigenvalues(ops: Operators) -> None:
    A = ops.mass_matrix
    exact = np.linalg.eigvalsh(A.dense())
    assert_close(eigsh(A, k=3, which="LM", return_eigenvectors=False)[::-1], exact[::-1][:3], INVERSION)
    inverted = eigsh(A, k=2, sigma=0.0, OPinv=aslinearoperator(A.inv()), return_eigenvectors=False)
    assert_close(np.sort(inverted), exact[:2], INVERSION)
    start = np.random.default_rng(3).normal(size=(A.shape[0], 2))
    largest, _ = lobpcg(aslinearoperator(A), start, largest=True, tol=1e-9, maxiter=500)
    assert_close(np.sort(largest), exact[-2:], 1e-6)
    k = 3
    values = np.sort(svds(aslinearoperator(ops.J), k=k, return_singular_vectors=False))
    assert_close(values, np.sort(np.linalg.svd(ops.J.dense(), compute_uv=False))[-k:], INVERSION)
