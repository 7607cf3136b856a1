"""The operators in the coordinates of the papers: Jain's, Saha's, and Featherstone and Orin's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.operators.dense import ROBOTS, STATES, ask, lazy, six, skew
from tests.tolerances import INVERSION, ROUNDING, assert_close

NAMES = list(ROBOTS)
Array = np.ndarray


def active_forces(name: str, ops: object) -> Array:
    """Forces that the drives put on the bodies: f with H f = tau at each joint, and its reaction on the parent."""
    q, v, qdd = STATES[name]
    tau = ask(ROBOTS[name], "inverse_dynamics", q, v, qdd)
    tau = tau - ops.armature @ qdd - ops.gyration  # type: ignore[attr-defined]
    H = ops.H.dense()  # type: ignore[attr-defined]
    return ops.phi.inv() @ (H.T @ np.linalg.solve(H @ H.T, tau))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NAMES)
def test_physics_does_not_depend_on_coordinates(name: str) -> None:
    q, v, qdd = STATES[name]
    tau = ask(ROBOTS[name], "inverse_dynamics", q, v, qdd)
    for point in ("joint", "mass centre", "base"):
        ops = lazy(name).about(point)
        assert_close(ops.mass_matrix.dense(), lazy(name).mass_matrix.dense(), ROUNDING)
        assert_close(ops.D.dense(), lazy(name).D.dense(), ROUNDING)
        assert_close(lazy(name).about("mass centre").about(point).a, ops.a, ROUNDING)
        assert_close(ops.expression("H phi K").dense(), lazy(name).expression("H phi K").dense(), INVERSION)
        assert_close(ops.H @ ops.f(qdd) + ops.armature @ qdd + ops.gyration, tau, INVERSION)
        assert_close(ops.expression("phi* H*") @ v, ops.V, ROUNDING)
        bias = ops.a + ops.E @ ops.g
        assert_close(ops.P @ (ops.alpha(qdd) - bias) + ops.z(tau), ops.f(qdd), INVERSION)
        assert_close(ops.R @ ops.alpha(qdd) + ops.y(qdd), ops.f(qdd), INVERSION)
        assert_close(ops.R.dense(), (ops.M + ops.E_phi @ ops.R @ ops.E_phi.T).dense(), ROUNDING)
        assert_close(ops.P.dense(), (ops.M + ops.E_psi @ ops.P @ ops.E_phi.T).dense(), ROUNDING)


@pytest.mark.parametrize("name", NAMES)
def test_jains_coordinates(name: str) -> None:
    """In the base's axes phi(l) only shifts the point, (3), and b and M are those of (10) and (11)."""
    robot, (q, _, _), ops = ROBOTS[name], STATES[name], lazy(name).about("joint")
    poses = [ask(robot, "pose", q, frame=b.name) for b in robot.bodies]
    for k, c in enumerate(robot.joints):
        at = poses[c.parent][:3, 3] if c.parent >= 0 else np.zeros(3)
        l = poses[k][:3, 3] - at
        expected = np.block([[np.eye(3), skew(l)], [np.zeros((3, 3)), np.eye(3)]])
        assert_close(ops.X.block(k, k).T, expected, ROUNDING)
        R, w = poses[k][:3, :3], ops.V[six(k)][:3]
        body = robot.bodies[k]
        J = R @ (body.inertia_matrix - body.mass * skew(np.array(body.com)) @ skew(np.array(body.com))) @ R.T
        p = R @ body.com
        b = np.concatenate([np.cross(w, J @ w), body.mass * np.cross(w, np.cross(w, p))])
        assert_close(ops.b[six(k)], b, ROUNDING)
        assert_close(ops.M.block(k, k)[:3, :3], J, ROUNDING)


@pytest.mark.parametrize("name", NAMES)
def test_incidence(name: str) -> None:
    """Featherstone and Orin, sec. 3.5: P of ones, T^T S = 0, the mass matrix, and (27), (28) solved for the motion."""
    robot, form, (_, _, qdd) = ROBOTS[name], lazy(name).incidence, STATES[name]
    P = np.eye(len(robot.bodies))
    for k, c in enumerate(robot.joints):
        if c.parent >= 0:
            P[k, c.parent] = -1.0
    assert_close(form.P.dense(), np.kron(P, np.eye(6)), ROUNDING)
    assert_close(form.P.inv().dense(), np.linalg.inv(np.kron(P, np.eye(6))), ROUNDING)
    assert str(form.T.T @ form.S) == "0"
    T, S, I = form.T.dense(), form.S.dense(), form.I.dense()
    assert T.shape == (6 * len(P), 6 * len(P) - robot.nv)
    assert np.linalg.matrix_rank(T) == T.shape[1]
    assert_close(T.T @ S, np.zeros((T.shape[1], robot.nv)), ROUNDING)
    A = form.operators.armature.dense()
    assert_close(S.T @ I @ S + A, lazy(name).mass_matrix.dense(), ROUNDING)
    ops = form.operators
    assert_close(ops.V, ops.expression("phi* H*") @ STATES[name][1], ROUNDING)
    # (28), with the acceleration of the base in the rows of bodies on the base; then (25)
    v_cross_Iv = ops.b
    f_a = active_forces(name, ops)
    inverse = np.linalg.inv(I)
    given = ops.T_J.T @ (ops.a + ops.E @ ops.g)
    beta = np.linalg.solve(T.T @ inverse @ T, given - T.T @ inverse @ (f_a - v_cross_Iv))
    a = inverse @ (f_a + T @ beta - v_cross_Iv)
    assert_close(a, ops.alpha(qdd), INVERSION)
    assert_close(form.P @ a, form.H @ qdd + ops.a + ops.E @ ops.g, INVERSION)  # (29)
    assert_close(S.T @ (T @ beta), np.zeros(robot.nv), INVERSION)
    # v x I v, as the paper writes it
    for k in range(len(P)):
        w, u = ops.V[six(k)][:3], ops.V[six(k)][3:]
        crf = np.block([[skew(w), skew(u)], [np.zeros((3, 3)), skew(w)]])
        assert_close(ops.b[six(k)], crf @ (form.I.block(k, k) @ ops.V[six(k)]), ROUNDING)


def test_incidence_of_a_chain_is_tridiagonal() -> None:
    form = lazy("chain").incidence
    A = (form.T.T @ form.I.inv() @ form.T).dense()
    at = form.operators.T_J.domain.slices
    for i in range(len(at)):
        for j in range(len(at)):
            assert abs(i - j) <= 1 or np.abs(A[at[i], at[j]]).max(initial=0.0) < ROUNDING * np.abs(A).max()


@pytest.mark.parametrize("name", NAMES)
def test_decoupled_orthogonal_complement(name: str) -> None:
    """Saha (8), (14), (16)-(24): twists, the two complements, and constraint wrenches that do no work."""
    robot, form, (q, v, qdd) = ROBOTS[name], lazy(name).decoupled, STATES[name]
    ops, n = form.operators, len(ROBOTS[name].bodies)
    centres, axes = [], []
    for body in robot.bodies:
        pose = ask(robot, "pose", q, frame=body.name)
        centres.append(pose[:3, 3] + pose[:3, :3] @ body.com)
        axes.append(pose[:3, :3])
        J = ask(robot, "jacobian", q, frame=body.name, axes="world")
        twist = J @ v
        twist[3:] += np.cross(twist[:3], pose[:3, :3] @ body.com)
        k = len(centres) - 1
        assert_close((form.N @ v)[six(k)], twist, ROUNDING)  # (16)
        inertia = pose[:3, :3] @ body.inertia_matrix @ pose[:3, :3].T
        expected = np.block([[inertia, np.zeros((3, 3))], [np.zeros((3, 3)), body.mass * np.eye(3)]])
        assert_close(form.M.block(k, k), expected, ROUNDING)  # (2)
        assert_close(ops.b[six(k)], np.concatenate([np.cross(twist[:3], inertia @ twist[:3]), np.zeros(3)]), ROUNDING)
    assert str(form.N) == "N_l N_d"
    N_l = form.N_l.dense()
    for i in range(n):
        j = robot.joints[i].parent
        while j >= 0:
            B = np.block([[np.eye(3), np.zeros((3, 3))], [skew(centres[j] - centres[i]), np.eye(3)]])
            assert_close(N_l[six(i), six(j)], B, ROUNDING)  # (13), (17)
            assert_close((form.N_l.T @ form.M @ form.N_l).block(i, j), ops.R.block(i, i) @ B, ROUNDING)  # (22)
            j = robot.joints[j].parent
        for j in range(i + 1, n):
            assert not N_l[six(i), six(j)].any()
    w = ops.M @ ops.alpha(qdd) + ops.b - active_forces(name, ops)  # what is left are constraint wrenches
    assert np.abs(w).max() > 0.1
    assert_close(form.N.T @ w, np.zeros(robot.nv), INVERSION)
    A = ops.armature.dense()
    assert_close((form.N.T @ form.M @ form.N).dense() + A, lazy(name).mass_matrix.dense(), ROUNDING)  # (20)
    assert_close((form.U @ form.D @ form.U.T).dense(), lazy(name).mass_matrix.dense(), INVERSION)  # (55)


def test_reverse_gaussian_elimination() -> None:
    """Saha's appendix B, (40)-(50) and (54), as printed but for the errata, on a chain of joints with one freedom."""
    form = lazy("chain of arms").decoupled
    n = len(ROBOTS["chain of arms"].bodies)
    I = (form.N.T @ form.M @ form.N).dense()
    p = [form.N_d.block(i, i) for i in range(n)]
    M = [form.M.block(i, i) for i in range(n)]
    N_l, M_tilde = form.N_l.dense(), form.operators.R
    B = {(i, j): N_l[six(i), six(j)] for i in range(n) for j in range(i + 1)}
    M_hat = {(n - 1, n): M[n - 1]}  # M^_k is M^_{k,k+1}
    terms: list[dict[int, tuple[Array, Array]]] = []
    reduced, U = I.copy(), np.eye(n)
    for k in reversed(range(n)):
        psi_hat = M_hat[k, k + 1] @ p[k]  # (47)
        m_hat = (p[k].T @ psi_hat).item()
        terms.append({i: (B[k, i].T @ psi_hat, B[k, i].T @ psi_hat / m_hat) for i in range(k + 1)})  # (47), (48)
        assert_close(m_hat, form.D.block(k, k).item(), ROUNDING)  # (54)
        assert_close(M_hat[k, k + 1], form.operators.P.block(k, k), ROUNDING)
        M_hat[k, k] = M_hat[k, k + 1] - psi_hat @ psi_hat.T / m_hat  # (50), second
        alpha = np.array([(p[i].T @ terms[-1][i][1]).item() for i in range(k)])  # (46), first
        assert_close(alpha, reduced[:k, k] / reduced[k, k], INVERSION)
        U[:k, k] = alpha
        reduced[:k] -= np.outer(alpha, reduced[k])  # (45)
        for i in reversed(range(k)):
            M_hat[i, k] = M[i] + B[i + 1, i].T @ M_hat[i + 1, k] @ B[i + 1, i]  # (50), first
            Psi = sum(hat @ plain.T for hat, plain in (t[i] for t in terms))
            assert_close(M_hat[i, k], M_tilde.block(i, i) - Psi, INVERSION)  # (49)
            for j in range(i + 1):
                assert_close((p[i].T @ M_hat[i, k] @ B[i, j] @ p[j]).item(), reduced[i, j], INVERSION)  # (46), second
    assert_close(U, form.U.dense(), INVERSION)
