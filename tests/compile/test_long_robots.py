"""Methods that work on matrices, and those of logarithmic depth, in compiled form on robots of any size."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import find
from ordern.compile.run.pieces import Counter, Pieces
from ordern.counting import generic
from ordern.model import FreedomTables, Piece
from ordern.robots import chain
from tests.compile.asking import arguments, relative
from tests.random_models import random_robot
from tests.tolerances import METHODS, ROUNDING, assert_close

FORWARD = ("composite-body", "unit-acceleration", "symmetric", "triangularized")
SCANS = ("constraint-force", "divide-and-conquer", "kalman-scan")
OTHERS: tuple[tuple[str, str], ...] = (
    ("mass_matrix", "unit-acceleration"),
    ("mass_matrix", "symmetric"),
    ("mass_matrix", "operator"),
    ("mass_matrix_inverse", "innovations"),
    ("mass_matrix_factor", "ltdl"),
    ("mass_matrix_factor", "ltl"),
    ("mass_matrix_pivots", "ltdl"),
)


@cache
def robot(name: str) -> on.Robot:
    match name:
        case "chain":
            return on.Robot.of(chain(100, on.Revolute, seed=1).build())
        case "spherical":
            return on.Robot.of(chain(25, on.Spherical, radius=0.05, seed=2).build())
        case "tree":
            return random_robot(7, 64, (on.Revolute,))
        case "floating":
            return random_robot(8, 58, (on.Revolute,), floating=True, armature=True)
    raise AssertionError(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chain", "spherical", "floating"])
@pytest.mark.parametrize("method", [*FORWARD, *SCANS])
def test_forward_dynamics_of_long_robots(name: str, method: str) -> None:
    """What is chosen for robots beyond the reach of straight-line code is compiled, and gives the usual answer."""
    long = robot(name)
    if method == "constraint-force" and name in ("tree", "floating"):
        long = random_robot(9, 62, (on.Revolute,), chain=True, floating=name == "floating", armature=True)
    q, v, tau = arguments(long, "forward_dynamics", (), 3)
    kernel = long.kernel("forward_dynamics", method, way=None if name in ("chain", "spherical") else "rolled")
    assert kernel.code.way == "rolled"
    given = q, 0.1 * v, tau
    assert relative(kernel(*given), long.forward_dynamics(*given)) <= METHODS


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chain", "floating"])
@pytest.mark.parametrize(("question", "method"), OTHERS)
def test_matrices_of_long_robots(name: str, question: str, method: str) -> None:
    long = robot(name)
    q = long.random(0, 2)
    found = long.kernel(question, method, way="rolled")(q)
    M = long.mass_matrix(q)
    if question == "mass_matrix":
        assert_close(found, M, ROUNDING)
        assert (found == found.swapaxes(-1, -2)).all()
    elif question == "mass_matrix_inverse":
        assert_close(found @ M, np.broadcast_to(np.eye(long.nv), M.shape), METHODS)
    else:
        F, D = (long.kernel(f"mass_matrix_{part}", method, way="rolled")(q) for part in ("factor", "pivots"))
        assert_close(F @ D @ F.swapaxes(-1, -2), M, ROUNDING)


@pytest.mark.slow
def test_a_batch_does_not_depend_on_what_was_before() -> None:
    """Memory of matrices is used again by the next states, and those of a smaller batch."""
    tree = random_robot(5, 8, (on.Revolute, on.Prismatic), mimic=True)
    for question, method in (("forward_dynamics", "composite-body"), *OTHERS):
        given = arguments(tree, question, (), 37)
        kernel = tree.kernel(question, method, way="rolled")
        together = kernel(*given)
        for k in (0, 17, 36):
            assert (kernel(*(x[k] for x in given)) == together[k]).all(), (question, method)


COUNTED = [("forward_dynamics", m) for m in FORWARD] + list(OTHERS)


@pytest.mark.slow
@pytest.mark.parametrize(("question", "method"), COUNTED)
def test_operations_of_loops_are_counted(question: str, method: str) -> None:
    """Loops that fold nothing take what straight-line code takes when nothing can be folded there either, or more."""
    general = generic(random_robot(3, 9, (on.Revolute, on.Prismatic)))
    loops = general.kernel(question, method, way="rolled").counts()
    straight = general.kernel(question, method, way="unrolled").counts()
    assert straight.total <= loops.total <= 30 * straight.total


@pytest.mark.parametrize("n", [5, 9])
def test_operations_of_elimination(n: int) -> None:
    """Exactly: n divisions; a product for each pair; and a product and a difference for each triple, in its order."""
    arm = on.Robot.of(chain(n, on.Revolute, seed=1).build())
    factor, matrix = (
        arm.kernel(question, method, way="rolled").counts()
        for question, method in (("mass_matrix_factor", "ltdl"), ("mass_matrix", "composite-body"))
    )
    pairs = n * (n - 1) // 2
    triples = sum(k * (k + 1) // 2 for k in range(n))
    assert factor.divisions - matrix.divisions == n
    assert factor.multiplications - matrix.multiplications == pairs + triples
    assert factor.additions - matrix.additions == triples


def test_pieces_are_compiled_once_and_counted() -> None:
    def squares(x: Any, y: Any) -> tuple[Any, ...]:
        return (x * x + y[..., None],)

    piece = Piece(squares, (1, 0), "squares")
    pieces, counter = Pieces(robot("chain")), Counter()
    x, y = np.arange(12.0).reshape(2, 2, 3), np.ones(2)
    (expected,) = squares(x, y)
    assert (pieces(piece, x, y)[0] == expected).all()
    assert (pieces(piece, x[:0], y[:1])[0].shape) == (0, 2, 3)
    assert pieces(piece, x.astype(np.float32), y.astype(np.float32))[0].dtype == np.float32
    assert pieces(piece, x.astype(np.longdouble), y)[0].dtype == np.longdouble
    counter(piece, x, y)
    assert (counter.counts.multiplications, counter.counts.additions) == (12, 12)


@pytest.mark.slow
@pytest.mark.parametrize("method", SCANS)
def test_operations_of_pieces_are_counted(method: str) -> None:
    """Each doubling of a chain doubles them: they are of order n."""
    small, twice, more = (on.Robot.of(chain(n, on.Revolute, seed=1).build()) for n in (16, 32, 64))
    counts = [r.kernel("forward_dynamics", method, way="rolled").counts().total for r in (small, twice, more)]
    assert counts[2] - counts[1] == pytest.approx(2 * (counts[1] - counts[0]), rel=0.1)
    assert find("forward_dynamics", method)[1].order == "n"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_what_is_above_a_freedom(seed: int) -> None:
    """The paths upwards have all that elimination fills in, found here by eliminating zeros and ones."""
    model = random_robot(seed, 10, (on.Revolute, on.Universal), floating=seed % 2 == 0, mimic=seed % 4 > 1)
    q = model.random(0, 5)
    filled = (np.abs(model.mass_matrix(q)).max(axis=0) > 0.0).astype(int)
    for k in reversed(range(model.nv)):
        below = filled[:k, k]
        filled[:k, :k] |= np.outer(below, below)
    t = FreedomTables.of(model)
    for k in range(model.nv):
        path, d = set(), int(t.up[k])
        while d >= 0:
            assert d < k
            path.add(d)
            d = int(t.up[d])
        assert {int(i) for i in np.flatnonzero(filled[:k, k])} <= path
        if not any(c.mimic for c in model.joints):
            joint = [int(b) for b in t.body]
            carriers = {joint[k]}
            while (p := model.joints[min(carriers)].parent) >= 0:
                carriers.add(p)
            assert path == {i for i in range(k) if joint[i] in carriers}
    assert sorted(t.v_order.tolist()) == list(range(model.nv))
    assert sorted(t.order.tolist()) == list(range(len(model.bodies)))
