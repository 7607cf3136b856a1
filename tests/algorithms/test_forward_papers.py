"""Forward dynamics as the papers have it: every method finds the same accelerations, by the quantities it claims."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms.forward_dynamics.armstrong import sweeps as armstrong
from ordern.algorithms.forward_dynamics.armstrong_general import relations
from ordern.algorithms.forward_dynamics.bae_haug import actuator
from ordern.algorithms.forward_dynamics.bae_haug import sweeps as bae_haug
from ordern.algorithms.forward_dynamics.fd1 import sweeps as fd1
from ordern.algorithms.forward_dynamics.fd2 import sweeps as fd2
from ordern.algorithms.forward_dynamics.fd3 import sweeps as fd3
from ordern.algorithms.forward_dynamics.fd4 import sweeps as fd4
from ordern.algorithms.forward_dynamics.two_sweep import Quadratic
from ordern.algorithms.forward_dynamics.two_sweep import sweeps as two_sweep
from ordern.algorithms.forward_dynamics.vereshchagin import sweeps as vereshchagin
from ordern.algorithms.velocities import velocities
from ordern.model import ConcreteTree
from ordern.spatial import Force, Freedoms, Motion, Spin, Units
from ordern.spatial.linear import dot
from tests.algorithms.trees import ask
from tests.random_models import ALL_JOINTS, random_robot, random_state
from tests.tolerances import INVERSION, ROUNDING, SINGLE, assert_close

METHODS = ("vereshchagin", "bae-haug", "fd1", "fd2", "fd3", "fd4", "two-sweep", "operator")
LINKS = ("fd1", "fd2", "fd3", "fd4", "two-sweep")
SPHERICAL = (on.Spherical,)
OPTIONAL = ("external", "base_velocity", "base_acceleration")

TREES: dict[str, on.Robot] = {
    **{f"tree {k}": random_robot(100 + k, 10, armature=k % 2 == 1) for k in range(6)},
    **{f"chain {k}": random_robot(110 + k, 7, chain=True, armature=k % 2 == 1) for k in range(2)},
    **{f"floating {k}": random_robot(120 + k, 8, floating=True, armature=k % 2 == 1) for k in range(3)},
    "fixed joints kept": random_robot(130, 12, merge=False),
    "followers": random_robot(140, 9, (on.Revolute, on.Prismatic, on.Helical, on.Spherical), mimic=True),
    "floating followers": random_robot(141, 9, (on.Revolute, on.Prismatic), floating=True, armature=True, mimic=True),
}
BALLS: dict[str, on.Robot] = {
    "one": random_robot(150, 1, SPHERICAL),
    "chain": random_robot(151, 8, SPHERICAL, chain=True),
    "tree": random_robot(152, 10, SPHERICAL),
}
SMALL: dict[str, on.Robot] = {
    "tree": random_robot(160, 3, (on.Revolute, on.Cylindrical, on.Universal), armature=True),
    "floating": random_robot(161, 2, (on.Prismatic, on.Revolute), floating=True),
    "balls": random_robot(162, 3, SPHERICAL),
}
LONG = random_robot(170, 60, SPHERICAL, chain=True)
ONE_FREEDOM = (on.Revolute, on.Prismatic)
OWN_AXES = (*ONE_FREEDOM, on.Continuous, on.Cylindrical, on.Planar, on.Spherical, on.Free, on.Fixed)
AXES: dict[str, on.Robot] = {
    "hinges": random_robot(180, 8, (on.Revolute,), chain=True),
    "one freedom": random_robot(181, 9, ONE_FREEDOM),
    "one freedom, armature": random_robot(182, 9, ONE_FREEDOM, armature=True),
    "sliders": random_robot(183, 5, (on.Prismatic,), armature=True),
    "axes": random_robot(184, 12, OWN_AXES),
    "axes, armature": random_robot(185, 12, OWN_AXES, armature=True, floating=True),
    "axes, fixed joints kept": random_robot(186, 12, OWN_AXES, merge=False),
    "helical": random_robot(188, 6, (on.Helical, on.Revolute), armature=True),
    "all joints": random_robot(189, 16, ALL_JOINTS, armature=True),
}
"""Robots for Armstrong's method with constraint moments left open."""


def inputs(robot: on.Robot, seed: int = 0, shape: tuple[int, ...] = (4,)) -> tuple[Any, ...]:
    """Position, velocity, joint forces, forces on the bodies, and a motion of the base."""
    rng = np.random.default_rng(seed)
    more = (rng.normal(size=(*shape, len(robot.bodies), 6)), rng.normal(size=(*shape, 6)), rng.normal(size=(*shape, 6)))
    return (*random_state(robot, seed, shape), *more)


def solve(robot: on.Robot, method: str | None, given: tuple[Any, ...], way: str = "interpreted") -> Any:
    return robot.kernel("forward_dynamics", method, present=OPTIONAL, way=way)(*given)


def cases() -> list[Any]:
    general = [(m, n, r) for n, r in TREES.items() for m in METHODS]
    balls = [(m, f"balls {n}", r) for n, r in BALLS.items() for m in (*METHODS, "armstrong")]
    return [pytest.param(m, r, id=f"{m}, {n}") for m, n, r in general + balls]


def test_every_type_of_joint_and_followers_are_there() -> None:
    assert {type(c.type) for r in TREES.values() for c in r.joints} == set(ALL_JOINTS)
    assert sum(any(c.mimic for c in r.joints) for r in TREES.values()) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("method", "robot"), cases())
def test_accelerations_are_those_of_articulated_bodies(method: str, robot: on.Robot) -> None:
    given = inputs(robot)
    assert_close(solve(robot, method, given), solve(robot, None, given), ROUNDING)


@pytest.mark.parametrize("method", METHODS)
def test_they_solve_the_equation_of_motion(method: str) -> None:
    robot = TREES["floating 1"]
    q, v, tau, f, *_ = inputs(robot)
    a = ask(robot, "forward_dynamics", q, v, tau, external=f, method=method)
    assert_close(ask(robot, "inverse_dynamics", q, v, a, external=f), tau, INVERSION)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("name", "way"), [("tree", "rolled"), ("floating", "unrolled")])
def test_compiled(method: str, name: str, way: str) -> None:
    robot = SMALL[name]
    given = inputs(robot)
    assert_close(solve(robot, method, given, way), solve(robot, method, given), ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("method", [*METHODS, "armstrong"])
def test_every_way_of_running(method: str) -> None:
    robot = SMALL["balls"]
    given = inputs(robot)
    expected = solve(robot, method, given)
    for way in ("unrolled", "rolled"):
        assert_close(solve(robot, method, given, way), expected, ROUNDING)
    single = tuple(x.astype(np.float32) for x in given)
    found = solve(robot, method, single, "rolled")
    assert found.dtype == np.float32
    assert_close(found, expected, SINGLE)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bae-haug", "fd3", "armstrong"])
def test_long_chains(method: str) -> None:
    given = inputs(LONG, shape=())
    assert_close(solve(LONG, method, given, "rolled"), solve(LONG, None, given, "rolled"), INVERSION)


@pytest.mark.slow
@pytest.mark.parametrize("method", LINKS)
def test_accelerations_of_links_on_a_moving_base(method: str) -> None:
    """Through the robot: as the accelerations of frames, with the base's own motion in both."""
    robot = SMALL["balls"]
    q, v, tau, external, v0, a0 = inputs(robot)
    moved = {"base_velocity": v0, "base_acceleration": a0}
    a = robot.forward_dynamics(q, v, tau, external, **moved)
    found = robot.link_accelerations(q, v, tau, external, method=method, **moved)
    for k, body in enumerate(robot.bodies):
        assert_close(found[..., k, :], robot.acceleration(q, v, a, body.name, **moved), INVERSION)
    still = robot.link_accelerations(q, v, tau, external, method=method)
    assert np.abs(found - still).max() > 0.1


@pytest.mark.slow
def test_accelerations_of_links_keep_loops_closed() -> None:
    robot = on.load("four-bar")
    q = robot.assemble().q
    v = robot.project_velocity(q, [0.3, 0.2, 0.1])
    tau, moved = np.array([0.5, 0.2, -0.1]), {"base_velocity": [0.1, 0.2, 0.3, 0.1, 0.0, 0.2]}
    a = robot.closed_dynamics(q, v, tau, **moved).a
    out = np.empty((len(robot.bodies), 6))
    assert robot.link_accelerations(q, v, tau, out=out, **moved) is out
    for k, body in enumerate(robot.bodies):
        assert_close(out[k], robot.acceleration(q, v, a, body.name, **moved), INVERSION)
    by_kkt = robot.link_accelerations(q, v, tau, method="kkt", **moved)
    assert_close(by_kkt, out, INVERSION)


@pytest.mark.slow
@pytest.mark.parametrize("method", LINKS)
def test_accelerations_of_links(method: str) -> None:
    for name in ("tree 1", "floating 0", "fixed joints kept"):
        robot = TREES[name]
        given = inputs(robot)
        q, v, _, _, v0, a0 = given
        qdd = solve(robot, method, given)
        found = robot.kernel("link_accelerations", method, present=OPTIONAL, way="interpreted")(*given)
        present = ("base_velocity", "base_acceleration")
        settings = {"axes": "frame", "kind": "classical", "way": "interpreted", "present": present}
        for k, body in enumerate(robot.bodies):
            expected = robot.kernel("acceleration", frame=body.name, **settings)(q, v, qdd, v0, a0)
            assert_close(found[..., k, :], expected, ROUNDING)
        # the tip (4.23): alpha(0) = phi^T alpha(1) + a(0), here put together by hand
        tool = robot.frame("tool")
        R, l = tool.placement.R, tool.placement.p
        carrier = {"frame": robot.bodies[tool.body].name, "axes": "frame", "way": "interpreted"}
        w = robot.kernel("velocity", present=("base_velocity",), **carrier)(q, v, v0)[..., :3]
        alpha = found[..., tool.body, :]
        linear = alpha[..., 3:] + np.cross(alpha[..., :3], l) + np.cross(w, np.cross(w, l))
        tip = np.concatenate([alpha[..., :3] @ R, linear @ R], -1)
        expected = robot.kernel("acceleration", frame="tool", **settings)(q, v, qdd, v0, a0)
        assert_close(tip, expected, ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["unrolled", "rolled"])
def test_accelerations_of_links_compiled(way: str) -> None:
    robot = SMALL["floating"]
    given = inputs(robot)
    expected = robot.kernel("link_accelerations", "fd4", present=OPTIONAL, way="interpreted")(*given)
    for method in LINKS:
        found = robot.kernel("link_accelerations", method, present=OPTIONAL, way=way)(*given)
        assert_close(found, expected, ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("axes", ["frame", "world"])
@pytest.mark.parametrize("method", LINKS)
def test_acceleration_of_the_tip(method: str, axes: str) -> None:
    """(4.23), against the kinematics of the joint accelerations that articulated bodies have."""
    for name in ("tree 1", "floating 0", "fixed joints kept", "chain 1"):
        robot = TREES[name]
        given = inputs(robot)
        q, v, _, _, v0, a0 = given
        settings = {"frame": "tool", "axes": axes, "way": "interpreted"}
        known = robot.kernel("acceleration", kind="classical", present=OPTIONAL[1:], **settings)
        found = robot.kernel("tip_acceleration", method, present=OPTIONAL, **settings)(*given)
        assert_close(found, known(q, v, solve(robot, None, given), v0, a0), ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["unrolled", "rolled"])
def test_acceleration_of_the_tip_compiled(way: str) -> None:
    robot = SMALL["floating"]
    given = inputs(robot)
    settings = {"frame": "tool", "axes": "world", "present": OPTIONAL}
    expected = robot.kernel("tip_acceleration", "fd4", way="interpreted", **settings)(*given)
    for method in LINKS:
        found = robot.kernel("tip_acceleration", method, way=way, **settings)(*given)
        assert_close(found, expected, ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["interpreted", "unrolled", "rolled"])
@pytest.mark.parametrize("method", ["fd2", "fd3", "fd4"])
def test_joints_and_tip_of_the_same_sweeps(method: str, way: str) -> None:
    """Part II: both in one answer, of any shape of batch, in every way of running."""
    for robot in (SMALL["floating"], SMALL["tree"]):
        given = inputs(robot, shape=(2, 3))
        settings = {"frame": "tool", "axes": "world", "present": OPTIONAL}
        found = robot.kernel("joint_and_tip_accelerations", method, way=way, **settings)(*given)
        assert found.shape == (2, 3, robot.nv + 6)
        assert_close(found[..., : robot.nv], solve(robot, None, given), ROUNDING)
        tip = robot.kernel("tip_acceleration", "fd1", way="interpreted", **settings)(*given)
        assert_close(found[..., robot.nv :], tip, ROUNDING)


@pytest.mark.slow
def test_the_tip_of_a_robot() -> None:
    robot = TREES["chain 0"]
    q, v, tau, f, v0, a0 = inputs(robot)
    more = {"external": f, "base_velocity": v0, "base_acceleration": a0}
    qdd = robot.forward_dynamics(q, v, tau, **more)
    del more["external"]
    expected = robot.acceleration(q, v, qdd, "tool", "world", **more)
    found = robot.tip_acceleration(q, v, tau, "tool", "world", external=f, **more)
    assert found.shape == (4, 6)
    assert_close(found, expected, ROUNDING)


def test_tips_of_robots_with_loops_are_refused() -> None:
    """They would be those of the tree alone, whose loops are open."""
    robot = on.load("four-bar")
    zero = np.zeros(3)
    with pytest.raises(on.ArgumentError, match=r"'four-bar' has loops or couplings .* `robot.opened\(\)`"):
        robot.tip_acceleration(zero, zero, zero, robot.bodies[-1].name)
    assert robot.opened().link_accelerations(zero, zero, zero).shape == (3, 6)


def test_mobile_base() -> None:
    """Appendix B's rates are inertial: W' = qdd + (0, w x v) is the acceleration of the first link."""
    robot = TREES["floating 0"]
    q, v, tau, f, *_ = inputs(robot)
    qdd = ask(robot, "forward_dynamics", q, v, tau, external=f, method="fd4")[..., :6]
    alpha = ask(robot, "link_accelerations", q, v, tau, external=f, method="fd4")[..., 0, :]
    rate = qdd + np.concatenate([np.zeros_like(qdd[..., :3]), np.cross(v[..., :3], v[..., 3:6])], -1)
    assert_close(alpha, rate, ROUNDING)


def test_refusals() -> None:
    def refused(robot: on.Robot, method: str, question: str = "forward_dynamics") -> str:
        with pytest.raises(on.errors.ArgumentError) as caught:
            robot.kernel(question, method)
        return str(caught.value)

    said = refused(random_robot(3, 3, (on.Spherical, on.Revolute)), "armstrong")
    assert "it is for spherical joints, but joint 'joint" in said and "is revolute; 'articulated-body'" in said
    said = refused(random_robot(0, 4, SPHERICAL, armature=True), "armstrong")
    assert "its joint moments are given, but that of joint 'joint" in said and "armature's acceleration" in said
    for method in LINKS:
        said = refused(TREES["followers"], method, "link_accelerations")
        assert "it does not handle joints that follow others, such as" in said
        with pytest.raises(on.ArgumentError, match="it does not handle joints that follow others, such as"):
            TREES["followers"].kernel("tip_acceleration", method, frame="tool", axes="frame")


# the quantities inside


def six(x: Any) -> Any:
    """A motion or force, or some of them as columns, as an array."""
    return np.array([f.scalars for f in x.columns]).T if hasattr(x, "columns") else np.array(x.scalars)


def matrix(X: Any) -> Any:
    """The 6 x 6 matrix that takes motions from the parent to the body."""
    return np.array([(X @ Motion.of(tuple(row))).scalars for row in np.eye(6).tolist()]).T


def inertia(I: Any) -> Any:
    return np.array(I.rows())


def run(robot: on.Robot, sweeps: Any, seed: int = 0) -> SimpleNamespace:
    """A method's sweeps, run for one state on floats, and what is known without it."""
    tree = ConcreteTree(robot)
    given = inputs(robot, seed, ())
    kinds = ("q", "v", "f", "bodies", "motion", "motion")
    q, qd, tau, external, v0, a0 = ports = [
        tree.input(kind, np.ravel(x).tolist()) for kind, x in zip(kinds, given, strict=True)
    ]
    qdd = tree.own()
    left = sweeps(tree, qdd, *ports)
    w = tree.field(Spin, base=Spin(v0[tree.base].angular))
    alpha = tree.field(Motion, base=tree.base_acceleration + a0[tree.base])
    zeta = tree.field(Motion, base=tree.base_acceleration + a0[tree.base])
    f, a, b, X, S, net, active = (tree.field(Force), *(tree.own() for _ in range(6)))
    for i, p in tree.outward():
        active[i] = tau[i] - i.gyration(q[i], qd[i])  # what is left to accelerate joint and drive
        X[i], S[i], w[i], r, c, gyroscopic = velocities(i, q[i], qd[i], w[p])
        a[i], b[i] = X[i] @ r + c, gyroscopic - external[i]
        zeta[i] = X[i] @ zeta[p] + a[i]
        alpha[i] = X[i] @ alpha[p] + a[i] + S[i] @ qdd[i]
        net[i] = i.inertia @ alpha[i]
        f[i] = net[i] + b[i]
    for i, p in tree.inward():  # the wrenches in the joints, by Newton and Euler
        f[p] += X[i].T @ f[i]
    names = ("tree", "tau", "qdd", "left", "X", "S", "a", "b", "zeta", "alpha", "net", "f")
    values = (tree, active, qdd, left, X, S, a, b, zeta, alpha, net, f)
    return SimpleNamespace(**dict(zip(names, values, strict=True)), given=given, a0=alpha[tree.base])


def inertias(left: Any, i: Any) -> Any:
    """The articulated inertia by any of the methods."""
    if hasattr(left, "Z"):
        return inertia(left.Z[i].P)
    return inertia(i.inertia.articulated()) + inertia(left.K[i]) if hasattr(left, "K") else inertia(left.P[i])


@pytest.mark.parametrize(
    ("sweeps", "robot"),
    [
        (m, TREES[n])
        for m in (vereshchagin, bae_haug, fd1, fd2, fd3, fd4, two_sweep)
        for n in ("tree 0", "tree 1", "floating 1")
    ]
    + [(armstrong, BALLS["tree"])],
)
def test_articulated_inertias_are_the_same(sweeps: Any, robot: on.Robot) -> None:
    """P, P_k, M_k + K_k and the blocks of (49), against dense matrices; and D against the mass matrix (table 1)."""
    r = run(robot, sweeps)
    P = {i.key: inertia(i.inertia.articulated()) for i, _ in r.tree.outward()}
    logarithm = 0.0
    for i, p in r.tree.inward():
        S, X = np.array([m.scalars for m in r.S[i].columns]).reshape(-1, 6).T, matrix(r.X[i])
        assert_close(inertias(r.left, i), P[i.key], ROUNDING)
        D = S.T @ P[i.key] @ S + np.diag(i.armature)
        logarithm += np.linalg.slogdet(D)[1]
        G = P[i.key] @ S @ np.linalg.inv(D)
        if hasattr(r.left, "G"):
            assert_close(six(r.left.G[i]).reshape(G.shape), G, ROUNDING)
        if p.key in P:
            P[p.key] = P[p.key] + X.T @ (P[i.key] - G @ D @ G.T) @ X
    assert_close(logarithm, np.linalg.slogdet(ask(robot, "mass_matrix", r.given[0]))[1], ROUNDING)


@pytest.mark.parametrize("name", ["tree 0", "tree 1", "chain 1", "floating 0"])
def test_correction_forces(name: str) -> None:
    """z of the four, R of Vereshchagin and L of Bae and Haug, tied to one another (table 1)."""
    robot = TREES[name]
    one, three, four = run(robot, fd1), run(robot, fd3), run(robot, fd4)
    gauss, bae = run(robot, vereshchagin), run(robot, bae_haug)
    for i, _ in four.tree.outward():
        z, P, G = four.left.z[i], four.left.P[i], four.left.G[i]
        # Jain's (31), whose z would be z + P a here
        assert_close(six(P @ four.alpha[i] + z), six(four.f[i]), ROUNDING)
        assert_close(four.S[i].T @ four.f[i] + i.armature * four.qdd[i], four.tau[i], ROUNDING)
        # accelerations without the joints' own make FD3's filter of FD4's
        assert_close(six(three.left.z[i]), six(z + P @ four.zeta[i]), ROUNDING)
        assert_close(np.array(three.left.nu[i]), np.array(four.left.nu[i] - G.T @ four.zeta[i]), ROUNDING)
        # the innovations of FD1 are those of FD3: (1 - H Psi L) T' = T - H psi [S L T + M zeta + b]
        assert_close(np.array(one.left.nu[i]), np.array(three.left.nu[i]), ROUNDING)
        assert_close(six(gauss.left.Z[i].R), six(z), ROUNDING)
        known = actuator(four.S[i], four.tau[i])
        assert_close(six(bae.left.Q[i] + bae.left.L[i]), six(known - z), ROUNDING)


@pytest.mark.parametrize("name", ["tree 0", "tree 1", "chain 1", "floating 0"])
def test_polynomials_of_the_filter(name: str) -> None:
    """The coefficients that two sweeps carry, at the velocities that the links have, are FD4's forces."""
    two, four = run(TREES[name], two_sweep), run(TREES[name], fd4)
    for i, _ in four.tree.outward():
        w = four.left.w[i].w
        assert_close(six(two.left.z[i].at(w)), six(four.left.z[i]), ROUNDING)
        assert_close(np.array(two.left.nu[i].at(w)), np.array(four.left.nu[i]), ROUNDING)


def test_a_polynomial_of_the_parents_velocity() -> None:
    """Inserting w = X w_p + own in the ten coefficients is the same as evaluating there."""
    rng = np.random.default_rng(2)
    coefficients = [Force.of(tuple(rng.normal(size=6).tolist())) for _ in range(10)]
    z = Quadratic(tuple(coefficients))
    tree = ConcreteTree(TREES["tree 0"])
    q = tree.input("q", random_state(TREES["tree 0"], 0)[0].tolist())
    own, w = (tuple(rng.normal(size=3).tolist()) for _ in range(2))
    for i, _ in tree.outward():
        X = i.transform(q[i])
        inner = tuple(a + b for a, b in zip((X @ Spin(w)).w, own, strict=True))
        assert_close(six(z.inserted(X, own).at(w)), six(z.at(inner)), ROUNDING)


@pytest.mark.parametrize("sweeps", [fd2, fd3, fd4, two_sweep])
def test_accelerations_inside(sweeps: Any) -> None:
    """FD4's lambda, and lambda + zeta of the others, are the links' true accelerations (with gravity's)."""
    r = run(TREES["floating 2"], sweeps)
    for i, _ in r.tree.outward():
        assert_close(six(r.left.alpha[i]), six(r.alpha[i]), ROUNDING)


@pytest.mark.parametrize("name", ["tree 0", "chain 0", "floating 0"])
def test_total_forces_of_bae_and_haug(name: str) -> None:
    """(52): with the whole joint forces in Q, constraints' too, P alpha = Q + L."""
    r = run(TREES[name], bae_haug)
    L = r.tree.field(Force)
    for i, _ in r.tree.outward():
        L[i] = Force.zero()
    for i, p in r.tree.inward():
        P = i.inertia.articulated() + r.left.K[i]
        assert_close(six(r.net[i] + L[i]), six(P @ r.alpha[i]), ROUNDING)
        F = r.net[i] + L[i] - P @ r.a[i]
        L[p] += r.X[i].T @ (F - r.left.G[i] @ (r.S[i].T @ F))


@pytest.mark.parametrize("name", AXES)
def test_armstrong_for_one_freedom_and_others(name: str) -> None:
    robot = AXES[name]
    given = inputs(robot)
    assert_close(solve(robot, "armstrong-general", given), solve(robot, None, given), ROUNDING)


@pytest.mark.slow
def test_armstrong_for_one_freedom_in_every_way_of_running() -> None:
    robot = random_robot(187, 4, OWN_AXES, armature=True)
    given = inputs(robot)
    expected = solve(robot, "armstrong-general", given)
    for way in ("unrolled", "rolled"):
        assert_close(solve(robot, "armstrong-general", given, way), expected, ROUNDING)
    single = solve(robot, "armstrong-general", tuple(x.astype(np.float32) for x in given), "rolled")
    assert single.dtype == np.float32
    assert_close(single, expected, SINGLE)


@pytest.mark.parametrize("name", ["hinges", "one freedom, armature", "axes, armature", "helical"])
def test_armstrongs_relations_with_constraint_moments(name: str) -> None:
    """At a body's true W and V they give its acceleration, its joint's, and the whole wrench in the joint."""
    r = run(AXES[name], fd4)
    alpha = r.tree.field(Motion, base=r.a0)
    for i, p in r.tree.outward():
        locked = r.X[i] @ alpha[p] + r.a[i]
        alpha[i] = r.alpha[i]
        found = relations(r.left.P[i], r.left.z[i], r.S[i], r.tau[i], i.armature)
        at = np.array([*locked.scalars, 1.0])
        assert_close(np.array(found.joint).reshape(-1, 7) @ at, np.array(r.qdd[i]), ROUNDING)
        assert_close(np.array(found.motion) @ at, six(r.alpha[i]), ROUNDING)
        assert_close(np.array(found.force) @ at, six(r.f[i]), ROUNDING)
        force = np.array(found.force)[:, :6]
        assert_close(force, force.T, ROUNDING)
        # without its joint's own freedom the relation is (31), N and F by P and z
        none = relations(r.left.P[i], r.left.z[i], Units(()), Freedoms(), Freedoms())
        assert_close(np.array(none.force)[:, :6], inertia(r.left.P[i]), ROUNDING)


def test_armstrong_for_one_freedom_refuses() -> None:
    def refused(robot: on.Robot) -> str:
        with pytest.raises(on.ArgumentError) as caught:
            robot.kernel("forward_dynamics", "armstrong-general")
        return str(caught.value)

    assert "joints that follow others" in refused(random_robot(2, 4, (on.Revolute,), chain=True, mimic=True))
    point = on.Builder("point").body("base")
    point.body("bob", parent="base", joint=on.Universal(), mass=1.0, com=(0.0, 0.0, 1.0))
    assert "the inertia of body 'bob' is singular" in refused(point.build())


def test_armstrong_for_a_point_mass() -> None:
    """The hinge does not sense what the bob lacks of a regular inertia: it is borrowed from the ground."""
    point = on.Builder("point").body("base")
    robot = point.body("bob", parent="base", joint=on.Revolute(), mass=1.0, com=(1.0, 0.0, 0.0)).build()
    q, v, tau = np.random.default_rng(1).normal(size=(3, 4, 1))
    found = robot.forward_dynamics(q, v, tau, method="armstrong-general")
    assert_close(found, robot.forward_dynamics(q, v, tau), ROUNDING)


@pytest.mark.parametrize("name", BALLS)
def test_armstrongs_coefficients(name: str) -> None:
    """(47), and (49) with P and z of the articulated bodies."""
    r, other = run(BALLS[name], armstrong), run(BALLS[name], fd4)
    for i, _ in r.tree.outward():
        P, z, N = inertia(other.left.P[i]), six(other.left.z[i]), np.array(r.tau[i])
        Omega_w, Upsilon_w = np.array(r.left.Omega_w[i]), np.array(r.left.Upsilon_w[i])
        s, Upsilon_F = r.left.Omega_F[i], np.array(r.left.Upsilon_F[i])
        Omega_F = np.array([[s[0], s[1], s[2]], [s[1], s[3], s[4]], [s[2], s[4], s[5]]])
        Gamma, H, M = np.linalg.inv(P[:3, :3]), P[:3, 3:], P[3:, 3:]
        assert_close(Omega_w, -Gamma @ H, ROUNDING)
        assert_close(Upsilon_w, Gamma @ (N - z[:3]), ROUNDING)
        assert_close(Omega_F, M - H.T @ Gamma @ H, ROUNDING)
        assert_close(Upsilon_F, z[3:] + H.T @ Gamma @ (N - z[:3]), ROUNDING)
        assert_close(six(r.left.z[i]), z, ROUNDING)
        turning, moving = np.array(r.alpha[i].angular), np.array(r.alpha[i].linear)
        assert_close(turning, Omega_w @ moving + Upsilon_w, ROUNDING)
        assert_close(np.array(r.f[i].linear), Omega_F @ moving + Upsilon_F, ROUNDING)
        assert_close(np.array(r.f[i].angular), N, ROUNDING)


def compulsion(r: SimpleNamespace, qdd: Any) -> float:
    """Gauss' Z at these joint accelerations, less its value for bodies that nothing binds."""
    tree, total, at = r.tree, 0.0, 0
    alpha = tree.field(Motion, base=r.a0)
    for i, p in tree.outward():
        mine = tuple(qdd[at : at + len(r.tau[i])])
        at += len(mine)
        alpha[i] = r.X[i] @ alpha[p] + r.a[i] + r.S[i] @ mine
        total += 0.5 * (i.inertia @ alpha[i]).dot(alpha[i]) + r.b[i].dot(alpha[i])
        total += sum(0.5 * m * x * x - t * x for m, x, t in zip(i.armature, mine, r.tau[i], strict=True))
    return total


@pytest.mark.parametrize("name", ["tree 1", "floating 1", "chain 0"])
def test_vereshchagins_cost_is_gauss(name: str) -> None:
    """Accelerations make the compulsion least, and what dynamic programming says it comes to is what it is."""
    robot = TREES[name]
    r = run(robot, vereshchagin)
    qdd = np.array([x for i, _ in r.tree.outward() for x in r.qdd[i]])
    least = compulsion(r, qdd.tolist())
    M, rng = ask(robot, "mass_matrix", r.given[0]), np.random.default_rng(5)
    for _ in range(3):
        more = rng.normal(size=robot.nv)
        assert_close(compulsion(r, (qdd + more).tolist()) - least, 0.5 * more @ M @ more, INVERSION)

    def value(form: Any, x: Motion) -> Any:
        return 0.5 * (form.P @ x).dot(x) + form.R.dot(x)

    constant = 0.0
    for i, _ in r.tree.inward():
        form, _, D, u = r.left.Z[i].least(r.S[i], r.tau[i], i.armature)
        constant += value(form, r.a[i]) - 0.5 * dot(u, D.solve(u))
    assert_close(value(r.left.Z[r.tree.base], r.a0) + constant, least, INVERSION)
