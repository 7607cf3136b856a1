"""What an author of an algorithm or a joint may get wrong is told, in every way of running it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import registry
from ordern.compile import WAYS
from ordern.spatial import Columns, Force, Freedoms, Identity, Motion, Subspace, Transform

ARM = (
    on.Builder("arm")
    .body("ground")
    .body("a", parent="ground", joint=on.Revolute((0, 1, 0)), at=(0, 0, 1), mass=1.0, com=(0.5, 0, 0))
    .body("b", parent="a", joint=on.Revolute((0, 0, 1)), at=(1, 0, 0), mass=1.0, com=(0.5, 0, 0))
    .build()
)


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`on.algorithm` for the length of a test."""
    monkeypatch.setattr(registry, "_ALGORITHMS", dict(registry._ALGORITHMS))
    return on.algorithm


def ask(way: str) -> Any:
    return ARM.kernel("gravity_force", "mine", way=way)(np.array([0.1, 0.2]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("numbers", [0, 2, 3000])
def test_results_of_a_wrong_length(declare: Any, way: str, numbers: int) -> None:
    @declare("gravity_force", "mine")
    def wrong(tree: Any, q: Any) -> Any:
        out = tree.output("v")
        for i, _ in tree.outward():
            out[i] = [q[i][0]] * numbers
        return out

    with pytest.raises(on.TraceError, match=f"a joint with 1 coordinates was given {numbers} numbers"):
        ask(way)


@pytest.mark.parametrize("way", WAYS)
def test_a_forgotten_return(declare: Any, way: str) -> None:
    @declare("gravity_force", "mine")
    def wrong(tree: Any, q: Any) -> None:
        for i, _ in tree.outward():
            tree.output("v")[i] = q[i]

    with pytest.raises(on.TraceError, match="is a `return` missing"):
        ask(way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("where", ["own", "parent"])
def test_a_field_read_before_it_is_set(declare: Any, way: str, where: str) -> None:
    @declare("gravity_force", "mine")
    def wrong(tree: Any, q: Any) -> Any:
        out, f = tree.output("v"), tree.field(Force)
        for i, p in tree.inward():
            f[p] += f[i] if where == "own" else Force.zero()
            out[i] = q[i]
        return out

    with pytest.raises(on.TraceError, match=r"read at (a body|body .*) before it was set there"):
        ask(way)


@pytest.mark.parametrize("way", WAYS)
def test_a_field_of_another_kind(declare: Any, way: str) -> None:
    @declare("gravity_force", "mine")
    def wrong(tree: Any, q: Any) -> Any:
        f = tree.field(Force)
        for i, _ in tree.outward():
            f[i] = Motion.zero()
        return tree.output("v")

    with pytest.raises(on.TraceError, match="a field of Force was given a Motion"):
        ask(way)


@pytest.mark.parametrize("way", WAYS)
def test_data_of_a_parent(declare: Any, way: str) -> None:
    @declare("gravity_force", "mine")
    def wrong(tree: Any, q: Any) -> Any:
        for _, p in tree.outward():
            q[p]
        return tree.output("v")

    with pytest.raises(on.TraceError, match="a parent is only an index"):
        ask(way)


@pytest.mark.parametrize("way", WAYS)
def test_numpy_functions_and_powers_are_traced(declare: Any, way: str) -> None:
    @declare("gravity_force", "mine")
    def fine(tree: Any, q: Any) -> Any:
        out = tree.output("v")
        for i, _ in tree.outward():
            x = q[i][0]
            out[i] = Freedoms([np.float64(2.0) * np.sin(x) + x**3 + abs(-x)])
        return out

    x = np.array([0.1, 0.2])
    assert np.allclose(ask(way), 2 * np.sin(x) + x**3 + np.abs(x), rtol=1e-14)


def test_other_numpy_functions_are_named() -> None:
    from ordern.graph import Graph

    node = Graph("here").leaf("x")
    with pytest.raises(on.TraceError, match=r"np\.tanh cannot be traced; .* sin, cos"):
        np.tanh(node)
    with pytest.raises(on.TraceError, match="instead of comparing"):
        assert node == 0.0


def test_an_algorithm_declared_again_replaces_the_first(declare: Any) -> None:
    for factor in (2.0, 7.0):

        @declare("gravity_force", "mine")
        def scaled(tree: Any, q: Any, factor: float = factor) -> Any:
            out = tree.output("v")
            for i, _ in tree.outward():
                out[i] = q[i] * factor
            return out

        assert np.allclose(ask("unrolled"), np.array([0.1, 0.2]) * factor)


@dataclass(frozen=True)
class Forgetful(on.Joint):
    """A slider with a gear, whose ratio is a parameter that it forgets to take."""

    ratio: float

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.ratio,)

    def transform(self, q: Freedoms) -> Transform:
        return Transform(Identity(), (0.0, 0.0, self.ratio * q[0]))

    def subspace(self, q: Freedoms) -> Subspace:
        return Columns((Motion((0.0, 0.0, 0.0), (0.0, 0.0, self.ratio)),))


def test_a_joint_that_does_not_take_its_parameters() -> None:
    builder = on.Builder("sliders").body("ground")
    builder.body("a", parent="ground", joint=Forgetful(1.0), mass=1.0)
    builder.body("b", parent="a", joint=Forgetful(2.0), mass=1.0)
    with pytest.raises(on.ModelError, match=r"'b_joint': its class Forgetful uses numbers .* `with_parameters`"):
        builder.build().mass_matrix(np.zeros(2))
