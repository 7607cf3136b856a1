"""The methods that solve for the constraint forces of free links: virtual work, multipliers, constraint forces."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import find
from ordern.algorithms.forward_dynamics import (
    assembly,
    constraint_force,
    lagrange_multipliers,
    links,
    splitting,
)
from ordern.algorithms.forward_dynamics.scan import BodyArrays
from ordern.errors import UnknownNameError
from ordern.graph import Graph, Node, live
from ordern.model import ConcreteTree
from ordern.spatial import ArticulatedInertia, Force, Freedoms, Motion, eliminate
from tests.random_models import ALL_JOINTS, random_robot, random_state
from tests.tolerances import EXTENDED, INVERSION, ROUNDING, SINGLE, assert_close

Array = np.ndarray
METHODS = ("virtual-work", "lagrange-multipliers", "constraint-force", "virtual-work-unsplit")
WRENCHES = (*METHODS, "divide-and-conquer", "articulated-body")
"""Methods that answer with joint wrenches."""
LOOPS = METHODS[:2]
STATES = 3
OPTIONAL = ("external", "base_velocity", "base_acceleration")

TREES = {
    "tree": random_robot(1, 12),
    "tree with armature": random_robot(2, 12, armature=True),
    "floating tree": random_robot(3, 10, floating=True, armature=True),
    "fixed joints kept": random_robot(4, 14, merge=False, armature=True),
    **{f"tree {seed}": random_robot(seed, 7, armature=seed % 2 == 0) for seed in range(5, 8)},
}
CHAINS = {
    "chain": random_robot(11, 13, chain=True),
    "chain with armature": random_robot(12, 13, chain=True, armature=True),
    "floating chain": random_robot(13, 8, chain=True, floating=True, armature=True),
    "chain with fixed joints": random_robot(14, 14, chain=True, merge=False),
    **{f"chain of {n}": random_robot(20 + n, n, chain=True, armature=True) for n in (1, 2, 3, 6)},
}
ROBOTS = TREES | CHAINS


def cases(methods: tuple[str, ...]) -> pytest.MarkDecorator:
    """Every method on every robot."""
    return pytest.mark.parametrize(("method", "name"), [(m, name) for m in methods for name in ROBOTS])


def inputs(robot: on.Robot, seed: int = 0, dtype: Any = float) -> tuple[Array, ...]:
    """Positions, velocities, joint forces, forces on the bodies, motion of the base."""
    rng = np.random.default_rng(seed)
    more = rng.normal(size=(STATES, len(robot.bodies), 6)), *rng.normal(size=(2, STATES, 6))
    return tuple(x.astype(dtype) for x in (*random_state(robot, seed, (STATES,)), *more))


def ask(robot: on.Robot, question: str, *arrays: Any, method: str | None = None, way: str = "interpreted") -> Array:
    """The answer of a method; with forces on the bodies and a moving base if those are given."""
    present = OPTIONAL[: len(arrays) - 3]
    return robot.kernel(question, method, present=present, way=way)(*arrays)


def test_every_type_of_joint_is_there() -> None:
    for robots in (TREES, CHAINS):
        assert {type(c.type) for robot in robots.values() for c in robot.joints} >= set(ALL_JOINTS)


@pytest.mark.slow
@cases(METHODS)
def test_accelerations_are_those_of_the_recursions(method: str, name: str) -> None:
    robot = ROBOTS[name]
    q, v, tau, *more = inputs(robot)
    a = ask(robot, "forward_dynamics", q, v, tau, *more)
    assert_close(ask(robot, "forward_dynamics", q, v, tau, *more, method=method), a, INVERSION)


@pytest.mark.slow
@cases(WRENCHES)
def test_wrenches_are_those_of_the_recursions(method: str, name: str) -> None:
    robot = ROBOTS[name]
    q, v, tau, *more = inputs(robot)
    a = ask(robot, "forward_dynamics", q, v, tau, *more)
    wrenches = ask(robot, "joint_wrenches", q, v, a, *more)
    assert_close(ask(robot, "constraint_forces", q, v, tau, *more, method=method), wrenches, INVERSION)


@pytest.mark.slow
@pytest.mark.parametrize("method", [None, "newton-euler", "virtual-work-split", *WRENCHES])
def test_robots_tell_joint_wrenches_of_joint_forces(method: str | None) -> None:
    """No method but the usual one needs accelerations first; all tell what these would."""
    robot = random_robot(3, 3, (on.Revolute, on.Spherical), armature=True)
    q, v, tau, f, v0, a0 = inputs(robot)
    base = {"base_velocity": v0, "base_acceleration": a0}
    a = robot.forward_dynamics(q, v, tau, external=f, **base)
    expected = robot.joint_wrenches(q, v, a, external=f, **base)
    out = np.empty_like(expected)
    found = robot.joint_wrenches(q, v, tau=tau, external=f, method=method, out=out, **base)
    assert found is out
    assert_close(found, expected, INVERSION)


def test_wrenches_of_accelerations_have_no_method_of_joint_forces() -> None:
    robot = random_robot(3, 2, (on.Revolute,))
    q, v, tau = random_state(robot, 0)
    with pytest.raises(on.ArgumentError, match="'virtual-work' is for joint forces `tau`"):
        robot.joint_wrenches(q, v, tau, method="virtual-work")
    with pytest.raises(UnknownNameError, match=r"'kalman-scan' in constraint_forces. Known: .*divide-and-conquer"):
        robot.joint_wrenches(q, v, tau=tau, method="kalman-scan")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["articulated-body", "virtual-work"])
def test_wrenches_of_joints_that_follow_others(method: str) -> None:
    robot = random_robot(2, 6, (on.Revolute, on.Prismatic), mimic=True)
    assert any(c.mimic for c in robot.joints)
    q, v, tau = random_state(robot, 0, (STATES,))
    expected = robot.joint_wrenches(q, v, robot.forward_dynamics(q, v, tau))
    for way in ("interpreted", "unrolled", "rolled"):
        assert_close(robot.kernel("constraint_forces", method, way=way)(q, v, tau), expected, INVERSION)


COMPILED = {
    "tree": random_robot(43, 4, (on.Revolute, on.Spherical), armature=True),
    "chain": random_robot(32, 2, (on.Helical, on.Cylindrical), chain=True),
}


@pytest.mark.slow
@pytest.mark.parametrize(("method", "name"), [*((m, "chain") for m in METHODS), *((m, "tree") for m in METHODS[:3])])
def test_compiled_code_gives_the_same(method: str, name: str) -> None:
    robot = COMPILED[name]
    arrays = inputs(robot)[:4]
    expected = ask(robot, "forward_dynamics", *arrays)
    for way in ("unrolled", "rolled"):
        kernel = robot.kernel("forward_dynamics", method, present="external", way=way)
        assert kernel.code.way == way
        assert_close(kernel(*arrays), expected, INVERSION)
    if name == "chain":
        single = robot.kernel("forward_dynamics", method, way="unrolled")(*(x.astype(np.float32) for x in arrays[:3]))
        assert single.dtype == np.float32
        assert_close(single, ask(robot, "forward_dynamics", *arrays[:3]), 10 * SINGLE)


@pytest.mark.parametrize("method", METHODS)
def test_more_digits(method: str) -> None:
    robot = CHAINS["chain with armature"]
    arrays = inputs(robot, dtype=np.longdouble)
    got = ask(robot, "forward_dynamics", *arrays, method=method)
    tolerance = EXTENDED if np.finfo(np.longdouble).eps < 1e-18 else ROUNDING
    assert_close(got, ask(robot, "forward_dynamics", *arrays), 10 * tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("joint", [on.Revolute, on.Spherical])
@pytest.mark.parametrize("method", METHODS)
def test_long_chains_keep_their_digits(method: str, joint: type[on.Joint]) -> None:
    robot = random_robot(5, 60, (joint,), chain=True)
    q, v, tau = random_state(robot, 5)
    exact = ask(robot, "forward_dynamics", *(x.astype(np.longdouble) for x in (q, 0.1 * v, tau)))
    assert_close(ask(robot, "forward_dynamics", q, 0.1 * v, tau, method=method), exact, INVERSION)


# ---------------------------------------------------------------- the matrix that they share


class Dense:
    """A robot's free links and constraints as NumPy matrices, in one state; index by joint: `where[k]`."""

    def __init__(self, robot: on.Robot, seed: int = 0) -> None:
        tree = self.tree = ConcreteTree(robot)
        rng = np.random.default_rng(seed)
        q, v, tau = (x.tolist() for x in random_state(robot, seed))
        ports = [tree.input(k, x) for k, x in (("q", q), ("v", v), ("f", tau))]
        external = tree.input("bodies", rng.normal(size=6 * len(robot.bodies)).tolist())
        still = self.still = tree.zeros("motion")
        self.given = (tree, *ports, external, still, still)
        self.links = links.free_links(tree, *ports, external, still, still)
        self.bodies = list(tree.outward())
        n = len(self.bodies)
        widths = [len(self.links.held[i].T.columns) for i, _ in self.bodies]
        ends = np.cumsum([0, *widths]).tolist()
        self.where = [slice(a, b) for a, b in pairwise(ends)]
        units = [Motion.of(tuple(row)) for row in np.eye(6).tolist()]
        self.A, self.G, self.E = np.zeros((6 * n, 6 * n)), np.zeros((ends[-1], 6 * n)), np.zeros(ends[-1])
        bias, t = np.zeros(6 * n), np.zeros(6 * n)
        self.TS = 0.0
        for k, (i, p) in enumerate(self.bodies):
            X = np.array([(self.links.X[i] @ m).scalars for m in units]).T
            held = self.links.held[i]
            T = np.array([f.scalars for f in held.T.columns]).reshape(-1, 6)
            S = np.array([m.scalars for m in i.subspace(ports[0][i]).columns]).reshape(-1, 6)
            rigid = T[: len(T) - sum(map(int, held.E))]
            self.TS = max(self.TS, np.abs(rigid @ S.T).max(initial=0.0))
            here = slice(6 * k, 6 * k + 6)
            self.A[here, here] = np.array([(i.inertia @ m).scalars for m in units])
            self.G[self.where[k], here] = T
            at = self.links.r[i]
            if p.key == -1:
                at = at + tree.base_acceleration
            else:
                self.G[self.where[k], 6 * p.key : 6 * p.key + 6] = -T @ X
            bias[self.where[k].start : self.where[k].stop] = T @ (X @ at.scalars + np.array(self.links.c[i].scalars))
            self.E[self.where[k]] = held.E
            t[here] = self.links.t[i].scalars
        inverse = np.linalg.inv(self.A)
        self.bias, self.t = bias[: ends[-1]], t
        self.Phi = self.G @ inverse @ self.G.T + np.diag(self.E)
        self.alpha = self.bias - self.G @ inverse @ t
        self.n = np.linalg.solve(self.Phi, self.alpha)

    def stacked(self, n: Any) -> Array:
        """The constraint forces of a method, joint after joint."""
        return np.array([x for i, _ in self.bodies for x in n[i]])


SHARED = {name: ROBOTS[name] for name in ("tree", "tree with armature", "floating tree", "chain", "floating chain")}


@pytest.mark.parametrize("name", SHARED)
def test_all_solve_with_one_matrix(name: str) -> None:
    d = Dense(SHARED[name])
    assert d.TS < ROUNDING
    n = assembly.assemble(d.tree, d.links).n
    assert_close(d.stacked(n), d.n, INVERSION)
    n, a, _ = lagrange_multipliers.multipliers(d.tree, d.links)
    assert_close(d.stacked(n), d.n, INVERSION)
    saddle = np.block([[d.A, d.G.T], [d.G, -np.diag(d.E)]])  # (27) of Featherstone and Orin
    both = np.linalg.solve(saddle, np.concatenate([d.t, d.bias]))
    assert_close([x for i, _ in d.bodies for x in a[i].scalars], both[: len(d.t)], INVERSION)
    assert_close(d.stacked(n), -both[len(d.t) :], INVERSION)
    if name in CHAINS:
        own, below, alpha = constraint_force.tridiagonal(constraint_force.Chain.of(BodyArrays(*d.given)))
        n = constraint_force.all_at_once(own, below, alpha)
        widths = [w.stop - w.start for w in d.where]
        band = np.zeros_like(d.Phi)
        for k, w in enumerate(widths):
            band[d.where[k], d.where[k]] = own[k, :w, :w]
            if k:
                band[d.where[k], d.where[k - 1]] = below[k - 1, :w, : widths[k - 1]]
                band[d.where[k - 1], d.where[k]] = below[k - 1, :w, : widths[k - 1]].T
        assert_close(band, d.Phi, ROUNDING)
        assert_close(np.concatenate([x[:w] for x, w in zip(alpha, widths, strict=True)]), d.alpha, ROUNDING)
        assert_close(np.concatenate([x[:w] for x, w in zip(n, widths, strict=True)]), d.n, INVERSION)


@pytest.mark.parametrize("name", SHARED)
def test_virtual_work_is_a_block_factorisation(name: str) -> None:
    """Its M_i are the inverse pivots of Phi, from the tips to the base: (41) of Yamane and Nakamura."""
    d = Dense(SHARED[name])
    M = assembly.assemble(d.tree, d.links).M
    rest = d.Phi.copy()
    for k in reversed(range(len(d.bodies))):
        w, before = d.where[k], slice(0, d.where[k].start)
        pivot = rest[w, w]
        factor = M[d.bodies[k][0]]
        mine = np.array([factor.solve(tuple(row)) for row in np.eye(len(pivot)).tolist()]).reshape(pivot.shape)
        assert_close(mine @ pivot, np.eye(len(pivot)), INVERSION)
        rest[before, before] -= rest[before, w] @ np.linalg.solve(pivot, rest[w, before])


@pytest.mark.parametrize("name", SHARED)
def test_pivots_of_links_are_articulated_body_inertias(name: str) -> None:
    d = Dense(SHARED[name])
    _, _, D = lagrange_multipliers.multipliers(d.tree, d.links)
    IA = {i.key: i.inertia.articulated() for i, _ in d.bodies} | {-1: ArticulatedInertia.zero()}
    q = d.tree.input("q", random_state(SHARED[name], 0)[0].tolist())
    for i, p in reversed(d.bodies):
        assert_close(D[i].rows(), IA[i.key].rows(), INVERSION)
        _, _, Ia = eliminate(IA[i.key], i.subspace(q[i]), i.armature)
        IA[p.key] += d.links.X[i].T @ Ia @ d.links.X[i]


def test_a_mobility_is_the_inverse_of_an_inertia() -> None:
    robot = ROBOTS["tree"]
    for i, _ in ConcreteTree(robot).outward():
        for six in np.eye(6).tolist():
            back = i.inertia @ (links.Mobility.of(i.inertia) @ Force.of(tuple(six)))
            assert_close(back.scalars, six, ROUNDING)


@pytest.mark.parametrize("nv", range(1, 7))
def test_what_a_joint_holds_and_lets_go(nv: int) -> None:
    S = np.random.default_rng(nv).normal(size=(nv, 6))
    S[0, :2] = 0.0
    T, J = links._orthonormal([row.tolist() for row in S])
    T_, J_ = (np.array([f.scalars for f in forces]).reshape(-1, 6) for forces in (T, J))
    assert_close(T_ @ S.T, np.zeros((6 - nv, nv)), ROUNDING)
    assert_close(T_ @ T_.T, np.eye(6 - nv), ROUNDING)
    assert_close(J_, np.linalg.solve(S @ S.T, S), ROUNDING)  # K_J = (S^T S)^-1 S^T


# ---------------------------------------------------------------- branches: sec. 4 of Yamane and Nakamura


def hub(arms: int, split: bool) -> on.Robot:
    """A body with many arms; or the same in pieces, none of which has more than three joints."""
    rng = np.random.default_rng(arms)
    pieces = arms - 1 if split else 1
    mass, com, inertia = 3.0, (0.1, -0.2, 0.3), np.diag([0.4, 0.5, 0.6])
    share = {"mass": mass / pieces, "com": com, "inertia": inertia / pieces}
    builder = on.Builder("hub").body("ground").body("piece0", parent="ground", joint=on.Spherical(), **share)
    for k in range(arms):
        builder.body(
            f"arm{k}",
            parent=f"piece{min(k, pieces - 1)}",
            joint=on.Spherical(),
            at=(rng.normal(size=3).tolist(), rng.normal(size=3).tolist()),
            mass=0.5 + 0.1 * k,
            com=(0.0, 0.1, 0.4),
            inertia=np.diag([0.1, 0.1, 0.05]),
        )
        if k + 1 < pieces:
            builder.body(f"piece{k + 1}", parent=f"piece{k}", joint=on.Fixed(), **share)
    return builder.build(merge=False)


def test_links_can_be_split() -> None:
    whole, split = hub(12, split=False), hub(12, split=True)
    assert (len(whole.joints), len(split.joints)) == (13, 23)
    moving = [c.name for c in whole.joints]
    at = [moving.index(c.name) for c in split.joints if c.nv]  # the order of the bodies is another
    state = random_state(whole, 1, (STATES,))
    others = [x.reshape(STATES, 13, -1)[:, at].reshape(x.shape) for x in state]
    expected = ask(whole, "forward_dynamics", *state)
    for method in LOOPS:
        assert_close(ask(whole, "forward_dynamics", *state, method=method), expected, INVERSION)
        found = ask(split, "forward_dynamics", *others, method=method)
        assert_close(found.reshape(STATES, 13, 3), expected.reshape(STATES, 13, 3)[:, at], INVERSION)
    assert most_neighbours(whole) == 12
    assert most_neighbours(split) == 2


@pytest.mark.slow
@pytest.mark.parametrize("arms", [2, 3, 12])
def test_links_are_split_on_request(arms: int) -> None:
    robot = hub(arms, split=False)
    parts, first = splitting.split(robot)
    assert len(parts.bodies) == 1 + arms + max(0, arms - 2)
    assert (parts.nq, parts.nv, parts.mass) == (robot.nq, robot.nv, pytest.approx(robot.mass))
    assert [parts.bodies[k].name for k in first] == [b.name for b in robot.bodies]
    assert blocks_of(robot).sum(axis=1).max() == arms + 1
    assert blocks_of(parts).sum(axis=1).max() <= 5
    arrays = inputs(robot)
    for question in ("forward_dynamics", "constraint_forces"):
        expected = ask(robot, question, *arrays, method="lagrange-multipliers")
        kernel = robot.kernel(question, "virtual-work-split", present=OPTIONAL)
        assert_close(kernel(*arrays), expected, INVERSION)


def most_neighbours(robot: on.Robot) -> int:
    """The largest number of blocks that a joint shares with joints that are eliminated before it."""
    return int(np.triu(blocks_of(robot), 1).sum(axis=1).max())


def blocks_of(robot: on.Robot) -> Array:
    """Which joints have a block in common in Phi."""
    d = Dense(robot)
    numbers = range(len(d.where))
    return np.array([[np.abs(d.Phi[d.where[r], d.where[c]]).max() > 0.0 for c in numbers] for r in numbers])


# ---------------------------------------------------------------- cost


def chain(n: int, joint: on.Joint) -> on.Robot:
    """Links in series that are all alike; neither placements nor inertias are aligned with any axis."""
    builder = on.Builder(f"chain{n}").body("0")
    link = {"mass": 1.0, "com": (0.1, 0.2, -0.1), "inertia": [[0.3, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.25]]}
    for k in range(n):
        builder.body(str(k + 1), parent=str(k), joint=joint, at=((0.1, -0.2, 0.3), (0.4, 0.5, -0.6)), **link)
    return builder.build()


def depth(robot: on.Robot, method: str) -> int:
    """How many operations must be done one after the other."""
    graph, tree = Graph(method), ConcreteTree(robot)
    sizes = (("q", robot.nq), ("v", robot.nv), ("f", robot.nv))
    ports = [tree.input(kind, [graph.leaf((k, n)) for n in range(size)]) for k, (kind, size) in enumerate(sizes)]
    still = [tree.zeros(kind) for kind in ("bodies", "motion", "motion")]
    result = find("forward_dynamics", method)[1].function(tree, *ports, *still)
    level: dict[int, int] = {}
    for node in live(x for x in result.scalars if isinstance(x, Node)):
        level[node.index] = 1 + max(level[a.index] for a in node.args) if node.args else 0
    return max(level.values())


@pytest.mark.slow
def test_constraint_forces_take_a_logarithm_of_steps() -> None:
    deep = {n: depth(chain(n, on.Revolute()), "constraint-force") for n in (4, 8, 16)}
    assert 0.7 < (deep[16] - deep[8]) / (deep[8] - deep[4]) < 1.3  # as much for each doubling
    assert deep[16] < 1.8 * deep[4]
    for method in ("articulated-body", *LOOPS):
        assert depth(chain(8, on.Revolute()), method) > 1.9 * depth(chain(4, on.Revolute()), method)


def with_twigs(n: int) -> on.Robot:
    """The chain, with a branch of two bodies on every link."""
    builder = chain(n, on.Revolute()).builder()
    body = {"mass": 1.0, "com": (0.1, 0.2, -0.1), "inertia": (0.3, 0.2, 0.25), "at": (0.2, 0.1, 0.3)}
    for k in range(n):
        builder.body(f"twig{k}", parent=str(k + 1), joint=on.Revolute((1, 0, 0)), **body)
        builder.body(f"leaf{k}", parent=f"twig{k}", joint=on.Revolute((0, 1, 0)), **body)
    return builder.build()


@pytest.mark.slow
def test_short_branches_add_steps_that_do_not_grow_with_the_chain() -> None:
    deep = {n: depth(with_twigs(n), "constraint-force") for n in (4, 8, 16)}
    more = {n: deep[n] - depth(chain(n, on.Revolute()), "constraint-force") for n in (4, 8, 16)}
    assert more[4] > 0
    assert more[16] < 1.2 * more[4]
    assert deep[16] < 1.8 * deep[4]


def operations(robot: on.Robot, method: str) -> int:
    return robot.kernel("forward_dynamics", method, way="unrolled").counts().total


@pytest.mark.slow
@pytest.mark.parametrize("method", LOOPS)
def test_each_link_costs_the_same(method: str) -> None:
    four, five, six = (operations(chain(n, on.Revolute()), method) for n in (4, 5, 6))
    assert six - five == five - four


@pytest.mark.slow
def test_joints_of_a_link_that_is_not_split_cost_the_more_the_more_they_are() -> None:
    """Each meets all others: n_b^2 for each, where a link's mobility or a split link leave the same for each."""
    more = {}
    for method in ("virtual-work", "virtual-work-unsplit"):
        few, some, many = (operations(hub(arms, split=False), method) for arms in (2, 4, 6))
        more[method] = (many - some) / (some - few)
    assert more["virtual-work"] < 1.1
    assert more["virtual-work-unsplit"] > 1.8


def test_virtual_work_counts_links_and_not_freedoms() -> None:
    revolute, spherical = chain(6, on.Revolute()), chain(6, on.Spherical())
    assert operations(spherical, "virtual-work") < operations(revolute, "virtual-work")
    assert operations(spherical, "articulated-body") > operations(revolute, "articulated-body")


# ---------------------------------------------------------------- refusals


def refusal(robot: on.Robot, method: str) -> str:
    with pytest.raises(on.ArgumentError) as error:
        robot.kernel("forward_dynamics", method)
    return str(error.value)


def massless_gimbal() -> on.Robot:
    """Two rings without inertia: what one could borrow the other would lack."""
    builder = on.Builder("gimbal").body("base")
    builder.body("outer", parent="base", joint=on.Revolute((0, 0, 1)))
    builder.body("inner", parent="outer", joint=on.Revolute((0, 1, 0)))
    builder.body("rotor", parent="inner", joint=on.Revolute((1, 0, 0)), mass=1.0, inertia=(0.3, 0.2, 0.2))
    return builder.build()


@pytest.mark.parametrize("method", [*METHODS, "divide-and-conquer", "virtual-work-split"])
def test_links_that_can_borrow_no_inertia_are_refused(method: str) -> None:
    said = refusal(massless_gimbal(), method)
    assert "inertia of each body by itself; that of body 'inner' is singular" in said or "'outer' is singular" in said
    assert "'articulated-body' can do it" in said


@pytest.mark.parametrize("method", ["constraint-force", "virtual-work-unsplit", "virtual-work-split"])
def test_followers_are_refused(method: str) -> None:
    follows = random_robot(2, 4, (on.Revolute,), chain=True, mimic=True)
    assert "joints that follow others, such as 'joint" in refusal(follows, method)


@pytest.mark.parametrize("method", METHODS)
def test_redundant_joints_are_refused(method: str) -> None:
    for parts in ((on.Free(), on.Revolute()), (on.Prismatic(), on.Prismatic())):
        builder = on.Builder("redundant").body("base")
        body = {"mass": 1.0, "inertia": np.eye(3), "armature": 0.1}
        builder.body("b", parent="base", joint=on.Composite(parts), joint_name="many", **body)
        assert "independent motions, and those of 'many' are not" in refusal(builder.build(), method)


def test_a_joint_may_have_armature_on_some_of_its_freedoms() -> None:
    builder = on.Builder("half").body("base")
    body = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": np.eye(3)}
    builder.body("b", parent="base", joint=on.Cylindrical(), armature=[0.0, 0.3], **body)
    builder.body("c", parent="b", joint=on.Revolute((1, 0, 0)), armature=0.2, at=(0.0, 0.5, 0.0), **body)
    robot = builder.build()
    q, v, tau = random_state(robot, 1)
    expected = ask(robot, "forward_dynamics", q, v, tau)
    for method in METHODS:
        assert_close(ask(robot, "forward_dynamics", q, v, tau, method=method), expected, ROUNDING)


def test_numbers_of_freedoms_are_those_of_the_joint() -> None:
    tree = ConcreteTree(ROBOTS["floating tree"])
    q = tree.input("q", random_state(ROBOTS["floating tree"], 0)[0].tolist())
    for i, _ in tree.outward():
        found = links.held(i, q[i])
        nv = len(Freedoms(i.armature))
        assert (len(found.J.columns), len(found.T.columns)) == (nv, 6 if i.kind.has_armature else 6 - nv)
