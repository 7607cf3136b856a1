"""A kind of argument or result is one row of a table: a new one works in every way of running."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import Port, registry
from ordern.algorithms.registry import question
from ordern.model import PORT_KINDS, PortKind, Tree, core_shape, core_size
from ordern.spatial import Freedoms
from tests.random_models import ALL_JOINTS, random_robot

ROBOT = random_robot(51, 6, ALL_JOINTS)
COUPLED = random_robot(52, 7, (on.Revolute, on.Prismatic), mimic=True)
WAYS = ("interpreted", "unrolled", "rolled")


@pytest.fixture(autouse=True)
def _own_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.import_all()
    for name in ("_ALGORITHMS", "_QUESTIONS"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    monkeypatch.setitem(PORT_KINDS, "loads", PortKind(("body",), "a number for each body", itemgetter(0)))
    monkeypatch.setitem(PORT_KINDS, "gains", PortKind((2, "v"), "two numbers for each freedom"))
    monkeypatch.setitem(PORT_KINDS, "slopes", PortKind(("q", 3), "three numbers for each coordinate"))
    monkeypatch.setitem(PORT_KINDS, "powers", PortKind(("v", 2), "two numbers for each freedom", adds=True))


def answers(robot: on.Robot, *arguments: Any) -> list[np.ndarray]:
    return [on.Kernel(robot, "own question", "own", way=way)(*arguments) for way in WAYS]


def test_new_kinds_in_every_way() -> None:
    question("own question", (Port("q", "q"), Port("m", "loads"), Port("g", "gains")), "slopes", "own")

    @on.algorithm("own question", "own")
    def own(tree: Tree, q: Any, m: Any, g: Any) -> Any:
        out = tree.output("slopes")
        for i, _ in tree.outward():
            total = sum(g[i], m[i])
            out[i] = tuple((x, m[i], total) for x in q[i])
        return out

    states, rng = 4, np.random.default_rng(0)
    q, m = ROBOT.random(1, states), rng.normal(size=(states, len(ROBOT.bodies)))
    g = rng.normal(size=(states, 2, ROBOT.nv))
    expected = np.zeros((states, ROBOT.nq, 3))
    for k, c in enumerate(ROBOT.joints):
        at = slice(c.q_start, c.q_start + c.nq)
        expected[:, at, 0] = q[:, at]
        expected[:, at, 1] = m[:, k, None]
        expected[:, at, 2] = (m[:, k] + g[:, :, c.v_start : c.v_start + c.nv].sum(axis=(1, 2)))[:, None]
    for answer in answers(ROBOT, q, m, g):
        np.testing.assert_allclose(answer, expected, rtol=1e-13, atol=1e-13)


def test_followers_add_up() -> None:
    question("own question", (Port("q", "q"), Port("v", "v")), "powers", "own")

    @on.algorithm("own question", "own", couplings=True)
    def own(tree: Tree, q: Any, v: Any) -> Any:
        out = tree.output("powers")
        for i, _ in tree.outward():
            out[i] = tuple(Freedoms((x, 1.0)) for x in v[i])
        return out

    assert any(c.mimic for c in COUPLED.joints)
    q, v = COUPLED.random(1, 3), np.random.default_rng(2).normal(size=(3, COUPLED.nv))
    expected = np.zeros((3, COUPLED.nv, 2))
    for c in COUPLED.joints:
        ratio = c.mimic.ratio if c.mimic else 1.0
        for d in range(c.v_start, c.v_start + c.type.nv):
            expected[:, d, 0] += ratio * (ratio * v[:, d])
            expected[:, d, 1] += ratio
    for answer in answers(COUPLED, q, v):
        np.testing.assert_allclose(answer, expected, rtol=1e-13)


def test_messages_have_the_words_of_the_table() -> None:
    question("own question", (Port("m", "loads"),), "scalar", "own")

    @on.algorithm("own question", "own")
    def own(tree: Tree, m: Any) -> Any:
        return 0.0

    with pytest.raises(on.ArgumentError, match=r"its last dimension must be 6 \(a number for each body\)"):
        on.Kernel(ROBOT, "own question", "own", way="interpreted")(np.ones(3))


def test_indices_that_a_kind_does_not_have() -> None:
    question("own question", (Port("q", "q"),), "v", "own")

    @on.algorithm("own question", "own")
    def own(tree: Tree, q: Any) -> Any:
        M = tree.output("matrix")
        for i, _ in tree.outward():
            M[i] = q[i]
        return tree.output("v")

    for way in WAYS:
        with pytest.raises(on.TraceError, match="one body is not an index of an array of the kind 'matrix': give two"):
            on.Kernel(ROBOT, "own question", "own", way=way)(ROBOT.random(0))


@pytest.mark.parametrize("kind", sorted(PORT_KINDS))
def test_shapes(kind: str) -> None:
    shape = core_shape(ROBOT, kind)
    assert core_size(ROBOT, kind) == int(np.prod(shape))
    assert PORT_KINDS[kind].meaning


def test_the_cache_tells_kinds_and_questions_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same names and the same text, but other rows and other ports."""
    from ordern.compile.pipeline import request_key

    def key() -> object:
        return request_key(on.Kernel(ROBOT, "own question", "own", way="unrolled").request, "float64", None)

    def declare(*inputs: Port) -> None:
        question("own question", inputs, "scalar", "own")
        on.algorithm("own question", "own", couplings=True)(first_gain)

    declare(Port("q", "q"), Port("g", "gains"))
    keys = [key()]
    monkeypatch.setitem(PORT_KINDS, "gains", PortKind((3, "v"), "three numbers for each freedom"))
    keys.append(key())
    monkeypatch.setitem(PORT_KINDS, "gains", PortKind((3, "v"), "three numbers", value=doubled))
    keys.append(key())
    declare(Port("q", "q"), Port("g", "slopes"))
    keys.append(key())
    assert None not in keys
    assert len({repr(k) for k in keys}) == len(keys)


def first_gain(tree: Tree, q: Any, g: Any) -> Any:
    return g[tree.base][0]


def doubled(numbers: tuple[Any, ...]) -> Any:
    return Freedoms(2.0 * x for x in numbers)


def test_an_unknown_kind_is_named() -> None:
    question("own question", (Port("q", "q"),), "f", "own")

    @on.algorithm("own question", "own", couplings=True)
    def own(tree: Tree, q: Any) -> Any:
        return tree.output("forces")

    with pytest.raises(on.UnknownNameError, match=r"unknown kind of argument or result 'forces'.*Known: q, v, f"):
        on.Kernel(ROBOT, "own question", "own", way="interpreted")(ROBOT.neutral())
