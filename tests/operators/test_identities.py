"""The papers' lemmas and identities over random trees, and that simplifying by them changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.operators.identities import INVERSES, PRODUCTS, SUMS, inverse_sides, sides
from tests.operators.dense import ROBOTS, STATES, WITH_ARMATURE, ask, evaluate, lazy, plain, sides_of
from tests.tolerances import INVERSION, ROUNDING, assert_close

NAMES = list(ROBOTS)
WITHOUT_ARMATURE = [name for name in NAMES if name not in WITH_ARMATURE]

# Jain 1991, by lemma or equation
JAIN = {
    "(19), (20)": "phi = I + E_phi phi = I + phi E_phi",
    "3.1 (26)": "M = R - E_phi R E_phi*",
    "3.1 (27)": "phi M phi* = R + phi~ R + R phi~*",
    "(32), (33)": "G D = P H*",
    "(39)": "tau_bar = I - G H = I - tau",
    "(41)": "P tau_bar* = tau_bar P",
    "(42) a": "P = E_psi P E_phi* + M = E_phi P tau_bar* E_phi* + M",
    "(53)": "E_psi = E_phi tau_bar",
    "(54)": "psi = I + E_psi psi",
    "6.1": "I - E_psi = I - E_phi + K H",
    "6.2, step": "M = P - E_phi P E_phi* + K D K*",
    "6.2, step 2": "phi M phi* = P + phi~ P + P phi~* + phi K D K* phi*",
    "6.3": "(I + H phi K) (I - H psi K) = I = (I - H psi K) (I + H phi K)",
    "(57)": "(I - H psi K) H phi = H psi",
    "(58)": "psi M phi* = psi P + P phi~*",
    "(59)": "(I - H psi K)* D^-1 H P phi~* = K* psi*",
    "after (43)": "psi* H* = phi* H* (I - H psi K)*",
}
JAIN_WITHOUT_ARMATURE = {
    "(38)": "tau_bar* H* = 0",
    "(38) b": "H P tau_bar* = 0",
    "projections": "tau_bar tau_bar = tau_bar",
    "projections b": "tau tau = tau",
    "(41) b": "tau_bar P tau_bar* = tau_bar P",
    "(42)": "P = E_psi P E_psi* + M",
    "6.2": "H phi M phi* H* = (I + H phi K) D (I + H phi K)*",
    "6.4": "H phi M phi* H* (I - H psi K)* D^-1 (I - H psi K) = I",
}
JAIN_WITH_ARMATURE = {
    "6.2": "H phi M phi* H* + A = (I + H phi K) D (I + H phi K)*",
    "6.4": "(H phi M phi* H* + A) (I - H psi K)* D^-1 (I - H psi K) = I",
    "(42), measured with noise": "P = E_psi P E_psi* + K A K* + M",
    "tau_bar": "H tau_bar = A D^-1 H",
}
# Rodriguez and Kreutz 1988, appendix A, with Phi = phi S and Psi = psi S
RODRIGUEZ_KREUTZ = {
    "A.1 phi~": "phi~ = phi S X* = phi - I",
    "A.1 psi~": "psi~ = psi S X* tau_bar = psi - I",
    "(a.12)": "L = X* G",
    "(a.13)": "phi S L = phi~ G",
    "(a.14)": "phi = psi (I + S L H phi)",
    "(a.15)": "psi = (I - psi S L H) phi",
    "(a.16)": "phi S = psi S (I + L H phi S)",
    "(a.17)": "psi S = (I - psi S L H) phi S",
    "(a.18)": "phi - psi = psi S L H phi",
    "(a.22)": "phi = (I + phi S L H) psi",
    "(a.23)": "psi = phi (I - S L H psi)",
    "(a.24)": "phi S = (I + phi S L H) psi S",
    "(a.25)": "psi S = phi S (I - L H psi S)",
    "(a.26)": "phi S L H psi = psi S L H phi",
    "(a.27)": "phi S L H psi S = psi S L H phi S",
    "(a.28)": "phi - psi = phi S L H psi",
    "(a.32)": "H phi = (I + H phi S L) H psi",
    "(a.33)": "H phi S = (I + H phi S L) H psi S",
    "(a.34)": "H psi S = H phi S (I - L H psi S)",
    "(a.35), identity 5.1": "H psi = (I - H psi S L) H phi",
    "(a.36)": "H psi S = (I - H psi S L) H phi S",
    "(a.37)": "H phi S = H psi S (I + L H phi S)",
    "(a.38)": "H phi S L H psi S = H psi S L H phi S",
    "(a.39)": "phi S L = psi S L (I + H phi S L)",
    "(a.40)": "psi S L = (I - psi S L H) phi S L",
    "(a.41)": "psi S L = phi S L (I - H psi S L)",
    "(a.42)": "phi S L = (I + phi S L H) psi S L",
    "(a.43)": "phi S L H psi S L = psi S L H phi S L",
    "(a.46)": "psi M phi* = P + psi~ P + P phi~*",
    "(a.48)": "phi M phi* = P + phi~ P + P phi~* + phi~ P H* D^-1 H P phi~*",
    "(a.50)": "(I - H psi S L)* D^-1 H psi M phi* = (I - H psi S L)* D^-1 H psi~ P + L* S* psi* (I - G H)* + G*",
    "fact 4.2": "(I + H phi S L) (I - H psi S L) = I",
}
RODRIGUEZ_KREUTZ_WITHOUT_ARMATURE = {
    "(a.47)": "psi M psi* = P + psi~ P + P psi~*",
    "fact 4.1": "H phi M phi* H* = (I + H phi S L) D (I + H phi S L)*",
    "theorem 4.1": "(I - H psi S L)* D^-1 (I - H psi S L) H phi M phi* H* = I",
}


def holds(name: str, identity: str) -> None:
    first, *others = sides_of(name, identity)
    for other in others:
        assert_close(other, first, INVERSION)
    ops = lazy(name)
    for text, value in zip(identity.split("="), (first, *others), strict=True):
        if text.strip() not in ("I", "0"):
            simplified = ops.expression(text)
            found = np.eye(len(value)) if str(simplified) == "I" else simplified.dense()
            assert_close(found, value, INVERSION)


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_is_what_it_is_defined_to_be(name: str) -> None:
    ops, matrices = lazy(name), plain(name)
    for leaf, expected in matrices.items():
        assert_close(ops.leaf(leaf).dense(), expected, INVERSION)
        assert_close(ops.leaf(leaf).T.dense(), expected.T, INVERSION)
        assert ops.leaf(leaf).shape == expected.shape
    assert_close(ops.mass_matrix.dense(), ask(ROBOTS[name], "mass_matrix", STATES[name][0]), ROUNDING)


@pytest.mark.parametrize("name", NAMES)
def test_jain(name: str) -> None:
    more = JAIN_WITH_ARMATURE if name in WITH_ARMATURE else JAIN_WITHOUT_ARMATURE
    for identity in (*JAIN.values(), *more.values()):
        holds(name, identity)


@pytest.mark.parametrize("name", NAMES)
def test_rodriguez_and_kreutz(name: str) -> None:
    more = {} if name in WITH_ARMATURE else RODRIGUEZ_KREUTZ_WITHOUT_ARMATURE
    for identity in (*RODRIGUEZ_KREUTZ.values(), *more.values()):
        holds(name, identity)


def test_what_the_papers_have_without_armature_fails_with_it() -> None:
    """The list of what needs a projection is not longer than it has to be."""
    for identity in (*JAIN_WITHOUT_ARMATURE.values(), *RODRIGUEZ_KREUTZ_WITHOUT_ARMATURE.values()):
        first, *others = sides_of("tree with armature", identity)
        assert max(np.abs(other - first).max() for other in others) > 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_every_rule_of_simplification(name: str) -> None:
    ops, matrices = lazy(name), plain(name)
    for group in ("always", "with armature" if name in WITH_ARMATURE else "without armature"):
        for text in PRODUCTS[group] + SUMS[group]:
            if "T_J" not in text:
                left, right = (evaluate(side, matrices) for side in sides(ops, text))
                assert_close(left, right, INVERSION)
        for text in INVERSES[group]:
            left, right = (evaluate(side, matrices) for side in inverse_sides(ops, text))
            assert_close(left @ right, np.eye(len(left)), INVERSION)


@pytest.mark.parametrize("name", NAMES)
def test_transition_properties(name: str) -> None:
    """phi(i, j) phi(j, k) = phi(i, k), and psi likewise, along every line of descent; nothing else is there."""
    ops, parent = lazy(name), lazy(name).state.parent
    lines = []
    for k in range(len(parent)):
        line = [k]
        while parent[line[-1]] >= 0:
            line.append(parent[line[-1]])
        lines.append(line)
    for operator in (ops.phi, ops.psi):
        for line in lines:
            k, i = line[0], line[-1]
            for j in line:
                assert_close(operator.block(i, j) @ operator.block(j, k), operator.block(i, k), ROUNDING)
            for stranger in set(range(len(parent))) - set(line):
                assert not operator.block(stranger, k).any()


@pytest.mark.parametrize("name", NAMES)
def test_lemma_a1_of_rodriguez_and_kreutz(name: str) -> None:
    """For any two causal operators with transition properties, here of random steps: M needs not be an inertia."""
    ops, rng = lazy(name), np.random.default_rng(0)
    pattern = ops.E_phi.dense() != 0.0
    one = np.eye(len(pattern))
    a, b = (np.where(pattern, rng.normal(size=pattern.shape), 0.0) for _ in range(2))
    blocks = np.kron(np.eye(len(one) // 6), np.ones((6, 6)))
    M = rng.normal(size=one.shape) * blocks
    r = np.zeros_like(M)
    for _ in range(len(one) // 6):
        r = (a @ r @ b.T) * blocks + M
    psi, phi = np.linalg.inv(one - a), np.linalg.inv(one - b)
    assert_close(psi @ M @ phi.T, r + (psi - one) @ r + r @ (phi - one).T, INVERSION)


@pytest.mark.parametrize("name", NAMES)
def test_motion_and_forces(name: str) -> None:
    """Equations (21), (31) and (60) of Jain, lemmas 3.2 and 6.5, and the stages of the articulated-body recursion."""
    robot, ops, (_, v, qdd) = ROBOTS[name], lazy(name), STATES[name]
    q = STATES[name][0]
    tau = ask(robot, "inverse_dynamics", q, v, qdd)
    A, a = ops.armature, ops.a + ops.E @ ops.g
    alpha, f = ops.alpha(qdd), ops.f(qdd)
    for body, V, acceleration in zip(robot.bodies, ops.V.reshape(-1, 6), alpha.reshape(-1, 6), strict=True):
        assert_close(V, ask(robot, "velocity", q, v, frame=body.name, axes="frame"), ROUNDING)
        R = ask(robot, "pose", q, frame=body.name)[:3, :3]
        seen = ask(robot, "acceleration", q, v, qdd, frame=body.name, axes="frame", kind="classical")
        assert_close(acceleration, seen - np.concatenate([np.zeros(3), R.T @ robot.gravity]), ROUNDING)
    assert_close(ops.expression("phi* H*") @ v, ops.V, ROUNDING)
    assert_close(ops.H @ f + A @ qdd + ops.gyration, tau, ROUNDING)  # (21)
    assert_close(ops.R @ alpha + ops.y(qdd), f, ROUNDING)  # lemma 3.2, with velocities
    assert_close(ops.P @ (alpha - a) + ops.z(tau), f, INVERSION)  # (60)
    # lemma 6.5, corrected, and the same by stages
    nu, to = ops.nu(tau), ops.expression("I - H psi K").T
    assert_close(to @ nu - ops.expression("K* psi*") @ a, qdd, INVERSION)
    z, epsilon = ops.z(tau), ops.epsilon(tau)
    assert_close(ops.D @ nu, epsilon, INVERSION)
    assert_close(ops.E_phi @ (z + ops.G @ epsilon) + ops.P @ a + ops.b, z, INVERSION)  # (44), (60)
    before = ops.E_phi.T @ alpha  # alpha+; gravity is in a
    assert_close(nu - ops.G.T @ before, qdd, INVERSION)  # (46)
    # Rodriguez and Kreutz, (5.14): a z that leaves out the body's own P a
    T = tau - ops.gyration
    z_rk = ops.psi @ (ops.S @ (ops.L @ T) + ops.b) + ops.psi_tilde @ (ops.P @ a)
    nu_rk = ops.D.inv() @ (T - ops.H @ z_rk)
    assert_close(ops.P @ alpha + z_rk, f, INVERSION)
    alpha_rk = ops.psi.T @ (ops.H.T @ nu_rk + ops.tau_bar.T @ a)  # (5.17): lambda is alpha
    assert_close(alpha_rk, alpha, INVERSION)
    assert_close(nu_rk - ops.L.T @ (ops.S.T @ alpha_rk) - ops.G.T @ a, qdd, INVERSION)


@pytest.mark.parametrize("name", NAMES)
def test_at_rest(name: str) -> None:
    """(31), (43) and the stages after (55), in which there is neither velocity nor gravity."""
    ops, T = lazy(name), np.random.default_rng(0).normal(size=ROBOTS[name].nv)
    qdd = np.linalg.solve(ops.mass_matrix.dense(), T)
    z = ops.psi @ (ops.K @ T)
    assert_close(ops.E_psi @ z + ops.K @ T, z, INVERSION)
    nu = ops.D.inv() @ (T - ops.H @ z)
    alpha = ops.expression("psi* H*") @ nu
    assert_close(alpha, ops.expression("phi* H*") @ qdd, INVERSION)
    assert_close(nu - ops.K.T @ alpha, qdd, INVERSION)
    assert_close(ops.mass_matrix.inv() @ T, qdd, INVERSION)
    assert_close(ops.P @ alpha + z, ops.expression("phi M phi* H*") @ qdd, INVERSION)
    assert_close(ops.R @ alpha + ops.expression("phi~ R H*") @ qdd, ops.expression("phi M phi* H*") @ qdd, INVERSION)


def test_mechanisms_are_refused() -> None:
    robot = on.load("four-bar")
    with pytest.raises(on.ArgumentError, match=r"operators: .* 'four-bar' has loops or couplings \('pin'\)"):
        robot.operators(robot.neutral())
    robot.opened().operators(robot.neutral())
