"""Operators as expressions: what they print, how they simplify, what they cost, and what they refuse."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import ordern as on
from ordern.operators import Operators, operators, sources
from ordern.robots import generated
from tests.operators.dense import ROBOTS, STATES, lazy
from tests.random_models import random_robot, random_state
from tests.tolerances import EXTENDED, INVERSION, ROUNDING, assert_close

TREE = "tree"
ARMATURE = "tree with armature"


@pytest.fixture
def ops() -> Operators:
    return lazy(TREE)


def test_what_is_printed(ops: Operators) -> None:
    M = ops.H @ ops.phi @ ops.M @ ops.phi.T @ ops.H.T
    nv = ROBOTS[TREE].nv
    assert str(M) == "H phi M phi* H*"
    assert repr(M) == f"<H phi M phi* H*: {nv} x {nv}, mixed, 2 sweeps (outward, inward), order n>"
    assert repr(ops.I + ops.H @ ops.phi @ ops.K) == f"<I + H phi K: {nv} x {nv}, causal, 1 sweep (inward), order n>"
    assert repr(ops.phi.T @ ops.H.T).endswith("anticausal, 1 sweep (outward), order n>")
    assert repr(ops.D).endswith("memoryless, no sweep, order n>")
    assert str(-2.0 * ops.M + ops.P @ (ops.I - ops.E_phi.T)) == "-2 M + P (I - E_phi*)"
    assert str(ops.decoupled.N.T @ ops.decoupled.M @ ops.decoupled.N) == "N_d^T N_l^T M N_l N_d"
    assert str(ops.incidence.S) == "P^-1 H"
    assert repr(ops) == f"<Operators of 'random-1': {len(ROBOTS[TREE].bodies)} bodies, {nv} freedoms>"
    assert repr(ops.I) == "<I: memoryless, no sweep, order n>"


@pytest.mark.parametrize(
    ("written", "simplified"),
    [
        ("(H R H*)^-1 H R H* D^-1", "D^-1"),
        ("(H R H*)^-1^-1", "H R H*"),
        ("phi^-1", "I - E_phi"),
        ("psi^-1", "I - E_psi"),
        ("(I - E_psi)^-1", "psi"),
        ("phi* (I - E_phi*)", "I"),
        ("phi^-1 + K H", "I - E_psi"),
        ("(I + H phi S L)^-1", "I - H psi K"),
        ("(I + H phi K)* ^-1", "I - K* psi* H*"),
        ("(H phi M phi* H*)^-1", "(I - K* psi* H*) D^-1 (I - H psi K)"),
        ("(H phi M phi* H*)^-1 (H phi M phi* H*)", "I"),
        ("((I + H phi K) D (I + H phi K)*)^-1", "(I - K* psi* H*) D^-1 (I - H psi K)"),
        ("(I - H psi K) H phi M", "H psi M"),
        ("phi* H* (I - H psi K)*", "psi* H*"),
        ("S X* tau_bar", "E_psi"),
        ("S X* G", "K"),
        ("P H* D^-1 H", "tau"),
        ("I - G H", "tau_bar"),
        ("H P H*", "D"),
        ("H tau_bar M", "0"),
        ("M + 0 P", "M"),
        ("(M + P)^-1 (M + P) phi*", "phi*"),
        ("tau_bar + tau", "I"),
        ("phi - I", "phi~"),
        ("phi E_phi + I", "phi"),
        ("M - M", "0"),
        ("M + M", "2 M"),
        ("2 M - 0.5 M", "1.5 M"),
        ("-(M - P)", "-M + P"),
        ("(phi M phi*)*", "phi M phi*"),
        ("(H phi K)*", "K* phi* H*"),
        ("R - E_phi R E_phi*", "M"),
        ("P + psi~ P + P phi~* - M", "psi M phi* - M"),
        ("M^-1 M phi*", "phi*"),
        ("M^-1^-1", "M"),
        ("H T_J", "0"),
    ],
)
def test_simplification(ops: Operators, written: str, simplified: str) -> None:
    assert str(ops.expression(written)) == simplified


def test_with_armature() -> None:
    ops = lazy(ARMATURE)
    assert str(ops.mass_matrix) == "H phi M phi* H* + A"
    assert str(ops.mass_matrix.inv()) == "(I - K* psi* H*) D^-1 (I - H psi K)"
    assert str(ops.mass_matrix.inv() @ ops.mass_matrix) == "I"
    assert str(ops.expression("H P H*")) == "H P H*"
    assert str(ops.expression("H P H* + A")) == "D"
    assert str(ops.expression("tau tau")) == "tau tau"
    assert_close(ops.mass_matrix.inv().dense() @ ops.mass_matrix.dense(), np.eye(ROBOTS[ARMATURE].nv), INVERSION)


def test_names_and_attributes(ops: Operators) -> None:
    named = {"phi_tilde": "phi~", "psi_tilde": "psi~", "armature": "A", "Phi": "phi S", "Psi": "psi S"}
    named["J"] = "B* phi* H*"
    plain = ("H", "X", "E_phi", "phi", "M", "R", "P", "D", "G", "K", "tau", "tau_bar", "E_psi", "psi", "S", "L", "B")
    for name in (*plain, "E", "T_J", *named):
        assert str(getattr(ops, name)) == named.get(name, name)
        assert ops.expression(named.get(name, name)) == getattr(ops, name)
    assert ops.M.T == ops.M
    assert ops.phi != ops.phi.T
    assert len({ops.phi, ops.expression("phi"), ops.psi}) == 2


def test_arrays(ops: Operators) -> None:
    rng, A = np.random.default_rng(0), ops.H @ ops.phi @ ops.M
    x, y = rng.normal(size=A.shape[1]), rng.normal(size=A.shape[0])
    X = rng.normal(size=(A.shape[1], 3))
    dense = A.dense()
    assert_close(A @ x, dense @ x, ROUNDING)
    assert_close(A(x), dense @ x, ROUNDING)
    assert_close(A @ X, dense @ X, ROUNDING)
    assert_close(y @ A, y @ dense, ROUNDING)
    Y = rng.normal(size=(2, len(y)))
    assert_close(Y @ A, Y @ dense, ROUNDING)
    assert_close(np.float64(2.0) * A @ x - (A * 3) @ x + (-A) @ x, -2.0 * dense @ x, ROUNDING)
    assert_close(A.block(1, 2), dense[ops.H.codomain.slices[1], 12:18], ROUNDING)


def test_protocol_of_linear_operators(ops: Operators) -> None:
    """What SciPy's `aslinearoperator` asks of an object that is neither array nor matrix."""
    A, rng = ops.phi.T @ ops.H.T, np.random.default_rng(0)
    assert hasattr(A, "shape")
    assert hasattr(A, "matvec")
    wrapped = SimpleNamespace(matvec=A.matvec, rmatvec=A.rmatvec, matmat=A.matmat, rmatmat=A.rmatmat)
    rows, columns = A.shape
    assert A.dtype == np.float64
    dense = A.dense()
    for x in (rng.normal(size=columns), rng.normal(size=(columns, 1))):
        assert_close(wrapped.matvec(x), dense @ x, ROUNDING)
    for x in (rng.normal(size=rows), rng.normal(size=(rows, 1))):
        assert_close(wrapped.rmatvec(x), dense.T @ x, ROUNDING)
    assert_close(wrapped.matmat(np.eye(columns)), dense, ROUNDING)
    assert_close(wrapped.rmatmat(np.eye(rows)), dense.T, ROUNDING)


def test_conjugate_gradients_by_the_protocol_alone(ops: Operators) -> None:
    """Jain (30), corrected, with HRH* to start from: the operator is all that is known of the matrix."""
    M, precondition = ops.mass_matrix, (ops.H @ ops.R @ ops.H.T).inv()
    b = np.random.default_rng(0).normal(size=M.shape[0])
    x, r = np.zeros_like(b), b
    p, gamma = np.zeros_like(b), 0.0
    s = precondition.matvec(r)
    for _ in range(4 * len(b)):
        p = s + gamma * p
        Mp = M.matvec(p)
        step = (s @ r) / (p @ Mp)
        before = s @ r
        x, r = x + step * p, r - step * Mp
        if np.abs(r).max() < 1e-13:
            break
        s = precondition.matvec(r)
        gamma = (s @ r) / before
    assert_close(M.inv() @ b, x, 1e-9)


def test_blocks_can_be_inverted(ops: Operators) -> None:
    A = ops.H @ ops.R @ ops.H.T
    assert str(A.inv()) == "(H R H*)^-1"
    assert_close(A.inv().dense() @ A.dense(), np.eye(A.shape[0]), INVERSION)
    assert_close((A.inv() @ A).dense(), np.eye(A.shape[0]), INVERSION)
    assert_close((ops.M + ops.R).inv().dense() @ (ops.M + ops.R).dense(), np.eye(ops.M.shape[0]), INVERSION)
    assert_close((2.0 * ops.X).inv().T.dense() @ (2.0 * ops.X).T.dense(), np.eye(ops.X.shape[0]), INVERSION)


def test_tips(ops: Operators) -> None:
    robot, (q, _, _) = ROBOTS[TREE], STATES[TREE]
    for point in (ops, ops.about("joint"), ops.about("mass centre"), ops.about("base")):
        at = point.at("tool", "body1")
        tool = robot.kernel("jacobian", way="interpreted", frame="tool", axes="frame")(q)
        assert_close(at.J.dense()[:6], tool, ROUNDING)
        assert at.tips[1].name == "body1"
    leaves = set(range(len(robot.bodies))) - {c.parent for c in robot.joints}
    assert {t.body for t in ops.tips} == leaves
    assert ops.J.shape == (6 * len(leaves), robot.nv)


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000, 4_000])
def test_order_n(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One block product for each body, joint and step, whatever n is; no more is done than `cost` says."""
    robot = on.Robot.of(generated.chain(n).build())
    ops = operators(robot, np.random.default_rng(0).normal(size=n))
    counted = [0]

    def times(block: np.ndarray, x: np.ndarray) -> np.ndarray:
        counted[0] += 1
        return block @ x

    monkeypatch.setattr(sources, "times", times)
    x = np.random.default_rng(0).normal(size=n)
    # H, M, H* and D^-1 have n blocks; phi, psi and K, which lead from a body to its parent, have n - 1
    M = ops.mass_matrix
    for operator, expected in ((M, 3 * n + 2 * (n - 1)), (M.inv(), 3 * n + 4 * (n - 1)), (ops.J, n + (n - 1) + 1)):
        counted[0] = 0
        assert np.isfinite(operator @ x).all()
        assert counted[0] == operator.cost.products == expected


def test_sweeps_are_not_repeated(ops: Operators) -> None:
    assert ops.mass_matrix.inv().cost.sweeps == ("inward", "outward")
    assert ops.mass_matrix.cost.sweeps == ("outward", "inward")
    assert ops.J.cost.sweeps == ("outward",)


def test_more_digits() -> None:
    """In longdouble the algebra holds to its digits. The robot itself is given in double precision, and so are the
    rotations in it: other recursions, which use that they are orthogonal, agree to that."""
    robot = random_robot(1, 6, armature=True)
    q, v, a = (x.astype(np.longdouble) for x in random_state(robot, 0))
    ops = operators(robot, q, v)
    assert ops.dtype == np.longdouble
    limit = EXTENDED if np.finfo(np.longdouble).eps < 1e-18 else ROUNDING
    tau = ops.H @ ops.f(a) + ops.armature @ a + ops.gyration
    assert_close(tau, robot.inverse_dynamics(q, v, a), ROUNDING)
    bias = ops.a + ops.E @ ops.g
    found = ops.expression("I - K* psi* H*") @ ops.nu(tau) - ops.expression("K* psi*") @ bias
    assert_close(found, a, 10 * limit)
    assert_close(ops.M.inv().dense() @ ops.M.dense(), np.eye(ops.M.shape[0]), 10 * limit)
    assert_close(ops.H.dense() @ ops.T_J.dense(), np.zeros((robot.nv, ops.T_J.shape[1])), limit)


def test_spaces_are_kept_apart(ops: Operators) -> None:
    with pytest.raises(on.ArgumentError, match="phi takes forces on the bodies, but H\\* gives motions of the bodies"):
        ops.phi @ ops.H.T
    with pytest.raises(on.ArgumentError, match="one takes motions of the bodies to forces on the bodies"):
        ops.M + ops.phi
    with pytest.raises(on.ArgumentError, match="M \\+ I: one takes motions of the bodies to forces on the bodies"):
        ops.I + ops.M
    with pytest.raises(on.ArgumentError, match="takes forces on the bodies, but"):
        ops.expression("phi H*")
    with pytest.raises(on.ArgumentError, match=r"takes vectors of 48 numbers \(forces on the bodies\), not .*\(3, 1\)"):
        ops.phi @ np.zeros(3)
    with pytest.raises(on.ArgumentError, match="different robots, states or coordinates"):
        ops.H @ ops.about("base").phi
    with pytest.raises(on.ArgumentError, match="I has no size of its own"):
        ops.I.dense()
    with pytest.raises(TypeError):
        ops.M + 1.0
    with pytest.raises(TypeError):
        ops.M - 1.0
    with pytest.raises(TypeError):
        ops.M * "x"


def test_what_has_no_inverse(ops: Operators) -> None:
    with pytest.raises(on.ArgumentError, match="no identity gives the inverse of H phi: there are inverses of phi"):
        (ops.H @ ops.phi).inv()
    with pytest.raises(on.ArgumentError, match=r"no identity gives the inverse of I \+ phi"):
        (ops.I + ops.phi).inv()
    with pytest.raises(on.ArgumentError, match="A has no inverse: its block 0 is singular"):
        lazy(TREE).armature.inv().dense()


def test_words_of_refusals(ops: Operators) -> None:
    robot, (q, v, _) = ROBOTS[TREE], STATES[TREE]
    with pytest.raises(on.UnknownNameError, match="unknown operator 'chi'"):
        ops.expression("H chi")
    for text in ("H phi)", "(H", "H + ", "", "H % phi"):
        with pytest.raises((on.ArgumentError, on.UnknownNameError)):
            ops.expression(text)
    with pytest.raises(on.UnknownNameError, match="unknown point 'moon'"):
        ops.about("moon")
    with pytest.raises(on.ArgumentError, match=r"`q` is that of one state, of shape"):
        operators(robot, np.stack([q, q]), v)
    with pytest.raises(on.ArgumentError, match="give real numbers"):
        operators(robot, q, v.astype(complex))
    with pytest.raises(on.ArgumentError, match="does not handle joints that follow others"):
        mimic = random_robot(1, 8, (on.Revolute,), mimic=True)
        operators(mimic, mimic.neutral())
    with pytest.raises(on.ArgumentError, match="frame 'world' is fixed to the base"):
        world = on.Frame("world", -1)
        ops.at(world).B.dense()


def test_massless_bodies() -> None:
    """What needs no inertia works; what does says which joint moves none."""
    robot = (
        on.Builder("light")
        .body("base")
        .body("arm", parent="base", joint=on.Revolute((0, 0, 1)))
        .body("hand", parent="arm", joint=on.Revolute((0, 1, 0)), joint_name="wrist")
        .build()
    )
    ops = operators(robot, [0.1, 0.2], [0.0, 0.0])
    assert not ops.mass_matrix.dense().any()
    with pytest.raises(on.ModelError, match="moves nothing that has mass"):
        ops.mass_matrix.inv() @ np.ones(2)
    assert ops.decoupled.N.shape == (12, 2)


def test_one_body() -> None:
    robot = on.Robot.of(generated.chain(1).build())
    ops = operators(robot, [0.3])
    assert_close(ops.mass_matrix.inv().dense() @ ops.mass_matrix.dense(), np.eye(1), ROUNDING)
    assert_close(ops.phi.dense(), np.eye(6), ROUNDING)
