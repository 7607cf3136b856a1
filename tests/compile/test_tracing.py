"""Algorithms that cannot be rolled say so instead of computing something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import registry
from ordern.model import Tree
from ordern.spatial import Freedoms, Motion, Real
from tests.random_models import random_robot

MIXED = random_robot(31, 4, (on.Revolute, on.Prismatic))
ALIKE = random_robot(32, 4, (on.Revolute,), chain=True)


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is gone after it."""
    registry.import_all()  # otherwise modules that are first imported in a test would be gone after it
    monkeypatch.setattr(registry, "_ALGORITHMS", dict(registry._ALGORITHMS))
    yield


def rolled(robot: on.Robot, question: str, function: Callable[..., Any]) -> Any:
    on.algorithm(question, "mine")(function)
    given = (robot.random(0), np.ones(robot.nv))[: 1 if question != "kinetic_energy" else 2]
    return on.Kernel(robot, question, "mine", way="rolled")(*given)


LEAVES = r"values move between loops and bodies only through fields"


@pytest.mark.parametrize("robot", [MIXED, ALIKE], ids=["mixed", "alike"])
def test_value_of_a_loop_used_after_it(robot: on.Robot) -> None:
    def leak(tree: Tree, q: Any) -> Any:
        x = 0.0
        for i, _ in tree.outward():
            x = q[i][0]
        return x * 2.0

    with pytest.raises(on.TraceError, match=LEAVES):
        rolled(robot, "potential_energy", leak)


@pytest.mark.parametrize("robot", [MIXED, ALIKE], ids=["mixed", "alike"])
def test_sum_over_bodies_in_a_variable(robot: on.Robot) -> None:
    def leak(tree: Tree, q: Any) -> Any:
        total = 0.0
        for i, _ in tree.outward():
            total = total + q[i][0]
        return total

    with pytest.raises(on.TraceError, match=LEAVES):
        rolled(robot, "potential_energy", leak)


@pytest.mark.parametrize("robot", [MIXED, ALIKE], ids=["mixed", "alike"])
def test_value_of_a_loop_used_in_the_next(robot: on.Robot) -> None:
    def leak(tree: Tree, q: Any) -> Any:
        kept, out = {}, tree.output("v")
        for i, _ in tree.outward():
            kept[i.key] = q[i][0]
        for i, _ in tree.inward():
            out[i] = Freedoms((kept[i.key] * 2.0,))
        return out

    with pytest.raises(on.TraceError, match=LEAVES):
        rolled(robot, "gravity_force", leak)


@pytest.mark.parametrize("robot", [MIXED, ALIKE], ids=["mixed", "alike"])
def test_value_of_one_body_used_for_the_next(robot: on.Robot) -> None:
    def leak(tree: Tree, q: Any) -> Any:
        previous, out = 0.0, tree.output("v")
        for i, _ in tree.outward():
            previous = previous + q[i][0]
            out[i] = Freedoms((previous,))
        return out

    with pytest.raises(on.TraceError):
        rolled(robot, "gravity_force", leak)


def test_value_of_a_walk_used_after_it() -> None:
    def leak(tree: Tree, q: Any) -> Any:
        out = tree.output("v")
        for i, _ in tree.outward():
            x = q[i][0]
            for j, _ in tree.ancestors(i):
                x = x + q[j][0]
            out[i] = Freedoms((x,))
        return out

    with pytest.raises(on.TraceError, match=LEAVES):
        rolled(MIXED, "gravity_force", leak)


def test_field_set_in_a_walk() -> None:
    def wrong(tree: Tree, q: Any) -> Any:
        x = tree.field(Real)
        for i, _ in tree.outward():
            for j, _ in tree.ancestors(i):
                x[j] = q[j][0]
        return x[tree.base]

    with pytest.raises(on.TraceError, match="a walk along ancestors carries its values; it does not set fields"):
        rolled(MIXED, "potential_energy", wrong)


def test_field_of_another_type() -> None:
    def wrong(tree: Tree, q: Any) -> Any:
        v = tree.field(Motion)
        for i, p in tree.outward():
            v[i] = v[p].cross(v[p])
            v[i] = i.inertia @ v[i]
        return v[tree.base]

    with pytest.raises(on.TraceError, match="a field of Motion was given a Force"):
        rolled(MIXED, "potential_energy", wrong)


@pytest.mark.parametrize("way", ["unrolled", "rolled"])
def test_branch_on_a_value(way: str) -> None:
    def branch(tree: Tree, q: Any) -> Any:
        out = tree.output("v")
        for i, _ in tree.outward():
            out[i] = Freedoms((q[i][0] if q[i][0] > 0.0 else 0.0,))
        return out

    on.algorithm("gravity_force", "mine")(branch)
    with pytest.raises(on.TraceError, match="where_less"):
        on.Kernel(MIXED, "gravity_force", "mine", way=way)(MIXED.random(0))


@pytest.mark.parametrize("way", ["interpreted", "unrolled", "rolled"])
def test_an_algorithm_of_ones_own(way: str) -> None:
    """A sum over the tree by a field: it runs in every way, and nothing in the library was edited."""

    @on.algorithm("potential_energy", "sum of squares")
    def squares(tree: Tree, q: Any) -> Any:
        E = tree.field(Real)
        for i, _ in tree.outward():
            E[i] = q[i][0] * q[i][0]
        for i, p in tree.inward():
            E[p] += E[i]
        return E[tree.base]

    q = MIXED.random(0, 5)
    kernel = on.Kernel(MIXED, "potential_energy", "sum of squares", way=way)
    np.testing.assert_allclose(kernel(q), (q * q).sum(axis=1), rtol=1e-14)
    assert "sum of squares" in [m.name for m in on.methods("potential_energy")]
