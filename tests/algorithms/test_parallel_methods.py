"""Forward dynamics of logarithmic depth: divide and conquer, and Kalman filtering by scans."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest

import ordern as on
from ordern.algorithms import find
from ordern.algorithms.forward_dynamics.divide_and_conquer import _assemble
from ordern.algorithms.forward_dynamics.kalman_scan import _filter, combine, predict
from ordern.algorithms.forward_dynamics.scan import BodyArrays, affine, inverse, moved, scan
from ordern.errors import ArgumentError
from ordern.graph import Graph, Node, depth
from ordern.model import ConcreteTree
from ordern.robots.generated import chain
from tests.compile.asking import arguments, relative
from tests.random_models import Wrist, random_robot, random_rotation
from tests.tolerances import BORROWED, EXTENDED, INVERSION, LONG_CHAIN, MANY_DIGITS, ROUNDING, SINGLE, assert_close

METHODS = ("divide-and-conquer", "kalman-scan")
OPTIONAL = ("external", "base_velocity", "base_acceleration")
SETTINGS: tuple[dict[str, Any], ...] = (
    {"chain": True},
    {"armature": True},
    {"floating": True, "armature": True},
    {"chain": True, "floating": True},
    {"merge": False},
)
SMALL = {
    "tree": random_robot(1, 4, (on.Revolute, on.Spherical, Wrist, on.Helical), armature=True),
    "floating chain": random_robot(2, 2, (on.Revolute, on.Universal), chain=True, floating=True),
}


def ask(robot: on.Robot, given: Any, method: str | None = None, present: Any = (), way: str = "interpreted") -> Any:
    return robot.kernel("forward_dynamics", method, present=present, way=way)(*given)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(15))
def test_random_trees(method: str, seed: int) -> None:
    robot = random_robot(seed, 3 + seed, **SETTINGS[seed % len(SETTINGS)])
    present = OPTIONAL[: 1 + 2 * (seed % 2)]
    given = arguments(robot, "forward_dynamics", present, 4)
    assert relative(ask(robot, given, method, present), ask(robot, given, None, present)) <= INVERSION


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("robot", SMALL.values(), ids=SMALL)
def test_every_way_of_running(method: str, robot: on.Robot) -> None:
    given = arguments(robot, "forward_dynamics", OPTIONAL, 5)
    expected = ask(robot, given, None, OPTIONAL)
    for way in ("unrolled", "rolled"):
        assert relative(ask(robot, given, method, OPTIONAL, way), expected) <= INVERSION
    single = [x.astype(np.float32) for x in given]
    for way in ("unrolled", "rolled", "interpreted"):
        answer = ask(robot, single, method, OPTIONAL, way)
        assert answer.dtype == np.float32
        assert relative(answer, expected) <= SINGLE
    extended = [x.astype(np.longdouble) for x in given]
    apart = relative(ask(robot, extended, method, OPTIONAL), ask(robot, extended, None, OPTIONAL))
    assert apart <= (EXTENDED if np.finfo(np.longdouble).eps < 1e-18 else INVERSION)


@pytest.mark.parametrize("method", METHODS)
def test_other_numbers_and_shapes(method: str) -> None:
    robot = SMALL["tree"]
    q, v, tau = arguments(robot, "forward_dynamics", (), 6)
    mixed = (q.reshape(2, 3, -1), v[:3], tau[0])
    assert_close(ask(robot, mixed, method), ask(robot, mixed), INVERSION)
    one = (q[0], v[0], tau[0])
    assert_close(ask(robot, one, method), ask(robot, one), INVERSION)
    with mpmath.workdps(80):
        digits = np.vectorize(mpmath.mpf, otypes=[object])
        for given in (one, tuple(x[:2] for x in (q, v, tau))):
            exact = [digits(x) for x in given]
            assert float(np.abs(ask(robot, exact, method) - ask(robot, exact)).max()) < MANY_DIGITS


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_move(method: str) -> None:
    builder = on.Builder("post").body("base")
    robot = builder.body("post", parent="base", joint=on.Fixed(), mass=1.0, inertia=(1, 1, 1)).build(merge=False)
    assert ask(robot, (np.zeros((3, 0)),) * 3, method).shape == (3, 0)


def test_followers_are_refused() -> None:
    robot, method = random_robot(24, 8, (on.Revolute, on.Prismatic), mimic=True), "divide-and-conquer"
    words = f"by the method '{method}': it does not handle joints that follow others.*'articulated-body' can do it"
    with pytest.raises(ArgumentError, match=words):
        robot.kernel("forward_dynamics", method)


def light_chain(seed: int, tip: str) -> on.Robot:
    """Massless links, point masses and rods between bodies: no joint alone moves a regular inertia everywhere."""
    rng = np.random.default_rng(seed)
    bodies: dict[str, dict[str, Any]] = {
        "body": {"mass": 2.0, "com": (0.1, 0.05, -0.1), "inertia": (0.02, 0.03, 0.025)},
        "nothing": {},
        "point": {"mass": 1.0, "com": (0.1, 0.2, -0.1)},
        "rod": {"mass": 1.0, "com": (0.0, 0.2, 0.0), "inertia": (0.01, 0.0, 0.01)},
    }
    builder, parent = on.Builder("light").body("base"), "base"
    for k, what in enumerate(("body", "nothing", "nothing", "point", "body", "rod", "nothing", "body", "body", tip)):
        at = on.Placement.of(random_rotation(rng), rng.normal(size=3) * 0.4)
        armature = 0.1 * (seed % 2) * (rng.random() < 0.5)
        joint = on.Revolute(rng.normal(size=3))
        builder.body(f"{what}{k}", parent=parent, joint=joint, at=at, armature=armature, **bodies[what])
        parent = f"{what}{k}"
    return builder.build()


@pytest.mark.parametrize("tip", ["body", "point", "rod"])
@pytest.mark.parametrize("seed", range(2))
def test_links_whose_own_inertia_is_singular(seed: int, tip: str) -> None:
    robot = light_chain(seed, tip)
    given = arguments(robot, "forward_dynamics", ("external",), 4)
    expected = ask(robot, given, None, ("external",))
    assert relative(ask(robot, given, "kalman-scan", ("external",)), expected) <= INVERSION
    assert relative(ask(robot, given, "divide-and-conquer", ("external",)), expected) <= BORROWED


def bodies_of(robot: on.Robot, seed: int = 0) -> BodyArrays:
    tree = ConcreteTree(robot)
    drawn = arguments(robot, "forward_dynamics", OPTIONAL, 1, seed)
    kinds = ("q", "v", "f", "bodies", "motion", "motion")
    return BodyArrays(tree, *(tree.input(k, [float(y) for y in x.ravel()]) for k, x in zip(kinds, drawn, strict=True)))


@pytest.mark.parametrize("seed", range(3))
def test_the_filter_has_articulated_inertias_and_kalman_gains(seed: int) -> None:
    """Jain (45): P = psi P psi* + M, D = H P H* (and the armature), G = P H* D^-1; here one link after the other."""
    robot = random_robot(seed, 9, (on.Revolute, on.Prismatic, on.Spherical), chain=True, armature=seed > 0)
    k, halves = bodies_of(robot), bodies_of(robot)
    G, nu, Di = np.zeros_like(k.S), np.zeros_like(k.tau), np.zeros((len(k.S), *2 * k.S.shape[-1:]))
    P, loads = k.M.copy(), k.p.copy()
    _filter(k, k.paths[0], G, nu, Di)
    for i in reversed(range(len(robot.joints))):
        c = robot.joints[i]
        S, X = k.S[i][:, : c.nv], k.X[i]
        D = S.T @ P[i] @ S + np.diag(c.armature)
        gain = P[i] @ S @ np.linalg.inv(D)
        epsilon = k.tau[i][: c.nv] - S.T @ loads[i]
        left = P[i] - gain @ S.T @ P[i]
        assert_close(G[i][:, : c.nv], gain, ROUNDING)
        assert_close(Di[i][: c.nv, : c.nv], np.linalg.inv(D), ROUNDING)
        assert_close(nu[i][: c.nv], np.linalg.solve(D, epsilon), ROUNDING)
        P[c.parent] += X.T @ left @ X
        loads[c.parent] += X.T @ (loads[i] + gain @ epsilon + left @ k.c[i])
    _assemble(halves, halves.paths[0][::-1])
    for found in (k, halves):  # what the base feels of the whole chain
        assert_close(found.M[-1], P[-1], INVERSION)
        assert_close(found.p[-1], loads[-1], INVERSION)


def random_pieces(n: int, seed: int = 0) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    A, C, J = rng.normal(size=(3, n, 6, 6))
    b, eta = rng.normal(size=(2, n, 6))
    return A, b, C @ np.swapaxes(C, 1, 2) + 0.5 * np.eye(6), eta, J @ np.swapaxes(J, 1, 2) * 0.3


def test_pieces_of_a_chain_are_associative() -> None:
    one, two, three = (random_pieces(20, seed) for seed in range(3))
    left, right = combine(combine(one, two), three), combine(one, combine(two, three))
    for x, y in zip(left, right, strict=True):
        assert_close(x, y, INVERSION)


def test_combination_is_that_of_the_parallel_kalman_filter() -> None:
    one, two = random_pieces(20, 1), random_pieces(20, 2)
    (A1, b1, C1, e1, J1), (A2, b2, C2, e2, J2) = one, two
    W = np.linalg.inv(np.eye(6) + C1 @ J2)
    T = lambda A: np.swapaxes(A, 1, 2)  # noqa: E731
    by = lambda A, x: np.einsum("nij,nj->ni", A, x)  # noqa: E731
    expected = (
        A2 @ W @ A1,
        by(A2 @ W, b1 + by(C1, e2)) + b2,
        A2 @ W @ C1 @ T(A2) + C2,
        by(T(W @ A1), e2 - by(J2, b1)) + e1,
        T(W @ A1) @ J2 @ A1 + J1,
    )
    for x, y in zip(combine(one, two), expected, strict=True):
        assert_close(x, y, INVERSION)
    state = random_pieces(20, 3)[1:3]
    for x, y in zip(predict(combine(one, two), state), predict(two, predict(one, state)), strict=True):
        assert_close(x, y, INVERSION)


@pytest.mark.parametrize("n", range(10))
def test_a_scan_takes_every_step(n: int) -> None:
    rng = np.random.default_rng(n)
    A, b, x = rng.normal(size=(n, 3, 3)), rng.normal(size=(n, 3)), rng.normal(size=(1, 3))
    (found,) = scan(affine, moved, (A, b), (x,))
    assert found.shape == (n, 3)
    for k in range(n):
        x = x @ A[k].T + b[k]
        assert_close(found[k], x[0], ROUNDING)


def test_inverse() -> None:
    A = random_pieces(20)[2]
    found = inverse(np.triu(A))  # the lower half is not read
    assert_close(found @ A, np.broadcast_to(np.eye(6), A.shape), ROUNDING)
    assert (found == np.swapaxes(found, 1, 2)).all()


def test_paths_cover_the_tree_and_nest_little() -> None:
    robot = random_robot(3, 60, (on.Revolute,))
    paths = bodies_of(robot).paths
    assert sorted(np.concatenate(paths)) == list(range(60))
    number = {int(k): j for j, path in enumerate(paths) for k in path}
    for path in paths:
        for k, p in pairwise(path):
            assert robot.joints[k].parent == p
        nested, k = 0, int(path[0])
        while k >= 0:
            parent = robot.joints[k].parent
            nested += parent < 0 or number[parent] != number[k]
            assert parent < 0 or number[parent] <= number[k]
            k = parent
        assert nested <= math.log2(60) + 1


def traced(robot: on.Robot, method: str) -> list[Node]:
    graph, tree = Graph(method), ConcreteTree(robot)
    sizes = (("q", robot.nq), ("v", robot.nv), ("f", robot.nv))
    inputs = [tree.input(kind, [graph.leaf((kind, k)) for k in range(n)]) for kind, n in sizes]
    rest = [tree.zeros("bodies"), tree.zeros("motion"), tree.zeros("motion")]
    answer = find("forward_dynamics", method)[1].function(tree, *inputs, *rest)
    return [x for x in answer.scalars if isinstance(x, Node)]


def test_depth_is_the_longest_way() -> None:
    graph = Graph("sums")
    leaves = [graph.leaf(k) for k in range(8)]
    in_turn = sum(leaves[1:], leaves[0])
    pairs = leaves
    while len(pairs) > 1:
        pairs = [a + b for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
    assert (depth([in_turn]), depth(pairs), depth(leaves), depth([])) == (7, 3, 0, 0)
    assert depth([in_turn * 2.0, pairs[0]]) == 8


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_depth_grows_with_the_logarithm(method: str) -> None:
    """Each doubling of the chain adds as much as the one before; one link after the other, it adds twice as much."""
    chains = [chain(n, seed=1).build() for n in (4, 8, 16)]
    four, eight, sixteen = (depth(traced(robot, method)) for robot in chains)
    assert sixteen - eight <= 1.1 * (eight - four)
    four, eight, sixteen = (depth(traced(robot, "articulated-body")) for robot in chains)
    assert sixteen - eight >= 1.9 * (eight - four)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("joint", [on.Revolute, on.Spherical])
def test_long_chains(method: str, joint: type[on.Joint]) -> None:
    robot = on.Robot.of(chain(300, joint, radius=0.05, seed=5).build())
    given = arguments(robot, "forward_dynamics", (), 2)
    expected = ask(robot, given, None, (), "rolled")
    assert relative(ask(robot, given, method), expected) <= LONG_CHAIN
